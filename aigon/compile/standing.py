"""How the proof of a criterion stands now, from what ran: red, green, or without a result."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from aigon.compile.proposals import Base
from aigon.job.results import Result
from aigon.model.checks import Check, Finding
from aigon.model.criteria import Criterion
from aigon.proof.criteria import judge_by_command, list_bound_findings, list_commands, read_printed_number
from aigon.run.present_tree import TreeResults

_NO_MODULE = re.compile(r"\S*(?:python|pypy)\S*: No module named .*")
"""What Python says when `-m` names nothing; a module that fails to import something says it with a traceback."""


@dataclass(frozen=True, slots=True)
class Standing:
    """`base` as documented for `--json`, `detail` in words; `changed` the files of the tree that running it changed.

    They were put back, and `aside` is where what it made of them is kept.
    """

    base: Base = "not run"
    detail: str = ""
    changed: tuple[str, ...] = ()
    aside: str = ""


def standing(criterion: Criterion, ran: TreeResults) -> Standing:
    """How a `verify`, `metric` or `check` criterion stands; `not run` for all others."""
    if criterion.kind == "check":
        return _of_check(criterion, ran)
    return next((_of_command(criterion, check, ran) for check in list_commands([criterion])), Standing())


def _of_command(criterion: Criterion, check: Check, ran: TreeResults) -> Standing:
    result = ran.results.get(check.name)
    if result is None:
        return Standing()
    verdict = judge_by_command([criterion], check, result)
    changed = ran.changed.get(check.name, ())
    if verdict is None or result.finding.status == "skipped":
        return Standing("not run", result.finding.summary, changed)
    if verdict.status == "met":
        return Standing("green", verdict.evidence if criterion.kind == "metric" else "exit 0", changed)
    return Standing("error" if _gives_nothing(criterion, result) else "red", verdict.reason, changed)


def _gives_nothing(criterion: Criterion, result: Result) -> bool:
    """It did not run to an end that says anything: no program, no time, no number."""
    if result.finding.status == "error":
        return True
    last = result.output.decode(errors="replace").strip().splitlines()[-1:] or [result.finding.excerpt.strip()]
    if result.finding.status == "fail":
        return any(_NO_MODULE.fullmatch(line) for line in (*last, result.finding.excerpt.strip()))
    return criterion.kind == "metric" and isinstance(read_printed_number(result.output), str)


def _of_check(criterion: Criterion, ran: TreeResults) -> Standing:
    wanted = criterion.command or ""
    found = list_bound_findings(wanted, [result.finding for result in ran.results.values()])
    if not found:
        return Standing("error", f"this project has no check '{wanted}'")
    changed = tuple(path for each in found for path in ran.changed.get(each.check, ()))
    worst = next((each for status in ("error", "fail", "skipped") for each in found if each.status == status), None)
    if worst is None:
        return Standing("green", _said(found), changed)
    base: Base = "error" if worst.status == "error" else "not run" if worst.status == "skipped" else "red"
    return Standing(base, f"{worst.title}: {worst.summary}", changed)


def _said(findings: Sequence[Finding]) -> str:
    return "; ".join(f"{each.title}: {each.summary}" for each in findings)


def by_number(criteria: Sequence[Criterion], ran: TreeResults) -> Mapping[int, Standing]:
    """The standing of each."""
    return {criterion.number: replace(standing(criterion, ran), aside=ran.aside) for criterion in criteria}
