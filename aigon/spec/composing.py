"""Write a spec from parts that strangers or agents wrote. Nothing in them decides or runs anything."""

import json
from collections.abc import Iterator
from itertools import groupby

from aigon.model.imported import ImportedCriterion, ImportedSpec
from aigon.spec.features import LARGEST, TOO_MUCH
from aigon.spec.foreign import disarm_annotations
from aigon.text.amounts import size_error
from aigon.text.quoting import code_block, code_span, fold, list_item

_LONGEST = 4_000
"""Characters of one criterion, question or summary that are kept."""
NO_CRITERIA = "<!-- Your criteria go here: one `- [ ] ...` for each thing that has to be true. -->"


def compose_spec(spec: ImportedSpec, source: str, priority: str = "") -> bytes:
    """Return the file of a feature. Annotations are proposals in it, and the original is one fenced block per text.

    Raises a usage error above the size of a spec.
    """
    keys = {"source": json.dumps(fold(source, _LONGEST), ensure_ascii=False) if source else "", "priority": priority}
    given = [f"{key}: {value}" for key, value in keys.items() if value]
    head = ["---", *given, "---", ""] if given else []
    lines = [*head, f"# Feature: {fold(spec.title)}", ""]
    if spec.summary:
        lines += ["## Summary", "", f"> {list_item(spec.summary, _LONGEST)}", ""]
    lines += ["## Acceptance Criteria", "", *_render_criteria(spec), ""]
    if spec.questions:
        lines += ["## Open questions", "", *(f"- {list_item(each, _LONGEST)}" for each in spec.questions), ""]
    if spec.original:
        lines += ["## Source", "", *_render_original(spec)]
    raw = disarm_annotations("\n".join(lines).rstrip("\n").encode("utf-8", "replace") + b"\n")
    if len(raw) > LARGEST:
        raise size_error("The spec with its source", len(raw), LARGEST, where=source, hint=TOO_MUCH)
    return raw


def _render_criteria(spec: ImportedSpec) -> Iterator[str]:
    """Yield a box for each criterion, below the heading that it belongs under."""
    if not spec.criteria:
        yield NO_CRITERIA
    for index, (group, members) in enumerate(groupby(spec.criteria, key=lambda criterion: criterion.group)):
        yield from [""] * (index > 0)
        if group or index:
            yield from (f"### {fold(group, 200) or 'More'}", "")
        yield from map(render_criterion, members)


def render_criterion(criterion: ImportedCriterion) -> str:
    """Return one box, with what its author would run as a comment behind it if a comment can hold it."""
    annotation = fold(criterion.annotation, _LONGEST)
    comment = f" <!-- {annotation} -->" if annotation and "-->" not in annotation else ""
    return f"- [ ] {fold(criterion.text, _LONGEST)}{comment}"


def _render_original(spec: ImportedSpec) -> Iterator[str]:
    for name, text in spec.original.items():
        # No heading of its own: below one that reads "Validation" a block would be run.
        yield from (f"{code_span(name)}:", "", code_block(text), "")
