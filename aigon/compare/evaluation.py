"""`aigon feature-eval`: compare what the candidates of a feature made, by what aigon saw of each itself.

The spec stays in its stage: the candidates' branches carry it in progress, and a rename on both sides would be a
conflict in the very merge that this is for.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import combinations

from msgspec import Struct
from msgspec.structs import replace

from aigon.compare.bench import Bench
from aigon.compare.facts import CandidateFacts, NewTests, measure_change
from aigon.compare.new_tests import find_new_tests, run_cross_checks
from aigon.compare.order import rank_candidates
from aigon.compare.proposal import ComparedFeature, Evaluation, build_evaluation, find_tied
from aigon.config.loading import load_configuration, open_work_tree
from aigon.config.models import Config, JudgeConfig
from aigon.errors import AigonError, usage
from aigon.files.home import ensure_home, find_home
from aigon.files.locks import is_locked
from aigon.git.diff import diff_trees
from aigon.git.objects import list_entries
from aigon.git.person import Checkout
from aigon.job.bookkeeping import open_own_git
from aigon.job.spec_locations import locate_spec
from aigon.journal import records
from aigon.journal.events import Event, IterationFinished, MoneySpent, RunFinished, RunStarted, TurnEnded
from aigon.journal.history import build_history
from aigon.journal.records import Records, locate_records
from aigon.journal.replay import read_events
from aigon.judge.backends import choose_judge
from aigon.model.criteria import Spec
from aigon.model.outcomes import Met
from aigon.model.turns import CostStatus
from aigon.process.running import loop_lock
from aigon.process.stop import Stop
from aigon.proof.findings import Changed, apply_decisions, read_edits
from aigon.proof.frozen import Frozen
from aigon.proof.frozen import load as frozen_of
from aigon.proof.hidden import RULE as SUPPRESSIONS
from aigon.proof.integrity import concerns
from aigon.proof.protection import protection_of
from aigon.spec import markdown
from aigon.spec.document import read_known_failures
from aigon.spec.features import FOLDERS, ROOT, Feature, OwnPaths

SOLO = "solo"
"""The label of work without a worktree."""


def list_own_files(feature: Feature, label: str) -> frozenset[str]:
    """Return the spec, in every stage, and the log: aigon writes them into every iteration commit."""
    specs = {f"{ROOT}/{folder}/{feature.name}.md" for folder in FOLDERS.values()}
    return OwnPaths({*specs, feature.path, feature.log(label)})


class Contest(Struct, frozen=True):
    """The common ground of all candidates; `records` are by label."""

    main: Checkout
    config: Config
    feature: Feature
    spec: Spec
    subject: ComparedFeature
    records: Mapping[str, Records]


class Contestant(Struct, frozen=True):
    """One who takes part. `agent` is as a person named it; `own` are aigon's files on the branch."""

    label: str
    agent: str
    branch: str
    records: Records
    own: frozenset[str]


def gather_facts(contest: Contest, one: Contestant) -> CandidateFacts:
    """Return the facts on one. Raises AigonError (exit 7) for a journal that is damaged."""
    main, records = contest.main, one.records
    runs = [run for path in records.journals() if (run := read_events(path))]
    origin, started = records.origin(), build_history(runs).started
    kept = f"refs/aigon/arena/{contest.subject.feature}/{one.label}"  # what a merge keeps of a branch that it deletes
    facts = CandidateFacts(
        label=one.label,
        agent=one.agent or (started.agent if started else ""),
        branch=one.branch,
        base=origin.commit if origin else started.base_commit if started else "",
        tip=main.commit_of(f"refs/heads/{one.branch}") or main.commit_of(kept) or "",
        known_failures=read_known_failures(contest.spec),
    )
    if runs:
        facts = _add_costs(_add_record(facts, runs, records), runs)
    lock = loop_lock(ensure_home(main.common_dir), records.folder.name)
    facts = replace(facts, running=facts.outcome is None and is_locked(lock) is True)
    return _add_change(contest, one, facts) if facts.tip and facts.base else facts


