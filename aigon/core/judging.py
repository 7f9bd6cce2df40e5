"""What a judge is asked and what it answers.

A judge backend is a module in `aigon/judges/` with two functions:

    ready(settings, env) -> str             "" when it can be asked, else what is missing and how to get it
    judge(request, settings) -> JudgeReply  never raises for what a reply holds or lacks: that is `unclear`
"""

from dataclasses import dataclass

from aigon.core.model import CostStatus, Criterion, Finding, Usage, Verdict


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """`timeout` is in seconds, for the whole question with its retries; `max_tokens` bounds the reply."""

    backend: str
    model: str = "claude-sonnet-5-5"
    timeout: float = 120.0
    max_tokens: int = 8000


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """All open criteria at once, with what aigon itself saw: the diff from the base and the findings."""

    criteria: tuple[Criterion, ...]
    diff: str
    findings: tuple[Finding, ...]
    spec: str


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """One verdict per criterion asked. `cost` is in US dollars, None when unknown."""

    verdicts: tuple[Verdict, ...]
    cost: float | None = None
    cost_status: CostStatus = "unknown"
    usage: Usage | None = None
    available: bool = True
