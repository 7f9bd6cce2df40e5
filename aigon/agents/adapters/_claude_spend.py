"""What a session of Claude Code cost, by its result record."""

from aigon.agents.adapters._claude_records import Records, count_of
from aigon.agents.adapters._ending import dollars
from aigon.agents.adapters._records import Record
from aigon.model.turns import Usage


def cost(records: Records) -> float | None:
    """US dollars by Claude Code's own estimate; None when it was not said."""
    return dollars(records.result.get("total_cost_usd"))


def usage(records: Records) -> Usage | None:
    """Tokens of all models together: the record's `usage` alone lacks the request that ran into a budget."""
    models = records.result.get("modelUsage")
    if isinstance(models, dict) and models:
        parts = [_by_model(one) for one in models.values() if isinstance(one, dict)]
        return Usage.of_all(parts)
    plain = records.result.get("usage")
    return _as_the_api_says(plain) if isinstance(plain, dict) else None


def _by_model(one: Record) -> Usage:
    fresh = count_of(one.get("inputTokens")) + count_of(one.get("cacheCreationInputTokens"))
    return Usage(fresh, count_of(one.get("outputTokens")), count_of(one.get("cacheReadInputTokens")))


def _as_the_api_says(one: Record) -> Usage:
    fresh = count_of(one.get("input_tokens")) + count_of(one.get("cache_creation_input_tokens"))
    return Usage(fresh, count_of(one.get("output_tokens")), count_of(one.get("cache_read_input_tokens")))
