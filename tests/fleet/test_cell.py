"""The work on one cell while something goes wrong, which its agent brings about: what is on the remote afterwards."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
from msgspec import json
from msgspec.structs import replace

from aigon import __version__
from aigon.errors import AigonError
from aigon.fleet.cell import provide_clone, work_on_cell
from aigon.fleet.fleet import judge_workers
from aigon.fleet.lease import CellOrder, CellSummary, format_label
from aigon.fleet.plan import check_remote, check_request, take_up
from aigon.git.person import Checkout
from aigon.git.remote import RefChange, Remote
from tests.fleet.chain import find_faults, git, list_refs, read_chain
from tests.lab import Lab

BACKLOG = "docs/specs/features/02-backlog/feature-42-thing.md"
BRANCH = "refs/heads/feature-42-mine-thing"
WORK = "echo $AIGON_ITERATION >> done.txt"
REFUSE = """printf '#!/bin/sh\\necho quota exceeded; exit 1\\n' > {remote}/hooks/pre-receive
chmod +x {remote}/hooks/pre-receive"""
LEAVE = "mv {remote} {remote}.away"
OTHER = 'other=$(git -C {remote} -c user.name=x -c user.email=x@x commit-tree -m other "$(git rev-parse HEAD^{{tree}})"'
MOVE = f"{OTHER} -p HEAD); git -C {{remote}} update-ref {BRANCH} $other"
TAKE = f"{OTHER}); git -C {{remote}} update-ref refs/aigon/leases/42--mine $other"


class Fleet:
    """A repository with a bare remote and a feature, as one who asks for a fleet and as its only worker."""

    def __init__(self, lab: Lab, main: Checkout) -> None:
        self.lab, self.main = lab, main
        self.remote = lab.root.parent / "remote.git"

    def plan(self, agent: str = WORK, *, lease: float = 60) -> CellOrder:
        self.lab.agent(agent.format(remote=self.remote))
        self.lab.config(guards={"allowUnknownCost": True}, fleet={"lease": lease})
        self.lab.commit("agent")
        request = check_request(self.main, ["42"], ["mine"], 5)
        (order,) = take_up(self.main, request, lambda _: None).orders.values()
        return replace(order, money=5)

    def work(self, order: CellOrder, owner: str = "one") -> CellSummary:
        return work_on_cell(order, owner, lambda _: None, lambda: False)

    @property
    def lease(self) -> str:
        return list_refs(self.remote, "refs/aigon/leases")["42--mine"]

    def hook(self, name: str, script: str) -> None:
        (self.remote / "hooks" / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.remote / "hooks" / name).chmod(0o755)


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    lab = Lab(tmp_path).init()
    lab.spec("done <!-- verify: test -f done.txt -->", name=BACKLOG)
    lab.commit("feature")
    lab.git("clone", "-q", "--bare", str(lab.root), str(tmp_path / "remote.git"))
    lab.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    lab.git("config", "--global", "user.name", "Ada")
    lab.git("config", "--global", "user.email", "ada@example.invalid")
    for name in os.environ:
        monkeypatch.delenv(name)
    for name, value in lab.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(lab.root)
    with Checkout.open(lab.root) as main:
        yield Fleet(lab, main)


def test_a_remote_that_refuses_branches_leaves_features_where_they_were(fleet: Fleet) -> None:
    fleet.hook("update", "case $1 in refs/heads/feature-*) echo branches are closed; exit 1;; esac")
    with pytest.raises(AigonError, match="The remote refused the push") as error:
        fleet.plan()
    assert "branches are closed" in error.value.hint
    assert (fleet.lab.root / BACKLOG).exists()
    assert fleet.main.list_changed() == []
    assert list_refs(fleet.remote, "refs/heads/feature-*") == {}
    fleet.hook("update", "exit 0")
    assert fleet.plan().name == "42--mine"


@pytest.mark.parametrize(("change", "said"), [
    ({"agents": ["nobody"]}, "nobody"),
    ({"features": ["77"]}, "77"),
    ({"max_cost": None}, "A fleet needs a limit"),
])  # fmt: skip
def test_what_cannot_begin_is_refused_before_anything_is_written(
    fleet: Fleet, change: dict[str, Any], said: str
) -> None:
    fleet.lab.agent(WORK)
    fleet.lab.commit("agent")
    assert check_remote(fleet.main).problem == ""
    wanted = {"features": ["42"], "agents": ["mine"], "max_cost": 5, **change}
    with pytest.raises(AigonError, match=said) as error:
        check_request(fleet.main, **wanted)
    assert error.value.code == 2
    assert fleet.main.list_changed() == []
    fleet.lab.git("remote", "set-url", "origin", str(fleet.lab.root))
    with pytest.raises(AigonError, match="working copy"):
        check_request(fleet.main, ["42"], ["mine"], 5)
    assert list_refs(fleet.remote, "refs/aigon") == {}


def test_a_worker_with_another_version_of_aigon_is_refused_by_name(fleet: Fleet) -> None:
    order = replace(fleet.plan(), aigon="0.0.1")
    summary = fleet.work(order, "big")
    assert summary.status == "unfit"
    assert "and the fleet 0.0.1" in summary.said
    workers = {"tcp://old:1": {"agents": 1.0, format_label("0.0.1", "command"): 1.0}}
    with pytest.raises(AigonError, match="No worker can run command with aigon") as error:
        judge_workers(["command"], workers, "tcp://big:8786")
    assert error.value.where == "tcp://old:1: agents, aigon 0.0.1 command"
    workers["tcp://new:1"] = {"agents": 1.0, format_label(__version__, "command"): 1.0}
    assert list(judge_workers(["command"], workers, "tcp://big:8786")) == ["tcp://old:1"]
    with pytest.raises(AigonError, match="No worker can run claude with"):
        judge_workers(["command", "claude"], workers, "tcp://big:8786")


def test_a_clone_that_fails_says_why_and_is_for_another_machine(fleet: Fleet) -> None:
    order = replace(fleet.plan(), url=str(fleet.remote) + ".gone")
    summary = fleet.work(order)
    assert (summary.status, summary.exit_code) == ("unfit", 7)
    assert "does not exist" in summary.said


def test_a_cell_pushes_what_goes_on_and_its_end_and_asks_the_remote_once(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    order, said, ask = fleet.plan(f"{WORK}; test $AIGON_ITERATION = 1 && rm done.txt; :"), list[str](), Remote._ask

    def listen(remote: Remote, verb: str, *rest: str) -> tuple[int, str, str]:
        said.append(verb)
        return ask(remote, verb, *rest)

    monkeypatch.setattr(Remote, "_ask", listen)
    assert fleet.work(order).status == "met"
    assert said == ["ls-remote", "fetch", "push", "push", "push"]
    assert find_faults(fleet.remote, fleet.lease) == []
    assert "iteration 2" in git(fleet.remote, "log", "-1", "--format=%s", BRANCH)


@pytest.mark.parametrize("moment", [pytest.param("later", marks=pytest.mark.slow), "at once"])
def test_two_fleets_from_two_clones_build_a_cell_once(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    fleet.lab.agent(f"{WORK}; echo >> {fleet.remote.with_name('turns')}")
    fleet.lab.config(guards={"allowUnknownCost": True}, fleet={"lease": 60})
    fleet.lab.commit("agent")
    fleet.lab.git("push", "-q", "origin", "main")
    elsewhere, push, orders = fleet.lab.root.parent / "elsewhere", Remote.push, list[CellOrder]()
    fleet.lab.git("clone", "-q", str(fleet.remote), str(elsewhere))

    def take_up_elsewhere() -> None:
        with Checkout.open(elsewhere) as other:
            git(elsewhere, "commit", "-q", "--allow-empty", "-m", "somebody's own")
            orders.extend(take_up(other, check_request(other, ["42"], ["mine"], 5), lambda _: None).orders.values())

    def push_later(remote: Remote, changes: Mapping[str, RefChange]) -> None:
        monkeypatch.setattr(Remote, "push", push)
        take_up_elsewhere()
        push(remote, changes)

    request = check_request(fleet.main, ["42"], ["mine"], 5)
    if moment == "at once":
        monkeypatch.setattr(Remote, "push", push_later)
    orders.extend(take_up(fleet.main, request, lambda _: None).orders.values())
    if moment == "later":
        take_up_elsewhere()
    first, second = (replace(each, money=5) for each in orders)
    assert first.base == second.base == git(fleet.remote, "rev-parse", BRANCH)
    assert (fleet.work(second, "two").status, fleet.work(first).status) == ("met", "met")
    assert fleet.remote.with_name("turns").read_text() == "\n"
    assert find_faults(fleet.remote, fleet.lease) == []


def test_a_worker_killed_while_it_clones_leaves_a_machine_that_works(fleet: Fleet) -> None:
    order, programs = fleet.plan(), fleet.lab.root.parent / "programs"
    programs.mkdir()
    (programs / "git").write_text(KILLED_CLONE.format(git=shutil.which("git")))
    (programs / "git").chmod(0o755)
    env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    assert subprocess.run([sys.executable, "-c", WORKER, json.encode(order)], env=env, check=False).returncode == -9
    clone = provide_clone(order).root
    (clone / ".git" / "index").rename(clone / ".git" / "index.lock")  # and then while it checked out
    assert fleet.work(order).status == "met"


def test_a_full_disk_of_one_machine_leaves_the_cell_to_another(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    order = fleet.plan()
    with monkeypatch.context() as patched:
        patched.setattr("aigon.fleet.cell.gather_record", fill)
        assert "No space left" in fleet.work(order).said
    held = fleet.work(order, "two")
    assert held.status == "held"
    assert fleet.work(replace(order, stale=held.lease), "two").status == "met"
    assert find_faults(fleet.remote, fleet.lease) == []


def test_a_remote_that_has_lost_an_object_is_not_asked_for_ever(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aigon.git.remote.PAUSE", 0.01)
    order = fleet.plan()
    tree = git(fleet.remote, "rev-parse", "refs/aigon/records/42--mine^{tree}")
    (fleet.remote / "objects" / tree[:2] / tree[2:]).unlink()
    summary = fleet.work(order)
    assert (summary.status, summary.exit_code) == ("unfit", 7)
    assert "does not give what its refs name" in summary.said and tree in summary.said


@pytest.mark.slow
def test_a_remote_that_is_away_for_a_while_gets_all_of_it_later(fleet: Fleet) -> None:
    away, looks = fleet.remote.with_name("remote.git.away"), []

    def bring_back() -> bool:
        looks.append(away.exists())
        if looks[-1] and sum(looks) == 4:
            away.rename(fleet.remote)
        return False

    order = fleet.plan(f"{WORK}; {LEAVE}")
    summary = work_on_cell(order, "one", lambda _: None, bring_back)
    assert (summary.status, summary.said[:20]) == ("met", "Every criterion is p")
    assert any(looks)
    assert find_faults(fleet.remote, fleet.lease) == []


@pytest.mark.slow
def test_a_remote_that_hangs_ends_the_loop_and_another_goes_on(fleet: Fleet) -> None:
    order = fleet.plan(f"{WORK}; printf '#!/bin/sh\\nsleep 100\\n' > {{remote}}/hooks/pre-receive; "
                       "chmod +x {remote}/hooks/pre-receive", lease=4)  # fmt: skip
    assert fleet.work(order).status == "lost"
    assert {each["state"] for each in read_chain(fleet.remote, fleet.lease)} == {"held"}


@pytest.mark.slow
def test_a_remote_that_refuses_in_mid_run_is_told_with_its_words(fleet: Fleet) -> None:
    summary = fleet.work(fleet.plan(f"{WORK}; {REFUSE}"))
    assert (summary.status, summary.exit_code) == ("refused", 7)
    assert "quota exceeded" in summary.said


@pytest.mark.slow
@pytest.mark.parametrize("change", [MOVE, TAKE])
def test_who_is_pushed_past_or_loses_the_lease_publishes_nothing(fleet: Fleet, change: str) -> None:
    order = fleet.plan(f"{WORK}; {change}")
    before = git(fleet.remote, "rev-parse", BRANCH)
    assert fleet.work(order).status == "lost"
    after = git(fleet.remote, "rev-parse", BRANCH)
    said = git(fleet.remote, "log", "-1", "--format=%s", BRANCH)
    assert after == before if change is TAKE else said == "other"


STOP = """
    if mkdir {remote}/../stopped 2> /dev/null; then
        kill -STOP $(ps -o ppid= -p $PPID)
        sleep 60
    fi
    echo done > done.txt
