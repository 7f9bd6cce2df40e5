"""What is damaged of aigon's records: refused by name, kept, made anew; and a run that goes on from there."""

import json
import os
import shutil
import subprocess
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab import SPEC, STATE, Lab, Ran
from tests.loop.processes import LOOP, RESUME, parked

NEVER = "it is done <!-- verify: test -f never.txt -->"
RUNS = ".aigon/runs"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Lab, Path]:
    """A laboratory in which three iterations of feature 42 ran, and where a copy of it is kept."""
    folder = tmp_path_factory.mktemp("repair")
    lab = Lab(folder / "lab").init()
    lab.spec(NEVER)
    lab.config(proof="in-place")
    lab.agent("""
        echo "$AIGON_ITERATION" > work.txt; [ ! -e "$HOME/go" ] || touch never.txt; echo '{"cost_usd": 0.25}'
    """)
    done = lab.aigon(*LOOP, "--max-iterations", "3")
    assert done.code == 3, done.out + done.err
    shutil.copytree(folder / "lab", folder / "kept", symlinks=True)
    return lab, folder / "kept"


@pytest.fixture
def lab(ran: tuple[Lab, Path]) -> Iterator[Lab]:
    """That laboratory as it was after the run."""
    here, kept = ran
    yield here
    shutil.rmtree(here.root.parent)
    shutil.copytree(kept, here.root.parent, symlinks=True)
    here.git("update-index", "-q", "--refresh")


def records(lab: Lab) -> Path:
    """The records of feature 42."""
    (found,) = (lab.home / "state").glob("repos/*/features/42")
    return found


def journal(lab: Lab) -> Path:
    return records(lab) / "journal.jsonl"


def events(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line.partition(" ")[2]) for line in path.read_text().splitlines()]


def line_of(lab: Lab, name: str, nth: int = 1) -> int:
    """The place of the nth event of a name in the journal, from 0."""
    return [at for at, event in enumerate(events(journal(lab))) if event["event"] == name][nth - 1]


def flip(lab: Lab, at: int) -> bytes:
    """Flip a bit in the middle of a line of the journal; what the journal is then."""
    lines = journal(lab).read_bytes().split(b"\n")
    line = bytearray(lines[at])
    line[len(line) // 2] ^= 1
    lines[at] = bytes(line)
    journal(lab).write_bytes(b"\n".join(lines))
    return journal(lab).read_bytes()


def sealed(document: object) -> bytes:
    data = json.dumps(document).encode()
    return b"%08x %s\n" % (zlib.crc32(data), data)


def ok(done: Ran, code: int = 0) -> Ran:
    assert done.code == code, done.out + done.err
    assert "Traceback" not in done.err
    return done


def repair(lab: Lab, *arguments: str, code: int = 0) -> Any:
    """What `aigon doctor --repair --json` says."""
    return ok(lab.aigon("doctor", "--repair", "--json", *arguments), code).json


def what(document: Any) -> list[str]:
    return sorted({each["what"] for each in document["repaired"]})


# the state file


def test_a_damaged_state_file_without_a_journal_is_put_aside(lab: Lab) -> None:
    shutil.rmtree(records(lab))
    lab.path(STATE).write_bytes(b"{")
    assert "aigon doctor --repair" in ok(lab.aigon("feature-status", "42"), 7).err
    assert "The state file is damaged" in " ".join(lab.aigon("doctor", "--json").json["problems"])
    assert what(repair(lab)) == ["state file"]
    assert lab.path(f"{STATE}.corrupt").read_bytes() == b"{"
    ok(lab.aigon("feature-status", "42"))


OF_STATES = (b"", b"\0" * 900, b"[]", b'{"schema_version": 1}')


@pytest.mark.parametrize(
    "damage", [b'{"schema_version": 1, "feature', *(pytest.param(each, marks=pytest.mark.slow) for each in OF_STATES)]
)
def test_a_resume_keeps_a_damaged_state_file_and_writes_all_iterations_anew(lab: Lab, damage: bytes) -> None:
    lab.write(STATE, damage)
    lab.write(f"{STATE}.corrupt", "an older one")
    done = ok(lab.aigon(*RESUME, "--max-iterations", "1"), 3)
    assert "loop-state-42.json was damaged: renamed loop-state-42.json.corrupt-2" in done.out
    assert lab.path(f"{STATE}.corrupt-2").read_bytes() == damage and lab.read(f"{STATE}.corrupt") == "an older one"
    assert [each["number"] for each in lab.state()["iterations"]] == [0, 1, 2, 3, 4]
    assert lab.git("status", "--porcelain", "--untracked-files=all") == ""


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [LOOP, RESUME])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_state_file_of_a_newer_version_is_refused_before_anything_is_written(
    lab: Lab, arguments: tuple[str, ...], elsewhere: bool
) -> None:
    if elsewhere:
        lab.git("switch", "-q", "main")
    lab.write(STATE, json.dumps({**lab.state(), "schema_version": 2}))
    before = (lab.path(STATE).read_bytes(), lab.fingerprint(), journal(lab).read_bytes(), lab.git("reflog"))
    done = ok(lab.aigon(*arguments), 7)
    assert "newer aigon" in done.err and "Update aigon" in done.err
    assert (lab.path(STATE).read_bytes(), lab.fingerprint(), journal(lab).read_bytes(), lab.git("reflog")) == before
    assert repair(lab, code=7)["unmended"][0]["what"] == "state file"
    assert lab.path(STATE).read_bytes() == before[0]


