"""Install what was fetched as this repository's record of a run: a claim, which `feature-done` proves again."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from aigon.done.checkouts import save_commit_aside
from aigon.errors import environment
from aigon.files.atomic import make_lasting, write_atomic
from aigon.files.home import ensure_home
from aigon.files.locks import hold_lock
from aigon.git.person import NO_HOOKS, Checkout
from aigon.git.repository import find_repository
from aigon.job import branch
from aigon.job.world import World
from aigon.journal.records import Records, list_candidates, locate_records, new_run_id
from aigon.process.running import loop_lock
from aigon.proof import frozen
from aigon.records.portable import FROZEN, JOURNAL, PortableRecord, gather_record
from aigon.run.record_repair import repair_state_file, repair_views
from aigon.run.repair import locate_state_file
from aigon.run.replay import verify_run
from aigon.worktrees.cleanup import remove_safely
from aigon.worktrees.worktree import choose_free_slot

ASIDE = "aside"
"""The folder next to aigon's records of features that keeps those that gave way to fetched ones."""
RUNS = Path(".aigon", "runs")


def install_record(main: Checkout, record: PortableRecord, tip: str, source: str, *, give_way: bool) -> bool:
    """Make a fetched record this repository's own, and its branch be at `tip`; False if all of it is here already.

    What is here and not there keeps it from being installed; if it is to `give_way`, it is saved aside. `source` is the
    record's commit. Raises AigonError (exit 7) with everything as it was.
    """
    home, manifest = ensure_home(main.common_dir), record.manifest
    records = locate_records(home, manifest.feature, manifest.label)
    with hold_lock(loop_lock(home, manifest.feature, manifest.label), f"Feature {manifest.feature}"):
        mine = gather_record(records, records.candidate(), main.root / RUNS) if records.has_begun() else None
        known = main.commit_of(f"refs/heads/{manifest.branch}")
        has_all = known is not None and main.is_ancestor(tip, known)
        if mine and has_all and mine.continues(record):
            return False
        differs = (mine and not record.continues(mine)) or (known and not main.is_ancestor(known, tip))
        if differs and not give_way:
            raise environment(
                f"Feature {manifest.feature} has continued both here and elsewhere",
                where=f"{manifest.branch}: {(known or '')[:12]} here, {tip[:12]} on the remote",
                hint=f"aigon cancel {manifest.feature} && aigon reopen {manifest.feature} saves the work here aside",
            )
        with _moved_branch(main, records, manifest.branch, known, tip, park=give_way):
            _refuse_contradictions(main, record)
            if differs and records.folder.exists():
                make_lasting(home / ASIDE)
                records.folder.rename(home / ASIDE / f"{records.folder.name}-{new_run_id()}")
            _write_records(main, records, record, source)
    return True


@contextmanager
def _moved_branch(
    main: Checkout, records: Records, name: str, old: str | None, tip: str, *, park: bool
) -> Iterator[None]:
    """Move the branch to `tip`, without its worktree, which the next run makes anew; put it back after an error."""
    if old == tip:
        yield
        return
    candidate = records.candidate()
    if candidate and candidate.path and (reason := remove_safely(main, candidate, park=park)):
        raise environment(f"The worktree of {candidate.label} stays: {reason}", where=candidate.path)
    if old and (place := main.checked_out_elsewhere(name) or (str(main.root) if main.branch == name else "")):
        raise environment(f"The branch {name} is checked out", where=place, hint="git switch to another one there")
    if old and not main.is_ancestor(old, tip):
        save_commit_aside(main, name, old)
    main.git(*NO_HOOKS, "update-ref", f"refs/heads/{name}", tip, old or "0" * len(tip))
    try:
        yield
    except BaseException:
        main.git(
            *NO_HOOKS, "update-ref", *(("-d",) if old is None else ()), f"refs/heads/{name}", *filter(None, (old,))
        )
        raise


def _refuse_contradictions(main: Checkout, record: PortableRecord) -> None:
    """Raise AigonError (exit 7) if the journal says anything else than the commits of the branch."""
    if not record.manifest.run:
        return
    with TemporaryDirectory() as folder:
        journal = Path(folder, f"journal-{record.manifest.run}.jsonl")
        journal.write_bytes(record.files[JOURNAL])
        if wrong := next(verify_run(main, journal), ""):
            raise environment(f"The record {record.manifest.name} is refused: {wrong}", where=record.manifest.branch)


def _write_records(main: Checkout, records: Records, record: PortableRecord, source: str) -> None:
    """Write the files, the mark that they are claims first and what makes them count last."""
    home, manifest, old = ensure_home(main.common_dir), record.manifest, records.candidate()
    make_lasting(records.folder)
    mark = {"commit": source, "at": World.now(), "aigon": manifest.aigon}
    write_atomic(records.fetched, json.dumps(mark).encode() + b"\n", lasting=True)
    records.set_origin(manifest.origin)
    for path, data in record.files.items():
        if path.startswith("journal-"):
            write_atomic(records.folder / path, data, lasting=True)
        elif path.startswith("logs/"):
            file = main.root / RUNS / manifest.run / path.removeprefix("logs/")
            if not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                write_atomic(file, data)
    if manifest.candidate:
        others = (each for each in list_candidates(home) if each != old)
        place = (old.path, old.slot, old.ready) if old else ("", choose_free_slot(others), "")
        records.set_candidate(replace(manifest.candidate, path=place[0], slot=place[1], ready=place[2]))
    branch.ignore_runtime_files(main)
    if manifest.run:
        for file in (frozen.copy_of(records.frozen), records.frozen):
            write_atomic(file, record.files[FROZEN], lasting=True)
        write_atomic(records.journal, record.files[JOURNAL], lasting=True)
        events = records.events()
        for _ in repair_state_file(locate_state_file(records, find_repository(main.root)), events):
            pass
        for _ in repair_views(main.root / RUNS / manifest.run, lambda: events):
            pass
