"""What is measured on the text of a change."""

from aigon.compare.facts import LineCount, count_added_branches, count_branches, count_problems, measure_change
from aigon.model.changes import DiffLine, Edit, Edits, FileDiff, FilePart, Hunk
from tests.compare.entrants import LINT, TESTS, entry, looked, red


def diff(path: str, plus: int = 0, minus: int = 0, *, large: bool = False, binary: bool = False) -> FileDiff:
    """A file with so many lines more and less."""
    lines = tuple(DiffLine("+", "x", 0, n + 1) for n in range(plus)) + tuple(
        DiffLine("-", "y", n + 1, 0) for n in range(minus)
    )
    return FileDiff(path, "M", (Hunk("@@", lines),) if lines else (), binary=binary, large=large)


def edit(path: str, before: str | None, after: str | None, part: FilePart = "product") -> Edit:
    return Edit(path, before, after, part)


def test_lines_are_split_into_source_tests_and_the_rest() -> None:
    edits = Edits((edit("a.py", "", ""), edit("test_a.py", "", "", "tests"), edit("README.md", "", "", "other")))
    found = measure_change((diff("a.py", 3, 1), diff("test_a.py", 5), diff("README.md", 2)), edits, ())
    assert (found.source, found.tests, found.other) == (LineCount(3, 1), LineCount(5), LineCount(2))
    assert found.files == ("a.py", "test_a.py", "README.md") and found.touched_tests


def test_a_new_test_beside_those_of_the_base_does_not_touch_them() -> None:
    def touched(path: str, before: str | None, part: FilePart) -> bool | None:
        return measure_change((diff(path),), Edits((edit(path, before, "x", part),)), ()).touched_tests

    assert touched("tests/test_new.py", None, "tests") is False and touched("tests/test_a.py", "y", "tests") is True
    assert touched("tests/conftest.py", None, "tests") is True and touched("pyproject.toml", None, "config") is True


def test_code_among_the_docs_is_source() -> None:
    found = measure_change((diff("docs/a.py", 3),), Edits((edit("docs/a.py", None, "x", "other"),)), ())
    assert found.source == LineCount(3)


def test_what_is_too_large_to_read_is_not_known_and_no_zero() -> None:
    found = measure_change((diff("a.py", large=True), diff("test_a.py", 2)), Edits((edit("a.py", "", ""),)), ())
    assert (found.source, found.branching) == (None, None)


def test_binary_files_have_no_lines() -> None:
    assert (
        measure_change((diff("a.png", binary=True),), Edits((edit("a.png", None, "", "other"),)), ()).other
        == LineCount()
    )


def test_files_outside_the_expected_area_are_named_and_tests_are_never_outside() -> None:
    edits = Edits((edit("src/a.py", "", ""), edit("b.py", "", ""), edit("tests/t.py", "", "", "tests")))
    found = measure_change((diff("src/a.py"), diff("b.py"), diff("tests/t.py")), edits, ("src",))
    assert found.outside == ("b.py",)
    assert measure_change((diff("b.py"),), edits, ()).outside is None


def test_branches_are_counted_in_code_and_not_in_words_about_it() -> None:
    assert count_branches("a.py", "if a and b:\n    pass\nelif c:\n    pass  # if or while\ns = 'for if'\n") == 3
    assert count_branches("a.ts", "if (a && b) { for (;;) {} } // if\n") == 3
    assert count_branches("a.rb", "x unless y\nrescue\n") == 2
    assert count_branches("README.md", "if and for") == 0 and count_branches("a.py", None) == 0


def test_branches_that_were_taken_away_count_against() -> None:
    assert (
        count_added_branches((edit("a.py", "if a:\n    pass\n", "x = 1\n"), edit("b.py", None, "while x:\n    pass\n")))
        == 0
    )


def test_a_text_that_is_too_long_has_an_unknown_number_of_branches() -> None:
    assert count_added_branches((edit("a.py", "", "x = 1\n" * 100_000),)) is None


def test_a_text_that_is_made_to_take_forever_comes_to_an_end() -> None:
    for text in ('"""' + "\\" * 200_000, "/*" * 100_000, "`${" * 60_000):
        count_branches("a.py", text)
        count_branches("a.ts", text)


def test_problems_are_the_difference_to_the_base() -> None:
    one = entry(first=looked(TESTS, red(LINT, "a", "b")), look=looked(TESTS, red(LINT, "a")))
    assert one.delta("lint") == -1 and one.delta("types") is None


def test_a_check_that_could_not_run_or_named_nothing_says_nothing_on_problems() -> None:
    assert count_problems(looked(red(LINT)), "lint") is None
    assert count_problems(None, "lint") is None
    assert count_problems(looked(LINT), "lint") == 0
