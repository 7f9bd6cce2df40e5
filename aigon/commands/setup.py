"""Verbs that set aigon up: `aigon init`, `doctor`, `demo` and `install-commands`."""

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aigon.commands.common import answer, build_committing, confirm, here, json_option, profile_option, verify_option
from aigon.commands.completers import complete_agents, complete_features
from aigon.errors import Exit, usage
from aigon.job.options import Options

if TYPE_CHECKING:
    from aigon.run.implement import Observers


class OwnAgent(click.ParamType[tuple[str, list[str]]]):
    """An agent of one's own, written as NAME=COMMAND."""

    name = "agent"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, list[str]]:
        """Return the name, and the command as arguments."""
        name, _, command = str(value).partition("=")
        try:
            argv = shlex.split(command)
        except ValueError as error:
            self.fail(f"{command}: {error}", param, ctx)
        if not (name and argv):
            self.fail(f"{value} is not NAME=COMMAND, such as mine=./agent.sh", param, ctx)
        return name, argv


@click.command("init")
@profile_option()
@click.option(
    "--agent",
    "agents",
    type=OwnAgent(),
    multiple=True,
    metavar="NAME=COMMAND",
    help="Add your own program as an agent.",
)
@click.option("--no-commands", is_flag=True, help="Do not add commands such as /feature-implement for agents.")
@click.option("--commit/--no-commit", default=None, help="Commit the files, or leave that to you.  [default: ask]")
@verify_option
@json_option
def init(
    profile: str | None,
    agents: tuple[tuple[str, list[str]], ...],
    no_commands: bool,
    commit: bool | None,
    verify: bool,
    as_json: bool,
) -> None:
    """Set up aigon in this repository: detect its checks, write .aigon/config.json, and keep runtime files out of git.

    Agents that are installed here or configured get commands such as /feature-implement in the repository. You can run
    it again: it adds the agents that --agent names, updates unedited commands, and changes nothing else.

    The files belong in a commit on the branch that features start from. In a terminal aigon asks whether to make that
    commit; without a terminal, --commit makes it. The commit contains these files only, even if others are staged.
    """
    from aigon.agents.obstacles import find_obstacles
    from aigon.job.job import hold_checkout
    from aigon.model.turns import Agent
    from aigon.run.setup import UNCOMMITTED_HINT, commit_setup, find_uncommitted_setup, initialise
    from aigon.views.setup import build_init_document, render_init

    with here() as checkout:
        done = initialise(checkout, profile, commands=not no_commands, agents=dict(agents))
        if not as_json:
            print(render_init(done))
        left = find_uncommitted_setup(checkout)
        if left.paths and commit is None and not as_json:
            commit = not left.why_not and confirm(f"Commit {', '.join(left.paths)} to {left.branch}?", default=True)
        made = ""
        if left.paths and commit:
            with hold_checkout(checkout):
                made = commit_setup(checkout, left, build_committing(commit=True, verify=verify, as_json=as_json))
        document = {
            **build_init_document(done),
            "committed": made or None,
            "uncommitted": [] if made else list(left.paths),
        }
        text = "" if made or not left.paths else f"{left.why_not or UNCOMMITTED_HINT}\n"
        for name, command in agents:
            lacks = find_obstacles(Agent(name, "command", command=(*command,)), checkout.root, os.environ).problems
            text += "".join(f"{lack}\n" for lack in lacks)
        text += "Criteria may be plain sentences: aigon feature-prove ID has an agent write a test for each.\n"
        answer(document, f"{text}Next: aigon feature-create NAME", as_json)


@click.command("doctor")
@click.argument("feature", metavar="[ID]", required=False, shell_complete=complete_features)
@click.option(
    "--repair",
    is_flag=True,
    help="Repair aigon's records and keep the damaged files; with ID, only those of that feature.",
)
@click.option("--remote", is_flag=True, help="Also test whether the git remote supports a fleet.")
@json_option
def diagnose_here(feature: str | None, repair: bool, remote: bool, as_json: bool) -> int:
    """Show which agents can work here, and what is missing: programs, versions, logins, git, isolation, sandbox.

    No model is called and nothing is changed. aigon reads an agent's version from its installer's notes, or else asks
    the program. It checks that credentials exist and that a login file has not expired, but not that they work. Inside
    a repository it also lists damaged records.

    With --repair, aigon renames damaged records (journals, state files, pages of a run) to NAME.corrupt and rebuilds
    them. Without ID, it also ends processes and removes files that killed loops left. It does not touch running loops,
    your files or your commits.

    Exit codes: 0 at least one agent is ready and the machine is fine, 6 no agent is ready, 7 a problem with git, the
    machine or a record, 2 an error in the configuration. With --repair: 0, or 7 if a run still cannot continue.
    """
    if repair:
        return _repair(feature, as_json)
    if feature:
        raise usage("ID goes with --repair only", hint=f"aigon doctor --repair {feature}")
    from aigon.commands.common import offer_around
    from aigon.git.person import forget_inherited_repository
    from aigon.run.doctor import diagnose
    from aigon.views.setup import build_diagnosis_document, render_diagnosis

    forget_inherited_repository()
    offer_around(Path.cwd())
    found = diagnose(Path.cwd(), dict(os.environ))
    if remote:
        from msgspec.structs import replace

        from aigon.fleet.plan import check_remote

        with here() as checkout:
            found = replace(found, machine=(*found.machine, check_remote(checkout)))
    answer(build_diagnosis_document(found), render_diagnosis(found), as_json)
    return int(found.exit_code)


