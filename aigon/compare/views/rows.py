"""The table of an evaluation, as words: one row for each gate and measure, one cell for each candidate."""

from collections.abc import Callable
from dataclasses import dataclass

from aigon.compare.rules.entry import Entry
from aigon.compare.rules.evaluation import Evaluation
from aigon.compare.rules.gates import Gate, gates
from aigon.compare.rules.size import Size
from aigon.model.outcomes import get_status
from aigon.text import amounts

UNKNOWN = "?"
"""What stands for a value that is not known."""
_MARKS = {"pass": "pass", "fail": "FAIL", "unknown": UNKNOWN}


@dataclass(frozen=True, slots=True)
class Row:
    """A title and one cell for each candidate, in their order: a few characters, and no text of others."""

    title: str
    cells: tuple[str, ...]


def gate_rows(found: Evaluation) -> tuple[Row, ...]:
    """The gates."""
    each = [gates(entry) for entry in found.entries]
    return tuple(
        Row(some[0].title, tuple(_mark(gate, entry) for gate, entry in zip(some, found.entries, strict=True)))
        for some in zip(*each, strict=True)
    )


def _mark(gate: Gate, entry: Entry) -> str:
    if gate.key == "criteria" and entry.fresh and entry.criteria:
        return f"{entry.proven} of {entry.criteria}"
    return _MARKS[gate.result]


def measure_rows(found: Evaluation) -> tuple[Row, ...]:
    """What they are measured by. Rows that nobody has a value for are left out, but for those that all ask for."""
    rows = [Row(title, tuple(_cell(show, entry) for entry in found.entries)) for title, show in _ROWS]
    return tuple(row for row in rows if row.title in _ALWAYS or any(cell != UNKNOWN for cell in row.cells))


def standing(entry: Entry) -> str:
    """How its last run stands, in a word."""
    if entry.running:
        return "running"
    if entry.outcome:
        return {"met": "proven"}.get(get_status(entry.outcome), get_status(entry.outcome).replace("_", " "))
    return "broken off" if entry.look or entry.at else "not started"


def _cell(show: Callable[[Entry], str | None], entry: Entry) -> str:
    return show(entry) or UNKNOWN


def _cost(entry: Entry) -> str | None:
    if entry.cost is None:
        return f"over {amounts.format_dollars(entry.at_least)}" if entry.at_least else None
    return amounts.format_dollars(entry.cost)


def _cost_status(entry: Entry) -> str | None:
    return entry.cost_status if entry.iterations is not None else None


def _tokens(entry: Entry) -> str | None:
    if entry.usage is None:
        return None
    more = "over " if entry.silent else ""
    return f"{more}{_thousands(entry.usage.input + entry.usage.cached)}/{_thousands(entry.usage.output)}"


def _thousands(number: int) -> str:
    if number < 10_000:
        return str(number)
    return f"{number / 1000:.0f}k" if number < 10_000_000 else f"{number / 1_000_000:.0f}M"


def _size(part: str) -> Callable[[Entry], str | None]:
    def show(entry: Entry) -> str | None:
        size: Size | None = getattr(entry.changed, part) if entry.changed else None
        return None if size is None else str(size)

    return show


def _new_tests(entry: Entry) -> str | None:
    tests = entry.new_tests
    if tests is None or (tests.why and not tests.added):
        return None
    red = (
        str(len(tests.red_on_base)) if not tests.unknown else f"{len(tests.red_on_base)}+" if tests.red_on_base else "?"
    )
    return f"{len(tests.added)}, {red} red" if tests.added else "none"


def _delta(number: int | None) -> str | None:
    return None if number is None else f"{number:+d}" if number else "0"


def _number(number: int | None) -> str | None:
    return None if number is None else str(number)


def _counted(of: str) -> Callable[[Entry], str | None]:
    def show(entry: Entry) -> str | None:
        found = getattr(entry.changed, of) if entry.changed else None
        return None if found is None else str(len(found))

    return show


_ROWS: tuple[tuple[str, Callable[[Entry], str | None]], ...] = (
    ("Last run", standing),
    ("Iterations", lambda e: _number(e.iterations)),
    ("Time", lambda e: None if e.seconds is None else amounts.format_duration(e.seconds)),
    ("Cost", _cost),
    ("Cost is", _cost_status),
    ("Tokens in/out", _tokens),
    ("Source diff", _size("source")),
    ("Test diff", _size("tests")),
    ("Other diff", _size("other")),
    ("Files touched", _counted("files")),
    ("Outside the area", _counted("outside")),
    ("New tests on base", _new_tests),
    ("Lint vs base", lambda e: _delta(e.delta("lint"))),
    ("Types vs base", lambda e: _delta(e.delta("types"))),
    ("Branches added", lambda e: _delta(e.changed.branching) if e.changed else None),
    ("Suppressions added", lambda e: _delta(e.changed.suppressions) if e.changed else None),
    ("Integrity notes", lambda e: _number(len(e.concerns)) if e.look else None),
)
_ALWAYS = ("Last run", "Iterations", "Time", "Cost", "Source diff", "Test diff", "Files touched")
