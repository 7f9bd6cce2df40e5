"""Iterations by hand: what an agent changed, what was red, what was open."""

from msgspec.structs import replace

from aigon.journal.events import Event, IterationFinished, IterationStarted, Notice, TurnEnded
from aigon.model.changes import FileChange
from aigon.model.checks import Finding, Problem, TestCounts
from aigon.model.criteria import Verdict
from aigon.model.turns import Turn, TurnEnd


def at(minute: int) -> str:
    """A time of day."""
    return f"2026-11-20T10:{minute % 60:02}:00.000+00:00"


def red(*tests: str, message: str = "AssertionError: 6 != 5", check: str = "tests") -> Finding:
    """A red check, with one failing test for each name."""
    problems = tuple(Problem(f"{message}\nmore", "tests/test_a.py", 7, test=name) for name in tests)
    counts = TestCounts(15, 15 - len(tests), len(tests))
    names = tuple(f"{check}-{name}" for name in tests)
    return Finding(
        check, "tests", check.title(), "fail", f"{len(tests)} failed", counts=counts, problems=problems,
        fingerprints=names, duration=2.5,
    )  # fmt: skip


GREEN = Finding("lint", "lint", "Lint", "pass", "no problems")


def begun(number: int, model: str = "sonnet", rung: int = 0) -> IterationStarted:
    """A turn begins."""
    return IterationStarted(at(number), number, "claude", model, rung, 2, 4000)


def turned(number: int, end: TurnEnd = "finished", **more: object) -> TurnEnded:
    """A turn ends."""
    turn = Turn(number, "claude", "sonnet", end, 0, cost=0.2, cost_status="reported", duration=60.0)
    return TurnEnded(at(number), replace(turn, **more))


def looked(number: int, *findings: Finding, met: int = 0, name: str = "", **more: object) -> IterationFinished:
    """The look after it: of two criteria the first `met` are proven; `name` is the fingerprint."""
    verdicts = tuple(
        Verdict(n, "met" if n <= met else "unmet", "verify", reason="" if n <= met else "exit code 1") for n in (1, 2)
    )
    passed = sum(f.counts.passed for f in findings if f.counts)
    score = (met, sum(f.status == "pass" for f in findings), passed)
    changes = (FileChange(f"src/a{number}.py", 10, 2),) if number else ()
    event = IterationFinished(
        at(number + 1), number, at(number), "c" * 40, findings, verdicts, changes, name, score, ""
    )
    return replace(event, **more)


def warned(text: str) -> Notice:
    """aigon warns of something."""
    return Notice(at(0), text, "warning")


def iteration(number: int, *findings: Finding, met: int = 0, name: str = "", **more: object) -> list[Event]:
    """A turn and the look after it."""
    return [begun(number), turned(number), looked(number, *findings, met=met, name=name, **more)]


def run(count: int) -> list[Event]:
    """A base and `count` iterations in which nothing moves on."""
    events: list[Event] = [looked(0, red("test_a"), GREEN, name="f0")]
    return events + [e for n in range(1, count + 1) for e in iteration(n, red("test_a"), GREEN, name=f"f{n % 3}")]
