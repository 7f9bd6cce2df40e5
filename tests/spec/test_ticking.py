"""Ticking changes one byte per box: properties over generated files of every shape."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from hypothesis import example, given, settings
from hypothesis import strategies as st

from aigon.errors import AigonError
from aigon.spec.document import parse_spec, read_known_failures, tick_boxes

quick = settings(max_examples=80)

# What a naive reader stumbles over: characters that str.splitlines() breaks at, regular expression replacements,
# bytes that only look like boxes.
AWKWARD = "ab é$&\\1[]x`*_|\x0b\x0c\x1c\x85\u2028\u2029\ufeff\x00😀"

FRAGMENTS = [b"## Acceptance Criteria\n", b"## Validation\n", b"---\n", b"===\n", b"a", b"a: b\n", b"known_failures: ["]
FRAGMENTS += [b"- ", b"1. ", b"> ", b"[ ]", b"[x] ", b" ", b"    ", b"\t", b"\n", b"\r", b"\r\n", b"```", b"`", b"\\"]
FRAGMENTS += [b"<!--", b"-->", b"verify: x", b"metric: x > 1", b"<div>", b"[a]: b", b"&a ", b"*a"]
FRAGMENTS += [b"\x00", b"\xff", b"\xe2\x80\xa8", b"\xef\xbb\xbf"]


@dataclass(frozen=True)
class Written:
    """A generated file and the boxes it holds, as (ticked, text)."""

    raw: bytes
    boxes: tuple[tuple[bool, str], ...]


def words() -> st.SearchStrategy[str]:
    return st.text(AWKWARD, max_size=12).map(lambda middle: f"w{middle}w")


@st.composite
def items(draw: st.DrawFn, depth: int = 0) -> tuple[list[str], list[tuple[bool, str]]]:
    """The lines of one item, with nested ones, and its boxes. Only a list that begins with 1 interrupts a paragraph."""
    marker = draw(st.sampled_from(["-", "*", "+", "1.", "1)", "> -"] if depth else ["-", "*", "+", "1.", "7)", "> -"]))
    mark, text = draw(st.sampled_from(" xX")), draw(words())
    lines = [f"{marker} [{mark}] {text}"]
    boxes = [(mark != " ", text.replace("\x00", "\ufffd"))]
    indent = "> " + "  " if marker == "> -" else " " * (len(marker) + 1)
    if draw(st.booleans()):
        lines.append(f"{indent}more")
        boxes[0] = (boxes[0][0], boxes[0][1] + " more")
    if depth < 2 and draw(st.booleans()):
        inner_lines, inner_boxes = draw(items(depth + 1))
        lines += [indent + line for line in inner_lines]
        boxes += inner_boxes
    return lines, boxes


@st.composite
def files(draw: st.DrawFn) -> Written:
    """A spec of items and of what is none, with one kind of newline, perhaps a byte order mark and frontmatter."""
    newline = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    lines, boxes = draw(st.sampled_from([[], ["---", "a: b", "---"], ["# Stories", "- [ ] story", ""]])), []
    lines = [*lines, "## Acceptance Criteria", ""]
    for _ in range(draw(st.integers(0, 4))):
        inner_lines, inner_boxes = draw(items())
        lines += [*draw(noise()), "", *inner_lines, ""]
        boxes += inner_boxes
    text = newline.join([*lines, "## After", "- [x] not one", ""])
    return Written(draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.encode(), tuple(boxes))


def noise() -> st.SearchStrategy[list[str]]:
    """Blocks between items that hold no criterion."""
    return st.sampled_from(
        [
            [],
            ["prose [ ] text"],
            ["```", "- [ ] code", "```"],
            ["<!--", "- [ ] hidden", "-->"],
            ["### Group"],
            ["- [ ]"],
        ]
    )


def decisions() -> st.SearchStrategy[dict[int, bool]]:
    return st.dictionaries(st.integers(1, 12), st.booleans())


@quick
@given(files(), decisions())
def test_ticks_change_their_boxes_and_can_be_taken_back(written: Written, met: Mapping[int, bool]) -> None:
    spec = parse_spec(written.raw)
    assert tuple((c.checked, c.text) for c in spec.criteria) == written.boxes
    assert [c.number for c in spec.criteria] == list(range(1, len(written.boxes) + 1))
    ticked = tick_boxes(spec, met)
    changed = {at for at, (old, new) in enumerate(zip(written.raw, ticked, strict=True)) if old != new}
    assert changed == {c.box for c in spec.criteria if met.get(c.number, c.checked) != c.checked}
    again = parse_spec(ticked)
    assert [c.checked for c in again.criteria] == [met.get(c.number, c.checked) for c in spec.criteria]
    assert [(c.line, c.text, c.kind, c.box) for c in again.criteria] == [
        (c.line, c.text, c.kind, c.box) for c in spec.criteria
    ]
    back = tick_boxes(again, {c.number: c.checked for c in spec.criteria})
    assert back.replace(b"[X]", b"[x]") == written.raw.replace(b"[X]", b"[x]")
    assert tick_boxes(again, met) == ticked


@quick
@given(st.binary(max_size=300) | st.lists(st.sampled_from(FRAGMENTS), max_size=40).map(b"".join))
@example(b"---\n---")
@example(b"---\n\n   ")
@example(b"- \x0c\n  [ ] a")
@example(b"## Acceptance Criteria\n- \x0c\n  [ ] a")
def test_any_bytes_are_read_or_refused_with_a_reason(raw: bytes) -> None:
    with suppress(AigonError):
        spec = parse_spec(raw)
        assert all(raw[c.box - 1 : c.box + 2] in (b"[ ]", b"[x]", b"[X]") for c in spec.criteria)
        met = {c.number: not c.checked for c in spec.criteria}
        assert {c.number: c.checked for c in parse_spec(tick_boxes(spec, met)).criteria} == met
        read_known_failures(spec)


def test_a_capital_x_stays_and_unnamed_boxes_are_left_alone() -> None:
    spec = parse_spec(b"# Acceptance Criteria\r\n- [X] a\r\n- [ ] b\r\n- [x] c\r\n")
    assert (
        tick_boxes(spec, {1: True, 2: True, 9: True}) == b"# Acceptance Criteria\r\n- [X] a\r\n- [x] b\r\n- [x] c\r\n"
    )
    assert tick_boxes(spec, {1: False, 3: False}) == b"# Acceptance Criteria\r\n- [ ] a\r\n- [ ] b\r\n- [ ] c\r\n"
    assert tick_boxes(spec, {}) == spec.raw
