"""What tokens cost: list prices by model, in US dollars per million tokens, and nothing for a model that has none.

A price is found by a model's name alone. A name may carry more than the table's: a date (`claude-opus-5-5-20260922`), a
provider before it (`anthropic/claude-opus-5-5`, `bedrock/us.anthropic.claude-opus-5-5-20260922-v1:0`), Claude Code's
`[1m]`. What stands there beyond that is another model, and what is not known is not guessed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date

MILLION = 1_000_000
_DATE = r"20\d\d(?P<dash>-?)(?:0[1-9]|1[0-2])(?P=dash)(?:0[1-9]|[12]\d|3[01])"
_TAIL = re.compile(rf"(?:[-@]{_DATE})?(?:-v\d+:\d+)?(?:\[1m\])?$")
"""A date as Anthropic, OpenAI and Vertex AI write it, Bedrock's version, Claude Code's word for the long context."""


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """As the Anthropic API counts them: the four do not overlap."""

    input: int
    output: int
    cache_write: int = 0
    cache_read: int = 0

    @property
    def prompt(self) -> int:
        """All that the model read."""
        return self.input + self.cache_write + self.cache_read


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens. A prompt of more than `above` tokens has the price `long`, where there is one.

    `until` is the last day (ISO 8601) of a price that is announced to end; empty for one that is not.
    """

    input: float
    output: float
    cache_write: float
    cache_read: float
    above: int = 0
    long: "Price | None" = None
    until: str = ""

    def call(self, tokens: TokenCounts) -> float:
        """US dollars of one call."""
        return self.long.call(tokens) if self.long and tokens.prompt > self.above else self.calls(tokens)

    def calls(self, tokens: TokenCounts) -> float:
        """US dollars of many calls, of which only the sum is known: each is taken for one with a short prompt."""
        read = self.input * tokens.input + self.cache_write * tokens.cache_write + self.cache_read * tokens.cache_read
        return (read + self.output * tokens.output) / MILLION


@dataclass(frozen=True, slots=True)
class PriceGroup:
    """Prices of one source. `as_of` is the day (ISO 8601) on which they were looked at; empty where nobody said.

    `prefixes` may stand before the names of the provider's models; `aliases` are other names of models; `file` is
    where it was read.
    """

    prices: Mapping[str, Price]
    provider: str = ""
    as_of: str = ""
    source: str = ""
    file: str = ""
    prefixes: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Groups, of which the first that has a model counts. `as_of` is the day of what ships with aigon."""

    as_of: str
    groups: tuple[PriceGroup, ...]


NO_PRICES = PriceTable("", ())
"""Knows no price of anything."""


@dataclass(frozen=True, slots=True)
class PriceQuote:
    """The price of a model, the name under which it stands in the table, and the group that has it."""

    model: str
    price: Price
    group: PriceGroup


def estimate_cost(table: PriceTable, model: str, tokens: TokenCounts) -> float | None:
    """US dollars of one call by list price; None for a model without one."""
    found = find_price(table, model)
    return found.price.call(tokens) if found else None


def merge_tables(*tables: PriceTable) -> PriceTable:
    """One table, model by model: an earlier one counts before a later one."""
    return replace(tables[-1], groups=tuple(group for table in tables for group in table.groups))


def find_price(table: PriceTable, model: str) -> PriceQuote | None:
    """The price of `model`: under its very name, without what may follow it, without what may stand before it."""
    for name, provider in _list_spellings(table, model.strip()):
        for each in (name, _TAIL.sub("", name, count=1)):
            if found := _find_quote(table, _resolve_alias(table, each), provider):
                return found
    return None


def find_model_name(table: PriceTable, model: str) -> str:
    """The table's name of `model`; the name itself where the table does not know it."""
    found = find_price(table, model)
    return found.model if found else model.strip()


def _list_spellings(table: PriceTable, model: str) -> Iterator[tuple[str, str]]:
    """The name, then the name within each provider whose prefix it has."""
    yield model, ""
    for provider in dict.fromkeys(group.provider for group in table.groups if group.provider):
        prefixes = tuple(p for group in table.groups if group.provider == provider for p in group.prefixes)
        name = model
        while prefix := next((each for each in prefixes if name.startswith(each)), ""):
            name = name.removeprefix(prefix)
        if name != model:
            yield name, provider


def _resolve_alias(table: PriceTable, name: str) -> str:
    """The model that an alias stands for; a name that has a price of its own is no alias."""
    if any(name in group.prices for group in table.groups):
        return name
    return next((group.aliases[name] for group in table.groups if name in group.aliases), name)


def _find_quote(table: PriceTable, name: str, provider: str) -> PriceQuote | None:
    """After a provider's prefix, only the provider's own models: `openai/` before another's is some other server."""
    if provider and not any(name in group.prices for group in table.groups if group.provider == provider):
        return None
    return next((PriceQuote(name, group.prices[name], group) for group in table.groups if name in group.prices), None)


MAX_AGE_DAYS = 90
"""Days after which a price is doubted: providers changed theirs several times within 90 days of 2026."""


def get_age_days(table: PriceTable, today: date, model: str = "") -> int | None:
    """Days since the price of `model` was looked at; of the shipped table without one. None where nobody knows."""
    if not model:
        return _count_days(table.as_of, today)
    found = find_price(table, model)
    return _count_days(found.group.as_of, today) if found else None


def describe_stale_prices(table: PriceTable, today: date, models: Iterable[str] = ()) -> str:
    """A warning where what `models` are priced by is too old; empty where it is not, or has no price.

    Without models it is about the shipped table as a whole.
    """
    wanted = tuple(models)
    if not wanted:
        days = _count_days(table.as_of, today) or 0
        return f"The prices are {days} days old (of {table.as_of}){_REMEDY}" if days > MAX_AGE_DAYS else ""
    found = dict.fromkeys(quote.model for model in wanted if (quote := find_price(table, model)))
    said = [text for model in found if (quote := find_price(table, model)) and (text := _describe_age(quote, today))]
    return "; ".join(said) + _REMEDY if said else ""


_REMEDY = ": estimates may be wrong. Put today's prices into .aigon/prices.yaml, or update aigon"


def _describe_age(quote: PriceQuote, today: date) -> str:
    days = _count_days(quote.group.as_of, today) or 0
    if days > MAX_AGE_DAYS:
        return f"The price of {quote.model} is {days} days old (of {quote.group.as_of}{_format_file(quote.group)})"
    if quote.price.until and (_count_days(quote.price.until, today) or 0) > 0:
        return f"The price of {quote.model} held until {quote.price.until}"
    return ""


def _format_file(group: PriceGroup) -> str:
    return f", {group.file}" if group.file else ""


def _count_days(as_of: str, today: date) -> int | None:
    """0 for a day to come: a clock that is behind makes no price younger."""
    return max(0, (today - date.fromisoformat(as_of)).days) if as_of else None
