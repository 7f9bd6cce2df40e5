"""The message of an iteration commit: git alone tells how far a run is."""

import re
from collections.abc import Sequence
from typing import Literal

from aigon.model.checks import Finding
from aigon.model.criteria import Verdict
from aigon.text.quoting import clip, fold, list_item

Built = Literal["changed", "unchanged", "failed", "ticked"]
"""What an iteration brought: changed files, none, what a failed turn left, or only boxes that a resume ticked."""
_NOTHING = {"unchanged": "no files changed", "failed": "turn failed"}
_SUBJECT = 72
"""Characters of a subject line that git and forges show whole."""


def render_iteration_message(
    *,
    feature_id: str,
    run_id: str,
    number: int,
    agent: str,
    findings: Sequence[Finding],
    verdicts: Sequence[Verdict],
    skipped: bool,
    rung: str = "",
    built: Built = "changed",
) -> str:
    """Subject, blank line, trailers. `skipped`: validation was; `rung` is empty without a steps.

    `built` says what the iteration brought: files that a `feat` is about, or less.
    """
    met = f"{sum(v.status == 'met' for v in verdicts)}/{len(verdicts)}"
    trailers = {
        "Feature": feature_id,
        "Run": run_id,
        "Iteration": str(number),
        "Agent": agent,
        **({"Rung": rung} if rung else {}),
        "Checks": "validation skipped" if skipped else " ".join(_check(f) for f in findings),
        "Criteria": met,
    }
    lines = [f"Aigon-{key}: {fold(value, 2000) or 'none'}" for key, value in trailers.items()]
    return "\n".join([_subject(feature_id, number, met, findings, skipped, built), "", *lines]) + "\n"


def render_squash_message(
    *, feature_id: str, title: str, agent: str, findings: Sequence[Finding], criteria: Sequence[tuple[Verdict, str]]
) -> str:
    """The one commit that a whole feature becomes: what is proven and by what, then the trailers.

    `criteria` are the verdicts with the texts of what they are about.
    """
    name = fold(title, 200)
    subject = f"feat(feature-{fold(feature_id, 40)}): {name[:1].lower()}{name[1:] or 'done'}"
    proven = [
        f"- {list_item(text, 200)} ({fold(verdict.method, 40)})" for verdict, text in criteria if _is_met(verdict)
    ]
    body = ["Proven by aigon:", *proven, ""] if proven else []
    trailers = {
        "Feature": feature_id,
        "Agent": agent,
        "Checks": " ".join(_check(f) for f in findings),
        "Criteria": f"{len(proven)}/{len(criteria)}",
    }
    lines = [f"Aigon-{key}: {fold(value, 2000) or 'none'}" for key, value in trailers.items()]
    return "\n".join([clip(subject, _SUBJECT), "", *body, *lines]) + "\n"


def render_adoption_message(feature_id: str, taken: Sequence[tuple[str, str, str]]) -> str:
    """The commit that takes files of other candidates in: label, commit and path of each."""
    whose = " and ".join(dict.fromkeys(fold(label, 40) for label, _, _ in taken))
    lines = [f"- {fold(path, 200)}" for _, _, path in taken]
    trailers = [f"Aigon-Adopted-From: {fold(label, 40)} {commit}" for label, commit, _ in taken]
    subject = f"feat(feature-{fold(feature_id, 40)}): adopt {len(taken)} of {whose}"
    if len(taken) == 1:
        subject = f"feat(feature-{fold(feature_id, 40)}): adopt {fold(taken[0][2], 200)} of {whose}"
    feature = f"Aigon-Feature: {fold(feature_id, 2000)}"
    return "\n".join([clip(subject, _SUBJECT), "", *lines, "", feature, *dict.fromkeys(trailers)]) + "\n"


def _is_met(verdict: Verdict) -> bool:
    return verdict.status == "met"


def _check(finding: Finding) -> str:
    return f"{_word(finding.check)}={finding.status}"


def _word(name: str) -> str:
    """A check's name without what separates names in the trailer."""
    return re.sub(r"[\s=]+", "-", fold(name, 80)) or "unnamed"


def _subject(feature_id: str, number: int, met: str, findings: Sequence[Finding], skipped: bool, built: Built) -> str:
    """The longest wording that fits: the names of the red checks, their number, or no word on them."""
    scope = f"(feature-{fold(feature_id, 40)})"
    if built == "ticked":
        return f"docs{scope}: tick the criteria proven after iteration {number}"
    kind, what = ("feat", "") if built == "changed" else ("chore", f"{_NOTHING[built]}, ")
    how_far = f"{kind}{scope}: iteration {number}: {what}{met} criteria proven"
    words = ["validation skipped"] if skipped else _state(findings)
    wordings = [f"{how_far}, {word}" for word in words]
    return next((wording for wording in wordings if len(wording) <= _SUBJECT), how_far)


def _state(findings: Sequence[Finding]) -> list[str]:
    """How the checks stand, in wordings from long to short."""
    red = [_word(f.check) for f in findings if f.status in ("fail", "error")]
    skipped = [_word(f.check) for f in findings if f.status == "skipped"]
    if red or skipped:
        names, word = (red, "red") if red else (skipped, "skipped")
        return [f"{', '.join(names)} {word}", f"{len(names)} check{'s' if len(names) > 1 else ''} {word}"]
    return ["checks green"] if findings else ["no checks"]