"""
KILLED_CLONE = """#!/bin/sh
for last; do :; done
case " $* " in *" clone "*) mkdir -p "$last/.git"; kill -9 $PPID;; esac
exec {git} "$@"
"""
WORKER = """
import sys
from msgspec import json
from aigon.fleet.cell import work_on_cell
from aigon.fleet.lease import CellOrder
order = json.decode(sys.argv[1], type=CellOrder)
print(work_on_cell(order, "one", lambda _: None, lambda: False).status)
"""


@pytest.mark.slow
def test_a_worker_that_stood_still_finds_its_lease_lost(fleet: Fleet) -> None:
    order = fleet.plan(STOP)
    first = {**os.environ, "AIGON_STATE_HOME": str(fleet.lab.root.parent / "first")}
    argv = [sys.executable, "-c", WORKER, json.encode(order).decode()]
    with subprocess.Popen(argv, env=first, stdout=subprocess.PIPE, text=True) as worker:
        while psutil.Process(worker.pid).status() != psutil.STATUS_STOPPED:
            assert worker.poll() is None
            time.sleep(0.1)
        held = fleet.work(order, "two")
        assert held.status == "held"
        assert fleet.work(replace(order, stale=held.lease), "two").status == "met"
        tip = git(fleet.remote, "rev-parse", BRANCH)
        worker.send_signal(signal.SIGCONT)
        assert worker.communicate()[0].strip() == "lost"
    assert git(fleet.remote, "rev-parse", BRANCH) == tip
    assert find_faults(fleet.remote, fleet.lease) == []
    assert {each["epoch"] for each in read_chain(fleet.remote, fleet.lease)} == {1, 2}
