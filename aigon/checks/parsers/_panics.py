"""Why a Rust test failed, out of what it printed: a panic, an `Err`, a panic that was due and did not come."""

import re

from aigon.checks.parsers._problems import number

_PANIC = re.compile(
    r"^thread '[^\n]*?'(?: \(\d+\))? panicked at (?:"
    r"'(?P<old>(?:[^\n]*\n){0,20}?[^\n]*)', (?P<old_file>[^\n:']{1,300}):(?P<old_line>\d+):\d+"
    r"|(?P<file>[^\n:']{1,300}):(?P<line>\d+):\d+:?)$"
    r"(?P<said>(?:\n(?!stack backtrace:|note: |thread '|---- )[^\n]+){0,20})",
    re.M,
)
_EXPECTED = re.compile(
    r"^note: (?P<said>(?:test|panic) did not [^\n]+?)(?: at (?P<file>[^\s:]+):(?P<line>\d+):\d+)?$"
    r"(?P<more>(?:\n +(?:panic message|expected substring): [^\n]*){0,2})",
    re.M,
)
_ERROR = re.compile(r"^Error: (?P<said>[^\n]+)$", re.M)
_COMPILED = re.compile(r"^(?:Test compiled successfully, but [^\n]*|error(?:\[\w+\])?: [^\n]+)$", re.M)
_LIBRARY = re.compile(r"/rustc/|/usr/src/rustc|library/")
_SHARE = 8_000
"""Characters of a test's output that are read."""


def told(body: str) -> tuple[str, str, int]:
    """Message, file and line; what it panicked about last, and `failed` where it says nothing."""
    body = body[-_SHARE:]
    panics = list(_PANIC.finditer(body))
    said, file, line = _panicked(panics[-1]) if panics else ("", "", 0)
    if due := _EXPECTED.search(body):
        return _joined(due["said"], due["more"]), due["file"] or file, number(due["line"]) or line
    if said:
        return said, file, line
    other = _ERROR.search(body)
    if other:
        return other["said"], "", 0
    compiled = _COMPILED.search(body)
    return (compiled[0] if compiled else _last(body)), "", 0


def _panicked(match: re.Match[str]) -> tuple[str, str, int]:
    """Before Rust 1.73 message and place stood in one sentence."""
    said = _joined(match["said"] if match["old"] is None else match["old"])
    file = match["old_file"] or match["file"]
    line = number(match["old_line"] or match["line"])
    return (said or "panicked", "", 0) if _LIBRARY.match(file) else (said or "panicked", file, line)


def _joined(*parts: str) -> str:
    """`assertion failed`, `  left: 1`, ` right: 2` on one line."""
    lines = [line.strip() for part in parts for line in part.split("\n") if line.strip()]
    head, *values = [line.rstrip(",") for line in lines] or [""]
    return f"{head}: {', '.join(values)}" if values and not head.endswith(":") else " ".join([head, *values])


def _last(body: str) -> str:
    lines = [line.strip() for line in body.strip().split("\n") if line.strip() and not line.startswith("note: ")]
    return lines[-1] if lines else "failed"
