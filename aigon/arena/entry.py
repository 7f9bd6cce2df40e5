"""Enter an arena: worktrees for all, then a loop for each, until all have ended."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from aigon.agents.adapters import load_types
from aigon.agents.configured import user_types_folder
from aigon.arena.arena import ArenaObserver, run_arena
from aigon.errors import AigonError, usage
from aigon.files.home import ensure_home
from aigon.files.locks import hold_lock
from aigon.git.person import Checkout
from aigon.job import branch
from aigon.job.ledger import prepare_arena_folder
from aigon.job.options import Options
from aigon.job.seat import open_main_checkout
from aigon.journal import records
from aigon.journal.records import Records
from aigon.journal.state import State, replay
from aigon.model.candidates import Candidate
from aigon.run.choices import SHARED, take_over
from aigon.run.feature_stages import require_feature
from aigon.worktrees.setup import Say, set_up_feature


def enter_arena(
    checkout: Checkout,
    options: Options,
    agents: Sequence[str],
    *,
    parallel: int | None,
    first_proven: bool,
    observer: ArenaObserver,
    say: Say,
) -> int:
    """Let the agents do the feature side by side; the exit code. Raises AigonError before any of them starts.

    `observer` is told what happens, and `say` what comes before it.
    """
    with open_main_checkout(checkout) as (main, _):
        if options.model:
            raise usage("Several agents have no model in common", where="--model", hint="--agent claude:opus names one")
        require_feature(main, options.feature, write=True)
        made = set_up_feature(main, options.feature, agents, say)
        home, feature = ensure_home(main.common_dir), made[0].feature
        folder = home / "arena" / feature
        with hold_lock(home / "locks" / f"arena-{feature}.lock", f"The arena of feature {feature}"):
            begun = _to_resume(home, made, options)
            prepare_arena_folder(folder, resumed := frozenset(begun))
            options = _with_limits_of(options, begun)
            _settle_what_is_shared(main)
            ended = run_arena(
                main,
                options,
                made,
                resume=resumed,
                parallel=parallel,
                first_proven=first_proven,
                observer=observer,
                folder=folder,
            )
    return ended.exit_code


def _to_resume(home: Path, made: Sequence[Candidate], options: Options) -> dict[str, State]:
    """Return the labels of those that have something to continue, with the state of each."""
    if not options.resume:
        return {}
    states = {each.label: _begun(records.candidate_records(home, each)) for each in made}
    return {label: state for label, state in states.items() if state is not None}


def _begun(records: Records) -> State | None:
    """Return the state of a run, None where none had started. A damaged record is for the loop to report."""
    try:
        state = replay(records.each())
    except AigonError:
        return State()
    return state if state.started else None


def _with_limits_of(options: Options, begun: Mapping[str, State]) -> Options:
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
