"""Readers of specs and of what stands in them."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from aigon.compile.proposals import Surroundings, propose
from aigon.errors import AigonError
from aigon.model.criteria import Spec
from aigon.spec import annotation, markdown
from aigon.spec.annotation import DECISION_RULES, Annotation
from aigon.spec.document import annotate, can_annotate, parse_spec, read_known_failures, tick_boxes
from aigon.spec.files import parse_runnable_spec
from tests.fuzz.target import Target

ROOT = Path(__file__).parents[2]
WORDS = (
    *(b"- [ ] ", b"- [x] ", b"## Acceptance Criteria\n", b"## Validation\n", b"```bash\n", b"```\n", b"<!--", b"-->"),
    *(b"<!-- verify: true -->", b"<!-- metric: ./x >= 8 -->", b"<!-- judge -->", b"<!-- human -->", b"verify", b"`"),
    *(b"1. ", b"> ", b"    ", b"---\n", b"known_failures: [a]\n", b"mode: ralph\n", b"[", b"](", b"<div>", b"\\", b"&"),
    *(b"  - [ ] ", b"***\n", b"===\n", b"# ", b"~~~\n", b"|", b"<![CDATA[", b"<?", b">=", b"[a]: b\n", b"\xef\xbb\xbf"),
)
NOTES = (
    *(b"verify: pytest -q", b"metric: ./score.sh >= 8", b'prints: ./x == "a"', b"seconds: ./x < 2", b"check: tests"),
    *(b"judge", b"human", b"Verify:x", b"matric: x > 1"),
)  # fmt: skip


@cache
def specs() -> Sequence[bytes]:
    """The specs and other pages that ship."""
    found = (*sorted(ROOT.glob("templates/**/*.md")), ROOT / ".aigon.example/README.md", ROOT / "docs/specs.md")
    pages = [file.read_bytes() for file in found if file.is_file()]
    return (
        *pages,
        b"---\nknown_failures: [a, b]\nallow:\n  - x\n---\n" + pages[0],
        b"## Acceptance Criteria\n- [ ] a\n",
    )


def spec(data: bytes) -> None:
    """All that is made of a spec: each box ticked and cleared again changes one byte and is read back."""
    found = parse_spec(data)
    read_known_failures(found)
    for criterion in found.criteria[:5]:
        _ticked(found, {criterion.number}, not criterion.checked)
    _ticked(found, {c.number for c in found.criteria}, True)


def _ticked(found: Spec, numbers: set[int], wanted: bool) -> None:
    raw = tick_boxes(found, dict.fromkeys(numbers, wanted))
    changed = [at for at, (old, new) in enumerate(zip(found.raw, raw, strict=True)) if old != new]
    boxes = {c.box for c in found.criteria if c.number in numbers and c.checked != wanted}
    assert set(changed) == boxes, "a tick changes its own byte and no other"
    assert [c.checked for c in parse_spec(raw).criteria if c.number in numbers] == [wanted] * len(numbers)


def annotating(data: bytes) -> None:
    """An annotation is written into a criterion, or refused."""
    found = parse_spec(data)
    for criterion in found.criteria[:3]:
        if can_annotate(found, criterion.number):
            annotate(found, {criterion.number: Annotation("verify", "test -f done.txt")})
            propose(criterion.text, Surroundings())


def in_repository(data: bytes) -> None:
    """As a command reads it: every refusal names the file."""
    try:
        parse_runnable_spec(data, "feature-1-a.md")
    except AigonError as error:
        assert "feature-1-a.md" in error.where
        raise


def one_annotation(data: bytes) -> None:
    """The comments of a text, each read as an annotation."""
    text = data.decode("utf-8", "replace")
    for comment in annotation.find_comments(text)[:200]:
        annotation.parse_annotation(comment, 1)
    annotation.strip_trailing_comments(text)
    for rule in DECISION_RULES.values():
        try:
            rule.read(text)
        except ValueError as error:
            assert str(error)


def top(data: bytes) -> None:
    """The frontmatter and the lists in it."""
    found = markdown.parse_frontmatter(data.decode("utf-8", "replace"))
    for key in ("known_failures", "allow", *list(found)[:5]):
        if isinstance(key, str):
            markdown.read_strings(found, key)


def _notes() -> Sequence[bytes]:
    return tuple(b"a <!-- " + note + b" --> <!-- x" for note in NOTES) + NOTES


def _tops() -> Sequence[bytes]:
    return (b"known_failures: [a, b]\nallow:\n  - c\n", b"a: {b: [1, 2], c: &x d}\ne: *x\n", b"known_failures: one\n")


TARGETS = (
    Target("spec", spec, specs, WORDS),
    Target("spec-file", in_repository, specs, WORDS),
    Target("annotating", annotating, specs, WORDS),
    Target("annotation", one_annotation, _notes, (*NOTES, *WORDS)),
    Target(
        "frontmatter", top, _tops, (b"known_failures: ", b"- ", b"[", b"{", b"&a ", b"*a", b"!!int ", b"|\n ", b"? ")
    ),
)
