"""Set a feature up for agents in worktrees of their own: one base for all of them, a branch and a worktree each."""

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, cast

from msgspec.structs import replace

from aigon.agents.configured import build_loop_command, resolve_agents
from aigon.checks.project import find_editable_installs
from aigon.config.loading import build_tool_path, load_configuration, open_work_tree
from aigon.config.models import Config
from aigon.errors import AigonError, environment, usage
from aigon.files.home import ensure_home
from aigon.git.person import Checkout
from aigon.job import bookkeeping, branch
from aigon.job.bookkeeping import Committing
from aigon.job.job import checkout_lock, hold_set_up_lock, list_known_candidates
from aigon.job.spec_locations import find_feature_to_begin
from aigon.journal.records import Origin, candidate_records, find_candidates, list_candidates, locate_records
from aigon.model.agents import Candidate, RequestedAgent, find_candidate, format_branch_name
from aigon.spec import files
from aigon.spec.features import ROOT, Feature, Stage
from aigon.spec.files import moved_to_stage
from aigon.worktrees.worktree import choose_free_slot, provide_worktree

Say = Callable[[str], None]
Mode = Literal["worktree", "arena"]


def set_up_feature(
    main: Checkout,
    wanted: str,
    names: Sequence[str],
    say: Say,
    how: Committing | None = None,
    *,
    elsewhere: bool = False,
) -> tuple[Candidate, ...]:
    """Return a worktree for each of the agents, made or used again, in the order of `names`.

    `how` is for the commit that all of them begin at. Those that work `elsewhere` are only recorded here. Raises
    AigonError (exit 2 or 7) before anything is written if the feature or the repository does not allow it.
    """
    home, provide = ensure_home(main.common_dir), _record if elsewhere else _provide
    with hold_set_up_lock(home, say):
        config = load_configuration(open_work_tree(main.root))
        agents, known = resolve_agents(main.root, names), list_known_candidates(main, wanted)
        wanted = known[0].feature if known else wanted
        mode: Mode = "arena" if len(agents) > 1 else "worktree"
        plan = [(agent, find_candidate(known, agent.name) or find_candidate(known, agent.label)) for agent in agents]
        _refuse_closed(main, wanted)
        if all(old for _, old in plan):
            return tuple(provide(main, home, _reuse(old, mode), config, say) for _, old in plan if old)
        feature = _find_feature(main, wanted)
        made: list[Candidate] = []
        with checkout_lock(home, main.root):
            # All candidates of a feature begin at the same commit, so that they can be compared.
            origins = (candidate_records(home, candidate).origin() for candidate in known)
            origin = next(filter(None, origins), None) or _begin(main, feature, how or Committing(say))
            for agent, old in plan:
                candidate = _reuse(old, mode) if old else create_candidate(agent, feature, mode, home, made)
                if not old:
                    _require_free(main, candidate, origin)
                    locate_records(home, candidate.feature, candidate.label).set_origin(origin)
                made.append(provide(main, home, candidate, config, say))
        return tuple(made)


def require_startable(main: Checkout, wanted: str) -> None:
    """Raise AigonError (exit 2 or 7) if the feature cannot be worked on in worktrees."""
    known = list_known_candidates(main, wanted)
    _refuse_closed(main, known[0].feature if known else wanted)
    if not known:
        _find_feature(main, wanted)


def put_back(main: Checkout, features: Sequence[Feature], say: Say) -> None:
    """Undo the set-up of features on which no agent began to work: `features` are as they were before."""
    home = ensure_home(main.common_dir)
    with hold_set_up_lock(home, say), checkout_lock(home, main.root):
        for before in features:
            feature = files.locate_feature(main.root, before.id or before.slug)
            for each in find_candidates(home, feature.id):
                shutil.rmtree(candidate_records(home, each).folder)
            with moved_to_stage(main.root, feature, cast("Stage", before.stage)) as (_, paths):
                message = f"docs(feature-{feature.name_for_people}): put back {feature.slug}"
                bookkeeping.commit_as_asked(main, paths, message, Committing(say)) if paths else None


def _refuse_closed(main: Checkout, wanted: str) -> None:
    try:
        feature = files.locate_feature(main.root, wanted)
    except AigonError:  # on another branch its spec may not be there
        return
    files.refuse_closed(feature)


def _reuse(candidate: Candidate, mode: Mode) -> Candidate:
    """Return a candidate that is one of several from now on if it is in an arena; it stays one of them."""
    return replace(candidate, mode="arena") if mode == "arena" else candidate


