"""`aigon feature-eval`: compare what the candidates of a feature made, by what aigon saw of each itself.

The spec stays in its stage: the candidates' branches carry it in progress, and a rename on both sides would be a
conflict in the very merge that this is for.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from aigon.compare.change import own_files
from aigon.compare.entry import Contest, Contestant, entry_of
from aigon.compare.evidence import bench_of, crossed, preferences, with_new_tests
from aigon.compare.rules.entry import Entry
from aigon.compare.rules.evaluation import Evaluation, Subject, evaluated
from aigon.compare.rules.order import order
from aigon.compare.rules.proposal import tied
from aigon.config.loading import load_configuration, open_work_tree
from aigon.config.models import Config, JudgeConfig
from aigon.errors import usage
from aigon.files.home import find_home
from aigon.git.person import Checkout
from aigon.git.repository import find_repository
from aigon.job.spec_locations import locate_spec
from aigon.journal import records
from aigon.journal.records import Records, locate_records
from aigon.judge.settings import choose_judge
from aigon.model.candidates import Candidate
from aigon.model.criteria import Spec
from aigon.spec import markdown
from aigon.spec.features import Feature

SOLO = "solo"
"""What the one is called that works without a worktree."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person asked for: a feature, whether new tests run across, and a judge in place of the configured one."""

    feature: str
    cross_checks: bool = True
    judge: str | None = None


def evaluate(main: Checkout, asked: Asked) -> Evaluation:
    """The comparison of everybody who worked on the feature; `main` is the main checkout. Nothing is written there.

    Raises AigonError: 2 where nobody has run or the feature is unknown, 7 for records that cannot be read.
    """
    contest, contestants = _contest(main, asked)
    entries = tuple(entry_of(contest, each) for each in contestants)
    with bench_of(contest) as bench:
        entries = tuple(with_new_tests(bench, entry) for entry in entries)
        wanted = asked.cross_checks and contest.config.evaluation.cross_checks
        checks = crossed(bench, entries) if wanted else ()
        alike = tied(entries, order(entries))
        preferred = preferences(bench, contest, [entry for entry in entries if entry.label in alike])
    return evaluated(contest.subject, entries, checks, preferred, _bases(entries))


@contextmanager
def main_of(checkout: Checkout) -> Iterator[Checkout]:
    """The main checkout of the repository that `checkout` is of."""
    root = find_repository(checkout.root).root
    if root == checkout.root:
        yield checkout
        return
    with Checkout.open(root) as main:
        yield main


def _contest(main: Checkout, asked: Asked) -> tuple[Contest, tuple[Contestant, ...]]:
    config = _with_judge(load_configuration(open_work_tree(main.root)), asked.judge)
    feature, spec = _feature(main, asked.feature)
    contestants = _contestants(main, feature)
    wanted = (*config.evaluation.expected_paths, *markdown.read_strings(spec.frontmatter, "paths"))
    subject = Subject(feature.name_for_people, spec.title.removeprefix("Feature:").strip() or feature.slug, wanted)
    records = {each.label: each.records for each in contestants}
    return Contest(main, config, feature, spec, subject, records), contestants


def _feature(main: Checkout, wanted: str) -> tuple[Feature, Spec]:
    """Return the feature and its spec, wherever it is worked on."""
    place = locate_spec(main.root, main.common_dir, wanted)
    return place.feature, place.parse()


def _with_judge(config: Config, name: str | None) -> Config:
    """With the judge that was asked for. Raises AigonError (exit 2) for one that does not exist."""
    if name is None:
        return config
    judge = (config.judge or JudgeConfig()).model_copy(
        update={"backend": choose_judge(config.judge or JudgeConfig(), name)}
    )
    return config.model_copy(update={"judge": judge})


def _contestants(main: Checkout, feature: Feature) -> tuple[Contestant, ...]:
    """Everybody with a worktree, else the one who works without. Raises AigonError (exit 2) where nobody has run."""
    home, name = find_home(main.common_dir), feature.name_for_people
    listed = records.find_candidates(home, name)
    found = [_candidate(feature, each, records.candidate_records(home, each)) for each in listed if home]
    if not found and home:
        found = [Contestant(SOLO, "", feature.name, locate_records(home, name), own_files(feature, ""))]
    if not any(_has_run(each.records) for each in found):
        hint = f"aigon feature-implement {name} --loop --agent ONE --agent OTHER"
        raise usage(f"Nobody has run feature {name} yet, so there is nothing to compare", where=feature.path, hint=hint)
    return tuple(found)


def _candidate(feature: Feature, one: Candidate, records: Records) -> Contestant:
    return Contestant(one.label, one.agent, one.branch, records, own_files(feature, one.label))


def _has_run(records: Records) -> bool:
    return bool(records.journals())


def _bases(entries: tuple[Entry, ...]) -> tuple[str, ...]:
    """What is compared has to begin at the same place."""
    bases = {entry.label: entry.base for entry in entries if entry.base}
    if len(set(bases.values())) < 2:
        return ()
    listed = ", ".join(f"{label} at {base[:10]}" for label, base in bases.items())
    return (f"They began from different commits ({listed}), and each is measured from its own",)
