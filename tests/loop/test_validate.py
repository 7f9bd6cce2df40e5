"""`feature-validate`: iteration 0 alone. It says how things stand, and leaves nothing behind."""

import hashlib
import signal
from pathlib import Path

from tests.lab import DONE_WHEN, Lab, until

WORKS = f"it works <!-- verify: {DONE_WHEN} -->"


def everything(*roots: Path) -> dict[str, str]:
    """Every file below, git's own included, with its content, and its time but for objects, which git freshens.

    What is held of a repository are second names of its objects.
    """
    files = (path for root in roots if root.exists() for path in root.rglob("*") if path.is_file())
    return {str(path): f"{_time(path)} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in files}


def _time(path: Path) -> int:
    return 0 if ".git/objects/" in str(path) or "/held/" in str(path) else path.stat().st_mtime_ns


def test_it_writes_nothing_whatever_it_finds(lab: Lab) -> None:
    lab.spec(WORKS, "All tests pass")
    lab.config(checks={"tests": {"command": DONE_WHEN}})
    lab.write("dirty.txt", "a file that git has not seen")
    before = everything(lab.root, lab.home)
    red = lab.aigon("feature-validate", "42", "--verbose")
    assert red.code == 3, red.out + red.err
    assert everything(lab.root, lab.home) == before
    assert "0 of 2 criteria passed" in red.out
    head, row, *details = red.out[red.out.index("Check ") :].splitlines()[:6]
    assert head.split() == ["Check", "Role", "Result", "Time", "Cache"]
    assert row.split()[:3] == ["tests", "tests", "fail"] and row.endswith("run")
    assert "    command: test -f done.txt" in details
    assert "    source:  .aigon/config.json, up to 10m 00s" in details
    lab.write("done.txt", "")
    green = lab.aigon("feature-validate", "42")
    assert green.code == 0, green.out + green.err
    assert "2 of 2 criteria passed" in green.out
    assert everything(lab.root, lab.home).keys() - before.keys() == {str(lab.path("done.txt"))}


def test_after_a_run_it_reads_what_is_remembered_and_still_writes_nothing(lab: Lab) -> None:
    lab.spec(WORKS, "it reads well <!-- human -->", "All tests pass")
    lab.config(checks={"tests": {"command": "true"}, "lint": {"command": "true; test -f done.txt"}})
    lab.agent("touch done.txt")
    assert lab.aigon("feature-implement", "42", "--loop").code == 4
    before = everything(lab.root, lab.home)
    waiting = lab.aigon("feature-validate", "42", "--json")
    assert waiting.code == 4, waiting.out + waiting.err
    assert everything(lab.root, lab.home) == before
    assert [(c["name"], c["cached"]) for c in waiting.json["checks"][:2]] == [("tests", True), ("lint", True)]
    lab.write("more.txt", "")
    before = everything(lab.root, lab.home)
    again = lab.aigon("feature-validate", "42", "--json").json
    assert [c["cached"] for c in again["checks"][:2]] == [False, False]
    assert everything(lab.root, lab.home) == before


def test_as_data_it_is_one_document_and_people_read_along_elsewhere(lab: Lab) -> None:
    lab.spec(WORKS, "it is quick <!-- metric: echo 7 >= 8 -->")
    ran = lab.aigon("feature-validate", "42", "--json")
    document = ran.json
    assert (ran.code, document["schema_version"], document["exit_code"], document["outcome"]) == (3, 1, 3, "stopped")
    assert [(c["number"], c["verdict"], c["method"]) for c in document["criteria"]] == [
        (1, "unmet", "verify"),
        (2, "unmet", "metric"),
    ]
    assert "it is 7, wanted >= 8" in document["criteria"][1]["reason"]
    assert "criterion 2 failed: it is quick" in ran.err


def test_it_needs_neither_a_commit_nor_a_branch(lab: Lab) -> None:
    lab.spec(WORKS)
    lab.write("done.txt", "")
    lab.git("checkout", "-q", "--detach")
    assert lab.aigon("feature-validate", "42").code == 0
    lab.git("switch", "-q", "--orphan", "empty")
    lab.spec(WORKS)
    assert lab.aigon("feature-validate", "42", "--skip-validation").code == 0
    lab.path("done.txt").unlink()
    assert lab.aigon("feature-validate", "42").code == 3


def test_verbose_says_before_it_begins_what_will_be_run(lab: Lab) -> None:
    lab.spec(WORKS)
    lab.config(checks={"tests": {"command": "true", "timeout": "90s"}})
    lab.write("setup.cfg", "[metadata]\nname = x\n")
    said = lab.aigon("feature-validate", "42", "--verbose", "--profile", "generic").out
    begun = said[: said.index("Tests: running")]
    assert begun.startswith("Profile: generic\nChecks: tests (up to 1m 30s)\n")
    assert "\n  no lint (Python): " in begun
    assert "Profile" not in lab.aigon("feature-validate", "42").out


def test_as_data_each_check_has_counts_problems_source_and_cache(lab: Lab) -> None:
    lab.spec(WORKS)
    lab.write("test_sums.py", "def test_good(): pass\n\ndef test_bad():\n    assert 1 + 1 == 3\n")
    lab.write("ruff.toml", "")
    lab.write("setup.cfg", "[mypy]\n")
    lab.config(checks={"lint": {"enabled": False}, "types": {"enabled": False}, "build": {"command": "true"}})
    document = lab.aigon("feature-validate", "42", "--json").json
    tests = next(check for check in document["checks"] if check["name"] == "tests")
    assert tests["counts"] == {"total": 2, "passed": 1, "failed": 1, "skipped": 0, "errors": 0}
    (problem,) = tests["problems"]
    assert (problem["file"], problem["line"], problem["test"]) == ("test_sums.py", 4, "test_sums.py::test_bad")
    assert "assert (1 + 1) == 3" in problem["message"]
    assert (tests["source"], tests["timeout"]) == ("profiles/ecosystems/python.yaml", 600)
    assert tests["cache"] == {"state": "run", "why": "only a pass is remembered"}
    assert {(absent["role"], "turned off" in absent["why"]) for absent in document["absent"]} >= {("lint", True)}
    assert document["missing"] == []


def test_where_a_tool_is_missing_the_data_says_all_that_is_known(lab: Lab) -> None:
    lab.spec(WORKS)
    lab.config(checks={"tests": {"command": "true"}, "lint": {"command": ["no-such-linter", "."]}})
    ran = lab.aigon("feature-validate", "42", "--json")
    document = ran.json
    assert (ran.code, document["error"]["exit_code"]) == (7, 7)
    assert "no-such-linter" in document["error"]["what"] and "no-such-linter" in ran.err
    assert [(check["name"], check["status"]) for check in document["checks"]] == [("tests", None), ("lint", None)]
    (missing,) = document["missing"]
    assert (missing["check"], missing["tool"]) == ("lint", "no-such-linter")
    words = lab.aigon("feature-validate", "42", "--verbose")
    assert words.code == 7 and "  not installed: no-such-linter, for lint." in words.out


def test_a_red_check_says_what_failed(lab: Lab) -> None:
    lines = "echo a.py:3: error: one; for n in $(seq 12); do echo b.py:$n: error: more $n; done; exit 1"
    lab.config(checks={"types": {"command": lines, "parser": "mypy"}})
    lab.spec(WORKS)
    lab.commit("spec")
    said = lab.aigon("feature-validate", "42").out
    assert "Type check:\n  a.py:3: one\n  b.py:1: more 1\n" in said
    assert "\n  and 5 more\n" in said


def test_a_parser_that_there_is_not_is_refused_before_anything_runs(lab: Lab) -> None:
    lab.config(checks={"tests": {"command": "touch ran", "parser": "taap"}})
    lab.spec(WORKS)
    lab.commit("spec")
    refused = lab.aigon("feature-validate", "42")
    assert (refused.code, "no parser 'taap'" in refused.err, "Did you mean 'tap'?" in refused.err) == (2, True, True)
    assert not lab.path("ran").exists()


def test_one_ctrl_c_ends_a_validation(lab: Lab) -> None:
    lab.config(checks={"slow": {"command": "touch begun; sleep 60"}})
    lab.spec(WORKS)
    lab.commit("spec")
    process = lab.start("feature-validate", "42")
    until(lab.path("begun").exists)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Interrupted by SIGINT; nothing was written" in out


def test_a_criterion_that_misspells_a_check_is_refused_with_its_line(lab: Lab) -> None:
    lab.config(checks={"endpoints-web": {"command": "true"}})
    lab.spec("it answers <!-- check: endpoint-web -->")
    lab.commit("spec")
    refused = lab.aigon("feature-validate", "42")
    assert refused.code == 2
    assert "There is no check 'endpoint-web' for criterion 1" in refused.err
    assert "feature-42-dark-mode.md:" in refused.err and "Did you mean 'endpoints-web'?" in refused.err
