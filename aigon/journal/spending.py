"""The cost of turns: what was spent, what the next one is likely to cost, and what a run may spend."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from aigon.config.prices import Price, PriceTable, TokenCounts, find_price
from aigon.model.turns import CostStatus, ModelUsage, Turn, Usage
from aigon.text.amounts import format_dollars


class Spend(Struct, frozen=True):
    """US dollars so far; `unknown` counts the turns and calls that did not report their cost."""

    usd: float = 0.0
    unknown: int = 0

    def plus(self, cost: float | None) -> "Spend":
        """Add one turn or call."""
        return replace(self, unknown=self.unknown + 1) if cost is None else replace(self, usd=self.usd + cost)

    def and_(self, other: "Spend") -> "Spend":
        """Add two amounts."""
        return Spend(self.usd + other.usd, self.unknown + other.unknown)


class Paid(Struct, frozen=True):
    """A turn that reported its cost in US dollars, with the model that was asked for."""

    agent: str
    model: str
    usd: float


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


def estimate_turn_cost(paid: Sequence[Paid], agent: str, model: str) -> float | None:
    """Return what a turn is likely to cost in US dollars; None if no turn has reported a cost.

    It is the mean of the last three of the same agent and model, else of the same agent.
    """
    own = [one for one in paid if one.agent == agent]
    alike = [one for one in own if one.model == model] or own
    costs = [one.usd for one in alike[-LATELY:]]
    return sum(costs) / len(costs) if costs else None


def is_affordable(limit: float, taken: float, cost: float) -> bool:
    """Return whether a turn of this cost fits in what is left of the limit, in US dollars."""
    return taken < limit and taken + cost <= limit + 1e-6


def price_turn(turn: Turn, table: PriceTable) -> Turn:
    """Estimate the cost of a turn that reported its tokens only; unchanged if a model has no price.

    A CLI reports the sum of a session: its calls are priced like ones with short prompts, and cache writes as plain
    input.
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


def estimate_cost_range(prompt_tokens: int, turns: int, price: Price | None) -> tuple[float, float] | None:
    """Return the least and a high cost, in US dollars, of up to `turns` turns; None without a price.

    Low is one turn that reads the prompt and answers briefly, high is every turn as long as `SESSION`.
    """
    if price is None:
        return None
    low = price.call(TokenCounts(prompt_tokens, BRIEF))
    one = replace(SESSION, cache_write=SESSION.cache_write + prompt_tokens)
    return low, max(low, turns * price.calls(one))


def format_cost(usd: float | None, status: CostStatus) -> str:
    """Return `$0.42 (reported)`, or `unknown`."""
    return "unknown" if usd is None else f"{format_dollars(usd)} ({status})"


def describe_spend(spend: Spend) -> str:
    """Return what a run cost, and how many calls did not report it: `$1.20 and 2 calls of unknown cost`."""
    if not spend.unknown:
        return format_dollars(spend.usd) if spend.usd else "nothing spent"
    calls = f"{spend.unknown} call{'s' if spend.unknown > 1 else ''} of unknown cost"
    return f"{format_dollars(spend.usd)} and {calls}" if spend.usd else calls


def format_spend(spend: Spend) -> str:
    """Return the same in a few characters: `$1.20 + unknown`. Empty while no call has ended."""
    if spend.usd:
        return format_dollars(spend.usd) + (" + unknown" if spend.unknown else "")
    return "unknown" if spend.unknown else ""
