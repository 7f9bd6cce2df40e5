"""The table of `feature-validate --verbose`, and what `--json` says of each check."""

import pytest
from msgspec.structs import replace

from aigon.model.checks import Check, Finding, Problem, TestCounts
from aigon.views.validation import PROBLEMS, ValidationRow, build_check_document, render_check_table

CHECK = Check("tests", "tests", ("pytest",), timeout=600, source="profiles/ecosystems/python.yaml")
FOUND = Finding("tests", "tests", "Tests", "pass", "15/15 passed", command="pytest -q", exit_code=0, duration=72.0)
ROW = ValidationRow(CHECK, FOUND, "pytest -q")


def why(check: Check = CHECK, **how: object) -> tuple[object, str]:
    cache = build_check_document(ValidationRow(check, replace(FOUND, **how), "pytest"))["cache"]
    assert isinstance(cache, dict)
    return cache["state"], cache["why"]


def test_it_says_what_was_remembered_and_why_the_rest_was_not() -> None:
    assert why(cached=True)[0] == "remembered"
    assert why() == ("run", "no pass on these files was remembered, and feature-validate keeps none")
    assert why(status="fail") == ("run", "only a pass is remembered")
    assert why(status="skipped", summary="skipped: the run was stopped") == ("not_run", "the run was stopped")
    assert why(replace(CHECK, remember=False))[1].startswith("never remembered")
    missing = why(replace(CHECK, missing="ruff"), status="error", summary="ruff is not installed.")
    assert missing == ("not_run", "ruff is not installed.")


def test_as_data_a_check_has_everything_that_is_known_of_it() -> None:
    problem = Problem("\x1b[31massert 1 == 2\x1b[0m", "tests/test_a.py", 7, "E1", test="tests/test_a.py::test_b")
    found = replace(FOUND, status="fail", counts=TestCounts(3, 1, 2), problems=(problem,) * (PROBLEMS + 9))
    told = build_check_document(ValidationRow(CHECK, found, "pytest -q"))
    assert (told["command"], told["source"], told["timeout"]) == ("pytest -q", CHECK.source, 600)
    assert told["counts"] == {"total": 3, "passed": 1, "failed": 2, "skipped": 0, "errors": 0}
    problems = told["problems"]
    assert isinstance(problems, list) and (len(problems), told["problems_total"]) == (PROBLEMS, PROBLEMS + 9)
    assert problems[0] == {
        "file": "tests/test_a.py", "line": 7, "rule": "E1", "severity": "error", "test": "tests/test_a.py::test_b",
        "message": "assert 1 == 2",
    }  # fmt: skip


def test_what_was_not_run_has_no_result() -> None:
    told = build_check_document(ValidationRow(CHECK, None, "pytest"))
    assert (told["status"], told["duration"], told["counts"], told["problems"]) == (None, None, None, [])
    assert "tests  tests  -       -     not run" in render_check_table([ValidationRow(CHECK, None, "pytest")], 80)


@pytest.mark.parametrize("width", [50, 60, 80, 140])
def test_the_table_is_aligned_and_fits(width: int) -> None:
    long = Check("tests-services-billing-of-the-second-kind", "tests", (), source="x" * 20)
    command = "python -m pytest -q " + " ".join(f"--deselect=tests/test_{n}.py" for n in range(12))
    remembered = replace(FOUND, check="lint", role="lint", cached=True)
    rows = [
        ROW,
        ValidationRow(long, replace(FOUND, status="fail", summary="2 failed, 13 passed " * 4), command),
        ValidationRow(replace(CHECK, name="lint", role="lint"), remembered, "ruff check ."),
        ValidationRow(None, replace(FOUND, check="git", role="git", summary="clean", duration=0.0)),
    ]
    lines = render_check_table(rows, width)
    assert max(map(len, lines)) <= width
    head = lines[0]
    results = [line for line in lines[1:] if line[head.index("Cache") :].startswith(("run", "remembered"))]
    assert [line[head.index("Result") :].split()[0] for line in results] == ["pass", "fail", "pass", "pass"]
    assert [line[head.index("Cache") :] for line in results] == ["run", "run", "remembered", "run"]
    assert any(line.startswith(long.name) for line in lines)
    assert all(word in "\n".join(lines) for word in command.split())
    assert any(line.startswith("git ") and "clean" in lines[at + 1] for at, line in enumerate(lines))


def test_what_a_tool_printed_cannot_draw_on_the_terminal() -> None:
    (_, _, found, *_) = render_check_table(
        [ValidationRow(CHECK, replace(FOUND, summary="a\x1b[2Jb\nc\r"), "pytest")], 80
    )
    assert found == "    found:   ab c"
