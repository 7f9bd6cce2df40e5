"""What one session of the built-in agent is given, by command line."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

DEFAULT_MODEL = "claude-sonnet-5-5"
EFFORTS = ("low", "medium", "high", "xhigh", "max")


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


def read(arguments: Sequence[str]) -> Settings:
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
