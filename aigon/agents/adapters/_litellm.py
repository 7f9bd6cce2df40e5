"""The exceptions of litellm, the library through which aider and mini-swe-agent ask a model, by their names.

From litellm 1.8x: `litellm.RateLimitError: RateLimitError: OpenAIException - Rate limit reached`.
"""

import re
from collections.abc import Mapping

from aigon.agents.adapters._trouble import DETAIL, trouble
from aigon.model.turns import TEMPORARY_ENDS, TurnReport

STATUSES: Mapping[str, int] = {
    "BadRequestError": 400,
    "AuthenticationError": 401,
    "PermissionDeniedError": 403,
    "NotFoundError": 404,
    "RateLimitError": 429,
    "InternalServerError": 500,  # litellm's word for a connection that failed, too
    "BadGatewayError": 502,
    "ServiceUnavailableError": 503,
    "Timeout": 504,
}
"""What each stands for. Names of other libraries end in the same words (`OpenRouterRateLimitError`)."""
TURNED_AWAY = (*TEMPORARY_ENDS, "bad_credentials")
"""Requests that ended so cost nothing."""
_PREFIX = re.compile(r"^(?:litellm\.)?(?:[A-Z]\w+: )+")


def ended_with(name: str, message: str, now: float) -> TurnReport:
    """What is seen of a turn that this exception ended; `now`, in seconds since the epoch, is when."""
    text = _PREFIX.sub("", " ".join(message.split()))
    status = next((status for known, status in STATUSES.items() if name.endswith(known)), 0)
    if not status and not message.startswith("litellm."):
        return TurnReport(end="failed", detail=f"{name}: {text}"[:DETAIL])
    if name == "ContentPolicyViolationError":
        return TurnReport(end="refused", detail=f"refused: {text}"[:DETAIL])
    if name == "BudgetExceededError":
        return TurnReport(end="usage_limit", detail=f"usage limit: {text}"[:DETAIL])
    return trouble(text, status, now=now)
