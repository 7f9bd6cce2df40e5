"""Enter an arena: worktrees for all, then a loop for each, until all have ended."""

from collections.abc import Sequence
from pathlib import Path

from aigon.agents import kinds
from aigon.core.candidate import Candidate
from aigon.core.errors import AigonError, usage
from aigon.ports.git import Checkout
from aigon.ports.home import repository_home
from aigon.ports.store import lock
from aigon.run import branch, candidates
from aigon.run.arena import ArenaObserver, run_arena
from aigon.run.configured import person_folder
from aigon.run.options import Options
from aigon.run.records import Records
from aigon.run.seat import main_checkout
from aigon.run.setting_up import Say, set_up
from aigon.run.sharing_seat import begin


def enter(
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
    with main_checkout(checkout) as (main, _):
        if options.model:
            raise usage("Several agents have no model in common", where="--model", hint="--agent claude:opus names one")
        made = set_up(main, options.feature, agents, say)
        home, feature = repository_home(main.common_dir), made[0].feature
        folder = home / "arena" / feature
        with lock(home / "locks" / f"arena-{feature}.lock", f"The arena of feature {feature}"):
            resumed = _to_resume(home, made, options)
            begin(folder, resumed)
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


def _to_resume(home: Path, made: Sequence[Candidate], options: Options) -> frozenset[str]:
    """Those that have something to go on with."""
    if not options.resume:
        return frozenset()
    return frozenset(each.label for each in made if _begun(candidates.records(home, each)))


def _begun(records: Records) -> bool:
    """Whether a run was written down. A damaged record is the loop's to speak of; one without a word was killed."""
    try:
        return bool(records.events())
    except AigonError:
        return True


def _settle_what_is_shared(main: Checkout) -> None:
    """Write now what a loop would write into the git directory that all share: another's guard would take it back."""
    branch.ignore_runtime_files(main)
    every = kinds([person_folder(), main.root / ".aigon" / "agents"]).values()
    left = sorted({line for kind in every for line in kind.leaves})
    branch.exclude(main, left, "what coding agents leave for themselves")
