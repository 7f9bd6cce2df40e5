"""What a session leaves: one JSON record per line on standard output, and every use of a tool in the run folder.

Records are `start`, `note`, `text`, `tool`, `call` (a reply with its tokens), `retry` and `result`. Whatever ends the
process, the records before have what was spent.
"""

import json
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

from aigon.agents.adapters._tools import tool as line
from aigon.agents.api_agent.clip import clipped
from aigon.secrets.redaction import make_redactor

FILE = "tools.jsonl"
KEPT = 20_000
"""Characters of an input or output that are written down."""


class Log:
    """Records go to `out`, uses of tools to a file in `folder` too, where there is one. Known secrets are left out."""

    def __init__(self, out: IO[str], folder: Path | None = None) -> None:
        self._out = out
        self._file = folder / FILE if folder else None
        self._redact = make_redactor(os.environ)
        self.turn = 0

    def hide(self, variables: Iterable[str]) -> None:
        """Leave out the values of these variables too, whatever they are called."""
        self._redact = make_redactor(os.environ, {"KEY_" + name: os.environ.get(name, "") for name in variables})

    def say(self, kind: str, **fields: object) -> None:
        """Write one record. Raises OSError when nobody reads any more, which has to end the session."""
        self._out.write(self.safe(json.dumps({"type": kind, **fields}, ensure_ascii=False, default=str)) + "\n")
        self._out.flush()

    def used(
        self, name: str, given: object, output: str, *, failed: bool, seconds: float, code: int | None = None
    ) -> None:
        """Write down a use of a tool: what it was given, what it said, how long it took, how it exited."""
        common = {"tool": name, "seconds": round(seconds, 3), "exit": code, "failed": failed}
        self.say("tool", line=_line(name, given), **common)
        kept = {"input": _kept(given), "output": clipped(output, KEPT)}
        self._write({"at": _now(), "turn": self.turn, **common, **kept})

    def safe(self, text: str) -> str:
        """`text` without secrets that the environment holds."""
        return self._redact(text.encode("utf-8", "replace")).decode("utf-8", "replace")

    def _write(self, record: Mapping[str, object]) -> None:
        if self._file is None:
            return
        text = self.safe(json.dumps(record, ensure_ascii=False, default=str))
        try:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(text + "\n")
        except OSError as error:
            self._file = None  # said once; nothing in it decides
            self.say("note", text=f"{FILE} cannot be written: {error.strerror or error}")


def _line(name: str, given: object) -> str:
    """The use in a line; of the editor what it does to which file."""
    if isinstance(given, Mapping) and "path" in given and "command" in given:
        return line("edit", f"{given['command']} {given['path']}")
    return line(name, given)


def _kept(given: object) -> object:
    if isinstance(given, Mapping):
        return {key: _kept(value) for key, value in given.items()}
    if isinstance(given, list):
        return [_kept(value) for value in given]
    return clipped(given, KEPT) if isinstance(given, str) else given


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")
