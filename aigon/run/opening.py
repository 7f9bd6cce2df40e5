"""Open a run: its records are sound, a new one is begun on its branch, and what decides it is frozen."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from aigon.errors import AigonError, environment
from aigon.files.atomic import keep_damaged
from aigon.files.checksums import damage_error
from aigon.files.home import own_git_directory
from aigon.git.person import Checkout
from aigon.git.workspace import Workspace
from aigon.job import branch
from aigon.job.job import Job
from aigon.job.options import Options
from aigon.job.seat import Seat
from aigon.job.spec_locations import find_checked_out_feature
from aigon.job.world import World
from aigon.journal.attempt import Attempt
from aigon.journal.attempts import Attempts
from aigon.journal.events import Event, Notice, RunStarted
from aigon.journal.memory import WHOLE
from aigon.journal.records import Origin, Records, new_run_id, sum_earlier_spend
from aigon.journal.replay import RunPast, iterate_events
from aigon.journal.spending import Spend
from aigon.journal.state import State
from aigon.journal.state_document import NewerState, parse_whole_state
from aigon.model.candidates import format_run_command
from aigon.proof import frozen, restore
from aigon.proof.baseline import find_baseline
from aigon.proof.frozen import Frozen, load
from aigon.run.feature_stages import render_worktree_command
from aigon.run.prepare import Prepared, follow_spec
from aigon.spec.features import Feature
from aigon.spec.files import move_to_stage

Confirm = Callable[[str], bool]
"""Asks a person; False if nobody can be asked."""


@dataclass(frozen=True, slots=True)
class Opening:
    """The question: which feature, in which checkout, on which branch it stood (`current`), by whose leave."""

    seat: Seat
    options: Options
    confirm: Confirm
    home: Path
    current: str

    @property
    def checkout(self) -> Checkout:
        """The work tree that the agent edits."""
        return self.seat.checkout

    def branch_of(self, feature: Feature) -> str:
        """The branch that the feature is built on here."""
        return self.seat.candidate.branch if self.seat.candidate else feature.name

    def command(self, name: str, option: str) -> str:
        """What a person types to begin or go on with the feature called `name` here."""
        return format_run_command(name, self.seat.label, option)

    @property
    def own_git(self) -> Path:
        """aigon's own git directory for this checkout."""
        return own_git_directory(self.home, self.checkout.git_dir, self.checkout.common_dir)

    def workspace(self, branch: str) -> Workspace:
        """The work tree, to be committed to `branch`."""
        return Workspace(self.checkout, self.own_git, branch)


@dataclass(frozen=True, slots=True)
class OpenedRun:
    """The answer: the workspace on its branch at `head`, the run's past, and the events that opening it made.

    `options` are those of the command line, completed by the choices of a run that is resumed.

    What differs between the commit `since` and `head` is people's work; "" where nothing is known to be. `unjudged`:
    the work tree holds what an agent made of it. `suspect` is the commit after which an agent may have made those up to
    `head`, of a turn that nobody has looked at; "" where there is none. `before` is what earlier runs of the feature
    spent, `numbered` the highest number that the last of them gave an iteration of this branch, `earlier` what they
    tried.
    """

    options: Options
    prepared: Prepared
    records: Records
    workspace: Workspace
    head: str
    origin: Origin
    past: RunPast = field(default_factory=RunPast)
    events: tuple[Event, ...] = ()
    since: str = ""
    unjudged: bool = False
    suspect: str = ""
    before: Spend = field(default_factory=Spend)
    numbered: int = 0
    earlier: tuple[Attempt, ...] = ()

    @property
    def resumed(self) -> bool:
        """Whether an old run goes on."""
        return self.past.state.started is not None


