"""What a call of a judge costs."""

import pytest

from aigon.judges._prices import Tokens, estimate


def test_a_dated_model_costs_what_its_name_costs() -> None:
    tokens = Tokens(input=1_000_000, output=1_000_000)
    assert estimate("claude-opus-5-5", tokens) == pytest.approx(24.0)
    assert estimate("claude-opus-5-5-20261001", tokens) == pytest.approx(24.0)


def test_a_long_prompt_costs_more_where_the_model_says_so() -> None:
    assert estimate("claude-haiku-5-5", Tokens(100_000, 0)) == pytest.approx(0.01)
    assert estimate("claude-haiku-5-5", Tokens(90_000, 0, cache_read=10_001)) == pytest.approx(0.0455, abs=1e-6)


@pytest.mark.parametrize("model", ["claude-opus-5", "claude-opus-5-5-fast", "gpt-5", ""])
def test_a_model_that_is_not_known_has_no_price(model: str) -> None:
    assert estimate(model, Tokens(1, 1)) is None
