"""What the agents of an arena spend together: one limit for all, and money set aside before each turn.

The file is read and rewritten whole, under a lock of the system.
"""

import contextlib
import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from aigon.errors import AigonError, environment
from aigon.files.atomic import keep_damaged, write_atomic
from aigon.files.locks import is_locked
from aigon.job.world import Attendant
from aigon.journal import records
from aigon.journal.records import locate_records
from aigon.journal.spending import LATELY, is_affordable
from aigon.journal.state import replay
from aigon.model.candidates import Candidate
from aigon.process.running import loop_lock

DAMAGE = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What reading a file of another form raises."""
LEDGER_PATIENCE = 60.0
"""Seconds after which whoever holds the lock is taken for hung: it is held for one small file at a time."""


@dataclass(frozen=True, slots=True)
class Account:
    """What one agent spent and has set aside (`reserved`) for its next turn, in US dollars.

    `unknown` counts the turns and calls that did not say what they cost; `per_turn` is the mean of its last turns, None
    where it had none.
    """

    spent: float = 0.0
    reserved: float = 0.0
    unknown: int = 0
    per_turn: float | None = None


def reset_accounts(path: Path, labels: Collection[str]) -> None:
    """Forget all accounts but those of `labels`, which have nothing set aside: an arena begins.

    A damaged file stays where any of it counts: whoever settles first fixes it.
    """
    with hold_ledger(path):
        try:
            known = read_accounts(path)
        except DAMAGE:
            if labels:
                return
            known = set_damaged_ledger_aside(path)
        write_accounts(path, {label: replace(each, reserved=0.0) for label, each in known.items() if label in labels})


def set_damaged_ledger_aside(path: Path) -> dict[str, Account]:
    """Keep a damaged file, which is in its place until it is written anew; no accounts."""
    keep_damaged(path)
    return {}


@contextmanager
def hold_ledger(path: Path) -> Iterator[None]:
    """Be the only one who reads or writes the file. Raises AigonError (exit 7) where somebody never lets go of it."""
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(path.with_suffix(".lock"), timeout=LEDGER_PATIENCE):
            yield
    except Timeout:
        hint = "End the aigon that hangs, then go on with --resume"
        raise environment("The arena's ledger is locked", where=str(path), hint=hint) from None


def write_accounts(path: Path, accounts: Mapping[str, Account]) -> None:
    """Write the file whole."""
    document = {"schema_version": 1, "accounts": {label: asdict(each) for label, each in accounts.items()}}
    write_atomic(path, json.dumps(document, indent=2).encode() + b"\n")


def read_accounts(path: Path) -> dict[str, Account]:
    """The accounts in the file; none where there is none. Raises ValueError, TypeError, KeyError for a damaged one."""
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    if document["schema_version"] != 1:
        raise ValueError("another version")
    return {label: _account(each) for label, each in document["accounts"].items()}


def _account(document: Mapping[str, float | int | None]) -> Account:
    account = Account(**document)  # type: ignore[arg-type]  # what it is not is a TypeError
    sums = (account.spent, account.reserved, account.unknown, account.per_turn or 0.0)
    if not all(isinstance(value, int | float) and math.isfinite(value) and value >= 0 for value in sums):
        raise ValueError("no sum of money")
    return account


LEDGER = "ledger.json"
"""In the arena's folder."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """`elsewhere` is what others spent or have set aside, the latter `set_aside`; `need` what a turn should cost."""

    elsewhere: float
    set_aside: float
    need: float


