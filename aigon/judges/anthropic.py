"""The Anthropic API as a judge: all open criteria in one call, answered in a fixed format.

The `anthropic` package takes more than a second to import, so it is imported only where a call is made.
"""

import os
from collections.abc import Mapping

from aigon.core.judging import JudgeReply, JudgeRequest, JudgeSettings
from aigon.judges._question import question, too_long
from aigon.judges._unclear import unclear

_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
_MISSING = "the judge anthropic needs ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN in the environment, and neither is set"


def ready(_settings: JudgeSettings, env: Mapping[str, str]) -> str:
    """Empty when a key is there; whether it is good shows only in a call."""
    if any(env.get(key, "").strip() for key in _KEYS):
        return ""
    return f"{_MISSING}. Export one, or set the judge to none and decide its criteria with `aigon approve`"


def judge(request: JudgeRequest, settings: JudgeSettings) -> JudgeReply:
    """The verdicts of one call. Whatever goes wrong is `unclear`, with the reason."""
    if not request.criteria:
        return JudgeReply((), cost=0.0, cost_status="reported")
    if reason := too_long(request):
        return JudgeReply(unclear(request.criteria, reason), cost=0.0, cost_status="reported")
    key, token = (os.environ.get(name, "").strip() or None for name in _KEYS)
    if not key and not token:
        return JudgeReply(unclear(request.criteria, _MISSING), cost=0.0, cost_status="reported", available=False)
    # The key goes before the token, as in the SDK; handing them over keeps it from looking for others elsewhere.
    return _asked(request, settings, key, None if key else token)


def _asked(request: JudgeRequest, settings: JudgeSettings, key: str | None, token: str | None) -> JudgeReply:
    import anthropic

    from aigon.judges._call import ask
    from aigon.judges._reply import answered, turned_away

    try:
        return answered(request, settings, ask(question(request), settings, key, token))
    except (TimeoutError, anthropic.APITimeoutError):
        return _lost(request, f"the judge did not answer within {settings.timeout:g} s")
    except anthropic.APIStatusError as error:
        return turned_away(request, error)
    except anthropic.APIError as error:
        return _lost(request, f"the judge could not be asked: {error.message}")
    except Exception as error:  # whatever a server sends must not end a run; the text might quote a header: the key
        return _lost(request, f"the judge's reply could not be read ({type(error).__name__})")


def _lost(request: JudgeRequest, reason: str) -> JudgeReply:
    """Nothing that can be read came back, so nobody knows what it cost."""
    return JudgeReply(unclear(request.criteria, reason))
