"""Problems of failed checks: grouped by cause, compared with earlier assessments, and in words."""

from collections.abc import Sequence
from dataclasses import dataclass

from aigon.model.checks import Finding, Problem
from aigon.text.fingerprints import fingerprint, normalise, strip_escapes
from aigon.text.quoting import clean, clip, code_span, fold

MAX_PROBLEMS_READ = 200
"""Problems of one finding that are read. Parsers keep no more, so a longer list may have lost any of them."""

_MESSAGE_CHARS_COMPARED = 2000
"""Characters of a message that decide which group it belongs to."""


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Problems that say the same. The first is the example."""

    problems: tuple[Problem, ...]

    @property
    def example(self) -> Problem:
        """The one that is shown."""
        return self.problems[0]


def group_problems(problems: Sequence[Problem]) -> list[FailureGroup]:
    """The first `LISTED` problems by fingerprint, errors before warnings, else in the order in which they came."""
    found: dict[tuple[str, str], list[Problem]] = {}
    for problem in sorted(problems[:MAX_PROBLEMS_READ], key=lambda p: p.severity != "error"):
        name = fingerprint(problem.rule, problem.message[:_MESSAGE_CHARS_COMPARED])
        found.setdefault((problem.severity, name), []).append(problem)
    return [FailureGroup(tuple(members)) for members in found.values()]


def identify_problem(problem: Problem) -> tuple[str, ...]:
    """What makes a problem the same one in another look: the test, or else file, rule and message."""
    if problem.test:
        return (problem.test,)
    return (problem.file, problem.rule, normalise(problem.message[:_MESSAGE_CHARS_COMPARED]))


def identify_problems(finding: Finding | None) -> frozenset[tuple[str, ...]]:
    """The identities of everything a red finding complained about; none for a green one."""
    if finding is None or finding.status not in ("fail", "error"):
        return frozenset()
    return frozenset(identify_problem(p) for p in finding.problems)


def format_location(problem: Problem) -> str:
    """`path:line`, as far as it is known."""
    return f"{problem.file}:{problem.line}" if problem.file and problem.line else problem.file


MAX_FAILURE_LINE_CHARS = 300
"""Characters of one shown line."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One group of problems: what is said about it, the lines of its example, how many more are like it, and which.

    `from_end` says that the last lines matter most: the raw output of a tool that no parser reads.
    """

    about: str
    lines: tuple[str, ...]
    more: int = 0
    names: tuple[str, ...] = ()
    from_end: bool = False


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """`heading` is Markdown; `failures` begin with what is new; `unread` counts problems that are in no group."""

    heading: str
    failures: tuple[Failure, ...]
    unread: int


def has_failed(finding: Finding | None) -> bool:
    """Failed, or gave no result."""
    return finding is not None and finding.status in ("fail", "error")


def compare_failed_check(finding: Finding, before: Finding | None, base: Finding | None, seen: bool) -> FailedCheck:
    """`seen` is whether there was a look before this one: without it nothing is new and nothing is old."""
    then, at_base, certain = identify_problems(before), identify_problems(base), seen and _is_complete(before)
    aged = [(_describe_age(group, then, at_base, certain), group) for group in group_problems(select_errors(finding))]
    failures = tuple(_describe_group(age, group) for age, group in sorted(aged, key=lambda pair: _rank_age(pair[0])))
    unread = max(_count_failed_tests(finding), len(select_errors(finding))) - sum(
        len(group.problems) for _, group in aged
    )
    return FailedCheck(
        _format_heading(finding, before, base, seen), failures or _describe_output(finding), unread if failures else 0
    )


def select_errors(finding: Finding) -> Sequence[Problem]:
    """The errors; the warnings only when there is nothing worse."""
    return [p for p in finding.problems if p.severity == "error"] or finding.problems


def _is_complete(before: Finding | None) -> bool:
    """Whether what the look before did not list was not there: nothing is said to be new on less."""
    if before is None or before.status == "pass":
        return True
    return before.status != "skipped" and 0 < len(before.problems) < MAX_PROBLEMS_READ


def _format_heading(finding: Finding, before: Finding | None, base: Finding | None, seen: bool) -> str:
    was = before if has_failed(before) else None
    facts = [("still failing" if was else "newly failing") if seen else "failing"]
    facts += ["gave no result"] if finding.status == "error" else []
    facts += [_format_counts(finding, was)] if _count_failed_tests(finding) else []
    facts += ["already red on the base"] if has_failed(base) else []
    lines = [f"### {fold(finding.title, 80)}: {', '.join(facts)}"]
    lines += [f"Command: {code_span(finding.command, MAX_FAILURE_LINE_CHARS)}"] if finding.command.strip() else []
    lines += (
        [f"Result: {_format_result(finding, was)}"]
        if finding.summary.strip() and not _count_failed_tests(finding)
        else []
    )
    return "\n".join(lines)


def _count_failed_tests(finding: Finding) -> int:
    """How many tests did not pass; 0 where none were counted."""
    return finding.counts.failed + finding.counts.errors if finding.counts else 0


def _format_counts(now: Finding, before: Finding | None) -> str:
    then = f"{_count_failed_tests(before)} -> " if before and before.counts else ""
    return f"failed {then}{_count_failed_tests(now)} of {now.counts.total if now.counts else 'unknown'}"


def _format_result(now: Finding, before: Finding | None) -> str:
    """What the tool's own summary says, and what it said before: `4 problems`, before `7 problems`."""
    said, then = (
        code_span(now.summary, MAX_FAILURE_LINE_CHARS),
        code_span(before.summary, MAX_FAILURE_LINE_CHARS) if before else "",
    )
    return f"{said}, before {then}" if then and then != said else said


