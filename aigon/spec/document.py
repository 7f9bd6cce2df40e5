"""A feature spec: from its bytes to criteria, and back to ticks and annotations.

Everything is read from a CommonMark parse, never by matching lines, so that what counts is what people see rendered.
What could be lost without anybody noticing (a box that is no task-list item, an annotation outside an item, a comment
that is never closed) is a warning with its line.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from aigon.errors import AigonError, usage
from aigon.model.criteria import Criterion, Spec, SpecSettings, SpecWarning
from aigon.spec import criteria, markdown, settings
from aigon.spec.annotation import Annotation
from aigon.spec.features import LARGEST, TOO_MUCH, strip_prefix
from aigon.spec.markdown import MarkdownPage, line_of, one_line
from aigon.text.amounts import size_error
from aigon.text.patterns import compile_re

if TYPE_CHECKING:
    from markdown_it.token import Token


_LANGUAGE = compile_re(r"[\s{.]*([^\s{}:,=]*)")
SHELLS = ("", "bash", "sh", "shell", "zsh")
"""Languages of blocks that are run."""
_PROBE = Annotation("human", None)


def parse_spec(raw: bytes) -> Spec:
    """Return the spec in `raw`, whatever its bytes, line endings and encoding.

    Raises a usage error for frontmatter that is not a YAML mapping, for all malformed annotations or settings, and
    above `LARGEST`.
    """
    require_size(raw)
    page = markdown.parse_page(raw)
    items = list(criteria.parse_items(page))
    warnings = [item for item in items if isinstance(item, SpecWarning)]
    top = page.tokens[0] if page.tokens else None
    keys = markdown.parse_frontmatter(top.content) if top and top.type == "front_matter" else {}
    headings = (page.tokens[i + 1].content for i, token in enumerate(page.tokens) if token.type == "heading_open")
    scripts = []
    for block in list_validation_blocks(page):
        language = read_language(block)
        if language in SHELLS:
            scripts.append(block.content.removesuffix("\n"))
        else:
            message = f"A `{language}` block is not run: only bash, sh, shell and zsh blocks are"
            warnings.append(SpecWarning(line_of(block), message))
    warnings += [*markdown.find_undecodable(page), *markdown.find_unclosed(page)]
    is_set = bool(keys) or next(page.under(lambda heading: heading == "configuration"), None) is not None
    warnings += settings.find_ignored_settings(page, keys) if is_set else ()
    script = "\n".join(scripts)
    # A script without a command is none: it would pass without a test.
    has_command = any(line and not line.startswith("#") for line in map(str.strip, script.split("\n")))
    found = tuple(item for item in items if isinstance(item, Criterion))
    return Spec(
        raw=raw,
        title=strip_prefix(one_line(next(headings, ""))),
        frontmatter=keys,
        settings=settings.parse_settings(page, keys, len(found)) if is_set else SpecSettings(),
        criteria=found,
        validation=script if has_command else None,
        warnings=tuple(sorted(warnings, key=lambda warning: warning.line)),
    )


def require_size(raw: bytes) -> None:
    """Raise a usage error for a spec above `LARGEST`."""
    if len(raw) > LARGEST:
        raise size_error("The spec", len(raw), LARGEST, where="the whole file", hint=TOO_MUCH)


def list_validation_blocks(page: MarkdownPage) -> Iterator[Token]:
    """Yield the fenced blocks below a heading that is exactly "Validation"."""
    below = (page.tokens[index] for index in page.under(lambda heading: heading == "validation"))
    return (token for token in below if token.type == "fence")


def read_language(block: Token) -> str:
    """Return the language of a fenced block, in lower case."""
    return (_LANGUAGE.match(block.info) or ("", ""))[1].lower()


def require_criteria(spec: Spec, where: str) -> None:
    """Raise a usage error that says what to write if `spec`, the file `where`, has no criterion."""
    if not spec.criteria:
        raise criteria.explain_missing_criteria(markdown.parse_page(spec.raw), spec.warnings, where)


def tick_boxes(spec: Spec, met: Mapping[int, bool]) -> bytes:
    """Return the file with the boxes of these criteria ticked or cleared: no other byte changes."""
    raw = bytearray(spec.raw)
    for criterion in spec.criteria:
        wanted = met.get(criterion.number, criterion.checked)
        if wanted != criterion.checked:
            raw[criterion.box] = ord("x" if wanted else " ")
    return bytes(raw)


def leave_out_criteria(spec: Spec, kept: Collection[int]) -> bytes:
    """Return the file without the items of criteria that are not among the `kept`, unless one of those is inside."""
    page = markdown.parse_page(spec.raw)
    kept_lines = {criterion.line for criterion in spec.criteria if criterion.number in kept}
    others = {criterion.line for criterion in spec.criteria} - kept_lines
    left_out: set[int] = set()
    for token in page.tokens:
        first, end = token.map or (0, 0)
        lines = range(first + 1, end + 1)
        if token.type == "list_item_open" and first + 1 in others and kept_lines.isdisjoint(lines):
            left_out.update(lines)
    ends = [*page.starts[1:], len(spec.raw)]
    lines_kept = (span for line, span in enumerate(zip(page.starts, ends, strict=True), 1) if line not in left_out)
    return b"".join(spec.raw[start:end] for start, end in lines_kept)


def read_known_failures(spec: Spec) -> tuple[str, ...]:
    """Return what the frontmatter lists as failing already.

    Raises a usage error for anything but strings, and for `git`.
    """
    names = markdown.read_strings(spec.frontmatter, "known_failures")
    if "git" in names:
        what = "`known_failures` cannot list git: what git did not take is in no commit"
        raise usage(what, where="frontmatter", hint="Take `git` out of the list, and fix what the git check names")
    return names


def render_comment(annotation: Annotation) -> str:
    """Return `<!-- verify: pytest -->`, `<!-- human -->`."""
    return f"<!-- {annotation.kind}{f': {annotation.command}' if annotation.command else ''} -->"


def annotate(spec: Spec, wanted: Mapping[int, Annotation]) -> bytes:
    """Return the file with each criterion in `wanted`, by number, annotated.

    The result is parsed again. Raises a usage error, naming the line, unless exactly these criteria changed as wanted
    and nothing else: not if one has an annotation already or ends in an unclosed code span.
    """
    page, raw, ends = markdown.parse_page(spec.raw), spec.raw, dict[int, int]()
    numbers = {criterion.box: criterion.number for criterion in spec.criteria}
    for token in page.tokens:
        if token.type == "inline" and token.map and token.content.startswith("["):
            last = page.starts[token.map[1] - 1]
            end = (*page.starts[token.map[1] : token.map[1] + 1], len(raw))[0]
            if (number := numbers.get(page.box(token))) is not None:
                ends[number] = last + len(raw[last:end].rstrip())  # behind its own paragraph
    for number in sorted(wanted, reverse=True):
        at = ends[number]
        raw = raw[:at] + b" " + render_comment(wanted[number]).encode() + raw[at:]
    _require_only(spec, wanted, raw)
    return raw


def can_annotate(spec: Spec, number: int) -> bool:
    """Return whether that criterion has no annotation yet and would take one."""
    try:
        annotate(spec, {number: _PROBE})
    except AigonError:
        return False
    return True


def _require_only(spec: Spec, wanted: Mapping[int, Annotation], raw: bytes) -> None:
    """Raise a usage error unless `raw` is `spec` with just these criteria decided as wanted."""
    first = next(c for c in spec.criteria if c.number == min(wanted))
    try:
        now = parse_spec(raw)
    except AigonError as error:
        raise _refuse(first, error.what) from error
    for old, new in zip(spec.criteria, now.criteria, strict=False):
        decided = wanted.get(old.number, Annotation(old.kind, old.command))
        expected = replace(old, kind=decided.kind, command=decided.command)
        if replace(new, box=old.box) != expected or raw[new.box] != spec.raw[old.box]:
            raise _refuse(old, "it would not be read as it is written")
    if len(now.criteria) != len(spec.criteria) or replace(now, raw=spec.raw, criteria=spec.criteria) != spec:
        raise _refuse(first, "the rest of the file would be read differently")


def _refuse(criterion: Criterion, why: str) -> AigonError:
    return usage(
        f"The annotation of criterion {criterion.number} cannot be written: {why}",
        where=f"line {criterion.line}",
        hint="Write it by hand: " + render_comment(Annotation("verify", "COMMAND")),
    )
