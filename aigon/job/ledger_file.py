"""The file of what the agents of an arena spend together: read and rewritten whole, under a lock of the system."""

import json
import math
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from aigon.errors import environment
from aigon.files.store import keep_damaged, write_atomic

DAMAGE = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What reading a file of another form raises."""
PATIENCE = 60.0
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


def begin(path: Path, labels: Collection[str]) -> None:
    """Forget all accounts but those of `labels`, which have nothing set aside: an arena begins.

    A damaged file stays where any of it counts: whoever settles first mends it.
    """
    with locked(path):
        try:
            known = read(path)
        except DAMAGE:
            if labels:
                return
            known = keep_aside(path)
        write(path, {label: replace(each, reserved=0.0) for label, each in known.items() if label in labels})


def keep_aside(path: Path) -> dict[str, Account]:
    """Keep a damaged file, which is in its place until it is written anew; no accounts."""
    keep_damaged(path)
    return {}


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Be the only one who reads or writes the file. Raises AigonError (exit 7) where somebody never lets go of it."""
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(path.with_suffix(".lock"), timeout=PATIENCE):
            yield
    except Timeout:
        hint = "End the aigon that hangs, then go on with --resume"
        raise environment("The arena's ledger is locked", where=str(path), hint=hint) from None


def write(path: Path, accounts: Mapping[str, Account]) -> None:
    """Write the file whole."""
    document = {"schema_version": 1, "accounts": {label: asdict(each) for label, each in accounts.items()}}
    write_atomic(path, json.dumps(document, indent=2).encode() + b"\n")


def read(path: Path) -> dict[str, Account]:
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
