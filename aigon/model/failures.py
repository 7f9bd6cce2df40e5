"""Problems of failed checks: grouped by cause, compared with earlier assessments, and in words."""

from collections.abc import Sequence

from msgspec import Struct

from aigon.model.checks import Finding, Problem
from aigon.text.quoting import clean, clip, code_span, fingerprint, fold, normalise, strip_escapes

MAX_PROBLEMS_READ = 200
"""Parsers keep no more problems of one finding, so a longer list may be incomplete."""
MAX_FAILURE_LINE_CHARS = 300
MAX_PROBLEM_CHARS = 200
_MESSAGE_CHARS_COMPARED = 2000
"""Characters of a message that decide which group it belongs to."""


class FailureGroup(Struct, frozen=True):
    """Problems that say the same; the first is the example."""

    problems: tuple[Problem, ...]

    @property
    def example(self) -> Problem:
        """The problem that is shown."""
        return self.problems[0]


def group_problems(problems: Sequence[Problem]) -> list[FailureGroup]:
    """Group the first `MAX_PROBLEMS_READ` problems by fingerprint, errors before warnings."""
    groups: dict[tuple[str, str], list[Problem]] = {}
    for problem in sorted(problems[:MAX_PROBLEMS_READ], key=lambda p: p.severity != "error"):
        name = fingerprint(problem.rule, problem.message[:_MESSAGE_CHARS_COMPARED])
        groups.setdefault((problem.severity, name), []).append(problem)
    return [FailureGroup(tuple(members)) for members in groups.values()]


def identify_problem(problem: Problem) -> tuple[str, ...]:
    """Return what makes a problem the same one in another assessment: the test, or else file, rule and message."""
    if problem.test:
        return (problem.test,)
    return (problem.file, problem.rule, normalise(problem.message[:_MESSAGE_CHARS_COMPARED]))


def identify_problems(finding: Finding | None) -> frozenset[tuple[str, ...]]:
    """Return the identities of all problems of a failed check; none for one that passed."""
    return frozenset(identify_problem(p) for p in finding.problems) if finding and has_failed(finding) else frozenset()


def format_location(problem: Problem) -> str:
    """Return `path:line`, as far as it is known."""
    return f"{problem.file}:{problem.line}" if problem.file and problem.line else problem.file


def has_failed(finding: Finding | None) -> bool:
    """Return whether a check failed or gave no result."""
    return finding is not None and finding.status in ("fail", "error")


def select_errors(finding: Finding) -> Sequence[Problem]:
    """Return the errors, or the warnings if there is no error."""
    return [p for p in finding.problems if p.severity == "error"] or finding.problems


def describe_problem(problem: Problem) -> str:
    """Return `src/a.py:3 F401: unused import`, as far as the tool says so."""
    # The id of a test often begins with its file, and then the location would repeat it.
    says_all = problem.test.startswith(problem.file) if problem.file else True
    parts = (problem.test, problem.rule) if problem.test and says_all else (
        format_location(problem), problem.test, problem.rule)  # fmt: skip
    name, message = " ".join(part for part in parts if part), strip_escapes(problem.message)
    return fold(f"{name}: {message}" if name else message, MAX_PROBLEM_CHARS)


def describe_first_problems(finding: Finding, most: int) -> list[str]:
    """Return the first problems of a finding, errors before warnings, and how many more there are."""
    ordered = sorted(finding.problems, key=lambda problem: problem.severity != "error")
    more = len(ordered) - most
    return [*(describe_problem(each) for each in ordered[:most]), *([f"and {more} more"] if more > 0 else [])]


class Failure(Struct, frozen=True):
    """One group of problems: what it is about, the lines of its example, how many more are like it, and their names.

    `from_end`: the last lines matter most, as in the raw output of a tool that no parser reads.
    """

    about: str
    lines: tuple[str, ...]
    more: int = 0
    names: tuple[str, ...] = ()
    from_end: bool = False


