"""The settings of a session, given by its command line, and how much of its limits it has used."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from anthropic.types.beta import BetaUsage
from msgspec import Struct
from msgspec.structs import fields

from aigon.agents.anthropic_api import split_usage
from aigon.config.prices import PriceTable, TokenCounts, estimate_cost

EFFORTS = ("low", "medium", "high", "xhigh", "max")
SMALLEST_REPLY = 1_000
"""Tokens of a reply below which it is not worth asking."""


class Settings(Struct, frozen=True):
    """Seconds, tokens, US dollars. `max_tokens` of the session (0 and None: no limit) count what was not read from a
    cache; `context` is how many tokens a request may have, 0 for the model's own; `reply` how many a reply.

    `folder` is where tool calls are written down; `writable` are further places that commands may write to; `patience`
    is the longest wait for a reply's next byte, `first_wait` and `longest_wait` bound the waits between attempts.
    """

    workspace: Path
    checkout: Path
    folder: Path | None = None
    model: str = "claude-sonnet-5-5"
    effort: str = ""
    max_turns: int = 100
    max_tokens: int = 0
    max_cost: float | None = None
    context: int = 0
    reply: int = 32_000
    command_timeout: float = 300.0
    writable: tuple[Path, ...] = ()
    attempts: int = 5
    first_wait: float = 1.0
    longest_wait: float = 60.0
    patience: float = 180.0


def parse_settings(arguments: Sequence[str]) -> Settings:
    """Return the settings in a command line, an option for each; exits with 2 and a sentence for one that is wrong.

    Of two sums of money (of the loop and of `agents.api.args`) the lower one holds; of anything else the last.
    """
    parser = argparse.ArgumentParser(prog="aigon's built-in agent", allow_abbrev=False)
    parsers: dict[Any, Callable[[str], object]] = {int: _parse_count, float: _parse_amount, str: str}
    for option in fields(Settings):
        name = f"--{option.name.replace('_', '-')}"
        if option.name == "max_cost":
            parser.add_argument(name, type=_parse_amount, action="append", default=[])
        elif option.name == "writable":
            parser.add_argument(name, type=Path, action="append", default=[])
        elif option.name in ("workspace", "checkout"):
            parser.add_argument(name, type=Path, required=True)
        else:
            choices = EFFORTS if option.name == "effort" else None
            read = parsers.get(option.type, Path)
            parser.add_argument(name, type=read, choices=choices, default=option.default)
    given = vars(parser.parse_args(arguments))
    return Settings(**given | {"max_cost": min(given["max_cost"], default=None), "writable": tuple(given["writable"])})


def _parse_count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    return int(text)


def _parse_amount(text: str) -> float:
    number = float(text)
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 up")
    return number


class SessionMeter(Struct):
    """0 tokens and None dollars mean no cap. `context` are the tokens of the last exchange together."""

    model: str
    prices: PriceTable
    turns: int
    tokens: int = 0
    cost: float | None = None
    calls: int = 0
    context: int = 0
    used: int = 0
    spent: float = 0.0
    unpriced: bool = False

    def __post_init__(self) -> None:
        self.unpriced = self.price(TokenCounts(0, 0)) is None

    def add(self, usage: BetaUsage) -> TokenCounts:
        """Count a reply, or what was lost of one."""
        tokens = split_usage(usage)
        self.used += tokens.input + tokens.cache_write + tokens.output
        self.context = tokens.prompt + tokens.output
        self.spent += self.price(tokens) or 0.0
        return tokens

    def find_reached_cap(self) -> str:
        """Return the cap that ends the session before it asks again; empty while no cap is reached."""
        if self.calls >= self.turns:
            return f"its cap of {self.turns} turns"
        if self.tokens and self.used + SMALLEST_REPLY > self.tokens:
            return f"its cap of {self.tokens} tokens ({self.used} used)"
        if self.cost is not None and not self.unpriced and self.limit_reply(SMALLEST_REPLY) < SMALLEST_REPLY:
            return f"its cap of ${self.cost:g} (${self.spent:.4f} spent)"
        return ""

    def limit_reply(self, most: int) -> int:
        """Return how many tokens the next reply may have, so that no cap is exceeded by much."""
        limits = [most]
        if self.tokens:
            limits.append(self.tokens - self.used)
        if self.cost is not None and not self.unpriced:
            remaining = self.cost - self.spent - (self.price(TokenCounts(0, 0, cache_read=self.context)) or 0.0)
            limits.append(int(remaining / ((self.price(TokenCounts(0, 1_000_000)) or 1.0) / 1_000_000)))
        return max(0, min(limits))

    def price(self, tokens: TokenCounts) -> float | None:
        """Return the US dollars of one reply; None if the model has no price."""
        return estimate_cost(self.prices, self.model, tokens)
