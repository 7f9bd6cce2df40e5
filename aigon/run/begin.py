"""A new run: the spec in progress, on its branch, everything committed; an old run's record is put aside."""

from aigon.errors import environment
from aigon.git.workspace import Workspace
from aigon.job import branch
from aigon.job.spec_locations import find_checked_out_feature
from aigon.job.world import World
from aigon.journal.earlier_spend import earlier_spend
from aigon.journal.events import Event, Notice
from aigon.journal.records import Origin, Records
from aigon.journal.run_id import new_run_id
from aigon.journal.state import State
from aigon.proof.baseline import find_baseline
from aigon.run.earlier_attempts import earlier_attempts
from aigon.run.feature_stages import beside
from aigon.run.opening import Opened, Opening
from aigon.run.prepare import Prepared, relocated
from aigon.spec.stages import to_stage


def begin(opening: Opening, records: Records, prepared: Prepared, old: State) -> Opened:
    """Put the checkout onto the feature's branch and commit what is aigon's to commit. Raises AigonError (exit 7)."""
    checkout = opening.checkout
    _refuse_unfinished(opening, prepared, old)
    elsewhere = (
        "" if opening.seat.candidate or old.started else beside(checkout.root, prepared.feature, opening.options.agents)
    )
    own = branch.own_changes(checkout, [prepared.feature.path], elsewhere=elsewhere)
    name = opening.branch_of(prepared.feature)
    events: tuple[Event, ...] = ()
    if checkout.commit_of(f"refs/heads/{name}") is None:
        branch.require_configuration(checkout)
        if owner := find_checked_out_feature(checkout.root):
            its = f"the branch of feature {owner.name_for_people}"
            text = f"it starts from {opening.current}, {its}, and will be merged into it"
            events = (Notice(World.now(), text, "warning"),)
    branch.enter(checkout, name)
    branch.ignore_runtime_files(checkout)
    workspace = opening.workspace(name)
    feature, moved = to_stage(checkout.root, prepared.feature, "in-progress")
    branch.take_up(workspace.trusted, feature, [*own, *moved])
    workspace.take_over_index()
    head, known = str(workspace.tip()), records.origin()
    before = earlier_spend(records)
    records.archive(old.started.run_id if old.started else f"unread-{new_run_id()}")
    origin = _origin(opening, records, workspace, head)
    last = old.checkpoint or ("" if known else origin.commit)
    since = last if last and last != head and workspace.is_ancestor(last, head) else ""
    return Opened(
        opening.options,
        relocated(prepared, checkout.root, feature),
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
