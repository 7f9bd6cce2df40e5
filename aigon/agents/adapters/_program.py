"""Turn what a program left into a Turn, or into the answer of a judge."""

import re
import sys

from msgspec.structs import replace

from aigon.agents.adapters._launch import NO_TURN
from aigon.model.agents import AgentType
from aigon.model.judging import JudgeAnswer
from aigon.model.turns import (
    TEMPORARY_ENDS,
    Agent,
    CostStatus,
    ProgramExit,
    Turn,
    TurnEnd,
    TurnReport,
    TurnRequest,
    Usage,
)
from aigon.text.amounts import abbreviate_duration
from aigon.text.patterns import compile_re
from aigon.text.quoting import strip_escapes

LAST_WORDS = 2_000
"""Characters of the agent's last words that are kept, for people."""
LONGEST_DETAIL = 500
"""Characters of a program's message that are kept."""
LONGEST_REASON = 1_200
"""Characters of a reason or an error that are kept."""
MOST_TOOLS, MOST_DENIED = 200, 20
"""Uses of tools and denied permissions that are kept of a turn."""
_ERROR_TAIL = 300
_TAG = compile_re(r"</?impossible>")
_LINE_BREAK = compile_re(r"\n\s*")
_BLANKS = compile_re(r"\s+")
_OUTDATED = compile_re(rb"unknown (?:option|argument|feature)|unexpected argument|unrecognized option", re.IGNORECASE)


def read_consultation(kind: AgentType, agent: Agent, exited: ProgramExit, report: TurnReport) -> JudgeAnswer:
    """Return the whole text of the answer; a session that did not end well, or that used a tool, has none."""
    turn = build_turn(agent, NO_TURN, exited, report)
    spent = JudgeAnswer(cost=turn.cost, cost_status=turn.cost_status, usage=turn.usage)
    if turn.end == "finished":
        used = f"it used a tool ({report.tools[0]}), so its answer is not its own" if report.tools else ""
        return replace(spent, text="" if used else report.said, failure=used)
    outdated = turn.exit_code not in (0, None) and bool(_OUTDATED.search(exited.stderr))
    detail = f"{turn.detail}. Update {kind.title}: {kind.install}" if outdated else turn.detail
    lasting = turn.end in ("bad_credentials", "usage_limit", "not_started")
    return replace(spent, failure=detail, available=not outdated and not lasting)


def build_turn(agent: Agent, ask: TurnRequest, exited: ProgramExit, report: TurnReport) -> Turn:
    """Return the turn by its output, or by the process if aigon ended it or the two do not agree."""
    end, detail = describe_ending(exited)
    if end in ("finished", "failed"):
        end, detail = _reconcile(exited, report)
    elif end == "timed_out":
        end, detail = _explain_deadline(exited, report, detail)
    # What never started has cost nothing.
    unspent = end == "not_started" or (end == "killed" and exited.exit_code is None and not exited.ended)
    return Turn(
        number=ask.number,
        agent=agent.name,
        model=report.model or agent.model,
        end=end,
        exit_code=exited.exit_code,
        said=report.said[-LAST_WORDS:],
        detail=detail,
        cost=0.0 if unspent else report.cost,
        cost_status="reported" if unspent else get_cost_status(report.cost, report.cost_status),
        usage=report.usage,
        session=report.session,
        denied=tuple(dict.fromkeys(report.denied))[:MOST_DENIED],
        duration=exited.duration,
        resets_at=report.resets_at,
        tools=report.tools[:MOST_TOOLS],
        usage_by_model=report.usage_by_model if len(report.usage_by_model) > 1 else (),
    )


def _reconcile(exited: ProgramExit, report: TurnReport) -> tuple[TurnEnd, str]:
    """Return how a program ended by itself. Neither an exit code nor a good record is trusted alone."""
    code = exited.exit_code or 0
    if report.end is None:
        return "failed", append_stderr(report.detail or f"ended without saying how ({describe_exit(code)})", exited)
    if report.end == "finished" and code:
        return "failed", append_stderr(f"{describe_exit(code)} although its output says that all is well", exited)
    return report.end, report.detail


