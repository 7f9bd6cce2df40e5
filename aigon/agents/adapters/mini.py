"""What mini-swe-agent leaves: its trajectory, a JSON file that it writes anew after every step.

Written against version 2.4.6, which goes through litellm. Without the file (`--output` of a person's own), its screen
tells how it ended and what it cost.
"""

from dataclasses import replace

from aigon.agents.adapters._ending import SAID, dollars
from aigon.agents.adapters._litellm import ended_with
from aigon.agents.adapters._mini_screen import of_screen
from aigon.agents.adapters._mini_trajectory import Trajectory, trajectory
from aigon.agents.adapters._records import count_at, list_at, text_at
from aigon.agents.adapters._tools import tool
from aigon.model.turns import ProgramExit, TurnReport, Usage

_WORDS = {
    "LimitsExceeded": "its limit of steps or of cost is reached",
    "TimeExceeded": "its limit of time is reached",
    "RepeatedFormatError": "the model did not call a tool, again and again",
}


def seen(exited: ProgramExit) -> TurnReport:
    """The turn by its trajectory."""
    run = trajectory(exited.report)
    if not run.info:
        return of_screen(exited)
    usage, cost = _usage(run), dollars(run.info.get("cost"))
    if not cost and usage and (usage.input or usage.output or usage.cached):
        cost = None  # what it says of a model whose price it does not know
    return replace(
        _ended(run, exited.ended),
        said=_said(run)[-SAID:],
        model=text_at(run.info, "model"),
        usage=usage,
        cost=cost,
        cost_status="unknown" if cost is None else "reported",
        tools=_tools(run),
    )


def _ended(run: Trajectory, now: float) -> TurnReport:
    status = text_at(run.info, "exit_status")
    message = next((text_at(one, "content") for one in run.messages[::-1] if one.get("role") == "exit"), "")
    if status == "Submitted":
        return TurnReport(end="finished")
    if not status:
        return TurnReport(detail="stopped in the middle of its work")
    if status in _WORDS:
        return TurnReport(end="failed", detail=_WORDS[status])
    return ended_with(status, message, now)


def _said(run: Trajectory) -> str:
    """The last text of the model; what calls no tool stands beside the complaint about it."""
    texts = (_text(one) for one in run.messages[::-1])
    return next((text for text in texts if text), text_at(run.info, "submission"))


def _text(message: object) -> str:
    if text_at(message, "role") == "assistant":
        parts = (text_at(part, "text") for part in list_at(message, "content"))
        return text_at(message, "content") or "\n".join(filter(None, parts))
    answers = list_at(message, "extra", "response", "choices")
    return text_at(answers[0], "message", "content") if answers else ""


def _tools(run: Trajectory) -> tuple[str, ...]:
    actions = [action for one in run.messages for action in list_at(one, "extra", "actions")]
    return tuple(tool("bash", action) for action in actions)


def _usage(run: Trajectory) -> Usage | None:
    """Of all calls together. What was read from a cache is among the tokens of the prompt."""
    told = [one for one in run.messages if count_at(one, "extra", "response", "usage", "prompt_tokens")]
    if not told:
        return None
    place = ("extra", "response", "usage")
    cached = sum(count_at(one, *place, "prompt_tokens_details", "cached_tokens") for one in told)
    sent = sum(count_at(one, *place, "prompt_tokens") for one in told)
    return Usage.of_whole(sent, sum(count_at(one, *place, "completion_tokens") for one in told), cached)
