"""What Anthropic's models cost, for an estimate: US dollars per million tokens, as of 2026-11-20."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_MILLION = 1_000_000
_CACHE_WRITE = 1.25
_CACHE_READ = 0.1


@dataclass(frozen=True, slots=True)
class Price:
    """`above` is the number of prompt tokens from which the `long` prices hold; 0: never."""

    input: float
    output: float
    above: int = 0
    long_input: float = 0.0
    long_output: float = 0.0


_PRICES: Mapping[str, Price] = {
    "claude-haiku-5-5": Price(0.10, 0.50, above=100_000, long_input=0.50, long_output=2.50),
    "claude-sonnet-5-5": Price(2.0, 10.0),
    "claude-opus-5-5": Price(4.0, 20.0),
    "claude-fable-5-1": Price(10.0, 50.0),
}


@dataclass(frozen=True, slots=True)
class Tokens:
    """As the API counts them: the four do not overlap."""

    input: int
    output: int
    cache_write: int = 0
    cache_read: int = 0


def estimate(model: str, tokens: Tokens) -> float | None:
    """US dollars of one call; None for a model without a price here. A dated model has the price of its name."""
    price = _PRICES.get(re.sub(r"-20\d{6}$", "", model))
    if price is None:
        return None
    prompt = tokens.input + tokens.cache_write + tokens.cache_read
    long = 0 < price.above < prompt
    per_input, per_output = (price.long_input, price.long_output) if long else (price.input, price.output)
    read = tokens.input + _CACHE_WRITE * tokens.cache_write + _CACHE_READ * tokens.cache_read
    return (per_input * read + per_output * tokens.output) / _MILLION
