"""The boxes below "Acceptance Criteria": which are criteria, how each is decided, and which only look like one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from aigon.errors import AigonError, usage
from aigon.model.criteria import Criterion, SpecWarning
from aigon.spec import annotation, objective
from aigon.spec.annotation import Annotation, Comment
from aigon.spec.markdown import Page, line_of, one_line
from aigon.text.counting import join_words

if TYPE_CHECKING:
    from markdown_it.token import Token

BOX = re.compile(r"\[[ xX]\](?=\s|$)")
ODD_BOX = re.compile(r"\[\s*[xX✓✔*-]?\s*\](?![(\[:])")
_LOST_BOX = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s*\[[ xX]?\](?![(\[:])")


def items(page: Page) -> Iterator[Criterion | SpecWarning]:
    """The criteria of all sections in file order, and warnings about what may have been meant as one.

    Raises a usage error for malformed annotations and for two in one item, which names all of them.
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
    """Return one error that names all: otherwise a person learns of each only when the one before is fixed."""
    if len(errors) == 1:
        return errors[0]
    lines = [f"{error.where}: {error.what}. {error.hint}" for error in errors]
    numbers = join_words([error.where.removeprefix("line ") for error in errors])
    what = f"{len(errors)} annotations are malformed"
    return usage(what, where=f"lines {numbers}", hint="\n         ".join(lines))


def _begins_with_box(tokens: Sequence[Token], opened: int) -> bool:
    return tokens[opened + 1].type == "paragraph_open" and BOX.match(tokens[opened + 2].content) is not None


def _comment_blocks(tokens: Sequence[Token], opened: int) -> Iterator[Token]:
    """The comments on lines of their own in a list item: they interrupt its paragraph and become blocks beside it."""
    inside = tokens[opened].level + 1
    for index in range(opened + 1, len(tokens)):
        token = tokens[index]
        if token.level < inside:
            return
        if token.type == "html_block" and token.level == inside and token.content.lstrip().startswith("<!--"):
            yield token


def _item(page: Page, parts: Sequence[Token], number: int) -> Criterion | SpecWarning:
    """The item of a paragraph, the first of `parts`, and its comment blocks."""
    box = page.box(parts[0])
    line = page.line_at(box)
    text = one_line(annotation.without_trailing(parts[0].content)[3:])
    noted = _annotation(parts, line)
    if not text and not (noted and noted.command):
        return SpecWarning(line, "An empty box is not a criterion: say what has to be true, or remove it")
    decided = noted or _unannotated(text)
    checked = page.raw[box : box + 1] != b" "
    return Criterion(number, line, text or decided.command or "", checked, decided.kind, decided.command, box)


def _unannotated(text: str) -> Annotation:
    role = objective.role_of(text)
    return Annotation("check", role) if role else Annotation("judge", None)


def _annotation(parts: Sequence[Token], line: int) -> Annotation | None:
    read = [annotation.read(comment, _line(part, comment)) for part in parts for comment in _ending(part)]
    found = [one for one in read if one]
    if len(found) > 1:
        raise usage("An item has two annotations", where=f"line {line}", hint="Keep one, or make it two items")
    return found[0] if found else None


def _ending(part: Token) -> list[Comment]:
    """The comments that a paragraph ends with, all of a block, and one without an end."""
    text = 0 if part.type == "html_block" else len(annotation.without_trailing(part.content))
    return [one for one in annotation.comments(part.content) if one.start >= text or not one.closed]


def _line(token: Token, comment: Comment) -> int:
    return line_of(token) + token.content.count("\n", 0, comment.start)


def _oddities(token: Token, *, is_item: bool) -> Iterator[SpecWarning]:
    ended = {comment.start for comment in _ending(token)} if is_item else set()
    for comment in annotation.comments(token.content):
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
