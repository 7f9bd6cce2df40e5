"""What a session has used so far, and whether it may go on."""

from dataclasses import dataclass, field

from anthropic.types.beta import BetaUsage

from aigon.config.prices import PriceTable, TokenCounts, estimate_cost

LEAST = 1_000
"""Tokens of a reply below which it is not worth asking."""


@dataclass(slots=True)
class Meter:
    """Caps of 0 tokens and of None dollars are none. `context` are the tokens of the last exchange together."""

    model: str
    prices: PriceTable
    turns: int
    tokens: int = 0
    cost: float | None = None
    calls: int = 0
    context: int = 0
    used: int = 0
    spent: float = 0.0
    unpriced: bool = field(init=False)

    def __post_init__(self) -> None:
        self.unpriced = self.price(TokenCounts(0, 0)) is None

    def add(self, usage: BetaUsage) -> TokenCounts:
        """Count a reply, or what was lost of one."""
        tokens = counted(usage)
        self.used += tokens.input + tokens.cache_write + tokens.output
        self.context = tokens.prompt + tokens.output
        self.spent += self.price(tokens) or 0.0
        return tokens

    def reached(self) -> str:
        """The cap that ends the session before it asks again; empty while there is none."""
        if self.calls >= self.turns:
            return f"its cap of {self.turns} turns"
        if self.tokens and self.used + LEAST > self.tokens:
            return f"its cap of {self.tokens} tokens ({self.used} used)"
        if self.cost is not None and not self.unpriced and self.reply(LEAST) < LEAST:
            return f"its cap of ${self.cost:g} (${self.spent:.4f} spent)"
        return ""

    def reply(self, most: int) -> int:
        """Tokens that the next reply may have, so that no cap is passed by much."""
        rooms = [most]
        if self.tokens:
            rooms.append(self.tokens - self.used)
        if self.cost is not None and not self.unpriced:
            left = self.cost - self.spent - (self.price(TokenCounts(0, 0, cache_read=self.context)) or 0.0)
            rooms.append(int(left / ((self.price(TokenCounts(0, 1_000_000)) or 1.0) / 1_000_000)))
        return max(0, min(rooms))

    def price(self, tokens: TokenCounts) -> float | None:
        """US dollars of one reply; None where the model has no price."""
        return estimate_cost(self.prices, self.model, tokens)


def counted(usage: BetaUsage) -> TokenCounts:
    """The four counts of a reply; what is not said is none."""
    return TokenCounts(
        usage.input_tokens or 0,
        usage.output_tokens or 0,
        usage.cache_creation_input_tokens or 0,
        usage.cache_read_input_tokens or 0,
    )
