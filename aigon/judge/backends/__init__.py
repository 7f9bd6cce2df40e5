"""Judge backends: one module each, and those of plug-ins. `aigon.model.judging` describes a backend."""

import threading
import time
from collections.abc import Mapping
from queue import Empty, SimpleQueue
from typing import Protocol, cast

from aigon.errors import usage
from aigon.files.registry import Registry
from aigon.model.judging import JudgeAnswer, JudgeQuestion, JudgeSettings
from aigon.process.stop import POLL_SECONDS, Stop

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
    answers: SimpleQueue[JudgeAnswer] = SimpleQueue()

    def ask() -> None:
        try:
            answers.put(find_backend(settings.backend).ask(question, settings))
        except Exception as error:  # a backend must not raise; one that does must not hang a run
            answers.put(JudgeAnswer(failure=f"the judge failed ({type(error).__name__})"))

    limit = time.monotonic() + settings.timeout + GRACE_SECONDS
    if not stop.look():
        threading.Thread(target=ask, name="judge", daemon=True).start()
    while not stop.look() and time.monotonic() < limit:
        try:
            return answers.get(timeout=POLL_SECONDS)
        except Empty:
            continue
    return JudgeAnswer(failure="it was stopped" if stop.now else "the judge did not answer in time")
