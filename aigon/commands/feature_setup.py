"""`aigon feature-setup`: start a feature."""

import sys

import click

from aigon.commands.common import answer, here, json_option, verify_option


@click.command("feature-setup")
@click.argument("feature", metavar="ID")
@click.argument("agents", nargs=-1, metavar="[AGENT...]")
@verify_option
@json_option
def command(feature: str, agents: tuple[str, ...], verify: bool, as_json: bool) -> int:
    """Start feature ID: its spec goes to in-progress, and there is a place to work on it.

    \b
    No agent:           its branch, made at HEAD and checked out here.
    One agent:          a branch and a worktree for that agent.
    Two or more:        a branch and a worktree for each: an arena. claude:opus names a model.
    """
    return _worktrees(feature, agents, verify, as_json) if agents else _branch(feature, verify, as_json)


def _branch(feature: str, verify: bool, as_json: bool) -> int:
    from aigon.run.bookkeeping import set_up
    from aigon.run.locks import alone

    with here() as checkout, alone(checkout):
        moved, branch = set_up(checkout, feature, verify=verify)
    text = (
        f"On branch {branch}\nSpec: {moved.path}\n"
        f"Next: write its acceptance criteria, then aigon feature-implement {moved.id} --loop"
    )
    answer({"id": moved.id, "slug": moved.slug, "path": moved.path, "branch": branch}, text, as_json)
    return 0


def _worktrees(feature: str, agents: tuple[str, ...], verify: bool, as_json: bool) -> int:
    from dataclasses import asdict

    from aigon.run.seat import main_checkout
    from aigon.run.setting_up import set_up

    with here() as checkout, main_checkout(checkout) as (main, _):
        made = set_up(main, feature, agents, lambda text: print(f"aigon: {text}", file=sys.stderr), verify=verify)
    width = max(len(each.label) for each in made)
    lines = [f"{each.label:<{width}}  {each.path} (branch {each.branch})" for each in made]
    text = "\n".join([*lines, f"Next: aigon feature-implement {made[0].feature} --loop"])
    answer({"id": made[0].feature, "candidates": [asdict(each) for each in made]}, text, as_json)
    return 0
