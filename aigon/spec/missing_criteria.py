"""Why a spec has no criteria, and what to write: each way to miss them has a message of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aigon.errors import AigonError, usage
from aigon.journal.amounts import many
from aigon.model.criteria import SpecWarning
from aigon.spec.markdown import Page, line_of, one_line
from aigon.spec.task_list import BOX, ODD_BOX, is_criteria_heading
from aigon.text.quoting import folded

if TYPE_CHECKING:
    from markdown_it.token import Token

EXAMPLE = """Write a section like this one:

## Acceptance Criteria

"""
BOXES = """- [ ] multiply(6, 7) returns 42 <!-- verify: python -m pytest tests/test_multiply.py -->
- [ ] All tests pass
- [ ] `--help` explains the new option"""
EXAMPLE += BOXES
_TEMPLATE = re.compile(rb"<!-- Your criteria go here")


@dataclass(slots=True)
class _Section:
    """What stands below a top-level heading: `items` and `boxes` are list items without and with a box, by line."""

    title: str
    line: int
    level: int
    items: list[tuple[int, str]] = field(default_factory=list)
    boxes: list[tuple[int, str]] = field(default_factory=list)
    empty: bool = True


def explain(page: Page, warnings: Sequence[SpecWarning], where: str) -> AigonError:
    """Return the usage error for the spec `page`, the file `where`, which has no criterion."""
    seen = [f"Line {warning.line}: {warning.message}" for warning in warnings]
    if not page.raw.strip():
        return usage("The spec is empty", where=where, hint=EXAMPLE)
    sections = list(_sections(page))
    named = [section for section in sections if is_criteria_heading(section.title)]
    boxed = next((section for section in sections if section.boxes and section not in named), None)
    if _TEMPLATE.search(page.raw) and not any(section.items for section in named):
        what = "The spec is still the template: it has no acceptance criteria yet"
        line = named[0].line if named else 1
        return usage(what, where=f"{where}:{line}", hint="\n".join([*seen, _replace_comment(page)]))
    if items := [item for section in named for item in section.items]:
        what = f"{many(len(items), 'list item')} under '{folded(named[0].title, 60)}' {_has(items)} no box"
        line, text = items[0]
        return usage(what, where=f"{where}:{line}", hint="\n".join([*seen, f"Write `- [ ] {folded(text, 80)}`"]))
    if boxed and not named:
        boxes = "1 box" if len(boxed.boxes) == 1 else f"{len(boxed.boxes)} boxes"
        what = f"{boxes} under '{folded(boxed.title, 60)}', which is not read as criteria"
        heading = f"`{'#' * max(boxed.level, 2)} Acceptance Criteria`"
        hint = f"Rename the heading on line {boxed.line}: {heading}"
        if boxed.level == 1:  # the title, or no heading at all
            hint = f"Write this heading above line {boxed.boxes[0][0]}: {heading}"
        return usage(what, where=f"{where}:{boxed.line}", hint="\n".join([*seen, hint]))
    if named:
        section = named[0]
        state = "has only empty boxes" if section.boxes else "is empty" if section.empty else "has no list of criteria"
        what = f"The section '{folded(section.title, 60)}' {state}"
        return usage(what, where=f"{where}:{section.line}", hint="\n".join([*seen, EXAMPLE]))
    return usage("The spec has no section 'Acceptance Criteria'", where=where, hint="\n".join([*seen, EXAMPLE]))


def _has(items: Sequence[object]) -> str:
    return "has" if len(items) == 1 else "have"


def _replace_comment(page: Page) -> str:
    found = _TEMPLATE.search(page.raw)
    line = page.line_at(found.start()) if found else 1
    return f"Replace line {line} by one `- [ ] ...` for each thing that has to be true, such as\n\n{BOXES}"


def _sections(page: Page) -> Iterator[_Section]:
    """Yield each top-level heading with what stands below it, up to the next heading; parts of criteria with them."""
    section = _Section("", 1, 1)
    for index, token in enumerate(page.tokens):
        if token.type == "heading_open" and token.level == 0:
            level = int(token.tag[1:])
            if is_criteria_heading(section.title) and level > section.level:
                continue  # a part of the criteria
            yield section
            section = _Section(one_line(page.tokens[index + 1].content), line_of(token), level)
        elif token.type == "list_item_open":
            text = _text(page.tokens, index)
            kind = section.boxes if BOX.match(text) else section.items
            kind.append((line_of(token), ODD_BOX.sub("", text, count=1).strip()))
        if token.type == "inline" and token.content != section.title:
            section.empty = False
    yield section


def _text(tokens: Sequence[Token], opened: int) -> str:
    """Return the first paragraph of the list item that opens at `opened`."""
    inside = tokens[opened + 2] if tokens[opened + 1].type == "paragraph_open" else None
    return one_line(inside.content) if inside else ""
