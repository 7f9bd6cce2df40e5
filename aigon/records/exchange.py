"""Push, fetch and list the records of runs on the git remote.

What is fetched becomes this repository's record: a claim, which `feature-done` proves again.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct
from msgspec.structs import replace

from aigon.config.loading import load_configuration, open_work_tree
from aigon.done.checkouts import save_commit_aside
from aigon.errors import AigonError, environment, usage
from aigon.files.atomic import make_lasting, write_atomic
from aigon.files.home import ensure_home
from aigon.files.locks import hold_lock, is_locked
from aigon.git import commits, objects
from aigon.git.person import NO_HOOKS, Checkout
from aigon.git.remote import NOTHING, RefChange, Remote
from aigon.git.repository import find_repository
from aigon.job import branch
from aigon.job.job import list_known_candidates
from aigon.job.spec_locations import locate_spec
from aigon.job.world import World
from aigon.journal.records import Records, candidate_records, list_candidates, locate_records, new_run_id
from aigon.model.agents import Candidate
from aigon.process.running import loop_lock
from aigon.proof import frozen
from aigon.records.portable import FROZEN, JOURNAL, LARGEST, PortableRecord, gather_record, read_record
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
        with _move_branch(main, records, manifest.branch, known, tip, park=give_way):
            _refuse_contradictions(main, record)
            if differs and records.folder.exists():
                make_lasting(home / ASIDE)
                records.folder.rename(home / ASIDE / f"{records.folder.name}-{new_run_id()}")
            _write_records(main, records, record, source)
    return True


@contextmanager
def _move_branch(
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
        for _ in repair_views(main.root / RUNS / manifest.run, events):
            pass


class RecordRef(Struct, frozen=True):
    """A record on the remote: its name, the ref, the record's commit, and what was done with it here."""

    name: str
    ref: str
    commit: str
    done: str = ""


def locate_ref(prefix: str, kind: str, name: str) -> str:
    """Return the ref of a record or a lease. Names are flat: `42` and `42/claude` could not both exist."""
    return f"{prefix}{kind}/{name}"


def read_prefix(checkout: Checkout) -> str:
    """Return where records and leases are on the remote, with a slash at its end."""
    return load_configuration(open_work_tree(checkout.root)).fleet.ref_prefix.rstrip("/") + "/"


def open_remote(main: Checkout, name: str) -> Remote:
    return Remote(main, ensure_home(main.common_dir) / f"git-remote-{name}")


def resolve_feature(main: Checkout, wanted: str) -> str:
    """Return the feature's ID, or `wanted` where only the remote may know it."""
    if known := list_known_candidates(main, wanted):
        return known[0].feature
    with suppress(AigonError):
        return locate_spec(main.root, main.common_dir, wanted).feature.name_for_people
    return wanted


def list_records(main: Checkout, wanted: str, agent: str | None = None) -> tuple[RecordRef, ...]:
    """Return the records of a feature on the remote. Raises AigonError (exit 7) if the remote does not answer."""
    name = resolve_feature(main, wanted)
    return _list_published(open_remote(main, name), read_prefix(main), name, agent)[0]


def _list_published(
    remote: Remote, prefix: str, name: str, agent: str | None
) -> tuple[tuple[RecordRef, ...], Mapping[str, str]]:
    """Return the records of a feature on the remote, and what its branches are there, at one moment."""
    start = locate_ref(prefix, "records", f"{name}--")
    refs = remote.list_refs(f"{start}*", f"refs/heads/feature-{name}", f"refs/heads/feature-{name}-*")
    found = [RecordRef(ref.rpartition("/")[2], ref, sha) for ref, sha in sorted(refs.items()) if ref.startswith(start)]
    wanted = tuple(each for each in found if agent in (None, each.name.removeprefix(f"{name}--")))
    return wanted, {ref: sha for ref, sha in refs.items() if not ref.startswith(start)}


def push_records(main: Checkout, wanted: str, agent: str | None = None) -> tuple[RecordRef, ...]:
    """Push the records of a feature, or those of `agent`, each with its branch as one.

    Raises AigonError: exit 2 if there is nothing to push, exit 7 if the remote is further on, refuses or is away.
    """
    name, prefix = resolve_feature(main, wanted), read_prefix(main)
    remote = open_remote(main, name)
    pushed = []
    for records, candidate in _list_own(main, name, agent):
        record = _gather(main, records, candidate)
        ref, branch = locate_ref(prefix, "records", record.manifest.name), f"refs/heads/{record.manifest.branch}"
        known = remote.list_refs(ref, branch)
        changes = plan_push(remote, record, ref, known, look=True)
        if changes:
            remote.push(changes)
        commit = changes[ref][1] if ref in changes else known[ref]
        pushed.append(RecordRef(record.manifest.name, ref, commit, "pushed" if changes else "was there already"))
    if not pushed:
        whom = f" of {agent}" if agent else ""
        raise usage(f"Feature {name} has no records{whom} here", hint=f"aigon feature-implement {name} --loop")
    return tuple(pushed)


def _list_own(main: Checkout, name: str, agent: str | None) -> Iterator[tuple[Records, Candidate | None]]:
    home = ensure_home(main.common_dir)
    for each in list_known_candidates(main, name):
        records = candidate_records(home, each)
        if agent in (None, each.label, each.agent) and records.origin():
            yield records, each
    solo = locate_records(home, name)
    if agent is None and solo.has_begun():
        yield solo, None


