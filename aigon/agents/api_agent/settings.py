"""What a session is given: its settings by command line, the limits that it has used up, a log, and tools as the SDK
takes them.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from anthropic.lib.tools import BetaBuiltinFunctionTool, ToolError
from anthropic.types.beta import BetaToolUnionParam, BetaUsage
from msgspec import Struct
from msgspec.structs import fields

from aigon.agents.adapters._records import describe_use
from aigon.agents.anthropic_api import split_usage
from aigon.config.prices import PriceTable, TokenCounts, estimate_cost
from aigon.secrets.redaction import make_redactor

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


LONGEST_SHOWN = 16_000
"""Characters of a tool's output that a model gets: about 7,000 tokens."""
LONGEST_LOGGED = 20_000
"""Characters of an input or output that are written down."""
LOG_FILE = "tools.jsonl"
INVALID = "INVALID_JSON"
"""The key under which an input that is no JSON object goes back to the model, as the API's documentation has it."""


def clip_text(text: str, most: int = LONGEST_SHOWN) -> str:
    """Return `text`, or the head and the tail of a longer one, and how much is missing between them."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


class SessionLog:
    """Records go to `out`, uses of tools to a file in `folder` too, if there is one. Known secrets are left out."""

    def __init__(self, out: IO[str], folder: Path | None = None) -> None:
        self._out = out
        self._file = folder / LOG_FILE if folder else None
        self._redact = make_redactor(os.environ)
        self.turn = 0

    def hide(self, variables: Iterable[str]) -> None:
        """Leave out the values of these variables too, whatever they are called."""
        self._redact = make_redactor(os.environ, {"KEY_" + name: os.environ.get(name, "") for name in variables})

    def redact(self, text: str) -> str:
        """Return `text` without secrets that the environment holds."""
        return self._redact(text.encode("utf-8", "replace")).decode("utf-8", "replace")

    def write(self, kind: str, **fields: object) -> None:
        """Write one record. Raises OSError once the reader has gone, which has to end the session."""
        self._out.write(self._render({"type": kind, **fields}))
        self._out.flush()

    def write_use(
        self, name: str, given: object, output: str, *, failed: bool, seconds: float, code: int | None = None
    ) -> None:
        """Write down a use of a tool: what it was given, what it said, how long it took, how it exited."""
        common = {"tool": name, "seconds": round(seconds, 3), "exit": code, "failed": failed}
        if isinstance(given, Mapping) and "path" in given and "command" in given:
            line = describe_use("edit", f"{given['command']} {given['path']}")
        else:
            line = describe_use(name, given)
        self.write("tool", line=line, **common)
        if self._file is None:
            return
        kept = {"input": _clip_value(given), "output": clip_text(output, LONGEST_LOGGED)}
        at = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        try:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(self._render({"at": at, "turn": self.turn, **common, **kept}))
        except OSError as error:
            self._file = None  # noted once; nothing in it decides
            self.write("note", text=f"{LOG_FILE} cannot be written: {error.strerror or error}")

    def _render(self, record: Mapping[str, object]) -> str:
        return self.redact(json.dumps(record, ensure_ascii=False, default=str)) + "\n"


def _clip_value(given: object) -> object:
    if isinstance(given, Mapping):
        return {key: _clip_value(value) for key, value in given.items()}
    if isinstance(given, list):
        return [_clip_value(value) for value in given]
    return clip_text(given, LONGEST_LOGGED) if isinstance(given, str) else given


class ToolFailure(Exception):
    """A tool's words to the model instead of an output."""


class ToolOutput(Struct, frozen=True):
    """The output of a tool; `code` is the exit code of one that runs a program."""

    text: str
    code: int | None = None


Work = Callable[[Mapping[str, Any]], ToolOutput]


class SessionTool(BetaBuiltinFunctionTool):
    """A definition and what is done when the model uses it. Every use is written down."""

    def __init__(self, definition: Mapping[str, object], work: Work, log: SessionLog) -> None:
        self._definition: Any = definition
        self._work = work
        self._log = log

    def to_dict(self) -> BetaToolUnionParam:
        """Return the definition that goes to the API."""
        definition: BetaToolUnionParam = self._definition
        return definition

    def call(self, input: object) -> str:
        """Return what the tool said. Raises ToolError, which the model gets as an error."""
        begun, failed = time.monotonic(), True
        try:
            if not isinstance(input, Mapping) or set(input) == {INVALID}:
                raise ToolFailure(
                    "The input of this tool was no valid JSON object. Nothing was done; send it again as valid JSON"
                )
            output, failed = self._work(input), False
        except ToolFailure as failure:
            output = ToolOutput(str(failure))
        except Exception as error:  # a tool's own mistake costs one answer, never the turn
            output = ToolOutput(f"The tool broke: {type(error).__name__}: {error}")
        text = self._log.redact(clip_text(output.text.strip("\n") or "(no output)"))
        seconds = time.monotonic() - begun
        self._log.write_use(self.name, input, text, failed=failed, seconds=seconds, code=output.code)
        if failed:
            raise ToolError(text)
        return text


def require_text(given: Mapping[str, Any], key: str, default: str | None = None) -> str:
    """Return a text of the input. Raises ToolFailure if it is missing or something else."""
    value = given.get(key, default)
    if not isinstance(value, str):
        raise ToolFailure(f"`{key}` has to be a text" if key in given else f"`{key}` is missing")
    return value
