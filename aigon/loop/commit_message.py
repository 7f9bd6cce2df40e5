"""The messages of aigon's commits: git alone tells how far a run is."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from aigon.journal.attempt import count_passed_checks
from aigon.journal.events import IterationFinished
from aigon.model.checks import Finding
from aigon.model.criteria import Verdict
from aigon.text.quoting import clip, fold, list_item

Built = Literal["changed", "unchanged", "failed", "ticked"]
"""What an iteration brought: changed files, none, what a failed turn left, or only boxes that a resume ticked."""
_SUBJECT_CHARS = 72
"""Characters of a subject line that git and forges show whole."""


def render_iteration_message(
    draft: IterationFinished,
    *,
    feature_id: str,
    run_id: str,
    agent: str,
    rung: str = "",
    skipped: bool = False,
    built: Built = "changed",
) -> str:
    """Return the message of an iteration commit: subject, blank line, trailers.

    `rung` is the escalation step, "" for an agent with only one; `skipped`: validation was.
    """
    met = f"{sum(v.status == 'met' for v in draft.verdicts)}/{len(draft.verdicts)}"
    trailers = {
        "Feature": feature_id,
        "Run": run_id,
        "Iteration": str(draft.number),
        "Agent": agent,
        **({"Rung": rung} if rung else {}),
        "Checks": "validation skipped" if skipped else _list_results(draft.findings),
        "Criteria": met,
    }
    scope = f"(feature-{fold(feature_id, 40)})"
    if built == "ticked":
        subject = f"docs{scope}: tick the criteria proven after iteration {draft.number}"
    else:
        nothing = {"unchanged": "no files changed, ", "failed": "turn failed, "}.get(built, "")
        kind = "chore" if nothing else "feat"
        whole = f"{kind}{scope}: iteration {draft.number}: {nothing}{met} criteria proven"
        words = ["validation skipped"] if skipped else _describe_checks(draft.findings)
        # The longest wording that fits: the names of the failed checks, their number, or no word on them.
        subject = next((text for word in words if len(text := f"{whole}, {word}") <= _SUBJECT_CHARS), whole)
    return "\n".join([subject, "", *_format_trailers(trailers)]) + "\n"


def render_squash_message(
    *, feature_id: str, title: str, agent: str, findings: Sequence[Finding], criteria: Sequence[tuple[Verdict, str]]
) -> str:
    """Return the message of the one commit that a whole feature becomes: what is proven and by what, then the trailers.

    `criteria` are the verdicts with the texts of their criteria.
    """
    name = fold(title, 200)
    subject = f"feat(feature-{fold(feature_id, 40)}): {name[:1].lower()}{name[1:] or 'done'}"
    proven = [
        f"- {list_item(text, 200)} ({fold(v.method, 40)})"
        for v, text in criteria
        if v.status == "met" and not v.is_waived
    ]
    trailers = {
        "Feature": feature_id,
        "Agent": agent,
        "Checks": _list_results(findings),
        "Criteria": f"{len(proven)}/{len(criteria)}",
    }
    body = ["Proven by aigon:", *proven, ""] if proven else []
    return "\n".join([clip(subject, _SUBJECT_CHARS), "", *body, *_format_trailers(trailers)]) + "\n"


def render_adoption_message(feature_id: str, taken: Sequence[tuple[str, str, str]]) -> str:
    """Return the message of a commit with files of other candidates; `taken` has label, commit and path of each."""
    whose = " and ".join(dict.fromkeys(fold(label, 40) for label, _, _ in taken))
    paths = [fold(path, 200) for _, _, path in taken]
    what = paths[0] if len(paths) == 1 else str(len(paths))
    subject = f"feat(feature-{fold(feature_id, 40)}): adopt {what} of {whose}"
    sources = dict.fromkeys(f"Aigon-Adopted-From: {fold(label, 40)} {commit}" for label, commit, _ in taken)
    feature = f"Aigon-Feature: {fold(feature_id, 2000)}"
    return (
        "\n".join([clip(subject, _SUBJECT_CHARS), "", *(f"- {path}" for path in paths), "", feature, *sources]) + "\n"
    )


def _format_trailers(values: Mapping[str, str]) -> list[str]:
    return [f"Aigon-{key}: {fold(value, 2000) or 'none'}" for key, value in values.items()]


def _list_results(findings: Sequence[Finding]) -> str:
    return " ".join(f"{_to_word(finding.check)}={finding.status}" for finding in findings)


def _to_word(name: str) -> str:
    """Return a check's name without what separates names in the trailer."""
    return re.sub(r"[\s=]+", "-", fold(name, 80)) or "unnamed"


def _describe_checks(findings: Sequence[Finding]) -> list[str]:
    """Return wordings of the results, from long to short."""
    red = [_to_word(f.check) for f in findings if f.status in ("fail", "error")]
    names = red or [_to_word(f.check) for f in findings if f.status == "skipped"]
    if names:
        word = "red" if red else "skipped"
        return [f"{', '.join(names)} {word}", f"{len(names)} check{'s' if len(names) > 1 else ''} {word}"]
    return ["checks green"] if count_passed_checks(findings)[1] else ["no checks"]
