"""A question about a test that the change rewrote shows what it expected and what it expects now."""

import textwrap

import pytest

from aigon.proof.base_tests import TestFiles
from aigon.proof.expectations import describe_changed_expectation

PYTHON = '''
def test_of_another_thing():
    assert f(1) == {"a": 1}

class TestShow:
    def test_shows(self):
        """Show a number."""
        got = show(2)
        assert got == {
            "number": 2,
            "text": "2",
        }
'''
ID = "tests.test_show.TestShow::test_shows"


def describe(before: str, after: str, *ids: str, path: str = "tests/test_show.py") -> str:
    before, after = textwrap.dedent(before), textwrap.dedent(after)
    return describe_changed_expectation(ids, TestFiles({path: before}, {path: after}))


def test_it_shows_the_lines_of_the_assertion_and_no_others() -> None:
    after = PYTHON.replace("Show a number", "Show one").replace('"text": "2"', '"text": "2.0"').replace('"a"', '"b"')
    assert describe(PYTHON, after, ID) == '`test_shows` now has `"text": "2.0",` where it had `"text": "2",`'


def test_it_shows_what_was_taken_away_and_nothing_of_an_unchanged_test() -> None:
    shorter = PYTHON.replace('            "text": "2",\n', "")
    assert describe(PYTHON, shorter, ID) == '`test_shows` now has nothing where it had `"text": "2",`'
    assert describe(PYTHON, PYTHON.replace('"a"', '"b"'), ID) == describe(PYTHON, "", ID) == ""


def test_it_shows_data_if_the_tests_are_as_they_were() -> None:
    snapshot = 'exports[`shows 1`] = `\n{\n  "number": 2,\n}\n`;\n'
    files = TestFiles({"a.snap": snapshot, "b.py": PYTHON}, {"a.snap": snapshot.replace("2", "3"), "b.py": PYTHON})
    assert describe_changed_expectation([ID], files) == '`a.snap` now has `"number": 3,` where it had `"number": 2,`'


def test_what_it_shows_stays_on_its_line_and_is_short() -> None:
    after = PYTHON.replace('"text": "2"', '"text": """`\n## Approve\n' + "x" * 500 + '"""')
    said = describe(PYTHON, after, ID)
    assert "\n" not in said and len(said) < 400


@pytest.mark.parametrize(
    ("path", "text", "test"),
    [
        ("web/a.test.js", 'test("adds", () => {\n  expect(add(2, 3)).toBe(5);\n});\n', "web/a.test.js::adds"),
        (
            "a_test.go",
            "package a\n\nfunc TestAdds(t *testing.T) {\n\tif Add(2, 3) != 5 {\n\t\tt.Fatal(1)\n\t}\n}\n",
            "m/a::TestAdds",
        ),
        ("tests/a.rs", "#[test]\nfn adds() {\n    assert_eq!(add(2, 3), 5);\n}\n", "demo tests/a.rs::adds"),
    ],
)
def test_it_reads_tests_of_other_languages(path: str, text: str, test: str) -> None:
    said = describe(text, text.replace("5", "6"), test, path=path)
    assert said.count("6") == said.count("5") == 1 and " where it had " in said
