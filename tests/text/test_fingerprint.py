"""The same error has the same fingerprint wherever and whenever it happened; another error has another."""

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aigon.text.quoting import combine_fingerprints, fingerprint, normalise, strip_escapes

quick = settings(max_examples=80)

PIECES = [
    "\x1b",
    "\x1b[31m",
    "\x1b]0;t\x07",
    "[0m",
    "/",
    "/a/",
    "/tmp/x/",
    "a.py",
    ":",
    "12",
    "0x1f",
    "0x",
    " ",
    "  ",
    "\n",
    "\t",
]
PIECES += [
    "line ",
    "line",
    "1.5",
    "s",
    "ms",
    "2026-01-02",
    "T",
    "10:11:12",
    ".123",
    "+01:00",
    "-",
    "(",
    "]",
    "'",
    "é",
    "µs",
]
PIECES += ["123e4567-e89b-12d3-a456-426614174000", "error", "=", "N", "TIME"]

digits = st.integers(0, 99_999)
folders = st.lists(st.from_regex(r"[a-zA-Z0-9_.@+-]{1,8}", fullmatch=True), min_size=1, max_size=5).map(
    lambda names: "/" + "/".join(names)
)


@quick
@given(st.lists(st.sampled_from(PIECES), max_size=15).map("".join) | st.text(max_size=60))
@example("line  5")
@example("12  ms")
@example("\x1b\x1b[0m[0m")
@example(" \x1b/a/[0m")
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@quick
@given(folders, folders, digits, digits)
def test_the_same_error_in_another_folder_and_line_is_the_same(one: str, other: str, line: int, moved: int) -> None:
    def message(folder: str, at: int) -> str:
        return f'{folder}/src/multiply.py:{at}:{at}: Error\n  File "{folder}/a.py", line {at}, in test\nE  42 != 41'

    assert fingerprint("tests", message(one, line)) == fingerprint("tests", message(other, moved))


@quick
@given(st.uuids(), st.uuids(), digits, digits)
def test_addresses_and_uuids_do_not_count(one: object, other: object, here: int, there: int) -> None:
    assert fingerprint(f"<Job {one} at 0x{here:x}> failed") == fingerprint(f"<Job {other} at 0x{there:012X}> failed")


@quick
@given(
    st.datetimes(),
    st.datetimes(),
    st.floats(0, 9999),
    st.floats(0, 9999),
    st.sampled_from(["s", "ms", " seconds", "µs"]),
)
def test_times_and_durations_do_not_count(one: object, other: object, fast: float, slow: float, unit: str) -> None:
    assert fingerprint(f"{one:%04Y-%m-%d %H:%M:%S} failed in {fast:.2f}{unit}") == fingerprint(
        f"{other:%04Y-%m-%dT%H:%M:%S.123Z} failed in {slow:.3f}{unit}"
    )


@pytest.mark.parametrize(
    "colour", ["\x1b[31m{}\x1b[0m", "\x1b[1;38;5;9m{}\x1b[m", "\x1b]8;;http://x\x07{}\x1b]8;;\x1b\\"]
)
def test_terminal_colours_and_links_do_not_count(colour: str) -> None:
    assert fingerprint(colour.format("E  assert 41 == 42")) == fingerprint("E  assert 41 == 42")
    assert strip_escapes(colour.format("text")) == "text"


def test_spaces_and_line_breaks_do_not_count() -> None:
    assert fingerprint("E  assert\r\n   41 == 42\n") == fingerprint("E assert 41 == 42")


@quick
@given(st.from_regex(r"[a-z]{1,12}( [a-z]{1,12}){0,3}", fullmatch=True), st.from_regex(r"[a-z]{1,12}", fullmatch=True))
def test_another_message_has_another_fingerprint(message: str, word: str) -> None:
    assert fingerprint(message) != fingerprint(f"{message} {word}")
    assert fingerprint(message, word) != fingerprint(f"{message}{word}")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("E  assert 41 == 42", "E  assert 40 == 42"),
        ("KeyError: 'a'", "KeyError: 'b'"),
        ("/tmp/x/multiply.py:3: error", "/tmp/x/divide.py:3: error"),
        ("expected 3 items", "expected 4 items"),
        ("src/a/b.py failed", "src/c/b.py failed"),
    ],
)
def test_messages_that_differ_in_what_they_say_stay_apart(one: str, other: str) -> None:
    assert fingerprint(one) != fingerprint(other)


def test_a_set_of_errors_has_one_name_whatever_its_order() -> None:
    assert combine_fingerprints(["b", "a", "b"]) == combine_fingerprints(["a", "b"])
    assert combine_fingerprints(["a"]) != combine_fingerprints(["b"])
    assert combine_fingerprints([]) == ""


NASTY = [
    "/",
    "1",
    "1.",
    "/a",
    "//a ",
    ":1",
    "0x",
    "a0x1 ",
    "\x1b[",
    "\x1b]",
    "\x1b[0;",
    "line ",
    "1-",
    " ",
    "2026-01-02 ",
    "\x1b",
]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", NASTY)
@pytest.mark.parametrize("before", ["", "x ", "\x1b]", "\x1b[0"])
def test_long_input_takes_time_in_proportion(piece: str, before: str) -> None:
    text = before + piece * (100_000 // len(piece))
    start = time.process_time()
    normalise(text)
    assert time.process_time() - start < 1.0
