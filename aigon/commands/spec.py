"""`aigon spec-show`, `spec-check` and `spec-compile`: what a spec asks for, its flaws, and what could decide it."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct, to_builtins
from msgspec.structs import asdict, replace

from aigon.commands.common import (
    Duration,
    answer,
    confirm,
    here,
    json_option,
    judge_option,
    offer_to_end,
    profile_option,
)
from aigon.commands.completers import complete_features, complete_open_features
from aigon.errors import AigonError, Exit
from aigon.job.options import Options
from aigon.model.checks import ROLES
from aigon.model.criteria import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aigon.compile.review import SpecReview
    from aigon.job.spec_locations import SpecLocation
    from aigon.proof.proposed_allow import AllowProposal
if TYPE_CHECKING:
    from aigon.compile.compilation import Compilation, CompiledCriterion


@click.command("spec-show")
@click.argument("spec", metavar="SPEC", shell_complete=complete_features)
@json_option
def show(spec: str, as_json: bool) -> None:
    """List the criteria of SPEC (an ID, a slug or the path of a file) and how each is decided."""
    shown = _parse(spec)
    answer(_encode_spec(shown) if as_json else {}, "" if as_json else _render_spec(shown), as_json)


class _Shown(Struct, frozen=True, dict=True):
    """A spec under its name, as a run would read it, the judge ("" for none), and what it should allow."""

    name: str
    spec: Spec
    judge: str = ""
    proposals: "Sequence[AllowProposal]" = ()


def _parse(wanted: str) -> _Shown:
    """Return the spec. A file by its path needs no repository around it."""
    from aigon.git.repository import find_repository, find_repository_root
    from aigon.job.spec_locations import locate_spec
    from aigon.spec import files

    path = Path(wanted)
    if path.suffix == ".md" and path.is_file():
        return _read_in_project(wanted, wanted, files.read_spec_file(path, wanted), path.parent)
    start = Path.cwd()
    common_dir = find_repository(start).common_dir
    root = find_repository_root(start) or start
    offer_to_end(root, common_dir)
    place = locate_spec(root, common_dir, wanted)
    return _read_in_project(wanted, place.feature.path, place.parse(), root, place)


def _read_in_project(wanted: str, name: str, spec: Spec, folder: Path, place: "SpecLocation | None" = None) -> _Shown:
    """Return the spec as a run would read it; as it is if the project around it is not sound, or adds nothing to it."""
    from aigon.proof.proposed_allow import list_changing_sentences

    needs_project = any(
        each.kind == "judge" or (each.kind == "check" and each.command not in ROLES) for each in spec.criteria
    )
    if not needs_project and not list_changing_sentences(spec):
        return _Shown(name, spec)
    from aigon.compile.review import find_refused_line
    from aigon.git.person import Checkout
    from aigon.job.options import Options
    from aigon.run.prepare import add_proposals, prepare

    try:
        with Checkout.open(folder) as checkout:
            given = (place.feature, place.files) if place else (None, None)
            prepared = prepare(checkout, Options(wanted), with_agent=False, feature=given[0], read=given[1])
            judge = prepared.judge.backend if prepared.judge else ""
            return _Shown(name, prepared.spec, judge, add_proposals(prepared, checkout).proposals)
    except AigonError as error:
        refused = find_refused_line(error, name)
        return _Shown(name, replace(spec, warnings=(*spec.warnings, *([refused] if refused else ()))), "judge")


def _encode_spec(shown: _Shown) -> dict[str, object]:
    from aigon.proof.vacuity import list_warnings

    spec = shown.spec
    return {
        "spec": shown.name,
        "title": spec.title,
        "criteria": [{key: value for key, value in asdict(each).items() if key != "box"} for each in spec.criteria],
        "validation": spec.validation,
        "warnings": [asdict(warning) for warning in list_warnings(spec)],
        "proposed_allow": [{"path": each.path, "why": each.why} for each in shown.proposals],
    }


def _render_spec(shown: _Shown) -> str:
    from aigon.proof.proposed_allow import describe_proposals
    from aigon.proof.vacuity import list_warnings

    spec, judge = shown.spec, shown.judge
    rows = [f"{spec.title or shown.name}  ({shown.name})"]
    for criterion in spec.criteria:
        box = "x" if criterion.checked else " "
        kind = "a person" if criterion.kind == "human" or not (judge or criterion.kind != "judge") else criterion.kind
        how = f"  <{kind}{f': {criterion.command}' if criterion.command else ''}>"
        rows.append(f"{criterion.number:3}. [{box}] {criterion.text}{how}")
    rows += [f"warning, line {warning.line}: {warning.message}" for warning in list_warnings(spec)]
    return "\n".join([*rows, *describe_proposals(shown.proposals, shown.name)])


@click.command("spec-check")
@click.argument("feature", metavar="ID", shell_complete=complete_open_features)
@profile_option()
@click.option(
    "--no-run", is_flag=True, help="Run no commands of the spec: for editors, and specs that you do not trust."
)
@click.option("--timeout", type=Duration(), default="60s", show_default=True, help="Give each command this long.")
@json_option
def check(feature: str, profile: str | None, no_run: bool, timeout: float, as_json: bool) -> int:
    """Check the spec of feature ID (or the path of its file) without a model.

    It finds vague words, two claims in one box, commands that pass already, a spec without tests or with more than 20
    criteria, and counts the criteria that wait for a judge or a person. Each finding has its line and column. The exit
    code is 3 if there are findings, else 0.

    The commands of the criteria run once on a copy of the files, as they do before the first turn of a run.
    """
    from aigon.compile.review import review_spec

    options = Options(feature, profile=profile)
    with here() as checkout:
        review = review_spec(
            checkout, options, run=not no_run, timeout=timeout, say=lambda line: print(line, file=sys.stderr)
        )
    document = {
        "spec": review.path,
        "criteria": len(review.spec.criteria),
        "findings": to_builtins(review.findings),
        "judge": list(review.judged),
        "person": list(review.people),
        "not_run": review.not_run or None,
    }
    answer(document, _render_review(review), as_json)
    return Exit.STOPPED if review.findings else Exit.MET


def _render_review(review: "SpecReview") -> str:
    from aigon.compile.review import describe_deciders
    from aigon.text.amounts import format_count
    from aigon.text.quoting import clean

    lines = []
    for each in review.findings:
        hint = f". {each.hint}" if each.hint else ""
        lines.append(clean(f"{review.path}:{each.line}:{each.column}: {each.message}{hint} [{each.rule}]"))
    lines += [f"No command of the spec was run: {clean(review.not_run)}"] if review.not_run else []
    lines += [describe_deciders(review), format_count(len(review.findings), "finding")]
    if any(criterion.kind == "judge" for criterion in review.spec.criteria):
        lines.append(f"aigon feature-prove {review.name} has an agent write tests for what nothing decides yet")
    return "\n".join(lines)


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
def propose_commands(
    feature: str,
    numbers: tuple[int, ...],
    accept: bool,
    yes: bool,
    as_json: bool,
    **given: Any,
) -> None:
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
        _accept(feature, numbers, accept, yes, as_json)
    else:
        _propose(feature, yes=yes, as_json=as_json, **given)


def _propose(
    feature: str, *, only: tuple[int, ...], timeout: float, run_all: bool, yes: bool, as_json: bool, **given: Any
) -> None:
    from aigon.compile.compilation import encode_compilation, render_compilation
    from aigon.compile.compile import compile_spec, write_annotations
    from aigon.job.options import Options
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
        taken = tuple(_ask_each(found.rows, only) if asks else listed)
        if taken:
            require_person("spec-compile", yes)
            write_annotations(checkout, found, taken)
    if as_json:
        answer(encode_compilation(found, taken), "", as_json)
    else:
        print(f"\n{_describe_end(found, taken, only)}")


def _accept(feature: str, numbers: tuple[int, ...], accept: bool, yes: bool, as_json: bool) -> None:
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


def _may_run(commands: Sequence[str]) -> bool:
    listed = "\n".join(f"  {line}" for line in commands)
    print(f"These may change something:\n{listed}", file=sys.stderr)
    return confirm("Run them now, to see whether they fail?")


def _ask_each(rows: "Sequence[CompiledCriterion]", only: Sequence[int]) -> Iterator[int]:
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


def _describe_end(found: "Compilation", taken: Sequence[int], only: Sequence[int]) -> str:
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
