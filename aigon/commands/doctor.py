"""`aigon doctor`: which agents can work here, and what the machine lacks."""

import os
from pathlib import Path

import click

from aigon.commands.common import answer, here, json_option
from aigon.commands.completers import complete_features
from aigon.errors import usage


@click.command("doctor")
@click.argument("feature", metavar="[ID]", required=False, shell_complete=complete_features)
@click.option(
    "--repair",
    is_flag=True,
    help="Repair aigon's own records, and keep what was damaged; with ID, those of that feature alone.",
)
@click.option("--remote", is_flag=True, help="Also try on the git remote what a fleet needs of it.")
@json_option
def command(feature: str | None, repair: bool, remote: bool, as_json: bool) -> int:
    """See which agents can work here, and what is missing: programs, versions, logins, git, isolation, a sandbox.

    An agent's version is what its installer noted, else its program is asked. No model is asked and nothing is changed.
    aigon looks only whether credentials are there, and whether a file can hold a login that has not expired. Inside a
    repository it also says which of aigon's records are damaged.

    With --repair, damaged records (journals, state files, what a run left for people) are kept as NAME.corrupt and made
    anew. Without ID, processes and files that killed loops left are ended and removed as well. A loop that runs is left
    alone; your files and commits are not touched.

    Exit codes: 0 at least one agent is ready and the machine is fine, 6 no agent is ready, 7 git, the machine or a
    record is not fine, 2 the configuration is wrong. With --repair: 0, or 7 if a run cannot go on even so.
    """
    if repair:
        return _repair(feature, as_json)
    if feature:
        raise usage("A feature is named for --repair only", hint=f"aigon doctor --repair {feature}")
    from aigon.commands.leftovers import offer_around
    from aigon.git.person import forget_inherited_repository
    from aigon.run.doctor import diagnose
    from aigon.views.doctor import build_diagnosis_document, render_diagnosis

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
    from aigon.run.repair.repair import repair_repository
    from aigon.views.doctor import build_repair_document, render_repair

    forget_inherited_repository()
    done = repair_repository(Path.cwd(), feature)
    answer(build_repair_document(done), render_repair(done), as_json)
    return int(done.exit_code)
