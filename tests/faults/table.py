"""The kill matrix as a table, and the trials that did not go well."""

from collections.abc import Sequence

from tests.faults.matrix import Tried

COLUMNS = ("scenario", "trials", "kills", "lost", "duplicated", "repeated", "orphans", "locks", "trees", "failed")


def table(tried: Sequence[Tried]) -> str:
    """A row per scenario, and one for all."""
    names = dict.fromkeys(f"{one.trial.mode}:{one.trial.agent}" for one in tried)
    rows = [_row(name, [t for t in tried if f"{t.trial.mode}:{t.trial.agent}" == name]) for name in sorted(names)]
    rows = [COLUMNS, *rows, _row("all", tried)]
    wide = [max(len(row[at]) for row in rows) for at in range(len(COLUMNS))]
    return "\n".join("  ".join(word.ljust(size) for word, size in zip(row, wide, strict=True)).rstrip() for row in rows)


def _row(name: str, tried: Sequence[Tried]) -> tuple[str, ...]:
    verdicts = [one.verdict for one in tried]
    sums = [
        sum(getattr(verdict, of) for verdict in verdicts)
        for of in ("kills", "lost", "duplicated", "repeated", "orphans", "locks", "trees")
    ]
    return (name, *map(str, (len(tried), *sums, sum(bool(verdict.reasons) for verdict in verdicts))))


def failures(tried: Sequence[Tried]) -> str:
    """Each trial that did not go well: why, how to repeat it, and where its laboratory is."""
    return "\n\n".join(failure(one) for one in tried if one.verdict.reasons)


def failure(one: Tried) -> str:
    """Why, how to repeat it, and where its laboratory is."""
    reasons = "\n".join(f"  - {reason}" for reason in one.verdict.reasons)
    return f"FAILED {one.trial}\n{reasons}\n  repeat: python -m tests.faults --only '{one.trial}'\n  kept: {one.kept}"
