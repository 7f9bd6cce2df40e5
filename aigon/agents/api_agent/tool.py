"""A tool as the tool runner takes it: whatever goes wrong in it is an answer that the model sees."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from anthropic.lib.tools import BetaBuiltinFunctionTool, ToolError
from anthropic.types.beta import BetaToolUnionParam

from aigon.agents.api_agent.clip import clipped
from aigon.agents.api_agent.log import Log

INVALID = "INVALID_JSON"
"""The key under which an input that is no JSON object goes back to the model, as the API's documentation has it."""


class Wrong(Exception):
    """What a tool says to the model instead of an output."""


@dataclass(frozen=True, slots=True)
class Output:
    """What a tool said; `code` is the exit code of one that runs a program."""

    text: str
    code: int | None = None


Work = Callable[[Mapping[str, Any]], Output]


class Tool(BetaBuiltinFunctionTool):
    """A definition and what is done when the model uses it. Every use is written down."""

    def __init__(self, definition: BetaToolUnionParam, work: Work, log: Log) -> None:
        self._definition = definition
        self._work = work
        self._log = log

    def to_dict(self) -> BetaToolUnionParam:
        """The definition that goes to the API."""
        return self._definition

    def call(self, input: object) -> str:
        """What the tool said. Raises ToolError, which the model gets as an error."""
        begun = time.monotonic()
        output, failed = self._done(input)
        text = self._log.safe(clipped(output.text.strip("\n") or "(no output)"))
        self._log.used(self.name, input, text, failed=failed, seconds=time.monotonic() - begun, code=output.code)
        if failed:
            raise ToolError(text)
        return text

    def _done(self, given: object) -> tuple[Output, bool]:
        try:
            return self._work(_valid(given)), False
        except Wrong as wrong:
            return Output(str(wrong)), True
        except Exception as error:  # a tool's own mistake costs one answer, never the turn
            return Output(f"The tool broke: {type(error).__name__}: {error}"), True


def _valid(given: object) -> Mapping[str, Any]:
    if isinstance(given, Mapping) and set(given) != {INVALID}:
        return given
    raise Wrong("The input of this tool was no valid JSON object. Nothing was done; send it again as valid JSON")


def text_of(given: Mapping[str, Any], key: str, default: str | None = None) -> str:
    """A text of the input. Raises Wrong where it is missing or something else."""
    value = given.get(key, default)
    if not isinstance(value, str):
        raise Wrong(f"`{key}` has to be a text" if key in given else f"`{key}` is missing")
    return value
