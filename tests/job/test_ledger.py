"""The agents of an arena spend by one limit: what one has set aside nobody else has, and nothing is forgotten."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from aigon.errors import AigonError, environment
from aigon.job.ledger import Account, Ledger, OtherAccounts, read_accounts, reset_accounts

RACER = """
import sys
from pathlib import Path
from aigon.job.ledger import Account, Ledger

label, path = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
own = Account(spent=2.0, per_turn=1.0)
settled = Ledger(Path(path), label, 5.0).settle(own, turn=True)
print("goes" if 2.0 + settled.elsewhere + settled.need <= 5.0 else "ends")
"""


def accounts(path: Path) -> dict[str, Account]:
    return read_accounts(path)


def others(told: Mapping[str, Account], running: tuple[str, ...] = ()) -> OtherAccounts:
    return OtherAccounts(lambda: tuple(told), lambda label: label in running, told.__getitem__)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "arena" / "ledger.json"


def test_of_two_processes_that_want_the_last_dollar_exactly_one_gets_it(path: Path) -> None:
    reset_accounts(path, ())
    for label in ("cc", "cx"):  # both know of each other's two dollars: one is left
        Ledger(path, label, 5.0).settle(Account(spent=2.0, per_turn=1.0), turn=False)
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, label, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for label in ("cc", "cx")
    ]
    for racer in racers:
        assert racer.stdout and racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin
        racer.stdin.write("\n")
        racer.stdin.flush()
    said = [racer.communicate(timeout=60)[0].strip() for racer in racers]
    assert sorted(said) == ["ends", "goes"]
    assert sorted(account.reserved for account in accounts(path).values()) == [0.0, 1.0]


def test_what_others_spent_and_have_set_aside_counts(path: Path) -> None:
    Ledger(path, "cc", 5.0).settle(Account(spent=1.0, unknown=2, per_turn=0.5), turn=True)
    own = Ledger(path, "cx", 5.0)
    settled = own.settle(Account(spent=0.25), turn=False)
    assert (settled.elsewhere, settled.set_aside, settled.need) == (1.5, 0.5, 0.5)
    assert own.elsewhere == 1.5
    assert accounts(path) == {"cc": Account(1.0, 0.5, 2, 0.5), "cx": Account(0.25)}


def test_before_anybody_has_had_a_turn_each_gets_an_equal_share(path: Path) -> None:
    all_ = OtherAccounts(lambda: ("a", "b", "c"))
    needs = [Ledger(path, label, 6.0, all_).settle(Account(), turn=True).need for label in ("a", "b", "c")]
    assert needs == pytest.approx([2.0, 2.0, 2.0])
    assert [account.reserved for account in accounts(path).values()] == pytest.approx([2.0, 2.0, 2.0])


def test_agents_that_do_not_say_their_cost_leave_a_share_to_those_that_come_back(path: Path) -> None:
    all_ = OtherAccounts(lambda: ("a", "b"))
    assert Ledger(path, "a", 6.0, all_).settle(Account(unknown=3), turn=True).need == 3.0
    assert Ledger(path, "b", 6.0, all_).settle(Account(unknown=2), turn=True).need == 3.0
    assert Ledger(path, "a", 6.0, all_).settle(Account(unknown=4), turn=True).need == 3.0


def test_a_first_turn_is_taken_for_as_dear_as_the_dearest_so_far(path: Path) -> None:
    Ledger(path, "a", 9.0).settle(Account(spent=1.0, per_turn=0.5), turn=False)
    Ledger(path, "b", 9.0).settle(Account(spent=3.0, per_turn=3.0), turn=False)
    assert Ledger(path, "c", 9.0).settle(Account(), turn=True).need == 3.0


def test_nothing_is_set_aside_that_does_not_fit_and_a_later_settling_gives_back(path: Path) -> None:
    ledger = Ledger(path, "a", 5.0)
    ledger.settle(Account(spent=4.0, per_turn=0.5), turn=True)
    assert accounts(path)["a"].reserved == 0.5
    ledger.settle(Account(spent=4.7, per_turn=0.5), turn=True)
    assert accounts(path)["a"].reserved == 0.0
    ledger.settle(Account(spent=4.0, per_turn=0.5), turn=True)
    ledger.close()
    assert accounts(path)["a"] == Account(4.0, 0.0, 0, 0.5)


def test_who_was_killed_has_nothing_set_aside_and_spent_what_its_journal_says(path: Path) -> None:
    Ledger(path, "dead", 9.0).settle(Account(spent=1.0, per_turn=1.0), turn=True)
    Ledger(path, "live", 9.0).settle(Account(spent=1.0, per_turn=1.0), turn=True)
    known = others({"dead": Account(2.5, 0.0, 1, 1.25), "live": Account(), "me": Account()}, running=("live",))
    assert Ledger(path, "me", 9.0, known).settle(Account(), turn=False).elsewhere == 4.5
    assert accounts(path)["dead"] == Account(2.5, 0.0, 1, 1.25)


def test_who_was_killed_and_whose_journal_is_gone_is_taken_to_have_spent_it(path: Path) -> None:
    def told(_label: str) -> Account:
        raise environment("damaged")

    Ledger(path, "dead", 9.0).settle(Account(spent=1.0, per_turn=2.0), turn=True)
    known = OtherAccounts(lambda: ("dead", "me"), lambda _label: False, told)
    assert Ledger(path, "me", 9.0, known).settle(Account(), turn=False).elsewhere == 3.0


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b'{"schema_version": 2, "accounts": {}}',
        b'{"schema_version": 1, "accounts": {"a": {"spent": -1}}}',
        b'{"schema_version": 1, "accounts": {"a": {"spent": NaN}}}',
        b'{"schema_version": 1, "accounts": {"a": {"spent": "0"}}}',
        b'{"schema_version": 1, "accounts": {"a": {"gone": 0}}}',
        b'{"schema_version": 1, "accounts": {"a": {"spent": 1%s}}}' % (b"0" * 400),
        b'{"schema_version": 1}',
    ],
)
def test_a_damaged_ledger_is_rebuilt_from_what_the_journals_say_and_kept_aside(path: Path, damage: bytes) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(damage)
    known = others({"a": Account(2.0, per_turn=0.5), "b": Account(1.0), "me": Account(9.0)}, running=("a",))
    settled = Ledger(path, "me", 5.0, known).settle(Account(spent=1.0, per_turn=0.25), turn=True)
    assert (settled.elsewhere, settled.set_aside) == (3.5, 0.5)
    assert path.with_name(f"{path.name}.corrupt").read_bytes() == damage
    assert accounts(path)["me"] == Account(1.0, 0.25, 0, 0.25)


def test_a_ledger_that_vanishes_under_a_loop_is_not_taken_for_an_empty_one(path: Path) -> None:
    ledger = Ledger(path, "me", 5.0, others({"a": Account(2.0), "me": Account()}))
    ledger.settle(Account(), turn=False)
    path.unlink()
    assert ledger.settle(Account(), turn=False).elsewhere == 2.0


def test_a_damaged_ledger_that_no_journal_replaces_ends_the_run_and_stays_damaged(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"{")

    def told(_label: str) -> Account:
        raise environment("damaged")

    for _ in range(2):
        with pytest.raises(AigonError) as error:
            Ledger(path, "me", 5.0, OtherAccounts(lambda: ("a",), told=told)).settle(Account(), turn=True)
        assert error.value.code == 7
    assert path.read_bytes() == b"{"
    Ledger(path, "me", 5.0).close()


def test_a_new_arena_begins_with_what_resumed_agents_spent_and_nothing_set_aside(path: Path) -> None:
    for label in ("a", "b"):
        Ledger(path, label, 9.0).settle(Account(spent=1.0, per_turn=1.0), turn=True)
    reset_accounts(path, ("b",))
    assert accounts(path) == {"b": Account(1.0, 0.0, 0, 1.0)}
    path.write_bytes(b"{")
    reset_accounts(path, ("b",))
    assert path.read_bytes() == b"{"
    reset_accounts(path, ())
    assert accounts(path) == {} and json.loads(path.read_text())["schema_version"] == 1