def freeze_job(opening: Opening, found: OpenedRun, job: Job) -> tuple[Job, Frozen]:
    """The job with the checks that count, and the record, which is written."""
    known = frozen.load(found.records.frozen)
    root, inputs = str(opening.checkout.root), _inputs(found)
    checks = frozen.lasting(known, found.prepared.checks.checks, root, inputs, job.base_commit)
    record = frozen.begun(known, base=job.base_commit, root=root, inputs=inputs, checks=checks, theirs=_theirs(found))
    if known and (known.root, known.inputs, known.base) == (root, inputs, job.base_commit):
        # What scripts call is read from the tree, which an agent has written to by now: what was found stays protected.
        job = replace(job, protection=job.protection.with_found(known.rules))
    record = replace(record, rules=job.protection.found())
    record = replace(record, guarded=_guarded(found, job, record))
    frozen.save(found.records.frozen, record)
    checks = () if job.demand.skip_validation else checks
    return replace(job, checks=checks, base_results=record.passed), record


def _inputs(found: OpenedRun) -> str:
    """What a person chose that decides which checks there are."""
    config, options = found.prepared.config, found.options
    chosen = config.model_dump(
        mode="json", include={"profile", "ralph", "profiles", "validation", "checks", "env", "paths", "endpoints"}
    )
    return frozen.inputs_of(chosen, options.profile, options.validation_script, found.prepared.spec.validation)


def _theirs(found: OpenedRun) -> dict[str, str]:
    """Files that people changed since the last iteration commit: their version counts from here on."""
    if not found.since or found.since == found.head:
        return {}
    return dict.fromkeys(found.workspace.paths_changed(found.since, found.head), found.head)


def _guarded(found: OpenedRun, job: Job, record: Frozen) -> dict[str, frozen.Guarded]:
    """What is put back, as people left it; as recorded where an agent's work, or its commits, wait to be judged."""
    if (found.unjudged or found.suspect) and record.guarded:
        return dict(record.guarded)
    workspace: Workspace = found.workspace
    return restore.record_protected(workspace.root, workspace.tracked(), job.protection)


def earlier_attempts(records: Records, base: str, last: State | None = None) -> tuple[Attempt, ...]:
    """Return the latest attempts of the archived runs that began at the commit `base`, oldest first.

    `last` is what the newest of them came to, if the caller has read it. A damaged journal ends the search: nothing but
    the prompt depends on it.
    """
    found: tuple[Attempt, ...] = ()
    for run in _runs(records, base, last):
        if len(found) >= WHOLE or run is None:
            break
        found = (*run.all, *found)
    return found[-WHOLE:]


def _runs(records: Records, base: str, last: State | None) -> Iterator[Attempts | None]:
    """Yield what each run tried, the newest first; None for one that cannot be read."""
    archived = [path for path in reversed(records.journals()) if path != records.journal]
    if last and last.started and archived:
        yield last.tried if last.started.base_commit == base else None
        archived = archived[1:]
    yield from (_tried(path, base) for path in archived)


def _tried(journal: Path, base: str) -> Attempts | None:
    tried = Attempts()
    try:
        for event in iterate_events(journal):
            if isinstance(event, RunStarted) and event.base_commit != base:
                return None
            tried = tried.apply(event)
    except (AigonError, OSError, ValueError):
        return None
    return tried


def require_sound_records(records: Records, state_file: Path) -> None:
    """Raise AigonError (exit 7) for a record that is damaged or from a newer version; nothing is touched.

    Not for a damaged journal, which a new run puts aside, and not for a damaged state file, which is made anew.
    """
    _require_known(state_file)
    if load(records.frozen) is None and records.begun():
        raise damage_error("The record of what decides this feature", str(records.frozen), records.name, "gone")
    if records.origin() is None and records.begun():
        raise damage_error("The record of where this feature began", str(records.began), records.name, "gone")
    records.decisions()


def _require_known(state_file: Path) -> None:
    if inspect_state_file(state_file) == "newer":
        hint = "Update aigon, or use the version that wrote it; the file is left as it is"
        raise environment("The state file is from a newer aigon", where=str(state_file), hint=hint)


def inspect_state_file(path: Path) -> str:
    """How a state file is: `absent`, `whole`, `newer` or `damaged`."""
    try:
        parse_whole_state(path.read_bytes())
    except FileNotFoundError:
        return "damaged" if path.is_symlink() else "absent"
    except NewerState:
        return "newer"
    except (OSError, ValueError):
        return "damaged"
    return "whole"


