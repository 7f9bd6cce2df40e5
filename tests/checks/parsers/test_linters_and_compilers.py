import pytest

from aigon.model.checks import Problem
from tests.checks.parsers.captured import captured, read, reading


@pytest.mark.parametrize("form", ["json", "json-lines", "concise", "full"])
def test_every_form_of_ruff_has_the_same_rules(form: str) -> None:
    found = reading(f"ruff-{form}.txt")
    assert found.summary == "6 problems"
    assert [p.rule for p in found.problems] == ["I001", "F401", "F401", "F821", "invalid-syntax", "invalid-syntax"]
    assert [p.line for p in found.problems][:4] == [1, 1, 2, 5]


def test_ruff_says_what_is_missing_and_what_is_unformatted() -> None:
    assert reading("ruff-missing.txt").problems == (
        Problem("No such file or directory (os error 2)", "nothing.py", 1, "E902"),
    )
    assert reading("ruff-format.txt").problems == (Problem("File would be reformatted", "a.py", 4, "unformatted"),)


def test_ruff_json_is_found_between_warnings() -> None:
    noisy = b"warning: deprecated [option]\n[not json\n" + captured("ruff-json.txt") + b"\nwarning: done\n"
    assert read("ruff", noisy) == reading("ruff-json.txt")


def test_the_total_that_ruff_states_stands_where_the_middle_is_missing() -> None:
    assert read("ruff", b"a.py:1:1: I001 [*] Sort\n[...]\nFound 412 errors.\n").summary == "412 problems"


@pytest.mark.parametrize("name", ["mypy-errors.txt", "mypy-json.txt", "mypy-pretty.txt"])
def test_every_form_of_mypy_has_the_same_errors(name: str) -> None:
    found = reading(name)
    assert found.summary == "3 errors"
    assert found.problems == (
        Problem('Incompatible return value type (got "str", expected "int")', "m.py", 4, "return-value"),
        Problem('Argument 1 to "add" has incompatible type "str"; expected "int"', "m.py", 6, "arg-type"),
        Problem(
            'Cannot find implementation or library stub for module named "yaml_nothing"', "m.py", 7, "import-not-found"
        ),
    )


def test_mypy_names_a_file_that_is_not_there() -> None:
    assert reading("mypy-missing.txt").summary == "1 error"
    assert reading("mypy-missing.txt").problems[0].file == "nothing.py"


@pytest.mark.parametrize("name", ["ruff-clean.txt", "ruff-clean-json.txt", "mypy-clean.txt", "mypy-clean-json.txt"])
def test_a_content_tool_is_clean(name: str) -> None:
    assert (reading(name).summary, reading(name).problems) == ("clean", ())


def test_warnings_are_counted_beside_errors() -> None:
    assert read("mypy", b"a.py:1: warning: odd\n").summary == "1 warning"
    assert read("tsc", b"a.ts(1,1): error TS1: x\na.ts(2,1): warning TS2: y\n").summary == "1 error, 1 warning"


def test_both_forms_of_eslint_have_the_same_problems() -> None:
    json, stylish = reading("eslint-json.txt"), reading("eslint-stylish.txt")
    assert json.summary == stylish.summary == "6 problems"
    assert [(p.file, p.line, p.rule, p.severity) for p in json.problems] == [
        (p.file, p.line, p.rule, p.severity) for p in stylish.problems
    ]
    assert stylish.problems[0] == Problem("Expected '===' and instead saw '=='", "/project/a.js", 2, "eqeqeq")


def test_eslint_warnings_are_problems_of_their_own_severity() -> None:
    assert reading("eslint-warning.txt").summary == "1 problem"
    assert reading("eslint-warning.txt").problems[0].severity == "warning"


def test_eslint_that_could_not_start_is_not_clean() -> None:
    found = reading("eslint-missing.txt")
    assert (found.understood, found.summary) == (False, "")
    assert [p.message for p in found.problems] == ['No files matching the pattern "nothing.js" were found.']


@pytest.mark.parametrize("name", ["tsc-errors.txt", "tsc-pretty.txt"])
def test_both_forms_of_tsc_have_the_same_errors(name: str) -> None:
    found = reading(name)
    assert found.summary == "4 errors"
    assert [(p.file, p.line, p.rule) for p in found.problems] == [
        ("a.ts", 1, "TS2322"),
        ("a.ts", 2, "TS2322"),
        ("a.ts", 3, "TS2345"),
        ("a.ts", 4, "TS2322"),
    ]


def test_an_error_without_a_file_is_one_too() -> None:
    assert reading("tsc-option.txt").problems == (Problem("Unknown compiler option '--nonsense'.", rule="TS5023"),)


@pytest.mark.parametrize("name", ["tsc", "eslint", "ruff", "mypy"])
def test_silence_behind_npm_is_clean_and_anything_else_is_not(name: str) -> None:
    assert read(name, b"\n> app@1.0.0 check\n> tool .\n\n").summary == "clean"
    assert not read(name, b"sh: 1: tool: not found\n").understood


def test_a_build_ends_with_its_cause() -> None:
    assert reading("build-passed.txt").summary == "built demo-1.0-py2.py3-none-any.whl"
    assert reading("build-failed.txt").summary.startswith("ValueError: Invalid version `not a version`")
    assert reading("build-npm.txt").problems == (Problem("Error: missing import: ./theme"),)
    assert reading("build-script.txt").problems == (Problem('npm error Missing script: "nothing"'),)


def test_a_build_that_runs_tsc_names_its_errors() -> None:
    assert reading("build-tsc.txt").summary == "4 errors"
    assert reading("build-tsc.txt").problems[0].rule == "TS2322"


def test_any_other_text_keeps_the_last_few_lines_that_look_like_errors() -> None:
    lines = b"".join(b"src/a.c:%d:2: error: bad %d\n" % (n, n) for n in range(1, 40)) + b"0 errors ignored\nbye\n"
    found = read("text", lines)
    assert (found.understood, found.summary, found.counts) == (False, "", None)
    assert [(p.file, p.line) for p in found.problems] == [("src/a.c", n) for n in range(35, 40)]
    assert read("text", b"all is well\nerrors are cheap\n").problems == ()
