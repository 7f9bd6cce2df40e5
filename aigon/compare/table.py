"""An evaluation in words: rows of a table, sentences, the whole for a terminal, and data for scripts."""

from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap

from msgspec import to_builtins

from aigon.compare.facts import CandidateFacts, ChangeMeasures, CrossCheck
from aigon.compare.order import MEASURES, Dominance, count_outside, format_signed, judge_gates
from aigon.compare.proposal import TITLES, Evaluation
from aigon.model.outcomes import Met, get_status
from aigon.text.amounts import format_dollars, format_duration
from aigon.text.quoting import fold

UNKNOWN = "?"
COLUMNS = 80
TITLE_WIDTH = 20
"""Columns of the titles; the others share what is left."""
ABREAST = 4
"""Candidates in one table; more follow in tables below."""

Row = tuple[str, tuple[str, ...]]
"""A title and one cell for each candidate, in their order: a few characters, and no text of others."""


def describe_proposal(found: Evaluation) -> str:
    """Return the proposal in one line."""
    proposal, so_far = found.proposal, " so far" if found.proposal.so_far else ""
    if proposal.kind == "winner":
        return f"Proposed{so_far}: {proposal.winner}"
    if proposal.kind == "tie":
        return f"Tied{so_far}: {' and '.join(proposal.tied)}; a person has to choose"
    return f"Nobody{so_far}: no candidate passes every gate"


def suggest_next_step(found: Evaluation) -> str:
    """Return the command that a person would run next."""
    feature, kind = found.subject.feature, found.proposal.kind
    if kind == "nobody" and not all(isinstance(e.outcome, Met) and e.judged == e.tip for e in found.entries):
        return f"aigon feature-implement {feature} --resume"
    label = found.proposal.winner if kind == "winner" else "AGENT"
    return f"aigon feature-done {feature}" + ("" if label == "solo" else f" {label}")


def describe_dominance(pair: Dominance) -> str:
    better = ", ".join(TITLES[key] for key in pair.better)
    known = len(MEASURES) - len(pair.unknown)
    return f"{pair.one} dominates {pair.other}: better in {better}; worse in none of {known} measures known of both"


def describe_order() -> str:
    """Return what is compared, in order, so that a reader can check it."""
    return ", ".join(["the gates", *(measure.title.lower() for measure in MEASURES), "the judge"])


def format_cross_check(check: CrossCheck) -> str:
    """Return how many of the tests pass there: `3/4`, `?`."""
    if not check.known:
        return UNKNOWN
    return f"{check.passed}/{check.passed + len(check.failed) + len(check.errors)}"


def list_unknown(found: Evaluation) -> list[str]:
    """Return what could not be known, and why."""
    unknown = [*found.notes]
    unknown += [f"new tests of {e.label}: {e.new_tests.why}" for e in found.entries if e.new_tests and e.new_tests.why]
    pairs: dict[str, list[str]] = {}  # by reason: one note for all pairs with the same
    for check in found.cross_checks:
        if check.why:
            pairs.setdefault(check.why, []).append(f"{check.tests_of} on {check.against}")
    for why, names in pairs.items():
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        unknown.append(f"cross-checks {', '.join(names[:3])}{more}: {why}")
    return unknown


def build_gate_rows(found: Evaluation) -> list[Row]:
    words = {"pass": "pass", "fail": "FAIL", "unknown": UNKNOWN}
    rows: dict[str, list[str]] = {}
    for entry in found.entries:
        for gate in judge_gates(entry):
            is_counted = gate.key == "criteria" and entry.fresh and entry.criteria
            cell = f"{entry.proven} of {entry.criteria}" if is_counted else words[gate.result]
            rows.setdefault(gate.title, []).append(cell)
    return [(title, tuple(cells)) for title, cells in rows.items()]


