"""What is known of one candidate of an arena while it runs: a fold of the events that its loop sends."""

from dataclasses import dataclass, field, replace

from aigon.arena.outcome import Ended
from aigon.errors import Exit
from aigon.journal.events import (
    Event,
    IterationFinished,
    IterationStarted,
    MoneySpent,
    RunFinished,
    RunStarted,
    TurnEnded,
)
from aigon.journal.spending import Spend
from aigon.model.candidates import Candidate
from aigon.model.outcomes import describe_outcome
from aigon.text.quoting import fold

_BY_SIGNAL = {"SIGINT": int(Exit.INTERRUPTED), "SIGTERM": int(Exit.TERMINATED), "SIGHUP": int(Exit.TERMINATED)}
"""Exit codes of processes that a signal ended before they could answer it."""
_WITHOUT_A_WORD = {
    int(Exit.INTERRUPTED): "interrupted",
    int(Exit.TERMINATED): "interrupted",
    int(Exit.USAGE): "refused",
    int(Exit.ENVIRONMENT): "refused",
    int(Exit.UNAVAILABLE): "unavailable",
}
"""What an exit code says of a loop that wrote no last event. Any other, 0 too, is no end that aigon knows."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One candidate. `spend`, `iterations`, `met` and `finished` begin with what earlier invocations of a resumed run
    came to; `finished` is None where there were none. `looked` says that its base has been looked at, `hint` what is
    to be done where it was refused.
    """

    candidate: Candidate
    met: int = 0
    total: int = 0
    iterations: int = 0
    finished: int | None = None
    spend: Spend = field(default_factory=Spend)
    commit: str = ""
    looked: bool = False
    end: RunFinished | None = None
    hint: str = ""

    @property
    def label(self) -> str:
        """What the candidate is called."""
        return self.candidate.label

    def apply(self, event: Event) -> "Lane":
        """The lane after `event`."""
        match event:
            case RunStarted():
                return replace(self, total=event.criteria_total)
            case IterationStarted():
                return replace(self, iterations=event.number)
            case TurnEnded():
                return replace(self, spend=self.spend.plus(event.turn.cost))
            case MoneySpent():
                return replace(self, spend=self.spend.plus(event.cost))
            case IterationFinished():
                return self._looked(event)
            case RunFinished():
                return replace(self, end=event, commit=event.commit or self.commit)
            case _:
                return self

    def _looked(self, event: IterationFinished) -> "Lane":
        met = sum(verdict.status == "met" for verdict in event.verdicts)
        total = len(event.verdicts) or self.total
        return replace(self, met=met, total=total, commit=event.checkpoint or self.commit, looked=True)

    def finish(self, code: int, *, killed_by: str, last_words: str, why: str, seconds: float) -> Ended:
        """How it ended: by its own word, or else by how its process did. `why` says who ended it, if somebody did."""
        if self.end is None:
            return self._broken_off(code, killed_by, last_words, why, seconds)
        said = f"ended: {why}" if why and self.end.status != "met" else describe_outcome(self.end.outcome)
        # Nothing is to be resumed of a run that never began.
        again = self.end.status not in ("met", "needs_human") and bool(self.total)
        own = not said.startswith("ended: ")
        return self._ended(self.end.status, self.end.exit_code, said, seconds, resumable=again, own_word=own)

    def not_started(self, code: int, why: str) -> Ended:
        """It never had a place."""
        return self._ended("not_started", code, f"not started: {why}", 0.0, resumable=self.finished is not None)

    def _broken_off(self, code: int, killed_by: str, last_words: str, why: str, seconds: float) -> Ended:
        own = _BY_SIGNAL.get(killed_by, code)
        status = _WITHOUT_A_WORD.get(own, "broken_off")
        how = (
            f"{status.replace('_', ' ')} by {killed_by}"
            if killed_by
            else f"{status.replace('_', ' ')}, exit code {code}"
        )
        said = f"ended: {why}" if why else f"{how}: {fold(last_words)}" if last_words else how
        known = own if own in _WITHOUT_A_WORD else int(Exit.INTERNAL)
        return self._ended(status, known, said, seconds, resumable=bool(self.total or self.finished))

    def _ended(
        self, status: str, code: int, said: str, seconds: float, *, resumable: bool, own_word: bool = False
    ) -> Ended:
        return Ended(
            self.label,
            self.candidate.agent,
            self.candidate.branch,
            status,
            code,
            said,
            criteria_met=self.met,
            criteria_total=self.total,
            iterations=self.iterations,
            spend=self.spend,
            seconds=seconds,
            commit=self.commit,
            resumable=resumable,
            own_word=own_word,
            hint=self.hint,
        )
