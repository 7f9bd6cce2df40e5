"""What earlier runs measured orders the checks of the next one."""

import json
import os
import subprocess
import zlib
from pathlib import Path

import pytest

from aigon.job.results import FEATURES, JOURNALS, TAIL, load_durations
from tests.lab import Lab


def line(check: str, seconds: float, status: str = "pass", **more: object) -> bytes:
    """A line of a journal, as the sink writes it."""
    finding = {"check": check, "status": status, "duration": seconds, "cached": False, **more}
    return sealed({"at": "", "number": 1, "finding": finding, "event": "check_finished"})


def sealed(document: object) -> bytes:
    data = json.dumps(document, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(data), data)


def journal(home: Path, feature: str, *lines: bytes, name: str = "journal", at: int = 0) -> Path:
    file = home / "features" / feature / f"{name}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"".join(lines))
    if at:
        os.utime(file, (at, at))
        os.utime(file.parent, (at, at))
    return file


def test_nothing_is_known_before_the_first_run(tmp_path: Path) -> None:
    assert load_durations(tmp_path) == {}
    (tmp_path / "features").write_text("no folder")
    assert load_durations(tmp_path) == {}


def test_the_newest_journal_has_the_last_word_and_older_ones_fill_in(tmp_path: Path) -> None:
    journal(tmp_path, "1", line("tests", 9.0), line("build", 3.0), at=1000)
    journal(tmp_path, "2", line("tests", 4.0), line("tests", 5.0), line("tests", 0.0, "skipped"), at=2000)
    journal(tmp_path, "2", line("tests", 8.0), line("lint", 1.0), name="journal-old", at=1500)
    os.utime(tmp_path / "features" / "2", (2000, 2000))
    assert load_durations(tmp_path) == {"tests": 5.0, "lint": 1.0, "build": 3.0}


def test_only_the_ends_of_a_few_journals_are_read(tmp_path: Path) -> None:
    for number in range(1, FEATURES + 3):
        journal(tmp_path, str(number), line(f"check-{number}", 1.0), at=1000 * number)
    assert sorted(load_durations(tmp_path)) == [f"check-{n}" for n in range(FEATURES + 3 - JOURNALS, FEATURES + 3)]
    newest = FEATURES + 3
    journal(tmp_path, str(newest), line("first", 1.0), line("filler", 1.0, excerpt="x" * TAIL), line("last", 2.0))
    known = load_durations(tmp_path)
    assert (known["last"], "first" in known, "filler" in known) == (2.0, False, False)


def test_no_journal_is_ever_an_error(tmp_path: Path) -> None:
    good, other = line("tests", 2.0), line("lint", 1.0)
    damaged = b"00000000" + line("build", 9.0)[8:]
    quoting = sealed({"event": "notice", "text": '{"event":"check_finished","finding":{"check":"fake"}}'})
    odd = [sealed({"event": "check_finished", **each}) for each in (
        {}, {"finding": None}, {"finding": {"check": "x"}},
        {"finding": {"check": "x", "status": "pass", "duration": "nan", "cached": False}},
        {"finding": {"check": "x", "status": "pass", "duration": [1], "cached": False}},
    )]  # fmt: skip
    file = journal(tmp_path, "1", b"\xff\xfe garbage\n", good, damaged, quoting, *odd, other, line("cut", 5.0)[:-9])
    assert load_durations(tmp_path) == {"tests": 2.0, "lint": 1.0}
    file.chmod(0)
    if not os.access(file, os.R_OK):
        assert load_durations(tmp_path) == {}
    file.unlink()
    file.mkdir()
    assert load_durations(tmp_path) == {}


def on_one_core(lab: Lab, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run aigon where no two checks run side by side, in a process of its own: it inherits what this one may use."""
    usable = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(usable)})
    try:
        return subprocess.run(lab.command(*arguments), cwd=lab.root, env=lab.env, capture_output=True, text=True)
    finally:
        os.sched_setaffinity(0, usable)


def order(lab: Lab, feature: str) -> list[str]:
    """The checks of a run in the order in which they began."""
    ended = on_one_core(lab, "feature-implement", feature, "--json")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    events = [json.loads(line) for line in ended.stdout.splitlines()]
    started = [event["check"] for event in events if event["event"] == "check_started" and event["number"] == 0]
    return [check for check in started if check in ("quick", "brief", "slow")]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system binds no process to one core")
def test_the_slow_check_that_is_listed_last_starts_first_in_the_second_run(lab: Lab) -> None:
    commands = {"quick": "true", "brief": "true", "slow": "sleep 0.8"}
    checks = {name: {"command": command, "timeout": 60} for name, command in commands.items()}
    lab.config(checks=checks, proof="in-place")
    lab.agent("touch built.txt")
    specs = "docs/specs/features/03-in-progress/feature-{}-x.md".format
    for number in ("42", "43"):
        lab.spec("it works <!-- verify: test -f built.txt -->", name=specs(number))
    lab.commit("specs")
    assert order(lab, "42") == ["quick", "brief", "slow"]
    lab.git("switch", "-q", "main")
    lab.write("changed.txt", "so that no pass is remembered")
    lab.commit("changed")
    assert order(lab, "43")[0] == "slow"
    lab.write("again.txt", "so that no pass is remembered")
    validated = on_one_core(lab, "feature-validate", "43")
    assert validated.returncode == 0, validated.stdout + validated.stderr
    begun = [text.split()[-2] for text in validated.stdout.splitlines() if text.endswith(": running")]
    assert begun[0] == "(slow):"