def build_measure_rows(found: Evaluation) -> list[Row]:
    """Return the rows of `_ROWS` in which a candidate has a value, and those of `_ALWAYS`."""
    values = [(title, [show(entry) for entry in found.entries]) for title, show in _ROWS]
    return [
        (title, tuple(UNKNOWN if value is None else str(value) for value in cells))
        for title, cells in values
        if title in _ALWAYS or any(value is not None for value in cells)
    ]


def describe_run(entry: CandidateFacts) -> str:
    """Return how the last run of a candidate ended, in a word."""
    if entry.running:
        return "running"
    if entry.outcome:
        status = get_status(entry.outcome)
        return "proven" if status == "met" else status.replace("_", " ")
    return "broken off" if entry.look or entry.at else "not started"


def _format_cost(entry: CandidateFacts) -> str | None:
    if entry.cost is None:
        return f"over {format_dollars(entry.at_least)}" if entry.at_least else None
    return format_dollars(entry.cost)


def _format_tokens(entry: CandidateFacts) -> str | None:
    if entry.usage is None:
        return None
    more = "over " if entry.silent else ""
    return f"{more}{_format_thousands(entry.usage.input + entry.usage.cached)}/{_format_thousands(entry.usage.output)}"


def _format_thousands(number: int) -> str:
    if number < 10_000:
        return str(number)
    return f"{number / 1000:.0f}k" if number < 10_000_000 else f"{number / 1_000_000:.0f}M"


def _format_new_tests(entry: CandidateFacts) -> str | None:
    tests = entry.new_tests
    if tests is None or (tests.why and not tests.added):
        return None
    red = len(tests.red_on_base)
    known = f"{red}{'+' if tests.unknown else ''}" if red or not tests.unknown else UNKNOWN
    return f"{len(tests.added)}, {known} red" if tests.added else "none"


def _format_delta(number: int | None) -> str | None:
    return None if number is None else format_signed(number)


_ROWS: tuple[tuple[str, Callable[[CandidateFacts], object | None]], ...] = (
    ("Last run", describe_run),
    ("Iterations", lambda e: e.iterations),
    ("Time", lambda e: None if e.seconds is None else format_duration(e.seconds)),
    ("Cost", _format_cost),
    ("Cost is", lambda e: e.cost_status if e.iterations is not None else None),
    ("Tokens in/out", _format_tokens),
    ("Source diff", lambda e: e.changed and e.changed.source),
    ("Test diff", lambda e: e.changed and e.changed.tests),
    ("Other diff", lambda e: e.changed and e.changed.other),
    ("Files touched", lambda e: e.changed and len(e.changed.files)),
    ("Outside the area", count_outside),
    ("New tests on base", _format_new_tests),
    ("Lint vs base", lambda e: _format_delta(e.delta("lint"))),
    ("Types vs base", lambda e: _format_delta(e.delta("types"))),
    ("Branches added", lambda e: _format_delta(e.changed.branching) if e.changed else None),
    ("Suppressions added", lambda e: _format_delta(e.changed.suppressions) if e.changed else None),
    ("Integrity notes", lambda e: len(e.concerns) if e.look else None),
)
_ALWAYS = ("Last run", "Iterations", "Time", "Cost", "Source diff", "Test diff", "Files touched")


def render_evaluation(found: Evaluation, kept: str) -> str:
    """Return the evaluation in 80 columns; `kept` says where it was written, or why not."""
    crossed = [
        f"tests of {check.tests_of} on {check.against}: {format_cross_check(check)} pass"
        for check in found.cross_checks
        if check.known
    ]
    lines = [
        fold(f"Feature {found.subject.feature}: {found.subject.title}", COLUMNS),
        "",
        *_render_tables(found),
        *_render_section("New tests on the others (advisory)", crossed),
        *_render_section("Dominance", [describe_dominance(pair) for pair in found.dominance]),
        *_render_section("Not known", list_unknown(found)),
        "",
        *wrap(describe_proposal(found), COLUMNS),
        *(line for reason in found.proposal.reasons for line in _wrap_item(reason)),
    ]
    return "\n".join([*lines, *([kept] if kept else []), f"Next: {suggest_next_step(found)}"])


