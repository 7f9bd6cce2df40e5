"""A check that is red, beside what it was at the last look and on the base."""

from collections.abc import Sequence
from dataclasses import dataclass

from aigon.model.failure_groups import LISTED, Group, groups, identities, identity, where
from aigon.model.values import Finding, Problem
from aigon.text.quoting import clean, clipped, code, folded

LINE = 300
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
class RedCheck:
    """`heading` is Markdown; `failures` begin with what is new; `unread` counts problems that are in no group."""

    heading: str
    failures: tuple[Failure, ...]
    unread: int


def is_red(finding: Finding | None) -> bool:
    """Failed, or gave no result."""
    return finding is not None and finding.status in ("fail", "error")


def compared(finding: Finding, before: Finding | None, base: Finding | None, seen: bool) -> RedCheck:
    """`seen` is whether there was a look before this one: without it nothing is new and nothing is old."""
    then, at_base, certain = identities(before), identities(base), seen and _complete(before)
    aged = [(_age(group, then, at_base, certain), group) for group in groups(relevant(finding))]
    failures = tuple(_failure(age, group) for age, group in sorted(aged, key=lambda pair: _rank(pair[0])))
    unread = max(_failed(finding), len(relevant(finding))) - sum(len(group.problems) for _, group in aged)
    return RedCheck(_heading(finding, before, base, seen), failures or _output(finding), unread if failures else 0)


def relevant(finding: Finding) -> Sequence[Problem]:
    """The errors; the warnings only when there is nothing worse."""
    return [p for p in finding.problems if p.severity == "error"] or finding.problems


def _complete(before: Finding | None) -> bool:
    """Whether what the look before did not list was not there: nothing is said to be new on less."""
    if before is None or before.status == "pass":
        return True
    return before.status != "skipped" and 0 < len(before.problems) < LISTED


def _heading(finding: Finding, before: Finding | None, base: Finding | None, seen: bool) -> str:
    was = before if is_red(before) else None
    facts = [("still failing" if was else "newly failing") if seen else "failing"]
    facts += ["gave no result"] if finding.status == "error" else []
    facts += [_counted(finding, was)] if _failed(finding) else []
    facts += ["already red on the base"] if is_red(base) else []
    lines = [f"### {folded(finding.title, 80)}: {', '.join(facts)}"]
    lines += [f"Command: {code(finding.command, LINE)}"] if finding.command.strip() else []
    lines += [f"Result: {_result(finding, was)}"] if finding.summary.strip() and not _failed(finding) else []
    return "\n".join(lines)


def _failed(finding: Finding) -> int:
    """How many tests did not pass; 0 where none were counted."""
    return finding.counts.failed + finding.counts.errors if finding.counts else 0


def _counted(now: Finding, before: Finding | None) -> str:
    then = f"{_failed(before)} -> " if before and before.counts else ""
    return f"failed {then}{_failed(now)} of {now.counts.total if now.counts else 'unknown'}"


def _result(now: Finding, before: Finding | None) -> str:
    """What the tool's own summary says, and what it said before: `4 problems`, before `7 problems`."""
    said, then = code(now.summary, LINE), code(before.summary, LINE) if before else ""
    return f"{said}, before {then}" if then and then != said else said


def _age(group: Group, before: frozenset[tuple[str, ...]], base: frozenset[tuple[str, ...]], certain: bool) -> str:
    """`new`, `already red on the base`, or how many of a mixed group are; empty for what the last look showed too."""
    names = [identity(p) for p in group.problems]
    old = sum(name in base for name in names)
    new = sum(name not in before and name not in base for name in names) if certain else 0
    parts = [_part(new, len(names), "new"), _part(old, len(names), "already red on the base")]
    return ", ".join(part for part in parts if part)


def _part(number: int, total: int, word: str) -> str:
    if not number:
        return ""
    return word if number == total else f"{number} of {total} {word}"


def _rank(age: str) -> int:
    """What is new comes first and what the base brought comes last, because the last is cut first."""
    return 0 if "new" in age else 2 if age.startswith("already") else 1


def _failure(age: str, group: Group) -> Failure:
    example, others = group.example, group.problems[1:]
    known = [code(part) for part in (example.test, where(example), example.rule) if part]
    about = ", ".join(part for part in (*known, age) if part)
    names = dict.fromkeys(p.test or where(p) for p in others if p.test or p.file)
    return Failure(about, _lines(example.message), len(others), tuple(names))


def _output(finding: Finding) -> tuple[Failure, ...]:
    lines = _lines(finding.excerpt)
    return (Failure("The end of its output:", lines, from_end=True),) if lines else ()


def _lines(text: str) -> tuple[str, ...]:
    return tuple(clipped(line.rstrip(), LINE) for line in clean(text).split("\n") if line.strip())
