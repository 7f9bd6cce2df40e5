"""Build what a judge is asked: rules, the data of a case inside random delimiters, and the task of one call."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from aigon.files.resources import read_prompt
from aigon.judge.reply import Decisions, Refutations, build_schema, truncate
from aigon.judge.selection import ShownChange
from aigon.model.changes import FileDiff, Hunk
from aigon.model.checks import Finding
from aigon.model.criteria import Criterion, Verdict
from aigon.model.requests import JudgeAnswer, JudgeQuestion
from aigon.text.quoting import strip_escapes

Task = Literal["decide", "refute"]
LONGEST_SPEC = 20_000
"""Characters of the spec that are shown."""
_OUTPUT = 2_000
"""Characters of the end of a check's output that are shown."""
_MOST_LISTED = 300
"""Files that are named and not shown."""
_CHANGED = {"A": "added", "M": "modified", "D": "deleted", "T": "of another type"}


class ObservedCheck(Struct, frozen=True):
    """A check's finding and what aigon captured of its output; "" if nothing was kept."""

    finding: Finding
    output: str = ""


class Case(Struct, frozen=True):
    """One assessment: the open criteria, the spec, the change from the base and what the checks found on it.

    `mark` is random and goes into the delimiters; `mode` is `all` for one call about all criteria, or `each`.
    """

    criteria: tuple[Criterion, ...]
    spec: str
    diffs: tuple[FileDiff, ...]
    observed: tuple[ObservedCheck, ...]
    mark: str
    mode: Literal["all", "each"] = "all"


class Claim(Struct, frozen=True):
    """A "met" whose quotes hold, before the attempt to refute it; `quotes` are those that count, with places."""

    criterion: Criterion
    reason: str
    quotes: tuple[str, ...]


class Call(Struct, frozen=True):
    """One call that was made: for which task and criteria, and what came back (text, failure, cost, usage)."""

    task: Task
    criteria: tuple[int, ...]
    answer: JudgeAnswer


class Judgement(Struct, frozen=True):
    """One verdict per criterion, in their order. `calls` are all that were made; `rejected` counts quotes refused.

    The method of a verdict is `judge`, `judge:unavailable` if it cannot be asked at all, or `human` if there is
    nothing to ask it about.
    """

    verdicts: tuple[Verdict, ...]
    calls: tuple[Call, ...] = ()
    rejected: int = 0


def build_decide_question(case: Case, view: ShownChange, criteria: Sequence[Criterion]) -> JudgeQuestion:
    """Build the question which of these criteria are met."""
    return _build_question("decide", case, view, criteria, {})


def build_refute_question(case: Case, view: ShownChange, claims: Sequence[Claim]) -> JudgeQuestion:
    """Build the question that tries to refute these claims."""
    criteria = [claim.criterion for claim in claims]
    stated = [
        {"criterion": claim.criterion.number, "reason": claim.reason, "quotes": list(claim.quotes)} for claim in claims
    ]
    return _build_question("refute", case, view, criteria, {"claims": stated})


def _build_question(
    task: Task, case: Case, view: ShownChange, criteria: Sequence[Criterion], more: Mapping[str, object]
) -> JudgeQuestion:
    claims = json.dumps(more.get("claims"), indent=1, ensure_ascii=False)
    rules, *texts = read_prompt("judge", MARK=case.mark, CRITERIA=list_criteria(criteria), CLAIMS=claims)
    data: dict[str, object] = {
        "spec": case.spec,
        "findings": [_describe_finding(observed) for observed in case.observed],
        **change_data(view),
        "criteria": criteria_data(criteria),
        **more,
    }
    whole = "whole" if view.whole else "in part: it is too long, so the parts are shown that the criteria speak of"
    shared = {
        "specification": truncate(case.spec, LONGEST_SPEC) or "(not given)",
        "findings of the checks": "\n\n".join(map(_render_finding, case.observed)) or "(no checks were run)",
        f"diff from the base, {whole}": render_change(view),
        "files, or parts of files, that changed and are not shown": list_left(view),
    }
    asked, reply = texts[task == "refute"], Decisions if task == "decide" else Refutations
    return make_question(task, rules, wrap_data(case.mark, shared), asked, reply, data)


def make_question(
    task: str, rules: str, shared: str, asked: str, reply: type[Struct], data: Mapping[str, object]
) -> JudgeQuestion:
    """Return a question as text and, for judges that are programs, as a document with its `data`."""
    schema = build_schema(reply)
    document = {"schema_version": 1, "task": task, "rules": rules, **data, "reply_schema": schema}
    return JudgeQuestion(rules, shared, asked, schema, document)


def list_criteria(criteria: Iterable[Criterion]) -> str:
    """Return the criteria, a line each."""
    return "\n".join(f"{criterion.number}. {' '.join(criterion.text.split())}" for criterion in criteria)


def criteria_data(criteria: Iterable[Criterion]) -> list[dict[str, object]]:
    """Return the criteria as plain data."""
    return [{"number": criterion.number, "text": criterion.text} for criterion in criteria]


def change_data(view: ShownChange) -> dict[str, object]:
    """Return the change as plain data: a unified diff, and what it leaves out."""
    return {
        "diff": "".join(map(_render_unified, view.files)),
        "files_not_shown": [{"path": name, "why": why} for name, why in view.left],
    }


def wrap_data(mark: str, data: Mapping[str, str]) -> str:
    """Return each text under its name inside the delimiters."""
    return "\n\n".join(f"The {name}:\n<data-{mark}>\n{text}\n</data-{mark}>" for name, text in data.items())


def list_left(view: ShownChange) -> str:
    """Return what of a change is not shown, a line each."""
    lines = [f"{name} ({why})" for name, why in view.left[:_MOST_LISTED]]
    more = [f"and {len(view.left) - _MOST_LISTED:,} more"] if len(view.left) > _MOST_LISTED else []
    return "\n".join([*lines, *more]) or "(none)"


def _describe_finding(observed: ObservedCheck) -> Mapping[str, object]:
    finding = observed.finding
    head = {"check": finding.check, "title": finding.title, "status": finding.status, "summary": finding.summary}
    return {**head, "output": _end_of_output(observed)}


def _render_finding(observed: ObservedCheck) -> str:
    finding = observed.finding
    name = f"check {finding.check}" if finding.title == finding.check else f"check {finding.check} ({finding.title})"
    head = f"{name}: {finding.status} ({finding.summary or 'no summary'})"
    output = _end_of_output(observed)
    return f"{head}\nthe end of its output:\n{output}" if output else head


def _end_of_output(observed: ObservedCheck) -> str:
    return strip_escapes(observed.output or observed.finding.excerpt).strip()[-_OUTPUT:]


def _render_unified(diff: FileDiff) -> str:
    old = "/dev/null" if diff.status == "A" else f"a/{diff.name}"
    new = "/dev/null" if diff.status == "D" else f"b/{diff.name}"
    return f"--- {old}\n+++ {new}\n" + "".join(f"{hunk.text}\n" for hunk in diff.hunks)


def render_change(view: ShownChange) -> str:
    """Return the diff with a number in front of each line: models miscount without."""
    files = (
        f"file {diff.name} ({_CHANGED[diff.status]})\n" + "\n".join(map(_render_hunk, diff.hunks)) + "\n"
        for diff in view.files
    )
    return "\n".join(files) or "(nothing of it can be shown)"


def _render_hunk(hunk: Hunk) -> str:
    lines = (f"{line.new or line.old:>5} {line.sign}{line.text}" for line in hunk.lines)
    return "\n".join([hunk.heading, *lines])
