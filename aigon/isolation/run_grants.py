"""The sandbox of a run: what its agents may write and read, from the project, the person's machine and their kind."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from aigon.config.grants import Grants, Mechanism, WantedMechanism
from aigon.config.models import Config
from aigon.files.home import state_home
from aigon.isolation import sandbox
from aigon.isolation.checkouts import others
from aigon.isolation.git_grants import with_git
from aigon.isolation.places import found, home_of, known, unmade
from aigon.isolation.programs import program, searched
from aigon.job.seat import Seat
from aigon.journal.events import Notice
from aigon.model.turns import Agent, Launch, Turn, TurnRequest
from aigon.worktrees.project_files import find_matches

HOMES = ("/home", "/root")
"""Where people's homes are (Filesystem Hierarchy Standard)."""
REFUSALS = re.compile(
    r"permission denied|read-only file system|no such file|operation not permitted|\b(EACCES|EPERM|EROFS|ENOENT)\b",
    re.I,
)
"""What programs say of a path that the sandbox keeps from them."""
TEMPORARY = ("/tmp", "/var/tmp")


@dataclass(frozen=True, slots=True)
class Boxed:
    """How agents are started: in `box`, None for no sandbox; `wanted` is what was asked for.

    `gone` are variables that are taken away: they lead to sockets that are not to be reached.
    """

    wanted: WantedMechanism = "none"
    box: sandbox.Sandbox | None = None
    gone: frozenset[str] = frozenset()

    @property
    def mechanism(self) -> Mechanism:
        """What keeps agents in."""
        return self.box.mechanism if self.box else "none"

    def command(self, launch: Launch, agent: Agent, ask: TurnRequest, env: Mapping[str, str]) -> list[str]:
        """The command line of a turn; as it is where its program is not there, which the loop then says."""
        argv, root = launch.argv, Path(ask.workspace)
        if self.box is None:
            return list(argv)
        needed = program(argv, self.box.grants, env, root)
        if not needed:
            return list(argv)
        kind, own = agent.kind, {**env, **agent.env}
        files = (*(found(kind.credentials.files, own) if kind else ()), *found(launch.reads, own))
        folder = str(Path(ask.prompt_file).parent)
        write = (folder, *found((*(kind.home if kind else ()), *agent.home), own))
        return self.box.command(argv, root, self.box.grants.more(write=write, read=(*needed, *files)))

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """`env` as it is in the sandbox."""
        if self.box is None:
            return dict(env)
        return self.box.environment({name: value for name, value in env.items() if name not in self.gone})

    def close(self) -> None:
        """Remove what was there for the agents alone."""
        if self.box:
            self.box.close()


def boxed(
    seat: Seat, config: Config, wanted: WantedMechanism | None, env: Mapping[str, str], folder: Path, note: Path
) -> Boxed:
    """The sandbox of a run whose files lie in `folder`. Raises AigonError (exit 7) where it cannot be as wanted."""
    mode, network = wanted or config.sandbox.mode, config.sandbox.network
    mechanism = sandbox.best(mode, network)
    if mechanism == "none":
        return Boxed(mode)
    grants = _grants(seat, config, env, folder)
    return Boxed(mode, sandbox.made(mechanism, grants, note), frozenset(_unreachable(grants, env)))


def _grants(seat: Seat, config: Config, env: Mapping[str, str], folder: Path) -> Grants:
    data, root, home = known(), seat.checkout.root, home_of(env)
    hidden = _hidden(seat, env, data.never)
    own = _real((*((home,) if home else ()), *TEMPORARY, env.get("TMPDIR", "")))
    closed = (*hidden, *own)
    write = [str(root), *found(data.write, env), *found(config.sandbox.write, env, seat.main)]
    read = [str(folder), *found(data.read, env), *found(unmade(config.sandbox.read), env, seat.main)]
    grants = Grants(
        write=(*write, *_linked(seat, config)),
        read=(*read, *searched(env.get("PATH", ""), closed)),
        hidden=hidden,
        own=own,
        network=config.sandbox.network,
    )
    return with_git(grants, seat.checkout.git_dir, seat.checkout.common_dir)


def _hidden(seat: Seat, env: Mapping[str, str], never: tuple[str, ...]) -> tuple[str, ...]:
    """Other people's homes, secrets, aigon's own records, and other checkouts of the repository."""
    checkouts = [str(path) for path in others(seat.checkout.root)]
    rivals = [str(Path(seat.candidate.path).parent)] if seat.candidate else []
    return _real((*HOMES, *found(never, env), str(state_home()), *checkouts, *rivals))


def _real(paths: tuple[str, ...]) -> tuple[str, ...]:
    """The folders and files themselves, not links to them."""
    return tuple(dict.fromkeys(os.path.realpath(path) for path in paths if path and os.path.exists(path)))  # noqa: PTH110


def _linked(seat: Seat, config: Config) -> Iterator[str]:
    """What a worktree shares with the main checkout by a link. By the configuration: an agent could make links."""
    if seat.candidate is None:
        return
    for pattern in config.worktree.link:
        yield from (os.path.realpath(seat.main / path) for path in find_matches(seat.main, pattern))


def _unreachable(grants: Grants, env: Mapping[str, str]) -> Iterator[str]:
    """Variables with sockets that nobody granted."""
    granted = {*grants.read, *grants.write}
    for name in known().sockets:
        place = env.get(name, "").partition("=")[2] or env.get(name, "").removeprefix("unix://")
        if name in env and place.partition(",")[0] not in granted and os.path.realpath(place) not in granted:
            yield name


def said(boxed: Boxed, now: str) -> Iterator[Notice]:
    """What keeps agents in, said once; nothing where a person wanted nothing."""
    if boxed.mechanism != "none":
        yield Notice(now, f"agents run in a sandbox: {boxed.mechanism}{_network(boxed)}")
    elif boxed.wanted != "none":
        yield Notice(
            now, f"no sandbox: agents can read and change everything you can ({sandbox.why_none()})", "warning"
        )


def perhaps_refused(boxed: Boxed, turn: Turn, now: str) -> Iterator[Notice]:
    """Where an agent failed over a path: that it may be the sandbox, and what to do. It shows a program no reason."""
    if boxed.mechanism != "none" and turn.failed and REFUSALS.search(turn.detail):
        grant = "if it needs that path, grant it by `sandbox.read` or `sandbox.write` in .aigon/config.json"
        yield Notice(
            now, f"the sandbox may have blocked {turn.agent}: {grant}; --sandbox none shows whether it did", "warning"
        )


def _network(boxed: Boxed) -> str:
    return ", network closed" if boxed.box and boxed.box.grants.network == "closed" else ""