def create_candidate(
    agent: RequestedAgent, feature: Feature, mode: Mode, home: Path, made: Sequence[Candidate]
) -> Candidate:
    every = {each.branch: each for each in (*list_candidates(home), *made)}
    taken = {each.label for each in every.values() if each.feature == feature.id}
    label, number = agent.label, 2
    while label in taken:
        label, number = f"{agent.label}-{number}", number + 1
    name = format_branch_name(feature.id, label, feature.slug)
    slot = choose_free_slot(tuple(every.values()))
    return Candidate(feature.id, feature.slug, label, agent.name, mode, slot, name, "")


def _record(_main: Checkout, home: Path, candidate: Candidate, _config: Config, _say: Say) -> Candidate:
    candidate_records(home, candidate).set_candidate(candidate)
    return candidate


def _provide(main: Checkout, home: Path, candidate: Candidate, config: Config, say: Say) -> Candidate:
    """Return the candidate with its worktree ready. It is recorded before as well: what was begun can be cleaned up."""
    records = candidate_records(home, candidate)
    if records.candidate() is None:
        records.set_candidate(candidate)
    origin = records.origin()
    assert origin is not None, "a candidate's base is written down before its worktree is made"
    ready = provide_worktree(main, candidate, config, origin.commit, say)
    records.set_candidate(ready)
    if ready.ready != candidate.ready:
        with Checkout.open(Path(ready.path)) as checkout:
            if changed := checkout.list_changed():
                listed = ", ".join(changed[:5])
                say(f"no run of {ready.label} begins with what its worktree has and git does not ignore: {listed}")
    _require_own_packages(main.root, ready)
    return ready


def _find_feature(main: Checkout, wanted: str) -> Feature:
    feature = find_feature_to_begin(main.root, main.common_dir, wanted)
    if not feature.path.startswith(f"{ROOT}/"):
        hint = f"Move it there: aigon feature-create, or git mv {feature.path} {ROOT}/01-inbox/"
        raise usage(f"Worktrees are for features whose spec is under {ROOT}/", where=feature.path, hint=hint)
    if not feature.id:
        here = build_loop_command(main.root, feature.slug, option="--loop --no-worktree")
        what = f"'{feature.slug}' is in progress without an ID, and a worktree needs one"
        raise usage(what, where=feature.path, hint=f"Work on it in this checkout: {here}")
    return feature


def _begin(main: Checkout, feature: Feature, how: Committing) -> Origin:
    current = branch.require_sound(main)
    target = _find_target(main, feature) if current == feature.name else current
    branch.require_configuration(main)
    own, others = branch.split_changes(main, [feature.path])
    if others:
        how.say(f"Uncommitted changes stay here, and the worktrees do not have them: {branch.preview_paths(others)}")
    branch.ignore_runtime_files(main)
    with moved_to_stage(main.root, feature, "in-progress") as (moved, paths):
        return Origin(target, bookkeeping.commit_taken_up(main, moved, [*own, *paths], how))


def _find_target(main: Checkout, feature: Feature) -> str:
    """Return the branch to merge into, for a feature that is set up in this checkout and has not been run there.

    Raises AigonError (exit 7) if it has been: what an agent did must not become a part of the base.
    """
    records = locate_records(ensure_home(main.common_dir), feature.name_for_people)
    origin = records.origin()
    if origin is None or not origin.branch or records.journals():
        name = feature.name_for_people
        raise environment(
            f"Feature {name} has been worked on in this checkout, so no worktree can begin where it did",
            where=f"{main.root} (on {feature.name})",
            hint=f"Continue here: {build_loop_command(main.root, name, option='--loop --no-worktree')}",
        )
    return origin.branch


def _require_free(main: Checkout, candidate: Candidate, origin: Origin) -> None:
    tip = main.commit_of(f"refs/heads/{candidate.branch}")
    if tip not in (None, origin.commit):
        raise environment(
            f"There is a branch {candidate.branch} already, which aigon did not create",
            where=str(tip)[:12],
            hint=f"git branch -m {candidate.branch} ANOTHER-NAME",
        )


def _require_own_packages(main: Path, candidate: Candidate) -> None:
    """Raise AigonError (exit 7) if the worktree's tests would import the main checkout's files."""
    path = build_tool_path(Path(candidate.path))
    if found := find_editable_installs(main, {**os.environ, "PATH": path}):
        raise environment(
            f"{', '.join(found)} is installed editable from {main}: tests in a worktree would test that checkout",
            where=candidate.path,
            hint='Give worktrees an environment of their own, such as "worktree": {"setup": "python3 -m venv .venv && '
            '.venv/bin/pip install -e ."} in .aigon/config.json',
        )
