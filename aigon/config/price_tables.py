"""A file of prices: YAML, read strictly. `templates/prices.yaml` ships; people's and projects' have the same form."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from aigon.config.prices import MILLION, Price, PriceGroup, PriceTable, find_price, merge_tables
from aigon.errors import usage
from aigon.files import atomic
from aigon.files.resources import find_resource
from aigon.text.documents import LARGEST_DOCUMENT, DocumentNode, parse_yaml, suggest

MAX_DOLLARS_PER_MILLION = 10_000.0
"""US dollars per million tokens. The dearest model is two orders below: more is a slip of the decimal point."""
_RATES = ("input", "output", "cache_write", "cache_read")


def read_price_table(content: bytes, file: str) -> PriceTable:
    """The table in a YAML document. Raises AigonError (usage) that names file and key for one that is malformed."""
    fields = parse_yaml(content, file).fields(("as_of", "groups"), required=("as_of", "groups"))
    as_of = _read_day(fields["as_of"])
    return PriceTable(as_of, tuple(_read_group(node, as_of) for node in fields["groups"].items()))


def _read_group(node: DocumentNode, as_of: str) -> PriceGroup:
    fields = node.fields(("provider", "as_of", "source", "prefixes", "aliases", "models"), required=("models",))
    texts = {key: fields[key].text() for key in ("provider", "source") if key in fields}
    return PriceGroup(
        prices={name: _read_price(price) for name, price in fields["models"].pairs().items()},
        as_of=_read_day(fields["as_of"]) if "as_of" in fields else as_of,
        prefixes=_read_prefixes(fields["prefixes"]) if "prefixes" in fields else (),
        aliases={alias: name.text() for alias, name in fields["aliases"].pairs().items()}
        if "aliases" in fields
        else {},
        file=node.file,
        **texts,
    )


def _read_prefixes(node: DocumentNode) -> tuple[str, ...]:
    if "" in (prefixes := node.texts()):
        raise node.wrong("holds an empty text", "A prefix is what stands before a model's name, such as openai/")
    return prefixes


def _read_price(node: DocumentNode) -> Price:
    fields = node.fields((*_RATES, "long", "until"), required=("input", "output"))
    price = replace(_read_rates(fields), until=_read_day(fields["until"]) if "until" in fields else "")
    if "long" not in fields:
        return price
    long = fields["long"].fields((*_RATES, "above"), required=("above", "input", "output"))
    above = long["above"].whole()
    if not above:
        raise long["above"].wrong("must be a number of tokens above 0")
    return replace(price, above=above, long=_read_rates(long))


def _read_rates(fields: dict[str, DocumentNode]) -> Price:
    """A cache that has no price of its own costs what input costs: an estimate should rather be too high."""
    given = {name: _read_dollars(fields[name]) for name in _RATES if name in fields}
    plain = given["input"]
    return Price(plain, given["output"], given.get("cache_write", plain), given.get("cache_read", plain))


def _read_dollars(node: DocumentNode) -> float:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_DOLLARS_PER_MILLION:
        hint = f"US dollars per million tokens, 0 to {MAX_DOLLARS_PER_MILLION:,.0f}"
        raise node.wrong(f"must be a price, not {value!r:.60}", hint)
    return float(value)


def _read_day(node: DocumentNode) -> str:
    """A day as ISO 8601. YAML itself makes a date of one that stands without quotes."""
    value = node.value
    try:
        day = date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        day = None
    if not isinstance(day, date) or isinstance(day, datetime):
        raise node.wrong(f"must be a day, not {str(value)!r:.60}", "Write it as 2026-11-20")
    return day.isoformat()


ReadFile = Callable[[str], bytes | None]
"""A file of the project by its path; None where there is none."""
PROJECT_PRICE_FILE = ".aigon/prices.yaml"
_FEWER = "Keep the models that the project uses; the others' prices ship with aigon"
_ASKED_TOKENS = 1000
"""Tokens of a call that genai-prices is asked about: far too few for the price of a long prompt."""
_CALLS: tuple[Mapping[str, int], ...] = (
    {"input_tokens": _ASKED_TOKENS},
    {"output_tokens": _ASKED_TOKENS},
    {"input_tokens": _ASKED_TOKENS, "cache_write_tokens": _ASKED_TOKENS},
    {"input_tokens": _ASKED_TOKENS, "cache_read_tokens": _ASKED_TOKENS},
)
"""One for each number of a `Price`, in its order."""


def load_prices(read: ReadFile) -> PriceTable:
    """The prices for a project whose files `read` gives: those of its work tree, or those of a commit.

    Raises AigonError (exit 2), naming file and key, for a malformed file and an alias of nothing.
    """
    user = get_user_price_file()
    given = ((PROJECT_PRICE_FILE, read(PROJECT_PRICE_FILE)), (str(user), _read_file(user)))
    own = [read_price_table(content, file) for file, content in given if content is not None]
    table = merge_tables(*own, load_shipped_prices())
    _require_models(table)
    return table


def open_price_files(root: Path) -> ReadFile:
    """The project's files as they are in the work tree."""
    return lambda path: _read_file(root / path)


@cache
def load_shipped_prices() -> PriceTable:
    """The prices that ship with aigon."""
    return read_price_table(find_resource("templates", "prices.yaml").read_bytes(), "templates/prices.yaml")


def get_user_price_file() -> Path:
    """`prices.yaml` in the person's configuration directory."""
    from platformdirs import user_config_path

    return user_config_path("aigon") / "prices.yaml"


def add_known_prices(table: PriceTable, *models: str) -> PriceTable:
    """The table, and what genai-prices knows of those `models` that have no price in it."""
    asked = [_ask_genai_prices(model) for model in dict.fromkeys(models) if model and not find_price(table, model)]
    return replace(table, groups=(*table.groups, *(group for group in asked if group)))


def _read_file(path: Path) -> bytes | None:
    try:
        return (
            atomic.read_bounded(path, LARGEST_DOCUMENT, "The file of prices", hint=_FEWER) if path.is_file() else None
        )
    except OSError as error:
        raise usage(f"The prices cannot be read: {error.strerror}", where=str(path)) from error


def _require_models(table: PriceTable) -> None:
    known = {name for group in table.groups for name in group.prices}
    for group in table.groups:
        for alias, name in group.aliases.items():
            if name not in known:
                what = f"The alias {alias!r} stands for {name!r}, which has no price"
                raise usage(what, where=group.file, hint=suggest(name, known))


def _ask_genai_prices(model: str) -> PriceGroup | None:
    """What genai-prices knows of `model`, by its own rules of which name is whose; None where it is not installed."""
    try:
        package = import_module("genai_prices")
        # Its input counts hold those of the cache.
        fresh, said, written, cached = (_ask_dollars(package, model, tokens) for tokens in _CALLS)
    except Exception:  # it is not there, does not know the model, or is a version that is asked otherwise
        return None
    version = f"genai-prices {getattr(package, '__version__', '')}".rstrip()
    return PriceGroup({model: Price(fresh, said, written, cached)}, source=version, file=version)


def _ask_dollars(package: Any, model: str, tokens: Mapping[str, int]) -> float:
    """Per million tokens. A provider before the name is its own to look for."""
    provider, slash, rest = model.partition("/")
    usage = package.Usage(**tokens)
    told = package.calc_price(usage, model_ref=rest if slash else model, provider_id=provider if slash else None)
    return float(told.total_price) * MILLION / _ASKED_TOKENS
