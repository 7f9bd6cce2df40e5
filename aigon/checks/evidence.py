"""Evidence from a check's output and reports, and what in it contradicts an exit code of 0.

The command line of pytest says what its exit 0 and its report have to show.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import dropwhile

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.checks.parsers import parse
from aigon.checks.parsers.output import LARGEST_REPORT
from aigon.checks.parsers.readings import merge_readings
from aigon.checks.reports import is_too_large
from aigon.model.checks import Check, CheckStatus, ParsedOutput, TestCounts, TestResult
from aigon.text.patterns import compile_re
from aigon.text.shell import ListedCommand, list_commands

_NO_FORMAT = (None, "text")
"""Parsers that know no report."""
_TESTING_ROLES = ("tests", "script", "endpoints")
"""Whose checks have to run a test if they run a test runner at all."""
Doubt = tuple[CheckStatus, str]
Clean = Callable[[bytes], bytes]
"""Takes out of a text what differs from place to place."""
_TOO_LARGE: Doubt = (
    "error",
    f"it exited 0 but left a report larger than {LARGEST_REPORT >> 20} MiB, which is not read, so nothing shows what "
    "ran; let the tool report less output",
)
_NOTHING = ParsedOutput(understood=False)


class Evidence(Struct, frozen=True):
    """`reading` describes; `tests` and `reported` as in a Result; `doubt` is what exit 0 comes to instead of a pass."""

    reading: ParsedOutput
    tests: Mapping[str, TestResult] = field(default_factory=dict)
    reported: bool = False
    doubt: Doubt | None = None


class _Reports:
    """Reports put together: how many could be read and how many not, and whether one is too large to be."""

    def __init__(self, contents: Iterable[bytes], parse_one: Callable[[bytes], ParsedOutput]) -> None:
        readings, self.too_large = [], False
        for content in contents:  # one at a time: together they may be large
            self.too_large = self.too_large or is_too_large(content)
            readings.append(parse_one(content) if content and not is_too_large(content) else _NOTHING)
        understood = [reading for reading in readings if reading.understood]
        self.combined = merge_readings(understood) if understood else _NOTHING
        self.sound, self.unread = len(understood), len(readings) - len(understood)


def weigh_own_report(check: Check, output: bytes, content: bytes | None, clean: Clean) -> Evidence:
    """Weigh a check that was told where to put its report."""
    text = content and clean(content)
    reading = parse(check.parser, output, text) if check.parser else _NOTHING
    # By itself: what was printed, which parsers fall back to, could be anybody's words. And not beside empty output:
    # to some parsers silence is a reading of its own.
    has_format = check.parser not in _NO_FORMAT
    alone = parse(str(check.parser) if has_format else "junit", b"-", text) if text else _NOTHING
    doubt: Doubt | None = None
    if is_too_large(content):
        doubt = _TOO_LARGE
    elif not content or (has_format and not alone.understood):
        doubt = ("error", "it exited 0 without a readable report, so nothing shows that anything ran")
    elif check.parser == "pytest":
        argv = [part for part in check.argv if "{report}" not in part]
        doubt = _find_contradiction(alone) if read_pytest_request(argv).decides else None
    elif check.role == "tests":
        doubt = _find_contradiction(alone)
    has_counts = alone.understood and alone.counts is not None
    return Evidence(reading, alone.tests, has_counts, doubt or _require_tests(check, reading))


def weigh_hidden_reports(
    check: Check, output: bytes, contents: Iterable[bytes], clean: Clean, *, green: bool
) -> Evidence:
    """Weigh an opaque command that exited 0 (`green`) or not, and the reports that runs of pytest in it left behind."""

    def parse_hidden(content: bytes) -> ParsedOutput:
        text = clean(content)
        alone = parse("pytest", b"-", text)
        # With the names that the output gives to what failed.
        return parse("pytest", output, text) if alone.understood and alone.problems else alone

    printed = parse(check.parser, output, None) if check.parser else _NOTHING
    reports = _Reports(contents, parse_hidden)
    counts, reading = reports.combined.counts, printed
    # The report says which tests failed, out of how many. If none did and the command failed, its output says why.
    if counts and (counts.failed + counts.errors or check.parser == "pytest"):
        reading = reports.combined
    elif counts:
        summary = printed.summary or (reports.combined.summary if green else "")
        reading = replace(printed, summary=summary, counts=printed.counts or (counts if has_run(counts) else None))
    # cargo and go have no other report than what they print; their parsers name tests only if all of it agrees.
    printed_tests = {} if reports.sound else printed.tests
    doubt = _TOO_LARGE if reports.too_large else _doubt_hidden(check, reports)
    doubt = doubt or _require_tests(check, reading) or (_find_contradiction(printed) if printed_tests else None)
    tests = reports.combined.tests or printed_tests
    return Evidence(reading, tests, bool(reports.sound or printed_tests), doubt)


def _doubt_hidden(check: Check, reports: _Reports) -> Doubt | None:
    request, combined = read_pytest_request(check.argv), reports.combined
    if reports.unread:
        return "error", "it exited 0 but left a test report that cannot be read, so nothing shows that a test ran"
    if request.runs and not combined.understood:
        return "error", "it exited 0 without a test report, so nothing shows that a test ran"
    if request.decides and (doubt := _find_contradiction(combined)):
        return doubt
    is_empty = combined.counts is not None and not has_run(combined.counts)
    return ("fail", combined.summary) if is_empty and check.role in _TESTING_ROLES and not request.lists else None


def weigh_placed_reports(
    check: Check, output: bytes, contents: Iterable[bytes], clean: Clean, *, green: bool
) -> Evidence:
    """Weigh a command that exited 0 (`green`) or not, and the reports that it placed itself."""
    reading = parse(check.parser, output, None) if check.parser else _NOTHING
    reports = _Reports(contents, lambda content: parse(check.parser or "junit", b"-", clean(content)))
    combined, doubt = reports.combined, None
    if reports.sound:
        # What kept the tool from its tests (a compiler's errors) is in no report.
        reading = combined if combined.problems or green else replace(combined, problems=reading.problems)
    if reports.too_large:
        doubt = _TOO_LARGE
    elif reports.unread:
        doubt = ("error", "it exited 0 but left a report that cannot be read, so nothing shows that all ran")
    elif not reports.sound and check.role == "tests":
        places = ", ".join(check.reports)
        doubt = ("error", f"it exited 0 without a test report ({places}), so nothing shows that a test ran")
    # Build tools can be told to go on when tests fail (`maven.test.failure.ignore`); the reports are of this run alone.
    doubt = doubt or _find_contradiction(combined) or _require_tests(check, reading)
    return Evidence(reading, combined.tests, reports.sound > 0 and combined.counts is not None, doubt)


def _find_contradiction(reading: ParsedOutput) -> Doubt | None:
    """A runner does not exit 0 when a test failed: something else made the exit code."""
    if reading.counts and reading.counts.failed + reading.counts.errors:
        return "fail", f"it exited 0, but its own test report says {reading.summary}"
    return None


def _require_tests(check: Check, reading: ParsedOutput) -> Doubt | None:
    """Doubt a green run of no test: `go test -run X` and `cargo test X` exit 0 if no test has that name."""
    asked = check.role == "tests" or (check.by_exit and not read_pytest_request(check.argv).lists)
    if asked and reading.counts is not None and not has_run(reading.counts):
        return "fail", reading.summary or "no tests collected"
    return None


def has_run(counts: TestCounts) -> bool:
    """Return whether any test was run."""
    return counts.passed + counts.failed + counts.errors > 0


class PytestRequest(Struct, frozen=True):
    """`runs`: exit 0 without a run of pytest cannot be. `decides`: exit 0 means that pytest itself exited 0.

    `lists`: it only wants to know which tests there are (`--collect-only`).
    """

    runs: bool = False
    decides: bool = False
    lists: bool = False


_SHELLS = ("bash", "sh", "dash", "zsh", "ksh")
_RUNNERS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("uv", "poetry", "pipenv", "pdm", "hatch", "rye", "pixi", "conda", "micromamba", "pipx"), ("run",)),
    **dict.fromkeys(("time", "nice", "timeout", "exec", "command", "nohup", "env", "xvfb-run", "stdbuf", "uvx"), ()),
}
"""Programs that start another one, by the word that has to follow them first."""
_WITH_VALUE = (
    *("-p", "--python", "--with", "--with-editable", "--with-requirements", "--group", "--only-group", "--no-group"),
    *("--extra", "--no-extra", "--package", "--env-file", "--directory", "--project", "--index", "--default-index"),
    *("--cache-dir", "--config-file", "--spec", "-n", "-u", "-k", "-s", "-o", "-i", "-e", "-C", "--environment"),
)
"""Their options whose value is a word of its own."""
_OTHERWISE: Mapping[str, tuple[str, ...]] = {"command": ("-v", "-V"), "env": ("-i", "-", "--ignore-environment", "-S")}
"""Options with which they start nothing, or nothing that sees the environment."""
_ASSIGNMENT = compile_re(r"[A-Za-z_]\w*=")
_DURATION = compile_re(r"\d+(?:\.\d+)?[smhd]?")
_PYTHON = compile_re(r"(?:python|pypy)[\d.]*|py")
_PYTEST = compile_re(r"pytest(?:-[\d.]+)?|py\.test(?:-[\d.]+)?")
_INSTEAD = ("-h", "--help", "-V", "--version", "--fixtures", "--fixtures-per-test", "--funcargs", "--markers")
"""With these pytest runs nothing and is not asked to."""
_LISTS = ("--co", "--collect-only", "--collectonly")
_UNREPORTED = ("--junitxml", "--junit-xml", "no:junitxml", "-pno:junitxml")
"""A report of its own, or none: aigon cannot ask for a second one."""
_DEEPEST = 8
"""Programs that start one another."""


def read_pytest_request(argv: Sequence[str]) -> PytestRequest:
    """Return what a command line asks. A script that branches, or is in a file, asks nothing that reading can show."""
    if not argv or any("PYTEST_ADDOPTS" in word for word in argv):
        return PytestRequest()
    if _base_name(argv[0]) not in _SHELLS or len(argv) < 3:
        command = ListedCommand(tuple(argv), "", "")
        return _judge([_find_pytest_arguments(command)], [True], decides=lambda _: True)
    options = argv[1:-1]
    script = next((argv[n + 2] for n, word in enumerate(options) if re.fullmatch(r"-[a-z]*c[a-z]*", word)), "")
    commands = list_commands(script)
    stops = any(re.fullmatch(r"-[a-z]*e[a-z]*", word) for word in options)
    # What follows `||` runs only if what stands before it failed; nobody waits for what is put into the background.
    certain = [
        not any("||" in before.before for before in commands[: n + 1]) and "&" not in command.after.replace("&&", "")
        for n, command in enumerate(commands)
    ]
    runs = [_find_pytest_arguments(command) for command in commands]
    return _judge(runs, certain, decides=lambda n: _reaches_the_end(commands[n:], stops))


def _judge(
    runs: Sequence[tuple[str, ...] | None], certain: Sequence[bool], decides: Callable[[int], bool]
) -> PytestRequest:
    """`runs` are the arguments of pytest by command; `decides` says whether a failure is one of the whole script."""
    others = (*_INSTEAD, *_LISTS, *_UNREPORTED)
    tests = [n for n, run in enumerate(runs) if run is not None and certain[n] and not _has(run, others)]
    lists = any(run is not None and _has(run, _LISTS) for run in runs)
    return PytestRequest(bool(tests), any(map(decides, tests)), lists and not tests)


def _reaches_the_end(commands: Sequence[ListedCommand], stops: bool) -> bool:
    """Return whether a failure of the first command is one of the whole script."""
    first, *others = commands
    if first.words[0] == "!" or first.before.endswith("$(") or "(" in first.before:
        return False
    if not others or all(command.after in ("&&", "") for command in commands):
        return first.after in ("", "\n", ";", "&&")
    return stops and first.after in ("\n", ";")


def _find_pytest_arguments(command: ListedCommand) -> tuple[str, ...] | None:
    """Return the arguments that pytest gets from a simple command; None if it starts something else."""
    words: tuple[str, ...] | None = command.words[1:] if command.words[0] == "!" else command.words
    for _ in range(_DEEPEST):
        words = tuple(dropwhile(_ASSIGNMENT.match, words or ()))
        if not words:
            return None
        name = _base_name(words[0])
        if _PYTEST.fullmatch(name):
            return words[1:]
        words = _find_started(name, words[1:])
    return None


def _base_name(program: str) -> str:
    return program.rpartition("/")[2]


def _find_started(name: str, words: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the command that `name` starts, None if it starts none that is known."""
    if _PYTHON.fullmatch(name):
        return _find_module(words)
    if name == "coverage" and words[:1] == ("run",):
        return _find_module(words[1:])
    first = _RUNNERS.get(name)
    if first is None or words[: len(first)] != first:
        return None
    place = len(first)
    while place < len(words):
        word = words[place]
        if word in _OTHERWISE.get(name, ()):
            return None
        if word == "--":
            return words[place + 1 :]
        if not word.startswith("-") and not (name == "timeout" and _DURATION.fullmatch(word)):
            return words[place:]
        place += 2 if word in _WITH_VALUE else 1
    return None


def _find_module(words: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return `pytest ...` for `-m pytest ...`, behind the options of the interpreter."""
    for place, word in enumerate(words):
        if word == "-m":
            return words[place + 1 :]
        if word in ("-c", "-") or not (
            word.startswith("-") or words[place - 1] in ("-W", "-X", "--source", "--rcfile")
        ):
            return None
    return None


def _has(words: Sequence[str], options: Sequence[str]) -> bool:
    return any(word.partition("=")[0] in options for word in words)
