"""Tests that are left out, weakened or gone."""

import pytest

from aigon.model.changes import Edit
from tests.proof.integrity.changes import TESTS, changed, levels, new, seen

PYTHON = "import pytest\n\n\ndef test_old():\n    assert f(1) == 2\n    assert f(2) == 3\n"
JS = "describe('sum', () => {\n  it('adds', () => {\n    expect(sum(1, 2)).toBe(3);\n  });\n});\n"
GO = 'func TestOld(t *testing.T) {\n\tif f(1) != 2 {\n\t\tt.Error("no")\n\t}\n}\n'
RUST = "#[test]\nfn old() {\n    assert_eq!(f(1), 2);\n}\n"
LEFT_OUT = {
    "a mark": ("tests/test_a.py", PYTHON, PYTHON.replace("def test_old", "@pytest.mark.skip\ndef test_old")),
    "a condition": (
        "tests/test_a.py",
        PYTHON,
        PYTHON.replace("def test_old", "@pytest.mark.skipif(True, reason='')\ndef test_old"),
    ),
    "an expected failure": (
        "tests/test_a.py",
        PYTHON,
        PYTHON.replace("def test_old", "@pytest.mark.xfail\ndef test_old"),
    ),
    "a call": ("tests/test_a.py", PYTHON, PYTHON.replace("():\n", "():\n    pytest.skip('later')\n")),
    "a file": ("tests/test_a.py", PYTHON, PYTHON.replace("\n\n\n", "\npytestmark = pytest.mark.skip\n\n\n")),
    "a library": ("tests/test_a.py", PYTHON, PYTHON.replace("\n\n\n", "\npytest.importorskip('nothing')\n\n\n")),
    "a flag": ("tests/test_a.py", PYTHON, PYTHON + "\n\n__test__ = False\n"),
    "no parameters": (
        "tests/test_a.py",
        PYTHON,
        PYTHON.replace("def test_old", "@pytest.mark.parametrize('x', [])\ndef test_old"),
    ),
    "never": ("tests/test_a.py", PYTHON, "if False:\n    def test_old():\n        assert f(1) == 2\n"),
    "unittest": ("tests/test_a.py", PYTHON, PYTHON.replace("def test_old", "@unittest.skip('x')\ndef test_old")),
    "a mark under another name": (
        "tests/test_a.py",
        PYTHON,
        PYTHON.replace("\n\n\n", "\nlater = pytest.mark.skip(reason='x')\n\n\n@later\n"),
    ),
    "a call under another name": (
        "tests/test_a.py",
        PYTHON,
        PYTHON.replace("():\n", "():\n    leave('later')\n").replace(
            "pytest\n", "pytest\nfrom pytest import skip as leave\n"
        ),
    ),
    "it.skip": ("src/a.test.js", JS, JS.replace("it(", "it.skip(")),
    "xit": ("src/a.test.js", JS, JS.replace("it(", "xit(")),
    "describe.skip": ("src/a.test.js", JS, JS.replace("describe(", "describe.skip(")),
    "only another": ("src/a.test.js", JS, JS + "it.only('is easy', () => {});\n"),
    "this.skip": ("src/a.test.js", JS, JS.replace("=> {\n    ", "=> {\n    this.skip();\n    ")),
    "an option": ("src/a.test.js", JS, JS.replace("'adds', ", "'adds', { skip: true }, ")),
    "Go": ("a_test.go", GO, GO.replace("{\n\tif", '{\n\tt.Skip("later")\n\tif')),
    "Rust": ("tests/a.rs", RUST, RUST.replace("#[test]", "#[test]\n#[ignore]")),
    "Java": (
        "ATest.java",
        "@Test\nvoid old() { assertEquals(1, f()); }\n",
        "@Test\n@Disabled\nvoid old() { assertEquals(1, f()); }\n",
    ),
}
WEAKER = {
    "an assertion less": ("tests/test_a.py", PYTHON, PYTHON.replace("    assert f(2) == 3\n", "")),
    "true": ("tests/test_a.py", PYTHON, PYTHON.replace("assert f(1) == 2", "assert True")),
    "something": ("tests/test_a.py", PYTHON, PYTHON.replace("f(1) == 2", "f is not None")),
    "or true": ("tests/test_a.py", PYTHON, PYTHON.replace("f(1) == 2", "f(1) == 2 or True")),
    "a pair": ("tests/test_a.py", PYTHON, PYTHON.replace("assert f(1) == 2", "assert (f(1) == 2, 'no')")),
    "a comment": ("tests/test_a.py", PYTHON, PYTHON.replace("assert f(1)", "# assert f(1)")),
    "JavaScript": ("src/a.test.js", JS, JS.replace("sum(1, 2)).toBe(3)", "true).toBe(true)")),
    "Go": ("a_test.go", GO, GO.replace('t.Error("no")', "return")),
    "Rust": ("tests/a.rs", RUST, RUST.replace("assert_eq!(f(1), 2)", "assert!(true)")),
}


