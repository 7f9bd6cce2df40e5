"""What turns cost where a CLI does not say, what the next one is likely to cost, and what a run may."""

from collections.abc import Sequence
from dataclasses import replace

from aigon.config.prices import Price, PriceTable, TokenCounts, find_price
from aigon.journal.state import Paid
from aigon.model.turns import ModelUsage, Turn, Usage

LATELY = 3
"""Turns that the next one is measured by."""
BRIEF = 500
"""Tokens of an answer that says little: about 350 words."""
SESSION = TokenCounts(input=0, output=30_000, cache_write=100_000, cache_read=2_000_000)
"""A long turn of an agent, in tokens beyond its prompt; an assumption, and a rough one.

An agent sends its whole context with every call, so that nearly all it reads comes from the cache: 90-98 % in what
people measured of Claude Code (82 sessions of agent-cost-tracker, PyPI, 2026-08-23: 98.7 %; agent-walker: 90-96 %).
30 calls that each read some 70,000 tokens are 2 million. With Claude Sonnet 5.5 that is about $1, and Claude Code's
documentation (code.claude.com, costs, 2026) gives $0.55 for a sample session and $13 for an average day. A single
turn may well be dearer.
"""


def expected(paid: Sequence[Paid], agent: str, model: str) -> float | None:
    """US dollars that a turn of `agent`, asked for `model`, is likely to cost, by what turns did cost.

    The mean of the last three, of the same agent and model, else of the same agent; None without any.
    """
    own = [one for one in paid if one.agent == agent]
    alike = [one for one in own if one.model == model] or own
    costs = [one.usd for one in alike[-LATELY:]]
    return sum(costs) / len(costs) if costs else None


def affordable(limit: float, taken: float, cost: float) -> bool:
    """Whether a turn of this cost fits in what is left of the limit, all in US dollars; nothing does once it is spent.

    Sums of shares are a little off: a millionth of a dollar is nobody's money.
    """
    return taken < limit and taken + cost <= limit + 1e-6


def priced(turn: Turn, table: PriceTable) -> Turn:
    """The turn with an estimate where it told its tokens and not its cost; as it is where there is no price.

    A CLI gives the sum of a session: its calls are taken for ones with short prompts, and what was written to a cache
    counts as plain input. A turn without a single token has not told them. One model without a price makes the cost of
    the whole turn unknown.
    """
    if turn.cost is not None or turn.usage is None or turn.usage == Usage():
        return turn
    shares = turn.usage_by_model or (ModelUsage(turn.model, turn.usage),)
    costs = [_estimate(table, share) for share in shares]
    known = [cost for cost in costs if cost is not None]
    return replace(turn, cost=sum(known), cost_status="estimated") if known and known == costs else turn


def _estimate(table: PriceTable, share: ModelUsage) -> float | None:
    found, usage = find_price(table, share.model), share.usage
    return found.price.calls(TokenCounts(usage.input, usage.output, cache_read=usage.cached)) if found else None


def range_of(prompt_tokens: int, turns: int, price: Price | None) -> tuple[float, float] | None:
    """From the least to the much, in US dollars, that up to `turns` turns cost; None without a price. No promise.

    Low is one turn that reads the prompt and answers briefly, high is every turn as long as `SESSION`.
    """
    if price is None:
        return None
    low = price.call(TokenCounts(prompt_tokens, BRIEF))
    one = replace(SESSION, cache_write=SESSION.cache_write + prompt_tokens)
    return low, max(low, turns * price.calls(one))