def _repair(feature: str | None, as_json: bool) -> int:
    from aigon.git.person import forget_inherited_repository
    from aigon.run.repair import repair_repository
    from aigon.views.setup import build_repair_document, render_repair

    forget_inherited_repository()
    done = repair_repository(Path.cwd(), feature)
    answer(build_repair_document(done), render_repair(done), as_json)
    return int(done.exit_code)


@click.command("demo")
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Make it in this folder.  [default: a temporary one]",
)
@click.option(
    "--agent",
    metavar="NAME",
    shell_complete=complete_agents,
    help="Use a real agent, such as claude, instead of the recording.",
)
@json_option
def show_demo(folder: str | None, agent: str | None, as_json: bool) -> int:
    """Create a small repository with a feature to build, and run the real loop on it.

    Git, pytest, ruff, the commits and the assessments are real; only the agent is a recording, unless you name one.
    """
    from aigon.agents.adapters import find_type
    from aigon.commands.implement import observers
    from aigon.git.person import Checkout, forget_inherited_repository
    from aigon.run.implement import implement
    from aigon.run.setup import RECORDED, create_demo, describe_demo, suggest_next
    from aigon.views.terminal.lines import LineSink

    forget_inherited_repository()
    if agent:
        find_type(agent)  # a wrong name is said before anything is made
    root = create_demo(folder)
    click.echo(describe_demo(root, agent), err=as_json)
    options = Options("1", loop=True, agents=(agent or RECORDED,))
    with Checkout.open(root) as checkout:
        live = sys.stdout.isatty() and not as_json
        watching: Observers = (lambda _session: [LineSink(sys.stderr)]) if as_json else observers
        ended = implement(checkout, options, observers=watching, confirm=confirm, announce=not live)
        document = {"dir": str(root), "outcome": ended.status, "exit_code": ended.exit_code, "commit": ended.commit,
                    "summary": ended.summary}  # fmt: skip
        answer(document, f"\n{ended.summary}\n{suggest_next(checkout, agent)}", as_json)
    return ended.exit_code


@click.command("install-commands")
@click.argument("agents", metavar="AGENT...", nargs=-1, shell_complete=complete_agents)
@click.option("--mcp", is_flag=True, help="Add `aigon mcp` to each AGENT's MCP servers instead.")
@click.option("--remove", is_flag=True, help="Remove what was written, unless you edited it.")
@click.option("--dry-run", is_flag=True, help="Show what would be written; change nothing.")
@json_option
def install(agents: tuple[str, ...], mcp: bool, remove: bool, dry_run: bool, as_json: bool) -> int:
    """Add commands such as /feature-implement where each AGENT reads its commands.

    Run it again to update the files. If you edited one, aigon keeps it and writes the new version next to it
    (feature-implement.md.new). It never touches a file that it did not write.

    With --mcp it adds aigon to the agent's MCP servers instead, and leaves the rest of that file as it is.
    """
    from aigon.agents.install_commands import InstallTarget, install_commands, resolve_types
    from aigon.agents.mcp_entry import install_entries
    from aigon.config.loading import load_configuration, open_work_tree
    from aigon.git.repository import find_repository_root
    from aigon.views.setup import build_installation_document, render_installation

    root = find_repository_root(Path.cwd())
    config = load_configuration(open_work_tree(root) if root else lambda _: None)
    kinds = resolve_types(agents, root, config, "mcp" if mcp else "commands")
    found = (install_entries if mcp else install_commands)(kinds, InstallTarget(root, Path.home(), dry_run, remove))
    answer(
        build_installation_document(found, dry_run),
        render_installation(found, {kind.name: kind.title for kind in kinds}, dry_run),
        as_json,
    )
    return int(Exit.ENVIRONMENT if any(one.state == "refused" for one in found) else Exit.MET)
