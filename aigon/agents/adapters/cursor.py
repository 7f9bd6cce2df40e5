"""What Cursor's CLI prints with `--output-format stream-json`, as its documentation has it; it was never run here.

One record per line, the last of type `result`. A run that fails ends early without one and says why on standard error.
Nothing is said of tokens or of cost.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from aigon.agents.adapters._errors import read_error, read_stderr
from aigon.agents.adapters._program import LAST_WORDS
from aigon.agents.adapters._records import Record, describe_use, filter_type, list_at, parse_records, text_at, value_at
from aigon.model.turns import ProgramExit, TurnReport
from aigon.text.fingerprints import strip_escapes

_ERROR = re.compile(r"^\w*Error: (?P<message>.*)", re.M | re.S)
_SUFFIX = "ToolCall"
_REFUSED = ("rejected", "permissionDenied")


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn by its records."""
    found = parse_records(exited.stdout)
    said = [_text(one) for one in filter_type(found, "assistant")]
    result = next(iter(filter_type(found, "result")[::-1]), {})
    calls = {text_at(one, "call_id") or repr(one): one for one in filter_type(found, "tool_call")}
    return replace(
        _read_end(result, bool(found), exited),
        said=next((text for text in said[::-1] if text), text_at(result, "result"))[-LAST_WORDS:],
        model=next((text_at(one, "model") for one in filter_type(found, "system")), ""),
        session=next((text for one in found if (text := text_at(one, "session_id"))), ""),
        denied=tuple(_describe_call(one) for one in calls.values() if _is_rejected(one)),
        tools=tuple(_describe_call(one) for one in calls.values()),
    )


def _read_end(result: Record, begun: bool, exited: ProgramExit) -> TurnReport:
    if result and not result.get("is_error"):
        return TurnReport(end="finished")
    if result:
        return read_error(text_at(result, "result"), now=exited.ended)
    error = _ERROR.search(strip_escapes(exited.stderr.decode("utf-8", "replace")))
    if error and (exited.exit_code or 0) > 0:
        return read_error(error["message"].strip(), now=exited.ended)
    return TurnReport() if begun else read_stderr(exited)


def _text(record: Record) -> str:
    parts = list_at(record, "message", "content")
    return "\n".join(filter(None, (text_at(part, "text") for part in parts))).strip()


def _call(record: Record) -> tuple[str, object]:
    """Its name and what is known of it: `{"shellToolCall": {"args": ..., "result": ...}}`, `{"function": ...}`."""
    call = value_at(record, "tool_call")
    for name, inside in call.items() if isinstance(call, Mapping) else ():
        if name == "function":
            return text_at(inside, "name"), {
                "args": value_at(inside, "arguments"),
                "result": value_at(inside, "result"),
            }
        if str(name).endswith(_SUFFIX):
            return str(name).removesuffix(_SUFFIX), inside
    return "", None


def _describe_call(record: Record) -> str:
    name, call = _call(record)
    return describe_use(name, value_at(call, "args"))


def _is_rejected(record: Record) -> bool:
    result = value_at(_call(record)[1], "result")
    return isinstance(result, Mapping) and any(result.get(key) is not None for key in _REFUSED)
