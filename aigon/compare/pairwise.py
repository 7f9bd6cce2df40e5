"""Ask a judge which of two candidates it prefers: in both orders, and without a name in anything that is sent."""

import os
import secrets
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from aigon.compare.bench import Bench
from aigon.compare.rules.facts import Preference, Preferred
from aigon.config.models import JudgeConfig
from aigon.errors import AigonError
from aigon.git.diff import diff_trees
from aigon.journal.history import build_history
from aigon.journal.records import Records
from aigon.journal.replay import read_journals
from aigon.judge import selection
from aigon.judge.backends import ask_in_thread
from aigon.judge.pairwise import (
    Anonymizer,
    Pair,
    anonymize_diff,
    build_anonymizer,
    build_pair_question,
    read_preference,
)
from aigon.judge.pairwise import PairwiseResult as Said
from aigon.judge.selection import BUDGET, ShownChange, measure_diff, select_shown
from aigon.judge.settings import choose_judge
from aigon.model.changes import FileDiff
from aigon.model.criteria import Spec
from aigon.model.judging import JudgeAnswer, JudgeSettings
from aigon.model.turns import CostStatus
from aigon.run.actors import find_judge
from aigon.secrets import redaction
from aigon.secrets.redaction import make_redactor, redact_value
from aigon.spec.features import ROOT

CandidateTip = tuple[str, str]
"""A candidate's label, and the commit that its work ends with."""


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
    heard: list[Said] = []
    for each in (pair, turned):
        answer = ask_in_thread(build_pair_question(each), settings, bench.stop)
        answers.append(redact_value(answer, make_redactor(os.environ, settings.env)))
        found = answers[-1].failure or read_preference(each, answers[-1].text)
        if isinstance(found, str):
            return _build_unknown(one, other, found, answers)
        heard.append(found)
    return _combine_answers(one, other, heard, answers)


def _combine_answers(one: str, other: str, heard: Sequence[Said], answers: Sequence[JudgeAnswer]) -> Preference:
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
"""Specs, logs and aigon's own files: nobody's work, and full of names."""


def read_shown_change(bench: Bench, base: str, tip: str) -> tuple[FileDiff, ...]:
    """Return what a candidate changes, without aigon's own files. Raises AigonError (exit 7) with git's words."""
    found = diff_trees(bench.git, base, tip, frozenset(), selection.is_hidden_by_name)
    return tuple(diff for diff in found if not diff.path.startswith(OWN))


def build_pair(spec: Spec, plain: Anonymizer, first: ShownChange, second: ShownChange) -> Pair:
    """Return what is compared, in this order, with delimiters that nobody could foresee."""
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
