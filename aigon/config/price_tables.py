"""Price tables: the project's over the person's own over the one that ships, model by model.

`.aigon/prices.yaml` and `prices.yaml` next to the person's `config.json` have the form of `templates/prices.yaml`. What
none of them knows is asked of the package `genai-prices`, if it is installed (`pip install 'aigon[prices]'`).
"""

from datetime import date, datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from aigon.config.prices import MILLION, Price, PriceGroup, PriceTable, find_price, merge_tables
from aigon.errors import usage
from aigon.files.resources import read_document, read_shipped
from aigon.text.documents import DocumentNode, parse_yaml, suggest

if TYPE_CHECKING:
    from aigon.config.loading import ReadFile

PROJECT_PRICE_FILE = ".aigon/prices.yaml"
MAX_DOLLARS_PER_MILLION = 10_000.0
"""The dearest model is two orders below: a higher price is a slip of the decimal point."""
_ASKED_TOKENS = 1000
"""Tokens of a call that genai-prices is asked about: far too few for the price of a long prompt."""


def load_prices(read: "ReadFile") -> PriceTable:
    """Return the prices for a project whose files `read` reads: those of its work tree, or those of a commit.

    Raises AigonError (exit 2), with file and key, for a malformed file and an alias of an unknown model.
    """
    from platformdirs import user_config_path

    user = user_config_path("aigon") / "prices.yaml"
    contents = ((PROJECT_PRICE_FILE, read(PROJECT_PRICE_FILE)), (str(user), _read_file(user)))
    own = [read_price_table(content, file) for file, content in contents if content is not None]
    table = merge_tables(*own, load_shipped_prices())
    known = {name for group in table.groups for name in group.prices}
    for group in table.groups:
        for alias, name in group.aliases.items():
            if name not in known:
                what = f"The alias {alias!r} means {name!r}, which has no price"
                raise usage(what, where=group.file, hint=suggest(name, known))
    return table


def open_price_files(root: Path) -> "ReadFile":
    """Return a reader of price files in the work tree at `root`."""
    return lambda path: _read_file(root / path)


def _read_file(path: Path) -> bytes | None:
    return read_document(path) if path.is_file() else None


@cache
def load_shipped_prices() -> PriceTable:
    """Return the prices that ship with aigon."""
    return read_price_table(read_shipped("templates", "prices.yaml"), "templates/prices.yaml")


def read_price_table(content: bytes, file: str) -> PriceTable:
    """Return the table in a YAML document. Raises AigonError (exit 2) that names the file and key of an error."""
    fields = parse_yaml(content, file).fields(("as_of", "groups"), required=("as_of", "groups"))
    as_of = _read_day(fields["as_of"])
    return PriceTable(as_of, tuple(_read_group(node, as_of) for node in fields["groups"].items()))


def _read_group(node: DocumentNode, as_of: str) -> PriceGroup:
    readers = {
        "provider": DocumentNode.text,
        "as_of": _read_day,
        "source": DocumentNode.text,
        "prefixes": _read_prefixes,
        "aliases": lambda aliases: {alias: name.text() for alias, name in aliases.pairs().items()},
        "models": lambda models: {name: _read_price(price) for name, price in models.pairs().items()},
    }
    fields = {"as_of": as_of, **node.read(readers, required=("models",))}
    return PriceGroup(fields.pop("models"), file=node.file, **fields)


def _read_prefixes(node: DocumentNode) -> tuple[str, ...]:
    prefixes = node.texts()
    if "" in prefixes:
        raise node.wrong("holds an empty text", "A prefix comes before a model's name, such as openai/")
    return prefixes


def _read_price(node: DocumentNode, *, long: bool = False) -> Price:
    """Return a price. A cache without a price costs what input costs: an estimate should rather be too high."""
    readers = dict.fromkeys(("input", "output", "cache_write", "cache_read"), _read_dollars)
    required = ("input", "output")
    if long:
        fields = node.read({**readers, "above": _read_tokens}, ("above", *required))
    else:
        fields = node.read({**readers, "long": lambda n: _read_price(n, long=True), "until": _read_day}, required)
    price = Price(**{"cache_write": fields["input"], "cache_read": fields["input"], **fields})
    if price.long:
        return replace(price, above=price.long.above, long=replace(price.long, above=0))
    return price


def _read_tokens(node: DocumentNode) -> int:
    if not (tokens := node.whole()):
        raise node.wrong("must be a number of tokens above 0")
    return tokens


def _read_dollars(node: DocumentNode) -> float:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_DOLLARS_PER_MILLION:
        hint = f"US dollars per million tokens, 0 to {MAX_DOLLARS_PER_MILLION:,.0f}"
        raise node.wrong(f"must be a price, not {value!r:.60}", hint)
    return float(value)


def _read_day(node: DocumentNode) -> str:
    """Return a day as ISO 8601. YAML itself makes a date of one without quotes."""
    value = node.value
    try:
        day = date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        day = None
    if not isinstance(day, date) or isinstance(day, datetime):
        raise node.wrong(f"must be a day, not {str(value)!r:.60}", "Write it as 2026-11-20")
    return day.isoformat()


def add_known_prices(table: PriceTable, *models: str) -> PriceTable:
    """Return the table with what genai-prices knows of those `models` that have no price in it."""
    missing = [model for model in dict.fromkeys(models) if model and not find_price(table, model)]
    groups = (group for model in missing if (group := _ask_genai_prices(model)))
    return replace(table, groups=(*table.groups, *groups))


def _ask_genai_prices(model: str) -> PriceGroup | None:
    """Return what genai-prices knows of `model`, or None. It has its own rules of which name is whose."""
    provider, slash, rest = model.partition("/")  # a provider before the model's name is passed by itself
    calls = (
        {"input_tokens": _ASKED_TOKENS},
        {"output_tokens": _ASKED_TOKENS},
        # Its input counts include those of the cache.
        {"input_tokens": _ASKED_TOKENS, "cache_write_tokens": _ASKED_TOKENS},
        {"input_tokens": _ASKED_TOKENS, "cache_read_tokens": _ASKED_TOKENS},
    )
    try:
        package = import_module("genai_prices")
        whose = {"model_ref": rest if slash else model, "provider_id": provider if slash else None}
        costs = [package.calc_price(package.Usage(**tokens), **whose).total_price for tokens in calls]
        plain, output, write, read = (float(cost) * MILLION / _ASKED_TOKENS for cost in costs)
    except Exception:  # it is not installed, does not know the model, or has another interface
        return None
    version = f"genai-prices {getattr(package, '__version__', '')}".rstrip()
    return PriceGroup({model: Price(plain, output, write, read)}, source=version, file=version)
