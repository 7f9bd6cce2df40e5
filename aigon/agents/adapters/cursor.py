"""Read the output of Cursor's CLI with `--output-format stream-json`, as documented; it was never run here.

One record per line, the last of type `result`. A run that fails ends early without one and says why on standard error.
It tells neither tokens nor cost.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from aigon.agents.adapters._activities import say, use
from aigon.agents.adapters._errors import find_stated_error, read_error, read_stderr
from aigon.agents.adapters._records import Record, describe_use, join_texts, parse_records
from aigon.model.turns import Activity, ProgramExit, TurnReport
from aigon.text.untrusted import list_at, object_at, text_at, value_at

ACTIVITY_MARKS = (b'"assistant"', b'"started"')
_SUFFIX = "ToolCall"
_REFUSED = ("rejected", "permissionDenied")


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn by its records."""
    records = parse_records(exited.stdout)
    texts = [join_texts(list_at(one, "message", "content")) for one in records.of("assistant")]
    result = records.last("result")
    by_id = {text_at(one, "call_id") or repr(one): one for one in records.of("tool_call")}
    calls = [_read_call(one) for one in by_id.values()]
    return replace(
        _read_end(result, bool(records), exited),
        said=next((text for text in texts[::-1] if text), text_at(result, "result")),
        model=records.of("system").first_text("model"),
        session=records.first_text("session_id"),
        denied=tuple(described for described, rejected in calls if rejected),
        tools=tuple(described for described, _ in calls),
    )


def read_activity(record: Record) -> Iterator[Activity]:
    """Yield what a record tells of the work. A call shows as it begins."""
    if record.get("type") == "assistant":
        yield from say(join_texts(list_at(record, "message", "content")))
    elif record.get("type") == "tool_call" and record.get("subtype") == "started":
        tool, _, used_on = _read_call(record)[0].partition(": ")
        yield from use(tool, used_on)


def _read_end(result: Record, begun: bool, exited: ProgramExit) -> TurnReport:
    if result and not result.get("is_error"):
        return TurnReport("finished")
    if result:
        return read_error(text_at(result, "result"), now=exited.ended)
    if error := find_stated_error(exited):
        return read_error(error, now=exited.ended)
    return TurnReport() if begun else read_stderr(exited)


def _read_call(record: Record) -> tuple[str, bool]:
    """Describe a call and tell whether it was rejected: `{"shellToolCall": {"args": .., "result": ..}}`, `{"function":
    {"name": .., "arguments": ..}}`."""
    for key, call in object_at(record, "tool_call").items():
        result = value_at(call, "result")
        rejected = any(value_at(result, key) is not None for key in _REFUSED)
        if key == "function":
            return describe_use(text_at(call, "name"), value_at(call, "arguments")), rejected
        if key.endswith(_SUFFIX):
            return describe_use(key.removesuffix(_SUFFIX), value_at(call, "args")), rejected
    return describe_use(""), False
