"""Patterns of paths mean what their regular expressions do, whichever way that is found out."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aigon.text.patterns import compile_glob, is_covered, is_match

PIECES = ("a", "b", "/", ".", "**/", "**", "*", "?", "{a,b}", "{a*,b}", "{,a}", "{", "}", ",")


@pytest.mark.parametrize(
    ("pattern", "means", "means_not"),
    [
        ("**/conftest.py", ["conftest.py", "a/b/conftest.py"], ["conftest.pyc", "my_conftest.py", "conftest.py/a"]),
        ("docs/**", ["docs/a", "docs/a/b.md"], ["docs", "old/docs/a"]),
        ("**/{ruff.toml,.flake8}", ["ruff.toml", "a/.flake8"], ["ruff.tom", "aruff.toml"]),
        ("**/tests/**", ["tests/a.py", "a/tests/b"], ["tests", "latests/a"]),
        ("test_*.{py,sh}", ["test_.py", "test_a.sh"], ["a/test_a.py", "test_a.rb"]),
    ],
)
def test_a_pattern_means_these_paths_and_no_others(pattern: str, means: list[str], means_not: list[str]) -> None:
    assert [path for path in (*means, *means_not) if is_match(pattern, path)] == means


@settings(max_examples=400)
@given(st.lists(st.sampled_from(PIECES), max_size=6), st.text("ab/.{},", max_size=6))
def test_what_is_told_from_its_text_alone_is_what_the_expression_says(pieces: list[str], path: str) -> None:
    pattern = "".join(pieces)
    assert is_match(pattern, path) == (compile_glob(pattern).fullmatch(path) is not None)


def test_a_folders_name_covers_what_is_below_it() -> None:
    assert [is_covered("./tests/", path) for path in ("tests", "tests/a", "tests2/a")] == [True, True, False]