class FailedCheck(Struct, frozen=True):
    """`heading` is Markdown; new `failures` come first; `unread` counts problems that are in no group."""

    heading: str
    failures: tuple[Failure, ...]
    unread: int


def compare_failed_check(finding: Finding, before: Finding | None, base: Finding | None, seen: bool) -> FailedCheck:
    """Compare a failed check with the assessment before and with the baseline.

    `seen` says whether there was an assessment before this one: without it nothing is new and nothing is old.
    """
    then, at_base, certain = identify_problems(before), identify_problems(base), seen
    if before and before.status != "pass":  # only if it lists all of its problems can another one be called new
        certain = seen and before.status != "skipped" and 0 < len(before.problems) < MAX_PROBLEMS_READ
    groups = [(_describe_age(group, then, at_base, certain), group) for group in group_problems(select_errors(finding))]
    # What is new comes first and what the baseline had comes last, because the last is cut first.
    groups.sort(key=lambda pair: 0 if "new" in pair[0] else 2 if pair[0].startswith("already") else 1)
    failures = tuple(_describe_group(age, group) for age, group in groups)
    total = max(_count_failed_tests(finding), len(select_errors(finding)))
    unread = total - sum(len(group.problems) for _, group in groups)
    if not failures and (lines := _split_lines(finding.excerpt)):
        failures, unread = (Failure("The end of its output:", lines, from_end=True),), 0
    return FailedCheck(_format_heading(finding, before, base, seen), failures, unread if groups else 0)


def _format_heading(finding: Finding, before: Finding | None, base: Finding | None, seen: bool) -> str:
    was = before if has_failed(before) else None
    failed = _count_failed_tests(finding)
    facts = [("still failing" if was else "newly failing") if seen else "failing"]
    facts += ["gave no result"] if finding.status == "error" else []
    if failed and finding.counts:
        then = f"{_count_failed_tests(was)} -> " if was and was.counts else ""
        facts += [f"failed {then}{failed} of {finding.counts.total}"]
    facts += ["already failing on the base"] if has_failed(base) else []
    lines = [f"### {fold(finding.title, 80)}: {', '.join(facts)}"]
    lines += [f"Command: {code_span(finding.command, MAX_FAILURE_LINE_CHARS)}"] if finding.command.strip() else []
    if finding.summary.strip() and not failed:
        now = code_span(finding.summary, MAX_FAILURE_LINE_CHARS)
        then = code_span(was.summary, MAX_FAILURE_LINE_CHARS) if was else ""
        lines += [f"Result: {now}, before {then}" if then and then != now else f"Result: {now}"]
    return "\n".join(lines)


def _count_failed_tests(finding: Finding) -> int:
    return finding.counts.failed + finding.counts.errors if finding.counts else 0


def _describe_age(
    group: FailureGroup, before: frozenset[tuple[str, ...]], base: frozenset[tuple[str, ...]], certain: bool
) -> str:
    """Return `new`, `already failing on the base`, or how many of the group are; "" for what was there before."""
    names = [identify_problem(p) for p in group.problems]
    old = sum(name in base for name in names)
    new = sum(name not in before and name not in base for name in names) if certain else 0
    shares = ((new, "new"), (old, "already failing on the base"))
    total = len(names)
    return ", ".join(word if count == total else f"{count} of {total} {word}" for count, word in shares if count)


def _describe_group(age: str, group: FailureGroup) -> Failure:
    example, others = group.example, group.problems[1:]
    known = [code_span(part) for part in (example.test, format_location(example), example.rule) if part]
    about = ", ".join(part for part in (*known, age) if part)
    names = dict.fromkeys(p.test or format_location(p) for p in others if p.test or p.file)
    return Failure(about, _split_lines(example.message), len(others), tuple(names))


def _split_lines(text: str) -> tuple[str, ...]:
    return tuple(clip(line.rstrip(), MAX_FAILURE_LINE_CHARS) for line in clean(text).split("\n") if line.strip())
