"""Ask a judge which of two changes meets a specification better, and check what its reply rests on.

The judge is asked twice, with the changes in either order. A reason whose quote does not hold voids the answer, and
answers that do not agree are a tie. The names of agents are taken out first, so that the judge cannot tell them apart.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from aigon.judge.question import render_numbered, render_unified
from aigon.judge.quotes import QuotedEvidence, check_countering, check_supporting
from aigon.judge.reply import Quote, StrictModel, bound_text, describe_malformed, parse_document, truncate
from aigon.judge.selection import ShownChange, asks_documentation
from aigon.model.changes import FileDiff, Hunk
from aigon.model.criteria import Criterion
from aigon.model.judging import JudgeQuestion

Anonymizer = Callable[[str], str]
SHORTEST = 2
"""Characters of the shortest name that is looked for."""
MOST_REASONS = 20
"""Reasons of one reply."""
_LONGEST_SPEC = 20_000
"""Characters of the specification that are shown."""
_MOST_LISTED = 300
"""Files of a change that are named and not shown."""
DIVIDER = "\n---\n"
"""What stands between the two parts of the template: what holds throughout, and what is asked."""
PairChoice = Literal["first", "second", "tie"]
NAMES: tuple[PairChoice, PairChoice] = ("first", "second")


def build_anonymizer(names: Iterable[str]) -> Anonymizer:
    """Return a function that puts `name_1` and so on in the place of these names, where they stand as whole words."""
    known = sorted({name.strip().casefold() for name in names if len(name.strip()) >= SHORTEST})
    if not known:
        return str
    words = {name: f"name_{number}" for number, name in enumerate(known, 1)}
    listed = "|".join(re.escape(name) for name in sorted(known, key=len, reverse=True))
    whole = re.compile(rf"(?<![^\W_])(?:{listed})(?![^\W_])", re.IGNORECASE)
    return lambda text: whole.sub(lambda found: words.get(found[0].casefold(), "name_0"), text)


def anonymize_diff(diff: FileDiff, plain: Anonymizer) -> FileDiff:
    """Return a file's change with `plain` words in its path and in every line."""
    hunks = tuple(_hunk(hunk, plain) for hunk in diff.hunks)
    content = "\n".join(map(plain, diff.content.split("\n")))
    return replace(diff, path=plain(diff.path), hunks=hunks, content=content)


def _hunk(hunk: Hunk, plain: Anonymizer) -> Hunk:
    return Hunk(plain(hunk.heading), tuple(replace(line, text=plain(line.text)) for line in hunk.lines))


class PairReason(StrictModel):
    """What a quote shows of one of the changes."""

    change: Literal["first", "second"]
    path: str
    line: int
    text: str
    reason: str


class PairReply(StrictModel):
    """The preference comes last, so that it follows from what was found."""

    reasons: list[PairReason]
    preference: PairChoice


def parse_pair_reply(text: str) -> PairReply | str:
    """Return the reply, or why there is none."""
    try:
        found = PairReply.model_validate(parse_document(text))
    except (ValueError, RecursionError) as error:
        return describe_malformed(error)
    return (
        found
        if len(found.reasons) <= MOST_REASONS
        else f"the judge gives {len(found.reasons)} reasons; {MOST_REASONS} are read"
    )


def build_pair_schema() -> Mapping[str, object]:
    """Return the JSON Schema of the reply, without references, as every backend can take it."""
    text: Mapping[str, object] = {"type": "string"}
    change = {"type": "string", "enum": ["first", "second"]}
    one = _object_schema({"change": change, "path": text, "line": {"type": "integer"}, "text": text, "reason": text})
    preference = {"type": "string", "enum": ["first", "second", "tie"]}
    return _object_schema({"reasons": {"type": "array", "items": one}, "preference": preference})


