"""No reader needs more than its share of time for what is repeated: no pattern that begins anew at every place."""

import time

import pytest

from tests.fuzz import growth
from tests.fuzz.target import Target
from tests.fuzz.targets import BY_NAME, TARGETS

REPEATED = (
    b"- [ ] ",
    b"- [ ] a <!-- verify: x -->\n",
    b"<!--",
    b"`",
    b"[",
    b"\x1b[",
    b"\\",
    b" ",
    b"*",
    b"> ",
    b"a: ",
    b"- ",
)
CLOSELY = ("spec", "diff", "secrets")
pytestmark = pytest.mark.long


@pytest.mark.parametrize("name", CLOSELY)
def test_what_is_repeated_takes_time_in_proportion(name: str) -> None:
    assert not list(filter(None, (growth.complaint(BY_NAME[name], word) for word in REPEATED)))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_each_word_of_a_grammar_may_be_repeated(target: Target) -> None:
    words = dict.fromkeys(word for word in (*REPEATED, *target.words) if word)
    assert not list(filter(None, (growth.complaint(target, word) for word in words)))


def test_a_reader_that_is_quadratic_is_a_complaint() -> None:
    def quadratic(data: bytes) -> None:
        begun = time.process_time()
        while time.process_time() - begun < 0.4 * (len(data) / 32768) ** 2:
            pass

    assert "times as long" in growth.complaint(Target("bad", quadratic, tuple), b"a")
