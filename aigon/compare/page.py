"""An evaluation as Markdown, for `docs/specs/features/evaluations/`. The same facts make the same bytes."""

import re
from collections.abc import Iterable, Iterator, Sequence

from aigon.compare.rules.evaluation import Evaluation
from aigon.compare.rules.facts import CrossCheck, Preference
from aigon.compare.rules.gates import judge_gates
from aigon.compare.table import (
    EvaluationRow,
    build_gate_rows,
    build_measure_rows,
    describe_dominance,
    describe_order,
    describe_proposal,
    format_cross_check,
    list_unknown,
)
from aigon.model.changes import quote_path
from aigon.text.quoting import code_span, fold

_MARKUP = re.compile(r"([\\`*\[\]<>|&~])")
NAMED = 20
"""Names of tests or files that are listed; the others are counted."""


def render_page(found: Evaluation) -> str:
    return "\n".join(line for part in _PARTS for line in part(found)).rstrip("\n") + "\n"


def escape_text(text: str, limit: int = 400) -> str:
    """Return text of others for use within a sentence: it makes no line, link, tag or table of its own."""
    return _MARKUP.sub(r"\\\1", fold(text, limit))


def _top(found: Evaluation) -> Iterator[str]:
    yield from (f"# Evaluation of feature {found.subject.feature}: {escape_text(found.subject.title, 120)}", "")
    yield f"- Date: {found.at or 'unknown'} (the newest fact)"
    yield f"- Base: {', '.join(code_span(base) for base in found.bases) or 'unknown'}"
    yield from ([f"- Expected area: {_list_names(found.subject.expected)}"] if found.subject.expected else [])
    yield f"- {describe_proposal(found)}"
    for entry in found.entries:
        at = code_span(entry.tip[:12]) or "no commit"
        yield f"- {entry.label}: {code_span(entry.agent) or 'unknown'}, branch {code_span(entry.branch)} at {at}"
    yield ""


def _gates(found: Evaluation) -> Iterator[str]:
    yield from ("## Gates", "", *_table(found, build_gate_rows(found)), "")
    for entry in found.entries:
        yield from (
            f"- {entry.label}, {g.title.lower()}: {escape_text(g.why)}"
            for g in judge_gates(entry)
            if g.result != "pass"
        )
    yield ""


def _measures(found: Evaluation) -> Iterator[str]:
    yield from ("## Side by side", "", *_table(found, build_measure_rows(found)), "")
    yield "Branches and suppressions are how many more than on the base. ? is not known."
    for entry in found.entries:
        if entry.changed and entry.changed.outside:
            yield f"- {entry.label}, files outside the expected area: {_list_names(entry.changed.outside)}"
    yield ""


def _about_each(found: Evaluation) -> Iterator[str]:
    yield from ("## Strengths and weaknesses", "")
    for each in found.strengths:
        yield from (f"### {each.label}", "")
        yield from (f"- Strength: {escape_text(said)}" for said in each.strengths)
        yield from (f"- Weakness: {escape_text(said)}" for said in each.weaknesses)
        yield from (["- Nothing sets it apart", ""] if not (each.strengths or each.weaknesses) else [""])


def _dominance(found: Evaluation) -> Iterator[str]:
    if len(found.entries) < 2:
        return
    yield from ("## Dominance", "")
    said = [f"- {describe_dominance(pair)}" for pair in found.dominance]
    yield from said or ["Nobody is as good as another in every measure, and better in one."]
    yield ""


def _tests(found: Evaluation) -> Iterator[str]:
    yield from ("## New tests", "")
    for entry in found.entries:
        tests = entry.new_tests
        if tests and tests.added:
            yield f"- {entry.label}, red on the base: {_list_names(tests.red_on_base)}"
            yield from (
                [f"- {entry.label}, not known on the base: {_list_names(tests.unknown)}"] if tests.unknown else []
            )
            yield from (
                [f"- {entry.label}, green on the base: {_list_names(tests.green_on_base)}"]
                if tests.green_on_base
                else []
            )
        elif tests and not tests.why:
            yield f"- {entry.label} added none"
    yield ""
    if found.cross_checks:
        yield from ("### Each one's new tests on the others (advisory)", "", *_matrix(found), "")
        yield from (line for check in found.cross_checks for line in _failed(check))
        yield ""


def _matrix(found: Evaluation) -> Iterator[str]:
    labels = [entry.label for entry in found.entries]
    cells = {(check.tests_of, check.against): format_cross_check(check) for check in found.cross_checks}
    yield f"| Tests of | {' | '.join(f'on {label}' for label in labels)} |"
    yield f"|---|{'---|' * len(labels)}"
    for one in labels:
        yield f"| {one} | {' | '.join(cells.get((one, other), '') for other in labels)} |"


def _failed(check: CrossCheck) -> Iterator[str]:
    where = f"tests of {check.tests_of} on {check.against}"
    if check.failed:
        yield f"- {where}, failed: {_list_names(check.failed)}"
    if check.errors:
        yield f"- {where}, could not run: {_list_names(check.errors)}"


def _preferences(found: Evaluation) -> Iterator[str]:
    if found.preferences:
        yield from (
            "## The judge, two by two",
            "",
            *(line for each in found.preferences for line in _describe_preference(each)),
            "",
        )


def _describe_preference(each: Preference) -> Iterator[str]:
    chosen = {"one": each.one, "other": each.other, "tie": "tie"}.get(each.result, "unknown")
    yield f"- {each.one} and {each.other}: {chosen}"
    yield from (f"  - {escape_text(reason)}" for reason in each.reasons)


def _winner(found: Evaluation) -> Iterator[str]:
    yield from ("## Winner and rationale", "", f"**{describe_proposal(found)}**", "")
    yield from (f"- {escape_text(reason)}" for reason in found.proposal.reasons)
    yield from ("", f"There is no score. Compared, in this order: {describe_order()}.", "")


def _unknown(found: Evaluation) -> Iterator[str]:
    if said := list_unknown(found):
        yield from ("## Not known", "", *(f"- {escape_text(note)}" for note in said), "")


def _table(found: Evaluation, rows: Iterable[EvaluationRow]) -> Iterator[str]:
    labels = [entry.label for entry in found.entries]
    yield f"| | {' | '.join(labels)} |"
    yield f"|---|{'---|' * len(labels)}"
    yield from (f"| {row.title} | {' | '.join(row.cells)} |" for row in rows)


def _list_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(code_span(quote_path(name)) for name in names[:NAMED]) + more if names else "none"


_PARTS = (_top, _gates, _measures, _about_each, _dominance, _tests, _preferences, _winner, _unknown)
