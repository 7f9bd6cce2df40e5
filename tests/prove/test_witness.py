"""The throwaway implementation: what of it counts, and what a resume reads again."""

from pathlib import Path

import pytest

from aigon.errors import AigonError
from aigon.files.resources import read_profiles
from aigon.journal.decisions import AcceptanceTest
from aigon.profiles.profile import load_protections
from aigon.profiles.protection import Protection
from aigon.prove.witness import FILE, Witness, WitnessFile, load_witness, save_witness

FILES = {
    "calc.py": WitnessFile("100644", b"after", b"before"),
    "new.py": WitnessFile("100755", b"\xff\0"),
    "gone.py": WitnessFile("", None, b"it was there"),
}


def test_a_resume_reads_what_was_saved(tmp_path: Path) -> None:
    witness = Witness(FILES, "stamp", None)
    assert load_witness(tmp_path) is None
    save_witness(tmp_path, witness)
    assert load_witness(tmp_path) == witness
    (tmp_path / FILE).write_text((tmp_path / FILE).read_text().replace("stamp", "stand"))
    with pytest.raises(AigonError, match="damaged"):
        load_witness(tmp_path)


def test_one_that_nothing_can_break_is_not_said_to_be_noticed() -> None:
    test = AcceptanceTest(1, "text", "verify", "./1.sh", "assertion", runs=3, is_green=True)
    assert test.worth.endswith("green with a throwaway implementation, of which no mutant could be made")


def test_one_that_weakens_tests_turns_nothing_green_by_it() -> None:
    forging = dict.fromkeys(
        ("conftest.py", "tests/conftest.py", "tests/test_add.py", "pytest.py", "tox.ini"), FILES["new.py"]
    )
    protection = Protection(load_protections(read_profiles(), {}))
    assert Witness({**FILES, **forging}, "", None).drop_tests(protection).files == FILES
