"""One bounded call of the Anthropic API: at most three attempts, and never longer than its timeout."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

import anthropic
import tenacity
from anthropic.types import Message, TextBlockParam

from aigon.model.judging import JudgeQuestion, JudgeSettings

ATTEMPTS = 3
LONGEST_WAIT = 20.0
"""Seconds. A server that asks for more is not asked again."""
_FIRST_WAIT = 0.5
_MAX_TOKENS = 21_000
"""Above about 21,333 the SDK refuses a call that is not streamed."""

T = TypeVar("T")


def called(question: JudgeQuestion, settings: JudgeSettings, key: str | None, token: str | None) -> Message:
    """The reply. Raises `anthropic.AnthropicError` for what the API refuses, TimeoutError when it is late."""
    deadline = time.monotonic() + settings.timeout
    attempts = tenacity.Retrying(
        stop=tenacity.stop_any(tenacity.stop_after_attempt(ATTEMPTS), tenacity.stop_before_delay(settings.timeout)),
        wait=_wait,
        retry=tenacity.retry_if_exception(_passing),
        reraise=True,
    )

    def call() -> Message:
        with anthropic.Anthropic(api_key=key, auth_token=token, max_retries=0) as client:
            return attempts(lambda: _attempt(client, question, settings, deadline))

    return _within(settings.timeout, call)


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


def _within(seconds: float, call: Callable[[], T]) -> T:
    """The SDK bounds every read, not the whole: a reply that drips, or a name that does not resolve, needs this."""
    future: Future[T] = Future()

    def work() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, name="judge", daemon=True).start()
    return future.result(seconds)


def _passing(error: BaseException) -> bool:
    """Whether another attempt may help: not for a spend limit, which looks like a rate limit."""
    if not isinstance(error, anthropic.APIStatusError):
        return isinstance(error, anthropic.APIConnectionError)
    passing = error.status_code in (408, 409, 429) or error.status_code >= 500
    return passing and not spend_limit(error) and (asked_wait(error) or 0.0) <= LONGEST_WAIT


def spend_limit(error: anthropic.APIStatusError) -> bool:
    """The account has no money left for this, or may not spend it."""
    return "spend_limit" in (error.error_code or "") or error.type == "billing_error" or error.status_code == 402


def asked_wait(error: BaseException | None) -> float | None:
    """Seconds that the server asked to wait; None when it did not say a number."""
    if not isinstance(error, anthropic.APIStatusError):
        return None
    header = error.response.headers.get("retry-after", "").strip()
    return float(header) if header.isdecimal() else None


def _wait(state: tenacity.RetryCallState) -> float:
    asked = asked_wait(state.outcome.exception() if state.outcome else None)
    return asked if asked is not None else _FIRST_WAIT * 2 ** (state.attempt_number - 1)
