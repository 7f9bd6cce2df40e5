"""Annotations written into specs of every shape: the right place, and not one other byte."""

import pytest

from aigon.errors import AigonError
from aigon.spec.annotation import Annotation
from aigon.spec.document import annotate, can_annotate, parse_spec

HEAD = "# Feature\n\n## Acceptance Criteria\n\n"
VERIFY = Annotation("verify", "true")
MARK = "<!-- verify: true -->"


def written(text: str | bytes, *numbers: int) -> bytes:
    """The spec with `verify: true` behind the criteria of these numbers."""
    raw = text if isinstance(text, bytes) else text.encode()
    return annotate(parse_spec(raw), dict.fromkeys(numbers, VERIFY))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- [ ] one\n- [ ] two\n", f"- [ ] one {MARK}\n- [ ] two\n"),
        ("- [ ] one", f"- [ ] one {MARK}"),
        ("- [ ] one  \n", f"- [ ] one {MARK}  \n"),
        ("- [ ] one\n  and more of it\n\n  A paragraph.\n", f"- [ ] one\n  and more of it {MARK}\n\n  A paragraph.\n"),
        ("- [ ] one\nlazily continued\n", f"- [ ] one\nlazily continued {MARK}\n"),
        ("- [ ] one\n  - a detail\n  - [ ] two\n", f"- [ ] one {MARK}\n  - a detail\n  - [ ] two\n"),
        ("- [ ] one\n  ```\n  code\n  ```\n", f"- [ ] one {MARK}\n  ```\n  code\n  ```\n"),
        ("> 1. [x] one\n> 2. [ ] two\n", f"> 1. [x] one {MARK}\n> 2. [ ] two\n"),
        ("* [ ] one <!-- a note -->\n", f"* [ ] one <!-- a note --> {MARK}\n"),
        ("- [ ] one\n  <!-- a note -->\n", f"- [ ] one {MARK}\n  <!-- a note -->\n"),
        ("- [ ] `one` and ``two`` \\\n", f"- [ ] `one` and ``two`` \\ {MARK}\n"),
        ("+ [ ] one\t\n\ttabbed\t\n", f"+ [ ] one\t\n\ttabbed {MARK}\t\n"),
    ],
)
def test_it_stands_behind_the_words_of_the_item(before: str, after: str) -> None:
    for ending in ("\n", "\r\n", "\r"):
        for start in ("", "\ufeff"):
            raw, wanted = ((start + HEAD + text).replace("\n", ending).encode() for text in (before, after))
            assert written(raw, 1) == wanted


def test_bytes_that_are_no_utf_8_stay_and_several_are_written_at_once() -> None:
    raw = HEAD.encode() + b"- [ ] caf\xe9\n- [x] two\n- [ ] drei\xff  \n"
    assert written(raw, 1, 3) == raw.replace(b"\xe9", b"\xe9 " + MARK.encode()).replace(
        b"\xff", b"\xff " + MARK.encode()
    )
    assert [c.kind for c in parse_spec(written(raw, 2)).criteria] == ["judge", "verify", "judge"]


def test_what_a_command_holds_comes_back_as_it_was() -> None:
    commands = ("test \"$(echo 'a`b')\" = '`' # -- ", "a -- b", "grep -q '<!' x", "echo \\\\ é 🎉", "wc -l < x", "a--")
    for command in commands:
        spec = parse_spec(f"{HEAD}- [ ] one\n".encode())
        (criterion,) = parse_spec(annotate(spec, {1: Annotation("verify", command.strip())})).criteria
        assert (criterion.kind, criterion.command, criterion.text) == ("verify", command.strip(), "one")


@pytest.mark.parametrize(
    "item",
    [
        "- [ ] one <!-- judge -->",
        "- [ ] one <!-- human -->",
        "- [ ] one\n  <!-- verify: false -->",
        "- [ ] one <!-- not closed",
        "- [ ] one `not closed <!-- x --> either",
    ],
)
def test_an_item_with_an_annotation_or_something_left_open_is_refused_or_read_back(item: str) -> None:
    spec = parse_spec(f"{HEAD}{item}\n".encode())
    if can_annotate(spec, 1):
        (criterion,) = parse_spec(annotate(spec, {1: VERIFY})).criteria
        assert (criterion.kind, criterion.command) == ("verify", "true")
        return
    with pytest.raises(AigonError) as caught:
        annotate(spec, {1: VERIFY})
    assert "criterion 1" in caught.value.what and caught.value.where == "line 5" and caught.value.code == 2


@pytest.mark.parametrize("command", ["true --> false", "one\ntwo", "true -- <!-- x", ""])
def test_a_command_that_an_annotation_cannot_hold_is_never_written(command: str) -> None:
    spec = parse_spec(f"{HEAD}- [ ] one\n- [ ] two\n".encode())
    try:
        criteria = parse_spec(annotate(spec, {1: Annotation("verify", command)})).criteria
    except AigonError as error:
        assert "cannot be written" in error.what
    else:
        assert [(c.kind, c.command) for c in criteria] == [("verify", command), ("judge", None)]
