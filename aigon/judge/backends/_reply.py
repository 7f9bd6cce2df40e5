"""What a call of the Anthropic API came to, as the answer of a judge."""

from pathlib import Path

import anthropic
from anthropic.types import Message

from aigon.config import price_tables
from aigon.config.prices import PriceTable, TokenCounts, estimate_cost
from aigon.errors import AigonError
from aigon.judge.backends._call import asked_wait, spend_limit
from aigon.model.judging import JudgeAnswer, JudgeSettings
from aigon.model.turns import Usage

_LASTING = (401, 403, 404)
"""Bad key, no permission, no such model: no later call can mend it."""


def answered(settings: JudgeSettings, message: Message) -> JudgeAnswer:
    """The text of a message, or why it is not a whole answer."""
    usage, cost = _spent(message, settings)
    # A reply may begin with thinking: only text blocks are the answer.
    text = "".join(block.text for block in message.content if block.type == "text")
    failure = _broken(message, settings)
    return JudgeAnswer("" if failure else text, failure, cost, "unknown" if cost is None else "estimated", usage)


def turned_away(error: anthropic.APIStatusError) -> JudgeAnswer:
    """An error status. Below 500 nothing was computed, so nothing was spent."""
    wait = asked_wait(error)
    said = f"the judge could not be asked: {error.status_code} {error.api_message or error.type or ''}".rstrip()
    said += f", asked to wait {wait:.0f} s" if wait is not None else ""
    free = error.status_code < 500
    return JudgeAnswer(
        failure=said,
        cost=0.0 if free else None,
        cost_status="reported" if free else "unknown",
        available=error.status_code not in _LASTING and not spend_limit(error),
    )


def _broken(message: Message, settings: JudgeSettings) -> str:
    """Why the reply is not a whole answer; empty when it is."""
    match message.stop_reason:
        case "end_turn":
            return ""
        case "max_tokens":
            return f"the judge's reply was cut at {settings.max_tokens:,} tokens"
        case "refusal":
            return f"the judge refused to answer{_category(message)}"
        case other:
            return f"the judge's reply ended early ({other})"


def _category(message: Message) -> str:
    details = message.stop_details
    return f" ({details.category})" if details is not None and details.category else ""


def _spent(message: Message, settings: JudgeSettings) -> tuple[Usage | None, float | None]:
    """Tokens and US dollars; None where the reply does not say. The SDK does not check what a server sends."""
    usage = message.usage
    try:
        write, read = usage.cache_creation_input_tokens or 0, usage.cache_read_input_tokens or 0
        tokens = TokenCounts(int(usage.input_tokens), int(usage.output_tokens), int(write), int(read))
    except (AttributeError, TypeError, ValueError):
        return None, None
    seen = Usage(tokens.input + tokens.cache_write, tokens.output, tokens.cache_read)
    return seen, estimate_cost(_table(settings), settings.model, tokens)


def _table(settings: JudgeSettings) -> PriceTable:
    """The prices of the project. A file that was spoilt since the run began must not cost the answer."""
    try:
        return price_tables.load_prices(price_tables.open_price_files(Path(settings.cwd)))
    except AigonError:
        return price_tables.load_shipped_prices()
