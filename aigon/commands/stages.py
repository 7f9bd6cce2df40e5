"""Verbs that move a feature from one stage to the next."""

import sys
from typing import TYPE_CHECKING, Any

import click
from msgspec import to_builtins

from aigon.commands.common import answer, commits, here, json_option, open_main, verify_option
from aigon.commands.completers import (
    complete_agents,
    complete_branches,
    complete_closed_features,
    complete_inbox,
    complete_open_features,
)
from aigon.commands.root import Command, option
from aigon.errors import usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aigon.done.done import DoneRequest, DoneResult, MergeMethod
    from aigon.done.retirement import Retirement, StageChange
    from aigon.git.person import Checkout
    from aigon.job.bookkeeping import Committing


_MERGE_METHODS: "Mapping[MergeMethod, str]" = {"merge": "--no-ff", "squash": "--squash", "rebase": "--rebase"}


@click.command("feature-prioritise")
@click.argument("feature", metavar="NAME", shell_complete=complete_inbox)
@commits
def prioritise(feature: str, how: "Committing", as_json: bool) -> None:
    """Give the feature NAME of the inbox the next free ID, move its spec to the backlog, and commit both."""
    from aigon.agents.configured import build_loop_command
    from aigon.job.job import hold_checkout
    from aigon.run.feature_stages import prioritise_feature

    with here() as checkout, hold_checkout(checkout):
        moved = prioritise_feature(checkout, feature, how)
        text = f"Feature {moved.id} is {moved.path}\nNext: {build_loop_command(checkout.root, moved.id)}"
    answer({"id": moved.id, "slug": moved.slug, "path": moved.path, "stage": moved.stage}, text, as_json)


@click.command("feature-setup")
@click.argument("feature", metavar="ID", shell_complete=complete_open_features)
@click.argument("agents", nargs=-1, metavar="[AGENT...]", shell_complete=complete_agents)
@commits
def set_up(feature: str, agents: tuple[str, ...], how: "Committing", as_json: bool) -> None:
    """Start feature ID: move its spec to in-progress and create a branch or worktrees. It gets an ID if it has none.

    \b
    no agent     its branch, made at HEAD and checked out here
    one agent    a branch and a worktree for that agent
    two or more  a branch and a worktree for each: an arena

    claude:opus names an agent and its model.
    """
    if agents and not how.commit:
        raise usage("Agents in worktrees begin at a commit", where="--no-commit", hint="Leave --no-commit out")
    if not agents:
        _set_up_branch(feature, how, as_json)
        return
    from aigon.text.quoting import align_columns
    from aigon.worktrees.setup import set_up_feature

    with open_main() as main:
        made = set_up_feature(main, feature, agents, lambda text: print(f"aigon: {text}", file=sys.stderr), how)
    lines = align_columns([(each.label, f"{each.path} (branch {each.branch})") for each in made])
    text = "\n".join([*lines, f"Next: aigon feature-implement {made[0].feature} --loop"])
    answer({"id": made[0].feature, "candidates": [to_builtins(each) for each in made]}, text, as_json)


def _set_up_branch(feature: str, how: "Committing", as_json: bool) -> None:
    from aigon.agents.configured import build_loop_command
    from aigon.job.job import hold_checkout
    from aigon.run.actors import has_judge
    from aigon.run.feature_stages import set_up_feature

    with here() as checkout, hold_checkout(checkout):
        moved, branch = set_up_feature(checkout, feature, how)
        judged = has_judge(checkout.root)
        start = build_loop_command(checkout.root, moved.name_for_people)
    name = moved.name_for_people
    who = "A judge decides" if judged else "No judge is configured (judge.backend), so a person decides"
    text = (
        f"On branch {branch}\nSpec: {moved.path}\nNext: write its acceptance criteria, then {start}\n{who} criteria "
        f"without a command. `aigon spec-compile {name}` proposes commands, `aigon feature-prove {name}` has an agent "
        "write tests for them."
    )
    answer({"id": moved.id or None, "slug": moved.slug, "path": moved.path, "branch": branch}, text, as_json)


@click.command("feature-done", cls=Command)
@click.argument("feature", metavar="ID", shell_complete=complete_open_features)
@click.argument("agent", default="", metavar="[AGENT]", shell_complete=complete_agents)
@option(
    "--into",
    default="",
    metavar="BRANCH",
    shell_complete=complete_branches,
    help="Merge into this branch.  [default: where the feature began]",
)
@option("--no-ff", "merge", is_flag=True, help="Make a merge commit.  [default]")
@option("--squash", is_flag=True, help="Make one commit that lists what is proven.")
@option("--rebase", is_flag=True, help="Rebase the branch onto the target, without a merge commit.")
@option("--pr", is_flag=True, help="Push the branch and open a pull request with gh, instead of merging.")
@option(
    "--adopt",
    multiple=True,
    metavar="AGENT:PATH",
    group="Agents",
    help="Add a file or folder of another agent's work, if everything is still proven.",
)
@option("--keep-worktrees", is_flag=True, group="Agents", help="Keep every worktree and branch.")
@option("--force", is_flag=True, group="Safety", help="Merge even if it is not proven.")
@verify_option
@json_option
def finish(feature: str, as_json: bool, **given: Any) -> int:
    """Merge the proven feature ID with your own git (your hooks and signing apply), and move its spec to done.

    If several agents worked on the feature, AGENT says whose work to merge. You can leave AGENT out in that agent's
    worktree, or if only one is proven. aigon keeps the others' last commits under refs/aigon/arena/ID/ and removes
    worktrees that hold nothing else. If the target branch has moved on, aigon runs everything again on the merge
    result.
    """
    from aigon.done.done import DoneRequest, finish_feature
    from aigon.views.report.gather import write_report
    from aigon.views.terminal.lines import LineSink

    def render_report(main: "Checkout", name: str) -> str:
        return write_report(main, name, "md", None).text

    named: list[MergeMethod] = [each for each in _MERGE_METHODS if given.pop(each)]
    if len(named) > 1:
        where = " ".join(_MERGE_METHODS[each] for each in named)
        raise usage("A feature is merged in one way", where=where, hint="Name one")
    request = DoneRequest(feature, how=named[0] if named else "merge", **given)
    with here() as checkout:
        done = finish_feature(checkout, request, [LineSink(sys.stderr)], report=render_report)
    answer(_encode_done(done), _render_done(done, request), as_json)
    return 0