def _render_tables(found: Evaluation) -> Iterator[str]:
    labels = tuple(entry.label for entry in found.entries)
    rows: list[Row] = [("", labels), *build_gate_rows(found), ("", ("",) * len(labels)), *build_measure_rows(found)]
    width = (COLUMNS - TITLE_WIDTH) // ABREAST
    for start in range(0, len(labels), ABREAST):
        for title, cells in rows:
            shown = (f"{_cut_middle(cell, width - 1):<{width}}" for cell in cells[start : start + ABREAST])
            yield f"{title:<{TITLE_WIDTH}}{''.join(shown)}".rstrip()
        yield ""
    if any(UNKNOWN in cells for _, cells in rows):
        yield f"{UNKNOWN} is not known, and passes no gate"


def _cut_middle(cell: str, width: int) -> str:
    # Labels of one agent differ at their end.
    half = (width - 1) // 2
    return cell if len(cell) <= width else f"{cell[: width - 1 - half]}…{cell[-half:]}"


def _render_section(title: str, sentences: Sequence[str]) -> Iterator[str]:
    if sentences:
        yield from ("", title)
        yield from (line for sentence in sentences for line in _wrap_item(sentence))


def _wrap_item(sentence: str) -> list[str]:
    return wrap(fold(sentence, 400), COLUMNS, initial_indent="  - ", subsequent_indent="    ")


def build_evaluation_document(found: Evaluation, path: str, commit: str, why: str) -> dict[str, object]:
    """Return the evaluation for scripts. What is not known is null; `why` says why it was not written."""
    return {
        "id": found.subject.feature,
        "at": found.at or None,
        "base": list(found.bases),
        "expected_paths": list(found.subject.expected),
        "proposal": to_builtins(found.proposal),
        "order": {
            "keys": ["gates", *(measure.key for measure in MEASURES), "judge"],
            "places": [list(labels) for labels in found.order.places],
            "falls": [to_builtins(fall) for fall in found.order.falls],
        },
        "candidates": [_build_candidate(entry, found) for entry in found.entries],
        "dominance": [to_builtins(pair) for pair in found.dominance],
        "cross_checks": [to_builtins(check) for check in found.cross_checks],
        "preferences": [to_builtins(each) for each in found.preferences],
        "not_known": list_unknown(found),
        "path": path or None,
        "commit": commit or None,
        "not_written": why or None,
    }


def _build_candidate(entry: CandidateFacts, found: Evaluation) -> dict[str, object]:
    words = next(each for each in found.strengths if each.label == entry.label)
    change = to_builtins(entry.changed or ChangeMeasures())
    del change["touched_tests"]
    return {
        "label": entry.label,
        "agent": entry.agent,
        "branch": entry.branch,
        "tip": entry.tip or None,
        "looked": entry.looked or None,
        "status": describe_run(entry).replace(" ", "_"),
        "running": entry.running,
        "gates": {gate.key: {"result": gate.result, "why": gate.why} for gate in judge_gates(entry)},
        "criteria": {"met": entry.proven, "total": entry.criteria},
        "iterations": entry.iterations,
        "seconds": None if entry.seconds is None else round(entry.seconds, 3),
        "cost": {"usd": entry.cost, "status": entry.cost_status, "at_least": entry.at_least},
        "tokens": to_builtins(entry.usage) if entry.usage else None,
        "tokens_unsaid": entry.silent,
        "change": change if entry.changed else None,
        "lint_delta": entry.delta("lint"),
        "types_delta": entry.delta("types"),
        "new_tests": to_builtins(entry.new_tests) if entry.new_tests else None,
        "concerns": [to_builtins(concern) for concern in entry.concerns],
        "regressed": None if entry.regressed is None else list(entry.regressed),
        "measures": {measure.key: measure.value(entry) for measure in MEASURES},
        "strengths": list(words.strengths),
        "weaknesses": list(words.weaknesses),
    }
