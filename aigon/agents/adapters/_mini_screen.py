"""What mini-swe-agent prints: each message under a heading, the last of them `Exit:`."""

import re
from dataclasses import replace

from aigon.agents.adapters._ending import SAID
from aigon.agents.adapters._litellm import TURNED_AWAY, ended_with
from aigon.agents.adapters._trouble import of_stderr
from aigon.model.turns import ProgramExit, TurnReport
from aigon.text.fingerprints import plain

_STEP = re.compile(r"^mini-swe-agent \(step \d+, \$(\d{1,9}\.\d\d)\):$", re.M)
_NEXT = re.compile(r"^(?:```|(?:Tool|User|Exit|System):$)", re.M)
_LIMITS = ("LimitsExceeded", "TimeExceeded", "RepeatedFormatError")
_ERROR = re.compile(r"litellm\.([A-Z]\w+): ")


def of_screen(exited: ProgramExit) -> TurnReport:
    """The turn by what was printed. Its sum only grows, so that the largest is the last, whatever a model prints."""
    text = plain(exited.stdout.decode("utf-8", "replace"))
    steps = list(_STEP.finditer(text))
    if not steps and "\nExit:\n" not in text:
        return of_stderr(exited)
    cost = max((float(step[1]) for step in steps), default=0.0)
    said = _NEXT.split(text[steps[-1].end() :], maxsplit=1)[0].strip() if steps else ""
    ended = _ended(text, exited)
    known = cost > 0 or (not steps and ended.end in TURNED_AWAY)
    return replace(
        ended,
        said=said[-SAID:],
        cost=cost if known else None,
        cost_status="reported" if known else "unknown",
    )


def _ended(text: str, exited: ProgramExit) -> TurnReport:
    """A submission is told from an error by the exit and by the word that the trajectory was saved."""
    last = text.rpartition("\nExit:\n")[2].strip() if "\nExit:\n" in text else ""
    error = _ERROR.match(last)
    if error and (exited.exit_code or 0) > 0:
        return ended_with(error[1], last, exited.ended)
    submitted, saved, _ = last.rpartition("Saved trajectory to")
    if not saved or exited.exit_code:
        return TurnReport()
    limit = submitted.strip()
    return TurnReport(end="failed", detail=limit) if limit in _LIMITS else TurnReport(end="finished")
