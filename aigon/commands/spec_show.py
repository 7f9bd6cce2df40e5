"""`aigon spec-show`: list a spec's criteria."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct
from msgspec.structs import asdict

from aigon.commands.common import answer, here, json_option
from aigon.commands.completers import complete_features
from aigon.errors import AigonError
from aigon.model.criteria import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aigon.job.spec_locations import SpecLocation
    from aigon.proof.proposed_allow import AllowProposal


@click.command("spec-show")
@click.argument("spec", metavar="SPEC", shell_complete=complete_features)
@json_option
def command(spec: str, as_json: bool) -> int:
    """List the criteria of SPEC (an ID, a slug or the path of a file) and how each is decided."""
    show_spec(spec, as_json=as_json)
    return 0


def show_spec(spec: str, *, as_json: bool = False) -> None:
    """Print the criteria of a spec and how each is decided."""
    shown = _parsed(spec)
    answer(_document(shown), _text(shown), as_json)


class _Shown(Struct, frozen=True, dict=True):
    """A spec under its name, as a run would read it, the judge ("" for none), and what it should allow."""

    name: str
    spec: Spec
    judge: str = ""
    proposals: "Sequence[AllowProposal]" = ()


def _parsed(wanted: str) -> _Shown:
    """Return the spec. A file by its path needs no repository around it."""
    from aigon.job.spec_locations import locate_spec
    from aigon.spec import files

    path = Path(wanted)
    if path.suffix == ".md" and path.is_file():
        return _in_project(wanted, wanted, files.read_spec_file(path, wanted), path.parent)
    with here() as checkout:
        place = locate_spec(checkout.root, checkout.common_dir, wanted)
        return _in_project(wanted, place.feature.path, place.parse(), checkout.root, place)


def _in_project(wanted: str, name: str, spec: Spec, folder: Path, place: "SpecLocation | None" = None) -> _Shown:
    """Return the spec as a run would read it; as it is if there is no sound project around it."""
    from aigon.git.person import Checkout
    from aigon.job.options import Options
    from aigon.run.prepare import prepare, with_proposals

    with suppress(AigonError), Checkout.open(folder) as checkout:
        given = (place.feature, place.files) if place else (None, None)
        prepared = prepare(checkout, Options(wanted), with_agent=False, feature=given[0], read=given[1])
        judge = prepared.judge.backend if prepared.judge else ""
        return _Shown(name, prepared.spec, judge, with_proposals(prepared, checkout).proposals)
    return _Shown(name, spec, "judge")


def _document(shown: _Shown) -> dict[str, object]:
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


def _text(shown: _Shown) -> str:
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