def _encode_done(done: "DoneResult") -> dict[str, object]:
    """Everything as data."""
    return {
        "id": done.feature.id,
        "path": done.feature.path,
        "into": done.target,
        "commit": done.commit,
        "branch": done.branch,
        "agent": done.label,
        "how": done.how,
        "proof": done.proof,
        "adopted": list(done.adopted),
        "worktree": to_builtins(done.winner) if done.winner else None,
        "others": [to_builtins(each) for each in done.losers],
        "pull_request": done.url,
    }


def _render_done(done: "DoneResult", request: "DoneRequest") -> str:
    """Return what happened, and what is left to do."""
    if done.url:
        return f"Pull request for {done.branch} into {done.target}: {done.url}\nOnce it is merged: git fetch"
    lines = [f"Merged {done.branch} into {done.target} ({done.commit[:12]}); the spec is {done.feature.path}"]
    lines += [f"It is {done.proof}"] if request.force or done.adopted or done.proof != "proven by its last run" else []
    lines += [f"Adopted {each}" for each in done.adopted]
    lines += [_render_kept(each) for each in done.losers]
    if done.winner and (done.winner.gone or not done.winner.removed):
        lines.append("The merged worktree is removed" if done.winner.removed else _render_stays(done.winner))
    delete = "-D" if done.how == "squash" else "-d"
    return "\n".join([*lines, f"The merged branch is still there: git branch {delete} {done.branch}"])


def _render_kept(left: "Retirement") -> str:
    ref = f"kept as {left.ref}" if left.ref else "left as it is"
    if left.why:
        return f"{left.label}: {ref}; {_render_stays(left)}"
    return f"{left.label}: {ref}" + (f"; {' and '.join(left.gone)} removed" if left.gone else "")


def _render_stays(left: "Retirement") -> str:
    return f"the worktree {left.worktree} stays: {left.why}" if not left.removed else left.why


@click.command("cancel")
@click.argument("feature", metavar="ID", shell_complete=complete_open_features)
@commits
def cancel(feature: str, how: "Committing", as_json: bool) -> None:
    """Cancel feature ID: move its spec to docs/specs/features/07-cancelled, commit that, remove its worktrees.

    Uncommitted work in the worktrees is saved aside. Branches and records stay; `aigon reopen ID` undoes the
    cancellation.

    Exit codes: 0 cancelled, 2 there is no such feature or it is over, 7 a loop works on it.
    """
    from aigon.done.retirement import cancel_feature
    from aigon.job.job import hold_checkout
    from aigon.run.invocations import require_outside_a_run

    require_outside_a_run("cancel")
    with open_main() as main, hold_checkout(main):
        done = cancel_feature(main, feature, how)
    _answer_put_away(done, "Cancelled", "Its branch {0} stays. To delete it: git branch -D {0}", as_json)


@click.command("reopen")
@click.argument("feature", metavar="ID", shell_complete=complete_closed_features)
@commits
def reopen(feature: str, how: "Committing", as_json: bool) -> None:
    """Reopen feature ID, which is cancelled or done: move its spec to the backlog and commit that.

    A cancelled feature continues on its branch. A feature that was done starts again from the current branch: its
    merged branch is saved aside, and it needs a criterion that does not pass yet.

    Exit codes: 0 reopened, 2 there is no such feature or it is open, 7 a loop works on it.
    """
    from aigon.done.retirement import reopen_feature
    from aigon.job.job import hold_checkout
    from aigon.run.invocations import require_outside_a_run

    require_outside_a_run("reopen")
    with open_main() as main, hold_checkout(main):
        done = reopen_feature(main, feature, how)
    start = f"Next: edit its criteria, then aigon feature-implement {done.feature.name_for_people} --loop"
    _answer_put_away(done, "Reopened", "It continues on its branch {0}", as_json, start)


def _answer_put_away(done: "StageChange", verb: str, branch: str, as_json: bool, *last: str) -> None:
    """Say what became of a feature, of each of its branches, and of what was saved aside."""
    name, path = done.feature.name_for_people, done.feature.path
    lines = [f"{verb} feature {name}: {path}", *(branch.format(each) for each in done.branches)]
    lines += [f"Saved aside: {ref} (aigon parked restore {ref})" for ref in done.parked]
    document: dict[str, object] = {"feature": name, "path": path, "stage": done.feature.stage}
    document |= {"branches": list(done.branches), "parked": list(done.parked)}
    answer(document, "\n".join([*lines, *last]), as_json)
