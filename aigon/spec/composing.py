"""Write a spec from parts that strangers or agents wrote. Nothing in them decides or runs anything."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec import Struct

from aigon.model.imported import ImportedCriterion, ImportedSpec
from aigon.spec.criteria import TEMPLATE, is_criteria_heading
from aigon.spec.features import LARGEST, TOO_MUCH
from aigon.spec.foreign import disarm_annotations
from aigon.spec.markdown import MarkdownPage, line_of, one_line, parse_page
from aigon.text.amounts import size_error
from aigon.text.patterns import compile_re
from aigon.text.quoting import code_block, code_span, fold, list_item

if TYPE_CHECKING:
    from markdown_it.token import Token

SUMMARY, SOURCE = "Summary", "Source"
_COMMENT = compile_re(rb"<!--.*?-->", re.DOTALL)
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
        lines += [f"## {SUMMARY}", "", f"> {list_item(spec.summary, _LONGEST)}", ""]
    lines += ["## Acceptance Criteria", "", *_render_criteria(spec), ""]
    if spec.questions:
        lines += ["## Open questions", "", *(f"- {list_item(each, _LONGEST)}" for each in spec.questions), ""]
    if spec.original:
        lines += [f"## {SOURCE}", "", *_render_original(spec)]
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
    annotation = criterion.annotation
    # Joined to one line, a command would be another one.
    fits = annotation and "-->" not in annotation and fold(annotation, _LONGEST) == annotation
    comment = f" <!-- {annotation} -->" if fits else ""
    return f"- [ ] {fold(criterion.text, _LONGEST)}{comment}"


def _render_original(spec: ImportedSpec) -> Iterator[str]:
    for name, text in spec.original.items():
        # No heading of its own: below one that reads "Validation" a block would be run.
        yield from (f"{code_span(name)}:", "", code_block(text), "")


class _Section(Struct, frozen=True):
    """A part of a file below a heading of the second level: its title, and the offsets of heading, body and end."""

    title: str
    start: int
    body: int
    end: int


def merge_spec(raw: bytes, addition: bytes) -> bytes:
    """Return the spec `raw` with the sections of a composed one added to its own of the same name.

    A section that holds only comments is filled, criteria and questions are appended, and a summary that somebody wrote
    stays. Nothing else changes.
    """
    for new in _list_sections(addition):
        body = addition[new.body : new.end].strip(b"\n")
        own = next((each for each in _list_sections(raw) if _is_same(each.title, new.title)), None)
        if own is None:
            sections = _list_sections(raw)
            at = next((each.start for each in sections if each.title == SOURCE), len(raw))
            raw = raw[:at].rstrip(b"\n") + b"\n\n## " + new.title.encode() + b"\n\n" + body + b"\n\n" + raw[at:]
        elif is_template(raw[own.body : own.end]):
            raw = raw[: own.body] + b"\n" + body + b"\n\n" + raw[own.end :]
        elif new.title != SUMMARY:
            kept = raw[: own.end].rstrip(b"\n")
            raw = kept + b"\n" + body + b"\n\n" + raw[own.end :]
    return raw.rstrip(b"\n") + b"\n"


def is_template(body: bytes) -> bool:
    """Return whether nobody has written anything into a section of the template."""
    return TEMPLATE.search(body) is not None or not _COMMENT.sub(b"", body).strip()


def _list_sections(raw: bytes) -> list[_Section]:
    page = parse_page(raw)
    heads = [(index, token) for index, token in enumerate(page.tokens) if token.type == "heading_open"]
    tops = [(index, token) for index, token in heads if token.level == 0 and token.tag in ("h1", "h2")]
    ends = [page.starts[line_of(token) - 1] for _, token in tops[1:]] + [len(raw)]
    return [
        _Section(
            one_line(page.tokens[index + 1].content), page.starts[line_of(token) - 1], _find_body(page, token), end
        )
        for (index, token), end in zip(tops, ends, strict=False)
        if token.tag == "h2"
    ]


def _find_body(page: MarkdownPage, heading: Token) -> int:
    after = (heading.map or (0, 0))[1]
    return page.starts[after] if after < len(page.starts) else len(page.raw)


def _is_same(one: str, other: str) -> bool:
    return one.casefold() == other.casefold() or (is_criteria_heading(one) and is_criteria_heading(other))
