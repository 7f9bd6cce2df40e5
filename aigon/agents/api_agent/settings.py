"""What a session is given by command line, and what it has used of it so far."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from anthropic.types.beta import BetaUsage

from aigon.config.prices import PriceTable, TokenCounts, estimate_cost

DEFAULT_MODEL = "claude-sonnet-5-5"
EFFORTS = ("low", "medium", "high", "xhigh", "max")
SMALLEST_REPLY = 1_000
"""Tokens of a reply below which it is not worth asking."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Seconds, tokens, US dollars. `max_tokens` of the session (0 and None: no limit) count what was not read from a
    cache; `context` is how many tokens a request may have, 0 for the model's own; `reply` how many a reply.

    `folder` is where tool calls are written down; `writable` are further places that commands may write to; `patience`
    is the longest wait for a reply's next byte, `first_wait` and `longest_wait` bound the waits between attempts.
    """

    workspace: Path
    checkout: Path
    folder: Path | None = None
    model: str = DEFAULT_MODEL
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
    """The settings in a command line; exits with 2 and a sentence for one that is wrong. Where a sum of money is given
    twice (by the loop, by `agents.api.args`) the lower one holds; of anything else the last."""
    given = vars(_parser().parse_args(arguments))
    costs = given.pop("max_cost")
    return Settings(**given | {"max_cost": min(costs) if costs else None, "writable": tuple(given["writable"])})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="aigon's built-in agent", allow_abbrev=False)
    parser.add_argument("--workspace", type=Path, required=True)
    parser.add_argument("--checkout", type=Path, required=True)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--model", default=DEFAULT_MODEL)
    parser.add_argument("--effort", choices=EFFORTS, default="")
    parser.add_argument("--max-cost", type=_not_negative, action="append", default=[])
    parser.add_argument("--writable", type=Path, action="append", default=[])
    for name in ("max-turns", "max-tokens", "context", "reply", "attempts"):
        parser.add_argument(f"--{name}", type=_count, default=_default(name))
    for name in ("command-timeout", "first-wait", "longest-wait", "patience"):
        parser.add_argument(f"--{name}", type=_not_negative, default=_default(name))
    return parser


def _default(name: str) -> object:
    return Settings(Path(), Path()).__getattribute__(name.replace("-", "_"))


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    return int(text)


def _not_negative(text: str) -> float:
    number = float(text)
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 up")
    return number


@dataclass(slots=True)
class SessionMeter:
    """Caps of 0 tokens and of None dollars are none. `context` are the tokens of the last exchange together."""

    model: str
    prices: PriceTable
    turns: int
    tokens: int = 0
    cost: float | None = None
    calls: int = 0
    context: int = 0
    used: int = 0
    spent: float = 0.0
    unpriced: bool = field(init=False)

    def __post_init__(self) -> None:
        self.unpriced = self.price(TokenCounts(0, 0)) is None

    def add(self, usage: BetaUsage) -> TokenCounts:
        """Count a reply, or what was lost of one."""
        tokens = split_usage(usage)
        self.used += tokens.input + tokens.cache_write + tokens.output
        self.context = tokens.prompt + tokens.output
        self.spent += self.price(tokens) or 0.0
        return tokens

    def reached(self) -> str:
        """Return the cap that ends the session before it asks again; empty while there is none."""
        if self.calls >= self.turns:
            return f"its cap of {self.turns} turns"
        if self.tokens and self.used + SMALLEST_REPLY > self.tokens:
            return f"its cap of {self.tokens} tokens ({self.used} used)"
        if self.cost is not None and not self.unpriced and self.reply(SMALLEST_REPLY) < SMALLEST_REPLY:
            return f"its cap of ${self.cost:g} (${self.spent:.4f} spent)"
        return ""

    def reply(self, most: int) -> int:
        """Return how many tokens the next reply may have, so that no cap is exceeded by much."""
        rooms = [most]
        if self.tokens:
            rooms.append(self.tokens - self.used)
        if self.cost is not None and not self.unpriced:
            left = self.cost - self.spent - (self.price(TokenCounts(0, 0, cache_read=self.context)) or 0.0)
            rooms.append(int(left / ((self.price(TokenCounts(0, 1_000_000)) or 1.0) / 1_000_000)))
        return max(0, min(rooms))

    def price(self, tokens: TokenCounts) -> float | None:
        """US dollars of one reply; None if the model has no price."""
        return estimate_cost(self.prices, self.model, tokens)


def split_usage(usage: BetaUsage) -> TokenCounts:
    """Return the four counts of a reply; what is not said is none."""
    return TokenCounts(
        usage.input_tokens or 0,
        usage.output_tokens or 0,
        usage.cache_creation_input_tokens or 0,
        usage.cache_read_input_tokens or 0,
    )
