"""Let an agent write tests for the criteria that nothing decides, and show by running what they are worth."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from aigon.config.loading import load_configuration, open_work_tree
from aigon.errors import usage
from aigon.files.home import ensure_home, find_home
from aigon.files.locks import hold_lock
from aigon.files.resources import find_resource
from aigon.git.person import Checkout
from aigon.job.bookkeeping import Committing, open_own_git
from aigon.job.job import Job
from aigon.job.options import Options, get_limit
from aigon.job.spec_locations import locate_spec
from aigon.job.world import World
from aigon.journal.decisions import Acceptance
from aigon.journal.events import RunFinished
from aigon.journal.records import load_acceptance, locate_records, new_run_id, save_acceptance
from aigon.model.criteria import Spec, SpecSettings
from aigon.model.outcomes import Interrupted, NeedsHuman, Refused, Stopped, Unavailable
from aigon.process.running import keep_note, loop_lock
from aigon.proof.frozen import find_baseline
from aigon.prove.acceptance import (
    BASE,
    SETTINGS,
    Ground,
    copy_project,
    list_settings,
    locate_ground,
    prepare_seat,
    sum_cost,
)
from aigon.prove.deciders import LIST, list_open_criteria, locate_folder
from aigon.prove.weighing import Weighing
from aigon.prove.witness import Witness, load_witness, read_witness, save_witness
from aigon.run.actors import choose_agent, require_agent
from aigon.run.feature_stages import prioritise_feature, require_feature
from aigon.run.implement import Observers, Task, run_in_seat
from aigon.run.opening import Confirm
from aigon.spec.annotation import Annotation
from aigon.spec.document import annotate
from aigon.spec.features import ROOT, Feature
from aigon.spec.files import refuse_closed

LABEL, WITNESS = "prove", "witness"
"""The name of these runs, unlike those that build the feature."""


class Proving(Struct, frozen=True):
    """The end of the writing of tests; `acceptance` is what a person decides on, None if no test is worth anything."""

    feature: Feature
    ended: RunFinished
    acceptance: Acceptance | None


class _Errand(Struct, frozen=True):
    """The subject of one call. `spec` is as the person has it, `base` the commit that the work will begin at."""

    main: Checkout
    options: Options
    feature: Feature
    spec: Spec
    base: str
    home: Path
    observers: Observers
    confirm: Confirm
    announce: bool
    say: Callable[[str], None]
    request: Path | None
    begun: float

    @property
    def name(self) -> str:
        return self.feature.name_for_people

    @property
    def ground(self) -> Ground:
        return locate_ground(self.home, self.name)

    def run(self, copy: Checkout, label: str, task: Task, *, resumes: bool, spent: float, most: int) -> RunFinished:
        """Run a loop in a copy of the project, `most` iterations at most. `spent` is what other runs cost."""
        config = load_configuration(open_work_tree(self.main.root))
        cost, seconds = (get_limit(config, self.options, name) for name in ("max_cost", "max_time"))
        options = replace(
            self.options,
            feature=self.name,
            loop=True,
            resume=resumes,
            skip_validation=True,
            judge="none",
            worktree=False,
            max_iterations=most,
            max_cost=None if cost is None else max(0.01, cost - spent),
            max_time=None if seconds is None else max(1.0, seconds - (time.monotonic() - self.begun)),
        )
        seat = prepare_seat(self.main, copy, self.feature, label)
        task = replace(task, request=self.request, again=f"aigon feature-prove {self.name} --resume")
        return run_in_seat(seat, options, self.observers, self.confirm, announce=self.announce, task=task)


def prove_feature(
    main: Checkout,
    options: Options,
    how: Committing,
    observers: Observers,
    confirm: Confirm,
    *,
    has_witness: bool = False,
    announce: bool = True,
) -> Proving:
    """Have an agent write tests for the open criteria of a feature; nothing of the person's is changed.

    A feature of the inbox gets its ID first. Raises AigonError before or instead of a run: exit 2 if every criterion
    has something that decides it, or work on the feature has begun.
    """
    feature, spec = _find_feature(main, options, how)
    name = feature.name_for_people
    home, base = ensure_home(main.common_dir), _find_base(main, feature)
    locked, run = hold_lock(loop_lock(home, name, ""), f"Feature {name}"), new_run_id()
    with locked, keep_note(home, run, run, name, LABEL) as note:
        how.say("Tests are written in a copy of the project: commits named below are there, not in your repository")
        now = time.monotonic()
        errand = _Errand(
            main, options, feature, spec, base, home, observers, confirm, announce, how.say, note.request, now
        )
        return _prove(errand, has_witness=has_witness)


def needs_tests(main: Checkout, wanted: str) -> bool:
    """Return whether nothing decides some criteria of a feature, no test was accepted, and no work has begun."""
    require_feature(main, wanted, write=True)
    place = locate_spec(main.root, main.common_dir, wanted)
    name = place.feature.name_for_people
    acceptance = load_acceptance(find_home(main.common_dir), name)
    begun = main.commit_of(f"refs/heads/{place.feature.name}") is not None
    return bool(list_open_criteria(place.parse())) and not begun and not (acceptance and acceptance.accepted_by)


def find_waiting_tests(main: Checkout, wanted: str) -> Acceptance | None:
    """Return tests that were written for the criteria of a feature as they are, and that are not accepted yet."""
    place = locate_spec(main.root, main.common_dir, wanted)
    waiting = load_acceptance(find_home(main.common_dir), place.feature.name_for_people)
    if waiting is None or waiting.accepted_by:
        return None
    written = {(test.number, test.text) for test in waiting.tests}
    return waiting if {(c.number, c.text) for c in list_open_criteria(place.parse())} == written else None


def _find_feature(main: Checkout, options: Options, how: Committing) -> tuple[Feature, Spec]:
    """Return the feature, taken out of the inbox, and its spec.

    Raises AigonError (exit 2 or 6) first if there is nothing to write tests for, or no agent that can.
    """
    wanted = options.feature
    require_feature(main, wanted, write=True)
    place = locate_spec(main.root, main.common_dir, wanted)
    feature = place.feature
    refuse_closed(feature)
    spec = place.parse()
    if not list_open_criteria(spec):
        name = feature.name_for_people
        what = f"Every criterion of feature {name} says what decides it already"
        raise usage(what, where=feature.path, hint=f"aigon spec-show {name}")
    if not feature.id and feature.stage == "inbox" and feature.path.startswith(f"{ROOT}/"):
        env, read = dict(os.environ), open_work_tree(main.root)
        author, _ = choose_agent(main.root, load_configuration(read), options, env, read)
        require_agent(main.root, author, options, env)
        feature = prioritise_feature(main, wanted, how)
    return feature, spec


def _find_base(main: Checkout, feature: Feature) -> str:
    """Return the commit that the work will begin at. Raises AigonError (exit 2) if it has begun."""
    tip = main.commit_of(f"refs/heads/{feature.name}")
    if tip is None:
        return str(main.head)
    origin = locate_records(ensure_home(main.common_dir), feature.name_for_people).origin()
    if origin and main.is_ancestor(origin.commit, tip):
        has_begun = bool(main.git("diff", "--name-only", origin.commit, tip, "--", ":/", f":(top,exclude){ROOT}"))
    else:
        has_begun = find_baseline(open_own_git(main), tip, "") != tip
    if has_begun:
        raise usage(
            f"Work on feature {feature.name_for_people} has begun, and tests are written before it",
            where=f"branch {feature.name}",
            hint=f"Commands can still be proposed: aigon spec-compile {feature.name_for_people}",
        )
    return tip


def _prove(errand: _Errand, *, has_witness: bool) -> Proving:
    """Let the agent write tests, then one that turns them green, until those that are left hold or a limit is met."""
    config = load_configuration(open_work_tree(errand.main.root))
    most = int(get_limit(config, errand.options, "max_iterations"))
    weighing = Weighing(locate_folder(errand.name))
    resumes = _open_ground(errand)
    weighing.witness = load_witness(errand.ground.place) if has_witness else None
    with Checkout.open(errand.ground.tests) as copy:
        while True:
            spent = weighing.witness.cost or 0.0 if weighing.witness else 0.0
            task = Task("tests", _adapt_job(errand, weighing), weighing.assess)
            ended = errand.run(copy, LABEL, task, resumes=resumes, spent=spent, most=most)
            most, resumes = most - ended.iterations, True
            if not (has_witness and weighing.is_sound and isinstance(ended.outcome, NeedsHuman) and most > 0):
                break
            if weighing.is_final:
                break
            built, weighing.witness = _make_witness(errand, copy, weighing)
            if isinstance(built.outcome, Interrupted | Unavailable | Refused):
                ended = built
                break
    acceptance = None
    if weighing.is_sound and isinstance(ended.outcome, NeedsHuman | Stopped):
        acceptance = _propose(errand, weighing)
    return Proving(errand.feature, ended, acceptance)


def _open_ground(errand: _Errand) -> bool:
    """Make the copy of the project in which tests are written. Return whether an earlier run there goes on.

    Raises AigonError (exit 2) without one, or if the spec has changed.
    """
    ground, path = errand.ground, errand.feature.path
    if errand.options.resume:
        home = find_home(ground.tests / ".git")
        if home is None or not locate_records(home, errand.name).has_begun():
            what = f"No run that writes tests for feature {errand.name} was broken off"
            raise usage(what, where="--resume", hint=f"aigon feature-prove {errand.name}")
        with Checkout.open(ground.tests) as copy:
            if copy.git("rev-parse", f"{BASE}:{path}") != errand.main.git("hash-object", "--no-filters", path):
                what = f"The spec of feature {errand.name} is another one than the tests were begun for"
                raise usage(what, where=path, hint=f"Start again: aigon feature-prove {errand.name}")
        return True
    ground.clear()
    files = {**list_settings(errand.main.root), path: errand.spec.raw}
    copy_project(errand.main, errand.base, ground.tests, files)
    return False


def _adapt_job(errand: _Errand, weighing: Weighing) -> Callable[[Job], Job]:
    """Return what makes of the job to build a feature the one to write tests for its open criteria."""
    open_ = {criterion.number for criterion in list_open_criteria(errand.spec)}
    template = find_resource("templates", "prompts", "prove.md").read_text(encoding="utf-8")

    def adapt(job: Job) -> Job:
        weighing.agent = job.agent.name
        criteria = tuple(replace(c, kind="human") for c in job.spec.criteria if c.number in open_)
        spec = replace(job.spec, criteria=criteria, settings=SpecSettings())  # stages are those of the work
        demand = replace(job.demand, criteria=criteria)
        return replace(job, spec=spec, demand=demand, checks=(), judge=None, template=template, scope=weighing.folder)

    return adapt


def _make_witness(errand: _Errand, copy: Checkout, weighing: Weighing) -> tuple[RunFinished, Witness]:
    """Let the same agent build what turns the tests green, in a copy of its own."""
    ground = errand.ground
    errand.say("the author builds a throwaway version of the feature, to see that the tests can pass")
    decided = {test.number: Annotation(test.kind, test.command) for test in weighing.tests if test.is_worth}
    files = {**weighing.files, errand.feature.path: annotate(errand.spec, decided)}
    copy_project(copy, str(copy.commit_of(BASE)), ground.witness, files)
    most = int(get_limit(load_configuration(open_work_tree(errand.main.root)), errand.options, "max_iterations"))
    with Checkout.open(ground.witness) as built:
        earlier = weighing.witness.cost if weighing.witness else 0.0
        spent = (earlier or 0.0) + sum_cost(ground.tests, errand.name).usd
        ended = errand.run(built, WITNESS, Task("trial"), resumes=False, spent=spent, most=most)
        paid = sum_cost(ground.witness, errand.name)
        cost = None if earlier is None or paid.unknown else earlier + paid.usd
        witness = read_witness(built, (weighing.folder, ROOT, SETTINGS), weighing.stamp, cost)
    save_witness(ground.place, witness)
    return ended, witness


def _propose(errand: _Errand, weighing: Weighing) -> Acceptance:
    """Record the tests for a person to decide on, and throw the implementation away."""
    ground, own = errand.ground, f"{weighing.folder}/{LIST}"
    paid, trial = sum_cost(ground.tests, errand.name), weighing.witness.cost if weighing.witness else 0.0
    cost = None if paid.unknown or trial is None else paid.usd + trial
    files = {path: data for path, data in weighing.files.items() if path != own}
    acceptance = Acceptance(errand.name, weighing.agent, errand.base, World.now(), weighing.tests, files, cost=cost)
    save_acceptance(errand.home, acceptance)
    ground.clear(witness_only=True)
    return acceptance
