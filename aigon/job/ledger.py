"""What the agents of an arena spend together: one limit for all, and money set aside before each turn."""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from aigon.errors import AigonError, environment
from aigon.files.store import is_held
from aigon.job.ledger_file import DAMAGE, Account, keep_aside, locked, read, write
from aigon.journal import candidates
from aigon.journal.records import records_of
from aigon.journal.spending import LATELY, affordable
from aigon.journal.state import replay
from aigon.model.candidates import Candidate
from aigon.process.running import loop_lock

LEDGER = "ledger.json"
"""In the arena's folder."""


@dataclass(frozen=True, slots=True)
class Settled:
    """`elsewhere` is what others spent or have set aside, the latter `set_aside`; `need` what a turn should cost."""

    elsewhere: float
    set_aside: float
    need: float


@dataclass(frozen=True, slots=True)
class Others:
    """What else is known of the agents of an arena, by label: who they are (this one too), whether a loop of one runs.

    `told` is what its journal says that it spent. Raises AigonError where that cannot be read.
    """

    labels: Callable[[], tuple[str, ...]] = tuple
    runs: Callable[[str], bool] = lambda _label: True
    told: Callable[[str], Account] | None = None


class Ledger:
    """The account of `label` among those in the file at `path`; `limit` is for all of them together, in US dollars.

    `elsewhere` is what others had taken when it was last settled.
    """

    def __init__(self, path: Path, label: str, limit: float, others: Others | None = None) -> None:
        self._path, self._label, self._limit = path, label, limit
        self._others = others or Others()
        self._written = False
        self.elsewhere = 0.0

    def settle(self, own: Account, *, turn: bool) -> Settled:
        """Write down what was spent, give back what was set aside and, before a `turn`, set aside what it should cost.

        Nothing is set aside where it does not fit in what is left. A turn costs what turns of this agent used to; where
        none has said its cost, it is taken for as dear as the dearest agent so far, since a limit is kept by expecting
        too much; where nobody's has, it gets an equal share of what is left with those that have nothing set aside
        either: whoever comes first must not have it all. Raises AigonError (exit 7) for a file damaged beyond repair.
        """
        with locked(self._path):
            accounts = {**self._accounts()}
            accounts.pop(self._label, None)
            accounts = {label: self._present(label, account) for label, account in accounts.items()}
            aside = sum(account.reserved for account in accounts.values())
            self.elsewhere = aside + sum(account.spent for account in accounts.values())
            need = own.per_turn if own.per_turn is not None else self._reckoned(own, accounts)
            fits = turn and affordable(self._limit, own.spent + self.elsewhere, need)
            write(self._path, {**accounts, self._label: replace(own, reserved=need if fits else 0.0)})
            self._written = True
        return Settled(self.elsewhere, aside, need)

    def close(self) -> None:
        """Give back what was set aside. What hinders that is not said: who does not run has nothing set aside."""
        with contextlib.suppress(AigonError, OSError, *DAMAGE), locked(self._path):
            accounts = read(self._path)
            if own := accounts.get(self._label):
                write(self._path, {**accounts, self._label: replace(own, reserved=0.0)})

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
            found = read(self._path)
        except DAMAGE:
            rebuilt = self._rebuilt()
            keep_aside(self._path)
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


def ledger_of(home: Path, arena: Path, candidate: Candidate, limit: float | None) -> Ledger | None:
    """The account of a candidate in the arena's folder; None where nothing limits what is spent."""
    if limit is None:
        return None
    return Ledger(arena / LEDGER, candidate.label, limit, _others(home, candidate.feature))


def _others(home: Path, feature: str) -> Others:
    return Others(
        labels=lambda: tuple(each.label for each in candidates.of_feature(home, feature) if each.mode == "arena"),
        runs=lambda label: is_held(loop_lock(home, feature, label)) is True,
        told=lambda label: _told(home, feature, label),
    )


def _told(home: Path, feature: str, label: str) -> Account:
    """What the journal of a candidate's current run says. Raises AigonError where it is damaged."""
    state = replay(records_of(home, feature, label).each())
    costs = [one.usd for one in state.paid[-LATELY:]]
    spent = state.spend.plus(None) if state.turn_open else state.spend
    return Account(spent.usd, 0.0, spent.unknown, sum(costs) / len(costs) if costs else None)