def set_damaged_state_aside(path: Path) -> tuple[Event, ...]:
    """Keep a damaged state file beside its place, in which it is about to be written anew; what was done, as events."""
    if inspect_state_file(path) != "damaged":
        return ()
    kept = keep_damaged(path)
    return (Notice(World.now(), f"{path.name} was damaged: renamed {kept.name} and rebuilt", "warning"),)


def begin_run(opening: Opening, records: Records, prepared: Prepared, old: State) -> OpenedRun:
    """Put the checkout onto the feature's branch and commit what is aigon's to commit. Raises AigonError (exit 7)."""
    checkout = opening.checkout
    _refuse_unfinished(opening, prepared, old)
    elsewhere = (
        ""
        if opening.seat.candidate or old.started
        else render_worktree_command(checkout.root, prepared.feature, opening.options.agents)
    )
    own = branch.list_own_changes(checkout, [prepared.feature.path], elsewhere=elsewhere)
    name = opening.branch_of(prepared.feature)
    events: tuple[Event, ...] = ()
    if checkout.commit_of(f"refs/heads/{name}") is None:
        branch.require_configuration(checkout)
        if owner := find_checked_out_feature(checkout.root):
            its = f"the branch of feature {owner.name_for_people}"
            text = f"it starts from {opening.current}, {its}, and will be merged into it"
            events = (Notice(World.now(), text, "warning"),)
    branch.enter_branch(checkout, name)
    branch.ignore_runtime_files(checkout)
    workspace = opening.workspace(name)
    feature, moved = move_to_stage(checkout.root, prepared.feature, "in-progress")
    branch.commit_own_paths(workspace.trusted, feature, [*own, *moved])
    workspace.take_over_index()
    head, known = str(workspace.tip()), records.origin()
    before = sum_earlier_spend(records)
    records.archive(old.started.run_id if old.started else f"unread-{new_run_id()}")
    origin = _origin(opening, records, workspace, head)
    last = old.checkpoint or ("" if known else origin.commit)
    since = last if last and last != head and workspace.is_ancestor(last, head) else ""
    return OpenedRun(
        opening.options,
        follow_spec(prepared, checkout.root, feature),
        records,
        workspace,
        head,
        origin,
        events=events,
        since=since,
        before=before,
        numbered=old.last_number if since or last == head else 0,
        earlier=earlier_attempts(records, origin.commit, old),
    )


def _refuse_unfinished(opening: Opening, prepared: Prepared, old: State) -> None:
    """A new run over a broken-off turn would mix its edits and commits in; `--resume` knows what to do with them."""
    checkout = opening.checkout
    if old.lost and checkout.branch == opening.branch_of(prepared.feature) and (changed := checkout.changed()):
        raise environment(
            f"The record of feature {prepared.feature.name_for_people} is damaged: nobody knows who made these changes",
            where=", ".join(changed[:5]),
            hint="aigon doctor --repair, then --resume   or   git stash --include-untracked",
        )
    if (old.iteration <= old.finished and not old.unseen) or checkout.branch != opening.branch_of(prepared.feature):
        return
    changed = checkout.changed()
    if changed or checkout.head != old.checkpoint:
        name = prepared.feature.name_for_people
        number = max(old.iteration, old.last_number + 1)
        raise environment(
            f"The last run of feature {name} stopped in the middle of iteration {number}",
            where=", ".join(changed[:5]) or f"{old.checkpoint[:12]}..{str(checkout.head)[:12]}",
            hint=f"{opening.command(name, '--resume')}   or   git stash --include-untracked",
        )


def _origin(opening: Opening, records: Records, workspace: Workspace, head: str) -> Origin:
    """Where the feature began: kept over runs as long as the branch still contains it."""
    known = records.origin()
    if known and workspace.is_ancestor(known.commit, head):
        return known
    started_here = "" if opening.current == workspace.branch else opening.current
    target = known.branch if known else started_here
    origin = Origin(target, find_baseline(workspace.trusted, head, target))
    records.set_origin(origin)
    return origin