def _describe_age(
    group: FailureGroup, before: frozenset[tuple[str, ...]], base: frozenset[tuple[str, ...]], certain: bool
) -> str:
    """`new`, `already red on the base`, or how many of a mixed group are; empty for what the last look showed too."""
    names = [identify_problem(p) for p in group.problems]
    old = sum(name in base for name in names)
    new = sum(name not in before and name not in base for name in names) if certain else 0
    parts = [_format_share(new, len(names), "new"), _format_share(old, len(names), "already red on the base")]
    return ", ".join(part for part in parts if part)


def _format_share(number: int, total: int, word: str) -> str:
    if not number:
        return ""
    return word if number == total else f"{number} of {total} {word}"


def _rank_age(age: str) -> int:
    """What is new comes first and what the base brought comes last, because the last is cut first."""
    return 0 if "new" in age else 2 if age.startswith("already") else 1


def _describe_group(age: str, group: FailureGroup) -> Failure:
    example, others = group.example, group.problems[1:]
    known = [code_span(part) for part in (example.test, format_location(example), example.rule) if part]
    about = ", ".join(part for part in (*known, age) if part)
    names = dict.fromkeys(p.test or format_location(p) for p in others if p.test or p.file)
    return Failure(about, _split_lines(example.message), len(others), tuple(names))


def _describe_output(finding: Finding) -> tuple[Failure, ...]:
    lines = _split_lines(finding.excerpt)
    return (Failure("The end of its output:", lines, from_end=True),) if lines else ()


def _split_lines(text: str) -> tuple[str, ...]:
    return tuple(clip(line.rstrip(), MAX_FAILURE_LINE_CHARS) for line in clean(text).split("\n") if line.strip())


MAX_PROBLEM_CHARS = 200
"""Characters of one problem."""


def describe_problem(problem: Problem) -> str:
    """`src/a.py:3 F401: unused import`, as far as the tool says so."""
    place = f"{problem.file}:{problem.line}" if problem.file and problem.line else problem.file
    # The id of a test often begins with its file, and then says it all.
    known = problem.test.startswith(problem.file) if problem.file else True
    parts = (problem.test, problem.rule) if problem.test and known else (place, problem.test, problem.rule)
    named = " ".join(part for part in parts if part)
    said = strip_escapes(problem.message)
    return fold(f"{named}: {said}" if named else said, MAX_PROBLEM_CHARS)


def describe_first_problems(finding: Finding, most: int) -> list[str]:
    """The first problems of a finding, errors before warnings, and how many more there are."""
    ordered: Sequence[Problem] = sorted(finding.problems, key=lambda problem: problem.severity != "error")
    more = len(ordered) - most
    return [*(describe_problem(each) for each in ordered[:most]), *([f"and {more} more"] if more > 0 else [])]