def test_a_lost_state_file_is_made_anew_and_a_second_repair_has_nothing_to_do(lab: Lab) -> None:
    before = lab.path(STATE).read_bytes()
    lab.path(STATE).unlink()
    assert what(repair(lab)) == ["state file"]
    assert lab.path(STATE).read_bytes() == before
    assert repair(lab) == {"schema_version": 1, "exit_code": 0, "repaired": [], "unmended": [], "ended_processes": 0}
    assert "there was nothing to do" in ok(lab.aigon("doctor", "--repair")).out


# the journal


def test_a_journal_damaged_in_the_middle_is_repaired_and_the_run_goes_on(lab: Lab) -> None:
    damaged = flip(lab, line_of(lab, "turn_ended", 2))
    head, run_id = lab.git("rev-parse", "HEAD"), lab.state()["run_id"]
    lab.write("half.txt", "perhaps a half turn's")
    refused = ok(lab.aigon(*RESUME), 7)
    assert "aigon doctor --repair 42" in refused.err
    assert journal(lab).read_bytes() == damaged
    done = repair(lab, "42")
    (mended,) = [each for each in done["repaired"] if each["what"] == "journal"]
    assert Path(mended["kept_as"]).read_bytes() == damaged
    assert "lost" in mended["how"] and "unknown" in mended["how"]
    mark = events(journal(lab))[-1]
    assert (mark["event"], mark["number"], mark["usd"]) == ("record_mended", 3, 0.25)
    assert repair(lab, "42")["repaired"] == []
    went_on = ok(lab.aigon(*RESUME, "--max-iterations", "1"), 3)
    assert "commits since the last iteration commit are kept" in went_on.out
    assert lab.git("show", f"{parked(lab)[-1]}:half.txt") == "perhaps a half turn's"
    assert not lab.path("half.txt").exists()
    state = lab.state()
    assert (state["run_id"], state["iteration"], lab.git("rev-parse", "HEAD^")) == (run_id, 4, head)
    assert state["spend"] == {"usd": 0.75, "unknown": 1}
    trailers = lab.git("log", "--format=%(trailers:key=Aigon-Iteration,valueonly)").split()
    assert trailers == ["4", "3", "2", "1"]
    lab.sound()


@pytest.mark.slow
def test_no_limit_on_money_is_kept_where_a_part_of_the_record_is_lost(lab: Lab) -> None:
    flip(lab, line_of(lab, "iteration_started", 2))
    repair(lab, "42")
    done = ok(lab.aigon(*RESUME, "--max-iterations", "1", "--max-cost", "100"), 5)
    assert "guards.allowUnknownCost" in done.out
    assert lab.state()["iteration"] == 3
    lab.config(guards={"allowUnknownCost": True})
    ok(lab.aigon(*RESUME, "--max-iterations", "1", "--max-cost", "100"), 3)


