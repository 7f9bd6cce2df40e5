"""What a run may cost, said before it is paid for."""

from collections.abc import Iterator
from datetime import date

from aigon.config.price_tables import add_known_prices
from aigon.config.prices import describe_stale_prices, find_price
from aigon.job.job import Job
from aigon.journal.amounts import cost_range
from aigon.journal.spending import range_of


def cost_of(job: Job, tokens: int) -> tuple[float, float] | None:
    """From the least to the much, in US dollars, for a first prompt of `tokens`; None where a model has no price.

    The dearest model of the ladder's rungs that this many turns can reach sets the upper end.
    """
    models = _models(job)
    table = add_known_prices(job.prices, *models)
    found = [find_price(table, model) for model in models]
    ranges = [range_of(tokens, job.limits.iterations, one.price) for one in found if one]
    known = [one for one in ranges if one]
    if not known or len(known) < len(models):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def price_tag(job: Job, tokens: int) -> str:
    """`roughly $0.40 to $6`, or that nobody can say."""
    found = cost_of(job, tokens)
    if found:
        return f"roughly {cost_range(*found)}"
    models = ", ".join(filter(None, _models(job)))
    return "unknown" + (f" (no price for {models})" if models else "")


def warnings(job: Job, today: date) -> Iterator[str]:
    """What is to be said of prices that are old."""
    models = _models(job)
    if text := describe_stale_prices(add_known_prices(job.prices, *models), today, models):
        yield text


def _models(job: Job) -> list[str]:
    """The models of the rungs that this invocation can come to, each once."""
    reached = job.rungs if job.limits.iterations > 1 else job.rungs[:1]
    return list(dict.fromkeys(rung.agent.model for rung in reached))
