"""What programs and providers say when they refuse to go on, as patterns over their error messages.

Taken from messages of the command lines that `templates/agents` names (measured, or as text in their releases) and
from the documented errors of the APIs behind them.
"""

import re


def _any(*patterns: str) -> "re.Pattern[str]":
    return re.compile("|".join(patterns), re.IGNORECASE)


_NOT_USAGE = r"(?!(?:rate|context|token|input|output|turn|message|size)s?\b)"
"""Limits of a minute, of a model or of one reply are no usage limits."""
LIMIT = _any(
    r"(?<!not your )usage[ _]?limit",
    rf"(?:hit|reached|exceeded|exhausted) your (?:{_NOT_USAGE}[\w-]+ ){{0,4}}?"
    r"(?:limit|quota|allowance|capacity|credits|spend cap|token usage)",
    r"(?:daily|weekly|monthly|spend|spending)[ _]limit",
    r"quota[ _](?:has been )?(?:exceeded|reached|exhausted)",
    r"insufficient[ _](?:quota|balance|credits?|funds)",
    r"(?:out of|no|not enough|exhausted) credits",
    r"spend cap",
    r"credit balance is too low",
    r"out of extra usage",
    r"requires? usage credits",
    r"billing_hard_limit",
    r"payment required",
)
"""What was paid for is used up: a plan's hours, a quota, a balance."""

BUSY = _any(
    r"overloaded",
    r"\brate[ _-]?limit",
    r"too many requests",
    r"(?:service|temporarily)[ _]unavailable",
    r"resource[ _]?(?:has been )?exhausted",
    r"(?:at|no) capacity",
    r"high (?:demand|load|traffic)",
    r"server (?:is )?busy",
    r"temporarily limiting requests",
)
"""The server has no room at the moment."""

LOST = _any(
    r"\bE(?:CONN(?:REFUSED|RESET|ABORTED)|TIMEDOUT|PIPE|(?:HOST|NET)UNREACH|NETDOWN|NOTFOUND|AI_AGAIN)\b",
    r"\bconnection (?:to [\w .]{1,40} )?(?:was )?"
    r"(?:refused|reset|lost|closed|dropped|aborted|timed out|error|failed|attempts failed)\b",
    r"\b(?:cannot|can't|could(?: not|n't)|unable to|failed to) (?:connect to|reach) (?:[\w-]+ ){0,3}"
    r"(?:api|server|network|provider)\b",
    r"\bfetch failed\b|\bunable to connect\b",
    r"\berror sending request\b",
    r"\bwaiting for network\b",
    r"\bnetwork (?:error|is unreachable|connection)\b",
    r"\bsocket hang up\b|\bother side closed\b",
    r"\b(?:name|dns|address) (?:resolution|lookup)\b|\bgetaddrinfo\b|\bresolve (?:host|address)\b|\bunknown host\b",
    r"\brequest timed out\b",
    r"\bstream (?:was )?(?:disconnected|closed|interrupted|ended)\b|\bpremature close\b|\bincomplete chunked read\b",
)
"""There is no way to the server, or it was lost in the middle of a reply: that passes, too."""

CREDENTIALS = _any(
    r"(?:invalid|incorrect|missing|no|expired) (?:x-)?api[ -_]?key",
    r"api[ -_]?key (?:is )?(?:not valid|invalid|missing|expired)",
    r"missing environment variable\W+\w*(?:key|token)",
    r"\bunauthori[sz]ed\b",
    r"authentication[ _](?:error|failed|fails|required)",
    r"invalid (?:auth(?:entication)?|token|credentials)\b",
    r"no auth(?:entication)? (?:type|method|information)",
    r"not (?:logged|signed) in",
    r"(?:log|sign) in again",
    r"please (?:log ?in|sign in|run /login|set an auth method)",
    r"token (?:has |is |was )?(?:expired|revoked|invalid)",
    r"permission denied for api",
    r"\bpersonal access tokens?\b",
    r"missing credentials",
)
"""The key or the login is missing, wrong or over."""

REFUSED = _any(
    r"blocked (?:by|due to)[^.]{0,40}(?:safety|content|polic|filter|recitation)",
    r"content[ _-]?(?:filter|policy|management)",
    r"flagged for possible",
    r"safeguards flagged",
    r"for safety reasons",
    r"policy violation",
    r"violat\w+ (?:our|the) [^.]{0,30}polic",
)
"""The provider will not answer this."""

STATUS = _any(
    r"\b(?:status(?: code)?|http(?:/[\d.]+)?|api error|last error|(?<!exit )code)\W{0,4}([45]\d\d)\b",
    r"^\W{0,3}([45]\d\d) [A-Z]",
    r"\b([45]\d\d) (?:unauthorized|forbidden|payment required|too many requests|internal server|service unavailable)",
)
"""An HTTP status inside of a message."""