def _gather(main: Checkout, records: Records, candidate: Candidate | None) -> PortableRecord:
    """Return the record, and with it what people committed on the branch since; not what a loop is about to commit."""
    record = gather_record(records, candidate, main.root / RUNS)
    manifest, home = record.manifest, ensure_home(main.common_dir)
    tip = main.commit_of(f"refs/heads/{manifest.branch}")
    is_live = is_locked(loop_lock(home, manifest.feature, manifest.label))
    if tip and not is_live and main.is_ancestor(manifest.commit, tip):
        return replace(record, manifest=replace(manifest, commit=tip))
    return record


def plan_push(
    remote: Remote, record: PortableRecord, ref: str, known: Mapping[str, str], *, look: bool
) -> dict[str, RefChange]:
    """Return the changes that bring the branch and the record there, where `known` is what the remote has.

    With `look`, what is there is read first. Raises AigonError (exit 7) if it is more than is here.
    """
    branch, commit = f"refs/heads/{record.manifest.branch}", record.manifest.commit
    old, old_branch = known.get(ref, NOTHING), known.get(branch, NOTHING)
    files = record.encode()
    if look and old:
        remote.fetch([each for each in (ref, branch) if each in known])
        theirs = read_remote_record(remote, record.manifest.name, old)
        if not record.continues(theirs):
            _refuse_older(remote, record)
        if theirs.encode() == files and old_branch == commit:
            return {}
        own_past = theirs.manifest.commit == old_branch  # the loop went back since, and nobody else pushed
    elif look and old_branch:
        remote.fetch([branch])
        own_past = False
    else:
        own_past = True
    if old_branch and not own_past and not _is_within(remote, commit, old_branch):
        _refuse_older(remote, record)
    made = commits.commit_files(remote.git, files, f"aigon: records of {record.manifest.name}\n", old)
    changes = {branch: (old_branch, commit)} if commit != old_branch else {}
    return {**changes, ref: (old, made)}


def _is_within(remote: Remote, commit: str, ancestor: str) -> bool:
    return ancestor == commit or remote.git.attempt("merge-base", "--is-ancestor", ancestor, commit)[0] == 0


def _refuse_older(remote: Remote, record: PortableRecord) -> None:
    name, _, label = record.manifest.name.rpartition("--")
    option = f" --agent {label}" if label else ""
    what = f"The remote has more of {record.manifest.name} than is here"
    raise environment(what, where=remote.url, hint=f"aigon records fetch {name}{option}, then push again")


def read_remote_record(remote: Remote, name: str, commit: str) -> PortableRecord:
    """Return a record that was fetched. Raises AigonError (exit 7) for one that is not what aigon pushes."""
    git = remote.git
    entries = objects.list_entries(git, commit)
    sizes = objects.read_sizes(git, {each.sha for each in entries.values()})
    if not all(each.mode == "100644" for each in entries.values()) or sum(size for _, size in sizes.values()) > LARGEST:
        what = f"The record {name} is refused: it holds what is no file, or more than {LARGEST >> 20} MB"
        raise environment(what, where=remote.url)
    content = dict(objects.read_objects(git, sizes))
    return read_record(name, {path: content[each.sha] for path, each in entries.items()}, remote.url)


def fetch_records(
    main: Checkout, wanted: str, agent: str | None = None, *, give_way: bool = False
) -> tuple[RecordRef, ...]:
    """Take over the records of a feature, or those of `agent`, from the remote.

    What is here and not there is saved aside if it is to `give_way`. Raises AigonError: exit 2 without records, exit
    7 for a record that is cut, altered or forged, and if there is more here than there.
    """
    name, prefix = resolve_feature(main, wanted), read_prefix(main)
    remote = open_remote(main, name)
    found, branches = _list_published(remote, prefix, name, agent)
    if not found:
        whom = f" of {agent}" if agent else ""
        raise usage(f"There are no records of feature {name}{whom} on the remote", where=remote.url,
                    hint=f"Where it ran: aigon records push {name}")  # fmt: skip
    remote.fetch([*(each.ref for each in found), *branches])
    return tuple(take_record(main, remote, each, branches, give_way=give_way) for each in found)


def take_record(
    main: Checkout, remote: Remote, each: RecordRef, known: Mapping[str, str], *, give_way: bool
) -> RecordRef:
    """Install a record that was fetched with its branch, of which `known` says what it is on the remote."""
    record = read_remote_record(remote, each.name, each.commit)
    tip = _find_tip(remote, record, known)
    taken = install_record(main, record, tip, each.commit, give_way=give_way)
    return replace(each, done="fetched" if taken else "was here already")


def _find_tip(remote: Remote, record: PortableRecord, known: Mapping[str, str]) -> str:
    """Return the tip of the branch that a record goes with. Raises AigonError (exit 7) unless they agree."""
    commit = record.manifest.commit
    tip = known.get(f"refs/heads/{record.manifest.branch}", "")
    if not tip or not _is_within(remote, tip, commit):
        what = f"The record {record.manifest.name} is refused: the branch does not have {commit[:12]}"
        raise environment(what, where=f"{record.manifest.branch} on {remote.url}")
    return tip
