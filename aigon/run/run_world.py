"""The world of a run: folders, environments, the watch over git, the repository for its agents, what an arena shares.

Also, what is left of the branch and of that repository when a run is killed.
"""

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from msgspec.structs import replace

from aigon.config.grants import Grants
from aigon.config.models import Config
from aigon.errors import AigonError, environment
from aigon.files.home import state_home
from aigon.files.system_errors import find_volumes
from aigon.git import secret_files
from aigon.git.branch_ref import remove_empty_objects
from aigon.git.person import Checkout
from aigon.git.refs import Rivals
from aigon.git.run_repository import RunRepository, find_lent_branch
from aigon.git.workspace import Workspace
from aigon.isolation.check_sandbox import ANYTHING, CheckSandbox, make_check_sandbox
from aigon.isolation.machine_paths import add_git_grants, expand_existing, is_repository_lent, load_sandbox_data
from aigon.isolation.mechanisms import PRIVATE
from aigon.isolation.run_sandbox import HOMES, RunSandbox, make_run_sandbox
from aigon.isolation.sandbox import Sandbox, choose_mechanism
from aigon.job import branch
from aigon.job.job import Job
from aigon.job.ledger import BASELINES, open_ledger
from aigon.job.results import BaselineResults, load_durations
from aigon.job.world import OwnFiles, TurnNotes, World
from aigon.journal.records import CANDIDATE, list_candidates, new_run_id
from aigon.journal.state import State
from aigon.loop.roll_back import RollbackPolicy
from aigon.loop.turn import remove_links
from aigon.model.agents import Candidate, format_branch_name
from aigon.process import capacity
from aigon.process.capacity import CheckSlots
from aigon.process.meter import Meter
from aigon.process.start import Program
from aigon.process.stop import Stop
from aigon.proof.frozen import Frozen, ProtectedFiles, copy_of
from aigon.proof.restore import MainsOwn, Watch, watch
from aigon.run.opening import OpenedRun, Opening
from aigon.secrets import redaction
from aigon.secrets.leaks import list_exclude_lines


def make_run_world(opening: Opening, opened: OpenedRun, job: Job, record: Frozen, run_id: str, stop: Stop) -> World:
    """Return the world of a run with its attendants. What a killed turn did to git is put back."""
    seat, prepared, workspace = opening.seat, opened.prepared, opened.workspace
    world = _make_world(opening, opened, job, run_id, stop)
    world.attend(ProtectedFiles(record.guarded))
    left = sorted({line for agent in prepared.agents if agent.kind for line in agent.kind.leaves})
    branch.exclude_from_git(opening.checkout, left, "what coding agents leave for themselves")
    workspace.trusted.keep_out((*list_exclude_lines((*job.protection.allow, *job.protection.secrets)), *left))
    wanted, private = opened.options.sandbox, world.home / PRIVATE / f"{job.name}-agents"
    world.attend(make_run_sandbox(seat, prepared.config, wanted, world.agent_env, world.folder, private))
    config, env = prepared.config, world.check_env
    if box := make_check_sandbox(opening.checkout, seat.main, config, job.proof, env, world.home, job.name, wanted):
        world.attend(box)
    _start_watch(opening, opened, world)
    arena = Path(opened.options.arena) if opened.options.arena else None
    return join_arena(world, seat.candidate, prepared.config, job.limits.max_cost, arena)


def _make_world(opening: Opening, opened: OpenedRun, job: Job, run_id: str, stop: Stop) -> World:
    prepared, workspace, seat = opened.prepared, opened.workspace, opening.seat
    root, config = workspace.root, prepared.config
    folder = seat.main / ".aigon" / "runs" / run_id
    folder.mkdir(parents=True, exist_ok=True)
    remove_links(folder, workspace.own / "displaced")  # a kill may have left what an agent made
    invocation = new_run_id()
    env = {"AIGON_INVOCATION": invocation}
    if seat.candidate:
        from aigon.worktrees.worktree import build_environment

        env |= {**build_environment(seat.candidate, config), "PWD": str(root)}
    # As the branch has them, whatever the agent of a turn that is not assessed yet made of them.
    own = OwnFiles(workspace.files_at(opened.head, (job.spec_path, job.log_path), root))
    scanner = secret_files.find_scanner(config.secrets.scanner, prepared.check_env, root)
    if scanner.program and not scanner.chosen:  # the project's own rules as the base has them
        texts = (workspace.file_at(job.base_commit, name, root) for name in secret_files.RULES)
        scanner.rules = next((text for text in texts if text), b"")
    # As agents and checks have it: if nothing can be written there, Python itself silently uses another folder.
    temporary = Path(os.environ.get("TMPDIR") or tempfile.gettempdir())
    places = {
        "the workspace": root,
        "git's objects": opening.checkout.common_dir / "objects",
        "aigon's records": opening.home,
        "prompts and logs": folder,
        "temporary files": temporary,
    }
    return World(
        run_id=run_id,
        invocation=invocation,
        workspace=workspace,
        checkout=seat.main,
        folder=folder,
        home=opening.home,
        stop=stop,
        agent_env={**prepared.env, **env, **_make_findable(folder / "bin", prepared.env.get("PATH", ""))},
        check_env={**prepared.check_env, "AIGON_RUN": run_id, **env},
        redact=redaction.make_redactor(prepared.env, *(agent.env for agent in prepared.agents)),
        frozen=opened.records.frozen,
        attendants=[own, RollbackPolicy(opened.options.on_partial or "keep", opening.confirm)],
        durations=load_durations(opening.home),
        scanner=scanner,
        meter=Meter(find_volumes(places, "temporary files")),
    )


