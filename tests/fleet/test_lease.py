"""Leases on a bare repository: who holds one publishes, and nobody else."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from aigon.errors import AigonError
from aigon.fleet.lease import CellSummary, Lease, LostLeaseError, read_notes
from aigon.fleet.plan import probe
from aigon.git.person import Checkout
from aigon.git.remote import PushError, Remote
from tests.fleet.chain import find_faults, git, list_refs, read_chain
from tests.lab import Lab

REF = "refs/aigon/leases/42--cc"
SECONDS = 0.6


class Two:
    """Two machines with a clone each of one bare remote."""

    def __init__(self, lab: Lab, held: ExitStack) -> None:
        self.remote = lab.root.parent / "remote.git"
        lab.git("clone", "-q", "--bare", str(lab.root), str(self.remote))
        lab.git("remote", "add", "origin", str(self.remote))
        self.main = held.enter_context(Checkout.open(lab.root))
        self.first, self.second = (Remote(self.main, lab.home / name) for name in ("first", "second"))

    def lease(self, remote: Remote, owner: str, seconds: float = SECONDS) -> Lease:
        return Lease(remote, REF, "42--cc", owner, seconds)

    @property
    def tip(self) -> str:
        return list_refs(self.remote, REF)["42--cc"]


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Two]:
    lab = Lab(tmp_path).init()
    for name, value in lab.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("aigon.fleet.lease.read_clock", lambda: 0.0)  # no holder is late because this machine is busy
    with ExitStack() as held:
        yield Two(lab, held)


def test_a_stale_lease_is_taken_over_and_its_old_holder_publishes_nothing(two: Two) -> None:
    old, new = two.lease(two.first, "old"), two.lease(two.second, "new")
    assert old.acquire() is None
    head = git(two.remote, "rev-parse", "main")
    old.push({"refs/heads/work": ("", head)})
    held = new.acquire()
    assert held
    assert (held.status, held.lease, held.said) == ("held", two.tip, "old works on it")
    assert new.acquire(head) is not None  # another commit was seen for long: nobody takes over
    assert new.acquire(held.lease) is None
    assert new.epoch == 2
    with pytest.raises(LostLeaseError, match="Somebody else works on 42--cc"):
        old.push({"refs/heads/work": (head, "")})
    assert list_refs(two.remote, "refs/heads/work") == {"work": head}
    new.push({}, CellSummary("met"))
    assert two.lease(two.first, "third").acquire() == CellSummary("met")
    assert find_faults(two.remote, two.tip) == []
    assert [each["epoch"] for each in read_chain(two.remote, two.tip)] == [1, 1, 2, 2]


def test_a_lease_is_renewed_while_its_holder_sets_up(two: Two) -> None:
    lease = two.lease(two.first, "slow")
    lease.acquire()
    with lease.keep():
        while len(read_chain(two.remote, two.tip)) < 4:
            time.sleep(0.05)
    lease.push({}, CellSummary("met"))
    assert find_faults(two.remote, two.tip) == []


def test_a_holder_whose_time_is_over_does_not_even_try(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    lease = two.lease(two.first, "late")
    lease.acquire()
    before = two.tip
    monkeypatch.setattr("aigon.fleet.lease.read_clock", lambda: SECONDS)
    with pytest.raises(LostLeaseError, match="ran out"):
        lease.push({})
    assert two.tip == before


def test_an_acknowledgement_that_was_lost_is_read_back(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    lease, push = two.lease(two.first, "mine", 60), two.first.push
    lease.acquire()

    def lose(changes: object) -> None:
        push(changes)  # type: ignore[arg-type]
        raise PushError("away", two.first.url, "connection reset")

    monkeypatch.setattr(two.first, "push", lose)
    lease.push({})
    monkeypatch.setattr(two.first, "push", push)
    lease.push({}, CellSummary("stopped"))
    assert len(read_chain(two.remote, two.tip)) == 3
    assert find_faults(two.remote, two.tip) == []


def test_a_remote_that_is_away_for_a_while_changes_nothing(two: Two) -> None:
    lease = two.lease(two.first, "mine", 60)
    lease.acquire()
    two.remote.rename(two.remote.with_name("away"))
    with pytest.raises(PushError) as error:
        lease.push({})
    assert error.value.trouble == "away"
    two.remote.with_name("away").rename(two.remote)
    lease.push({})
    assert find_faults(two.remote, two.tip) == ["the cell was not done exactly once"]


def test_a_branch_that_somebody_moved_ends_the_work_on_its_cell(two: Two) -> None:
    lease = two.lease(two.first, "mine", 60)
    lease.acquire()
    head = git(two.remote, "rev-parse", "main")
    other = git(two.remote, "-c", "user.name=x", "-c", "user.email=x@x", "commit-tree", "-m", "other", "main^{tree}")
    git(two.remote, "update-ref", "refs/heads/work", other)
    with pytest.raises(LostLeaseError):
        lease.push({"refs/heads/work": ("", head)})


def test_a_remote_that_refuses_refs_is_named(two: Two) -> None:
    probe(two.main, two.first)
    assert list_refs(two.remote, "refs/aigon/probe") == {}
    hook = two.remote / "hooks" / "update"
    hook.write_text('#!/bin/sh\ncase $1 in refs/aigon/*) echo "no such refs here"; exit 1;; esac\n')
    hook.chmod(0o755)
    with pytest.raises(AigonError, match="does not create a ref under refs/aigon/") as error:
        probe(two.main, two.first)
    assert "refs/heads/aigon/" in error.value.hint


def test_what_is_no_lease_is_refused_by_name(two: Two) -> None:
    git(two.remote, "update-ref", REF, git(two.remote, "rev-parse", "main"))
    two.first.fetch([REF])
    with pytest.raises(AigonError, match=f"{REF} is no lease"):
        read_notes(two.first, {REF: two.tip})
