"""How old prices are, and what to say of those that are too old."""

from collections.abc import Iterable
from datetime import date

from aigon.config.prices import Group, Quote, Table, quoted

OLDEST = 90
"""Days after which a price is doubted: providers changed theirs several times within 90 days of 2026."""


def age(table: Table, today: date, model: str = "") -> int | None:
    """Days since the price of `model` was looked at; of the shipped table without one. None where nobody knows."""
    if not model:
        return _days(table.as_of, today)
    found = quoted(table, model)
    return _days(found.group.as_of, today) if found else None


def stale(table: Table, today: date, models: Iterable[str] = ()) -> str:
    """A warning where what `models` are priced by is too old; empty where it is not, or has no price.

    Without models it is about the shipped table as a whole.
    """
    wanted = tuple(models)
    if not wanted:
        days = _days(table.as_of, today) or 0
        return f"The prices are {days} days old (of {table.as_of}){_REMEDY}" if days > OLDEST else ""
    found = dict.fromkeys(quote.model for model in wanted if (quote := quoted(table, model)))
    said = [text for model in found if (quote := quoted(table, model)) and (text := _said(quote, today))]
    return "; ".join(said) + _REMEDY if said else ""


_REMEDY = ": estimates may be wrong. Put today's prices into .aigon/prices.yaml, or update aigon"


def _said(quote: Quote, today: date) -> str:
    days = _days(quote.group.as_of, today) or 0
    if days > OLDEST:
        return f"The price of {quote.model} is {days} days old (of {quote.group.as_of}{_by(quote.group)})"
    if quote.price.until and (_days(quote.price.until, today) or 0) > 0:
        return f"The price of {quote.model} held until {quote.price.until}"
    return ""


def _by(group: Group) -> str:
    return f", {group.file}" if group.file else ""


def _days(as_of: str, today: date) -> int | None:
    """0 for a day to come: a clock that is behind makes no price younger."""
    return max(0, (today - date.fromisoformat(as_of)).days) if as_of else None
