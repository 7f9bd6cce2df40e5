"""A tool as the SDK's tool runner takes it, and the log of everything that a session does."""

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from anthropic.lib.tools import BetaBuiltinFunctionTool, ToolError
from anthropic.types.beta import BetaToolUnionParam
from msgspec import Struct

from aigon.agents.adapters._records import describe_use
from aigon.secrets.redaction import make_redactor

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