def _object_schema(properties: Mapping[str, object]) -> Mapping[str, object]:
    required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class Pair:
    """What is compared, in this order. `mark` is random and goes into the delimiters; `template` is the prompt's."""

    spec: str
    criteria: tuple[Criterion, ...]
    changes: tuple[ShownChange, ShownChange]
    mark: str
    template: str


@dataclass(frozen=True, slots=True)
class PairwiseResult:
    """What a judge prefers, and its reasons: which change each is about, and its words with the quote."""

    preference: PairChoice
    reasons: tuple[tuple[PairChoice, str], ...]


def build_pair_question(pair: Pair) -> JudgeQuestion:
    """One call."""
    rules, _, task = pair.template.partition(DIVIDER)
    rules = rules.replace("{{MARK}}", pair.mark)
    document: dict[str, object] = {
        "schema_version": 1,
        "task": "prefer",
        "rules": rules,
        "spec": pair.spec,
        "criteria": [{"number": criterion.number, "text": criterion.text} for criterion in pair.criteria],
        **{name: _change_data(change) for name, change in zip(NAMES, pair.changes, strict=True)},
        "reply_schema": build_pair_schema(),
    }
    task = task.replace("{{CRITERIA}}", "\n".join(f"{c.number}. {' '.join(c.text.split())}" for c in pair.criteria))
    return JudgeQuestion(rules, _shared_text(pair), task.strip(), build_pair_schema(), document)


def _change_data(change: ShownChange) -> Mapping[str, object]:
    return {
        "diff": "".join(map(render_unified, change.files)),
        "files_not_shown": [{"path": name, "why": why} for name, why in change.left],
    }


def _shared_text(pair: Pair) -> str:
    data = {"specification": truncate(pair.spec, _LONGEST_SPEC) or "(not given)"}
    for name, change in zip(NAMES, pair.changes, strict=True):
        data[f"{name} change"] = "\n".join(map(render_numbered, change.files)) or "(nothing of it can be shown)"
        left = [f"{path} ({why})" for path, why in change.left[:_MOST_LISTED]]
        data[f"files of the {name} change that are not shown"] = "\n".join(left) or "(none)"
    return "\n\n".join(f"The {name}:\n<data-{pair.mark}>\n{text}\n</data-{pair.mark}>" for name, text in data.items())


def read_preference(pair: Pair, text: str) -> PairwiseResult | str:
    """Return what the reply says, or why it says nothing."""
    found = parse_pair_reply(text)
    if isinstance(found, str):
        return found
    evidence: dict[PairChoice, QuotedEvidence] = {
        name: QuotedEvidence(change.files, ()) for name, change in zip(NAMES, pair.changes, strict=True)
    }
    for reason in found.reasons:
        for standing in check_countering((_quote(reason),), evidence[reason.change]):
            if standing.result == "refused":
                return f"the judge's quote was refused: {standing.shown!r}, because {standing.why}"
    if found.preference != "tie" and not any(
        _is_supported(reason, evidence, pair.criteria) for reason in found.reasons
    ):
        return "the judge quotes no code that the changes add, so nothing shows what it prefers"
    return PairwiseResult(found.preference, tuple((reason.change, _render_reason(reason)) for reason in found.reasons))


def _is_supported(
    reason: PairReason, evidence: Mapping[PairChoice, QuotedEvidence], criteria: Sequence[Criterion]
) -> bool:
    """Whether a quote is of code that was added; of words, where nothing but words was asked for."""
    words = bool(criteria) and all(asks_documentation(criterion.text) for criterion in criteria)
    asked = Criterion(0, 0, "documented" if words else "", False, "judge", None, 0)
    return any(s.result == "counts" for s in check_supporting((_quote(reason),), asked, evidence[reason.change]))


def _quote(reason: PairReason) -> Quote:
    return Quote(source="diff", path=reason.path, line=reason.line, text=reason.text)


def _render_reason(reason: PairReason) -> str:
    return bound_text(f"{reason.reason} ({reason.path}:{reason.line}: {reason.text})", 400)
