"""An agent as a judge: judges and agents do not know each other, so what one needs of the other is passed in."""

from collections.abc import Callable
from dataclasses import dataclass, field

from aigon.model.judging import JudgeAnswer, JudgeSettings
from aigon.model.turns import Launch, ProgramExit

NOBODY = "no agent was chosen that could be asked"


def _no_answer(_exited: ProgramExit) -> JudgeAnswer:
    return JudgeAnswer(failure=NOBODY, available=False)


@dataclass(frozen=True, slots=True)
class Consulting(JudgeSettings):
    """The settings of the judge `agent`.

    `launch` is the agent's command line for one question, `read` takes the answer from what the program left;
    `missing` says why the agent cannot be asked, "" when it can. Only one that is asked `alone`, without anything that
    lies in the person's home, is taken unnamed.
    """

    launch: Launch = field(default_factory=lambda: Launch(()))
    read: Callable[[ProgramExit], JudgeAnswer] = _no_answer
    missing: str = NOBODY
    alone: bool = False
