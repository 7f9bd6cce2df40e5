"""Annotations written into a spec: the end of each item gets its comment, and not one other byte changes.

Whatever Markdown makes of the place, the result is read again: only if exactly the wanted criteria changed how they are
decided, and nothing else anywhere, is it given back.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from aigon.errors import AigonError, usage
from aigon.model.criteria import Criterion, Spec
from aigon.spec import markdown
from aigon.spec.annotation import Annotation
from aigon.spec.document import parse

_PROBE = Annotation("human", None)


def comment(annotation: Annotation) -> str:
    """How `annotation` is written: `<!-- verify: pytest -->`, `<!-- human -->`."""
    return f"<!-- {annotation.kind}{f': {annotation.command}' if annotation.command else ''} -->"


def annotated(spec: Spec, wanted: Mapping[int, Annotation]) -> bytes:
    """The file of `spec` with each criterion in `wanted`, by number, annotated.

    Raises a usage error, naming the line, for one that has an annotation already, and where the annotation would be
    read as anything else than it says (in an unclosed code span or comment, for one).
    """
    ends = dict(_ends(spec))
    raw = spec.raw
    for number in sorted(wanted, reverse=True):
        at = ends[number]
        raw = raw[:at] + b" " + comment(wanted[number]).encode() + raw[at:]
    _require_only(spec, wanted, raw)
    return raw


def takes_annotation(spec: Spec, number: int) -> bool:
    """Whether that criterion has no annotation yet and one behind it would be read as such."""
    try:
        annotated(spec, {number: _PROBE})
    except AigonError:
        return False
    return True


def _ends(spec: Spec) -> Iterator[tuple[int, int]]:
    """Number of each criterion, and the offset behind the last character of its own paragraph."""
    read = markdown.read(spec.raw)
    numbers = {criterion.box: criterion.number for criterion in spec.criteria}
    for token in read.tokens:
        if token.type == "inline" and token.map and token.content.startswith("["):
            last = read.starts[token.map[1] - 1]
            end = (*read.starts[token.map[1] : token.map[1] + 1], len(spec.raw))[0]
            if (number := numbers.get(read.box(token))) is not None:
                yield number, last + len(spec.raw[last:end].rstrip())


def _require_only(spec: Spec, wanted: Mapping[int, Annotation], raw: bytes) -> None:
    """Raise a usage error unless `raw` is `spec` with just these criteria decided as wanted."""
    first = next(c for c in spec.criteria if c.number == min(wanted))
    try:
        now = parse(raw)
    except AigonError as error:
        raise _refused(first, error.what) from error
    for old, new in zip(spec.criteria, now.criteria, strict=False):
        if replace(new, box=old.box) != _as_wanted(old, wanted) or raw[new.box] != spec.raw[old.box]:
            raise _refused(old, "it would not be read as it is written")
    if (now.title, now.frontmatter, now.validation, now.warnings) != _rest(spec) or _size(now) != _size(spec):
        raise _refused(first, "the rest of the file would be read differently")


def _as_wanted(criterion: Criterion, wanted: Mapping[int, Annotation]) -> Criterion:
    new = wanted.get(criterion.number)
    return replace(criterion, kind=new.kind, command=new.command) if new else criterion


def _rest(spec: Spec) -> tuple[object, ...]:
    return (spec.title, spec.frontmatter, spec.validation, spec.warnings)


def _size(spec: Spec) -> int:
    return len(spec.criteria)


def _refused(criterion: Criterion, why: str) -> AigonError:
    return usage(
        f"The annotation of criterion {criterion.number} cannot be written: {why}",
        where=f"line {criterion.line}",
        hint="Write it by hand: " + comment(Annotation("verify", "COMMAND")),
    )
