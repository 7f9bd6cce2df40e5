"""How amounts are written for people: time, money, tokens."""

from math import ceil, isfinite

from aigon.core.model import CostStatus
from aigon.core.state import Spend

CHARS_PER_TOKEN = 2.3
"""Measured: characters / 4 undercounts the tokens of current models by 40-45 %."""


def estimated_tokens(text: str) -> int:
    """About how many tokens `text` is, rounded up."""
    return ceil(len(text) / CHARS_PER_TOKEN)


def duration(seconds: float) -> str:
    """`3.2s`, `41s`, `3m 12s`, `1h 05m`."""
    if not isfinite(seconds):
        return "no end"
    if seconds < 9.95:
        return f"{max(seconds, 0.0):.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes}m {rest:02d}s" if minutes < 60 else f"{minutes // 60}h {minutes % 60:02d}m"


def dollars(usd: float) -> str:
    """`$1.20`; four decimals below a cent, so that little is not shown as nothing."""
    return f"${usd:.4f}" if 0 < usd < 0.01 else f"${usd:.2f}"


def rough(usd: float) -> str:
    """An amount that is not known well, with two digits that count: `$0.40`, `$6`, `$1,200`; `under $0.01`."""
    if usd < 0.01:
        return "under $0.01"
    shown = float(f"{usd:.2g}")
    return f"${shown:,.0f}" if shown >= 10 or shown == int(shown) else f"${shown:.2f}"


def cost_range(low: float, high: float) -> str:
    """`$0.40 to $6`; `about $6` where both are the same."""
    least, most = rough(low), rough(high)
    if least == most:
        return least if least.startswith("under") else f"about {most}"
    return f"{least} to {most}"


def cost(usd: float | None, status: CostStatus) -> str:
    """`$0.42 (reported)`, or `unknown`."""
    return "unknown" if usd is None else f"{dollars(usd)} ({status})"


def spent(spend: Spend) -> str:
    """What a run cost so far, and how many of its calls did not say: `$1.20 and 2 calls of unknown cost`."""
    if not spend.unknown:
        return dollars(spend.usd)
    calls = f"{spend.unknown} call{'s' if spend.unknown > 1 else ''} of unknown cost"
    return f"{dollars(spend.usd)} and {calls}" if spend.usd else calls
