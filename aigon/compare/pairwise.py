"""Ask a judge which of two candidates it prefers, and check what its reply rests on.

The judge is asked twice, with the changes in either order. A reason whose quote does not hold voids the answer, and
answers that do not agree are a tie. Names of agents are taken out of all that is sent, so that the judge cannot tell
them apart.
"""

import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from aigon.compare.bench import Bench
from aigon.compare.facts import Preference, Preferred
from aigon.config.models import JudgeConfig
from aigon.errors import AigonError
from aigon.files.resources import read_prompt
from aigon.git.diff import diff_trees
from aigon.journal.history import build_history
from aigon.journal.records import Records
from aigon.journal.replay import read_journals
from aigon.judge import selection
from aigon.judge.backends import ask_in_thread, choose_judge
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
from aigon.judge.selection import BUDGET, ShownChange, asks_documentation, measure_diff, select_shown
from aigon.model.changes import FileDiff, Hunk
from aigon.model.criteria import Criterion, Spec
from aigon.model.requests import JudgeAnswer, JudgeQuestion, JudgeSettings
from aigon.model.turns import CostStatus
from aigon.run.actors import find_judge
from aigon.secrets import redaction
from aigon.secrets.redaction import make_redactor, redact_value
from aigon.spec.features import ROOT

Anonymizer = Callable[[str], str]
SHORTEST = 2
"""Characters of the shortest name that is looked for."""
MOST_REASONS = 20
"""Reasons of one reply."""
PairChoice = Literal["first", "second", "tie"]
NAMES: tuple[PairChoice, PairChoice] = ("first", "second")
CandidateTip = tuple[str, str]
"""A candidate's label, and the commit that its work ends with."""


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


def compare_pair(bench: Bench, one: CandidateTip, other: CandidateTip, spec: Spec, base: str) -> Preference:
    """Return which of two candidates better fulfils the criteria of `spec`, by their changes from `base`; never raise.

    Unknown, with the reason, if no judge is configured or can be asked, if a change is too large to be shown whole, or
    if an answer is malformed, refused or late. `cost` is that of all calls.
    """
    try:
        chosen = choose_judge(bench.config.judge or JudgeConfig(), None)
        settings = None
        if chosen not in (None, "none"):  # no judge is asked that nobody chose
            settings = find_judge(bench.config, chosen, (), dict(os.environ), bench.checkout.root)
        if settings is None:
            return _build_unknown(one[0], other[0], "no judge is configured")
        return _compare_changes(bench, settings, one, other, spec, base)
    except AigonError as error:
        return _build_unknown(one[0], other[0], f"{error.what}{f': {error.hint}' if error.hint else ''}")


def _compare_changes(
    bench: Bench, settings: JudgeSettings, one: CandidateTip, other: CandidateTip, spec: Spec, base: str
) -> Preference:
    changes = [read_shown_change(bench, base, tip) for _, tip in (one, other)]
    if changes[0] == changes[1]:
        return Preference(one[0], other[0], "tie", ("what can be shown of both is the same",), 0.0, "reported")
    plain = build_name_filter(bench, (one, other), base)
    views = [select_shown([anonymize_diff(diff, plain) for diff in files], spec.criteria) for files in changes]
    for (label, _), shown, whole in zip((one, other), views, changes, strict=True):
        if not shown.whole:
            size = sum(map(measure_diff, whole))
            said_ = f"the change of {label} is too large to be compared ({size:,} characters, {BUDGET:,} can be shown)"
            return _build_unknown(one[0], other[0], said_)
    return _ask_both_orders(bench, settings, one[0], other[0], build_pair(spec, plain, views[0], views[1]))


def _ask_both_orders(bench: Bench, settings: JudgeSettings, one: str, other: str, pair: Pair) -> Preference:
    turned = replace(pair, changes=(pair.changes[1], pair.changes[0]), mark=secrets.token_hex(8))
    answers: list[JudgeAnswer] = []
    heard: list[PairwiseResult] = []
    for each in (pair, turned):
        answer = ask_in_thread(build_pair_question(each), settings, bench.stop)
        answers.append(redact_value(answer, make_redactor(os.environ, settings.env)))
        found = answers[-1].failure or read_preference(each, answers[-1].text)
        if isinstance(found, str):
            return _build_unknown(one, other, found, answers)
        heard.append(found)
    return _combine_answers(one, other, heard, answers)


