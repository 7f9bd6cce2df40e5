"""The boxes below "Acceptance Criteria": which are criteria, what decides each, and why there may be none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aigon.errors import AigonError, usage
from aigon.model.checks import Role
from aigon.model.criteria import Criterion, SpecWarning
from aigon.spec import annotation
from aigon.spec.annotation import Annotation, HtmlComment
from aigon.spec.markdown import MarkdownPage, line_of, one_line
from aigon.text.amounts import format_count, join_words
from aigon.text.quoting import fold

if TYPE_CHECKING:
    from markdown_it.token import Token


BOX = re.compile(r"\[[ xX]\](?=\s|$)")
ODD_BOX = re.compile(r"\[\s*[xX✓✔*-]?\s*\](?![(\[:])")
_LOST_BOX = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s*\[[ xX]?\](?![(\[:])")


def parse_items(page: MarkdownPage) -> Iterator[Criterion | SpecWarning]:
    """Yield the criteria of all sections in file order, and warnings about what may have been meant as one.

    Raises one usage error that names all malformed and duplicate annotations.
    """
    number = 0
    errors: list[AigonError] = []
    used: set[int] = set()
    for index in page.under(is_criteria_heading):
        token = page.tokens[index]
        if token.type == "list_item_open" and _begins_with_box(page.tokens, index):
            parts = [page.tokens[index + 2], *_comment_blocks(page.tokens, index)]
            used.update(map(id, parts))
            try:
                found = _item(page, parts, number + 1)
            except AigonError as error:
                errors.append(error)
                continue
            number += isinstance(found, Criterion)
            yield found
        if token.type in ("inline", "html_block"):
            yield from _oddities(token, is_item=id(token) in used)
    if errors:
        raise _together(errors)


def is_criteria_heading(heading: str) -> bool:
    """Whether the boxes under this heading are criteria."""
    return " ".join(heading.split()).strip("*_ ").casefold().startswith("acceptance criteria")


def _together(errors: Sequence[AigonError]) -> AigonError:
    """Join the errors: otherwise a person learns of each only after fixing the one before."""
    if len(errors) == 1:
        return errors[0]
    lines = [f"{error.where}: {error.what}. {error.hint}" for error in errors]
    numbers = join_words([error.where.removeprefix("line ") for error in errors])
    what = f"{len(errors)} annotations are malformed"
    return usage(what, where=f"lines {numbers}", hint="\n         ".join(lines))


def _begins_with_box(tokens: Sequence[Token], opened: int) -> bool:
    return tokens[opened + 1].type == "paragraph_open" and BOX.match(tokens[opened + 2].content) is not None


def _comment_blocks(tokens: Sequence[Token], opened: int) -> Iterator[Token]:
    """Yield the comments on lines of their own in a list item: they become blocks beside its paragraph."""
    inside = tokens[opened].level + 1
    for index in range(opened + 1, len(tokens)):
        token = tokens[index]
        if token.level < inside:
            return
        if token.type == "html_block" and token.level == inside and token.content.lstrip().startswith("<!--"):
            yield token


def _item(page: MarkdownPage, parts: Sequence[Token], number: int) -> Criterion | SpecWarning:
    """Parse an item: its paragraph, the first of `parts`, and its comment blocks."""
    box = page.box(parts[0])
    line = page.line_at(box)
    text = one_line(annotation.strip_trailing_comments(parts[0].content)[3:])
    noted = _annotation(parts, line)
    if not text and not (noted and noted.command):
        return SpecWarning(line, "An empty box is not a criterion: say what has to be true, or remove it")
    decided = noted or _unannotated(text)
    checked = page.raw[box : box + 1] != b" "
    return Criterion(number, line, text or decided.command or "", checked, decided.kind, decided.command, box)


def _unannotated(text: str) -> Annotation:
    role = find_role(text)
    return Annotation("check", role) if role else Annotation("judge", None)


def _annotation(parts: Sequence[Token], line: int) -> Annotation | None:
    read = [annotation.parse_annotation(comment, _line(part, comment)) for part in parts for comment in _ending(part)]
    found = [one for one in read if one]
    if len(found) > 1:
        raise usage("An item has two annotations", where=f"line {line}", hint="Keep one, or make it two items")
    return found[0] if found else None


def _ending(part: Token) -> list[HtmlComment]:
    """Return the comments that a paragraph ends with, all of a block, and one without an end."""
    text = 0 if part.type == "html_block" else len(annotation.strip_trailing_comments(part.content))
    return [one for one in annotation.find_comments(part.content) if one.start >= text or not one.closed]


def _line(token: Token, comment: HtmlComment) -> int:
    return line_of(token) + token.content.count("\n", 0, comment.start)


def _oddities(token: Token, *, is_item: bool) -> Iterator[SpecWarning]:
    ended = {comment.start for comment in _ending(token)} if is_item else set()
    for comment in annotation.find_comments(token.content):
        if comment.meant_as_annotation and comment.start not in ended:
            yield SpecWarning(_line(token, comment), "An annotation counts only at the end of an item with a box")
        if comment.lacks_colon:
            yield SpecWarning(_line(token, comment), "A comment without a colon is no annotation")
    if token.type == "inline":
        yield from _odd_boxes(token, is_item=is_item)


def _odd_boxes(token: Token, *, is_item: bool) -> Iterator[SpecWarning]:
    for offset, text in enumerate(token.content.split("\n")):
        if _LOST_BOX.match(text) or (offset == 0 and not is_item and ODD_BOX.match(text)):
            message = "Ignored: not a checkbox item. Write `- [ ] text` (unindent it if it follows a paragraph)."
            yield SpecWarning(line_of(token) + offset, message)


_LABEL = re.compile(r"(?:[a-z]{1,6}[ -]?\d+(?:\.\d+)*\s*[:.)–—-]|\[[a-z]{1,6}[ -]?\d+(?:\.\d+)*\]:?)\s*")
_MODAL = r"(?:(?:must|should|shall|will|all|still|continue to|now) )*"
_GREEN = rf"(?:is|are|be|stays?|remains?) {_MODAL}(?:clean|green|passing|successful)"
_PASS = rf"{_MODAL}(?:pass(?:es)?|succeeds?|{_GREEN})"
_CODE = r"(?:the )?(?:project|code ?base|code|app|application|package|repository|repo)"
_LINT = r"(?:lint(?:er|ing)?)"
_NO = r"(?:there are )?(?:no|zero|0)"
_ERRORS = r"(?:errors?|issues?|problems?|failures?)"
_COMPLAINTS = r"(?:errors?|issues?|problems?|warnings?|violations?)(?:(?: or | and |/)(?:errors?|warnings?))?"

_PHRASES: Mapping[Role, str] = {
    "tests": rf"(?:(?:(?:all|the|of|our|existing|automated|unit|project|project's) )*(?:tests|test cases|test suite)"
    rf"|(?:each|every) (?:unit )?test) {_PASS}(?: successfully)?"
    rf"|{_NO} (?:(?:unit )?test failures|failing (?:unit )?tests|(?:unit )?tests fail)",
    "lint": rf"(?:the )?(?:code )?{_LINT}(?: checks?)? (?:{_PASS}|reports {_NO} {_COMPLAINTS})"
    rf"(?: (?:cleanly|without (?:any )?{_COMPLAINTS}|with {_NO} {_COMPLAINTS}))?"
    rf"|{_NO} {_LINT} {_COMPLAINTS}|{_CODE} {_MODAL}passes (?:the )?{_LINT}",
    "build": rf"(?:the )?(?:project )?build (?:{_PASS}|{_MODAL}works)(?: without (?:any )?{_ERRORS})?"
    rf"|(?:(?:it|{_CODE}) {_MODAL}(?:builds?|compiles?)|builds|compiles)"
    rf"(?: (?:successfully|cleanly|without (?:any )?{_ERRORS}))?"
    rf"|{_NO} build {_ERRORS}",
    "types": rf"(?:the )?type[ -]?check(?:s|ing|er)? {_PASS}(?: without (?:any )?{_ERRORS})?"
    rf"|(?:the )?types {_MODAL}(?:check|are clean)|{_NO} (?:type|typing|typescript)(?:[ -]?check(?:ing)?)? {_ERRORS}"
    rf"|{_CODE} {_MODAL}(?:type[ -]?checks|passes (?:the )?type[ -]?check(?:s|ing)?)",
}
_ROLES: Mapping[Role, re.Pattern[str]] = {role: re.compile(phrase) for role, phrase in _PHRASES.items()}
# The longest phrase above has about 90 characters; the bound keeps what is tried short for any input.
_LONGEST = 120


def find_role(text: str) -> Role | None:
    """Return the role whose check decides `text` completely; None if a judge has to.

    Only if the whole item says so: "All tests pass", "Lint is clean", "It builds".
    """
    if len(text) > _LONGEST:
        return None
    said = " ".join(re.sub(r"[*_`~]", "", text).casefold().split())
    said = said[label.end() :] if (label := _LABEL.match(said)) else said
    said = said.rstrip(" .!;,")
    return next((role for role, phrase in _ROLES.items() if phrase.fullmatch(said)), None)


EXAMPLE = """Write a section like this one:

## Acceptance Criteria

"""
BOXES = """- [ ] multiply(6, 7) returns 42 <!-- verify: python -m pytest tests/test_multiply.py -->
- [ ] All tests pass
- [ ] `--help` explains the new option"""
EXAMPLE += BOXES
_TEMPLATE = re.compile(rb"<!-- Your criteria go here")


@dataclass(slots=True)
class _SpecSection:
    """What is below a top-level heading: `items` and `boxes` are list items without and with a box, by line."""

    title: str
    line: int
    level: int
    items: list[tuple[int, str]] = field(default_factory=list)
    boxes: list[tuple[int, str]] = field(default_factory=list)
    empty: bool = True


def explain_missing_criteria(page: MarkdownPage, warnings: Sequence[SpecWarning], where: str) -> AigonError:
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
        what = f"{format_count(len(items), 'list item')} under '{fold(named[0].title, 60)}' {_has(items)} no box"
        line, text = items[0]
        return usage(what, where=f"{where}:{line}", hint="\n".join([*seen, f"Write `- [ ] {fold(text, 80)}`"]))
    if boxed and not named:
        boxes = "1 box" if len(boxed.boxes) == 1 else f"{len(boxed.boxes)} boxes"
        what = f"{boxes} under '{fold(boxed.title, 60)}', which is not read as criteria"
        heading = f"`{'#' * max(boxed.level, 2)} Acceptance Criteria`"
        hint = f"Rename the heading on line {boxed.line}: {heading}"
        if boxed.level == 1:  # the title, or no heading at all
            hint = f"Write this heading above line {boxed.boxes[0][0]}: {heading}"
        return usage(what, where=f"{where}:{boxed.line}", hint="\n".join([*seen, hint]))
    if named:
        section = named[0]
        state = "has only empty boxes" if section.boxes else "is empty" if section.empty else "has no list of criteria"
        what = f"The section '{fold(section.title, 60)}' {state}"
        return usage(what, where=f"{where}:{section.line}", hint="\n".join([*seen, EXAMPLE]))
    return usage("The spec has no section 'Acceptance Criteria'", where=where, hint="\n".join([*seen, EXAMPLE]))


def _has(items: Sequence[object]) -> str:
    return "has" if len(items) == 1 else "have"


def _replace_comment(page: MarkdownPage) -> str:
    found = _TEMPLATE.search(page.raw)
    line = page.line_at(found.start()) if found else 1
    return f"Replace line {line} by one `- [ ] ...` for each thing that has to be true, such as\n\n{BOXES}"


def _sections(page: MarkdownPage) -> Iterator[_SpecSection]:
    """Yield each top-level heading with what is below it, up to the next; criteria include their parts."""
    section = _SpecSection("", 1, 1)
    for index, token in enumerate(page.tokens):
        if token.type == "heading_open" and token.level == 0:
            level = int(token.tag[1:])
            if is_criteria_heading(section.title) and level > section.level:
                continue  # a part of the criteria
            yield section
            section = _SpecSection(one_line(page.tokens[index + 1].content), line_of(token), level)
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