@pytest.mark.slow
def test_what_the_agent_did_in_lost_iterations_never_counts_as_a_persons(lab: Lab) -> None:
    flip(lab, line_of(lab, "iteration_started", 2))
    repair(lab, "42")
    ok(lab.aigon(*RESUME, "--max-iterations", "1"), 3)
    assert "work.txt" not in json.loads((records(lab) / "frozen.json").read_text())["theirs"]


@pytest.mark.slow
def test_a_repaired_run_is_proven_only_by_a_look_of_its_own(lab: Lab) -> None:
    (lab.home / "go").touch()
    ok(lab.aigon(*RESUME))
    assert lab.state()["status"] == "met"
    flip(lab, line_of(lab, "iteration_started", 2))
    repair(lab, "42")
    assert lab.state()["status"] == "running"
    ok(lab.aigon(*RESUME))
    assert (lab.state()["status"], lab.state()["proven_commit"]) == ("met", lab.git("rev-parse", "HEAD"))


def test_an_intended_commit_in_the_last_sound_lines_is_one_of_the_runs_iterations(lab: Lab) -> None:
    flip(lab, line_of(lab, "checkpoint_intended", 2) + 1)
    repair(lab, "42")
    assert [each["number"] for each in lab.state()["iterations"]] == [0, 1, 2]


@pytest.mark.slow
def test_a_journal_without_a_sound_beginning_is_put_aside_for_the_next_run(lab: Lab) -> None:
    damaged = flip(lab, 0)
    base = lab.state()["base_commit"]
    repair(lab, "42")
    assert not journal(lab).exists()
    assert journal(lab).with_name("journal.jsonl.corrupt").read_bytes() == damaged
    refused = ok(lab.aigon(*RESUME), 2).err
    assert "nothing to resume" in refused and f"no journal at {journal(lab)}" in refused
    ok(lab.aigon(*LOOP, "--max-iterations", "1"), 3)
    assert lab.state()["feature_spend"]["unknown"] == 1
    assert lab.state()["base_commit"] == base


@pytest.mark.slow
@pytest.mark.parametrize("how", ["damaged", "emptied"])
def test_a_new_run_after_a_journal_that_tells_nothing_says_that_its_spend_is_unknown(lab: Lab, how: str) -> None:
    if how == "damaged":
        flip(lab, line_of(lab, "iteration_started", 2))
    else:
        journal(lab).with_name("journal-20200101-000000-aaaa.jsonl").write_bytes(journal(lab).read_bytes())
        journal(lab).write_bytes(b"")
    ok(lab.aigon(*LOOP, "--max-iterations", "1"), 3)
    spend = lab.state()["feature_spend"]
    assert (spend["usd"], spend["unknown"]) == ((0.5, 1) if how == "damaged" else (1.0, 0))


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [LOOP, RESUME])
def test_a_journal_line_of_a_newer_version_is_refused_even_when_damaged(lab: Lab, arguments: tuple[str, ...]) -> None:
    lines = journal(lab).read_bytes().splitlines(keepends=True)
    lines.insert(5, sealed({"at": "", "event": "turn_paused"}))
    journal(lab).write_bytes(b"".join(lines))
    for damage in (False, True):
        before = flip(lab, 8) if damage else journal(lab).read_bytes()
        if not damage:
            refused = ok(lab.aigon(*arguments), 7)
            assert "another version" in refused.err and "Update aigon" in refused.err
        assert repair(lab, "42", code=7)["unmended"][0]["what"] == "journal"
        assert journal(lab).read_bytes() == before


def two_starts(lines: list[bytes]) -> list[bytes]:
    start = json.loads(lines[0].partition(b" ")[2])
    return [*lines, sealed({**start, "run_id": "another"})]


