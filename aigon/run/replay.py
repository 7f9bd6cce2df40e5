"""Look at a run that is over: verify that its records agree, try its checks again, make a recording of it."""

import json
import os
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from msgspec import Struct, field

from aigon.errors import AigonError, environment, usage
from aigon.files.folders import TemporaryFolder
from aigon.git import objects
from aigon.git.person import Checkout
from aigon.git.repository import find_repository
from aigon.git.trusted import TrustedGit
from aigon.job.options import Options
from aigon.journal.events import (
    CheckFinished,
    CommitIntended,
    IterationFinished,
    RolledBack,
    RunFinished,
    RunStarted,
    TurnEnded,
)
from aigon.journal.records import Records
from aigon.journal.replay import EventOrder, NewerJournal, iterate_events, read_events
from aigon.journal.state import State
from aigon.journal.state_file import render_state_file
from aigon.loop.iteration_log import render_iteration_message
from aigon.model.criteria import VERDICT_WORDS
from aigon.model.outcomes import Met, get_exit_code, get_status
from aigon.proof.bench import list_deciding, make_bench
from aigon.proof.prove import frozen_of
from aigon.run.prepare import prepare
from aigon.run.repair import locate_state_file
from aigon.run.validate import open_present_world
from aigon.spec.document import parse_spec
from aigon.spec.features import ROOT

COMPARED = ("Feature", "Run", "Iteration", "Checks", "Criteria")
"""Trailers that follow from the journal."""
_MOST_SHOWN = 80
_LINK, _MODULE = "120000", "160000"


class _RunReading(Struct):
    """A run as its journal tells it: the state, its iteration commits, and those of them that the branch still has."""

    state: State = field(default_factory=State)
    made: dict[str, IterationFinished] = field(default_factory=dict)
    kept: dict[str, IterationFinished] = field(default_factory=dict)
    last_write: bytes | None = None


def verify_run(checkout: Checkout, journal: Path) -> Iterator[str]:
    """Yield each difference between the records of the run with this journal, a sentence each.

    Raises NewerJournal (exit 7) for a journal of another version.
    """
    reading = _RunReading()
    try:
        yield from _read_journal(journal, reading)
    except NewerJournal:
        raise
    except AigonError as error:
        yield f"journal: {error.what} ({error.where})"
        return
    if reading.state.started is None:
        yield f"journal: it has no run ({journal})"
        return
    records = Records(journal.parent)
    if journal == records.journal:
        state_file = locate_state_file(records, find_repository(checkout.root))
        yield from _compare_state_file(state_file, reading.last_write)
    yield from _compare_commits(checkout, reading)


def _read_journal(journal: Path, reading: _RunReading) -> Iterator[str]:
    """Fold the journal; yield what in it contradicts itself."""
    events, order, intended = read_events(journal), EventOrder(), ""
    for index, event in enumerate(events):
        if not order.accepts(event):
            yield f"journal: line {index + 1}, {event.event}, cannot come there"
            return
        reading.state = reading.state.apply(event)
        match event:
            case CommitIntended():
                intended = event.commit
            case IterationFinished(checkpoint=commit) if commit:
                if commit != intended and not reading.state.lost:
                    yield f"journal: iteration {event.number} ended with commit {commit[:8]}, which was never announced"
                reading.made[commit] = reading.kept[commit] = event
            case RolledBack(number=number):
                reading.kept = {commit: look for commit, look in reading.kept.items() if look.number <= number}
            case RunFinished():
                yield from _check_end(event, reading.state)
    reading.last_write = render_state_file(events)


def _check_end(event: RunFinished, state: State) -> Iterator[str]:
    if event.status != get_status(event.outcome):
        yield f"journal: the run ended as {event.status}, and its outcome is {get_status(event.outcome)}"
    if event.exit_code != (meant := int(get_exit_code(event.outcome))):
        yield f"journal: the run ended with exit code {event.exit_code}, and its outcome means {meant}"
    if isinstance(event.outcome, Met):
        for verdict in state.last.verdicts if state.last else ():
            if verdict.status != "met":
                yield f"journal: the run ended as proven, and criterion {verdict.criterion} did not pass"


def _compare_state_file(path: Path, wanted: bytes | None) -> Iterator[str]:
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        yield f"state file: there is none at {path}"
        return
    except (OSError, ValueError, RecursionError) as error:
        yield f"state file: it cannot be read: {error} ({path})"
        return
    for key, ours, theirs in _list_differences(json.loads(wanted or b"{}"), found):
        yield f"state file: {key} is {_show(theirs)}, and {_show(ours)} by the journal"


