"""What `aigon doctor --repair` did, for people and as data."""

from collections.abc import Iterator
from dataclasses import asdict

from aigon.model.diagnosis import RepairReport


def document(done: RepairReport) -> dict[str, object]:
    """Everything as data."""
    return {
        "exit_code": int(done.exit_code),
        "repaired": [{**asdict(each), "kept_as": each.kept_as or None} for each in done.repaired],
        "unmended": [asdict(each) for each in done.unmended],
        "ended_processes": done.ended,
    }


def text(done: RepairReport) -> str:
    """A paragraph per file; one sentence where nothing was to do."""
    return "\n".join(_lines(done)) or "Everything is sound: nothing was to do."


def _lines(done: RepairReport) -> Iterator[str]:
    for each in done.repaired:
        yield f"{each.what}: {each.how}\n  {each.path}" + (f"\n  kept as {each.kept_as}" if each.kept_as else "")
    for left in done.unmended:
        yield f"{left.what}: left as it is: {left.why}\n  {left.path}" + (f"\n  do: {left.do}" if left.do else "")
    if done.ended:
        yield f"{done.ended} processes that killed loops had left are ended"
