"""Open a run: what is asked for, what is found, and the beginning of a new run on the feature's branch."""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.config.sections import write_value
from aigon.errors import AigonError, environment
from aigon.files.home import own_git_directory
from aigon.git.person import Checkout
from aigon.git.workspace import Workspace
from aigon.job import branch
from aigon.job.job import Job, Seat
from aigon.job.options import Options
from aigon.job.spec_locations import find_checked_out_feature
from aigon.job.world import World
from aigon.journal.attempt import Attempt
from aigon.journal.attempts import Attempts
from aigon.journal.events import Event, Notice, RunStarted
from aigon.journal.memory import WHOLE
from aigon.journal.records import Origin, Records, sum_earlier_spend
from aigon.journal.replay import iterate_events
from aigon.journal.spending import Spend
from aigon.journal.state import State
from aigon.model.agents import format_run_command
from aigon.proof import frozen, restore
from aigon.proof.frozen import Frozen, find_baseline
from aigon.run.feature_stages import render_worktree_command
from aigon.run.prepare import Prepared, follow_spec
from aigon.spec.files import move_to_stage

Confirm = Callable[[str], bool]
"""Asks a person; False if none can be asked."""


class Opening(Struct, frozen=True):
    """A run to be opened: which feature, in which checkout. `current` is the branch that is checked out."""

    seat: Seat
    options: Options
    confirm: Confirm
    home: Path
    current: str

    @property
    def checkout(self) -> Checkout:
        """The work tree that the agent edits."""
        return self.seat.checkout

    def format_command(self, name: str, option: str) -> str:
        """Return what a person types to start or continue the feature called `name` here."""
        return format_run_command(name, self.seat.label, option)

    def locate_state_file(self, name: str) -> Path:
        """Return the state file of the feature called `name`."""
        label = f"-{self.seat.label}" if self.seat.label else ""
        return self.seat.main / ".aigon" / f"loop-state-{name}{label}.json"

    @property
    def own_git(self) -> Path:
        """aigon's own git directory for this checkout."""
        return own_git_directory(self.home, self.checkout.git_dir, self.checkout.common_dir)

    def open_workspace(self, branch: str) -> Workspace:
        """Return the work tree, to be committed to `branch`."""
        return Workspace(self.checkout, self.own_git, branch)


class OpenedRun(Struct, frozen=True):
    """A run that was opened: the workspace on its branch at `head`, its `past` events and the `state` that they
    add up to, and the events that opening it made.

    `options` are those of the command line, completed by the choices of a run that is resumed. What differs between the
    commit `since` and `head` is people's work; "" if nothing is known to be. `unjudged`: the work tree holds an agent's
    work that is not assessed yet. `suspect` is the commit after which an agent may have made those up to `head`, in a
    turn that is not assessed yet; "" without one. `before` is what earlier runs of the feature spent, `numbered`
    the highest number that the last of them gave an iteration of this branch, `earlier` what they tried.
    """

    options: Options
    prepared: Prepared
    records: Records
    workspace: Workspace
    head: str
    origin: Origin
    past: Sequence[Event] = ()
    state: State = field(default_factory=State)
    events: tuple[Event, ...] = ()
    since: str = ""
    unjudged: bool = False
    suspect: str = ""
    before: Spend = field(default_factory=Spend)
    numbered: int = 0
    earlier: tuple[Attempt, ...] = ()

    @property
    def resumed(self) -> bool:
        """True if an old run continues."""
        return self.state.started is not None


def freeze_job(opened: OpenedRun, job: Job) -> tuple[Job, Frozen]:
    """Write the record of what decides the feature. Return the job with the checks that count, and the record."""
    workspace, known = opened.workspace, frozen.load(opened.records.frozen)
    root, inputs = str(workspace.root), _hash_inputs(opened)
    checks = frozen.lasting(known, opened.prepared.checks.checks, root, inputs, job.base_commit)
    # Files that people changed since the last iteration commit: their version counts from here on.
    is_known = opened.since and opened.since != opened.head
    changed = workspace.paths_changed(opened.since, opened.head) if is_known else ()
    theirs = dict.fromkeys(changed, opened.head)
    record = frozen.begin_record(known, base=job.base_commit, root=root, inputs=inputs, checks=checks, theirs=theirs)
    if known and (known.root, known.inputs, known.base) == (root, inputs, job.base_commit):
        # What scripts call is read from the tree, which an agent has written to by now: what was found stays protected.
        job = replace(job, protection=job.protection.add_found(known.rules))
    record = replace(record, rules=job.protection.list_script_rules())
    if (opened.unjudged or opened.suspect) and record.guarded:
        guarded = dict(record.guarded)  # an agent's work or commits wait to be assessed
    else:
        guarded = restore.record_protected(workspace.root, workspace.list_tracked(), job.protection)
    record = replace(record, guarded=guarded)
    frozen.save(opened.records.frozen, record)
    return replace(job, checks=() if job.demand.skip_validation else checks, base_results=record.passed), record


