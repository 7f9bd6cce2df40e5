"""What the page and the Markdown say in the same words."""

from dataclasses import replace

from aigon.journal.account import CriterionItem, FeatureAccount, WorkAccount
from aigon.journal.attempt import describe_checks
from aigon.journal.history import IterationRecord
from aigon.journal.spending import describe_spend
from aigon.model.candidates import format_run_command
from aigon.model.checks import CheckStatus, Finding
from aigon.model.criteria import Verdict, VerdictStatus
from aigon.model.outcomes import Met, describe_outcome, describe_success
from aigon.model.turns import Turn
from aigon.proof.vacuity import describe_passing
from aigon.text.amounts import format_count

STANDINGS = {
    "met": ("✓", "Proven"),
    "needs_human": ("?", "Needs a human"),
    "stopped": ("■", "Stopped short"),
    "interrupted": ("■", "Interrupted"),
    "unavailable": ("!", "Unavailable"),
    "refused": ("!", "Refused"),
    "running": ("…", "Running"),
    "broken_off": ("!", "Broken off"),
    "not_started": ("–", "Not started"),
}
"""A sign and a word for how a work stands."""
CHECKS: dict[CheckStatus, tuple[str, str]] = {
    "pass": ("✓", "pass"),
    "fail": ("✗", "fail"),
    "error": ("!", "error"),
    "skipped": ("–", "skip"),
}
VERDICTS: dict[VerdictStatus, tuple[str, str]] = {
    "met": ("✓", "proven"),
    "unmet": ("✗", "open"),
    "unclear": ("?", "unclear"),
}
_METHODS = {
    "verify": "by its command, which has to exit with 0",
    "metric": "by the number that its command prints",
    "judge": "by the judge, whose quotes aigon found in the change",
    "judge:unavailable": "by nobody: the judge could not be asked",
    "judge:broken": "by nobody: the judge's answer was in another format",
    "approval": "by a person",
    "human": "by nobody yet: a person has to",
}


def lead(account: FeatureAccount) -> str:
    """The outcome in one sentence."""
    if len(account.works) == 1:
        return of_one(account.works[0])
    proven, works = account.proven, format_count(len(account.works), "agent")
    running = sum(work.running for work in account.works)
    still = f"; {format_count(running, 'loop')} still running" if running else ""
    if not proven:
        best = account.shown_first
        return f"None of {works} has proven it: the furthest is {best.name} with {score(best)} criteria{still}."
    names = ", ".join(work.name for work in proven)
    return f"{len(proven)} of {works} proved every criterion: {names}{still}."


def of_one(work: WorkAccount) -> str:
    """How one work ended, in a sentence."""
    outcome, after = work.history.outcome, format_count(iterations(work), "iteration")
    if work.running and not work.steps:
        return "A loop has begun and looks at the base."
    if work.running:
        return f"A loop is working on it: {score(work)} criteria are proven after {after}."
    if isinstance(outcome, Met):
        caveats = "".join(f"; {caveat}" for caveat in outcome.caveats)
        return f"{describe_success(outcome)}, after {after}{caveats}."
    why = describe_outcome(outcome).rstrip(".") if outcome else "The last run broke off without an outcome"
    return f"{why}. {score(work)} criteria are proven after {after}."


def taking(account: FeatureAccount) -> tuple[str, WorkAccount | None, str]:
    """What to do now: in words, which work is meant (None for no single one), and the command."""
    name, proven = account.feature.name_for_people, account.proven
    if account.feature.stage == "done":
        return "It is done already.", None, ""
    if len(proven) == 1:
        label = f" {proven[0].label}" if proven[0].label else ""
        into = f", to merge it into {account.target}" if account.target else ""
        return f"Take this branch{into}:", proven[0], f"aigon feature-done {name}{label}"
    if proven and (work := _proposed(account)):
        return "Take this branch, the comparison says:", work, f"aigon feature-done {name} {work.label}"
    if proven:
        return "Compare those that proved it:", None, f"aigon feature-eval {name}"
    best = account.shown_first
    if any(work.running for work in account.works):
        return "Not ready to merge yet. Follow it with:", None, f"aigon feature-status {name}"
    return "Not ready to merge. Continue with:", best, format_run_command(name, best.label)


def _proposed(account: FeatureAccount) -> WorkAccount | None:
    found = account.proposed
    return next((w for w in account.proven if found and found.kind == "winner" and w.label == found.label), None)


def reasons(account: FeatureAccount) -> tuple[str, ...]:
    """Why the comparison says so; none where it was not made, or is about something else by now."""
    return account.proposed.reasons if account.proposed and _proposed(account) else ()


def score(work: WorkAccount) -> str:
    """`5 of 7`."""
    return f"{work.proven} of {work.total}"


def iterations(work: WorkAccount) -> int:
    """Iterations of the last run and its resumes; the look at the base is none."""
    return sum(step.number > 0 for step in work.steps)


def checks(work: WorkAccount) -> str:
    """`4 of 4 green`, or that none ran."""
    return describe_checks(work.findings).replace(" checks", "", 1)


def cost(work: WorkAccount) -> str:
    """What all runs cost, and how well that is known."""
    history = work.history
    known = history.statuses - {"unknown"}
    if not history.statuses and not history.spend.usd:
        return "nothing spent"
    if not known or (history.spend.unknown and not history.spend.usd):
        return "unknown"
    how = "reported" if known == {"reported"} else "estimated" if known == {"estimated"} else "partly estimated"
    return f"{describe_spend(history.spend)} ({how})"


def passing(work: WorkAccount) -> tuple[str, ...]:
    """Return the warnings about criteria that passed before anything was built."""
    if not work.last:
        return ()
    return describe_passing([_as_decided(work, item) for item in work.items], work.last.look.passed_at_base)


def _as_decided(work: WorkAccount, item: CriterionItem) -> CriterionItem:
    """Return the criterion with the check that a run bound it to; the spec alone does not tell."""
    verdict = work.verdict(item.number)
    if item.kind == "judge" and verdict and verdict.method.startswith("check:"):
        return replace(item, kind="check", command=verdict.method.removeprefix("check:"))
    return item


def decided(verdict: Verdict | None) -> str:
    """How a criterion was decided."""
    if verdict is None:
        return "not looked at yet"
    if verdict.method.startswith("check:"):
        return f"by the check {verdict.method.removeprefix('check:')}"
    return _METHODS.get(verdict.method, f"by {verdict.method}")


def command_of(work: WorkAccount, number: int, verdict: Verdict | None) -> Finding | None:
    """What decided a criterion by running: its own command, or the check that it is bound to."""
    if work.last is None or verdict is None:
        return None
    own = next((found for found in work.last.asked if found.check == f"criterion-{number}"), None)
    bound = verdict.method.removeprefix("check:") if verdict.method.startswith("check:") else ""
    return own or next((found for found in work.findings if bound and found.check == bound), None)


def turn_end(turn: Turn) -> str:
    """How a turn ended."""
    return turn.end.replace("_", " ") + (f", exit code {turn.exit_code}" if turn.exit_code else "")


def title_of(step: IterationRecord) -> str:
    """`Iteration 2`, or the base."""
    return f"Iteration {step.number}" if step.number else "The base"
