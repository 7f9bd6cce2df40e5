"""The facts on one candidate: from aigon's records, from its branch, and from its change as text."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from aigon.compare.rules.evaluation import ComparedFeature
from aigon.compare.rules.facts import CandidateFacts, ChangeMeasures, measure_change
from aigon.config.models import Config
from aigon.errors import AigonError
from aigon.files.home import ensure_home
from aigon.files.locks import is_locked
from aigon.git import objects
from aigon.git.diff import diff_trees
from aigon.git.objects import TreeEntry as File
from aigon.git.person import Checkout
from aigon.git.trusted import TrustedGit
from aigon.job.bookkeeping import open_own_git
from aigon.journal.decisions import HumanDecision
from aigon.journal.events import Event, IterationFinished, MoneySpent, RunFinished, RunStarted, TurnEnded
from aigon.journal.history import History, build_history
from aigon.journal.records import Records
from aigon.journal.replay import read_events
from aigon.model.changes import Concern, Edit, Edits
from aigon.model.criteria import Spec
from aigon.model.outcomes import Met
from aigon.model.turns import CostStatus
from aigon.process.running import loop_lock
from aigon.profiles.protection import Protection
from aigon.proof.findings import settled
from aigon.proof.frozen import Frozen
from aigon.proof.frozen import load as frozen_of
from aigon.proof.integrity import concerns
from aigon.proof.protection import protection_of
from aigon.spec.document import read_known_failures
from aigon.spec.features import FOLDERS, ROOT, Feature


def read_change(
    git: TrustedGit, base: str, tip: str, own: frozenset[str], protection: Protection, expected: tuple[str, ...]
) -> tuple[ChangeMeasures, Edits]:
    """The measures of a change and the change as text. `own` are aigon's files, which are nobody's work.

    Raises AigonError (exit 7) with git's words.
    """
    diffs = diff_trees(git, base, tip, own)
    edits = _read_edits(git, base, tip, [diff.path for diff in diffs], protection)
    return measure_change(diffs, edits, expected), edits


def list_own_files(feature: Feature, label: str) -> frozenset[str]:
    """The spec, in whatever stage, and the log: aigon writes them into every checkpoint."""
    specs = {f"{ROOT}/{folder}/{feature.name}.md" for folder in FOLDERS.values()}
    return frozenset({*specs, feature.path, feature.log(label)})


def find_concerns(edits: Edits, decisions: Iterable[HumanDecision]) -> tuple[Concern, ...]:
    """What the integrity rules see in a change, less what a person approved of."""
    return settled(concerns(edits), tuple(decisions))


def _read_edits(git: TrustedGit, base: str, tip: str, paths: list[str], protection: Protection) -> Edits:
    before, after = objects.list_entries(git, base, paths), objects.list_entries(git, tip, paths)
    if not paths:
        return Edits(())
    files = [file for file in (*before.values(), *after.values()) if file.mode != "160000"]
    texts = objects.read_blobs(git, [file.sha for file in files])
    return Edits(tuple(_build_edit(path, before.get(path), after.get(path), texts, protection) for path in paths))


def _build_edit(
    path: str, before: File | None, after: File | None, texts: Mapping[str, bytes], rules: Protection
) -> Edit:
    modes = (after.mode if after else "", before.mode if before else "")
    return Edit(path, _read_text(before, texts), _read_text(after, texts), rules.part(path), *modes)


def _read_text(file: File | None, texts: Mapping[str, bytes]) -> str | None:
    """A submodule's content is the name of its commit."""
    if file is None:
        return None
    data = texts.get(file.sha, b"")
    return file.sha if file.mode == "160000" else "" if b"\0" in data[:8000] else data.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class CandidateEvents:
    """The events of every run of a candidate, oldest run first; the last ones are of its current run."""

    runs: tuple[tuple[Event, ...], ...]

    @property
    def whole(self) -> History:
        """All runs."""
        return build_history(self.runs)

    @property
    def current(self) -> tuple[Event, ...]:
        """The current run, over its resumes."""
        return self.runs[-1] if self.runs else ()


def read_candidate_events(records: Records) -> CandidateEvents:
    """What the journals say. Raises AigonError (exit 7) for a damaged one."""
    return CandidateEvents(tuple(found for path in records.journals() if (found := tuple(read_events(path)))))


def add_record(entry: CandidateFacts, found: CandidateEvents, records: Records) -> CandidateFacts:
    """The entry with what the records tell of it."""
    whole, now = found.whole, build_history([found.current])
    looked, judged = _find_commits(found.current)
    look = now.last.look if now.last else None
    frozen = frozen_of(records.frozen)
    return replace(
        _add_costs(entry, found, whole),
        looked=looked,
        judged=judged,
        at=_find_newest(found.current),
        outcome=now.outcome,
        skipped=bool(now.started and now.started.skip_validation),
        look=look,
        first=whole.base.look if whole.base else None,
        criteria=now.started.criteria_total if now.started else None,
        concerns=look.concerns if look else (),
        regressed=_find_regressed(frozen, look),
        was_tested=_was_tested(frozen),
        iterations=sum(step.number > 0 for step in whole.steps),
        seconds=sum(_count_seconds(run) for run in found.runs),
    )


