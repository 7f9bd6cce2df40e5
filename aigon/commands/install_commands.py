"""`aigon install-commands`: write aigon's commands where agents read theirs."""

from pathlib import Path

import click

from aigon.commands.common import answer, json_option
from aigon.commands.completers import complete_agents
from aigon.errors import Exit


@click.command("install-commands")
@click.argument("agents", metavar="AGENT...", nargs=-1, shell_complete=complete_agents)
@click.option("--mcp", is_flag=True, help="Tell each AGENT of `aigon mcp`, where it reads its MCP servers.")
@click.option("--remove", is_flag=True, help="Take away what was written, unless you edited it.")
@click.option("--dry-run", is_flag=True, help="Show what would be written; change nothing.")
@json_option
def command(agents: tuple[str, ...], mcp: bool, remove: bool, dry_run: bool, as_json: bool) -> int:
    """Give each AGENT commands such as /feature-implement, where it reads the commands of its people.

    Running it again brings the files up to date. One that you edited is left as it is, with the newer version beside
    it (feature-implement.md.new); one that aigon did not write is never touched.

    With --mcp it adds aigon's entry to the agent's MCP servers instead, and leaves the rest of that file as it is.
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
