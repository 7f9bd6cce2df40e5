"""The cells of the features and agents that a person names, made ready on the remote."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct

from aigon import __version__
from aigon.agents.configured import find_agent, resolve_agents
from aigon.config.loading import load_configuration, open_work_tree
from aigon.errors import AigonError, Exit, usage
from aigon.files.home import ensure_home
from aigon.fleet.lease import LeaseNote, name_owner, read_notes
from aigon.fleet.order import CellOrder
from aigon.git.person import Checkout
from aigon.git.remote import RefChange, Remote, probe_remote
from aigon.job.options import Options, get_limit
from aigon.journal.records import candidate_records
from aigon.model.candidates import Candidate
from aigon.model.diagnosis import MachineFact
from aigon.records.exchange import locate_ref, open_remote, plan_push, read_prefix
from aigon.records.install import RUNS
from aigon.records.portable import format_name, gather_record
from aigon.run.feature_stages import require_feature
from aigon.worktrees.setup import set_up_feature

REMOTE = "fleet"
"""What the git directory for all that a fleet says to the remote is named after."""
AT_ONCE = 100
"""Refs in one push."""


class FleetPlan(Struct, frozen=True):
    """What a fleet is about to do: the cells by name, and what the remote says that earlier fleets came to."""

    id: str
    limit: float
    orders: Mapping[str, CellOrder]
    notes: Mapping[str, LeaseNote]


def plan_fleet(
    main: Checkout, features: Sequence[str], agents: Sequence[str], max_cost: float | None, say: Callable[[str], None]
) -> FleetPlan:
    """Take up the features, and push branch and record of each cell that the remote has not.

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
    for each in features:
        require_feature(main, each, write=True)
    remote, prefix = open_remote(main, REMOTE), read_prefix(main)
    url = _require_shared(remote)
    probe(main, remote)
    lease = float(config.fleet.lease)
    home, orders, cells = ensure_home(main.common_dir), dict[str, CellOrder](), list[Candidate]()
    for feature in dict.fromkeys(features):
        for cell in set_up_feature(main, feature, names, say, elsewhere=True):
            name, origin = format_name(cell.feature, cell.label), candidate_records(home, cell).origin()
            assert origin is not None, "it was just written"
            orders[name] = CellOrder(
                __version__, "", url, prefix, name, cell.agent, kinds[cell.agent], origin.commit, lease
            )
            cells.append(cell)
    _publish(main, remote, cells, prefix)
    return FleetPlan(name_owner(), limit, orders, read_leases(remote, prefix, orders))


def probe(main: Checkout, remote: Remote) -> None:
    """Try on the remote what leases rest on. Raises AigonError (exit 7) that names what is missing."""
    tree = remote.git.run("mktree", stdin=b"").decode().strip()
    nonce = name_owner()
    made = [remote.git.run("commit-tree", tree, "-m", f"aigon: probe {nonce} {n}").decode().strip() for n in (1, 2, 3)]
    probe_remote(remote, read_prefix(main), nonce, (made[0], made[1], made[2]))


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
            what = "The remote is a working copy, whose files nobody would bring along"
            raise usage(what, where=remote.url, hint="git clone --bare it, and make that the remote")
        return str(path.resolve())
    parts = urlsplit(remote.url)
    if parts.scheme in ("http", "https"):  # each worker has its own
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    return remote.url


def _publish(main: Checkout, remote: Remote, cells: Sequence[Candidate], prefix: str) -> None:
    """Push branch and record of each cell of which the remote has no record: one there may be further on."""
    home, changes = ensure_home(main.common_dir), dict[str, RefChange]()
    known = remote.list_refs(locate_ref(prefix, "records", "*"), "refs/heads/feature-*")
    for each in cells:
        record = gather_record(candidate_records(home, each), each, main.root / RUNS)
        ref = locate_ref(prefix, "records", record.manifest.name)
        if ref not in known:
            changes |= plan_push(remote, record, ref, known, look=True)
        if changes and (len(changes) >= AT_ONCE or each == cells[-1]):
            remote.push(changes)
            changes = {}


def read_leases(remote: Remote, prefix: str, names: Sequence[str] | Mapping[str, object]) -> dict[str, LeaseNote]:
    """Return what the newest lease commits say, by cell."""
    pattern = locate_ref(prefix, "leases", "*")
    wanted = {locate_ref(prefix, "leases", name): name for name in names}
    listed = {ref: commit for ref, commit in remote.list_refs(pattern).items() if not wanted or ref in wanted}
    remote.fetch(list(listed))
    return {ref.rpartition("/")[2]: note for ref, note in read_notes(remote, listed).items()}