def _add_costs(entry: CandidateFacts, found: CandidateEvents, whole: History) -> CandidateFacts:
    """A cost that one turn kept to itself is not known; neither is one of a turn that broke off."""
    asked = [event for run in found.runs for event in run if isinstance(event, TurnEnded | MoneySpent)]
    statuses: set[CostStatus] = {e.turn.cost_status if isinstance(e, TurnEnded) else e.status for e in asked}
    known = whole.spend.unknown == 0 and not _has_broken_turn(found)
    return replace(
        entry,
        cost=whole.spend.usd if known else None,
        at_least=whole.spend.usd,
        cost_status=("estimated" if "estimated" in statuses else "reported") if known else "unknown",
        usage=whole.usage,
        silent=sum(turn.usage is None for turn in whole.turns),
    )


def _has_broken_turn(found: CandidateEvents) -> bool:
    """Whether a turn was begun that never said how it ended."""
    begun = sum(event.event == "iteration_started" for run in found.runs for event in run)
    return begun > sum(event.event == "turn_ended" for run in found.runs for event in run)


def _find_commits(run: Sequence[Event]) -> tuple[str, str]:
    """The commit that the last look speaks of, and the one that the outcome speaks of; "" where there is none."""
    head = looked = judged = ""
    for event in run:
        match event:
            case RunStarted():
                head, judged = event.head, ""
            case IterationFinished():
                looked = head = event.checkpoint or head
            case RunFinished():
                judged = event.commit
    return looked, judged


def _find_newest(run: Sequence[Event]) -> str:
    return run[-1].at if run else ""


def _count_seconds(run: Sequence[Event]) -> float:
    """How long a run took over all its invocations; nobody worked between one and the next."""
    total, begun, last = 0.0, None, None
    for event in run:
        at = datetime.fromisoformat(event.at)
        if isinstance(event, RunStarted):
            total += (last - begun).total_seconds() if begun and last else 0.0
            begun = at
        last = at
    return total + ((last - begun).total_seconds() if begun and last else 0.0)


def _find_regressed(frozen: Frozen | None, look: IterationFinished | None) -> tuple[str, ...] | None:
    """Tests that passed on the base and are named as red by the last look. Parsers name them as the base's report."""
    if frozen is None or look is None or not frozen.tested:
        return None
    red = {(f.check, p.test) for f in look.findings for p in f.problems if p.test and p.severity == "error"}
    return tuple(sorted(test for check, test in red if _has_passed(frozen, check, test)))


def _has_passed(frozen: Frozen, check: str, test: str) -> bool:
    return check in frozen.tested and frozen.tested[check].tests.get(test) == "passed"


def _was_tested(frozen: Frozen | None) -> bool | None:
    if frozen is None:
        return None
    return any(each.tests for each in frozen.tested.values()) or _has_tests(check.role for check in frozen.checks)


def _has_tests(roles: Iterable[str]) -> bool:
    """A script may run tests of which nobody knows."""
    return any(role in ("tests", "script") for role in roles)


@dataclass(frozen=True, slots=True)
class Contest:
    """What everybody has in common; `records` are by label."""

    main: Checkout
    config: Config
    feature: Feature
    spec: Spec
    subject: ComparedFeature
    records: Mapping[str, Records]


@dataclass(frozen=True, slots=True)
class Contestant:
    """Who takes part: label, agent as a person named it, branch, records; `own` are aigon's files on the branch."""

    label: str
    agent: str
    branch: str
    records: Records
    own: frozenset[str]


def gather_facts(contest: Contest, one: Contestant) -> CandidateFacts:
    """The facts on one. Raises AigonError (exit 7) for a journal that is damaged."""
    found = read_candidate_events(one.records)
    entry = CandidateFacts(
        label=one.label,
        agent=one.agent or _find_agent(found),
        branch=one.branch,
        base=_find_base(found, one.records),
        tip=_find_tip(contest, one),
        known_failures=read_known_failures(contest.spec),
    )
    entry = add_record(entry, found, one.records) if found.runs else entry
    entry = replace(entry, running=_is_running(contest, one, entry))
    return _add_change(contest, one, entry) if entry.tip and entry.base else entry


def _find_agent(found: CandidateEvents) -> str:
    return found.whole.started.agent if found.whole.started else ""


def _find_base(found: CandidateEvents, records: Records) -> str:
    origin = records.origin()
    return origin.commit if origin else found.whole.started.base_commit if found.whole.started else ""


def _find_tip(contest: Contest, one: Contestant) -> str:
    """The branch; where it was put away after a merge, what was kept of it."""
    kept = f"refs/aigon/arena/{contest.subject.feature}/{one.label}"
    main = contest.main
    return main.commit_of(f"refs/heads/{one.branch}") or main.commit_of(kept) or ""


def _is_running(contest: Contest, one: Contestant, entry: CandidateFacts) -> bool:
    """Its last run has not ended, and a process holds its lock."""
    lock = loop_lock(ensure_home(contest.main.common_dir), one.records.folder.name)
    return entry.outcome is None and is_locked(lock) is True


def _add_change(contest: Contest, one: Contestant, entry: CandidateFacts) -> CandidateFacts:
    git, rules, expected = open_own_git(contest.main), _find_protection(contest, one), contest.subject.expected
    try:
        changed, edits = read_change(git, entry.base, entry.tip, one.own, rules, expected)
    except AigonError as error:
        return replace(entry, notes=(*entry.notes, f"its change could not be read: {error.hint or error.what}"))
    if entry.concerns or isinstance(entry.outcome, Met):
        return replace(entry, changed=changed)
    return replace(entry, changed=changed, concerns=find_concerns(edits, one.records.decisions()))


def _find_protection(contest: Contest, one: Contestant) -> Protection:
    """By the checks as they were before the agent began."""
    frozen = frozen_of(one.records.frozen)
    return protection_of(contest.main.root, contest.config, contest.spec, frozen.checks if frozen else ())
