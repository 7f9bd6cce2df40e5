"""`aigon config`: the configuration as it holds here, its files, its schemas."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aigon.commands.common import answer, here, json_option
from aigon.errors import usage

if TYPE_CHECKING:
    from aigon.run.config_origin import Given


origin_option = click.option("--origin", is_flag=True, help="Show where each value comes from.")


@click.group("config", invoke_without_command=True)
@origin_option
@json_option
@click.pass_context
def command(context: click.Context, origin: bool, as_json: bool) -> int:
    """Show the configuration in effect here, the paths of its files, and the schemas by which editors check them.

    Without a subcommand it shows the values, like `aigon config show`.
    """
    if context.invoked_subcommand is None:
        return _show(origin, as_json)
    if origin or as_json:
        context.fail("Options go behind the verb, as in: aigon config show --origin --json")
    return 0


@command.command("show", short_help="Show every value in effect here.")
@origin_option
@json_option
def show(origin: bool, as_json: bool) -> int:
    """Show every value in effect for this repository, and the resulting checks. Durations are in seconds.

    A value comes from an AIGON_* variable, .aigon/config.json, your own config.json, the profile (its file is named) or
    the default. An option of a command overrides all of them. Values that look like credentials are not shown.
    """
    return _show(origin, as_json)


def _show(origin: bool, as_json: bool) -> int:
    from aigon.run.config_origin import values
    from aigon.views.setup import render_config

    given = _read_given()
    with here() as checkout:
        found = values(checkout.root, dict(os.environ), given)
    rows = [(each.key, each.value, each.origin) for each in found]
    listed = [{"key": key, "value": value, "origin": where} for key, value, where in rows]
    answer({"values": listed}, render_config(rows, origin=origin), as_json)
    return 0


def _read_given() -> "dict[str, Given]":
    """Return the values of AIGON_* variables, read by the options that they replace. Raises AigonError (exit 2)."""
    from click.core import ParameterSource

    from aigon.commands.implement import implement_feature
    from aigon.run.config_origin import Given

    try:
        context = implement_feature.make_context("aigon feature-implement", ["ID"])
    except click.BadParameter as error:
        variable = error.param.envvar if error.param else ""
        raise usage(
            f"{variable} has a bad value: {error.message.rstrip('.')}",
            where="the environment",
            hint=f"unset {variable}",
        ) from None
    given = {}
    for option in implement_feature.params:
        name = option.name or ""
        if context.get_parameter_source(name) is ParameterSource.ENVIRONMENT:
            given[name] = Given(context.params[name], str(option.envvar))
    return given


@command.command("schema", short_help="Print a JSON Schema, for editors.")
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--write", is_flag=True, help="Write all of them into .aigon/schemas/, which git ignores.")
@json_option
def schema(name: str | None, write: bool, as_json: bool) -> int:
    """Print the JSON Schema called NAME: config, ecosystem, profile or spec (its frontmatter); without NAME, their
    names.

    With --write, editors find the schemas in the repository; git ignores them.
    """
    from aigon.config import loading

    if write:
        with here() as checkout:
            written = loading.write_schemas(checkout.root)
        answer({"written": list(written)}, "\n".join(f"Wrote {path}" for path in written), as_json)
        return 0
    if name is None:
        answer({"schemas": list(loading.list_schemas())}, "\n".join(loading.list_schemas()), as_json)
        return 0
    found = loading.load_schema(name)
    answer({"name": name, "schema": found}, json.dumps(found, indent=2, ensure_ascii=False), as_json)
    return 0


@command.command("path", short_help="Show where the files are.")
@json_option
def path(as_json: bool) -> int:
    """Say where the configuration is read from, and where aigon keeps its own records."""
    from aigon.config.loading import PROJECT_FILE, get_user_file
    from aigon.files.home import state_home
    from aigon.git.repository import find_repository_root

    root = find_repository_root(Path.cwd())
    places = {"project": root / PROJECT_FILE if root else None, "user": get_user_file(), "state": state_home()}
    listed = {name: {"path": str(place), "exists": place.exists()} for name, place in places.items() if place}
    lines = [f"{name:<8} {each['path']}{'' if each['exists'] else '  (not there)'}" for name, each in listed.items()]
    answer({"paths": listed}, "\n".join(lines), as_json)
    return 0
