"""A cell as scheduler and workers name it to each other, and its lease: only the holder may publish.

Each push renews the lease in the same transaction. It is a chain of commits on the remote. Each carries owner, nonce,
epoch and state, and has the one before as its parent; two of them are never equal. A lease is stale once this very
commit has been there for so many seconds by the observer's own clock; the holder gives up before that by a clock that
goes on while the machine sleeps.
"""

import secrets
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from msgspec import Struct, field, json

from aigon.errors import AigonError, environment
from aigon.git.remote import NOTHING, PushError, RefChange, Remote
from aigon.journal.spending import Spend

AGAIN = ("held", "lost", "away", "unfit")
"""What a cell may come to that is tried again."""


class CellOrder(Struct, frozen=True):
    """One cell: a feature and an agent. `url` is the remote without credentials, `base` a commit with the feature.

    `kind` is the agent's type, `money` what the run may cost over all, in US dollars, `lease` the seconds of a lease.
    `stale` is the lease commit that the fleet has seen for that long: a worker takes over if it is still there.
    """

    aigon: str
    fleet: str
    url: str
    prefix: str
    name: str
    agent: str
    kind: str
    branch: str
    base: str
    lease: float
    money: float = 0.0
    stale: str = ""

    @property
    def label(self) -> str:
        return self.name.rpartition("--")[2]

    @property
    def feature(self) -> str:
        return self.name.rpartition("--")[0]


class CellSummary(Struct, frozen=True):
    """The result of a cell: `status` of its run, or `refused` if it did not begin. The others are to be tried again:
    `held` by the machine that made the commit `lease`, `lost` to another meanwhile, the remote is `away`, or the
    machine is `unfit`.

    `spend` is that of its run over all machines.
    """

    status: str = ""
    exit_code: int = 0
    said: str = ""
    met: int = 0
    total: int = 0
    iterations: int = 0
    spend: Spend = Spend()
    commit: str = ""
    worker: str = ""
    seconds: float = 0.0
    lease: str = ""


def format_label(version: str, kind: str) -> str:
    """Return the resource that a worker offers for agents of a type; only workers with the same aigon have it."""
    return f"aigon {version} {kind}"


HOLD = 0.6
"""The share of a lease's time after which its holder gives up, counted from before its last renewal was sent."""
RENEW = 0.2
"""The share after which the holder renews it."""
SUBJECT = "aigon: lease"


def read_clock() -> float:
    """Return seconds on a clock that cannot be set and that counts while the machine sleeps."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class LeaseNote(Struct, frozen=True):
    """The content of a lease commit. `held`, or `ended` with what the cell came to."""

    cell: str
    owner: str
    epoch: int
    nonce: str
    state: str = "held"
    summary: CellSummary = field(default_factory=CellSummary)


class LostLeaseError(AigonError):
    """Somebody else may publish the work of this cell: what is here is not pushed."""


def name_owner() -> str:
    return f"{socket.gethostname()}-{secrets.token_hex(4)}"


def read_notes(remote: Remote, commits: Mapping[str, str]) -> dict[str, LeaseNote]:
    """Return by ref what the fetched lease commits say. Raises AigonError (exit 7) for one that is no lease."""
    found = {}
    for ref, commit in commits.items():
        _, out, _ = remote.git.attempt("cat-file", "commit", commit)
        try:
            found[ref] = json.decode(out.partition(b"\n\n")[2].partition(b"\n\n")[2], type=LeaseNote)
        except ValueError:
            hint = f"git push {remote.url} --delete {ref}   # once no machine works on that cell"
            raise environment(f"{ref} is no lease of aigon's", where=remote.url, hint=hint) from None
    return found


class Lease:
    """The lease of one cell on a remote, which this process wants to hold for `seconds` at a time."""

    def __init__(self, remote: Remote, ref: str, cell: str, owner: str, seconds: float) -> None:
        self._remote, self._ref, self._cell, self._owner, self._seconds = remote, ref, cell, owner, seconds
        self._commit, self._note = NOTHING, LeaseNote(cell, owner, 0, "")
        self._until = 0.0
        self.known: dict[str, str] = {}

    def acquire(self, stale: str = "", *refs: str) -> CellSummary | None:
        """Take the lease if it is free, or still the commit `stale`; None once it is held, or else why it is not.

        What the cell has published under `refs` is fetched, and `known` says what each was when the lease was taken.
        Raises LostLeaseError if another machine was faster, PushError (exit 7) if the remote is away or refuses.
        """
        self.known = self._remote.list_refs(self._ref, *refs)
        self._remote.fetch([*self.known])
        if commit := self.known.pop(self._ref, NOTHING):
            self._note = read_notes(self._remote, {self._ref: commit})[self._ref]
            if self._note.state == "held" and commit != stale:
                return CellSummary("held", said=f"{self._note.owner} works on it", lease=commit)
            if self._note.summary.status == "met":
                return self._note.summary
        self._commit = commit
        self._push({}, self._make_next(epoch=self._note.epoch + 1))
        return None

    def _make_next(self, *, epoch: int, state: str = "held", summary: CellSummary | None = None) -> LeaseNote:
        summary = summary or CellSummary()
        return LeaseNote(self._cell, self._owner, epoch, secrets.token_hex(8), state, summary)

    @property
    def is_over(self) -> bool:
        """True if it is too late to publish: others may take it over soon."""
        return read_clock() >= self._until

    @property
    def is_due(self) -> bool:
        """True if it is time to renew it."""
        return read_clock() >= self._until - self._seconds * (HOLD - RENEW)

    @property
    def epoch(self) -> int:
        return self._note.epoch

    def push(self, changes: Mapping[str, RefChange], ended: CellSummary | None = None) -> None:
        """Push these changes and a renewed lease as one. With `ended`, give it back and say what the cell came to.

        Raises LostLeaseError if another machine has it or it is too late, PushError (exit 7) if the remote is away or
        refuses: nothing has changed then, as far as is known, and this may be called again.
        """
        if self.is_over:
            raise LostLeaseError(f"The lease of {self._cell} ran out")
        state = "ended" if ended else "held"
        self._push(changes, self._make_next(epoch=self._note.epoch, state=state, summary=ended))

    @contextmanager
    def keep(self) -> Iterator[None]:
        """Renew it from a thread while the block runs, which may take longer than a lease lasts and pushes nothing."""
        is_done = threading.Event()

        def renew() -> None:
            with suppress(LostLeaseError):  # which the next push says again
                while not is_done.wait(self._seconds * RENEW):
                    with suppress(PushError):
                        self.push({})

        thread = threading.Thread(target=renew, name="lease")
        thread.start()
        try:
            yield
        finally:
            is_done.set()
            thread.join()

    def _push(self, changes: Mapping[str, RefChange], note: LeaseNote) -> None:
        message = f"{SUBJECT} of {note.cell}\n\n{json.encode(note).decode()}\n"
        began, commit = read_clock(), self._remote.commit_words(message, self._commit)
        try:
            self._remote.push({**changes, self._ref: (self._commit, commit)})
        except PushError as error:
            if error.trouble in ("refused", "no atomic"):
                raise
            there = self._remote.list_refs(self._ref).get(self._ref, NOTHING)
            if there not in (commit, self._commit) or (there != commit and error.trouble == "moved"):
                what = f"Somebody else works on {self._cell}"
                raise LostLeaseError(what, where=self._remote.url, hint=error.hint) from error
            if there != commit:  # else the push has succeeded all the same, and its acknowledgement alone was lost
                raise
        self._commit, self._note, self._until = commit, note, began + self._seconds * HOLD
