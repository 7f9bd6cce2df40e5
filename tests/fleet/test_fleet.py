"""A fleet on this machine: workers that are killed, and what is on the remote afterwards."""

import json
import shutil
from pathlib import Path

import pytest

from tests.fleet.chain import find_faults, list_refs, read_chain
from tests.lab import Lab, finish

pytest.importorskip("distributed", reason="the extra `fleet` is not installed")
BACKLOG = "docs/specs/features/02-backlog/feature-{0}-thing-{0}.md"
KILL = """
    if mkdir {marks}/killed 2> /dev/null; then  # the worker above this agent, once
        pid=$PPID
        until grep -q spawn_main /proc/$pid/cmdline; do pid=$(awk '/^PPid/ {{ print $2 }}' /proc/$pid/status); done
        kill -9 $pid
        sleep 60
    fi
"""
WORK = """
    echo "$AIGON_FEATURE $AIGON_ITERATION" >> {marks}/turns
    echo "$AIGON_ITERATION" >> done.txt
"""


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A repository with a bare remote and two features."""
    lab = Lab(tmp_path).init()
    (tmp_path / "marks").mkdir()
    for number in ("41", "42"):
        lab.spec("it is done <!-- verify: test -f done.txt -->", name=BACKLOG.format(number))
    lab.agent(WORK.format(marks=tmp_path / "marks"))
    lab.config(guards={"allowUnknownCost": True}, fleet={"lease": 15})
    lab.commit("features")
    lab.git("clone", "-q", "--bare", str(lab.root), str(tmp_path / "remote.git"))
    lab.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    lab.git("config", "--global", "user.name", "Ada")
    lab.git("config", "--global", "user.email", "ada@example.invalid")
    return lab


def begin(lab: Lab, marks: Path) -> tuple[str, ...]:
    """Let the first agent kill the worker above it; return what a fleet on both features is called with."""
    lab.agent(KILL.format(marks=marks) + WORK.format(marks=marks))
    return ("fleet", "run", "41", "42", "--local", "2", "--max-cost", "5", "--json")


@pytest.mark.timeout(280)
def test_the_cell_of_a_killed_worker_goes_on_elsewhere_and_is_done_once(lab: Lab, tmp_path: Path) -> None:
    marks, remote = tmp_path / "marks", tmp_path / "remote.git"
    ran = lab.aigon(*begin(lab, marks), timeout=250)
    assert ran.code == 0, ran.out + ran.err
    assert (marks / "killed").exists()
    assert ran.events[-1]["proven"] == 2
    leases = list_refs(remote, "refs/aigon/leases")
    assert sorted(leases) == ["41--mine", "42--mine"] == sorted(list_refs(remote, "refs/aigon/records"))
    assert [find_faults(remote, commit) for commit in leases.values()] == [[], []]
    assert max(note["epoch"] for commit in leases.values() for note in read_chain(remote, commit)) >= 2
    assert len((marks / "turns").read_text().splitlines()) == 2  # no turn that was pushed is repeated


@pytest.mark.slow
@pytest.mark.timeout(550)
def test_a_fleet_that_runs_again_does_nothing_twice_and_its_work_is_merged(lab: Lab, tmp_path: Path) -> None:
    words = begin(lab, tmp_path / "marks")
    for _ in range(2):
        ran = lab.aigon(*words, timeout=250)
        assert ran.code == 0, ran.out + ran.err
        assert len((tmp_path / "marks" / "turns").read_text().splitlines()) == 2
    cells = json.loads(lab.aigon("fleet", "status", "--json").out)["cells"]
    assert [each["summary"]["status"] for each in cells] == ["met", "met"]
    fetched = lab.aigon("records", "fetch", "41")
    assert fetched.code == 0, fetched.err
    done = lab.aigon("feature-done", "41", "--json")
    assert done.code == 0, done.out + done.err
    assert done.json["proof"].startswith("proven again")


@pytest.mark.slow
@pytest.mark.timeout(550)
def test_two_fleets_from_two_clones_do_each_cell_once_and_both_end_well(lab: Lab, tmp_path: Path) -> None:
    lab.agent("sleep 2\n" + WORK.format(marks=tmp_path / "marks"))
    lab.commit("a slower agent")
    lab.git("push", "-q", "origin", "main")
    other = Lab(tmp_path / "other")
    shutil.rmtree(other.root)
    lab.git("clone", "-q", str(tmp_path / "remote.git"), str(other.root))
    for key, value in (("user.name", "Bea"), ("user.email", "bea@example.invalid")):
        other.git("config", "--global", key, value)
    words = ("fleet", "run", "41", "42", "--local", "2", "--max-cost", "5", "--json")
    ended = [finish(each, 500) for each in [lab.start(*words), other.start(*words)]]
    for ran in ended:
        assert (ran.code, ran.events[-1]["proven"]) == (0, 2), ran.out + ran.err
    assert len((tmp_path / "marks" / "turns").read_text().splitlines()) == 2
    leases = list_refs(tmp_path / "remote.git", "refs/aigon/leases")
    assert [find_faults(tmp_path / "remote.git", commit) for commit in leases.values()] == [[], []]


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense"])
def test_a_worker_says_that_its_scheduler_does_not_answer(lab: Lab, address: str) -> None:
    ran = lab.aigon("fleet", "worker", address, timeout=100)
    assert ran.code == 7
    assert ran.err.startswith("aigon: The scheduler does not answer: ")
    assert address in ran.err


def test_a_fleet_has_one_scheduler_and_needs_a_remote(lab: Lab, tmp_path: Path) -> None:
    ran = lab.aigon("fleet", "run", "41", "--max-cost", "5", "--local", "1", "--scheduler", "tcp://x:1")
    assert (ran.code, "one scheduler" in ran.err) == (2, True)
    lab.git("remote", "remove", "origin")
    ran = lab.aigon("fleet", "run", "41", "--max-cost", "5")
    assert (ran.code, "no remote" in ran.err) == (2, True)
    assert list_refs(tmp_path / "remote.git", "refs/aigon") == {}
