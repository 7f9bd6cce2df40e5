"""The cells of the features and agents that a person names, made ready on the remote, and the note about a fleet."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct, json

from aigon import __version__
from aigon.agents.configured import find_agent, resolve_agents
from aigon.config.loading import load_configuration, open_work_tree
from aigon.errors import AigonError, Exit, environment, usage
from aigon.files.atomic import write_atomic
from aigon.files.home import ensure_home
from aigon.files.locks import read_start
from aigon.fleet.lease import CellOrder, CellSummary, LeaseNote, name_owner, read_notes
from aigon.git.person import Checkout
from aigon.git.remote import PushError, RefChange, Remote, probe_remote
from aigon.job.job import list_known_candidates
from aigon.job.options import Options, get_limit
from aigon.journal.records import candidate_records
from aigon.model.agents import Candidate
from aigon.model.outcomes import MachineFact
from aigon.records.exchange import RUNS, locate_ref, open_remote, plan_push, read_prefix, read_remote_record
from aigon.records.portable import format_name, gather_record
from aigon.spec.features import Feature
from aigon.spec.files import locate_feature
from aigon.worktrees.setup import put_back, require_startable, set_up_feature

REMOTE = "fleet"
"""What the git directory for all that a fleet says to the remote is named after."""
AT_ONCE = 100
"""Refs in one push."""


class FleetPlan(Struct, frozen=True):
    """The plan of a fleet: the cells by name, and what the remote says that earlier fleets came to."""

    id: str
    limit: float
    orders: Mapping[str, CellOrder]
    notes: Mapping[str, LeaseNote]


class FleetRequest(Struct, frozen=True):
    """A request for a fleet, possible as far as can be seen from here. `kinds` are of the agents."""

    features: tuple[str, ...]
    kinds: Mapping[str, str]
    limit: float
    lease: float
    url: str


def check_request(
    main: Checkout, features: Sequence[str], agents: Sequence[str], max_cost: float | None
) -> FleetRequest:
    """Look at a request, and try the remote; nothing is changed.

    Raises AigonError: exit 2 for unknown features or agents, no limit on cost, or no remote that others can reach; exit
    7 if the remote is away or cannot do what leases need.
    """
    read = open_work_tree(main.root)
    config = load_configuration(read)
    limit = get_limit(config, Options("", max_cost=max_cost), "max_cost")
    if limit is None:
        what = "A fleet needs a limit on what all of it may cost"
        raise usage(what, where="--max-cost, guards.maxCost", hint="aigon fleet run ... --max-cost 50")
    names = agents or ([config.default_agent] if config.default_agent else [])
    if not names:
        raise usage("No agent is named", where="--agents", hint="aigon fleet run ... --agents claude,codex")
    requested = {each.name: each.agent for each in resolve_agents(main.root, names)}
    kinds = {name: find_agent(main.root, config, agent, read).adapter for name, agent in requested.items()}
    wanted = tuple(dict.fromkeys(features))
    for each in wanted:
        require_startable(main, each)
    remote = open_remote(main, REMOTE)
    url = _require_shared(remote)
    probe(main, remote)
    return FleetRequest(wanted, kinds, limit, float(config.fleet.lease), url)


def take_up(main: Checkout, request: FleetRequest, say: Callable[[str], None]) -> FleetPlan:
    """Take up the features, and push branch and record of each cell that the remote has not.

    Raises AigonError (exit 2 or 7); a feature of which the remote has nothing is put back then.
    """
    remote, prefix = open_remote(main, REMOTE), read_prefix(main)
    cells, begun = dict[str, Candidate](), list[Feature]()
    try:
        for feature in request.features:
            if not list_known_candidates(main, feature):
                begun.append(locate_feature(main.root, feature))
            for cell in set_up_feature(main, feature, [*request.kinds], say, elsewhere=True):
                cells[format_name(cell.feature, cell.label)] = cell
        bases = _publish(main, remote, cells, prefix)
    except AigonError as error:
        if not (isinstance(error, PushError) and error.trouble == "away"):  # what was pushed may be there
            there = remote.list_refs(locate_ref(prefix, "records", "*"))
            taken = {ref.rpartition("/")[2].rpartition("--")[0] for ref in there}
            put_back(main, [each for each in begun if each.id not in taken], say)
        raise
    newest = remote.git.attempt("merge-base", "--independent", *{*bases.values()})[1].decode().split()
    orders = {
        name: CellOrder(__version__, "", request.url, prefix, name, cell.agent, request.kinds[cell.agent],
                        cell.branch, newest[0] if len(newest) == 1 else bases[name], request.lease)
        for name, cell in cells.items()
    }  # fmt: skip
    return FleetPlan(name_owner(), request.limit, orders, read_leases(remote, prefix, orders))


def probe(main: Checkout, remote: Remote) -> None:
    """Try on the remote what leases rest on. Raises AigonError (exit 7) that names what is missing."""
    nonce = name_owner()
    first, second, third = (remote.commit_words(f"aigon: probe {nonce} {number}\n") for number in (1, 2, 3))
    probe_remote(remote, read_prefix(main), nonce, (first, second, third))


def check_remote(main: Checkout) -> MachineFact:
    """Return whether a fleet can use the remote, as a fact of `aigon doctor`; refs are made there and deleted."""
    title, url = "Git remote", ""
    try:
        remote = open_remote(main, REMOTE)
        url = _require_shared(remote)
        probe(main, remote)
    except AigonError as error:
        problem = f"{error}. {error.hint}"
        return MachineFact("remote", title, url or "none", {"usable": False}, problem=problem, code=Exit.ENVIRONMENT)
    return MachineFact("remote", title, f"{url}: a fleet can use it", {"usable": True})


def _require_shared(remote: Remote) -> str:
    """Return the address for workers, without credentials. Raises AigonError (exit 2) for a working copy."""
    path = Path(remote.root, remote.url.removeprefix("file://"))
    if ("://" not in remote.url and not re.match(r"[^/]+:", remote.url)) or remote.url.startswith("file://"):
        if (path / ".git").exists():
            what = "The remote is a working copy, whose files would not follow a push"
            raise usage(what, where=remote.url, hint="git clone --bare it, and make that the remote")
        return str(path.resolve())
    parts = urlsplit(remote.url)
    if parts.scheme in ("http", "https"):  # each worker has its own
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    return remote.url


def _publish(main: Checkout, remote: Remote, cells: Mapping[str, Candidate], prefix: str) -> dict[str, str]:
    """Push branch and record of each cell of which the remote has no record; return the commit that each begins at.

    A record that is there may be further on, or of a fleet that was started elsewhere and has a base of its own.
    """
    before: Mapping[str, str] | None = None
    while True:
        known = remote.list_refs(locate_ref(prefix, "records", "*"), "refs/heads/feature-*")
        try:
            return _push_missing(main, remote, cells, prefix, known)
        except PushError as error:
            if error.trouble != "moved" or known == before:
                raise
        before = known  # another fleet takes up the same features right now


def _push_missing(
    main: Checkout, remote: Remote, cells: Mapping[str, Candidate], prefix: str, known: Mapping[str, str]
) -> dict[str, str]:
    home, bases, changes = ensure_home(main.common_dir), dict[str, str](), dict[str, RefChange]()
    refs = {name: locate_ref(prefix, "records", name) for name in cells}
    remote.fetch(
        [each for name, ref in refs.items() for each in (ref, f"refs/heads/{cells[name].branch}") if each in known]
    )
    for name, ref in refs.items():
        record = gather_record(candidate_records(home, cells[name]), cells[name], main.root / RUNS)
        if ref not in known:
            changes |= plan_push(remote, record, ref, known, look=True)
        else:
            with suppress(AigonError):  # a record that is cut or forged ends its own cell, on a worker
                record = read_remote_record(remote, name, known[ref])
        bases[name] = record.manifest.origin.commit
        if changes and (len(changes) >= AT_ONCE or len(bases) == len(cells)):
            remote.push(changes)
            changes = {}
    return bases


def read_leases(remote: Remote, prefix: str, names: Sequence[str] | Mapping[str, object]) -> dict[str, LeaseNote]:
    """Return what the newest lease commits say, by cell."""
    pattern = locate_ref(prefix, "leases", "*")
    wanted = {locate_ref(prefix, "leases", name): name for name in names}
    listed = {ref: commit for ref, commit in remote.list_refs(pattern).items() if not wanted or ref in wanted}
    remote.fetch(list(listed))
    return {ref.rpartition("/")[2]: note for ref, note in read_notes(remote, listed).items()}


NOTE = "fleet.json"
"""In the home of a repository."""


class FleetNote(Struct, frozen=True):
    """The last fleet: its name, the address of its scheduler, the process that runs it, and its cells by name."""

    id: str = ""
    address: str = ""
    pid: int = 0
    start: str = ""
    cells: Mapping[str, CellSummary] = {}

    @property
    def is_running(self) -> bool:
        """True if the process is still there."""
        return bool(self.start) and read_start(self.pid) == self.start


def write_note(home: Path, id: str, address: str, cells: Mapping[str, CellSummary]) -> None:
    pid = os.getpid()
    write_atomic(home / NOTE, json.encode(FleetNote(id, address, pid, read_start(pid), cells)) + b"\n")


def update_note(home: Path, id: str, address: str, cells: Mapping[str, CellSummary]) -> None:
    """Write down where the cells of a fleet are, unless another one was started in the repository since."""
    if read_note(home).id == id:
        write_note(home, id, address, cells)


def read_note(home: Path) -> FleetNote:
    """Return what is known of the last fleet; an empty note if there was none."""
    try:
        return _read_note(home / NOTE, (home / NOTE).stat().st_mtime_ns)
    except OSError:
        return FleetNote()


@lru_cache(maxsize=4)
def _read_note(file: Path, _modified: int) -> FleetNote:
    try:
        return json.decode(file.read_bytes(), type=FleetNote)
    except ValueError:
        return FleetNote()


def require_running(home: Path) -> FleetNote:
    """Return how to reach the fleet that runs. Raises AigonError (exit 7) if none does."""
    note = read_note(home)
    if not (note.address and note.is_running):
        raise environment("No fleet runs that was started in this repository", where=str(home / NOTE),
                          hint="aigon fleet run 42 43 --agents claude --max-cost 20")  # fmt: skip
    return note
