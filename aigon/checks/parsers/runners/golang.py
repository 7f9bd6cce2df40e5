"""Why a test or a package of Go failed, by what it printed."""

import re
from collections.abc import Iterable

from aigon.checks.parsers.output import join_lines, parse_number
from aigon.checks.parsers.readings import make_problem
from aigon.checks.parsers.stacks import Place
from aigon.model.checks import Problem
from aigon.text.patterns import compile_re

_SAID = compile_re(
    r"^ *(?P<file>[^\s:][^:\n]*\.go):(?P<line>\d+): ?(?P<said>[^\n]*)(?P<more>(?:\n {8,}[^\n]*){0,60})", re.M
)
_PANIC = compile_re(r"^(?:panic|fatal error): (?P<said>[^\n]+)$", re.M)
_FRAME = compile_re(r"^\s+(?P<file>\S+\.go):(?P<line>\d+)(?: \+0x[0-9a-f]+)?$", re.M)
_EXAMPLE = compile_re(r"^got:\n(?P<got>.*?)\nwant:\n(?P<want>.*?)\n?\Z", re.M | re.S)
_ASSERTED = compile_re(r"\bError: +\t?(?P<said>.*?)(?=\n *\t(?:Test|Messages|Error Trace): |\Z)", re.S)
_RECOVERED = compile_re(r" \[recovered(?:, repanicked)?\]$")
_LIBRARY = compile_re(r"/src/(?:testing|runtime|internal|reflect|time|os|sync|net)/|/pkg/mod/|/vendor/|^_testmain\.go$")
_RACE = "WARNING: DATA RACE"
_SPAN = 40_000
"""Characters of a test's output that are read, half of them from its end."""
_NOISE = compile_re(r"^(?:(?:FAIL|PASS|ok|exit status|coverage:|testing: warning:)\b|#)")


def describe_package(name: str, output: str) -> Problem:
    """Return why a package ended by itself: in TestMain, in an init, by os.Exit."""
    message, file, line = explain_go_failure(output)
    words = [text.strip() for text in output.split("\n") if text.strip() and not _NOISE.match(text)]
    otherwise = words[-1] if words else "it failed, and none of its tests did"
    return make_problem(message or otherwise, file, line, test=name)


def explain_go_failure(output: str, errors: Iterable[str] = ()) -> tuple[str, str, int]:
    """Return message, file and line of a panic, a race, a `x_test.go:12: message` or an example; '' if nothing says.

    `errors` are the lines that Go itself marks as errors (from 1.25 on): what a test only logs looks the same.
    """
    output = output if len(output) <= _SPAN else f"{output[: _SPAN // 2]}\n{output[-_SPAN // 2 :]}"
    if panic := _PANIC.search(output):
        return _RECOVERED.sub("", panic["said"]), *_find_own_frame(output[panic.end() :])
    marked = _SAID.search("".join(errors))
    if matches := [marked] if marked else list(_SAID.finditer(output)):
        match = matches[-1]
        asserted = _ASSERTED.search(said := f"{match['said']}{match['more']}")
        message = join_lines(asserted["said"] if asserted else said)  # of testify's table only its error
        # A race is reported by the testing package; the detector's report says where it is.
        if match["file"].rpartition("/")[2] == "testing.go" and _RACE in output:
            return message, *_find_own_frame(output[output.index(_RACE) :])
        return message or "failed", match["file"], parse_number(match["line"])
    if example := _EXAMPLE.search(output):
        got, want = (" ".join(example[name].split())[:200] for name in ("got", "want"))
        return f"got: {got} want: {want}", "", 0
    return "", "", 0


def _find_own_frame(stack: str) -> Place:
    """Return the first frame of the project. Go names files by absolute paths, the project's come without."""
    frames = [match for match in _FRAME.finditer(stack) if not _LIBRARY.search(match["file"])]
    own = [match for match in frames if not match["file"].startswith("/")] or frames
    return (own[0]["file"], parse_number(own[0]["line"])) if own else ("", 0)