def _add_record(facts: CandidateFacts, runs: Sequence[Sequence[Event]], records: Records) -> CandidateFacts:
    """Add what the journals and the baseline tell: `runs` are the events of each run, the current one last."""
    whole, now = build_history(runs), build_history([runs[-1]])
    looked, judged = _find_commits(runs[-1])
    look = now.last.look if now.last else None
    frozen = frozen_of(records.frozen)
    return replace(
        facts,
        looked=looked,
        judged=judged,
        at=runs[-1][-1].at,
        outcome=now.outcome,
        skipped=bool(now.started and now.started.skip_validation),
        look=look,
        first=whole.base.look if whole.base else None,
        criteria=now.started.criteria_total if now.started else None,
        concerns=look.concerns if look else (),
        regressed=_find_regressed(frozen, look),
        was_tested=None if frozen is None else _was_tested(frozen),
        iterations=sum(step.number > 0 for step in whole.steps),
        seconds=sum(map(_count_seconds, runs)),
    )


def _add_costs(facts: CandidateFacts, runs: Sequence[Sequence[Event]]) -> CandidateFacts:
    """Add the cost. It is not known if a turn did not tell it, or broke off."""
    whole, listed = build_history(runs), [event for run in runs for event in run]
    paid = [event for event in listed if isinstance(event, TurnEnded | MoneySpent)]
    statuses: set[CostStatus] = {e.turn.cost_status if isinstance(e, TurnEnded) else e.status for e in paid}
    begun, ended = (sum(e.event == name for e in listed) for name in ("iteration_started", "turn_ended"))
    known = whole.spend.unknown == 0 and begun <= ended
    return replace(
        facts,
        cost=whole.spend.usd if known else None,
        at_least=whole.spend.usd,
        cost_status=("estimated" if "estimated" in statuses else "reported") if known else "unknown",
        usage=whole.usage,
        silent=sum(turn.usage is None for turn in whole.turns),
    )


def _find_commits(run: Sequence[Event]) -> tuple[str, str]:
    """Return the commits that the last assessment and the outcome are about; "" for none."""
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


def _count_seconds(run: Sequence[Event]) -> float:
    """Return how long a run took over all its invocations, without the time between one and the next."""
    total, begun, last = 0.0, None, None
    for event in run:
        at = datetime.fromisoformat(event.at)
        if isinstance(event, RunStarted):
            total += (last - begun).total_seconds() if begun and last else 0.0
            begun = at
        last = at
    return total + ((last - begun).total_seconds() if begun and last else 0.0)


def _find_regressed(frozen: Frozen | None, look: IterationFinished | None) -> tuple[str, ...] | None:
    """Return the tests that passed on the base and that the last assessment names as failed."""
    if frozen is None or look is None or not frozen.tested:
        return None
    failed = {(f.check, p.test) for f in look.findings for p in f.problems if p.test and p.severity == "error"}
    passed = {
        (check, test) for check, run in frozen.tested.items() for test, end in run.tests.items() if end == "passed"
    }
    return tuple(sorted(test for _, test in failed & passed))


def _was_tested(frozen: Frozen) -> bool:
    # A script may run tests that nobody knows of.
    has_tests = any(check.role in ("tests", "script") for check in frozen.checks)
    return has_tests or any(each.tests for each in frozen.tested.values())


def _add_change(contest: Contest, one: Contestant, facts: CandidateFacts) -> CandidateFacts:
    # Protected is what the checks needed before the agent began.
    frozen = frozen_of(one.records.frozen)
    rules = protection_of(contest.main.root, contest.config, contest.spec, frozen.checks if frozen else ())
    git = open_own_git(contest.main)
    try:
        diffs = diff_trees(git, facts.base, facts.tip, one.own)
        paths = [diff.path for diff in diffs]
        before, after = (list_entries(git, each, paths) if paths else {} for each in (facts.base, facts.tip))
        edits = read_edits(git, [Changed(path, before.get(path), after.get(path)) for path in paths], rules)
    except AigonError as error:
        return replace(facts, notes=(*facts.notes, f"its change could not be read: {error.hint or error.what}"))
    measured = facts.look is not None and any(finding.role == "proof" for finding in facts.look.findings)
    hidden = sum(each.rule == SUPPRESSIONS for each in facts.concerns) if measured else None
    facts = replace(facts, changed=replace(measure_change(diffs, edits, contest.subject.expected), suppressions=hidden))
    if facts.concerns or isinstance(facts.outcome, Met):
        return facts
    return replace(facts, concerns=apply_decisions(concerns(edits), one.records.decisions()))


