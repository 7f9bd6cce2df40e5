"""A person's decision on criteria and integrity findings, recorded for the code that it was taken on."""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from aigon.agents.configured import build_loop_command
from aigon.errors import AigonError, Exit, usage
from aigon.files.home import ensure_home
from aigon.git.person import Checkout
from aigon.job.seat import open_main_checkout
from aigon.job.spec_locations import locate_spec
from aigon.job.world import World
from aigon.journal.decisions import HumanDecision
from aigon.journal.events import IterationFinished
from aigon.journal.records import Records, locate_records
from aigon.journal.state import State, replay
from aigon.journal.state_document import command_elsewhere, describe_search
from aigon.model.candidates import format_run_command
from aigon.model.changes import Concern
from aigon.model.criteria import Spec
from aigon.run.seating import resolve_candidate
from aigon.spec.features import ROOT
from aigon.text.quoting import clean, fold


def require_person(verb: str, yes: bool) -> None:
    """Raise AigonError (exit 4) inside a loop, and without a terminal unless `yes` was given outside of one."""
    require_outside_a_run(verb)
    require_terminal(verb, yes)


def require_outside_a_run(verb: str) -> None:
    """Raise AigonError (exit 4) inside a loop, whatever was said."""
    if os.environ.get("AIGON_RUN") or _below_a_loop():
        raise _refused(f"{verb} is for a person, and this is inside a run of the loop", "Run it in your own shell")


def require_terminal(verb: str, yes: bool) -> None:
    """Raise AigonError (exit 4) if nobody can be asked and `yes` was not given."""
    if not yes and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise _refused(f"{verb} is for a person, and nobody can be asked here", "Run it in a terminal, or add --yes")


def _refused(what: str, hint: str) -> AigonError:
    return AigonError(what, hint=hint, code=Exit.NEEDS_HUMAN)


def _below_a_loop() -> bool:
    """Whether one of this process's ancestors is an aigon that runs agents: it holds a feature's lock."""
    import psutil

    return any(_runs_a_loop(parent) for parent in psutil.Process().parents())


def _runs_a_loop(process: object) -> bool:
    import psutil

    assert isinstance(process, psutil.Process)
    try:
        words = process.cmdline()
    except psutil.Error:
        return False
    return "feature-implement" in words and any("aigon" in word for word in words)


DECIDABLE = ("human", "judge")
SHOWN_FILES = 10
"""Changed files that a question names."""

NOT_AIGONS = (f":(top,exclude){ROOT}", ":(top,exclude).aigon")
"""Pathspecs that leave out what aigon itself commits."""


@dataclass(frozen=True, slots=True)
class DecisionItem:
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
        """What a person calls it on the command line."""
        return str(self.number or self.rule)


@dataclass(frozen=True, slots=True)
class DecisionCase:
    """What a person is about to decide: the items, the state of the run they are about, and the records it is in.

    `again` is the command that goes on afterwards.
    """

    feature: str
    items: tuple[DecisionItem, ...]
    state: State
    records: Records
    again: str


def find_case(checkout: Checkout, wanted: str, what: Sequence[str], agent: str | None = None) -> DecisionCase:
    """Return the criteria (by number) and integrity findings (by rule) that `what` names in the last look.

    Raises AigonError (exit 2) for what does not exist or is not for a person to decide.
    """
    with open_main_checkout(checkout) as (main, here):
        candidate = resolve_candidate(main, here, wanted, agent)
    root = Path(candidate.path) if candidate else checkout.root
    place = locate_spec(root, checkout.common_dir, candidate.feature if candidate else wanted)
    feature, spec = place.feature, place.parse()
    for each in what:
        if each.isdecimal():
            _require_decidable(spec, int(each), feature.path, feature.name_for_people)
    label = candidate.label if candidate else ""
    records = locate_records(ensure_home(checkout.common_dir), feature.name_for_people, label)
    state = _require_looked_at(checkout, root, feature.name_for_people, records)
    assert state.last is not None
    if not what:
        raise _nothing_named(spec, state.last, feature.path, feature.name_for_people)
    items = tuple(item for each in what for item in _items(spec, state.last, each))
    return DecisionCase(feature.name_for_people, items, state, records, format_run_command(wanted, label))


def record_decisions(checkout: Checkout, case: DecisionCase, decision: Literal["approve", "reject"], why: str) -> None:
    """Write the decision on every item into aigon's records."""
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


