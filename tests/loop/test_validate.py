"""`feature-validate`: iteration 0 alone. It says how things stand, and leaves nothing behind."""

import hashlib
from pathlib import Path

from tests.lab import DONE_WHEN, Lab

WORKS = f"it works <!-- verify: {DONE_WHEN} -->"


def everything(*roots: Path) -> dict[str, str]:
    """Every file below, git's own included, with its content, and its time but for objects, which git freshens."""
    files = (path for root in roots if root.exists() for path in root.rglob("*") if path.is_file())
    return {str(path): f"{_time(path)} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in files}


def _time(path: Path) -> int:
    return 0 if ".git/objects/" in str(path) else path.stat().st_mtime_ns


def test_it_writes_nothing_whatever_it_finds(lab: Lab) -> None:
    lab.spec(WORKS, "All tests pass")
    lab.config(checks={"tests": {"command": DONE_WHEN}})
    lab.write("dirty.txt", "a file that git has not seen")
    before = everything(lab.root, lab.home)
    red = lab.aigon("feature-validate", "42", "--verbose")
    assert red.code == 3, red.out + red.err
    assert everything(lab.root, lab.home) == before
    assert "0 of 2 criteria proven" in red.out
    assert "tests: test -f done.txt  [tests, " in red.out and ".aigon/config.json]" in red.out
    lab.write("done.txt", "")
    green = lab.aigon("feature-validate", "42")
    assert green.code == 0, green.out + green.err
    assert "2 of 2 criteria proven" in green.out
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
    assert "criterion 2 open: it is quick" in ran.err


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