def _combine_answers(
    one: str, other: str, heard: Sequence[PairwiseResult], answers: Sequence[JudgeAnswer]
) -> Preference:
    there: dict[str, Preferred] = {"first": "one", "second": "other", "tie": "tie"}
    back: dict[str, Preferred] = {"first": "other", "second": "one", "tie": "tie"}
    ahead, behind = there[heard[0].preference], back[heard[1].preference]
    if ahead == behind:
        labels = {"first": one, "second": other}
        reasons = tuple(f"{labels[change]}: {text}" for change, text in heard[0].reasons)
        return Preference(one, other, ahead, reasons, *_sum_costs(answers))
    said_of = {"one": one, "other": other, "tie": "neither"}
    why = f"its two answers do not agree: it prefers {said_of[ahead]}, and in the other order {said_of[behind]}"
    return Preference(one, other, "tie", (why,), *_sum_costs(answers))


def _build_unknown(one: str, other: str, why: str, answers: Sequence[JudgeAnswer] = ()) -> Preference:
    return Preference(one, other, "unknown", (why,), *_sum_costs(answers))


def _sum_costs(answers: Sequence[JudgeAnswer]) -> tuple[float | None, CostStatus]:
    """Return the US dollars of all calls, and how they are known."""
    costs = [answer.cost for answer in answers if answer.cost is not None]
    if len(costs) < len(answers):
        return None, "unknown"
    estimated = any(answer.cost_status == "estimated" for answer in answers)
    return sum(costs), "estimated" if estimated else "reported"


def build_name_filter(bench: Bench, tips: Sequence[tuple[str, str]], base: str) -> Anonymizer:
    """Return a function that takes names of candidates and credentials out of a line of text."""
    names = [name for label, records in bench.records.items() for name in _list_names(label, records)]
    names += [name for _, tip in tips for name in _list_authors(bench, base, tip)]
    without_names, redact = build_anonymizer(names), redaction.make_redactor(os.environ)

    def plain(line: str) -> str:
        shown = redact(line.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
        return without_names(shown)

    return plain


def _list_names(label: str, records: Records) -> Iterator[str]:
    """Yield the names of a candidate, its agents, their models and its branch."""
    yield label
    if candidate := records.candidate():
        agent, _, model = candidate.agent.partition(":")
        yield from (candidate.label, candidate.agent, agent, model, candidate.branch)
    past = build_history(read_journals(records.journals())[0])
    for run in past.runs:
        yield from (run.started.agent, run.started.label, run.started.branch)
    for turn in past.turns:
        yield from (turn.agent, turn.model)


def _list_authors(bench: Bench, base: str, tip: str) -> Iterator[str]:
    """Yield names and addresses of those who made the commits."""
    code, out, _ = bench.git.attempt("log", "-z", "--format=%an%n%ae%n%cn%n%ce", f"{base}..{tip}")
    if code == 0:
        yield from {name for name in out.decode("utf-8", "replace").replace("\0", "\n").split("\n") if name}


OWN = (f"{ROOT}/", ".aigon/")
"""Specs, logs and aigon's own files: no candidate's work, and full of names."""


def read_shown_change(bench: Bench, base: str, tip: str) -> tuple[FileDiff, ...]:
    """Return what a candidate changes, without aigon's own files. Raises AigonError (exit 7) with git's words."""
    found = diff_trees(bench.git, base, tip, frozenset(), selection.is_hidden_by_name)
    return tuple(diff for diff in found if not diff.path.startswith(OWN))


def build_pair(spec: Spec, plain: Anonymizer, first: ShownChange, second: ShownChange) -> Pair:
    """Return what is compared, in this order, with unpredictable delimiters."""
    text = _drop_frontmatter(spec.raw.decode("utf-8", "replace"))
    criteria = tuple(replace(criterion, text=plain(criterion.text)) for criterion in spec.criteria)
    return Pair("\n".join(map(plain, text.split("\n"))), criteria, (first, second), secrets.token_hex(8))


def _drop_frontmatter(text: str) -> str:
    # Settings of the feature, such as agents and models, are no part of what was asked for.
    lines = text.split("\n")
    if lines[0].strip() != "---":
        return text
    end = next((number for number, line in enumerate(lines[1:], 1) if line.strip() == "---"), 0)
    return "\n".join(lines[end + 1 :]) if end else text
