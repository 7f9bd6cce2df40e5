"""What Gemini CLI's errors mean where its messages leave something out: by exit codes and by its own log."""

import re
from dataclasses import replace

from aigon.agents.adapters._ending import last_words
from aigon.agents.adapters._trouble import DETAIL, status_in, trouble
from aigon.model.turns import ProgramExit, TurnReport

_NO_LOGIN = 41
"""Exit code of a start without a login: `FatalAuthenticationError` in its sources."""
_KNOWN = (400, 401, 402, 403, 404, 408, 413, 422, 429, 499, 500, 502, 503, 504, 529)
_BY_EXIT = {status % 256: status for status in _KNOWN}
"""HTTP statuses by the exit code that they become."""
_ATTEMPT = re.compile(r"^Attempt \d+ failed.*", re.MULTILINE)


def complaint(message: str, exited: ProgramExit) -> TurnReport:
    """What is seen of a turn that ended with this error record; the exit code adds the status that it leaves out."""
    status = status_in(message) or _BY_EXIT.get(exited.exit_code or 0, 0)
    return trouble(message, status, now=exited.ended)


def without_a_word(exited: ProgramExit) -> TurnReport:
    """What is seen of a program that ended before its agent said anything: without a login, or still trying again."""
    words = last_words(exited.stderr, 8 * DETAIL)
    if exited.exit_code == _NO_LOGIN:
        said = words.rpartition("\n")[2] or "no login"
        return TurnReport(end="bad_credentials", detail=f"bad credentials: {said}"[:DETAIL])
    if not (attempts := _ATTEMPT.findall(words)):
        return TurnReport()
    ended = trouble(attempts[-1], now=exited.ended)
    return replace(ended, detail=f"ended while trying again: {ended.detail}"[:DETAIL])
