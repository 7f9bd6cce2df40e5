"""unittest, flake8, pylint, black, pyright and SARIF: captures of the real tools, and the real ones that are here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from aigon.model.checks import ParsedOutput, Problem, TestCounts
from tests.checks.parsers.captured import captured, read, reading

BLOCK = b"-" * 70 + b"\nRan %d tests in 0.001s\n\n%s\n"
BROKEN = '''\
import unittest


class TestIt(unittest.TestCase):
    def test_good(self):
        """Adds ... ok"""

    def test_bad(self):
        self.assertEqual(1, 2)

    def test_parts(self):
        for n in range(3):
            with self.subTest(n=n):
                self.assertEqual(n, 0)

    def test_odd(self):
        print("=" * 70 + "\\nFAIL: test_fake (fake.Fake.test_fake)\\n" + "-" * 70)
        print("-" * 70 + "\\nRan 99 tests in 0.001s\\n\\nFAILED (failures=99)", flush=True)
        raise KeyError("x")


@unittest.skip("later")
class TestLater(unittest.TestCase):
    def test_later(self):
        pass
'''


def lines(found: ParsedOutput) -> list[tuple[str, int, str]]:
    """File, line and rule of each problem."""
    return [(p.file, p.line, p.rule) for p in found.problems]


@pytest.mark.parametrize("name", ["unittest-failed.txt", "unittest-verbose.txt", "unittest-python38.txt"])
def test_unittest_says_what_failed_with_dots_and_with_names_on_any_python(name: str) -> None:
    found = reading(name)
    assert found.counts is not None and (found.counts.failed, found.counts.errors, found.counts.skipped) == (5, 7, 3)
    assert found.tests == {}
    assert [(p.message, Path(p.file).name, p.line) for p in found.problems] == [
        ("RuntimeError: no database", "test_calc.py", 42),
        ("ValueError: deep & <odd>", "test_calc.py", 14),
        ("KeyError: 'x' TypeError: outer second line", "test_calc.py", 70),
        ("OSError: left open", "test_calc.py", 50),
        (
            "ImportError: Failed to import test module: tests.test_import "
            "ModuleNotFoundError: No module named 'nothing_like_this'",
            "test_import.py",
            1,
        ),
        ("RuntimeError: module not set up", "test_module.py", 3),
        (
            "ImportError: Failed to import test module: tests.test_syntax SyntaxError: invalid syntax",
            "test_syntax.py",
            1,
        ),
        ("AssertionError: 1 != 0", "test_calc.py", 31),
        ("AssertionError: 2 != 3 : sum is off", "test_calc.py", 11),
        (
            "AssertionError: {'a': 1, 'b': [1, 2]} != {'a': 1, 'b': [1, 3]} "
            "- {'a': 1, 'b': [1, 2]} ? ^ + {'a': 1, 'b': [1, 3]} ? ^",
            "test_calc.py",
            64,
        ),
        ("AssertionError: first", "test_calc.py", 53),
    ]


def test_unittest_names_tests_as_its_runner_does() -> None:
    names = [problem.test for problem in reading("unittest-odd.txt").problems]
    assert names[:3] == ["test_group (test_s.B.test_group)", *["test_b (test_s.C.test_b)"] * 2]


def test_what_a_django_test_prints_like_a_runner_is_not_the_runners_word() -> None:
    found = reading("unittest-django.txt")
    assert found.counts is not None and (found.counts.total, found.counts.failed) == (3, 3)
    assert [(p.test.partition(" ")[0], p.line) for p in found.problems] == [
        ("test_a", 7),
        ("test_c", 16),
        ("test_c", 16),
    ]


def test_unittest_without_tests_says_so_on_any_python() -> None:
    for name in ("unittest-none.txt", "unittest-none-python311.txt"):
        assert (reading(name).summary, reading(name).counts) == ("no tests collected", TestCounts())
    assert reading("unittest-passed.txt").summary == "1/1 passed, 1 skipped"


def test_unittest_that_never_got_to_its_end_is_not_understood() -> None:
    found = reading("unittest-start.txt")
    assert (found.understood, found.counts) == (False, None)
    assert [p.message for p in found.problems] == ["ImportError: Start directory is not importable: 'nothing'"]
    for words in (b"OK\n", b"Ran 3 tests in 0.1s\n\nOK\n", b"...\n" + b"-" * 70 + b"\n", BLOCK % (3, b"fine")):
        assert not read("unittest", words).understood


def test_the_last_summary_of_unittest_counts_and_a_torn_output_keeps_its_numbers() -> None:
    two = BLOCK % (9, b"OK") + b"...\n" + BLOCK % (4, b"FAILED (failures=1, skipped=1)")
    assert read("unittest", two).counts == TestCounts(total=4, passed=2, failed=1, skipped=1)
    whole = captured("unittest-failed.txt")
    torn = read("unittest", whole[:40] + b"\n[...]\n" + whole[-1500:])
    assert torn.counts is not None and (torn.counts.failed, torn.counts.errors) == (5, 7)


def test_unittest_as_it_is_here(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(BROKEN)
    for option in ((), ("-v",)):
        argv = (sys.executable, "-B", "-m", "unittest", *option)
        found = read("unittest", subprocess.run(argv, cwd=tmp_path, stdout=-1, stderr=-2, timeout=60).stdout)
        assert found.counts is not None and (found.counts.failed, found.counts.errors) == (3, 1)
        tests = {problem.test.partition(" ")[0] for problem in found.problems}
        assert tests >= {"test_odd", "test_bad", "test_parts"}


@pytest.mark.parametrize("name", ["flake8-source.txt", "flake8-count.txt", "flake8-pylint.txt"])
def test_every_form_of_flake8_has_the_same_problems(name: str) -> None:
    found = reading(name)
    assert found.summary == "16 problems"
    assert lines(found)[:2] == [("a.py", 2, "F401"), ("a.py", 2, "E402")]
    assert found.problems[-1] == Problem("SyntaxError: invalid syntax", "c.py", 1, "E999")


def test_codes_of_flake8s_plugins_are_codes() -> None:
    said = b"./src/a b.py:3:80: ABC123 too odd\nb.py:1:1: E oh\nnote: see E501 there\n"
    assert lines(read("flake8", said)) == [("src/a b.py", 3, "ABC123"), ("b.py", 1, "E")]


@pytest.mark.parametrize("name", ["pylint-errors.json", "pylint-json2.txt", "pylint-text.txt"])
def test_every_form_of_pylint_has_the_same_problems(name: str) -> None:
    found = reading(name)
    assert found.summary == "13 problems"
    assert found.problems[0] == Problem(
        "Parsing failed: 'invalid syntax (c, line 1)' (syntax-error)", "c.py", 1, "E0001"
    )
    assert [p.rule for p in found.problems if p.severity == "error"] == ["E0001", "E0602"]


@pytest.mark.parametrize("name", ["black-check.txt", "black-check23.txt"])
def test_black_names_what_it_would_change_and_what_it_cannot_read(name: str) -> None:
    found = reading(name)
    assert found.summary == "3 problems"
    assert lines(found) == [
        ("/project/a.py", 0, "unformatted"),
        ("/project/b.py", 0, "unformatted"),
        ("/project/c.py", 1, "invalid-syntax"),
    ]


@pytest.mark.parametrize("name", ["pyright-text.txt", "pyright-errors.json"])
def test_both_forms_of_pyright_have_the_same_errors(name: str) -> None:
    found = reading(name)
    assert found.summary == "1 error, 1 warning"
    said = 'Type "Literal[\'\']" is not assignable to declared type "int" "Literal[\'\']" is not assignable to "int"'
    assert found.problems == (
        Problem(said, "/project/a.py", 1, "reportAssignmentType"),
        Problem('Variable "q" is not accessed', "/project/m.py", 3, "reportUnusedVariable", "warning"),
    )


@pytest.mark.parametrize("name", ["pyright-based.txt", "pyright-basedjson.txt"])
def test_basedpyright_is_read_like_pyright(name: str) -> None:
    assert reading(name).summary == "1 error, 4 warnings"
    assert reading(name).problems[0].rule == "reportAssignmentType"


def test_a_pyright_that_looked_at_nothing_is_not_called_clean() -> None:
    report = json.loads(captured("pyright-clean.json"))
    report["summary"]["filesAnalyzed"] = 0
    assert read("pyright", b"", json.dumps(report).encode()).summary == "no files checked"


@pytest.mark.parametrize(
    "name", ["flake8-clean.txt", "pylint-clean.txt", "black-clean.txt", "pyright-clean.txt", "pyright-clean.json"]
)
def test_a_content_tool_is_clean(name: str) -> None:
    assert (reading(name).summary, reading(name).problems) == ("clean", ())


@pytest.mark.parametrize("name", ["flake8-usage.txt", "pylint-usage.txt", "black-usage.txt", "pyright-missing.txt"])
def test_a_tool_that_could_not_start_is_not_clean(name: str) -> None:
    assert (reading(name).understood, reading(name).summary) == (False, "")


def test_silence_is_clean_only_for_tools_that_are_silent_then() -> None:
    assert {name: read(name, b"").understood for name in ("flake8", "pylint", "black", "pyright", "sarif")} == {
        "flake8": True,
        "pylint": True,
        "black": True,
        "pyright": False,
        "sarif": False,
    }


def test_sarif_is_read_as_its_standard_says() -> None:
    found = reading("sarif-documented.json")
    assert found.summary == "7 problems"
    assert found.problems == (
        Problem("x is used before y, {2}", "/project/src/a b/ü.c", 3, "A1"),
        Problem("minor", "/project/src/lib/b.c", 7, "A2", "warning"),
        Problem("by default a warning", "x.c", 0, "A3/part", "warning"),
        Problem("its own level", rule="A3"),
        Problem("of an extension", rule="P1"),
        Problem("not suppressed after all", rule="A1"),
        Problem("of a second run", "/project/c.py", 1, "B", "warning"),
    )


def test_a_sarif_path_below_the_project_is_relative_once_the_project_is_gone_from_it() -> None:
    report = captured("sarif-ruff.json").replace(b"/project/", b"")
    found = read("sarif", b"", report)
    assert lines(found) == [("b.py", 5, "F821"), ("b.py", 6, "E722")]
    assert read("sarif", b"warning: slow\n" + report + b"\nbye\n") == found


@pytest.mark.parametrize(
    "change",
    [
        {"runs": []},
        {"version": "1.0.0", "$schema": ""},
        {"runs": [{"tool": {"driver": {"name": "x"}}}]},
        {"runs": [{"results": []}]},
    ],
    ids=["no runs", "another version", "no results", "no tool"],
)
def test_what_is_no_whole_sarif_is_not_clean(change: dict[str, object]) -> None:
    report = json.loads(captured("sarif-ruff.json")) | change
    assert not read("sarif", b"", json.dumps(report).encode()).understood


def test_a_sarif_tool_that_did_not_get_to_its_end_is_not_understood() -> None:
    report = json.loads(captured("sarif-ruff.json"))
    said = {"level": "error", "message": {"text": "out of memory"}}
    report["runs"][0]["invocations"] = [{"executionSuccessful": False, "toolExecutionNotifications": [said]}]
    found = read("sarif", b"", json.dumps(report).encode())
    assert (found.understood, found.problems[0].message) == (False, "out of memory")


def test_ruff_says_what_is_unformatted_in_every_form() -> None:
    changed = [("a.py", "unformatted"), ("b.py", "unformatted"), ("c.py", "invalid-syntax")]
    for name in ("ruff-format17.txt", "ruff-formatdiff.txt"):
        assert sorted((p.file, p.rule) for p in reading(name).problems) == changed
    assert reading("ruff-formatdiffclean.txt").summary == "clean"
    assert reading("ruff-pylint.txt").summary == "12 problems"


@pytest.mark.parametrize("name", ["pytest-xdist.txt", "pytest-verbose.txt", "pytest-tox.txt"])
def test_pytest_is_read_whoever_starts_it_and_however_much_it_says(name: str) -> None:
    found = reading(name)
    assert found.counts == TestCounts(total=4, passed=2, failed=1, skipped=1)
    assert [(p.test, p.message) for p in found.problems] == [
        ("test_it.py::test_b[1 - 1]", "AssertionError: assert '1 - 1' == '2'")
    ]


def test_ruff_as_it_is_here_writes_sarif_and_says_what_it_would_format(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import os\nx=y\n")
    ruff = (sys.executable, "-m", "ruff")
    check = (*ruff, "check", "--isolated", "--no-cache", "--select=F", "--output-format=sarif", "a.py")
    found = read("sarif", subprocess.run(check, cwd=tmp_path, stdout=-1, stderr=-2, timeout=60).stdout)
    assert [(Path(p.file).name, p.line, p.rule) for p in found.problems] == [("a.py", 1, "F401"), ("a.py", 2, "F821")]
    for form in ("--check", "--diff"):
        argv = (*ruff, "format", "--isolated", "--no-cache", form, "a.py")
        found = read("ruff", subprocess.run(argv, cwd=tmp_path, stdout=-1, stderr=-2, timeout=60).stdout)
        assert [(p.file, p.rule) for p in found.problems] == [("a.py", "unformatted")]