def render_evidence(checkout: Checkout, case: DecisionCase) -> str:
    """Return what a person should know before deciding: each item, the checks, what changed, where the report is."""
    return clean("\n".join(_evidence(checkout, case)))


def _evidence(checkout: Checkout, case: DecisionCase) -> Iterator[str]:
    state, look = case.state, case.state.last
    assert look is not None
    assert state.started is not None
    base, commit = state.started.base_commit, state.checkpoint
    yield f"Feature {case.feature}, iteration {look.number}, commit {commit[:12]} on {state.started.branch}"
    for item in case.items:
        yield f"  {f'Criterion {item.number}' if item.number else item.rule}: {fold(item.text, 500)}"
        yield f"    {item.known}"
    checks = ", ".join(f"{each.title}: {fold(each.summary, 80)}" for each in look.findings)
    yield f"  Checks: {checks or 'none ran'}"
    options = ("--no-ext-diff", f"--stat=100,80,{SHOWN_FILES}")
    stat = (checkout.ask("diff", *options, base, commit, "--", ":/", *NOT_AIGONS) or "").splitlines()
    yield f"  Changed since the base: {stat.pop().strip() if stat else 'nothing'}"
    yield from (f"   {line}" for line in stat)
    yield f"  See also: git diff {base[:12]} {commit[:12]}, aigon report {case.feature}"


def _items(spec: Spec, look: IterationFinished, what: str) -> list[DecisionItem]:
    if not what.isdecimal():
        return [DecisionItem(0, c.rule, c.what, c.key, _about(c)) for c in _concerns(look, what)]
    criterion = next(each for each in spec.criteria if each.number == int(what))
    verdict = next((each for each in look.verdicts if each.criterion == criterion.number), None)
    known = f"{verdict.status}: {fold(verdict.reason or verdict.evidence, 500)}" if verdict else "not assessed yet"
    return [DecisionItem(criterion.number, "", criterion.text, look.content, known)]


def _about(concern: Concern) -> str:
    paths = ", ".join(fold(path) for path in concern.paths[:SHOWN_FILES])
    return f"an integrity finding{f' in {paths}' if paths else ''}"


def _nothing_named(spec: Spec, look: IterationFinished, where: str, name: str) -> AigonError:
    met = [verdict.criterion for verdict in look.verdicts if verdict.status == "met"]
    waiting = [str(each.number) for each in spec.criteria if each.kind in DECIDABLE and each.number not in met]
    waiting += sorted({concern.rule for concern in look.concerns if concern.level == "review"})
    listed = f"Waiting for a person: {', '.join(waiting)}" if waiting else "Nothing waits for a person"
    hint = f"{listed}. aigon spec-show {name} lists the criteria"
    return usage("No criterion or integrity finding is named", where=where, hint=hint)


def _concerns(look: IterationFinished, rule: str) -> list[Concern]:
    """The findings of a rule that wait for a person. Raises AigonError (exit 2) where there are none."""
    waiting = [concern for concern in look.concerns if concern.level == "review"]
    found = [concern for concern in waiting if concern.rule == rule]
    if not found:
        rules = ", ".join(sorted({concern.rule for concern in waiting}))
        hint = f"What waits for a person: {rules}" if rules else "No integrity finding waits for a person"
        raise usage(f"There is no criterion and no open integrity finding called '{rule}'", hint=hint)
    return found


def _require_looked_at(checkout: Checkout, root: Path, name: str, records: Records) -> State:
    state = replay(records.each())
    if state.last is None:
        raise usage(
            f"Feature {name} has not been looked at yet: there is nothing to decide on",
            where="" if state.started else describe_search(root, name, records.journal),
            hint=command_elsewhere(checkout.common_dir, name, f"aigon feature-status {name}")
            or build_loop_command(root, name),
        )
    return state


def _require_decidable(spec: Spec, number: int, where: str, name: str) -> None:
    kinds = {criterion.number: criterion.kind for criterion in spec.criteria}
    if number not in kinds:
        listed = f"They go from 1 to {len(kinds)}" if kinds else "The spec has none"
        raise usage(f"There is no criterion {number}", where=where, hint=f"{listed}: aigon spec-show {name}")
    if kinds[number] not in DECIDABLE:
        raise usage(
            f"Criterion {number} is decided by what runs ({kinds[number]}), not by a person",
            where=where,
            hint="Change the criterion in the spec if it asks for the wrong thing",
        )
