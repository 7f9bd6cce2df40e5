"""Text from outside: what it would run is kept in place as a proposal, and decides nothing until a person accepts it.

`<!-- verify: make -->` becomes `<!-- proposed: verify: make -->`, and a shell block below "Validation" `proposed`. To
every reader of specs these are a plain comment and a block that is not run. They stay with their criterion when people
edit the spec, and travel with it.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from aigon.errors import AigonError, usage
from aigon.model.criteria import Spec
from aigon.spec.annotation import HtmlComment, find_comments, parse_annotation, strip_trailing_comments
from aigon.spec.criteria import BOX, parse_items
from aigon.spec.document import SHELLS, list_validation_blocks, parse_spec, read_language
from aigon.spec.markdown import MarkdownPage, line_inside, line_of, one_line, parse_page
from aigon.text.patterns import compile_re

if TYPE_CHECKING:
    from markdown_it.token import Token

PROPOSED = "proposed"
_COMMENT = compile_re(rf"\s*{PROPOSED}:\s*(.*?)\s*", re.DOTALL)
HEADING = b"## Acceptance Criteria\n\n"


class ForeignAnnotation(Struct, frozen=True):
    """A proposal in a spec: `number` counts them, `text` is the item that it decides, `annotation` as `verify: make`.

    A validation script has no `text`. In a spec without criteria each box is proposed as one: with its annotation, or
    with "" for a judge.
    """

    number: int
    line: int
    text: str
    annotation: str


class _Edit(Struct, frozen=True):
    """In the text of `line` each `old` becomes `new`."""

    line: int
    old: str
    new: str


def disarm_annotations(raw: bytes) -> bytes:
    """Return a Markdown text from outside in which no annotation decides and no block below "Validation" runs.

    A `human` one stays: it runs nothing and makes a criterion no weaker. Ticks go, since one of a person would decide.
    Frontmatter is left as it is, since an import writes its own. Raises a usage error for a text that no spec
    can hold.
    """
    page, unticked = parse_page(raw), bytearray(raw)
    for token in page.tokens:
        if token.type == "inline" and BOX.match(token.content):
            unticked[page.box(token)] = ord(" ")
    page = parse_page(bytes(unticked))
    result = _apply(page, _list_edits(page))
    if armed := next(_list_edits(parse_page(result)), None):
        what = "An annotation cannot be taken out of this text"
        raise usage(what, where=f"line {armed.line}", hint="Write it on a line of its own, or remove it")
    list(parse_items(parse_page(result)))
    return result


def _list_edits(page: MarkdownPage) -> Iterator[_Edit]:
    """Yield what takes the effect from every annotation, well-formed or not, and from every validation script."""
    for token in page.tokens:
        for comment in find_comments(token.content) if token.type in ("inline", "html_block") else ():
            if _decides(comment):
                opening = _read_opening(token, comment)
                yield _Edit(line_inside(token, comment.start), opening, f"<!-- {PROPOSED}:{opening[4:]}")
    for block in list_validation_blocks(page):
        if read_language(block) in SHELLS:
            yield _Edit(line_of(block), block.markup, f"{block.markup}{PROPOSED} ")


def _decides(comment: HtmlComment) -> bool:
    try:
        annotation = parse_annotation(comment, 0)
    except AigonError:  # nearly an annotation: a spec with it could not be read
        return True
    return annotation is not None and annotation.kind != "human"


def _read_opening(token: Token, comment: HtmlComment) -> str:
    """Return the comment as far as its first line goes: what precedes it in the file may differ from the token."""
    return token.content[comment.start : comment.end].partition("\n")[0]


def _apply(page: MarkdownPage, edits: Iterable[_Edit]) -> bytes:
    lines = [page.raw[start:end] for start, end in pairwise([*page.starts, len(page.raw)])]
    for edit in dict.fromkeys(edits):  # the same comment twice in one line is one edit
        lines[edit.line - 1] = lines[edit.line - 1].replace(edit.old.encode(), edit.new.encode())
    return b"".join(lines)


def list_proposals(raw: bytes) -> tuple[ForeignAnnotation, ...]:
    """Return what a spec holds that a person may accept. Raises a usage error for one that cannot be read."""
    return tuple(proposal for proposal, _ in _list_acceptable(parse_page(raw)))


def accept_proposals(raw: bytes, numbers: Container[int]) -> bytes:
    """Return the spec with the proposals of these numbers in force. Raises a usage error if it could not be read."""
    page = parse_page(raw)
    accepted = [each for each in _list_acceptable(page) if each[0].number in numbers]
    result = _apply(page, [edit for _, edit in accepted if edit])
    boxes = [proposal.line for proposal, _ in accepted if proposal.text]
    if boxes and not parse_spec(result).criteria:
        first = min(boxes)  # the heading goes above the whole list around it
        spans = (each.map or (0, 0) for each in page.tokens if each.type.endswith("_list_open") and each.level == 0)
        line = next((start + 1 for start, end in spans if start < first <= end), first)
        at = parse_page(result).starts[line - 1]
        result = result[:at] + HEADING + result[at:]
    parse_spec(result)
    return result


def list_decisions(spec: Spec) -> frozenset[tuple[str, str]]:
    """Return what is in force in a spec: the text and the annotation of each criterion, and the validation script."""
    decided = {(each.text, f"{each.kind}: {each.command}") for each in spec.criteria if each.command}
    return frozenset(decided | ({("", spec.validation)} if spec.validation else set()))


def _list_acceptable(page: MarkdownPage) -> Iterator[tuple[ForeignAnnotation, _Edit | None]]:
    has_criteria, text, number = bool(parse_spec(page.raw).criteria), "", 0
    for token in page.tokens:
        if token.type == "inline":
            text = one_line(strip_trailing_comments(token.content))
        comments = find_comments(token.content) if token.type in ("inline", "html_block") else ()
        matches = [(each, match[1]) for each in comments if (match := _COMMENT.fullmatch(each.inner))]
        # of `<!--- a --->`
        found = [(each, text.strip("- ") if text.startswith("-") else text) for each, text in matches]
        item = text[3:].strip() if (is_box := BOX.match(text)) else text
        for comment, annotation in found:
            opening = _read_opening(token, comment)
            edit = _Edit(line_inside(token, comment.start), opening, f"<!--{opening.partition(':')[2]}")
            number += 1
            yield ForeignAnnotation(number, edit.line, item, annotation), edit
        if token.type == "inline" and is_box and item and not found and not has_criteria:
            number += 1
            yield ForeignAnnotation(number, line_of(token), item, ""), None
    for block in list_validation_blocks(page):
        if read_language(block) == PROPOSED:
            edit = _Edit(line_of(block), f"{block.markup}{PROPOSED} ", block.markup)
            number += 1
            yield ForeignAnnotation(number, edit.line, "", block.content.removesuffix("\n")), edit
