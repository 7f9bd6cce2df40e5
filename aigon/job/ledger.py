"""Money that the agents of an arena spend together: one limit for all, and amounts set aside before each turn.

The file is read and rewritten whole, under a lock of the system.
"""

import contextlib
import json
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from aigon.errors import AigonError, environment
from aigon.files.atomic import keep_damaged, write_atomic
from aigon.files.locks import is_locked, lock_file
from aigon.job.world import Attendant
from aigon.journal.records import find_candidates, locate_records
from aigon.journal.spending import LATELY, is_affordable
from aigon.journal.state import replay
from aigon.model.agents import Candidate
from aigon.process.running import loop_lock

LEDGER = "ledger.json"
BASELINES = "base"
"""The ledger, and the folder of what the loops tell one another of the baseline, both in the arena's folder."""
DAMAGE = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What reading a file of another form raises."""
_TOO_MUCH = 1e12
"""Dollars, or turns, of which no account has as many."""
LEDGER_PATIENCE = 60.0
"""Seconds after which the holder of the lock counts as hung: it is held for one small file at a time."""


class Account(Struct, frozen=True):
    """The account of one agent: spent, and set aside (`reserved`) for its next turn, in US dollars.

    `unknown` counts the turns and calls of unknown cost; `per_turn` is the mean of its last turns, None without any.
    """

    spent: float = 0.0
    reserved: float = 0.0
    unknown: int = 0
    per_turn: float | None = None


def prepare_arena_folder(arena: Path, resumed: Collection[str] = ()) -> None:
    """Make the arena's folder ready for its loops: only those that are `resumed`, by label, have spent anything yet.

    No loop of the arena may run. The baseline is assessed again: the machine may be another by now.
    """
    arena.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(arena / BASELINES, ignore_errors=True)
    reset_accounts(arena / LEDGER, resumed)


def reset_accounts(path: Path, labels: Collection[str]) -> None:
    """Forget all accounts but those of `labels`, which have nothing set aside: an arena begins.

    A damaged file stays if any of it counts: the first loop that settles repairs it.
    """
    with hold_ledger(path):
        try:
            known = read_accounts(path)
        except DAMAGE:
            if labels:
                return
            keep_damaged(path)
            known = {}
        write_accounts(path, {label: replace(each, reserved=0.0) for label, each in known.items() if label in labels})


@contextmanager
def hold_ledger(path: Path) -> Iterator[None]:
    """Hold the file's lock to read or write it. Raises AigonError (exit 7) if another process never releases it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        try:
            held.enter_context(lock_file(path.with_suffix(".lock"), LEDGER_PATIENCE))
        except TimeoutError:
            hint = "End the aigon process that hangs, then continue with --resume"
            raise environment("The arena's ledger is locked", where=str(path), hint=hint) from None
        yield


def write_accounts(path: Path, accounts: Mapping[str, Account]) -> None:
    """Write the file whole."""
    document = {"schema_version": 1, "accounts": {label: to_builtins(each) for label, each in accounts.items()}}
    write_atomic(path, json.dumps(document, indent=2).encode() + b"\n")


def read_accounts(path: Path) -> dict[str, Account]:
    """Return the accounts in the file; {} without a file. Raises ValueError, TypeError, KeyError if it is damaged."""
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    if document["schema_version"] != 1:
        raise ValueError("another version")
    accounts = {label: Account(**each) for label, each in document["accounts"].items()}
    for account in accounts.values():
        sums = (account.spent, account.reserved, account.unknown, account.per_turn or 0.0)
        if not all(isinstance(value, int | float) and 0 <= value < _TOO_MUCH for value in sums):
            raise ValueError("no sum of money")
    return accounts


class Settlement(Struct, frozen=True):
    """`elsewhere` is what others spent or have set aside, the latter `set_aside`; `need` what a turn should cost."""

    elsewhere: float
    set_aside: float
    need: float


class OtherAccounts(Struct, frozen=True):
    """Facts about the other agents of an arena, by label: who they are (this one too), whether a loop of one runs.

    `told` returns what a journal says that was spent, and raises AigonError if it cannot be read.
    """

    labels: Callable[[], tuple[str, ...]] = tuple
    runs: Callable[[str], bool] = lambda _label: True
    told: Callable[[str], Account] | None = None


