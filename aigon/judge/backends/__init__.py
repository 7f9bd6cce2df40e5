"""Judge backends: one module each, and those of plug-ins. `aigon.model.judging` describes a backend."""

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Protocol, cast

from msgspec.structs import replace

from aigon.errors import usage
from aigon.files.registry import Registry
from aigon.model.judging import JudgeAnswer, JudgeQuestion, JudgeSettings
from aigon.process.stop import POLL_SECONDS, Stop, start_call
from aigon.secrets.redaction import make_redactor, redact_value

BACKENDS = Registry("aigon.judges", __name__, "judge backend")
GRACE_SECONDS = 5.0
"""Seconds that a judge has beyond its own time-out before its silence is the answer."""


class Backend(Protocol):
    """The two functions of a backend module."""

    def explain_unready(self, settings: JudgeSettings, env: Mapping[str, str], /) -> str:
        """Return what is missing and how to get it; empty if the judge can be asked."""

    def ask(self, question: JudgeQuestion, settings: JudgeSettings, /) -> JudgeAnswer:
        """Make one call. What went wrong is the answer's `failure`, never an exception."""


def find_backend(name: str) -> Backend:
    """Return the backend called `name`. Raises a usage error that lists the known ones."""
    if name not in BACKENDS.builtins() and name not in BACKENDS.plugins():
        hint = f"{BACKENDS.suggest(name)}; or none, to leave such criteria to a person"
        raise usage(f"There is no judge backend called {name!r}", hint=hint)
    return cast("Backend", BACKENDS.load(name))


def ask_in_thread(question: JudgeQuestion, settings: JudgeSettings, stop: Stop) -> JudgeAnswer:
    """Make one call in a thread, so that Ctrl+C does not wait for a model. Never raise: a failure is an answer."""
    limit = time.monotonic() + settings.timeout + GRACE_SECONDS
    answer = None if stop.look() else start_call(partial(_ask, question, settings), "judge")
    while answer and not stop.look() and time.monotonic() < limit:
        with suppress(TimeoutError):
            return answer.result(POLL_SECONDS)
    return JudgeAnswer(failure="it was stopped" if stop.now else "the judge did not answer in time")


def _ask(question: JudgeQuestion, settings: JudgeSettings) -> JudgeAnswer:
    try:
        return find_backend(settings.backend).ask(question, settings)
    except Exception as error:  # a backend must not raise; one that does must not hang a run
        return JudgeAnswer(failure=f"the judge failed ({type(error).__name__})")


def ask_redacted(question: JudgeQuestion, settings: JudgeSettings, env: Mapping[str, str]) -> JudgeAnswer:
    """Return the answer to a question without what looks like a credential of `env`: it leaves the machine."""
    redact = make_redactor(env)

    def clean(text: str) -> str:
        return redact(text.encode("utf-8", "replace")).decode("utf-8", "replace")

    document = json.loads(clean(json.dumps(question.document)))
    question = replace(question, shared=clean(question.shared), task=clean(question.task), document=document)
    return redact_value(find_backend(settings.backend).ask(question, settings), redact)
