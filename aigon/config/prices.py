"""List prices of tokens by model, in US dollars per million tokens, and how old they are.

A price is found by a model's name alone. A name may carry more than the table's: a date (`claude-opus-5-5-20260922`), a
provider before it (`anthropic/claude-opus-5-5`, `bedrock/us.anthropic.claude-opus-5-5-20260922-v1:0`), Claude Code's
`[1m]`. Anything beyond that makes it another model, and an unknown price is never guessed.

What no table knows is asked of the package `genai-prices`, if it is installed (`pip install 'aigon[prices]'`).
"""

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from functools import cache
from importlib import import_module
from typing import Annotated

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.files.resources import read_shipped
from aigon.text.documents import DocumentNode, parse_yaml
from aigon.text.patterns import compile_re

MILLION = 1_000_000
MAX_DOLLARS_PER_MILLION = 10_000.0
"""The dearest model is two orders below: a higher price is a slip of the decimal point."""
_ASKED_TOKENS = 1000
"""Tokens of a call that genai-prices is asked about: far too few for the price of a long prompt."""
MAX_AGE_DAYS = 90
"""Older prices are doubted: providers changed theirs several times within 90 days of 2026."""
_DATE = r"20\d\d(?P<dash>-?)(?:0[1-9]|1[0-2])(?P=dash)(?:0[1-9]|[12]\d|3[01])"
_TAIL = compile_re(rf"(?:[-@]{_DATE})?(?:-v\d+:\d+)?(?:\[1m\])?$")
"""A date as Anthropic, OpenAI and Vertex AI write it, Bedrock's version, Claude Code's word for the long context."""


class TokenCounts(Struct, frozen=True):
    """Tokens as the Anthropic API counts them: the four do not overlap."""

    input: int
    output: int
    cache_write: int = 0
    cache_read: int = 0

    @property
    def prompt(self) -> int:
        """The tokens that the model read."""
        return self.input + self.cache_write + self.cache_read


class Price(Struct, frozen=True):
    """US dollars per million tokens. A prompt of more than `above` tokens has the price `long`, if there is one.

    `until` is the last day (ISO 8601) of a price with an announced end.
    """

    input: float
    output: float
    cache_write: float
    cache_read: float
    above: int = 0
    long: "Price | None" = None
    until: str = ""

    def call(self, tokens: TokenCounts) -> float:
        """Return the US dollars of one call."""
        return self.long.call(tokens) if self.long and tokens.prompt > self.above else self.calls(tokens)

    def calls(self, tokens: TokenCounts) -> float:
        """Return the US dollars of many calls of which only the sum is known, as if each had a short prompt."""
        read = self.input * tokens.input + self.cache_write * tokens.cache_write + self.cache_read * tokens.cache_read
        return (read + self.output * tokens.output) / MILLION


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


class PriceGroup(Struct, frozen=True):
    """Prices of one source. `as_of` is their day (ISO 8601), or "" if unknown; `file` is where they were read.

    `prefixes` may precede the names of the provider's models; `aliases` are other names of models.
    """

    prices: Mapping[str, Annotated[Price, _read_price]] = field(name="models")
    provider: str = ""
    as_of: Annotated[str, _read_day] = ""
    source: str = ""
    file: str = ""
    prefixes: Annotated[tuple[str, ...], _read_prefixes] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)


class PriceTable(Struct, frozen=True):
    """Groups; the first one that has a model counts. `as_of` is the day of the prices that ship with aigon."""

    as_of: str
    groups: tuple[PriceGroup, ...]


NO_PRICES = PriceTable("", ())


@cache
def load_shipped_prices() -> PriceTable:
    """Return the prices that ship with aigon."""
    return read_price_table(read_shipped("templates", "prices.yaml"), "templates/prices.yaml")


def read_price_table(content: bytes, file: str) -> PriceTable:
    """Return the table in a YAML document. Raises AigonError (exit 2) that names the file and key of an error."""
    fields = parse_yaml(content, file).fields(("as_of", "groups"), required=("as_of", "groups"))
    as_of = _read_day(fields["as_of"])
    groups = (node.build(PriceGroup, file=file) for node in fields["groups"].items())
    return PriceTable(as_of, tuple(replace(group, as_of=group.as_of or as_of) for group in groups))


class PriceQuote(Struct, frozen=True):
    """The price of a model, its name in the table, and the group that has it."""

    model: str
    price: Price
    group: PriceGroup


def estimate_cost(table: PriceTable, model: str, tokens: TokenCounts) -> float | None:
    """Return the US dollars of one call by list price, or None for a model without a price."""
    quote = find_price(table, model)
    return quote.price.call(tokens) if quote else None


def merge_tables(*tables: PriceTable) -> PriceTable:
    """Return one table in which, model by model, an earlier table counts before a later one."""
    return replace(tables[-1], groups=tuple(group for table in tables for group in table.groups))


def find_price(table: PriceTable, model: str) -> PriceQuote | None:
    """Return the price of `model` by its very name, without what may follow it, or without what may precede it."""
    spellings = [(model.strip(), "")]
    for provider in dict.fromkeys(group.provider for group in table.groups if group.provider):
        prefixes = tuple(p for group in table.groups if group.provider == provider for p in group.prefixes)
        name = model.strip()
        while prefix := next((each for each in prefixes if name.startswith(each)), ""):
            name = name.removeprefix(prefix)
        if name != model.strip():
            spellings.append((name, provider))
    names = ((each, provider) for name, provider in spellings for each in (name, _TAIL.sub("", name, count=1)))
    return next((quote for name, provider in names if (quote := _find_quote(table, name, provider))), None)


def _find_quote(table: PriceTable, name: str, provider: str) -> PriceQuote | None:
    """Return the price of a model or alias. Behind a provider's prefix, only that provider's own models count.

    `openai/` before the name of another provider's model is some other server.
    """
    if not any(name in group.prices for group in table.groups):
        name = next((group.aliases[name] for group in table.groups if name in group.aliases), name)
    groups = [group for group in table.groups if name in group.prices]
    if not groups or (provider and not any(group.provider == provider for group in groups)):
        return None
    return PriceQuote(name, groups[0].prices[name], groups[0])


def describe_stale_prices(table: PriceTable, today: date, models: Iterable[str] = ()) -> str:
    """Return a warning if the prices of `models`, or the shipped table as a whole, are too old; else ""."""
    models = tuple(models)
    if models:
        quotes = {quote.model: quote for model in models if (quote := find_price(table, model))}
        warnings = [text for quote in quotes.values() if (text := _describe_age(quote, today))]
    else:
        days = _count_days(table.as_of, today)
        warnings = [f"The prices are {days} days old (of {table.as_of})"] if days > MAX_AGE_DAYS else []
    remedy = ": estimates may be wrong. Put today's prices into .aigon/prices.yaml, or update aigon"
    return "; ".join(warnings) + remedy if warnings else ""


def _describe_age(quote: PriceQuote, today: date) -> str:
    days, group = _count_days(quote.group.as_of, today), quote.group
    if days > MAX_AGE_DAYS:
        file = f", {group.file}" if group.file else ""
        return f"The price of {quote.model} is {days} days old (of {group.as_of}{file})"
    if _count_days(quote.price.until, today) > 0:
        return f"The price of {quote.model} held until {quote.price.until}"
    return ""


def _count_days(as_of: str, today: date) -> int:
    """Return 0 for an unknown day and one to come: a clock that is behind makes no price younger."""
    return max(0, (today - date.fromisoformat(as_of)).days) if as_of else 0


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