@pytest.mark.slow
@pytest.mark.parametrize(
    "order",
    [lambda lines: lines[1:], two_starts, lambda lines: [lines[0], *lines]],
    ids=["no start", "two runs", "twice"],
)
def test_sound_lines_that_cannot_stand_in_their_order_are_damage(
    lab: Lab, order: Callable[[list[bytes]], list[bytes]]
) -> None:
    journal(lab).write_bytes(b"".join(order(journal(lab).read_bytes().splitlines(keepends=True))))
    assert "is damaged" in ok(lab.aigon(*RESUME), 7).err
    assert "journal" in what(repair(lab, "42"))
    assert ok(lab.aigon("doctor", "--repair", "42")).out.startswith("Everything is sound")


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [b"", b"\0" * 4096, b"\0" * 100 + b"\n", b"garbage\n", b"\xff\xfe{"],
    ids=["empty", "zeros", "zero line", "words", "torn"],
)
def test_a_journal_of_nothing_but_damage_ends_in_no_traceback(lab: Lab, damage: bytes) -> None:
    journal(lab).write_bytes(damage)
    assert lab.aigon(*RESUME).code in (2, 7)
    repair(lab, "42")
    ok(lab.aigon(*RESUME), 2)
    ok(lab.aigon(*LOOP, "--max-iterations", "1"), 3)


# other records


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage", [b"", b'{"schema', b"[]", b"{}", None], ids=["empty", "half", "list", "object", "gone"]
)
def test_what_decides_is_never_taken_for_not_recorded(lab: Lab, damage: bytes | None) -> None:
    frozen = records(lab) / "frozen.json"
    before = frozen.read_bytes()
    frozen.unlink() if damage is None else frozen.write_bytes(damage)
    for arguments in (LOOP, RESUME):
        refused = ok(lab.aigon(*arguments), 7)
        assert "what decides this feature" in refused.err and "aigon doctor --repair" in refused.err
        assert f"is {'gone' if damage is None else 'damaged'}." in refused.err
    assert "what decides this feature" in " ".join(lab.aigon("doctor", "--json").json["problems"])
    assert what(repair(lab, "42")) == ["frozen job"]
    assert frozen.read_bytes() == before
    ok(lab.aigon(*RESUME, "--max-iterations", "1"), 3)


@pytest.mark.slow
def test_a_flipped_bit_in_a_name_is_damage_and_without_a_copy_refused(lab: Lab) -> None:
    frozen = records(lab) / "frozen.json"
    data = frozen.read_bytes().replace(b'"base": "', b'"base": "0', 1)
    frozen.write_bytes(data)
    frozen.with_name("frozen.json.copy").write_bytes(b"{")
    (left,) = repair(lab, "42", code=7)["unmended"]
    assert (left["what"], frozen.read_bytes()) == ("frozen job", data)
    ok(lab.aigon(*RESUME), 7)


def test_records_that_were_moved_away_as_the_repair_said_are_looked_at_no_more(lab: Lab) -> None:
    frozen = records(lab) / "frozen.json"
    for file in (frozen, frozen.with_name("frozen.json.copy")):
        file.write_bytes(b"{")
    (left,) = repair(lab, "42", code=7)["unmended"]
    subprocess.run(left["do"], shell=True, check=True)
    assert not any("damaged" in problem for problem in lab.aigon("doctor", "--json").json["problems"])
    assert "frozen job" not in what(repair(lab))
    assert not list(lab.path(".aigon").glob("loop-state-42*old*"))


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"{}", b'{"branch": "main", "commit": 7}', None])
def test_where_a_feature_began_stays_where_it_was(lab: Lab, damage: bytes | None) -> None:
    began, base = records(lab) / "feature.json", lab.state()["base_commit"]
    began.unlink() if damage is None else began.write_bytes(damage)
    for arguments in (LOOP, RESUME):
        assert "where this feature began" in ok(lab.aigon(*arguments), 7).err
    assert what(repair(lab, "42")) == ["where the feature began"]
    ok(lab.aigon(*LOOP, "--max-iterations", "1"), 3)
    assert lab.state()["base_commit"] == base


def decided(lab: Lab, *decisions: str) -> Path:
    """A record of decisions on criterion 1 of the spec, a line each."""
    said = {"criterion": 1, "text": "it looks good", "why": "", "content": "c", "commit": "", "who": "Ada", "at": ""}
    file = records(lab) / "decisions.jsonl"
    file.write_bytes(b"".join(sealed({**said, "decision": each}) for each in decisions))
    return file


