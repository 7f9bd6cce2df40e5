"""The Anthropic API as a judge: one message per call, whose data is cached for the calls that follow.

The `anthropic` package takes more than a second to import, so it is imported only where a call is made.
"""

import os
from collections.abc import Mapping

from aigon.model.judging import JudgeAnswer, JudgeQuestion, JudgeSettings

_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
_MISSING = "the judge anthropic needs ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN in the environment, and neither is set"


def explain_unready(_settings: JudgeSettings, env: Mapping[str, str]) -> str:
    """Return what is missing; empty if a key is there. Whether it is good shows only in a call."""
    if any(env.get(key, "").strip() for key in _KEYS):
        return ""
    return f"{_MISSING}. Export one, or set the judge to none and decide its criteria with `aigon approve`"


def ask(question: JudgeQuestion, settings: JudgeSettings) -> JudgeAnswer:
    """One call. Whatever goes wrong is a failure with its reason."""
    key, token = (os.environ.get(name, "").strip() or None for name in _KEYS)
    if not key and not token:
        return JudgeAnswer(failure=_MISSING, cost=0.0, cost_status="reported", available=False)
    # The key goes before the token, as in the SDK; handing them over keeps it from looking for others elsewhere.
    return _ask_with(question, settings, key, None if key else token)


def _ask_with(question: JudgeQuestion, settings: JudgeSettings, key: str | None, token: str | None) -> JudgeAnswer:
    import anthropic

    from aigon.judge.backends._api import call_api, read_message, read_status_error

    try:
        return read_message(settings, call_api(question, settings, key, token))
    except (TimeoutError, anthropic.APITimeoutError):
        return JudgeAnswer(failure=f"the judge did not answer within {settings.timeout:g} s")
    except anthropic.APIStatusError as error:
        return read_status_error(error)
    except anthropic.APIError as error:
        return JudgeAnswer(failure=f"the judge could not be asked: {error.message}")
    except Exception as error:  # whatever a server sends must not end a run; the text might quote a header: the key
        return JudgeAnswer(failure=f"the judge's reply could not be read ({type(error).__name__})")
