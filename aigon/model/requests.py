"""Requests of an agent during its turn, none of which decides anything, and questions to a judge, with its answers.

A judge backend is a module in `aigon/judge/backends/` with two functions:

    explain_unready(settings, env) -> str  "" if it can be asked, else what is missing and how to get it
    ask(question, settings) -> Answer      one call; never raises: what went wrong is the answer's `failure`

A backend only carries a question there and an answer back. What is asked, which quotes count and what a verdict needs
is the same for all of them: `aigon.loop.judging`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.model import Recorded
from aigon.model.criteria import Criterion, Promise, Verdict
from aigon.model.turns import CostStatus, Usage
from aigon.text.amounts import list_criteria
from aigon.text.patterns import compile_re

RequestKind = Literal["done", "skip", "reset", "enqueue"]
MAX_PROPOSALS = 10
"""Proposals of a run that are kept: a person reads them."""
_ID = compile_re(r"([A-Za-z]+-?\d+):\s")
"""An ID that the text of a criterion begins with, as `T001: ` does."""


class AgentRequest(Recorded, frozen=True):
    """One request. `done`, `skip` and `reset` are about a criterion; `text` is the reason or the proposed title."""

    kind: RequestKind
    criterion: int = 0
    text: str = ""
    priority: str = ""


class Requests(Struct, frozen=True):
    """The requests in force: criteria claimed since the last assessment, those left to a person and why, proposals."""

    claims: tuple[int, ...] = ()
    skips: Mapping[int, str] = field(default_factory=dict)
    proposals: tuple[AgentRequest, ...] = ()

    def apply(self, requests: Iterable[AgentRequest]) -> "Requests":
        """Return the requests in force after these. Reading the same ones twice changes nothing."""
        claims, skips, proposals = dict.fromkeys(self.claims), dict(self.skips), list(self.proposals)
        for each in requests:
            if each.kind == "enqueue":
                if len(proposals) < MAX_PROPOSALS and each.text not in [known.text for known in proposals]:
                    proposals.append(each)
                continue
            claims.pop(each.criterion, None)
            skips.pop(each.criterion, None)
            if each.kind == "done":
                claims[each.criterion] = None
            elif each.kind == "skip":
                skips[each.criterion] = each.text
        return Requests(tuple(claims), skips, tuple(proposals))

    def settle(self) -> "Requests":
        """Return what is left after an assessment, which keeps or breaks every claim."""
        return replace(self, claims=()) if self.claims else self

    def resume(self) -> "Requests":
        """Return what is left when a person resumes a run that had ended: they know what was left to them."""
        return Requests(proposals=self.proposals)


def resolve_task(criteria: Sequence[Criterion], feature: str, task: str) -> int:
    """Return the number of the criterion that `task` names: `3` or the ID in its text, also with `42.` before it.

    0 if there is none.
    """
    prefix, dot, name = task.rpartition(".")
    if dot and prefix != feature:
        return 0
    if name.isdecimal():
        return next((each.number for each in criteria if each.number == int(name)), 0)
    named = ((each.number, _ID.match(each.text)) for each in criteria)
    return next((number for number, match in named if match and match[1].lower() == name.lower()), 0)


def judge_claims(claims: Iterable[int], verdicts: Sequence[Verdict]) -> tuple[Promise, ...]:
    """Return each claim that a criterion is done as a promise that the verdict keeps or breaks."""
    known = {verdict.criterion: verdict for verdict in verdicts}
    return tuple(
        Promise(f"criterion {number} is done", verdict.status == "met", verdict.reason)
        for number in claims
        if (verdict := known.get(number))
    )


JUDGE_UNAVAILABLE = "judge:unavailable"
"""The method of a verdict if the judge could not be asked: bad key, no permission, no money."""
JUDGE_BROKEN = "judge:broken"
"""The method of a verdict if the judge's program answers in another format, which no turn can change."""


def describe_no_judge(numbers: Sequence[int], feature: str, *, has_tests: bool, is_begun: bool) -> str:
    """Return a warning that a person has to decide these criteria of `feature`, with the other ways.

    `has_tests`: an agent has been asked to write tests, and these are what it wrote none for. `is_begun`: there is
    work on the feature, so that it is too late for tests before it.
    """
    commands = "a command for it" if len(numbers) == 1 else "commands for them"
    prove = "for the next feature, `aigon feature-prove`" if is_begun else f"`aigon feature-prove {feature}`"
    tests = "" if has_tests else f"; {prove} has an agent write tests before the work"
    return (
        f"No judge is configured, so a person decides {list_criteria(numbers)}. "
        f"`aigon spec-compile {feature}` proposes {commands}{tests}; "
        "`judge.backend` in .aigon/config.json sets up a judge."
    )


class JudgeSettings(Struct, frozen=True):
    """`timeout` is in seconds, for one call with its retries; `max_tokens` bounds a reply.

    `mode` is `all` for all open criteria in one call, `each` for one call each. `command` is the command line of the
    backend `command`; `agent` the adapter that the backend `agent` asks; `cwd` the main checkout; `env` the
    environment that programs get.
    """

    backend: str
    model: str = "claude-sonnet-5-5"
    timeout: float = 120.0
    max_tokens: int = 8000
    mode: Literal["all", "each"] = "all"
    command: tuple[str, ...] = ()
    agent: str = ""
    cwd: str = "."
    env: Mapping[str, str] = field(default_factory=dict)


class JudgeQuestion(Struct, frozen=True):
    """One call.

    `rules` is what holds throughout (the system text), `shared` the data that every call of one assessment begins with
    (backends that can cache it do), `task` what is asked of it this time, `schema` the JSON Schema of the answer.
    `document` is the same question as plain data, for judges that are programs.
    """

    rules: str
    shared: str
    task: str
    schema: Mapping[str, object]
    document: Mapping[str, object]


class JudgeAnswer(Struct, frozen=True):
    """A judge's answer: `text` is the JSON that was asked for, or `failure` says why it is missing.

    `cost` is in US dollars, None if unknown. `available` is False if no later call can help: no key, no money.
    """

    text: str = ""
    failure: str = ""
    cost: float | None = None
    cost_status: CostStatus = "unknown"
    usage: Usage | None = None
    available: bool = True