def _list_differences(ours: object, theirs: object, key: str = "") -> Iterator[tuple[str, object, object]]:
    """Yield where two JSON values differ, with both parts."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in theirs:  # an older version wrote fewer keys
            yield from _list_differences(ours.get(name), theirs.get(name), f"{key}.{name}" if key else name)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for at, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from _list_differences(one, other, f"{key}[{at}]")
    elif ours != theirs:
        yield key, ours, theirs


def _show(value: object) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def _compare_commits(checkout: Checkout, reading: _RunReading) -> Iterator[str]:
    started = reading.state.started
    assert started is not None, "the caller has looked"
    # A feature that is done may lie elsewhere as one commit, or as others: then its own only have to be there.
    tip = f"refs/heads/{started.branch}" if checkout.commit_of(f"refs/heads/{started.branch}") else ""
    span = (tip, f"^{started.base_commit}") if tip else ()
    on_branch = set((checkout.ask("rev-list", *span) or "").split()) if span else set()
    for commit, look in reading.made.items():
        where = f"commit {commit[:8]} of iteration {look.number}"
        message = checkout.ask("show", "--no-patch", "--format=%B", commit)
        if message is None:
            yield f"{where}: it is not in the repository"
            continue
        if tip and commit in reading.kept and commit not in on_branch:
            yield f"{where}: the branch {started.branch} does not have it"
        expected = _read_trailers(
            render_iteration_message(
                look, feature_id=started.feature_id, run_id=started.run_id, agent="", skipped=started.skip_validation
            )
        )
        found = _read_trailers(message)
        for name in COMPARED:
            if found.get(name) != expected.get(name):
                yield f"{where}: Aigon-{name} is {found.get(name)}, and {expected.get(name)} by the journal"
        yield from _compare_boxes(where, checkout.ask("cat-file", "blob", f"{commit}:{started.spec_path}"), look)
    yield from _find_strangers(checkout, span, started.run_id, reading.made)


def _read_trailers(message: str) -> dict[str, str]:
    lines = (line.removeprefix("Aigon-").partition(": ") for line in message.splitlines() if line.startswith("Aigon-"))
    return {name: value for name, _, value in lines}


def _compare_boxes(where: str, spec: str | None, look: IterationFinished) -> Iterator[str]:
    if spec is None:
        yield f"{where}: it has no spec"
        return
    try:
        ticked = {each.number: each.checked for each in parse_spec(spec.encode("utf-8", "surrogateescape")).criteria}
    except AigonError as error:
        yield f"{where}: its spec cannot be read: {error.what}"
        return
    for verdict in look.verdicts:
        is_ticked = ticked.get(verdict.criterion)
        if is_ticked != (verdict.status == "met" and not verdict.is_waived):
            box = "gone" if is_ticked is None else "ticked" if is_ticked else "open"
            verdict_word = VERDICT_WORDS[verdict.status]
            yield f"{where}: the box of criterion {verdict.criterion} is {box}, and by the journal it {verdict_word}"


def _find_strangers(
    checkout: Checkout, span: tuple[str, ...], run_id: str, made: Mapping[str, IterationFinished]
) -> Iterator[str]:
    """Yield commits on the branch that claim to be of this run, and that the journal does not know."""
    key = "%(trailers:key=Aigon-Run,valueonly,separator=%x20)"
    for line in (checkout.ask("log", f"--format=%H {key}", *span) or "").splitlines() if span else ():
        commit, _, run = line.partition(" ")
        if run == run_id and commit not in made:
            yield f"commit {commit[:8]}: it claims to be of this run, and the journal does not have it"


def record_run(checkout: Checkout, journal: Path, folder: Path) -> tuple[int, list[str]]:
    """Write an attempt into `folder` for each iteration that the branch kept.

    An attempt is numbered by its place, as a run that plays it counts, and is without aigon's own files. Returns how
    many attempts there are, and what cannot be recorded. Raises AigonError: exit 2 if the folder is not empty or there
    is no attempt, exit 7 if a commit is gone or nothing can be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise usage("A recording needs a new or empty folder", where=str(folder), hint="Name another: --record DIR")
    commits, said = _list_iterations(journal)
    if len(commits) < 2:
        raise usage("There is nothing to record: no iteration of this run has a commit", where=str(journal))
    left_out: list[str] = []
    with TemporaryFolder("record") as own:
        git = TrustedGit(checkout, own / "git", own / "objects")
        git.prepare(checkout)
        for place, ((_, before), (number, commit)) in enumerate(pairwise(commits), 1):
            try:
                left_out += _record_attempt(git, folder / str(place), before, commit)
                (folder / str(place) / "says.txt").write_text(said.get(number, ""), encoding="utf-8", errors="replace")
            except OSError as error:
                raise environment(f"The recording cannot be written: {error.strerror}", where=str(folder)) from error
    return len(commits) - 1, left_out


def _list_iterations(journal: Path) -> tuple[list[tuple[int, str]], dict[int, str]]:
    """Return where the run began and the commit of each iteration that was kept, and what agents said in each."""
    commits: list[tuple[int, str]] = []
    said: dict[int, str] = {}
    for event in iterate_events(journal):
        match event:
            case RunStarted() if not commits:
                commits.append((event.earlier_iterations, event.head))
            case TurnEnded(turn=turn):
                said[turn.number] = turn.said
            case IterationFinished(checkpoint=commit, number=number) if commit:
                commits = [*(each for each in commits if each[0] < number), (number, commit)]
            case RolledBack(number=number):
                commits = [commits[0], *(each for each in commits[1:] if each[0] <= number)]
    return commits, said


def _record_attempt(git: TrustedGit, folder: Path, before: str, commit: str) -> Iterator[str]:
    old, new = objects.list_entries(git, before), objects.list_entries(git, commit)
    changed = {path: entry for path, entry in new.items() if not _is_own(path) and old.get(path) != entry}
    files = {path: entry for path, entry in changed.items() if entry.mode not in (_LINK, _MODULE)}
    yield from (f"{path} (a link or a submodule)" for path in changed.keys() - files.keys())
    blobs = dict(objects.read_objects(git, {entry.sha for entry in files.values()}))
    folder.mkdir(parents=True)
    for path, entry in files.items():
        target = folder / "files" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(blobs[entry.sha])
        target.chmod(0o755 if entry.mode == "100755" else 0o644)
    if gone := [path for path in old if path not in new and not _is_own(path)]:
        (folder / "delete").write_bytes(os.fsencode("".join(f"{path}\n" for path in gone)))


def _is_own(path: str) -> bool:
    return path.startswith((f"{ROOT}/", ".aigon/"))


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
