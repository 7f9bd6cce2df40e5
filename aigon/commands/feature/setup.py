"""`aigon feature-setup`: start a feature."""

import sys
from typing import TYPE_CHECKING

import click

from aigon.commands.common import answer, commit_option, committing, here, json_option, verify_option
from aigon.commands.completers import complete_agents, complete_open_features
from aigon.errors import usage

if TYPE_CHECKING:
    from aigon.job.bookkeeping import Committing


@click.command("feature-setup")
@click.argument("feature", metavar="ID", shell_complete=complete_open_features)
@click.argument("agents", nargs=-1, metavar="[AGENT...]", shell_complete=complete_agents)
@commit_option
@verify_option
@json_option
def command(feature: str, agents: tuple[str, ...], commit: bool, verify: bool, as_json: bool) -> int:
    """Start feature ID: move its spec to in-progress and make a place to work on it. It gets an ID if it has none.

    \b
    no agent     its branch, made at HEAD and checked out here
    one agent    a branch and a worktree for that agent
    two or more  a branch and a worktree for each: an arena

    claude:opus names an agent and its model.
    """
    how = committing(commit=commit, verify=verify, as_json=as_json)
    if agents and not commit:
        raise usage("Agents in worktrees begin at a commit", where="--no-commit", hint="Leave --no-commit out")
    return _worktrees(feature, agents, how, as_json) if agents else _branch(feature, how, as_json)


def _branch(feature: str, how: "Committing", as_json: bool) -> int:
    from aigon.agents.configured import build_loop_command
    from aigon.job.seat import hold_checkout
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
    return 0


def _worktrees(feature: str, agents: tuple[str, ...], how: "Committing", as_json: bool) -> int:
    from msgspec import to_builtins

    from aigon.job.seat import open_main_checkout
    from aigon.worktrees.setup import set_up_feature

    with here() as checkout, open_main_checkout(checkout) as (main, _):
        made = set_up_feature(main, feature, agents, lambda text: print(f"aigon: {text}", file=sys.stderr), how)
    width = max(len(each.label) for each in made)
    lines = [f"{each.label:<{width}}  {each.path} (branch {each.branch})" for each in made]
    text = "\n".join([*lines, f"Next: aigon feature-implement {made[0].feature} --loop"])
    answer({"id": made[0].feature, "candidates": [to_builtins(each) for each in made]}, text, as_json)
    return 0
