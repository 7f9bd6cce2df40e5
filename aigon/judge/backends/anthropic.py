"""The Anthropic API as a judge: one message per call, whose data is cached for the calls that follow.

The `anthropic` package takes more than a second to import, so it is imported only where a call is made.
"""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aigon.agents.credentials import API_KEYS, has_api_key
from aigon.config.prices import estimate_cost
from aigon.model.requests import JudgeAnswer, JudgeQuestion, JudgeSettings
from aigon.model.turns import Usage
from aigon.process.stop import start_call

if TYPE_CHECKING:
    from anthropic import APIStatusError
    from anthropic.types import Message

ATTEMPTS = 3
LONGEST_WAIT = 20.0
"""Seconds. A server that asks for more is not asked again."""
_FIRST_WAIT = 0.5
_MAX_TOKENS = 21_000
"""Above about 21,333 the SDK refuses a call that is not streamed."""
_LASTING = (401, 403, 404)
"""Bad key, no permission, no such model: no later call can fix it."""
_MISSING = f"the judge anthropic needs {' or '.join(API_KEYS)} in the environment, and neither is set"


def explain_unready(_settings: JudgeSettings, env: Mapping[str, str]) -> str:
    """Return what is missing; empty if a key is there. Whether it is good shows only in a call."""
    if has_api_key(env):
        return ""
    return f"{_MISSING}. Export one, or set the judge to none and decide its criteria with `aigon approve`"


def ask(question: JudgeQuestion, settings: JudgeSettings) -> JudgeAnswer:
    """Make one call. Whatever goes wrong is a failure with its reason."""
    if not has_api_key(os.environ):
        return JudgeAnswer(failure=_MISSING, cost=0.0, cost_status="reported", available=False)
    import anthropic

    try:
        # The SDK bounds every read, not the whole: a reply that drips, or a name that does not resolve, needs a thread.
        message = start_call(lambda: _call_api(question, settings), "judge").result(settings.timeout)
        return _read_message(settings, message)
    except (TimeoutError, anthropic.APITimeoutError):
        return JudgeAnswer(failure=f"the judge did not answer within {settings.timeout:g} s")
    except anthropic.APIStatusError as error:
        return _read_status_error(error)
    except anthropic.APIError as error:
        return JudgeAnswer(failure=f"the judge could not be asked: {error.message}")
    except Exception as error:  # whatever a server sends must not end a run; the text might quote a header: the key
        return JudgeAnswer(failure=f"the judge's reply could not be read ({type(error).__name__})")


def _call_api(question: JudgeQuestion, settings: JudgeSettings) -> "Message":
    """Return the reply. Raises `anthropic.AnthropicError` for what the API refuses."""
    import anthropic
    import httpx2
    import tenacity

    from aigon.agents.anthropic_api import build_retries, open_client

    deadline = time.monotonic() + settings.timeout
    # First what every call of an assessment begins with, which is cached up to here; then what is asked this time.
    content: Any = [
        {"type": "text", "text": question.shared, "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": question.task},
    ]
    stop = tenacity.stop_any(tenacity.stop_after_attempt(ATTEMPTS), tenacity.stop_before_delay(settings.timeout))
    with open_client(httpx2.Timeout(settings.timeout)) as client:
        return build_retries(stop, _FIRST_WAIT, LONGEST_WAIT)(
            lambda: client.messages.create(
                model=settings.model,
                max_tokens=min(settings.max_tokens, _MAX_TOKENS),
                system=question.rules,
                messages=[{"role": "user", "content": content}],
                output_config={
                    "format": {"type": "json_schema", "schema": anthropic.transform_schema(dict(question.schema))}
                },
                timeout=max(0.001, deadline - time.monotonic()),
            )
        )


def _read_message(settings: JudgeSettings, message: "Message") -> JudgeAnswer:
    """Return the text of a message, or why it is not a whole answer."""
    usage, cost = _measure_usage(message, settings)
    # A reply may begin with thinking: only text blocks are the answer.
    text = "".join(block.text for block in message.content if block.type == "text")
    failure = _explain_incomplete(message, settings)
    return JudgeAnswer("" if failure else text, failure, cost, "unknown" if cost is None else "estimated", usage)


def _explain_incomplete(message: "Message", settings: JudgeSettings) -> str:
    """Return why the reply is not a whole answer; empty if it is."""
    match message.stop_reason:
        case "end_turn":
            return ""
        case "max_tokens":
            return f"the judge's reply was cut at {settings.max_tokens:,} tokens"
        case "refusal":
            category = message.stop_details.category if message.stop_details else ""
            return f"the judge refused to answer{f' ({category})' if category else ''}"
        case other:
            return f"the judge's reply ended early ({other})"


def _measure_usage(message: "Message", settings: JudgeSettings) -> tuple[Usage | None, float | None]:
    """Return tokens and US dollars; None if the reply does not say. The SDK does not check what a server sends."""
    from aigon.agents.anthropic_api import load_prices, split_usage

    usage = getattr(message, "usage", None)
    if not all(isinstance(getattr(usage, name, None), int) for name in ("input_tokens", "output_tokens")):
        return None, None
    tokens = split_usage(message.usage)
    cost = estimate_cost(load_prices(Path(settings.cwd), settings.model), settings.model, tokens)
    return Usage(tokens.input + tokens.cache_write, tokens.output, tokens.cache_read), cost


def _read_status_error(error: "APIStatusError") -> JudgeAnswer:
    """Return the answer for an error status. Below 500 nothing was computed, so nothing was spent."""
    from aigon.agents.anthropic_api import is_spend_limit, read_retry_after

    wait = read_retry_after(error)
    failure = f"the judge could not be asked: {error.status_code} {error.api_message or error.type or ''}".rstrip()
    failure += f", asked to wait {wait:.0f} s" if wait is not None else ""
    free = error.status_code < 500
    return JudgeAnswer(
        failure=failure,
        cost=0.0 if free else None,
        cost_status="reported" if free else "unknown",
        available=error.status_code not in _LASTING and not is_spend_limit(error),
    )