@dataclass(frozen=True, slots=True)
class OtherAccounts:
    """What else is known of the agents of an arena, by label: who they are (this one too), whether a loop of one runs.

    `told` is what its journal says that it spent. Raises AigonError where that cannot be read.
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

        Nothing is set aside where it does not fit in what is left. A turn costs what turns of this agent used to; where
        none has said its cost, it is taken for as dear as the dearest agent so far, since a limit is kept by expecting
        too much; where nobody's has, it gets an equal share of what is left with those that have nothing set aside
        either: whoever comes first must not have it all. Raises AigonError (exit 7) for a file damaged beyond repair.
        """
        with hold_ledger(self._path):
            accounts = {**self._accounts()}
            accounts.pop(self._label, None)
            accounts = {label: self._present(label, account) for label, account in accounts.items()}
            aside = sum(account.reserved for account in accounts.values())
            self.elsewhere = aside + sum(account.spent for account in accounts.values())
            need = own.per_turn if own.per_turn is not None else self._reckoned(own, accounts)
            fits = turn and is_affordable(self._limit, own.spent + self.elsewhere, need)
            write_accounts(self._path, {**accounts, self._label: replace(own, reserved=need if fits else 0.0)})
            self._written = True
        return Settlement(self.elsewhere, aside, need)

    def close(self) -> None:
        """Give back what was set aside. What hinders that is not said: who does not run has nothing set aside."""
        with contextlib.suppress(AigonError, OSError, *DAMAGE), hold_ledger(self._path):
            accounts = read_accounts(self._path)
            if own := accounts.get(self._label):
                write_accounts(self._path, {**accounts, self._label: replace(own, reserved=0.0)})

    def _reckoned(self, own: Account, others: Mapping[str, Account]) -> float:
        dearest = max((a.per_turn for a in others.values() if a.per_turn is not None), default=None)
        if dearest is not None:
            return dearest
        waiting = {self._label, *self._others.labels()} - {label for label, each in others.items() if each.reserved}
        return max(0.0, self._limit - own.spent - self.elsewhere) / len(waiting)

    def _present(self, label: str, account: Account) -> Account:
        """An account as it is now: a loop that was killed set aside what it will not give back, and spent more than it
        wrote down; its journal knows. Where that cannot be read, what it set aside stands for it."""
        if not account.reserved or self._others.runs(label):
            return account
        if self._others.told is None:
            return replace(account, reserved=0.0)
        try:
            return self._others.told(label)
        except AigonError:
            return replace(account, spent=account.spent + account.reserved, reserved=0.0)

    def _accounts(self) -> Mapping[str, Account]:
        """What the file says. One that this loop wrote and that is gone is as bad as a damaged one."""
        try:
            found = read_accounts(self._path)
        except DAMAGE:
            rebuilt = self._rebuilt()
            set_damaged_ledger_aside(self._path)
            return rebuilt
        return found if found or not self._written else self._rebuilt()

    def _rebuilt(self) -> Mapping[str, Account]:
        """The accounts by the journals. What a running loop has set aside is in none: as much as a turn of it costs."""
        told = self._others.told
        if told is None:
            raise _damaged(self._path)
        try:
            found = {label: told(label) for label in self._others.labels() if label != self._label}
        except (AigonError, OSError) as error:
            raise _damaged(self._path) from error
        left = max(0.0, self._limit - sum(account.spent for account in found.values())) / (len(found) + 1)
        return {
            label: replace(a, reserved=left if a.per_turn is None else a.per_turn) if self._others.runs(label) else a
            for label, a in found.items()
        }


def _damaged(path: Path) -> AigonError:
    return environment(
        "The arena's ledger is damaged, and the journals do not say what was spent",
        where=str(path),
        hint="Start the arena anew; what was spent so far then counts no longer",
    )


def open_ledger(home: Path, arena: Path, candidate: Candidate, limit: float | None) -> Ledger | None:
    """The account of a candidate in the arena's folder; None where nothing limits what is spent."""
    if limit is None:
        return None
    return Ledger(arena / LEDGER, candidate.label, limit, _others(home, candidate.feature))


def _others(home: Path, feature: str) -> OtherAccounts:
    return OtherAccounts(
        labels=lambda: tuple(each.label for each in records.find_candidates(home, feature) if each.mode == "arena"),
        runs=lambda label: is_locked(loop_lock(home, feature, label)) is True,
        told=lambda label: _told(home, feature, label),
    )


def _told(home: Path, feature: str, label: str) -> Account:
    """What the journal of a candidate's current run says. Raises AigonError where it is damaged."""
    state = replay(locate_records(home, feature, label).each())
    costs = [one.usd for one in state.paid[-LATELY:]]
    spent = state.spend.plus(None) if state.turn_open else state.spend
    return Account(spent.usd, 0.0, spent.unknown, sum(costs) / len(costs) if costs else None)
