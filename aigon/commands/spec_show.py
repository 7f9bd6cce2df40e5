"""`aigon spec-show`: list a spec's criteria."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aigon.commands.common import answer, here, json_option
from aigon.errors import AigonError
from aigon.model.criteria import Criterion, Spec

if TYPE_CHECKING:
    from aigon.job.spec_locations import SpecLocation


@click.command("spec-show")
@click.argument("spec", metavar="SPEC")
@json_option
def command(spec: str, as_json: bool) -> int:
    """List the criteria of SPEC (an ID, a slug or the path of a file) and how each is decided."""
    name, parsed, judge = _parsed(spec)
    answer(_document(name, parsed), _text(name, parsed, judge), as_json)
    return 0


def _parsed(wanted: str) -> tuple[str, Spec, str]:
    """Return name, spec and judge ("" for none). A file by its path needs no repository around it."""
    from aigon.job.spec_locations import locate_spec
    from aigon.spec import files

    path = Path(wanted)
    if path.suffix == ".md" and path.is_file():
        return wanted, *_in_project(wanted, files.read_spec_file(path, wanted), path.parent)
    with here() as checkout:
        place = locate_spec(checkout.root, checkout.common_dir, wanted)
        return place.feature.path, *_in_project(wanted, place.parse(), checkout.root, place)


def _in_project(wanted: str, spec: Spec, folder: Path, place: "SpecLocation | None" = None) -> tuple[Spec, str]:
    """Return the spec as a run would read it, and the judge; as it is if there is no sound project around it."""
    if all(criterion.kind != "judge" for criterion in spec.criteria):
        return spec, ""  # only open criteria depend on the project
    from aigon.git.person import Checkout
    from aigon.job.options import Options
    from aigon.run.prepare import prepare

    with suppress(AigonError), Checkout.open(folder) as checkout:
        given = (place.feature, place.files) if place else (None, None)
        prepared = prepare(checkout, Options(wanted), with_agent=False, feature=given[0], read=given[1])
        return prepared.spec, prepared.judge.backend if prepared.judge else ""
    return spec, "judge"


def _document(name: str, spec: Spec) -> dict[str, object]:
    from aigon.proof.vacuity import list_warnings

    return {
        "spec": name,
        "title": spec.title,
        "criteria": [_criterion(criterion) for criterion in spec.criteria],
        "validation": spec.validation,
        "warnings": [{"line": warning.line, "message": warning.message} for warning in list_warnings(spec)],
    }


def _criterion(criterion: Criterion) -> dict[str, object]:
    return {
        "number": criterion.number,
        "line": criterion.line,
        "text": criterion.text,
        "checked": criterion.checked,
        "kind": criterion.kind,
        "command": criterion.command,
    }


def _text(name: str, spec: Spec, judge: str) -> str:
    from aigon.proof.vacuity import list_warnings

    rows = [f"{spec.title or name}  ({name})"]
    for criterion in spec.criteria:
        box = "x" if criterion.checked else " "
        kind = "a person" if criterion.kind == "human" or not (judge or criterion.kind != "judge") else criterion.kind
        how = f"  <{kind}{f': {criterion.command}' if criterion.command else ''}>"
        rows.append(f"{criterion.number:3}. [{box}] {criterion.text}{how}")
    rows += [f"warning, line {warning.line}: {warning.message}" for warning in list_warnings(spec)]
    return "\n".join(rows)