def _explain_deadline(exited: ProgramExit, report: TurnReport, detail: str) -> tuple[TurnEnd, str]:
    """Return how a program that met its deadline ended. If it was waiting for its model, that ended the turn."""
    if report.end in (*TEMPORARY_ENDS, "bad_credentials"):
        return report.end, f"{report.detail} ({detail})"
    last = report.detail if report.end != "finished" else ""
    return "timed_out", f"{detail}: {last}" if last else append_stderr(detail, exited)


def describe_ending(exited: ProgramExit) -> tuple[TurnEnd, str]:
    """Return how the program ended, and the reason if it is not simply done."""
    if exited.timed_out and exited.silent:
        return "timed_out", f"no output for {abbreviate_duration(exited.silent)} (guards.idleTimeout)"
    if exited.timed_out:
        return "timed_out", f"timed out after {exited.duration:.0f} s"
    if exited.killed:
        return "killed", "stopped by aigon"
    if exited.exit_code is None:
        return "not_started", exited.start_error or "did not start"
    if exited.exit_code == 0:
        return "finished", ""
    return "failed", append_stderr(describe_exit(exited.exit_code), exited)


def describe_own_ending(exited: ProgramExit) -> tuple[TurnEnd | None, str]:
    """Return how a program ended by its exit code alone; (None, "") if aigon ended it or it never ran."""
    end, detail = describe_ending(exited)
    return (end, detail) if end in ("finished", "failed") else (None, "")


def describe_exit(code: int) -> str:
    """Return an exit code in words; a negative one is a signal."""
    return f"exited with {code}" if code >= 0 else f"ended by signal {-code}"


def append_stderr(text: str, exited: ProgramExit) -> str:
    """Return `text`, followed by the last words on standard error if there are any."""
    tail = last_words(exited.stderr, _ERROR_TAIL)
    return f"{text}: {tail}" if tail else text


def last_words(output: bytes, characters: int = LAST_WORDS) -> str:
    """Return the end of an output as text without escape sequences; what is not UTF-8 is replaced.

    A long one begins with an ellipsis and a whole line, or a whole word if no line is short enough.
    """
    text = strip_escapes(output[-8 * characters :].decode("utf-8", "replace")).strip()
    if len(text) <= characters:
        return text
    tail = text[1 - characters :]
    whole = _LINE_BREAK.search(tail, 0, len(tail) // 2) or _BLANKS.search(tail)
    return f"…{tail[whole.end() :] if whole else tail}"


def parse_dollars(value: object) -> float | None:
    """Return a sum of money. JSON readers let NaN and Infinity through, and true is an int to Python."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= sys.float_info.max else None


def drop_free_cost(cost: float | None, usage: Usage | None) -> float | None:
    """Return None for a cost of 0 although tokens were used: the program knows no price of the model."""
    spent = usage is not None and (usage.input or usage.output or usage.cached)
    return None if spent and not cost else cost


def get_cost_status(cost: float | None, known: CostStatus = "reported") -> CostStatus:
    """Return `known`, or "unknown" if there is no cost."""
    return "unknown" if cost is None else known


def parse_reported_usage(value: object) -> Usage | None:
    """Return the usage in `{"input": 1200, "output": 300, "cached": 0}`, each 0 by default; None for anything else."""
    if not isinstance(value, dict):
        return None
    counts = [value.get(name, 0) for name in ("input", "output", "cached")]
    return Usage(*counts) if all(type(count) is int and count >= 0 for count in counts) else None


def ending_from_action(action: str, thought: str, reason: str) -> tuple[TurnEnd, str, str]:
    """Return how a turn ended by its structured reply: the end, the detail, and the agent's words.

    DONE is a claim like CONTINUE: the loop assesses the tree itself.
    """
    why = (reason or thought or "without a reason")[:LONGEST_REASON]
    end: TurnEnd = "finished"
    detail, words = "", (thought, reason)
    if action == "FAILED":
        end, detail = "failed", f"the agent says that it failed: {why}"
    elif action == "NEEDS_HUMAN":
        # The tag is what ends a run of any agent as one that needs a person (aigon.loop.decide).
        words = (_TAG.sub("", thought), f"<impossible>{_TAG.sub('', why)}</impossible>")
    return end, detail, "\n\n".join(text.strip() for text in words if text.strip())
