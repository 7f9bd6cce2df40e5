"""Why a Go test failed, out of what it printed: `x_test.go:12: message`, a panic, a race, an example's output."""

import re
from collections.abc import Iterable

from aigon.checks.parsers._problems import number

_SAID = re.compile(
    r"^ *(?P<file>[^\s:][^:\n]*\.go):(?P<line>\d+): ?(?P<said>[^\n]*)(?P<more>(?:\n {8,}[^\n]*){0,60})", re.M
)
_PANIC = re.compile(r"^(?:panic|fatal error): (?P<said>[^\n]+)$", re.M)
_FRAME = re.compile(r"^\s+(?P<file>\S+\.go):(?P<line>\d+)(?: \+0x[0-9a-f]+)?$", re.M)
_EXAMPLE = re.compile(r"^got:\n(?P<got>.*?)\nwant:\n(?P<want>.*?)\n?\Z", re.M | re.S)
_ASSERTED = re.compile(r"\bError: +\t?(?P<said>.*?)(?=\n *\t(?:Test|Messages|Error Trace): |\Z)", re.S)
_RECOVERED = re.compile(r" \[recovered(?:, repanicked)?\]$")
_LIBRARY = re.compile(r"/src/(?:testing|runtime|internal|reflect|time|os|sync|net)/|/pkg/mod/|/vendor/|^_testmain\.go$")
_SHARE = 40_000
"""Characters of a test's output that are read, half of them from its end."""


def told(output: str, errors: Iterable[str] = ()) -> tuple[str, str, int]:
    """Message, file and line; an empty message where nothing says why. `errors` are the lines that Go itself marks as
    errors (from 1.25 on): what a test only logs looks the same."""
    output = output if len(output) <= _SHARE else f"{output[: _SHARE // 2]}\n{output[-_SHARE // 2 :]}"
    if panic := _PANIC.search(output):
        return _RECOVERED.sub("", panic["said"]), *_frame(output[panic.end() :])
    marked = [match for match in _SAID.finditer("".join(errors)) if match["file"]]
    said = marked[:1] or list(_SAID.finditer(output))[-1:]
    if said:
        return _of_line(said[0], output)
    example = _EXAMPLE.search(output)
    return (f"got: {_short(example['got'])} want: {_short(example['want'])}", "", 0) if example else ("", "", 0)


def _of_line(match: re.Match[str], output: str) -> tuple[str, str, int]:
    """A race is told by the testing package; where it is stands in the detector's report."""
    message = _message(f"{match['said']}{match['more']}")
    if match["file"].rpartition("/")[2] == "testing.go" and "WARNING: DATA RACE" in output:
        return message, *_frame(output[output.index("WARNING: DATA RACE") :])
    return message or "failed", match["file"], number(match["line"])


def _message(said: str) -> str:
    """On one line; of testify's table only what it says of the error."""
    asserted = _ASSERTED.search(said)
    lines = (asserted["said"] if asserted else said).split("\n")
    return " ".join(filter(None, (line.strip() for line in lines)))


def _frame(stack: str) -> tuple[str, int]:
    """The first frame that is the project's own. Go names files by absolute paths, the project's come without."""
    frames = [match for match in _FRAME.finditer(stack) if not _LIBRARY.search(match["file"])]
    own = [match for match in frames if not match["file"].startswith("/")] or frames
    return (own[0]["file"], number(own[0]["line"])) if own else ("", 0)


def _short(text: str) -> str:
    return " ".join(text.split())[:200]