class EvaluationRequest(Struct, frozen=True):
    """A feature, whether new tests run on the work of the others, and a judge in place of the configured one."""

    feature: str
    cross_checks: bool = True
    judge: str | None = None


def evaluate_feature(main: Checkout, asked: EvaluationRequest) -> Evaluation:
    """Compare everybody who worked on the feature; `main` is the main checkout. Nothing is written there.

    Raises AigonError: 2 if no candidate has run or the feature is unknown, 7 for records that cannot be read, 130 or
    143 if a person stopped it.
    """
    contest, contestants = _open_contest(main, asked)
    entries = [gather_facts(contest, each) for each in contestants]
    with (
        Stop(patient=False).handling() as stop,
        Bench.open(main, contest.config, contest.records, stop) as bench,
    ):
        entries = [replace(entry, new_tests=_find_new_tests(bench, entry)) for entry in entries]
        # No gate: names and places may differ for good reasons.
        crossed = [(entry.label, entry.tip, entry.new_tests) for entry in entries if entry.new_tests and entry.tip]
        is_crossed = asked.cross_checks and contest.config.evaluation.cross_checks and len(crossed) > 1
        checks = run_cross_checks(bench, crossed) if is_crossed else ()
        tied = find_tied(entries, rank_candidates(entries))
        pairs = list(combinations([entry for entry in entries if entry.label in tied], 2))
        preferences = []
        if pairs:
            from aigon.compare.pairwise import compare_pair

            for one, other in pairs:
                tips = (one.label, one.tip), (other.label, other.tip)
                preferences.append(compare_pair(bench, *tips, contest.spec, one.base))
        if stop.reason:
            raise AigonError("The comparison was stopped; nothing was written", code=stop.exit_code)
    return build_evaluation(contest.subject, entries, checks, preferences, _note_bases(entries))


def _find_new_tests(bench: Bench, entry: CandidateFacts) -> NewTests:
    if not (entry.base and entry.tip):
        return NewTests(why="it has no branch")
    return find_new_tests(bench, entry.label, entry.base, entry.tip)


def _open_contest(main: Checkout, asked: EvaluationRequest) -> tuple[Contest, tuple[Contestant, ...]]:
    config = load_configuration(open_work_tree(main.root))
    if asked.judge is not None:
        judge = config.judge or JudgeConfig()
        judge = judge.update(backend=choose_judge(judge, asked.judge))
        config = config.update(judge=judge)
    location = locate_spec(main.root, main.common_dir, asked.feature)
    feature, spec = location.feature, location.parse()
    contestants = _list_contestants(main, feature)
    wanted = (*config.evaluation.expected_paths, *markdown.read_strings(spec.frontmatter, "paths"))
    title = spec.title or feature.slug
    subject = ComparedFeature(feature.name_for_people, title, wanted)
    by_label = {each.label: each.records for each in contestants}
    return Contest(main, config, feature, spec, subject, by_label), contestants


def _list_contestants(main: Checkout, feature: Feature) -> tuple[Contestant, ...]:
    """Return every candidate with a worktree, or else the solo run. Raises AigonError (exit 2) if none has run."""
    home, name = find_home(main.common_dir), feature.name_for_people
    contestants: list[Contestant] = []
    if home:
        for one in records.find_candidates(home, name):
            own, recorded = list_own_files(feature, one.label), records.candidate_records(home, one)
            contestants.append(Contestant(one.label, one.agent, one.branch, recorded, own))
        solo = Contestant(SOLO, "", feature.name, locate_records(home, name), list_own_files(feature, ""))
        contestants = contestants or [solo]
    if not any(each.records.journals() for each in contestants):
        hint = f"aigon feature-implement {name} --loop --agent ONE --agent OTHER"
        raise usage(f"Feature {name} has not run yet, so there is nothing to compare", where=feature.path, hint=hint)
    return tuple(contestants)


def _note_bases(entries: Sequence[CandidateFacts]) -> tuple[str, ...]:
    # What is compared should begin at the same commit.
    bases = {entry.label: entry.base for entry in entries if entry.base}
    if len(set(bases.values())) < 2:
        return ()
    listed = ", ".join(f"{label} at {base[:10]}" for label, base in bases.items())
    return (f"They began from different commits ({listed}), and each is measured from its own",)
