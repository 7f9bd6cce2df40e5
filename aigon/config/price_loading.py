"""The prices that hold here: the project's over the person's own over those that ship, model by model.

`.aigon/prices.yaml` and `prices.yaml` beside the person's `config.json` have the form of `templates/prices.yaml`. What
none of them knows is asked of the package `genai-prices`, where that is installed (`pip install 'aigon[prices]'`).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from aigon.config.price_file import read as parsed
from aigon.config.prices import MILLION, Group, Price, Table, over, quoted
from aigon.errors import usage
from aigon.files import bounded
from aigon.files.resources import resource
from aigon.text.documents import nearest
from aigon.text.yaml import LARGEST

Read = Callable[[str], bytes | None]
"""A file of the project by its path; None where there is none."""
PROJECT_FILE = ".aigon/prices.yaml"
_FEWER = "Keep the models that the project uses; the others' prices ship with aigon"
_ASKED = 1000
"""Tokens of a call that genai-prices is asked about: far too few for the price of a long prompt."""
_CALLS: tuple[Mapping[str, int], ...] = (
    {"input_tokens": _ASKED},
    {"output_tokens": _ASKED},
    {"input_tokens": _ASKED, "cache_write_tokens": _ASKED},
    {"input_tokens": _ASKED, "cache_read_tokens": _ASKED},
)
"""One for each number of a `Price`, in its order."""


def load(read: Read) -> Table:
    """The prices for a project whose files `read` gives: those of its work tree, or those of a commit.

    Raises AigonError (exit 2), naming file and key, for a malformed file and an alias of nothing.
    """
    user = user_file()
    given = ((PROJECT_FILE, read(PROJECT_FILE)), (str(user), _content(user)))
    own = [parsed(content, file) for file, content in given if content is not None]
    table = over(*own, shipped())
    _require_models(table)
    return table


def work_tree(root: Path) -> Read:
    """The project's files as they are in the work tree."""
    return lambda path: _content(root / path)


@cache
def shipped() -> Table:
    """The prices that ship with aigon."""
    return parsed(resource("templates", "prices.yaml").read_bytes(), "templates/prices.yaml")


def user_file() -> Path:
    """`prices.yaml` in the person's configuration directory."""
    from platformdirs import user_config_path

    return user_config_path("aigon") / "prices.yaml"


def knowing(table: Table, *models: str) -> Table:
    """The table, and what genai-prices knows of those `models` that have no price in it."""
    asked = [_asked(model) for model in dict.fromkeys(models) if model and not quoted(table, model)]
    return replace(table, groups=(*table.groups, *(group for group in asked if group)))


def _content(path: Path) -> bytes | None:
    try:
        return bounded.content(path, LARGEST, "The file of prices", hint=_FEWER) if path.is_file() else None
    except OSError as error:
        raise usage(f"The prices cannot be read: {error.strerror}", where=str(path)) from error


def _require_models(table: Table) -> None:
    known = {name for group in table.groups for name in group.prices}
    for group in table.groups:
        for alias, name in group.aliases.items():
            if name not in known:
                what = f"The alias {alias!r} stands for {name!r}, which has no price"
                raise usage(what, where=group.file, hint=nearest(name, known))


def _asked(model: str) -> Group | None:
    """What genai-prices knows of `model`, by its own rules of which name is whose; None where it is not installed."""
    try:
        package = import_module("genai_prices")
        # Its input counts hold those of the cache.
        fresh, said, written, cached = (_dollars(package, model, tokens) for tokens in _CALLS)
    except Exception:  # it is not there, does not know the model, or is a version that is asked otherwise
        return None
    version = f"genai-prices {getattr(package, '__version__', '')}".rstrip()
    return Group({model: Price(fresh, said, written, cached)}, source=version, file=version)


def _dollars(package: Any, model: str, tokens: Mapping[str, int]) -> float:
    """Per million tokens. A provider before the name is its own to look for."""
    provider, slash, rest = model.partition("/")
    usage = package.Usage(**tokens)
    told = package.calc_price(usage, model_ref=rest if slash else model, provider_id=provider if slash else None)
    return float(told.total_price) * MILLION / _ASKED
