"""The Anthropic API as the built-in agent and the judge call it: client, errors, attempts, and what a reply costs.

`anthropic` takes more than a second to import: this module is imported only where a call is made.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

import anthropic
import httpx2
import tenacity
from anthropic.types import Usage as ReplyUsage
from anthropic.types.beta import BetaMessage, BetaUsage

from aigon.agents.adapters._errors import parse_wait
from aigon.agents.credentials import API_KEYS
from aigon.config import loading
from aigon.config.prices import PriceTable, TokenCounts, add_known_prices, load_shipped_prices
from aigon.errors import AigonError

_STATUS = {"overloaded_error": 529, "rate_limit_error": 429, "api_error": 500, "timeout_error": 504,
           "authentication_error": 401, "permission_error": 403, "billing_error": 402, "not_found_error": 404,
           "request_too_large": 413, "invalid_request_error": 400}  # fmt: skip
"""HTTP statuses by type of error, for one in a stream that had begun with 200."""


class BrokenReply(Exception):
    """A reply that ended before it was whole. `partial` is what came of it."""

    def __init__(self, why: str, partial: BetaMessage | None, cause: Exception | None = None) -> None:
        super().__init__(why)
        self.partial = partial
        self.cause = cause


def open_client(timeout: httpx2.Timeout) -> anthropic.Anthropic:
    """Return a client with the person's key, else their token. It looks for no other login and tries nothing twice."""
    key, token = (os.environ.get(name, "").strip() or None for name in API_KEYS)
    return anthropic.Anthropic(api_key=key, auth_token=None if key else token, max_retries=0, timeout=timeout)


def build_retries(
    stop: "tenacity.stop.StopBaseT",
    first_wait: float,
    longest_wait: float,
    *,
    is_over: Callable[[], str] = str,
    before_sleep: Callable[[tenacity.RetryCallState], None] | None = None,
) -> tenacity.Retrying:
    """Return what calls again while another attempt may help, after the wait that the server asks for or a longer one
    each time. It ends without another attempt once `is_over` gives a reason, and raises what the last attempt raised.
    """

    def wait(state: tenacity.RetryCallState) -> float:
        asked = read_retry_after(state.outcome.exception() if state.outcome else None)
        return min(longest_wait, first_wait * 2 ** (state.attempt_number - 1)) if asked is None else asked

    return tenacity.Retrying(
        stop=stop,
        wait=wait,
        retry=tenacity.retry_if_exception(lambda error: _is_passing(error, longest_wait) and not is_over()),
        before_sleep=before_sleep,
        reraise=True,
    )


def _is_passing(error: BaseException, longest_wait: float) -> bool:
    """Return whether another attempt may help, and soon."""
    cause = get_cause(error)
    if isinstance(cause, anthropic.APIStatusError):
        status = find_status(cause)
        again = status in (408, 409, 429) or status >= 500
        return again and not is_spend_limit(cause) and (read_retry_after(cause) or 0.0) <= longest_wait
    return isinstance(error, BrokenReply | anthropic.APIConnectionError | httpx2.TransportError)


def get_cause(error: BaseException | None) -> BaseException | None:
    """Return the error behind a broken reply, or the error itself."""
    return (error.cause or error) if isinstance(error, BrokenReply) else error


def find_status(error: anthropic.APIStatusError) -> int:
    """Return the HTTP status, or the one that the error's type means if a stream had begun already."""
    return error.status_code if error.status_code >= 400 else _STATUS.get(error.type or "", 500)


def is_spend_limit(error: anthropic.APIStatusError) -> bool:
    """Return whether the account has no money left, or may not spend it. To HTTP this can look like a rate limit."""
    return "spend_limit" in (error.error_code or "") or error.type == "billing_error" or find_status(error) == 402


def read_retry_after(error: BaseException | None) -> float | None:
    """Return how many seconds the server asked to wait; None if it did not."""
    cause = get_cause(error)
    if not isinstance(cause, anthropic.APIStatusError):
        return None
    wait = parse_wait(cause.response.headers.get("retry-after", "").strip(), time.time())
    return None if wait is None else max(0.0, wait)


def split_usage(usage: ReplyUsage | BetaUsage) -> TokenCounts:
    """Return the four counts of a reply; missing ones are 0."""
    return TokenCounts(
        usage.input_tokens or 0,
        usage.output_tokens or 0,
        usage.cache_creation_input_tokens or 0,
        usage.cache_read_input_tokens or 0,
    )


def load_prices(checkout: Path, model: str) -> PriceTable:
    """Return the prices of the project. A file that was spoilt since the run began must not cost the turn."""
    try:
        return add_known_prices(loading.load_prices(loading.open_work_tree(checkout)), model)
    except AigonError:
        return load_shipped_prices()
