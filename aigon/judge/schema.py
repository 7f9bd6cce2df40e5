"""The JSON Schemas of the two replies, without references, as every backend can take them."""

from collections.abc import Mapping

from aigon.judge.case import Task

Schema = Mapping[str, object]


def reply_schema(task: Task) -> Schema:
    """What the reply to a task must look like."""
    if task == "decide":
        return _list_of("verdicts", {"missing": _STRING, "reason": _STRING, "status": _STATUS})
    return _list_of("refutations", {"reason": _STRING, "refuted": {"type": "boolean"}})


def _object(properties: Schema) -> Schema:
    required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _list_of(name: str, more: Schema) -> Schema:
    one = _object({"criterion": _INTEGER, "quotes": {"type": "array", "items": _QUOTE}, **more})
    return _object({name: {"type": "array", "items": one}})


_STRING: Schema = {"type": "string"}
_INTEGER: Schema = {"type": "integer"}
_STATUS: Schema = {"type": "string", "enum": ["met", "unmet", "unclear"]}
_QUOTE: Schema = _object({"source": _STRING, "path": _STRING, "line": _INTEGER, "text": _STRING})
