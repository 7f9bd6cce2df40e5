"""Try what decides a run once more on each of its iteration commits: a difference is a flaky check."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from aigon.git.person import Checkout
from aigon.job.options import Options
from aigon.journal.events import CheckFinished, IterationFinished
from aigon.journal.replay import iterate_events
from aigon.proof.bench import list_deciding, make_bench
from aigon.proof.prove import frozen_of
from aigon.run.prepare import prepare
from aigon.run.validate import open_present_world


class RecheckedCommit(Struct, frozen=True):
    """An iteration commit: how many checks ran on it again, and what came out differently: then and now, by check."""

    number: int
    commit: str
    checks: int
    flaky: Mapping[str, tuple[str, str]]


def recheck_run(checkout: Checkout, feature: str, journal: Path) -> Iterator[RecheckedCommit]:
    """Yield each iteration commit of a run after its checks ran again in a clean room.

    The branch of the feature has to be checked out. Raises AigonError as a validation does.
    """
    options = Options(feature=feature)
    prepared = prepare(checkout, options, with_agent=False)
    with open_present_world(checkout, prepared) as (world, job, _):
        checks = list_deciding(job)
        for look, statuses in _list_results(journal):
            tree = world.workspace.trusted.run("rev-parse", f"{look.checkpoint}^{{tree}}").decode().strip()
            bench = make_bench(job, world, frozen_of(job, world), tree, world.folder / str(look.number), look.findings)
            ran = bench.run(tree, [check for check in checks if check.name in statuses], "again")
            now = {name: result.finding.status for name, result in ran.items()}
            flaky = {name: (statuses[name], status) for name, status in now.items() if statuses[name] != status}
            yield RecheckedCommit(look.number, look.checkpoint, len(now), flaky)


def _list_results(journal: Path) -> Iterator[tuple[IterationFinished, Mapping[str, str]]]:
    """Yield the assessment of each iteration commit with the results of its checks and of its criteria's commands."""
    statuses: dict[str, str] = {}
    number = 0
    for event in iterate_events(journal):
        if isinstance(event, CheckFinished):
            statuses = statuses if event.number == number else {}
            number, statuses[event.finding.check] = event.number, event.finding.status
        elif isinstance(event, IterationFinished) and event.checkpoint:
            known: dict[str, str] = {finding.check: finding.status for finding in event.findings}
            ran = {name: status for name, status in {**statuses, **known}.items() if status != "skipped"}
            yield event, ran if number == event.number else known
