"""No reader of what others wrote ends in a traceback or takes for ever, whatever it is given.

A short part of what `python -m tests.fuzz` does at length. Parsers and agents' outputs have tests of their own that do
the same in the default suite (`tests/checks/parsers/test_any_bytes.py`, `tests/agents/test_garbage.py`).
"""

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.fuzz.damage import inputs
from tests.fuzz.documents import DOCUMENTS
from tests.fuzz.target import Target, bounded, held
from tests.fuzz.targets import BY_NAME, TARGETS

ELSEWHERE = tuple(t for t in TARGETS if t.name.startswith(("parser-", "agent-")) and t.name != "agent-kind")
LONG = ("rules", "conditions", "schema")
"""What takes seconds: `pytest -m slow` has them."""
HERE = tuple(t for t in TARGETS if t not in ELSEWHERE and t.name not in LONG)
EXAMPLES = 15
each = pytest.mark.parametrize("target", HERE, ids=lambda target: target.name)


@each
def test_a_damaged_file_is_read_or_refused(target: Target) -> None:
    attempted(target, EXAMPLES)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_many_damaged_files_are_read_or_refused(target: Target) -> None:
    attempted(target, 20 * EXAMPLES)


def attempted(target: Target, examples: int) -> None:
    """The same inputs in every run."""

    @settings(
        max_examples=examples, derandomize=True, database=None,
        suppress_health_check=list(HealthCheck), phases=(Phase.generate, Phase.shrink),
    )  # fmt: skip
    @given(inputs(target))
    def attempt(data: bytes) -> None:
        bounded(target, data)

    attempt()


@each
def test_documents_that_mean_harm_are_read_or_refused(target: Target) -> None:
    for name, document in DOCUMENTS.items():
        try:
            bounded(target, document)
        except Exception as broken:
            raise AssertionError(f"{name}: {type(broken).__name__}: {broken}") from broken


@pytest.mark.parametrize("target", (*ELSEWHERE, *(BY_NAME[name] for name in LONG)), ids=lambda target: target.name)
@pytest.mark.slow
def test_documents_that_mean_harm_break_no_parser(target: Target) -> None:
    for document in DOCUMENTS.values():
        bounded(target, document)


@pytest.mark.parametrize(
    "name", ["spec", "config", "journal", "torn-journal", "state", "frozen", "ledger", "decisions"]
)
def test_a_file_that_was_cut_anywhere_is_read_or_refused(name: str) -> None:
    target = BY_NAME[name]
    whole = min(target.samples(), key=len)
    for end in range(0, len(whole), max(1, len(whole) // 100)):
        held(target, whole[:end])


@pytest.mark.parametrize("target", HERE, ids=lambda target: target.name)
def test_the_samples_are_sound_so_that_damage_gets_deep(target: Target) -> None:
    samples = target.samples()
    assert samples and any(held(target, sample) for sample in samples[:8])
