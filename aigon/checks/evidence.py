"""What the output and the reports of a check show, and what speaks against an exit code of 0."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from aigon.checks.parsers import parse, together
from aigon.checks.pytest_arguments import read_pytest_request
from aigon.checks.reports import LARGEST_REPORT, is_complete, is_too_large
from aigon.model.checks import Check, CheckStatus, ParsedOutput, TestCounts, TestResult

NO_FORMAT = (None, "text")
"""Parsers that know no report."""
ROLES_OF_TESTS = ("tests", "script", "endpoints")
"""Whose checks have to run a test if they run a test runner at all."""
Doubt = tuple[CheckStatus, str]
TOO_LARGE = (
    f"it exited 0 but left a report larger than {LARGEST_REPORT >> 20} MiB, which is not read, so nothing shows "
    "what ran; "
    "let the tool report less output"
)
_UNREAD = ParsedOutput(understood=False)


@dataclass(frozen=True, slots=True)
class Evidence:
    """`reading` describes; `tests` and `reported` as in a Result; `doubt` is what exit 0 comes to instead of a pass."""

    reading: ParsedOutput
    tests: Mapping[str, TestResult] = field(default_factory=dict)
    reported: bool = False
    doubt: Doubt | None = None


def read_output(check: Check, output: bytes) -> ParsedOutput:
    """What the check's parser makes of the output alone."""
    return parse(check.parser, output, None) if check.parser else ParsedOutput(understood=False)


def weigh_own_report(check: Check, output: bytes, content: bytes | None, clean: Callable[[bytes], bytes]) -> Evidence:
    """Of a check that was told where to put its report. `clean` takes out what differs from place to place."""
    text = content and clean(content)
    reading = parse(check.parser, output, text) if check.parser else ParsedOutput(understood=False)
    # By itself: what was printed, which parsers fall back to, could be anybody's words. And not beside empty output:
    # to some parsers silence is a reading of its own.
    name = "junit" if check.parser in NO_FORMAT else str(check.parser)
    alone = parse(name, b"-", text) if text else ParsedOutput(understood=False)
    lacking = not is_complete(content) or (check.parser not in NO_FORMAT and not alone.understood)
    doubt = _of_own(check, alone, _why(content) if lacking else "") or _of_tests(check, reading)
    return Evidence(reading, alone.tests, alone.understood and alone.counts is not None, doubt)


def _why(content: bytes | None) -> str:
    if is_too_large(content):
        return TOO_LARGE
    return "it exited 0 without a readable report, so nothing shows that anything ran"


def _of_own(check: Check, alone: ParsedOutput, lacking: str) -> Doubt | None:
    if lacking:
        return "error", lacking
    argv = [part for part in check.argv if "{report}" not in part]
    decides = read_pytest_request(argv).decides if check.parser == "pytest" else check.role == "tests"
    return _contradiction(alone) if decides else None


def weigh_hidden_reports(
    check: Check, output: bytes, contents: Iterable[bytes], clean: Callable[[bytes], bytes], *, green: bool
) -> Evidence:
    """Of an opaque command that exited 0 (`green`) or not, and of the reports that runs of pytest in it left behind."""
    said = read_output(check, output)
    read = [(is_too_large(content), _hidden(content, output, clean)) for content in contents]
    sound = [reading for _, reading in read if reading.understood]
    found = together(sound) if sound else ParsedOutput(understood=False)
    reading = _described(check, said, found, green=green)
    doubt = _too_large(read) or _of_hidden(check, found, unread=len(read) - len(sound)) or _of_tests(check, reading)
    # cargo and go have no other report than what they print; their parsers name tests only where all of it agrees.
    printed_tests = {} if sound else said.tests
    doubt = doubt or (_contradiction(said) if printed_tests else None)
    return Evidence(reading, found.tests or printed_tests, bool(sound or printed_tests), doubt)


def weigh_placed_reports(
    check: Check, output: bytes, contents: Iterable[bytes], clean: Callable[[bytes], bytes], *, green: bool
) -> Evidence:
    """Of a command that exited 0 (`green`) or not, and of the reports that it placed itself; they are put together."""
    said = read_output(check, output)
    name = check.parser or "junit"
    read = [(is_too_large(text), parse(name, b"-", clean(text)) if is_complete(text) else _UNREAD) for text in contents]
    sound = [reading for _, reading in read if reading.understood]
    found = together(sound) if sound else _UNREAD
    reading = said
    if sound:
        # What kept the tool from its tests (a compiler's errors) is in no report.
        reading = found if found.problems or green else replace(found, problems=said.problems)
    reported = bool(sound) and found.counts is not None
    doubt = _too_large(read) or _of_placed(check, unread=len(read) - len(sound), lacking=not sound)
    # Build tools can be told to go on when tests fail (`maven.test.failure.ignore`); the reports are of this run alone.
    doubt = doubt or _contradiction(found) or _of_tests(check, reading)
    return Evidence(reading, found.tests, reported, doubt)


def _of_placed(check: Check, *, unread: int, lacking: bool) -> Doubt | None:
    if unread:
        return "error", "it exited 0 but left a report that cannot be read, so nothing shows that all ran"
    if lacking and check.role == "tests":
        places = ", ".join(check.reports)
        return "error", f"it exited 0 without a test report ({places}), so nothing shows that a test ran"
    return None


def _hidden(content: bytes, output: bytes, clean: Callable[[bytes], bytes]) -> ParsedOutput:
    """A report as pytest's; with the names that the output gives to what failed."""
    if not is_complete(content):
        return _UNREAD
    text = clean(content)
    alone = parse("pytest", b"-", text)
    return parse("pytest", output, text) if alone.understood and alone.problems else alone


def _too_large(read: Sequence[tuple[bool, ParsedOutput]]) -> Doubt | None:
    return ("error", TOO_LARGE) if any(large for large, _ in read) else None


def _described(check: Check, said: ParsedOutput, found: ParsedOutput, *, green: bool) -> ParsedOutput:
    """The printed reading, with the report's where that says more: which tests failed, out of how many.

    Where no test failed and the command did, the reason is in its output.
    """
    counts = found.counts
    if counts is None:
        return said
    if counts.failed + counts.errors or check.parser == "pytest":
        return found
    summary = said.summary or (found.summary if green else "")
    return replace(said, summary=summary, counts=said.counts or (counts if has_run(counts) else None))


def _of_hidden(check: Check, found: ParsedOutput, *, unread: int) -> Doubt | None:
    wanted = read_pytest_request(check.argv)
    if unread:
        return "error", "it exited 0 but left a test report that cannot be read, so nothing shows that a test ran"
    if wanted.runs and not found.understood:
        return "error", "it exited 0 without a test report, so nothing shows that a test ran"
    if wanted.decides and (doubt := _contradiction(found)):
        return doubt
    empty = found.counts is not None and not has_run(found.counts)
    if empty and check.role in ROLES_OF_TESTS and not wanted.lists:
        return "fail", found.summary
    return None


def _contradiction(found: ParsedOutput) -> Doubt | None:
    """A runner does not exit 0 when a test failed: something else made the exit code."""
    if found.counts and found.counts.failed + found.counts.errors:
        return "fail", f"it exited 0, but its own test report says {found.summary}"
    return None


def _of_tests(check: Check, reading: ParsedOutput) -> Doubt | None:
    if check.role == "tests" and reading.counts is not None and not has_run(reading.counts):
        return "fail", reading.summary or "no tests collected"
    return None


def has_run(counts: TestCounts) -> bool:
    """Whether any test was run."""
    return counts.passed + counts.failed + counts.errors > 0
