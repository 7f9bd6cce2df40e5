"""One call to a judge outside of a loop. It runs aside, so that Ctrl+C does not wait for a model."""

import os
import threading
import time
from queue import Empty, SimpleQueue

from aigon.judge.backends import find_backend
from aigon.loop.judging import GRACE_SECONDS
from aigon.model.judging import JudgeAnswer, JudgeQuestion, JudgeSettings
from aigon.process.stop import POLL_SECONDS, Stop
from aigon.secrets.redaction import make_redactor, redact_value


def answered(settings: JudgeSettings, question: JudgeQuestion, stop: Stop) -> JudgeAnswer:
    """The answer, or that there was none in time or before somebody asked for the end. Never raises."""
    answers: SimpleQueue[JudgeAnswer] = SimpleQueue()
    limit = time.monotonic() + settings.timeout + GRACE_SECONDS
    if not stop.look():
        ask = threading.Thread(target=lambda: answers.put(_answer(settings, question)), name="judge", daemon=True)
        ask.start()
    while not stop.look() and time.monotonic() < limit:
        try:
            return answers.get(timeout=POLL_SECONDS)
        except Empty:
            continue
    return JudgeAnswer(failure="it was stopped" if stop.now else "the judge did not answer in time")


def _answer(settings: JudgeSettings, question: JudgeQuestion) -> JudgeAnswer:
    try:
        answer = find_backend(settings.backend).ask(question, settings)
        return redact_value(answer, make_redactor(os.environ, settings.env))
    except Exception as error:  # a backend must not raise; one that does has given no answer
        return JudgeAnswer(failure=f"the judge failed ({type(error).__name__})")
