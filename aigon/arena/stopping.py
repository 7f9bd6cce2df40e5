"""What asks an arena to end, passed on to its loops: a person, the system, a stop file, a rival that was proven."""

import signal
from collections.abc import Iterable
from dataclasses import dataclass

from aigon.arena.entrant import Entrant
from aigon.errors import Exit
from aigon.process.stop import Stop, StopReason

POLITE = "each finishes its iteration, then stops. Ctrl+C again stops all at once; nothing is lost either way"
_CODES: dict[StopReason, Exit] = {"SIGINT": Exit.INTERRUPTED, "SIGTERM": Exit.TERMINATED, "SIGHUP": Exit.TERMINATED}
_SIGNALS: dict[StopReason, signal.Signals] = {
    "SIGINT": signal.SIGINT,
    "SIGTERM": signal.SIGTERM,
    "SIGHUP": signal.SIGHUP,
}


@dataclass(frozen=True, slots=True)
class Closed:
    """Nobody is started any more: why, and the exit code of those that wait in vain."""

    why: str
    code: int


def closed(stop: Stop, proven: str) -> Closed | None:
    """Why nobody is started any more; `proven` is the label of one whose proof ends the others."""
    if stop.asked:
        why = "a stop file exists" if stop.reason == "stop-file" else f"stopped by {stop.reason}"
        return Closed(why, _CODES.get(stop.reason, Exit.STOPPED))
    return Closed(f"{proven} was proven first", Exit.STOPPED) if proven else None


def pass_on(stop: Stop, proven: str, running: Iterable[Entrant]) -> None:
    """Let the loops that run know. Stop files they see themselves."""
    for each in running:
        if stop.now:
            each.insist(_SIGNALS.get(stop.reason))
        elif proven and each.label != proven:
            each.insist(signal.SIGTERM, why=f"{proven} was proven first")
        elif stop.asked:
            each.ask(signal.SIGINT)
