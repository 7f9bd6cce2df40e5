"""`aigon spec-compile`: propose how each open criterion can be decided by running something."""

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from aigon.commands.common import Duration, answer, confirm, here, json_option, judge_option, profile_option
from aigon.commands.completers import complete_open_features
from aigon.job.options import Options

if TYPE_CHECKING:
    from aigon.compile.compilation import Compilation, CompiledCriterion

ANSWERS = "[y]es, [n]o, [a]ll from here that --yes would take, [q]uit"


class Numbers(click.ParamType[tuple[int, ...]]):
    """Numbers of criteria, written as 1,3."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """The numbers."""
        if isinstance(value, tuple):
            return value
        try:
            return tuple(int(part) for part in str(value).split(","))
        except ValueError:
            self.fail(f"{value!r} is not a list of criteria such as 1,3", param, ctx)


@click.command("spec-compile")
@click.argument("feature", metavar="ID", shell_complete=complete_open_features)
@click.argument("numbers", metavar="[N]...", nargs=-1, type=int)
@click.option(
    "--accept", is_flag=True, help="Put annotations from outside into force: all, or those with the numbers N."
)
@click.option("--only", type=Numbers(), default=(), metavar="1,3", help="Take only these criteria, by their numbers.")
@profile_option()
@judge_option("Choose whose model proposes (none: rules only, at no cost).")
@click.option("--timeout", type=Duration(), default="60s", show_default=True, help="Give each command this long.")
@click.option("--run-all", is_flag=True, help="Run proposed commands even if no sandbox works here.")
@click.option("--yes", "-y", is_flag=True, help="Take what is sure or likely and fails now, without asking.")
@json_option
def command(
    feature: str,
    numbers: tuple[int, ...],
    accept: bool,
    yes: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Propose a command that decides each open criterion of feature ID.

    A judge decides a criterion that has no annotation. This command proposes something better for each: a shell command
    (verify), a number with a bound (metric), one of the project's checks (check), a person (human), or the judge after
    all. It asks the judge's model if one is configured, and otherwise applies rules.

    aigon runs every proposed command once, on a copy of the files and in a sandbox without a network. It should fail
    now and pass once the feature is built; a command that passes already proves nothing. If no sandbox works here,
    aigon shows the commands without running them, unless you add --run-all.

    aigon writes nothing until you agree. In a terminal it asks about each proposal. --yes takes those that are sure or
    likely and fail now, and with --only also the guesses that you name. Without a terminal and without --yes it only
    lists them. Only the lines of those criteria change, and nothing is committed.

    With --accept it lists the annotations of a text from outside (an issue, a task over MCP) and puts them into force
    if you agree: all of them, or those with the numbers N. Until then they run nothing.
    """
    if accept or numbers:
        return _accept(feature, numbers, accept, yes, as_json)
    return _propose(feature, yes=yes, as_json=as_json, **given)


def _propose(
    feature: str, *, only: tuple[int, ...], timeout: float, run_all: bool, yes: bool, as_json: bool, **given: Any
) -> int:
    from aigon.compile.compilation import encode_compilation, render_compilation
    from aigon.compile.compile import compile_spec, write_annotations
    from aigon.run.invocations import require_person

    asks = not (as_json or yes) and sys.stdin.isatty() and sys.stderr.isatty()
    if yes:
        require_person("spec-compile", yes)
    options = Options(feature, **given)
    with here() as checkout:
        found = compile_spec(
            checkout,
            options,
            only=only,
            timeout=timeout,
            may_run=lambda commands: run_all or (asks and _may_run(commands)),
            say=lambda line: print(line, file=sys.stderr),
        )
        if not as_json:
            print(render_compilation(found))
        listed = (row.criterion.number for row in found.rows if yes and row.taken_by_yes(only))
        taken = tuple(_said_yes(found.rows, only) if asks else listed)
        if taken:
            require_person("spec-compile", yes)
            write_annotations(checkout, found, taken)
    if as_json:
        answer(encode_compilation(found, taken), "", as_json)
    else:
        print(f"\n{_ending(found, taken, only)}")
    return 0


def _accept(feature: str, numbers: tuple[int, ...], accept: bool, yes: bool, as_json: bool) -> int:
    from aigon.compile.compile import accept_foreign, encode_proposals, find_foreign, render_proposals
    from aigon.run.invocations import require_person

    if not accept:
        raise click.UsageError("Numbers of proposals go with --accept")
    require_person("spec-compile --accept", yes)
    with here() as checkout:
        found = find_foreign(checkout, feature, numbers)
        print(render_proposals(found), file=sys.stderr if as_json else sys.stdout)
        is_agreed = yes or confirm("Put these into force?")
        if is_agreed:
            accept_foreign(checkout, found)
    text = f"Wrote {found.feature.path}. Nothing was committed: the next run commits its spec."
    answer(encode_proposals(found, is_agreed), text if is_agreed else "Nothing was written.", as_json)
    return 0


def _may_run(commands: Sequence[str]) -> bool:
    listed = "\n".join(f"  {line}" for line in commands)
    print(f"These may change something:\n{listed}", file=sys.stderr)
    return confirm("Run them now, to see whether they fail?")


def _said_yes(rows: "Sequence[CompiledCriterion]", only: Sequence[int]) -> Iterator[int]:
    """The numbers that a person said yes to, one question each."""
    from aigon.compile.compilation import render_question

    everything = False
    for row in (row for row in rows if row.writable):
        if everything and row.taken_by_yes(only):
            yield row.criterion.number
        if everything:
            continue
        print(render_question(row), file=sys.stderr)
        said = click.prompt(
            f"Write this? {ANSWERS}", type=click.Choice(["y", "n", "a", "q"]), show_choices=False, err=True
        )
        if said == "q":
            return
        everything = said == "a"
        if said == "y" or (everything and row.taken_by_yes(only)):
            yield row.criterion.number


def _ending(found: "Compilation", taken: Sequence[int], only: Sequence[int]) -> str:
    name, path = found.feature.name_for_people, found.feature.path
    if taken:
        numbers = ", ".join(map(str, taken))
        return f"Wrote the annotations of {numbers} into {path}. Nothing was committed: the next run commits its spec."
    ready = [str(row.criterion.number) for row in found.rows if row.taken_by_yes(only)]
    if not ready:
        return "Nothing was written."
    return (
        f"Nothing was written. aigon spec-compile {name} asks in a terminal; with --yes it writes {', '.join(ready)}."
    )
