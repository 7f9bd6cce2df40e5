"""Call the Anthropic API once within a timeout, and read what came back as a judge's answer."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

import anthropic
import tenacity
from anthropic.types import Message, TextBlockParam

from aigon.config import price_tables
from aigon.config.prices import PriceTable, TokenCounts, estimate_cost
from aigon.errors import AigonError
from aigon.model.judging import JudgeAnswer, JudgeQuestion, JudgeSettings
from aigon.model.turns import Usage

ATTEMPTS = 3
LONGEST_WAIT = 20.0
"""Seconds. A server that asks for more is not asked again."""
_FIRST_WAIT = 0.5
_MAX_TOKENS = 21_000
"""Above about 21,333 the SDK refuses a call that is not streamed."""

T = TypeVar("T")
_LASTING = (401, 403, 404)
"""Bad key, no permission, no such model: no later call can fix it."""


def call_api(question: JudgeQuestion, settings: JudgeSettings, key: str | None, token: str | None) -> Message:
    """Return the reply. Raises `anthropic.AnthropicError` for what the API refuses, TimeoutError when it is late."""
    deadline = time.monotonic() + settings.timeout
    attempts = tenacity.Retrying(
        stop=tenacity.stop_any(tenacity.stop_after_attempt(ATTEMPTS), tenacity.stop_before_delay(settings.timeout)),
        wait=_wait,
        retry=tenacity.retry_if_exception(_is_passing),
        reraise=True,
    )

    def call() -> Message:
        with anthropic.Anthropic(api_key=key, auth_token=token, max_retries=0) as client:
            return attempts(lambda: _attempt(client, question, settings, deadline))

    return _run_within(settings.timeout, call)


def _attempt(client: anthropic.Anthropic, question: JudgeQuestion, settings: JudgeSettings, deadline: float) -> Message:
    return client.messages.create(
        model=settings.model,
        max_tokens=min(settings.max_tokens, _MAX_TOKENS),
        system=question.rules,
        messages=[{"role": "user", "content": _content(question)}],
        output_config={"format": {"type": "json_schema", "schema": anthropic.transform_schema(dict(question.schema))}},
        timeout=max(0.001, deadline - time.monotonic()),
    )


def _content(question: JudgeQuestion) -> list[TextBlockParam]:
    """First what every call of a look begins with, which is cached up to here; then what is asked this time."""
    return [
        {"type": "text", "text": question.shared, "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": question.task},
    ]


def _run_within(seconds: float, call: Callable[[], T]) -> T:
    """The SDK bounds every read, not the whole: a reply that drips, or a name that does not resolve, needs this."""
    future: Future[T] = Future()

    def work() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, name="judge", daemon=True).start()
    return future.result(seconds)


def _is_passing(error: BaseException) -> bool:
    """Whether another attempt may help: not for a spend limit, which looks like a rate limit."""
    if not isinstance(error, anthropic.APIStatusError):
        return isinstance(error, anthropic.APIConnectionError)
    passing = error.status_code in (408, 409, 429) or error.status_code >= 500
    return passing and not is_spend_limit(error) and (read_retry_after(error) or 0.0) <= LONGEST_WAIT


def is_spend_limit(error: anthropic.APIStatusError) -> bool:
    """Whether the account has no money left for this, or may not spend it."""
    return "spend_limit" in (error.error_code or "") or error.type == "billing_error" or error.status_code == 402


def read_retry_after(error: BaseException | None) -> float | None:
    """Return how many seconds the server asked to wait; None if it did not say a number."""
    if not isinstance(error, anthropic.APIStatusError):
        return None
    header = error.response.headers.get("retry-after", "").strip()
    return float(header) if header.isdecimal() else None


def _wait(state: tenacity.RetryCallState) -> float:
    asked = read_retry_after(state.outcome.exception() if state.outcome else None)
    return asked if asked is not None else _FIRST_WAIT * 2 ** (state.attempt_number - 1)


def read_message(settings: JudgeSettings, message: Message) -> JudgeAnswer:
    """Return the text of a message, or why it is not a whole answer."""
    usage, cost = _measure_usage(message, settings)
    # A reply may begin with thinking: only text blocks are the answer.
    text = "".join(block.text for block in message.content if block.type == "text")
    failure = _explain_incomplete(message, settings)
    return JudgeAnswer("" if failure else text, failure, cost, "unknown" if cost is None else "estimated", usage)


def read_status_error(error: anthropic.APIStatusError) -> JudgeAnswer:
    """Return the answer for an error status. Below 500 nothing was computed, so nothing was spent."""
    wait = read_retry_after(error)
    said = f"the judge could not be asked: {error.status_code} {error.api_message or error.type or ''}".rstrip()
    said += f", asked to wait {wait:.0f} s" if wait is not None else ""
    free = error.status_code < 500
    return JudgeAnswer(
        failure=said,
        cost=0.0 if free else None,
        cost_status="reported" if free else "unknown",
        available=error.status_code not in _LASTING and not is_spend_limit(error),
    )


def _explain_incomplete(message: Message, settings: JudgeSettings) -> str:
    """Return why the reply is not a whole answer; empty if it is."""
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


def _measure_usage(message: Message, settings: JudgeSettings) -> tuple[Usage | None, float | None]:
    """Return tokens and US dollars; None if the reply does not say. The SDK does not check what a server sends."""
    usage = message.usage
    try:
        write, read = usage.cache_creation_input_tokens or 0, usage.cache_read_input_tokens or 0
        tokens = TokenCounts(int(usage.input_tokens), int(usage.output_tokens), int(write), int(read))
    except (AttributeError, TypeError, ValueError):
        return None, None
    seen = Usage(tokens.input + tokens.cache_write, tokens.output, tokens.cache_read)
    return seen, estimate_cost(_load_prices(settings), settings.model, tokens)


def _load_prices(settings: JudgeSettings) -> PriceTable:
    """Return the prices of the project. A file that was spoilt since the run began must not cost the answer."""
    try:
        return price_tables.load_prices(price_tables.open_price_files(Path(settings.cwd)))
    except AigonError:
        return price_tables.load_shipped_prices()
