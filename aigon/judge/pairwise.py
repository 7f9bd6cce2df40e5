"""Two changes for one specification, put to a judge: the question, and what of the reply can be believed.

The judge is asked twice, with the changes in either order. What is not plainly said, or rests on a quote that does not
stand, was not said; answers that do not agree are a tie.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aigon.judge.bounded import bounded, cut
from aigon.judge.evidence import Evidence
from aigon.judge.pairwise_reply import Choice, Reason, read, schema
from aigon.judge.question import numbered, unified
from aigon.judge.quotes import counters, standings
from aigon.judge.reply import Quote
from aigon.judge.selection import Shown
from aigon.judge.words import is_documentation
from aigon.model.criteria import Criterion
from aigon.model.judging import JudgeQuestion

_SPEC = 20_000
"""Characters of the specification that are shown."""
_LISTED = 300
"""Files of a change that are named and not shown."""
DIVIDER = "\n---\n"
"""What stands between the two parts of the template: what holds throughout, and what is asked."""
NAMES: tuple[Choice, Choice] = ("first", "second")


@dataclass(frozen=True, slots=True)
class Pair:
    """What is compared, in this order. `mark` is random and goes into the delimiters; `template` is the prompt's."""

    spec: str
    criteria: tuple[Criterion, ...]
    changes: tuple[Shown, Shown]
    mark: str
    template: str


@dataclass(frozen=True, slots=True)
class Said:
    """What a judge prefers, and its reasons: which change each is about, and its words with the quote."""

    preference: Choice
    reasons: tuple[tuple[Choice, str], ...]


def question(pair: Pair) -> JudgeQuestion:
    """One call."""
    rules, _, task = pair.template.partition(DIVIDER)
    rules = rules.replace("{{MARK}}", pair.mark)
    document: dict[str, object] = {
        "schema_version": 1,
        "task": "prefer",
        "rules": rules,
        "spec": pair.spec,
        "criteria": [{"number": criterion.number, "text": criterion.text} for criterion in pair.criteria],
        **{name: _plain(change) for name, change in zip(NAMES, pair.changes, strict=True)},
        "reply_schema": schema(),
    }
    task = task.replace("{{CRITERIA}}", "\n".join(f"{c.number}. {' '.join(c.text.split())}" for c in pair.criteria))
    return JudgeQuestion(rules, _shared(pair), task.strip(), schema(), document)


def _plain(change: Shown) -> Mapping[str, object]:
    return {
        "diff": "".join(map(unified, change.files)),
        "files_not_shown": [{"path": name, "why": why} for name, why in change.left],
    }


def _shared(pair: Pair) -> str:
    data = {"specification": cut(pair.spec, _SPEC) or "(not given)"}
    for name, change in zip(NAMES, pair.changes, strict=True):
        data[f"{name} change"] = "\n".join(map(numbered, change.files)) or "(nothing of it can be shown)"
        left = [f"{path} ({why})" for path, why in change.left[:_LISTED]]
        data[f"files of the {name} change that are not shown"] = "\n".join(left) or "(none)"
    return "\n\n".join(f"The {name}:\n<data-{pair.mark}>\n{text}\n</data-{pair.mark}>" for name, text in data.items())


def said(pair: Pair, text: str) -> Said | str:
    """What the reply says, or why it says nothing."""
    found = read(text)
    if isinstance(found, str):
        return found
    evidence: dict[Choice, Evidence] = {
        name: Evidence(change.files, ()) for name, change in zip(NAMES, pair.changes, strict=True)
    }
    for reason in found.reasons:
        for standing in counters((_quote(reason),), evidence[reason.change]):
            if standing.result == "refused":
                return f"the judge's quote was refused: {standing.shown!r}, because {standing.why}"
    if found.preference != "tie" and not any(_shows(reason, evidence, pair.criteria) for reason in found.reasons):
        return "the judge quotes no code that the changes add, so nothing shows what it prefers"
    return Said(found.preference, tuple((reason.change, _worded(reason)) for reason in found.reasons))


def _shows(reason: Reason, evidence: Mapping[Choice, Evidence], criteria: Sequence[Criterion]) -> bool:
    """Whether a quote is of code that was added; of words, where nothing but words was asked for."""
    words = bool(criteria) and all(is_documentation(criterion.text) for criterion in criteria)
    asked = Criterion(0, 0, "documented" if words else "", False, "judge", None, 0)
    return any(s.result == "counts" for s in standings((_quote(reason),), asked, evidence[reason.change]))


def _quote(reason: Reason) -> Quote:
    return Quote(source="diff", path=reason.path, line=reason.line, text=reason.text)


def _worded(reason: Reason) -> str:
    return bounded(f"{reason.reason} ({reason.path}:{reason.line}: {reason.text})", 400)
