"""Ask a judge which of two changes meets a specification better, and check what its reply rests on.

The judge is asked twice, with the changes in either order. A reason whose quote does not hold voids the answer, and
answers that do not agree are a tie. The names of agents are taken out first, so that the judge cannot tell them apart.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from aigon.files.resources import read_prompt
from aigon.judge.question import (
    LONGEST_SPEC,
    change_data,
    criteria_data,
    list_criteria,
    list_left,
    make_question,
    render_change,
    wrap_data,
)
from aigon.judge.quotes import QuotedEvidence, check_countering, check_supporting
from aigon.judge.reply import Quote, StrictModel, bound_text, describe_malformed, parse_reply, truncate
from aigon.judge.selection import ShownChange, asks_documentation
from aigon.model.changes import FileDiff, Hunk
from aigon.model.criteria import Criterion
from aigon.model.judging import JudgeQuestion

Anonymizer = Callable[[str], str]
SHORTEST = 2
"""Characters of the shortest name that is looked for."""
MOST_REASONS = 20
"""Reasons of one reply."""
PairChoice = Literal["first", "second", "tie"]
NAMES: tuple[PairChoice, PairChoice] = ("first", "second")


def build_anonymizer(names: Iterable[str]) -> Anonymizer:
    """Return a function that puts `name_1` and so on in the place of these names, as far as they are whole words."""
    known = sorted({name.strip().casefold() for name in names if len(name.strip()) >= SHORTEST})
    if not known:
        return str
    words = {name: f"name_{number}" for number, name in enumerate(known, 1)}
    listed = "|".join(re.escape(name) for name in sorted(known, key=len, reverse=True))
    whole = re.compile(rf"(?<![^\W_])(?:{listed})(?![^\W_])", re.IGNORECASE)
    return lambda text: whole.sub(lambda found: words.get(found[0].casefold(), "name_0"), text)


def anonymize_diff(diff: FileDiff, plain: Anonymizer) -> FileDiff:
    """Return a file's change with `plain` words in its path and in every line."""
    hunks = tuple(
        Hunk(plain(hunk.heading), tuple(replace(line, text=plain(line.text)) for line in hunk.lines))
        for hunk in diff.hunks
    )
    content = "\n".join(map(plain, diff.content.split("\n")))
    return replace(diff, path=plain(diff.path), hunks=hunks, content=content)


class PairReason(StrictModel, frozen=True):
    """A reason that a quote from one of the changes gives."""

    change: Literal["first", "second"]
    path: str
    line: int
    text: str
    reason: str

    @property
    def quote(self) -> Quote:
        """The quote in the form in which every quote is checked."""
        return Quote(source="diff", path=self.path, line=self.line, text=self.text)


class PairReply(StrictModel, frozen=True):
    """The preference comes last, so that it follows from what was found."""

    reasons: list[PairReason]
    preference: PairChoice


class Pair(Struct, frozen=True):
    """Two changes to compare, in this order. `mark` is random and goes into delimiters."""

    spec: str
    criteria: tuple[Criterion, ...]
    changes: tuple[ShownChange, ShownChange]
    mark: str


class PairwiseResult(Struct, frozen=True):
    """A judge's preference, and its reasons: which change each is about, and its words with the quote."""

    preference: PairChoice
    reasons: tuple[tuple[PairChoice, str], ...]


def build_pair_question(pair: Pair) -> JudgeQuestion:
    """Return the question of one call."""
    rules, task = read_prompt("pairwise", MARK=pair.mark, CRITERIA=list_criteria(pair.criteria))
    changes = dict(zip(NAMES, pair.changes, strict=True))
    shared = {"specification": truncate(pair.spec, LONGEST_SPEC) or "(not given)"}
    for name, change in changes.items():
        shared[f"{name} change"] = render_change(change)
        shared[f"files of the {name} change that are not shown"] = list_left(change)
    data: dict[str, object] = {"spec": pair.spec, "criteria": criteria_data(pair.criteria)}
    data |= {name: change_data(change) for name, change in changes.items()}
    return make_question("prefer", rules, wrap_data(pair.mark, shared), task, PairReply, data)


def read_preference(pair: Pair, text: str) -> PairwiseResult | str:
    """Return what the reply says, or why it says nothing."""
    try:
        reply = parse_reply(PairReply, text)
    except ValueError as error:
        return describe_malformed(error)
    if len(reply.reasons) > MOST_REASONS:
        return f"the judge gives {len(reply.reasons)} reasons; {MOST_REASONS} are read"
    evidence: Mapping[PairChoice, QuotedEvidence] = {
        name: QuotedEvidence(change.files, ()) for name, change in zip(NAMES, pair.changes, strict=True)
    }
    # Words count only if nothing but words was asked for.
    words = bool(pair.criteria) and all(asks_documentation(criterion.text) for criterion in pair.criteria)
    asked = Criterion(0, 0, "documented" if words else "", False, "judge", None, 0)
    is_supported = False
    for reason in reply.reasons:
        for check in check_countering([reason.quote], evidence[reason.change]):
            if check.result == "refused":
                return f"the judge's quote was refused: {check.shown!r}, because {check.why}"
        supporting = check_supporting([reason.quote], asked, evidence[reason.change])
        is_supported = is_supported or any(check.result == "counts" for check in supporting)
    if reply.preference != "tie" and not is_supported:
        return "the judge quotes no code that the changes add, so nothing shows what it prefers"
    reasons = tuple(
        (one.change, bound_text(f"{one.reason} ({one.path}:{one.line}: {one.text})", 400)) for one in reply.reasons
    )
    return PairwiseResult(reply.preference, reasons)
