"""`aigon spec-show`: list a spec's criteria."""

from pathlib import Path

import click

from aigon.commands.common import answer, here, json_option
from aigon.core.model import Criterion, Spec


@click.command("spec-show")
@click.argument("spec", metavar="SPEC")
@json_option
def command(spec: str, as_json: bool) -> int:
    """List the criteria of SPEC (an ID, a slug or the path of a file) and how each is decided."""
    name, parsed = _parsed(spec)
    answer(_document(name, parsed), _text(name, parsed), as_json)
    return 0


def _parsed(wanted: str) -> tuple[str, Spec]:
    """A file by its path needs no repository around it."""
    from aigon.run import specs
    from aigon.run.spec_places import find_place

    path = Path(wanted)
    if path.suffix == ".md" and path.is_file():
        return wanted, specs.read_file(path, wanted)
    with here() as checkout:
        place = find_place(checkout.root, checkout.common_dir, wanted)
        return place.feature.path, place.parse()


def _document(name: str, spec: Spec) -> dict[str, object]:
    return {
        "spec": name,
        "title": spec.title,
        "criteria": [_criterion(criterion) for criterion in spec.criteria],
        "validation": spec.validation,
        "warnings": [{"line": warning.line, "message": warning.message} for warning in spec.warnings],
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


def _text(name: str, spec: Spec) -> str:
    rows = [f"{spec.title or name}  ({name})"]
    for criterion in spec.criteria:
        box = "x" if criterion.checked else " "
        how = f"  <{criterion.kind}{f': {criterion.command}' if criterion.command else ''}>"
        rows.append(f"{criterion.number:3}. [{box}] {criterion.text}{how}")
    rows += [f"warning, line {warning.line}: {warning.message}" for warning in spec.warnings]
    return "\n".join(rows)
