"""No reader of an agent's output ever raises, and whatever it says can be kept and added up."""

import json
import math
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aigon.agents.adapters import READERS
from aigon.model.turns import ProgramExit, TurnEnd, TurnReport

KINDS = {name: reader for name in READERS.names() if hasattr(reader := READERS.load(name), "read_output")}
CAPTURES = sorted(path for path in (Path(__file__).parent / "captures").iterdir() if path.is_file())
NOW = 1_795_170_000.0
DEEP = "[" * 700 + "]" * 700
NESTED = '{"error":' * 400 + '{"message":"x"}' + "}" * 400
HOSTILE: tuple[object, ...] = (
    *(None, True, -1, -(10**400), 10**400, 0.5, float("nan"), float("inf"), -0.0, [], {}, [[]], [None], {"": None}),
    *("", "\x00", "\ud800", "\x1b[31m", "9" * 400, "[API Error: " + NESTED, json.loads(DEEP), "resets 99:99"),
    *("|9999999999", "try again in " + "9" * 300 + " days", "resets Feb 31, 2026 at 25:00 (No/Where)"),
)

JUNK = st.recursive(
    st.sampled_from(HOSTILE) | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


@st.composite
def spoiled(draw: st.DrawFn) -> bytes:
    """A captured output with values replaced, bytes cut out of its middle or its end, and noise."""
    lines = draw(st.sampled_from(CAPTURES)).read_bytes().splitlines()
    for number in draw(st.lists(st.integers(0, max(0, len(lines) - 1)), max_size=4)):
        lines[number:number] = [_spoiled_line(lines[number], draw)] if number < len(lines) else []
    text = b"\n".join(
        [draw(st.binary(max_size=6)), *lines, draw(st.sampled_from((b"", b"{", b'{"type": "res', b"\xff")))]
    )
    begin, end = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
    return text[:begin] + b"\n[... 7 bytes left out ...]\n" + text[end:] if draw(st.booleans()) else text


def _spoiled_line(line: bytes, draw: st.DrawFn) -> bytes:
    try:
        record = json.loads(line)
    except ValueError:
        return line
    places = _places(record)
    holder, key = draw(st.sampled_from(places)) if places else ({}, "")
    holder[key] = draw(JUNK)
    return json.dumps(record).encode()


def _places(value: object) -> list[tuple[dict, str]]:  # type: ignore[type-arg]
    """Every key of every object in a record."""
    if isinstance(value, list):
        return [place for one in value for place in _places(one)]
    if not isinstance(value, dict):
        return []
    return [(value, key) for key in value] + [place for one in value.values() for place in _places(one)]


def sound(seen: TurnReport) -> bool:
    """Whether it can be shown and added up."""
    texts = (seen.said, seen.detail, seen.model, seen.session, *seen.denied, *seen.tools)
    assert all(isinstance(text, str) for text in texts)
    assert seen.end is None or seen.end in get_args(TurnEnd)
    assert seen.cost is None or (math.isfinite(seen.cost) and seen.cost >= 0)
    assert seen.resets_at is None or math.isfinite(seen.resets_at)
    counts = (seen.usage.input, seen.usage.output, seen.usage.cached) if seen.usage else ()
    assert all(count >= 0 for count in counts)
    assert all("\n" not in line and len(line) <= 200 for line in (*seen.denied, *seen.tools))
    return True


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(stdout=spoiled(), stderr=spoiled(), code=st.sampled_from((0, 1, 41, 144, 173, -9, None)))
def test_a_spoiled_output_never_raises(stdout: bytes, stderr: bytes, code: int | None) -> None:
    for reader in KINDS.values():
        for output in (stdout, b""):
            assert sound(reader.read_output(ProgramExit(code, output, stderr, report=stderr, ended=NOW))), reader


GARBAGE = (
    b"",
    b"\n\n",
    b"\xff\xfe\x00\x01" * 50,
    b"plain words\n",
    b"null",
    b"[" * 100_000,
    b'{"type":' * 50_000,
    ('{"type": "result", "error": ' + DEEP + "}").encode(),
    b'{"type": "result", "usage": {"input_tokens": 1e999, "output_tokens": NaN}}',
    b'{"type": "result", "usage": ' + b"9" * 5000 + b"}",
    '{"type": "text"}'.encode("utf-16"),
    b'[{"type": "result"}, [], 1, null]',
    b'{"type": ["result"]}\n{"type": {"a": 1}}\n{"type": null}',
    b'{"type": "assistant", "message": {"content": [{"type": "text", "text": "\\ud800\\udfff \\udc00"}]}}',
    b'{"type": "text", "part": {"text": "\\ud83d\\ude00 \\ud83d"}}',
    b'{"type": "text", "part": {"text": "\xed\xa0\x80"}}',
    b'{"type": "text", "part": {"text": "' + b"x" * (9 * 1024 * 1024) + b'"}}\n{"type": "result"}',
)


@pytest.mark.parametrize("reader", KINDS.values(), ids=KINDS)
def test_garbage_of_every_kind_never_raises(reader: Any) -> None:
    for garbage in GARBAGE:
        assert sound(reader.read_output(ProgramExit(1, garbage, garbage[:5000], report=garbage, ended=NOW)))
        assert sound(reader.read_output(ProgramExit(None, b"", garbage)))
