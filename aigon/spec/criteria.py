"""The boxes below "Acceptance Criteria": which are criteria, what decides each, and why there may be none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from aigon.errors import AigonError, usage
from aigon.model.checks import Role
from aigon.model.criteria import Criterion, SpecWarning
from aigon.spec import annotation
from aigon.spec.annotation import Annotation, HtmlComment
from aigon.spec.markdown import MarkdownPage, line_inside, line_of, one_line, parse_page, raise_together
from aigon.text.amounts import format_count
from aigon.text.patterns import compile_re
from aigon.text.quoting import fold

if TYPE_CHECKING:
    from markdown_it.token import Token


BOX = compile_re(r"\[[ xX]\](?=\s|$)")
ODD_BOX = compile_re(r"\[\s*[xX✓✔*-]?\s*\](?![(\[:])")
_LOST_BOX = compile_re(r"\s*(?:[-*+]|\d{1,9}[.)])\s*\[[ xX]?\](?![(\[:])")


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
            inside = list(_list_inside(page.tokens, index))
            # Comments on lines of their own are blocks beside the item's paragraph.
            blocks = (each for each in inside if each.type == "html_block")
            parts = [page.tokens[index + 2], *(each for each in blocks if each.content.lstrip().startswith("<!--"))]
            fence = next((each.content for each in inside if each.type == "fence"), None)
            used.update(map(id, parts))
            try:
                item = _parse_item(page, parts, fence, number + 1)
            except AigonError as error:
                errors.append(error)
                continue
            number += isinstance(item, Criterion)
            yield item
        if token.type in ("inline", "html_block"):
            yield from _find_oddities(token, is_item=id(token) in used)
    raise_together(errors, "annotations")


def is_criteria_heading(heading: str) -> bool:
    """Return whether the boxes under this heading are criteria."""
    return " ".join(heading.split()).strip("*_ ").casefold().startswith("acceptance criteria")


def _begins_with_box(tokens: Sequence[Token], opened: int) -> bool:
    return tokens[opened + 1].type == "paragraph_open" and BOX.match(tokens[opened + 2].content) is not None


def list_boxes(raw: bytes) -> list[tuple[str, bool]]:
    """Return every list item with a box in a Markdown file: its text, and whether it is ticked."""
    page = parse_page(raw)
    items = (index for index, token in enumerate(page.tokens) if token.type == "list_item_open")
    texts = (page.tokens[index + 2].content for index in items if _begins_with_box(page.tokens, index))
    return [(one_line(text[3:]), text[1] != " ") for text in texts]


def _list_inside(tokens: Sequence[Token], opened: int) -> Iterator[Token]:
    """Yield the blocks of a list item itself."""
    inside = tokens[opened].level + 1
    for index in range(opened + 1, len(tokens)):  # no slice: it would copy the rest of the file for each item
        if tokens[index].level < inside:
            return
        if tokens[index].level == inside:
            yield tokens[index]


def _parse_item(page: MarkdownPage, parts: Sequence[Token], block: str | None, number: int) -> Criterion | SpecWarning:
    """Parse an item: its paragraph, the first of `parts`, its comment blocks, and the text of its fenced block."""
    box = page.box(parts[0])
    line = page.line_at(box)
    text = one_line(annotation.strip_trailing_comments(parts[0].content)[3:])
    comments = [(comment, line_inside(part, comment.start)) for part in parts for comment in _list_ending(part)]
    annotations = [each for comment, at in comments if (each := annotation.parse_annotation(comment, at, block))]
    if len(annotations) > 1:
        raise usage("An item has two annotations", where=f"line {line}", hint="Keep one, or make it two items")
    if not text and not (annotations and annotations[0].command):
        return SpecWarning(line, "An empty box is not a criterion: say what has to be true, or remove it")
    if annotations:
        decided = annotations[0]
    else:
        role = find_deciding_role(text)
        decided = Annotation("check", role) if role else Annotation("judge", None)
    checked = page.raw[box : box + 1] != b" "
    return Criterion(number, line, text or decided.command or "", checked, decided.kind, decided.command, box)


def _list_ending(part: Token) -> list[HtmlComment]:
    """Return the comments that a paragraph ends with, all of a block, and one without an end."""
    text = 0 if part.type == "html_block" else len(annotation.strip_trailing_comments(part.content))
    return [each for each in annotation.find_comments(part.content) if each.start >= text or not each.closed]


def _find_oddities(token: Token, *, is_item: bool) -> Iterator[SpecWarning]:
    ended = {comment.start for comment in _list_ending(token)} if is_item else set()
    for comment in annotation.find_comments(token.content):
        if comment.meant_as_annotation and comment.start not in ended:
            message = "An annotation counts only at the end of an item with a box"
            yield SpecWarning(line_inside(token, comment.start), message)
        if comment.lacks_colon:
            yield SpecWarning(line_inside(token, comment.start), "A comment without a colon is no annotation")
    for offset, text in enumerate(token.content.split("\n") if token.type == "inline" else ()):
        if _LOST_BOX.match(text) or (offset == 0 and not is_item and ODD_BOX.match(text)):
            message = "Ignored: not a checkbox item. Write `- [ ] text` (unindent it if it follows a paragraph)."
            yield SpecWarning(line_of(token) + offset, message)


_LABEL = compile_re(r"(?:[a-z]{1,6}[ -]?\d+(?:\.\d+)*\s*[:.)–—-]|\[[a-z]{1,6}[ -]?\d+(?:\.\d+)*\]:?)\s*")
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
_STEMS = {"tests": ("test",), "lint": ("lint",), "build": ("build", "compil"), "types": ("typ",)}
"""What each phrase contains: only one that may fit is compiled."""
# The longest phrase above has about 90 characters; the bound keeps what is tried short for any input.
_LONGEST = 120


def find_deciding_role(text: str) -> Role | None:
    """Return the role whose check decides `text` completely; None if a judge has to.

    Only if the whole item says so: "All tests pass", "Lint is clean", "It builds".
    """
    if len(text) > _LONGEST:
        return None
    words = " ".join(re.sub(r"[*_`~]", "", text).casefold().split())
    words = words[label.end() :] if (label := _LABEL.match(words)) else words
    words = words.rstrip(" .!;,")
    near = (role for role in _PHRASES if any(stem in words for stem in _STEMS[role]))
    return next((role for role in near if re.fullmatch(_PHRASES[role], words)), None)


BOXES = """- [ ] `./multiply 6 7` prints 42 <!-- prints: ./multiply 6 7 == 42 -->
- [ ] All tests pass
- [ ] `--help` explains the new option"""
EXAMPLE = f"Write a section like this one:\n\n## Acceptance Criteria\n\n{BOXES}"
TEMPLATE = compile_re(rb"<!-- Your criteria go here")


class _SpecSection(Struct):
    """The content below a top-level heading: `items` and `boxes` are list items without and with a box, by line."""

    title: str
    line: int
    level: int
    items: list[tuple[int, str]] = field(default_factory=list)
    boxes: list[tuple[int, str]] = field(default_factory=list)
    empty: bool = True


def explain_missing_criteria(page: MarkdownPage, warnings: Sequence[SpecWarning], where: str) -> AigonError:
    """Return the usage error for the spec `page`, the file `where`, which has no criterion."""
    sections = list(_list_sections(page))
    named = [section for section in sections if is_criteria_heading(section.title)]
    items = [item for section in named for item in section.items]
    boxed = next((section for section in sections if section.boxes and section not in named), None)
    template = TEMPLATE.search(page.raw)
    line, hint = 0, EXAMPLE
    if not page.raw.strip():
        return usage("The spec is empty", where=where, hint=EXAMPLE)
    if template and not items:
        what = "The spec is still the template: it has no acceptance criteria yet"
        line = named[0].line if named else 1
        hint = (
            f"Replace line {page.line_at(template.start())} with one `- [ ] ...` for each thing that has to be true, "
            f"such as\n\n{BOXES}"
        )
    elif items:
        has = "has" if len(items) == 1 else "have"
        what = f"{format_count(len(items), 'list item')} under '{fold(named[0].title, 60)}' {has} no box"
        line, text = items[0]
        hint = f"Write `- [ ] {fold(text, 80)}`"
    elif named:
        section = named[0]
        state = "has only empty boxes" if section.boxes else "is empty" if section.empty else "has no list of criteria"
        what, line = f"The section '{fold(section.title, 60)}' {state}", section.line
    elif boxed:
        boxes = "1 box" if len(boxed.boxes) == 1 else f"{len(boxed.boxes)} boxes"
        what, line = f"{boxes} under '{fold(boxed.title, 60)}', which is not read as criteria", boxed.line
        heading = f"`{'#' * max(boxed.level, 2)} Acceptance Criteria`"
        hint = f"Rename the heading on line {boxed.line}: {heading}"
        if boxed.level == 1:  # the title, or no heading at all
            hint = f"Write this heading above line {boxed.boxes[0][0]}: {heading}"
    else:
        what = "The spec has no section 'Acceptance Criteria'"
    said = [f"Line {warning.line}: {warning.message}" for warning in warnings]
    return usage(what, where=f"{where}:{line}" if line else where, hint="\n".join([*said, hint]))


def _list_sections(page: MarkdownPage) -> Iterator[_SpecSection]:
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
            is_paragraph = page.tokens[index + 1].type == "paragraph_open"
            text = one_line(page.tokens[index + 2].content) if is_paragraph else ""
            kind = section.boxes if BOX.match(text) else section.items
            kind.append((line_of(token), ODD_BOX.sub("", text, count=1).strip()))
        if token.type == "inline" and token.content != section.title:
            section.empty = False
    yield section