def _edit(case: tuple[str, str, str]) -> Edit:
    return changed(*case, "tests")


@pytest.mark.parametrize("case", LEFT_OUT.values(), ids=LEFT_OUT)
def test_leaving_out_a_test_of_the_base_is_reviewed(case: tuple[str, str, str]) -> None:
    assert "review" in levels("skipped-tests", _edit(case))


def test_leaving_out_a_new_test_is_a_note_and_what_only_sounds_like_it_is_nothing() -> None:
    later = "\n\n@pytest.mark.skip\ndef test_new():\n    assert f(3) == 4\n"
    assert levels("skipped-tests", changed("tests/test_a.py", PYTHON, PYTHON + later, "tests")) == {"note"}
    assert levels("skipped-tests", new("tests/test_b.py", PYTHON + later, "tests")) == {"note"}
    assert levels("skipped-tests", changed("src/a.test.js", JS, JS + "it.skip('is new', () => {});\n", "tests")) == {
        "note"
    }
    query = JS.replace("sum(1, 2)", "list.skip(10).only({ skip: 10 })")
    assert levels("skipped-tests", changed("src/a.test.js", JS, query, "tests")) == set()
    assert levels("skipped-tests", changed("tests/test_a.py", PYTHON, PYTHON + "# pytest.skip()\n", "tests")) == set()


@pytest.mark.parametrize("case", WEAKER.values(), ids=WEAKER)
def test_a_test_of_the_base_that_asks_for_less_is_a_note(case: tuple[str, str, str]) -> None:
    assert levels("weakened-tests", _edit(case)) == {"note"}


def test_a_test_that_asks_for_as_much_or_more_is_nothing() -> None:
    assert (
        levels("weakened-tests", changed("tests/test_a.py", PYTHON, PYTHON.replace("== 2", "== 5"), "tests")) == set()
    )
    assert levels("weakened-tests", changed("tests/test_a.py", PYTHON, PYTHON + "    assert f(3)\n", "tests")) == set()
    assert levels("weakened-tests", new("tests/test_a.py", "def test_a():\n    assert True\n", "tests")) == set()


def test_tests_that_are_gone_are_a_note_that_names_them() -> None:
    (concern,) = seen("deleted-tests", changed("tests/test_multiply.py", TESTS, None, "tests"))
    assert concern.level == "note"
    assert "tests/test_multiply.py is gone with the tests" in concern.what
    assert "test_multiply_ints" in concern.what
    renamed = changed("tests/test_a.py", PYTHON, PYTHON.replace("test_old", "_test_old"), "tests")
    assert "test_old" in seen("deleted-tests", renamed)[0].what
    assert levels("deleted-tests", changed("a_test.go", GO, GO.replace("TestOld", "helper"), "tests")) == {"note"}
    assert levels("deleted-tests", changed("src/a.test.js", JS, "\n", "tests")) == {"note"}
    assert levels("deleted-tests", changed("tests/data/a.txt", "x", None, "tests")) == {"note"}


def test_tests_that_moved_are_not_gone() -> None:
    moved = (changed("tests/test_a.py", PYTHON, None, "tests"), new("tests/unit/test_a.py", PYTHON + "\n", "tests"))
    assert levels("deleted-tests", *moved) == set()
    split = (changed("tests/test_a.py", PYTHON, "\n", "tests"), new("tests/test_b.py", PYTHON, "tests"))
    assert levels("deleted-tests", *split) == set()
