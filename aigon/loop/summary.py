"""The end of a run on one screen: how it ended, what is proven, what is not and why, and what to do next."""

from collections.abc import Sequence
from textwrap import wrap
from unicodedata import east_asian_width

from aigon.journal.amounts import count_checks, duration, many, spent
from aigon.journal.state import Spend
from aigon.model.checks import Finding
from aigon.model.criteria import Criterion, Spec, Verdict
from aigon.model.failures import describe_first_problems, has_failed
from aigon.model.outcomes import Met, NeedsHuman, Outcome, describe_outcome
from aigon.model.turns import Turn
from aigon.text.counting import list_criteria
from aigon.text.quoting import folded

LINES = 24
NAMED = 2
"""Problems of a red check that the summary names; the log has all of them."""
COLUMNS = 100
NOTES = 4
"""Integrity findings that the summary names; the log has them all."""
Section = tuple[str, list[str]]


def summary(
    *,
    outcome: Outcome,
    spec: Spec,
    verdicts: Sequence[Verdict],
    findings: Sequence[Finding],
    commits: Sequence[tuple[str, str]],
    spend: Spend,
    log: str,
    next_command: str,
    elapsed: float | None,
    waited: float = 0.0,
    about_branch: str = "",
    turn: Turn | None = None,
    root: str = "",
    warnings: Sequence[str] = (),
    iterations: int = 0,
    advice: Sequence[str] = (),
) -> str:
    """At most 24 lines of at most 100 columns; only the next command is never cut, so that it can be pasted.

    `commits` are pairs of hash and subject, oldest first; `log` is the iteration log's path; `turn` is the agent's last
    one; paths below `root` are shown relative to it; `elapsed` and
    `waited` (for an agent that was held up, beside that) in seconds; `about_branch` says where the branch stands, where
    that is not where the last iteration ended, and is never cut: it names where the rest is, and its lines after the
    first are commands. Neither are `warnings` cut.
    `iterations` is how many the run has finished, `advice` what a person can do about checks that never passed.
    """
    by_number = {v.criterion: v for v in verdicts}
    empty = isinstance(outcome, NeedsHuman) and outcome.nothing_built
    sections = [
        ("Not proven", [_open(c, by_number.get(c.number)) for c in spec.criteria if not _met(c, by_number)]),
        ("Red checks", [line for f in findings if has_failed(f) for line in _red(f)]),
        ("What you can do", list(advice)),
        (
            "Passed already" if empty else "Proven",
            [_proven(c, by_number[c.number]) for c in spec.criteria if _met(c, by_number)],
        ),
        ("Commits", [f"{sha[:10]} {subject}" for sha, subject in reversed(commits)]),
        ("See also", _see_also(spec, by_number, findings, log, None if isinstance(outcome, Met) else turn, root)),
    ]
    wrapped = [line for text in warnings for line in wrap(text, COLUMNS - 2, break_on_hyphens=False)]
    top = [*_ending(outcome), _facts(spec, by_number, findings, iterations, spend, elapsed, waited)]
    about, *commands = about_branch.splitlines() or [""]
    branch = [*wrap(about, COLUMNS - 2, break_long_words=False, break_on_hyphens=False), *commands, *wrapped]
    last = [f"Next: {folded(next_command, 2000)}"] if next_command.strip() else []
    body = _fitted([s for s in sections if s[1]], LINES - len(top) - len(branch) - len(last))
    return "\n".join([*map(_cut, top), *branch, *map(_cut, body), *last]) + "\n"


def _red(finding: Finding) -> list[str]:
    """What a check came to, and the first things that it names."""
    return [
        f"{finding.title}: {finding.summary or finding.status}",
        *(f"  {line}" for line in describe_first_problems(finding, NAMED)),
    ]


def _ending(outcome: Outcome) -> list[str]:
    """How the run ended, on two lines at most."""
    lines = wrap(folded(describe_outcome(outcome), 4 * COLUMNS), COLUMNS - 2)
    return lines if len(lines) <= 2 else [lines[0], lines[1] + " …"]


def _facts(
    spec: Spec,
    by_number: dict[int, Verdict],
    findings: Sequence[Finding],
    iterations: int,
    spend: Spend,
    elapsed: float | None,
    waited: float,
) -> str:
    met = sum(_met(c, by_number) for c in spec.criteria)
    facts = [f"{met} of {len(spec.criteria)} criteria proven", count_checks(findings)]
    facts += [many(iterations, "iteration")] if iterations else []
    facts += [spent(spend)]
    facts += [] if elapsed is None else [duration(elapsed)]
    return " · ".join([*facts, f"waited {duration(waited)}"] if waited >= 1 else facts)


def _met(criterion: Criterion, by_number: dict[int, Verdict]) -> bool:
    verdict = by_number.get(criterion.number)
    return verdict is not None and verdict.status == "met"


def _open(criterion: Criterion, verdict: Verdict | None) -> str:
    reason = folded(verdict.reason or verdict.evidence) if verdict else "not looked at"
    doubt = "unclear: " if verdict and verdict.status == "unclear" else ""
    return f"[ ] {criterion.number}. {_cut(folded(criterion.text), 50)}: {doubt}{reason or 'no reason given'}"


def _proven(criterion: Criterion, verdict: Verdict) -> str:
    return f"[x] {criterion.number}. {_cut(folded(criterion.text), 60)} ({verdict.method.replace(':', ' ')})"


def _see_also(
    spec: Spec, by_number: dict[int, Verdict], findings: Sequence[Finding], log: str, turn: Turn | None, root: str
) -> list[str]:
    unclear = [c.number for c in spec.criteria if c.number in by_number and by_number[c.number].status == "unclear"]
    lines = [f"for a person to decide: {list_criteria(unclear)}"] if unclear else []
    lines += [f"output of {f.title}: {f.log.removeprefix(f'{root}/')}" for f in findings if has_failed(f) and f.log]
    lines += [f"output of {turn.agent}: {turn.log}"] if turn and turn.log else []
    lines += [f"{p.rule}: {p.message}" for f in findings if f.role == "integrity" for p in f.problems[:NOTES]]
    return [*lines, f"iteration log: {log}"] if log else lines


def _fitted(sections: Sequence[Section], room: int) -> list[str]:
    """All sections in `room` lines: the longest gives up a row until they fit, and says how many it left out."""
    shown = [len(rows) for _, rows in sections]
    while sum(1 + n for n in shown) > room:
        longest = max(range(len(shown)), key=lambda i: shown[i])
        shown[longest] -= 1
    return [line for (title, rows), n in zip(sections, shown, strict=True) for line in _section(title, rows, n)]


def _section(title: str, rows: Sequence[str], room: int) -> list[str]:
    """The title with the number of rows, and what of them fits in `room`; the last line tells of the rest."""
    lines = [f"  {folded(row)}" for row in rows]
    if len(rows) > room:
        lines = [*lines[: room - 1], f"  and {len(rows) - room + 1} more"]
    return [f"{title} ({len(rows)})", *lines]


def _cut(line: str, columns: int = COLUMNS) -> str:
    """At most `columns` of a terminal, in which East Asian characters are two wide."""
    if sum(map(_width, line)) <= columns:
        return line
    used, kept = 1, ""
    for char in line:
        used += _width(char)
        if used > columns:
            break
        kept += char
    return kept + "…"


def _width(char: str) -> int:
    return 2 if east_asian_width(char) in "WF" else 1