def _hash_inputs(opened: OpenedRun) -> str:
    """Return a name for what a person chose that decides which checks there are."""
    keys = {"profile", "ralph", "profiles", "validation", "checks", "env", "paths", "endpoints"}
    chosen = {key: value for key, value in write_value(opened.prepared.config).items() if key in keys}
    options = opened.options
    return frozen.inputs_of(chosen, options.profile, options.validation_script, opened.prepared.spec.validation)


def list_earlier_attempts(records: Records, base: str, last: State | None = None) -> tuple[Attempt, ...]:
    """Return the latest attempts of the archived runs that began at the commit `base`, oldest first.

    `last` is the final state of the newest of them, if the caller has read it. A run that began elsewhere, or whose
    journal is damaged, ends the search: only the prompt depends on it.
    """
    attempts: tuple[Attempt, ...] = ()
    for journal in reversed([path for path in records.journals() if path != records.journal]):
        if len(attempts) >= WHOLE:
            break
        if last and last.started:
            tried = last.tried if last.started.base_commit == base else None
            last = None
        else:
            tried = _read_attempts(journal, base)
        if tried is None:
            break
        attempts = (*tried.all, *attempts)
    return attempts[-WHOLE:]


def _read_attempts(journal: Path, base: str) -> Attempts | None:
    """Return what a run tried; None if it cannot be read or did not begin at the commit `base`."""
    tried = Attempts()
    try:
        for event in iterate_events(journal):
            if isinstance(event, RunStarted) and event.base_commit != base:
                return None
            tried = tried.apply(event)
    except (AigonError, OSError, ValueError):
        return None
    return tried


def begin_run(opening: Opening, records: Records, prepared: Prepared, old: State) -> OpenedRun:
    """Check out the feature's branch and commit what is aigon's to commit. Raises AigonError (exit 7)."""
    checkout, candidate = opening.checkout, opening.seat.candidate
    name = candidate.branch if candidate else prepared.feature.name
    if checkout.branch == name:
        _refuse_unfinished(opening, prepared.feature.name_for_people, old)
    is_first = not candidate and not old.started
    beside = render_worktree_command(checkout.root, prepared.feature, opening.options.agents) if is_first else ""
    own = branch.list_own_changes(checkout, [prepared.feature.path], elsewhere=beside)
    events: tuple[Event, ...] = ()
    exists = checkout.branch == name or checkout.commit_of(f"refs/heads/{name}") is not None
    if not exists:
        branch.require_configuration(checkout, own)
        if owner := find_checked_out_feature(checkout.root):
            its = f"the branch of feature {owner.name_for_people}"
            text = f"it starts from {opening.current}, {its}, and will be merged into it"
            events = (Notice(World.now(), text, "warning"),)
    branch.enter_branch(checkout, name, exists=exists)
    branch.ignore_runtime_files(checkout)
    workspace = opening.open_workspace(name)
    feature, moved = move_to_stage(checkout.root, prepared.feature, "in-progress")
    if branch.commit_own_paths(workspace.trusted, feature, [*own, *moved]):
        workspace.take_over_index()
    head, is_new = str(workspace.tip()), records.origin() is None
    before = sum_earlier_spend(records)
    records.archive(old.started.run_id if old.started else "")
    origin = _keep_origin(opening, records, workspace, head)
    last = old.checkpoint or (origin.commit if is_new else "")
    since = last if last and last != head and workspace.is_ancestor(last, head) else ""
    return OpenedRun(
        prepared.options,
        follow_spec(prepared, checkout.root, feature),
        records,
        workspace,
        head,
        origin,
        events=events,
        since=since,
        before=before,
        numbered=old.last_number if since or last == head else 0,
        earlier=list_earlier_attempts(records, origin.commit, old),
    )


def _refuse_unfinished(opening: Opening, name: str, old: State) -> None:
    """Raise AigonError (exit 7) for an interrupted turn: a new run would mix its edits and commits in."""
    checkout = opening.checkout
    is_unfinished = old.iteration > old.finished or old.unseen
    changed = checkout.list_changed() if old.lost or is_unfinished else []
    if old.lost and changed:
        raise environment(
            f"The record of feature {name} is damaged, so it does not tell who made these changes",
            where=", ".join(changed[:5]),
            hint="aigon doctor --repair, then --resume   or   git stash --include-untracked",
        )
    if is_unfinished and (changed or checkout.head != old.checkpoint):
        number = max(old.iteration, old.last_number + 1)
        raise environment(
            f"The last run of feature {name} stopped in the middle of iteration {number}",
            where=", ".join(changed[:5]) or f"{old.checkpoint[:12]}..{str(checkout.head)[:12]}",
            hint=f"{opening.format_command(name, '--resume')}   or   git stash --include-untracked",
        )


def _keep_origin(opening: Opening, records: Records, workspace: Workspace, head: str) -> Origin:
    """Return where the feature began: kept over runs as long as the branch still contains it."""
    known = records.origin()
    if known and workspace.is_ancestor(known.commit, head):
        return known
    target = known.branch if known else "" if opening.current == workspace.branch else opening.current
    origin = Origin(target, find_baseline(workspace.trusted, head, target))
    records.set_origin(origin)
    return origin
