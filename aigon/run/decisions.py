"""A person's decision on criteria and integrity findings, recorded for the code that it was taken on."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from aigon.agents.configured import build_loop_command
from aigon.errors import environment, usage
from aigon.files.home import ensure_home
from aigon.git.person import Checkout
from aigon.job.job import open_main_checkout
from aigon.job.spec_locations import locate_spec
from aigon.job.world import World
from aigon.journal.decisions import DecisionKind, HumanDecision, find_decision
from aigon.journal.events import IterationFinished
from aigon.journal.records import Records, locate_records
from aigon.journal.state import State, replay
from aigon.journal.state_document import command_elsewhere, describe_search
from aigon.model.agents import format_run_command
from aigon.model.criteria import Criterion, Spec
from aigon.model.requests import resolve_task
from aigon.run.invocations import require_outside_a_run
from aigon.run.seating import resolve_candidate
from aigon.spec.features import ROOT
from aigon.text.quoting import clean, fold

DECIDABLE = ("human", "judge")
MAX_FILES = 10
"""Changed files that a question names."""
NOT_AIGONS = (f":(top,exclude){ROOT}", ":(top,exclude).aigon")
"""Pathspecs that leave out what aigon itself commits."""


class DecisionItem(Struct, frozen=True):
    """A criterion (`number`) or an integrity finding (`number` 0, `rule`) that a person decides.

    `text` is what it says, `key` the content or change that a decision holds for, `known` what aigon knows about it.
    """

    number: int
    rule: str
    text: str
    key: str
    known: str

    @property
    def name(self) -> str:
        """Its name on the command line."""
        return str(self.number or self.rule)


class DecisionCase(Struct, frozen=True):
    """A case that a person is about to decide: the items, the state of their run, and the records it is in.

    `again` is the command that continues the run afterwards, `criteria` are all those of the spec.
    """

    feature: str
    items: tuple[DecisionItem, ...]
    state: State
    records: Records
    again: str
    criteria: tuple[Criterion, ...]


def find_case(
    checkout: Checkout, wanted: str, what: Sequence[str], agent: str | None = None, decision: DecisionKind = "approve"
) -> DecisionCase:
    """Return the criteria (by number or ID) and integrity findings (by rule) that `what` names in the last assessment.

    Raises AigonError: exit 2 for what does not exist or is not for a person to decide, exit 7 without a worktree.
    """
    with open_main_checkout(checkout) as (main, here):
        candidate = resolve_candidate(main, here, wanted, agent)
    root = Path(candidate.path) if candidate else checkout.root
    if candidate and not root.is_dir():
        raise environment(
            f"The worktree of {candidate.label} for feature {candidate.feature} is gone",
            where=candidate.path,
            hint=f"aigon feature-setup {candidate.feature} {candidate.label} makes it again",
        )
    place = locate_spec(root, checkout.common_dir, candidate.feature if candidate else wanted)
    path, name, spec = place.feature.path, place.feature.name_for_people, place.parse()
    what = [str(resolve_task(spec.criteria, name, each) or each.removeprefix(f"{name}.")) for each in what]
    for each in what:
        if each.isdecimal():
            _require_decidable(spec, int(each), path, name, decision)
        elif decision in ("waive", "reset"):
            raise usage(f"There is no criterion {each}", where=path, hint=f"aigon spec-show {name} lists them")
    label = candidate.label if candidate else ""
    records = locate_records(ensure_home(checkout.common_dir), name, label)
    state = replay(records.each())
    if state.last is None:
        elsewhere = command_elsewhere(checkout.common_dir, name, f"aigon feature-status {name}")
        raise usage(
            f"Feature {name} has not been assessed yet: there is nothing to decide",
            where="" if state.started else describe_search(root, name, records.journal),
            hint=elsewhere or build_loop_command(root, name),
        )
    if not what:
        passed = [verdict.criterion for verdict in state.last.verdicts if verdict.status == "met"]
        waiting = [str(each.number) for each in spec.criteria if each.kind in DECIDABLE and each.number not in passed]
        waiting += sorted({concern.rule for concern in state.last.concerns if concern.level == "review"})
        listed = f"Waiting for a person: {', '.join(waiting)}" if waiting else "Nothing waits for a person"
        hint = f"{listed}. aigon spec-show {name} lists the criteria"
        raise usage("No criterion or integrity finding is named", where=path, hint=hint)
    items = tuple(item for each in what for item in _list_items(spec, state.last, each))
    return DecisionCase(name, items, state, records, format_run_command(wanted, label), spec.criteria)


def _require_decidable(spec: Spec, number: int, where: str, name: str, decision: DecisionKind) -> None:
    kinds = {criterion.number: criterion.kind for criterion in spec.criteria}
    if number not in kinds:
        listed = f"They go from 1 to {len(kinds)}" if kinds else "The spec has none"
        raise usage(f"There is no criterion {number}", where=where, hint=f"{listed}: aigon spec-show {name}")
    if decision in ("approve", "reject") and kinds[number] not in DECIDABLE:
        raise usage(
            f"Criterion {number} is decided by what runs ({kinds[number]}), not by a person",
            where=where,
            hint=f"If it is not needed: aigon run skip {name}.{number} --reason WHY; if it is wrong, change the spec",
        )


def _list_items(spec: Spec, assessment: IterationFinished, what: str) -> list[DecisionItem]:
    """Return the criterion, or the findings of a rule that wait for a person.

    Raises AigonError (exit 2) if the rule has no such finding.
    """
    if what.isdecimal():
        criterion = next(each for each in spec.criteria if each.number == int(what))
        verdict = next((each for each in assessment.verdicts if each.criterion == criterion.number), None)
        known = f"{verdict.status}: {fold(verdict.reason or verdict.evidence, 500)}" if verdict else "not assessed yet"
        return [DecisionItem(criterion.number, "", criterion.text, assessment.content, known)]
    waiting = [concern for concern in assessment.concerns if concern.level == "review"]
    items = []
    for concern in waiting:
        if concern.rule == what:
            paths = ", ".join(fold(path) for path in concern.paths[:MAX_FILES])
            known = f"an integrity finding{f' in {paths}' if paths else ''}"
            items.append(DecisionItem(0, concern.rule, concern.what, concern.key, known))
    if not items:
        rules = ", ".join(sorted({concern.rule for concern in waiting}))
        hint = f"What waits for a person: {rules}" if rules else "No integrity finding waits for a person"
        raise usage(f"There is no criterion and no open integrity finding called '{what}'", hint=hint)
    return items


def record_decisions(checkout: Checkout, case: DecisionCase, decision: DecisionKind, why: str) -> None:
    """Write the decision on every item into aigon's records.

    Raises AigonError: exit 4 inside a loop, exit 2 if no criterion would be left to prove.
    """
    require_outside_a_run(decision)
    if decision == "waive":
        _require_something_left(case)
    (author, _), at = checkout.identity().author, World.now()
    commit = case.state.checkpoint
    case.records.decide(
        [
            HumanDecision(
                item.number, item.text if item.number else item.rule, decision, why, item.key, commit, author, at
            )
            for item in case.items
        ]
    )


def _require_something_left(case: DecisionCase) -> None:
    known, waived = case.records.decisions(), {item.number for item in case.items}
    for each in case.criteria:
        found = find_decision(known, each, "")
        if each.number not in waived and not (found and found.decision == "waive"):
            return
    what = f"No criterion of feature {case.feature} would be left: nothing would be proven"
    raise usage(what, hint=f"If it is not to be built: aigon cancel {case.feature}")


def list_changed_files(checkout: Checkout, base: str, commit: str) -> list[str]:
    """Return the diff in short, without aigon's own files: a line for each of the first files, and a sum."""
    options = ("--no-ext-diff", f"--stat=100,80,{MAX_FILES}")
    return (checkout.ask("diff", *options, base, commit, "--", ":/", *NOT_AIGONS) or "").splitlines()


def render_evidence(checkout: Checkout, case: DecisionCase) -> str:
    """Return what a person should know before deciding: each item, the checks, what changed, where the report is."""
    return clean("\n".join(_list_evidence(checkout, case)))


def _list_evidence(checkout: Checkout, case: DecisionCase) -> Iterator[str]:
    state, assessment = case.state, case.state.last
    assert assessment is not None
    assert state.started is not None
    base, commit = state.started.base_commit, state.checkpoint
    yield f"Feature {case.feature}, iteration {assessment.number}, commit {commit[:12]} on {state.started.branch}"
    for item in case.items:
        yield f"  {f'Criterion {item.number}' if item.number else item.rule}: {fold(item.text, 500)}"
        yield f"    {item.known}"
    checks = ", ".join(f"{each.title}: {fold(each.summary, 80)}" for each in assessment.findings)
    yield f"  Checks: {checks or 'none ran'}"
    stat = list_changed_files(checkout, base, commit)
    yield f"  Changed since the base: {stat.pop().strip() if stat else 'nothing'}"
    yield from (f"   {line}" for line in stat)
    yield f"  See also: git diff {base[:12]} {commit[:12]}, aigon report {case.feature}"
