"""`aigon feature-done`: merge a proven feature."""

import sys
from typing import TYPE_CHECKING

import click
from msgspec import to_builtins

from aigon.commands.common import answer, here, json_option, verify_option
from aigon.commands.completers import complete_agents, complete_branches, complete_open_features
from aigon.commands.help import Command, option

if TYPE_CHECKING:
    from aigon.done.request import DoneRequest, DoneResult, MergeMethod, Retirement
    from aigon.git.person import Checkout


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
@option("--no-ff", "how", flag_value="merge", default="merge", help="Make a merge commit.  [default]")
@option("--squash", "how", flag_value="squash", help="Make one commit that says what is proven.")
@option("--rebase", "how", flag_value="rebase", help="Put the branch's commits on the target, without a merge.")
@option("--pr", is_flag=True, help="Push the branch and open a pull request with gh, instead of merging.")
@option(
    "--adopt",
    multiple=True,
    metavar="AGENT:PATH",
    group="Agents",
    help="Take in a file or folder of another agent, if everything is proven with it too.",
)
@option("--keep-worktrees", is_flag=True, group="Agents", help="Leave every worktree and branch.")
@option("--force", is_flag=True, group="Safety", help="Merge although it is not proven.")
@verify_option
@json_option
def command(
    feature: str,
    agent: str,
    into: str,
    how: "MergeMethod",
    adopt: tuple[str, ...],
    pr: bool,
    keep_worktrees: bool,
    force: bool,
    verify: bool,
    as_json: bool,
) -> int:
    """Merge the proven feature ID with your own git (your hooks and signing apply), and move its spec to done.

    If several agents worked on it, AGENT says whose work to merge; it may be left out in that agent's worktree, and
    if only one is proven. The others' last commits are kept under refs/aigon/arena/ID/, and worktrees that hold
    nothing else are removed. If the target branch has moved on, everything is run again on the result.
    """
    from aigon.done.done import finish_feature
    from aigon.done.request import DoneRequest
    from aigon.views.terminal.lines import LineSink

    request = DoneRequest(
        feature, agent, into, how, adopt, pr=pr, keep_worktrees=keep_worktrees, force=force, verify=verify
    )
    with here() as checkout:
        done = finish_feature(checkout, request, [LineSink(sys.stderr)], report=_render_report)
    answer(_document(done), _text(done, request), as_json)
    return 0


def _render_report(checkout: "Checkout", feature: str) -> str:
    from aigon.views.report.gather import write_report

    return write_report(checkout, feature, "md", None).text


def _document(done: "DoneResult") -> dict[str, object]:
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


def _text(done: "DoneResult", request: "DoneRequest") -> str:
    """What happened, and what is left to do."""
    if done.url:
        return f"Pull request for {done.branch} into {done.target}: {done.url}\nOnce it is merged: git fetch"
    lines = [f"Merged {done.branch} into {done.target} ({done.commit[:12]}); the spec is {done.feature.path}"]
    lines += [f"It is {done.proof}"] if request.force or done.adopted or done.proof != "proven by its last run" else []
    lines += [f"Adopted {each}" for each in done.adopted]
    lines += [_kept(each) for each in done.losers]
    if done.winner and (done.winner.gone or not done.winner.removed):
        lines.append("Its worktree is removed" if done.winner.removed else _stays(done.winner))
    delete = "-D" if done.how == "squash" else "-d"
    return "\n".join([*lines, f"Its branch is still there: git branch {delete} {done.branch}"])


def _kept(left: "Retirement") -> str:
    ref = f"kept as {left.ref}" if left.ref else "left as it is"
    if left.why:
        return f"{left.label}: {ref}; {_stays(left)}"
    return f"{left.label}: {ref}" + (f"; {' and '.join(left.gone)} removed" if left.gone else "")


def _stays(left: "Retirement") -> str:
    return f"the worktree {left.worktree} stays: {left.why}" if not left.removed else left.why