def test_an_approval_before_a_lost_line_holds_no_more_and_a_rejection_does(lab: Lab) -> None:
    file = decided(lab, "approve", "reject", "approve", "approve")
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([lines[0], lines[1], b"rubbish\n", lines[3]]))
    assert "what people decided is damaged" in ok(lab.aigon(*RESUME), 7).err
    assert "have to be given again" in ok(lab.aigon("doctor", "--repair", "42")).out
    found = [(each["decision"], each["content"]) for each in events(file)]
    assert found == [("approve", ""), ("reject", "c"), ("approve", "c")]


@pytest.mark.slow
def test_a_box_that_a_lost_approval_may_have_ticked_is_not_taken_for_a_persons_tick(lab: Lab) -> None:
    lab.write(SPEC, lab.read(SPEC) + "- [x] it looks good <!-- human -->\n")
    lab.commit("the spec")
    decided(lab, "approve").write_bytes(b"rubbish\n")
    repair(lab, "42")
    ok(lab.aigon(*LOOP, "--max-iterations", "1"), 3)
    assert lab.state()["criteria"][1]["verdict"] == "unclear"


# views, leftovers, a loop that runs
@pytest.mark.slow
def test_the_pages_of_a_run_are_made_anew_as_they_were(lab: Lab) -> None:
    folder = lab.path(RUNS) / lab.state()["run_id"]
    pages = {path: path.read_bytes() for path in folder.glob("*.md")}
    assert {path.name for path in pages} == {"SCRATCHPAD.md", "BUILD_LOG.md", "step_01.md", "step_02.md", "step_03.md"}
    assert repair(lab)["repaired"] == [], "what a run left is as the journal says"
    (folder / "SCRATCHPAD.md").write_bytes(b"\0" * 100)
    (folder / "BUILD_LOG.md").unlink()
    (folder / "step_02.md").write_text("")
    done = repair(lab)
    assert what(done) == ["view of a run"] and len(done["repaired"]) == 3
    assert {path: path.read_bytes() for path in pages} == pages
    assert (folder / "SCRATCHPAD.md.corrupt").read_bytes() == b"\0" * 100


def test_temporary_files_of_processes_that_are_gone_are_removed_and_others_stay(lab: Lab) -> None:
    gone, mine = records(lab) / "frozen.json.4194305.tmp", records(lab) / f"frozen.json.{os.getpid()}.tmp"
    for path in (gone, mine):
        path.touch()
    for name in (STATE, ".aigon/tasks-42.json", ".aigon/approvals/42.md"):
        lab.write(f"{name}.4194305.tmp", "")
    home = records(lab).parent.parent
    theirs = [home / "dependencies/key/node_modules/a.4194305.tmp", home / "rooms/42/work/b.4194305.tmp"]
    for path in theirs:
        path.parent.mkdir(parents=True)
        path.touch()
    assert len(repair(lab)["repaired"]) == 4
    assert mine.exists() and not gone.exists() and all(path.exists() for path in theirs)


@pytest.mark.slow
def test_without_repair_the_doctor_says_what_is_damaged_and_changes_nothing(lab: Lab) -> None:
    damaged = flip(lab, line_of(lab, "turn_ended", 1))
    lab.write(STATE, "{")
    found = ok(lab.aigon("doctor"), 7)
    assert "aigon doctor --repair" in " ".join(found.out.split()) and "loop-state-42.json" in found.out
    assert journal(lab).read_bytes() == damaged and lab.read(STATE) == "{"
    assert "--repair" in ok(lab.aigon("doctor", "42"), 2).err


@pytest.mark.slow
def test_a_damaged_iteration_log_is_put_back_by_the_loop_itself(lab: Lab) -> None:
    log = "docs/specs/features/logs/feature-42-dark-mode-log.md"
    committed = lab.git("show", f"HEAD:{log}")
    lab.write(log, b"\0" * 10)
    refused = ok(lab.aigon(*RESUME, "--max-iterations", "1"), 7)
    assert log in refused.err, "a change of a committed file may be a person's: git has what was there"
    lab.git("checkout", "-q", "--", log)
    ok(lab.aigon(*RESUME, "--max-iterations", "1"), 3)
    assert lab.git("show", f"HEAD:{log}").startswith(committed)