def _make_findable(folder: Path, path: str) -> dict[str, str]:
    """Return a PATH on which agents find `aigon run`, which takes a program in `folder` if `path` has none."""
    if shutil.which("aigon", path=path):
        return {}
    folder.mkdir(exist_ok=True)
    program = folder / "aigon"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m aigon "$@"\n')
    program.chmod(0o755)
    return {"PATH": os.pathsep.join(filter(None, (path, str(folder))))}


def _start_watch(opening: Opening, opened: OpenedRun, world: World) -> None:
    """Let a watch over git and aigon's records join. It takes them to be right as they are now."""
    records, workspace, seat = opened.records, opened.workspace, opening.seat
    files = (
        opening.locate_state_file(opened.prepared.feature.name_for_people),
        records.began,
        records.frozen,
        copy_of(records.frozen),
        records.decided,
        records.folder / CANDIDATE,
        world.home / "repository.json",
    )
    hooks = opening.checkout.config.get("core.hookspath", "")
    rivals = find_rivals(world.home, seat.candidate)
    run = make_run_repository(workspace, world.get(RunSandbox), rivals)
    made = watch(workspace, hooks, world.home, files, records.journal, rivals)
    made.note, made.run = records.before_turn, run
    free = any(ANYTHING in entries for entries in opened.prepared.config.sandbox.allow.values())
    if run and world.find(CheckSandbox) and not free:
        made.held = None  # nobody gets to delete an object
    if seat.candidate:
        aside, protected = workspace.own / "displaced", world.get(ProtectedFiles).files
        made.mains = MainsOwn(seat.main, workspace.trusted, aside, protected, opened.prepared.protection)
    world.get(TurnNotes).sentences += world.attend(made).begin()


def join_arena(
    world: World, candidate: Candidate | None, config: Config, limit: float | None = None, arena: Path | None = None
) -> World:
    """Let the loop of `candidate` take turns with others; in an `arena`, also share money and the baseline's results.

    Nothing changes for a loop in the main checkout (None).
    """
    if candidate is None:
        return world
    if arena:
        if ledger := open_ledger(world.home, arena, candidate, limit):
            world.attend(ledger)
        world.attend(BaselineResults(arena / BASELINES, candidate.label))
    slots = CheckSlots(world.home / "locks", config.arena.check_slots or capacity.count_slots())
    return replace(world, made_by=f"worktree {candidate.ready}", slots=slots)


def find_rivals(home: Path, candidate: Candidate | None) -> Rivals:
    """Return whose refs this loop leaves alone: those of all candidates of the repository but its own.

    Only branches with the name that aigon gives them count: no record takes another branch out of the guard.
    """
    others = (each for each in list_candidates(home) if each != candidate)
    named = {each.branch for each in others if each.branch == format_branch_name(each.feature, each.label, each.slug)}
    return Rivals(frozenset(named) - {candidate.branch if candidate else ""}, candidate.feature if candidate else "")


_UNSTAGE = " && git reset -q"
"""The index names what was lost as well: from there it would get into the next commit without a look at the file."""
_AGAIN = "then run again with --resume, which assesses the work tree again"


def make_run_repository(workspace: Workspace, sandbox: RunSandbox, rivals: Rivals) -> RunRepository | None:
    """Return the repository for agents in this sandbox; None if they have to commit to the person's."""
    root = workspace.root
    if not is_repository_lent(root, sandbox.mechanism):
        return None
    swaps = sandbox.mechanism == "landlock"
    return RunRepository(
        workspace, lambda argv: sandbox.confine(argv, root), rivals.branches, _find_covered(root), swaps
    )


