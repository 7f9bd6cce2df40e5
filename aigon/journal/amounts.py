"""How amounts are written for people: time, money, tokens, checks."""

from collections.abc import Sequence
from math import ceil, isfinite
from typing import Protocol

from aigon.journal.state import Spend
from aigon.model.checks import OWN_ROLES, CheckStatus
from aigon.model.turns import CostStatus

CHARS_PER_TOKEN = 2.3
"""Measured: characters / 4 undercounts the tokens of current models by 40-45 %."""


def estimated_tokens(text: str) -> int:
    """About how many tokens `text` is, rounded up."""
    return ceil(len(text) / CHARS_PER_TOKEN)


def many(count: int, noun: str) -> str:
    """`1 iteration`, `2 iterations`, `3 criteria`."""
    plural = noun.removesuffix("on") + "a" if noun.endswith("criterion") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


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
        return dollars(spend.usd) if spend.usd else "nothing spent"
    calls = f"{spend.unknown} call{'s' if spend.unknown > 1 else ''} of unknown cost"
    return f"{dollars(spend.usd)} and {calls}" if spend.usd else calls


def total_spent(spend: Spend) -> str:
    """The same in a few characters, for a view: `$1.20 + unknown`. Empty while no call has ended."""
    if spend.usd:
        return dollars(spend.usd) + (" + unknown" if spend.unknown else "")
    return "unknown" if spend.unknown else ""


class Checked(Protocol):
    """What a check came to."""

    @property
    def check(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def status(self) -> CheckStatus: ...


def green_checks(results: Sequence[Checked]) -> tuple[int, int]:
    """How many of the project's own checks passed, and of how many.

    aigon's own checks run only at some looks. Counted, they would make each line about another number of checks.
    """
    project = [result.status for result in results if result.check not in OWN_ROLES]
    return project.count("pass"), len(project)


def count_checks(results: Sequence[Checked]) -> str:
    """Count the project's own checks, and name those of aigon's that are red: `2 of 3 checks green, Git red`."""
    green, total = green_checks(results)
    skipped = sum(result.check not in OWN_ROLES and result.status == "skipped" for result in results)
    words = [f"{green} of {total} checks green" if total else "no check ran"]
    words += [f"{skipped} skipped"] if skipped else []
    words += [f"{r.title} red" for r in results if r.check in OWN_ROLES and r.status in ("fail", "error")]
    return ", ".join(words)
