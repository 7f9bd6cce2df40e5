"""Enter an arena: worktrees for all, then a loop for each, until all have ended."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from aigon.agents.adapters import load_types
from aigon.agents.configured import user_types_folder
from aigon.arena.arena import ArenaObserver, run_arena
from aigon.arena.entrant import list_entrants
from aigon.arena.lane import ArenaEnd
from aigon.config.loading import load_configuration, open_work_tree
from aigon.errors import AigonError, usage
from aigon.files.home import ensure_home
from aigon.files.locks import hold_lock
from aigon.git.person import Checkout
from aigon.hooks.notifications import MAX_TEXT_CHARS, SCHEMA_VERSION, list_services, tell_targets
from aigon.job import branch
from aigon.job.job import list_known_candidates, open_main_checkout
from aigon.job.ledger import prepare_arena_folder
from aigon.job.options import Options
from aigon.job.spec_locations import locate_spec
from aigon.job.world import World
from aigon.journal import records
from aigon.journal.records import Records
from aigon.journal.spending import Spend, describe_spend
from aigon.journal.state import State, replay
from aigon.model.agents import Candidate
from aigon.model.outcomes import describe_status
from aigon.run.choices import SHARED, take_over
from aigon.run.feature_stages import require_feature
from aigon.secrets.redaction import make_redactor
from aigon.text.quoting import fold
from aigon.worktrees.setup import Say, set_up_feature


def enter_arena(
    checkout: Checkout, options: Options, agents: Sequence[str], *, observer: ArenaObserver, say: Say
) -> int:
    """Let the agents do the feature side by side; the exit code. Raises AigonError before any of them starts.

    `observer` is told what happens, and `say` what comes before it.
    """
    with open_main_checkout(checkout) as (main, _):
        if options.model:
            raise usage("Several agents have no model in common", where="--model", hint="--agent claude:opus names one")
        require_feature(main, options.feature, write=True)
        if not list_known_candidates(main, options.feature):
            locate_spec(main.root, main.common_dir, options.feature).parse()
        made = set_up_feature(main, options.feature, agents, say)
        home, feature = ensure_home(main.common_dir), made[0].feature
        folder = home / "arena" / feature
        with hold_lock(home / "locks" / f"arena-{feature}.lock", f"The arena of feature {feature}"):
            begun = _find_resumable(home, made, options)
            prepare_arena_folder(folder, resumed := frozenset(begun))
            options = _continue_limits(options, begun)
            _settle_what_is_shared(main)
            entrants = list_entrants(home, made, resumed)
            ended = run_arena(main, options, entrants, observer=observer, folder=folder)
    _notify(main, made[0], ended)
    return ended.exit_code


def _notify(main: Checkout, first: Candidate, ended: ArenaEnd) -> None:
    """Tell services and webhooks once how all of them ended."""
    config = load_configuration(open_work_tree(main.root))
    targets = [each for each in list_services(config.notify, os.environ) if not each.on or ended.outcome in each.on]
    if targets:
        body = make_redactor(os.environ)(json.dumps(build_arena_document(first.feature, first.slug, ended)).encode())
        tell_targets(targets, body, lambda: None)


def build_arena_document(feature: str, slug: str, ended: ArenaEnd) -> dict[str, object]:
    """Return the end of an arena in the form of the end of a run: that of the agent whose exit code it has.

    What was spent is the sum, and `candidates` has the end of each.
    """
    deciding = next((one for one in ended.candidates if one.exit_code == ended.exit_code), ended.candidates[0])
    spend = Spend()
    for one in ended.candidates:
        spend = spend.and_(one.spend)
    ends = ", ".join(f"{one.label} {describe_status(one.status)}" for one in ended.candidates)
    tally = f"exit code {ended.exit_code}, {describe_spend(spend)}"
    return {
        "schema_version": SCHEMA_VERSION,
        "text": fold(f"aigon, arena of feature {feature} {slug}: {ends} ({tally})", MAX_TEXT_CHARS),
        "feature": feature,
        "slug": slug,
        "run": "",
        "agent": deciding.agent,
        "branch": deciding.branch,
        "status": ended.outcome,
        "success": ended.outcome == "met",
        "exit_code": ended.exit_code,
        "summary": ends,
        "criteria": {"met": deciding.criteria_met, "total": deciding.criteria_total},
        "iterations": deciding.iterations,
        "remaining_issues": [f"{one.label}: {one.summary}" for one in ended.candidates if one.status != "met"],
        "spend": {"usd": round(spend.usd, 6), "unknown": spend.unknown},
        "commit": deciding.commit,
        "at": World.now(),
        "candidates": [{"label": one.label, "status": one.status, "exit_code": one.exit_code, "branch": one.branch}
                       for one in ended.candidates],
    }  # fmt: skip


def _find_resumable(home: Path, made: Sequence[Candidate], options: Options) -> dict[str, State]:
    """Return the labels of those that have something to continue, with the state of each."""
    if not options.resume:
        return {}
    states = {each.label: _read_begun_state(records.candidate_records(home, each)) for each in made}
    return {label: state for label, state in states.items() if state is not None}


def _read_begun_state(records: Records) -> State | None:
    """Return the state of a run, None where none had started. A damaged record is for the loop to report."""
    try:
        state = replay(records.each())
    except AigonError:
        return State()
    return state if state.started else None


def _continue_limits(options: Options, begun: Mapping[str, State]) -> Options:
    """Complete `options` by the limits for all agents together that the runs were started with."""
    recorded = [state.started.choices for state in begun.values() if state.started and state.started.choices]
    if not recorded:
        return options
    return take_over(options, {name: getattr(recorded[0], name) for name in SHARED})


def _settle_what_is_shared(main: Checkout) -> None:
    """Write now what a loop would write into the git directory that all share: another's guard would take it back."""
    branch.ignore_runtime_files(main)
    every = load_types([user_types_folder(), main.root / ".aigon" / "agents"]).values()
    left = sorted({line for kind in every for line in kind.leaves})
    branch.exclude_from_git(main, left, "what coding agents leave for themselves")