def has_lent_repository(world: World) -> bool:
    watch = world.find(Watch)
    return bool(watch and watch.run)


def _find_covered(root: Path) -> Path | None:
    return None if (root / ".git").is_file() else root / ".git"


def recover_turn(opening: Opening) -> tuple[str, ...]:
    """Take over what was committed in a turn that was killed; return a sentence for what is worth saying.

    Nothing of that turn may be running any more. The agent's store is read in a sandbox that can write nothing.
    """
    checkout = opening.checkout
    branch = find_lent_branch(checkout.git_dir)
    if branch is None:
        return ()
    branch = branch or checkout.branch or ""  # a power cut can empty the note
    workspace = opening.open_workspace(branch)
    sandbox, root = _make_reading_sandbox(checkout), checkout.root

    def confine(argv: Sequence[str]) -> Program:  # nothing reads it without a sandbox: it is kept aside
        return sandbox.command(argv, root) if sandbox else Program(("false",))

    left = RunRepository(workspace, confine, over=_find_covered(root), swaps=True)
    before = workspace.tip()
    said = left.take_back(lambda name, commit: workspace.keep(f"{branch}/{name}", commit))
    if (tip := workspace.tip()) and tip != before:  # the agent staged in its own index what it committed
        workspace.trusted.run("read-tree", "--reset", tip)
        workspace.trusted.attempt("update-index", "-q", "--refresh")
        workspace.hand_over_index()
    left.close()
    return said


def _make_reading_sandbox(checkout: Checkout) -> Sandbox | None:
    mechanism = choose_mechanism()
    if not is_repository_lent(checkout.root, mechanism):
        return None
    hidden = (*HOMES, *expand_existing(load_sandbox_data().never, os.environ), str(state_home()))
    grants = Grants(hidden=tuple(path for path in hidden if Path(path).exists()), read=(str(checkout.root),))
    granted = add_git_grants(grants, checkout.root, checkout.git_dir, checkout.common_dir, mechanism)
    return Sandbox(mechanism, replace(granted, write=()), checkout.git_dir / "aigon" / "recovery")


def require_branch(checkout: Checkout, state: State) -> None:
    """Raise AigonError (exit 7), before anything is changed, for a branch that was rewritten or deleted meanwhile."""
    assert state.started is not None
    branch, last = state.started.branch, state.checkpoint
    tip = checkout.commit_of(f"refs/heads/{branch}")
    if tip is None:
        hint = f"git branch {branch} {last}   # brings it back; then run again with --resume"
        deleted = environment(f"The branch {branch} was deleted", where=branch, hint=hint)
        raise describe_damaged_ref(checkout, branch, last) or deleted
    if checkout.commit_of(last) is None:
        hint = "Start a new run from here with --loop; the old journal is kept"
        raise environment("The last iteration commit of this run no longer exists", where=last[:12], hint=hint)
    if tip != last and not checkout.is_ancestor(last, tip):
        hint = (
            f"git reset --keep {last[:12]}   # back to the last iteration commit; or --loop starts a new run from here"
        )
        raise environment(f"The branch {branch} was rewritten since the run stopped", where=tip[:12], hint=hint)


def describe_damaged_ref(checkout: Checkout, branch: str, last: str) -> AigonError | None:
    """Return the error for a branch whose ref exists and names nothing that git can read; None without a ref."""
    file = checkout.common_dir / "refs" / "heads" / branch
    if not file.exists():
        return None
    return environment(
        f"The branch {branch} is damaged: it names no commit that git can read",
        where=str(file),
        hint=f"rm {quote(str(file))} && git update-ref refs/heads/{branch} {last}{_UNSTAGE}   # {_AGAIN}",
    )


def require_whole(checkout: Checkout, state: State) -> None:
    """Raise AigonError (exit 7) if the run's branch names commits whose content is lost.

    Empty object files, which some file systems leave, are removed first: git takes them for objects that it has, and
    would not write them again.
    """
    assert state.started is not None
    remove_empty_objects(checkout.common_dir / "objects")
    name, base = f"refs/heads/{state.started.branch}", state.started.base_commit

    def is_whole(tip: str) -> bool:
        return checkout.ask("rev-list", "--objects", "--quiet", tip, f"^{base}", "--") is not None

    tip = checkout.commit_of(name)
    if tip is None or is_whole(tip):
        return
    good = next((each for each in (state.checkpoint, base) if is_whole(each)), base)
    raise environment(
        f"The branch {state.started.branch} names commits that the disk has lost parts of",
        where=tip[:12],
        hint=f"git update-ref {name} {good}{_UNSTAGE}   # back to the last that is whole; {_AGAIN}",
    )