class Ledger(Attendant):
    """The account of `label` among those in the file at `path`; `limit` is for all of them together, in US dollars.

    `elsewhere` is what others had taken when it was last settled.
    """

    def __init__(self, path: Path, label: str, limit: float, others: OtherAccounts | None = None) -> None:
        self._path, self._label, self._limit = path, label, limit
        self._others = others or OtherAccounts()
        self._written = False
        self.elsewhere = 0.0

    def settle(self, own: Account, *, turn: bool) -> Settlement:
        """Write down what was spent, give back what was set aside and, before a `turn`, set aside what it should cost.

        Nothing is set aside if it does not fit in what is left. Raises AigonError (exit 7) for a file damaged beyond
        repair.
        """
        with hold_ledger(self._path):
            accounts = {
                label: self._update(label, account)
                for label, account in self._read_or_rebuild().items()
                if label != self._label
            }
            aside = sum(account.reserved for account in accounts.values())
            self.elsewhere = aside + sum(account.spent for account in accounts.values())
            need = own.per_turn if own.per_turn is not None else self._estimate_turn(own, accounts)
            fits = turn and is_affordable(self._limit, own.spent + self.elsewhere, need)
            write_accounts(self._path, {**accounts, self._label: replace(own, reserved=need if fits else 0.0)})
            self._written = True
        return Settlement(self.elsewhere, aside, need)

    def close(self) -> None:
        """Give back what was set aside. Errors are ignored: who does not run has nothing set aside."""
        with contextlib.suppress(AigonError, OSError, *DAMAGE), hold_ledger(self._path):
            accounts = read_accounts(self._path)
            if own := accounts.get(self._label):
                write_accounts(self._path, {**accounts, self._label: replace(own, reserved=0.0)})

    def _estimate_turn(self, own: Account, others: Mapping[str, Account]) -> float:
        """Return what a turn of an agent of unknown cost should cost: a limit is kept by expecting too much.

        That is as much as the dearest agent's so far. If no agent's cost is known, the agent gets an equal share of
        what is left with those that have nothing set aside either: the first one must not have it all.
        """
        dearest = max((a.per_turn for a in others.values() if a.per_turn is not None), default=None)
        if dearest is not None:
            return dearest
        waiting = {self._label, *self._others.labels()} - {label for label, each in others.items() if each.reserved}
        return max(0.0, self._limit - own.spent - self.elsewhere) / len(waiting)

    def _update(self, label: str, account: Account) -> Account:
        """Return an account as of now: a loop that was killed gives nothing back, but its journal knows what it spent.

        If the journal cannot be read, what the loop set aside counts as spent.
        """
        if not account.reserved or self._others.runs(label):
            return account
        if self._others.told is None:
            return replace(account, reserved=0.0)
        try:
            return self._others.told(label)
        except AigonError:
            return replace(account, spent=account.spent + account.reserved, reserved=0.0)

    def _read_or_rebuild(self) -> Mapping[str, Account]:
        """Return what the file says. If this loop wrote it and it is gone, that is as bad as a damaged one."""
        try:
            accounts = read_accounts(self._path)
        except DAMAGE:
            rebuilt = self._rebuild()
            keep_damaged(self._path)
            return rebuilt
        return accounts if accounts or not self._written else self._rebuild()

    def _rebuild(self) -> Mapping[str, Account]:
        """Return the accounts by the journals, in which nothing is set aside; a running loop gets a turn's cost."""
        damaged = environment(
            "The arena's ledger is damaged, and the journals do not say what was spent",
            where=str(self._path),
            hint="Start the arena again; what was spent so far then no longer counts",
        )
        told = self._others.told
        if told is None:
            raise damaged
        try:
            accounts = {label: told(label) for label in self._others.labels() if label != self._label}
        except (AigonError, OSError) as error:
            raise damaged from error
        left = max(0.0, self._limit - sum(account.spent for account in accounts.values())) / (len(accounts) + 1)
        return {
            label: replace(a, reserved=left if a.per_turn is None else a.per_turn) if self._others.runs(label) else a
            for label, a in accounts.items()
        }


def open_ledger(home: Path, arena: Path, candidate: Candidate, limit: float | None) -> Ledger | None:
    """Return the account of a candidate in the arena's folder; None if nothing limits what is spent."""
    if limit is None:
        return None
    feature = candidate.feature

    def read_journal(label: str) -> Account:
        state = replay(locate_records(home, feature, label).each())
        costs = [one.usd for one in state.paid[-LATELY:]]
        spent = state.spend.plus(None) if state.turn_open else state.spend
        return Account(spent.usd, 0.0, spent.unknown, sum(costs) / len(costs) if costs else None)

    others = OtherAccounts(
        labels=lambda: tuple(each.label for each in find_candidates(home, feature) if each.mode == "arena"),
        runs=lambda label: is_locked(loop_lock(home, feature, label)) is True,
        told=read_journal,
    )
    return Ledger(arena / LEDGER, candidate.label, limit, others)
