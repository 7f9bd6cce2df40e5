"""`aigon spec-show` and `aigon spec-check`: what a spec asks for, and what is wrong with it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct, to_builtins
from msgspec.structs import asdict, replace

from aigon.commands.common import Duration, answer, here, json_option, offer_to_end, profile_option
from aigon.commands.completers import complete_features, complete_open_features
from aigon.errors import AigonError, Exit
from aigon.model.checks import ROLES
from aigon.model.criteria import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aigon.compile.review import SpecReview
    from aigon.job.spec_locations import SpecLocation
    from aigon.proof.proposed_allow import AllowProposal


@click.command("spec-show")
@click.argument("spec", metavar="SPEC", shell_complete=complete_features)
@json_option
def show(spec: str, as_json: bool) -> int:
    """List the criteria of SPEC (an ID, a slug or the path of a file) and how each is decided."""
    show_spec(spec, as_json=as_json)
    return 0


def show_spec(spec: str, *, as_json: bool = False) -> None:
    """Print the criteria of a spec and how each is decided."""
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
        return _in_project(wanted, wanted, files.read_spec_file(path, wanted), path.parent)
    start = Path.cwd()
    common_dir = find_repository(start).common_dir
    root = find_repository_root(start) or start
    offer_to_end(root, common_dir)
    place = locate_spec(root, common_dir, wanted)
    return _in_project(wanted, place.feature.path, place.parse(), root, place)


def _in_project(wanted: str, name: str, spec: Spec, folder: Path, place: "SpecLocation | None" = None) -> _Shown:
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
    from aigon.run.prepare import prepare, with_proposals

    try:
        with Checkout.open(folder) as checkout:
            given = (place.feature, place.files) if place else (None, None)
            prepared = prepare(checkout, Options(wanted), with_agent=False, feature=given[0], read=given[1])
            judge = prepared.judge.backend if prepared.judge else ""
            return _Shown(name, prepared.spec, judge, with_proposals(prepared, checkout).proposals)
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
    from aigon.job.options import Options

    options = Options(feature, profile=profile)
    with here() as checkout:
        review = review_spec(
            checkout, options, run=not no_run, timeout=timeout, say=lambda line: print(line, file=sys.stderr)
        )
    answer(_encode_review(review), _render_review(review), as_json)
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


def _encode_review(review: "SpecReview") -> dict[str, object]:
    return {
        "spec": review.path,
        "criteria": len(review.spec.criteria),
        "findings": to_builtins(review.findings),
        "judge": list(review.judged),
        "person": list(review.people),
        "not_run": review.not_run or None,
    }
