"""The list in which the author of tests says what decides each criterion."""

from aigon.prove.deciders import list_open_criteria, read_deciders
from aigon.spec.document import parse_spec

SPEC = parse_spec(b"""# Greet

## Acceptance Criteria

- [ ] it greets
- [ ] it is quick
- [ ] it reads well
- [ ] tests are green <!-- verify: make test -->
- [ ] it is kind <!-- judge -->
""")
OPEN = list_open_criteria(SPEC)
FILES = ("tests/acceptance/1/1.sh", "greet")


def test_only_criteria_that_nobody_decided_on_are_open() -> None:
    assert [criterion.number for criterion in OPEN] == [1, 2, 3]


def test_lines_are_read_as_annotations_however_they_are_listed() -> None:
    text = "- 1. <!-- prints: ./greet Ada == Hello -->\n2) seconds: ./greet <= 2\n\nprose\n3: judge: it is about tone\n"
    found = read_deciders(text, OPEN, FILES)
    assert {n: (c.kind, c.command) for n, c in found.decided.items()} == {
        1: ("prints", "./greet Ada == Hello"),
        2: ("seconds", "./greet <= 2"),
    }
    assert found.undecidable == {3: "it is about tone"}
    assert found.faults == {}


def test_what_shows_nothing_by_reading_alone_is_a_fault() -> None:
    text = "1. verify: true\n2. verify: bash tests/acceptance/1/1.sh\n3. verify: bash tests/acceptance/1/1.sh\n"
    faults = read_deciders(text, OPEN, FILES).faults
    assert sorted(faults) == [1, 3]
    assert "always exits with 0" in faults[1]
    assert "decides criterion 2" in faults[3]


def test_missing_files_odd_lines_and_left_out_criteria_are_faults() -> None:
    faults = read_deciders("1. verify: bash tests/acceptance/1/2.sh\n2. verifi: x\n9. verify: x\n", OPEN, FILES).faults
    assert faults[1].startswith("tests/acceptance/1/2.sh is not there")
    assert "Unknown annotation" in faults[2]
    assert faults[3] == "nothing decides it yet"


def test_nothing_written_is_a_fault_for_each() -> None:
    assert list(read_deciders("", OPEN, ()).faults) == [1, 2, 3]
