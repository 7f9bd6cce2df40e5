"""What every adapter says of a program that ran: its environment before, its ending after."""

import re
import sys

from aigon.model.turns import Agent, ProgramExit, TurnEnd, TurnRequest
from aigon.text.durations import short
from aigon.text.fingerprints import plain

SAID = 2_000
"""Characters of the agent's last words that are kept, for people."""
REASON = 1_200
"""Characters of a reason or an error that are kept."""
_ERROR_TAIL = 300
_TAG = re.compile(r"</?impossible>")
_LINE_BREAK = re.compile(r"\n\s*")
_BLANKS = re.compile(r"\s+")


def environment(agent: Agent, ask: TurnRequest) -> dict[str, str]:
    """The variables of the contract, over those configured for the agent: a configuration cannot mask them."""
    return {
        **agent.env,
        "AIGON_FEATURE": ask.feature_id,
        "AIGON_ITERATION": str(ask.number),
        "AIGON_SPEC": ask.spec_file,
        "AIGON_PROMPT_FILE": ask.prompt_file,
        "AIGON_RUN": ask.run_id,
        "AIGON_TURN_LIMIT": str(ask.limit),
        "AIGON_TURN_STEP": ask.step,
        "AIGON_TURN_MODEL": agent.model,
        "AIGON_TURN_EFFORT": agent.effort,
        "AIGON_PROMISE": "\n".join(ask.promises),
    }


def ending(exited: ProgramExit) -> tuple[TurnEnd, str]:
    """How the program ended, and the reason where it is not simply done."""
    if exited.timed_out and exited.silent:
        return "timed_out", f"no output for {short(exited.silent)} (guards.idleTimeout)"
    if exited.timed_out:
        return "timed_out", f"timed out after {exited.duration:.0f} s"
    if exited.killed:
        return "killed", "stopped by aigon"
    if exited.exit_code is None:
        return "not_started", exited.start_error or "did not start"
    if exited.exit_code == 0:
        return "finished", ""
    return "failed", with_stderr(how_it_exited(exited.exit_code), exited)


def by_action(action: str, thought: str, reason: str) -> tuple[TurnEnd, str, str]:
    """Return how a turn ended by its structured reply: the end, the detail, and the agent's words.

    DONE is a claim like CONTINUE: the loop looks for itself.
    """
    why = (reason or thought or "without a reason")[:REASON]
    if action == "FAILED":
        return "failed", f"the agent says that it failed: {why}", _paragraphs(thought, reason)
    if action == "NEEDS_HUMAN":
        # The tag is what ends a run of any agent as one that needs a person (aigon.loop.decide).
        return "finished", "", _paragraphs(_TAG.sub("", thought), f"<impossible>{_TAG.sub('', why)}</impossible>")
    return "finished", "", _paragraphs(thought, reason)


def _paragraphs(*texts: str) -> str:
    return "\n\n".join(text.strip() for text in texts if text.strip())


def how_it_exited(code: int) -> str:
    """An exit code in words; negative ones are signals."""
    return f"exited with {code}" if code >= 0 else f"ended by signal {-code}"


def with_stderr(text: str, exited: ProgramExit) -> str:
    """`text`, followed by the last words on standard error where there are any."""
    tail = last_words(exited.stderr, _ERROR_TAIL)
    return f"{text}: {tail}" if tail else text


def last_words(output: bytes, characters: int = SAID) -> str:
    """Return the end of an output as text without escape sequences; what is not UTF-8 is replaced.

    What is cut off begins with an ellipsis and a whole line, or a whole word where no line is short enough.
    """
    text = plain(output[-8 * characters :].decode("utf-8", "replace")).strip()
    if len(text) <= characters:
        return text
    tail = text[1 - characters :]
    whole = _LINE_BREAK.search(tail, 0, len(tail) // 2) or _BLANKS.search(tail)
    return f"…{tail[whole.end() :] if whole else tail}"


def dollars(value: object) -> float | None:
    """A sum that can be added up: JSON readers let NaN and Infinity through, and true is an int to Python."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= sys.float_info.max else None


def unspent(end: TurnEnd, exited: ProgramExit) -> bool:
    """A program that never started has cost nothing: it could not, or the run was stopped before."""
    return end == "not_started" or (end == "killed" and exited.exit_code is None and not exited.ended)
