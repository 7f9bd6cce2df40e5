"""`aigon feature-eval`: compare what the candidates of a feature made, by what aigon saw of each itself.

The spec stays in its stage: the candidates' branches carry it in progress, and a rename on both sides would be a
conflict in the very merge that this is for.
"""

from collections.abc import Sequence
from itertools import combinations

from msgspec import Struct
from msgspec.structs import replace

from aigon.compare.bench import Bench
from aigon.compare.entry import Contest, Contestant, gather_facts, list_own_files
from aigon.compare.new_tests import find_new_tests, run_cross_checks
from aigon.compare.rules.evaluation import ComparedFeature, Evaluation, build_evaluation, find_tied
from aigon.compare.rules.facts import CandidateFacts, NewTests
from aigon.compare.rules.order import rank_candidates
from aigon.config.loading import load_configuration, open_work_tree
from aigon.config.models import JudgeConfig
from aigon.errors import AigonError, usage
from aigon.files.home import find_home
from aigon.git.person import Checkout
from aigon.job.spec_locations import locate_spec
from aigon.journal import records
from aigon.journal.records import locate_records
from aigon.judge.settings import choose_judge
from aigon.process.stop import Stop
from aigon.spec import markdown
from aigon.spec.features import Feature

SOLO = "solo"
"""The label of work without a worktree."""


class EvaluationRequest(Struct, frozen=True):
    """A feature, whether new tests run on the work of the others, and a judge in place of the configured one."""

    feature: str
    cross_checks: bool = True
    judge: str | None = None


def evaluate_feature(main: Checkout, asked: EvaluationRequest) -> Evaluation:
    """Compare everybody who worked on the feature; `main` is the main checkout. Nothing is written there.

    Raises AigonError: 2 if nobody has run or the feature is unknown, 7 for records that cannot be read, 130 or 143 if
    a person stopped it.
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
    """Return everybody with a worktree, or else the solo run. Raises AigonError (exit 2) if nobody has run."""
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
