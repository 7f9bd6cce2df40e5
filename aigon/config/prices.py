"""What tokens cost: list prices by model, in US dollars per million tokens, and nothing for a model that has none.

A price is found by a model's name alone. A name may carry more than the table's: a date (`claude-opus-5-5-20260922`), a
provider before it (`anthropic/claude-opus-5-5`, `bedrock/us.anthropic.claude-opus-5-5-20260922-v1:0`), Claude Code's
`[1m]`. What stands there beyond that is another model, and what is not known is not guessed.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

MILLION = 1_000_000
_DATE = r"20\d\d(?P<dash>-?)(?:0[1-9]|1[0-2])(?P=dash)(?:0[1-9]|[12]\d|3[01])"
_TAIL = re.compile(rf"(?:[-@]{_DATE})?(?:-v\d+:\d+)?(?:\[1m\])?$")
"""A date as Anthropic, OpenAI and Vertex AI write it, Bedrock's version, Claude Code's word for the long context."""


@dataclass(frozen=True, slots=True)
class Tokens:
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

    def call(self, tokens: Tokens) -> float:
        """US dollars of one call."""
        return self.long.call(tokens) if self.long and tokens.prompt > self.above else self.calls(tokens)

    def calls(self, tokens: Tokens) -> float:
        """US dollars of many calls, of which only the sum is known: each is taken for one with a short prompt."""
        read = self.input * tokens.input + self.cache_write * tokens.cache_write + self.cache_read * tokens.cache_read
        return (read + self.output * tokens.output) / MILLION


@dataclass(frozen=True, slots=True)
class Group:
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
class Table:
    """Groups, of which the first that has a model counts. `as_of` is the day of what ships with aigon."""

    as_of: str
    groups: tuple[Group, ...]


NO_PRICES = Table("", ())
"""Knows no price of anything."""


@dataclass(frozen=True, slots=True)
class Quote:
    """The price of a model, the name under which it stands in the table, and the group that has it."""

    model: str
    price: Price
    group: Group


def estimate(table: Table, model: str, tokens: Tokens) -> float | None:
    """US dollars of one call by list price; None for a model without one."""
    found = quoted(table, model)
    return found.price.call(tokens) if found else None


def over(*tables: Table) -> Table:
    """One table, model by model: an earlier one counts before a later one."""
    return replace(tables[-1], groups=tuple(group for table in tables for group in table.groups))


def quoted(table: Table, model: str) -> Quote | None:
    """The price of `model`: under its very name, without what may follow it, without what may stand before it."""
    for name, provider in _spellings(table, model.strip()):
        for each in (name, _TAIL.sub("", name, count=1)):
            if found := _found(table, _meant(table, each), provider):
                return found
    return None


def name_of(table: Table, model: str) -> str:
    """The table's name of `model`; the name itself where the table does not know it."""
    found = quoted(table, model)
    return found.model if found else model.strip()


def _spellings(table: Table, model: str) -> Iterator[tuple[str, str]]:
    """The name, then the name within each provider whose prefix it has."""
    yield model, ""
    for provider in dict.fromkeys(group.provider for group in table.groups if group.provider):
        prefixes = tuple(p for group in table.groups if group.provider == provider for p in group.prefixes)
        name = model
        while prefix := next((each for each in prefixes if name.startswith(each)), ""):
            name = name.removeprefix(prefix)
        if name != model:
            yield name, provider


def _meant(table: Table, name: str) -> str:
    """The model that an alias stands for; a name that has a price of its own is no alias."""
    if any(name in group.prices for group in table.groups):
        return name
    return next((group.aliases[name] for group in table.groups if name in group.aliases), name)


def _found(table: Table, name: str, provider: str) -> Quote | None:
    """After a provider's prefix, only the provider's own models: `openai/` before another's is some other server."""
    if provider and not any(name in group.prices for group in table.groups if group.provider == provider):
        return None
    return next((Quote(name, group.prices[name], group) for group in table.groups if name in group.prices), None)
