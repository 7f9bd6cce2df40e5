"""The base's tests follow a name that the spec's words give, in code alone, and only if the change gives it."""

import pytest

from aigon.proof.proposed_allow import choose_made, follow_renames, read_renames
from aigon.spec.document import parse_spec


def read(text: str) -> dict[str, str]:
    return read_renames(parse_spec(f"# Feature: X\n\n{text}\n\n## Acceptance Criteria\n\n- [ ] It works\n".encode()))


@pytest.mark.parametrize(
    "words",
    [
        "`calc.add` is renamed to `calc.plus`",
        "Rename the function `calc.add()` to `plus()`.",
        "AC-3: add will be renamed to plus, and its tests follow",
        "the argument `add` of `calc.total` is renamed to `plus`",
        "calc: add -> plus",
        "This renames add to plus.",
        "`add` → `plus`",
        'Revert "calc: plus -> add"',
        'Revert "Revert "add is renamed to plus""',
    ],
)
def test_a_name_and_the_one_after_it_are_read(words: str) -> None:
    assert read(words) == {"add": "plus"}


@pytest.mark.parametrize(
    "words",
    [
        "`calc.add` is renamed to `sums.plus`",
        "`add` is renamed to `plus`. `add` is renamed to `total`.",
        "It takes `str -> bytes`, and True -> False",
        "`add` is faster, and `plus` is new",
        "`def f(a) -> total`",
        "<!-- add is renamed to plus -->",
        "```\nadd -> plus\n```",
    ],
)
def test_what_is_no_rename_of_one_name_or_one_of_the_language_is_not(words: str) -> None:
    assert read(words) == {}


def test_only_what_the_change_makes_is_followed() -> None:
    renames = {"add": "plus", "old": "new"}
    before, after = "def add(): pass\n# old\n", "def plus(): pass\n# new\n"
    assert choose_made(renames, {"calc.py": (before, after)}) == {"add": "plus"}
    assert choose_made(renames, {"calc.py": (before, before + after)}) == {}
    assert choose_made(renames, {"calc.txt": (before, after)}) == {}


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        (
            "test_a.py",
            "from calc import add  # add\n\ndef test_add():\n    assert calc.add(1, add=2) == 'add', added\n",
            "from calc import plus  # add\n\ndef test_add():\n    assert calc.plus(1, plus=2) == 'add', added\n",
        ),
        (
            "a.test.js",
            'test("add", () => { expect(add(1)).toBe($add); });',
            'test("add", () => { expect(plus(1)).toBe($add); });',
        ),
        ("rows.txt", "add", "add"),
    ],
)
def test_names_in_code_follow_and_texts_stay(path: str, before: str, after: str) -> None:
    assert follow_renames({"add": "plus"}, path, before) == after
    assert follow_renames({}, path, before) == before
