"""Verbs about aigon itself: `aigon config`, `aigon completion` and `aigon judge-eval`."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import (
    BashComplete,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    shell_complete,
)

from aigon.cli import COMPLETE_VARIABLE, PROGRAM
from aigon.commands.common import answer, here, json_option, judge_option
from aigon.commands.completers import complete_models
from aigon.errors import Exit, usage

if TYPE_CHECKING:
    from aigon.run.config_origin import Given


origin_option = click.option("--origin", is_flag=True, help="Show where each value comes from.")


@click.group("config", invoke_without_command=True)
@origin_option
@json_option
@click.pass_context
def command(context: click.Context, origin: bool, as_json: bool) -> None:
    """Show the configuration in effect here, the paths of its files, and the schemas by which editors check them.

    Without a subcommand it shows the values, like `aigon config show`.
    """
    if context.invoked_subcommand is None:
        context.invoke(show, origin=origin, as_json=as_json)
    elif origin or as_json:
        context.fail("Options go behind the verb, as in: aigon config show --origin --json")


@command.command("show", short_help="Show every value in effect here.")
@origin_option
@json_option
def show(origin: bool, as_json: bool) -> None:
    """Show every value in effect for this repository, and the resulting checks. Durations are in seconds.

    A value comes from an AIGON_* variable, .aigon/config.json, your own config.json, the profile (its file is named) or
    the default. An option of a command overrides all of them. Values that look like credentials are not shown.
    """
    from aigon.run.config_origin import list_configuration
    from aigon.views.setup import render_config

    given = _read_given()
    with here() as checkout:
        found = list_configuration(checkout.root, dict(os.environ), given)
    rows = [(each.key, each.value, each.origin) for each in found]
    listed = [{"key": key, "value": value, "origin": where} for key, value, where in rows]
    answer({"values": listed}, render_config(rows, origin=origin), as_json)


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
def schema(name: str | None, write: bool, as_json: bool) -> None:
    """Print the JSON Schema called NAME: config, ecosystem, profile or spec (its frontmatter); without NAME, their
    names.

    With --write, editors find the schemas in the repository; git ignores them.
    """
    from aigon.config import loading

    if write:
        with here() as checkout:
            written = loading.write_schemas(checkout.root)
        answer({"written": list(written)}, "\n".join(f"Wrote {path}" for path in written), as_json)
        return
    if name is None:
        answer({"schemas": list(loading.list_schemas())}, "\n".join(loading.list_schemas()), as_json)
        return
    found = loading.load_schema(name)
    answer({"name": name, "schema": found}, json.dumps(found, indent=2, ensure_ascii=False), as_json)


@command.command("path", short_help="Show where the files are.")
@json_option
def path(as_json: bool) -> None:
    """Say where the configuration is read from, and where aigon keeps its own records."""
    from aigon.config.loading import PROJECT_FILE, get_user_file
    from aigon.files.home import state_home
    from aigon.git.repository import find_repository_root

    root = find_repository_root(Path.cwd())
    places = {"project": root / PROJECT_FILE if root else None, "user": get_user_file(), "state": state_home()}
    listed = {name: {"path": str(place), "exists": place.exists()} for name, place in places.items() if place}
    lines = [f"{name:<8} {each['path']}{'' if each['exists'] else '  (not there)'}" for name, each in listed.items()]
    answer({"paths": listed}, "\n".join(lines), as_json)


class _QuietBash(BashComplete):
    """Bash splits a word at `:` and `=`: put `claude:opus` together again, and answer with the part after the colon."""

    source_template = BashComplete.source_template.replace("_complete $1)", "_complete $1 2>/dev/null)")
    _replied = ""
    """What bash keeps of the word that it completes."""

    def get_completion_args(self) -> tuple[list[str], str]:
        arguments, typed = super().get_completion_args()
        words: list[str] = []
        is_split = False
        for word in (*arguments, typed):
            is_split = bool(words) and (word == ":" or words[-1].endswith(":"))
            if is_split:
                words[-1] += word
            elif word != "=" or not words or not words[-1].startswith("--"):
                words.append(word)
        if typed == "=":
            words.append("")
        self._replied = words[-1].rpartition(":")[0] + ":" if is_split else ""
        return words[:-1], words[-1]

    def format_completion(self, item: Any) -> str:
        item.value = item.value.removeprefix(self._replied)
        return super().format_completion(item)


class _QuietFish(FishComplete):
    """Fish splits an answer at every comma: keep those of `claude,codex` and of descriptions."""

    source_template = FishComplete.source_template.replace("%(prog_name)s);", "%(prog_name)s 2>/dev/null);", 1).replace(
        'string split ","', 'string split --max 1 ","'
    )


SHELLS: dict[str, type[ShellComplete]] = {"bash": _QuietBash, "zsh": ZshComplete, "fish": _QuietFish}


@click.command("completion")
@click.argument("shell", type=click.Choice(list(SHELLS)))
@json_option
def print_script(shell: str, as_json: bool) -> None:
    """Print a script that completes commands, options, features, agents, models and profiles with Tab in SHELL.

    bash: put this line into ~/.bashrc.

    \b
      eval "$(aigon completion bash)"

    zsh: put this line into ~/.zshrc, after compinit.

    \b
      eval "$(aigon completion zsh)"

    fish: run this once.

    \b
      cd ~/.config/fish/completions
      aigon completion fish > aigon.fish
    """
    from aigon.commands.root import root

    script = ShellComplete.source(SHELLS[shell](root, {}, PROGRAM, COMPLETE_VARIABLE))
    answer({"shell": shell, "script": script}, script.rstrip("\n"), as_json)


def complete() -> None:
    """Answer a shell that asks what could come next. Nothing but that reaches the prompt, whatever goes wrong."""
    from aigon.commands.root import root

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    try:
        for shell in SHELLS.values():
            add_completion_class(shell)
        shell_complete(root, {}, PROGRAM, COMPLETE_VARIABLE, os.environ[COMPLETE_VARIABLE])
    except Exception:  # outside a repository, a command that does not exist, a file that cannot be read
        return


JUDGE_EVAL_ENDS = {"": Exit.MET, "SIGTERM": Exit.TERMINATED}
"""The exit code by what ended it; whatever is not here is an interruption."""


@click.command("judge-eval")
@click.option("--set", "folder", metavar="PATH", help="Use the cases in this folder.  [default: the set that ships]")
@judge_option("Choose the judge: anthropic, agent, command.")
@click.option(
    "--model", metavar="NAME", shell_complete=complete_models, help="Choose its model instead of judge.model."
)
@click.option(
    "--mode",
    type=click.Choice(["all", "each"]),
    help="Ask about all criteria of a change in one call, or about each in its own.",
)
@click.option("--repeat", type=click.IntRange(1, 100), default=1, help="Judge the whole set this many times.")
@click.option("--verbose", is_flag=True, help="Show a line per case, and every wrong verdict.")
@json_option
def measure_judge(
    folder: str | None,
    judge: str | None,
    model: str | None,
    mode: str | None,
    repeat: int,
    verbose: bool,
    as_json: bool,
) -> int:
    """Measure a judge's accuracy: let it decide labelled changes as it would in a loop.

    It counts false ticks (the judge says passed, the label says failed), missed ticks, undecided criteria, quotes that
    are not where the judge said, calls, tokens and cost. With a paid model, this costs money.

    Your own set (--set) is a folder with one folder per case:

    \b
    case.yaml  about: one line; truth: {1: met, 2: failed},
               a label for each criterion of a judge;
               if needed: delete: [paths], and what passed:
               checks: [{title, summary, output}]
    spec.md    a feature spec
    before/    the files before the change, if any
    after/     the files that are new or changed,
               or change.diff in its place

    The set that ships is described in templates/judging/README.md.
    """
    from aigon.git.person import forget_inherited_repository
    from aigon.run.judge_eval import JudgeEvalRequest, evaluate_judge
    from aigon.views.figures import build_accuracy_document, render_accuracy

    forget_inherited_repository()
    asked = JudgeEvalRequest(folder, judge, model, mode, repeat)
    found, ended = evaluate_judge(Path.cwd(), asked, lambda line: print(line, file=sys.stderr))
    answer(build_accuracy_document(found), render_accuracy(found, verbose), as_json)
    return int(JUDGE_EVAL_ENDS.get(ended, Exit.INTERRUPTED))
