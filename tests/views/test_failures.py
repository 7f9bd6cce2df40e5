"""`feature-status --failures`: every attempt that failed, from the journals of all runs of a feature."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aigon.files.checksums import JournalFile
from aigon.journal.events import Event
from aigon.journal.replay import dumps
from aigon.spec.features import Feature
from aigon.views.tasks import Failures, build_failures_document, read_failures, render_failures
from tests.journal.tried import GREEN, begun, iteration, looked, red, turned
from tests.views.story import run_started

FEATURE = Feature("42", "dark-mode", "docs/specs/features/03-in-progress/feature-42-dark-mode.md", "in-progress")

TEXT = """\
Feature 42: 4 failures in 5 attempts
   1  aaaaaaaa (1 of 2)  iteration 1  2026-11-20 10:01:00  claude sonnet, step 1 of 2
      Tests: 1 failed; criterion 1 failed: exit code 1; criterion 2 failed: exit code 1
      changed: 1 file (+10 -2): `src/a1.py` (+10 -2)
   2  bbbbbbbb  iteration 2  2026-11-20 10:02:00  claude sonnet, step 1 of 2
      Lint: 2 failed; criterion 2 failed: exit code 1
      changed: 1 file (+10 -2): `src/a2.py` (+10 -2)
   3  aaaaaaaa (2 of 2)  iteration 1  2026-11-20 10:01:00  claude sonnet, step 1 of 2
      Tests: 1 failed; criterion 1 failed: exit code 1; criterion 2 failed: exit code 1
      changed: 1 file (+10 -2): `src/a1.py` (+10 -2)
   5  -  iteration 3  2026-11-20 10:03:00  claude opus, step 2 of 2
      turn bad credentials (key refused)
      changed: 1 file (+10 -2): `src/a3.py` (+10 -2)
The same failure aaaaaaaa came 2 times: attempts 1, 3"""


def journal(path: Path, said: Sequence[Event]) -> Path:
    """A journal as the loop leaves it."""
    kept = JournalFile(path)
    for event in said:
        kept.append(dumps(event), durable=False)
    kept.close()
    return path


def found(folder: Path) -> Failures:
    first = [run_started(), *iteration(1, red("a"), name="a" * 12)]
    first += iteration(2, red("b", "c", check="lint"), met=1, name="b" * 12)
    second = [run_started(), *iteration(1, red("a"), name="a" * 12), *iteration(2, GREEN, met=2)]
    refused = turned(3, "bad_credentials", model="opus", detail="key refused", cost=None, cost_status="unknown")
    second += [begun(3, "opus", rung=1), refused, looked(3, GREEN, met=2)]
    journals = [journal(folder / "journal-1.jsonl", first), journal(folder / "journal.jsonl", second)]
    return read_failures(FEATURE, journals)


def test_every_failed_attempt_of_every_run_is_listed_with_what_failed_and_how_often(tmp_path: Path) -> None:
    assert render_failures(found(tmp_path)) == TEXT


def test_the_log_as_data_has_the_whole_names_and_the_first_lines_of_the_failures(tmp_path: Path) -> None:
    log: dict[str, Any] = build_failures_document(found(tmp_path))
    first, last = log["failures"][0], log["failures"][-1]
    assert (log["attempts"], log["repeated"]) == (5, [{"fingerprint": "a" * 12, "times": 2, "attempts": [1, 3]}])
    assert (first["attempt"], first["iteration"], first["fingerprint"], first["run_id"]) == (1, 1, "a" * 12, "r1")
    assert first["checks"] == [
        {
            "name": "tests", "title": "Tests", "status": "fail", "summary": "1 failed",
            "complaints": [{"text": "AssertionError: 6 != 5", "where": "a", "times": 1}],
        }
    ]  # fmt: skip
    assert first["criteria"][0] == {"number": 1, "verdict": "unmet", "reason": "exit code 1"}
    changes = [{"path": "src/a1.py", "status": "M", "added": 10, "removed": 2}]
    assert (first["changed"], first["added"], first["removed"], first["changes"]) == (1, 10, 2, changes)
    assert (last["fingerprint"], last["turn"], last["model"], last["checks"]) == (None, "bad_credentials", "opus", [])


def test_a_journal_that_cannot_be_read_is_named_and_hides_no_other(tmp_path: Path) -> None:
    damaged = tmp_path / "journal-0.jsonl"
    damaged.write_bytes(b"00000000 {}\n")
    sound = journal(tmp_path / "journal.jsonl", iteration(1, red("a"), name="a" * 12))
    log = read_failures(FEATURE, [damaged, sound, tmp_path / "none.jsonl"])
    assert "1 failure in 1 attempt\n" in render_failures(log)
    assert f"Not read: {damaged}: The journal of this run is damaged" in render_failures(log)
    assert build_failures_document(log)["unread"] == [f"{damaged}: The journal of this run is damaged"]


def test_it_says_so_when_there_is_none(tmp_path: Path) -> None:
    assert render_failures(read_failures(FEATURE, [tmp_path / "none"])) == "Feature 42: no attempt yet"
    good = journal(tmp_path / "journal.jsonl", iteration(1, GREEN, met=2))
    log = read_failures(FEATURE, [good])
    assert (
        render_failures(log) == "Feature 42: no failure in 1 attempt" and build_failures_document(log)["failures"] == []
    )


def test_text_of_tools_cannot_colour_or_forge_a_line(tmp_path: Path) -> None:
    forged = "\x1b[32mgreen\x1b[0m\nFeature 42: no failure in 9 attempts"
    path = journal(tmp_path / "journal.jsonl", iteration(1, red("a", check=forged), name="a" * 12))
    shown = render_failures(read_failures(FEATURE, [path]))
    assert "\x1b" not in shown and len(shown.splitlines()) == 4
