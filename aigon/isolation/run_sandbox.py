"""The sandbox of a run: what its agents may write and read, by the project, the person's machine and the agent type."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from aigon.config.grants import Grants, Mechanism, WantedMechanism
from aigon.config.models import Config
from aigon.files.folders import find_matches
from aigon.files.home import state_home
from aigon.isolation import sandbox
from aigon.isolation.machine_paths import (
    add_git_grants,
    expand_existing,
    find_home,
    find_needed_files,
    list_other_checkouts,
    list_program_folders,
    load_sandbox_data,
    strip_made,
)
from aigon.isolation.mechanisms import can_overlay
from aigon.job.job import Seat
from aigon.job.world import Attendant
from aigon.journal.events import Notice
from aigon.model.turns import Agent, Launch, Turn, TurnRequest
from aigon.process.start import Program
from aigon.text.patterns import compile_re

HOMES = ("/home", "/root")
"""Where people have their homes (Filesystem Hierarchy Standard)."""
REFUSALS = compile_re(
    r"permission denied|read-only file system|no such file|operation not permitted|\b(EACCES|EPERM|EROFS|ENOENT)\b",
    re.I,
)
"""What programs say about a path that the sandbox refuses."""
TEMPORARY = ("/tmp", "/var/tmp")


class RunSandbox(Struct, Attendant, frozen=True):
    """The sandbox of a run's agents: in `box`, None for no sandbox; `wanted` is what was asked for.

    The variables in `gone` are removed, as they lead to sockets that were not granted.
    """

    wanted: WantedMechanism = "none"
    box: sandbox.Sandbox | None = None
    gone: frozenset[str] = frozenset()

    @property
    def mechanism(self) -> Mechanism:
        return self.box.mechanism if self.box else "none"

    def command(self, launch: Launch, agent: Agent, ask: TurnRequest, env: Mapping[str, str]) -> Program:
        """Return the program of a turn; unchanged if it is missing, which the loop reports."""
        argv, root = launch.argv, Path(ask.workspace)
        if self.box is None:
            return Program(argv)
        needed = find_needed_files(argv, self.box.grants, env, root)
        if not needed:
            return Program(argv)
        kind, own = agent.kind, {**env, **agent.env}
        files = (*(expand_existing(kind.credentials.files, own) if kind else ()), *expand_existing(launch.reads, own))
        folder = str(Path(ask.prompt_file).parent)
        write = (folder, *expand_existing((*(kind.home if kind else ()), *agent.home), own))
        return self.box.command(argv, root, self.box.grants.more(write=write, read=(*needed, *files)))

    def confine(self, argv: Sequence[str], root: Path) -> Program:
        """Return the program that runs `argv` with what all agents of the run may read and write."""
        return self.box.command(argv, root) if self.box else Program(argv)

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return `env` as it is in the sandbox."""
        if self.box is None:
            return dict(env)
        return self.box.environment({name: value for name, value in env.items() if name not in self.gone})

    def close(self) -> None:
        if self.box:
            self.box.close()


def make_run_sandbox(
    seat: Seat,
    config: Config,
    wanted: WantedMechanism | None,
    env: Mapping[str, str],
    folder: Path,
    private: Path,
) -> RunSandbox:
    """Make the sandbox of a run with its files in `folder`. Raises AigonError (exit 7) if it cannot be as wanted.

    What agents change in private folders goes to `private`.
    """
    mode, network = wanted or config.sandbox.mode, config.sandbox.network
    mechanism = sandbox.choose_mechanism(mode, network)
    if mechanism == "none":
        return RunSandbox(mode)
    # What a worktree shares with the main checkout by links, by the configuration: an agent could make other links.
    patterns = config.worktree.link if seat.candidate else ()
    linked = [os.path.realpath(seat.main / path) for pattern in patterns for path in find_matches(seat.main, pattern)]
    has_copies = mechanism == "namespaces" and can_overlay(private.parent)
    grants = _make_grants(seat, config, env, folder, linked, mechanism, has_copies=has_copies)
    box = sandbox.make_sandbox(mechanism, grants, private if has_copies else None)
    return RunSandbox(mode, box, frozenset(_list_unreachable(grants, env)))


def _make_grants(
    seat: Seat,
    config: Config,
    env: Mapping[str, str],
    folder: Path,
    linked: Sequence[str],
    mechanism: Mechanism,
    *,
    has_copies: bool,
) -> Grants:
    data = load_sandbox_data()
    rivals = [str(Path(seat.candidate.path).parent)] if seat.candidate else []
    hidden, own = list_hidden(seat.checkout.root, env, data.never, rivals), list_temporary(env)
    granted, readable = config.sandbox.write, strip_made(config.sandbox.read)
    caches = expand_existing(data.write, env)
    write = (*(() if has_copies else caches), *expand_existing(granted, env, seat.main), *linked)
    read = (*expand_existing(data.read, env), *expand_existing(readable, env, seat.main))
    grants = Grants(
        write=(str(seat.checkout.root), *write),
        read=(str(folder), *read, *seat.linked, *list_program_folders(env.get("PATH", ""), (*hidden, *own))),
        private=caches if has_copies else (),
        hidden=hidden,
        own=own,
        network=config.sandbox.network,
    )
    checkout = seat.checkout
    return add_git_grants(grants, checkout.root, checkout.git_dir, checkout.common_dir, mechanism)


def list_hidden(
    root: Path, env: Mapping[str, str], never: tuple[str, ...], more: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return what no agent in the checkout at `root` may reach."""
    checkouts = [str(path) for path in list_other_checkouts(root)]
    return list_real((*HOMES, *expand_existing(never, env), str(state_home()), *checkouts, *more))


def list_temporary(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the person's home and the folders for temporary files."""
    return list_real((find_home(env), *TEMPORARY, env.get("TMPDIR", "")))


def list_real(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(os.path.realpath(path) for path in paths if path and os.path.exists(path)))  # noqa: PTH110


def _list_unreachable(grants: Grants, env: Mapping[str, str]) -> Iterator[str]:
    granted = {*grants.read, *grants.write}
    for name in load_sandbox_data().sockets:
        place = env.get(name, "").partition("=")[2] or env.get(name, "").removeprefix("unix://")
        if name in env and place.partition(",")[0] not in granted and os.path.realpath(place) not in granted:
            yield name


def announce_sandbox(boxed: RunSandbox, now: str) -> Iterator[Notice]:
    """Say what confines agents, unless a person wanted nothing."""
    if boxed.mechanism != "none":
        network = ", network closed" if boxed.box and boxed.box.grants.network == "closed" else ""
        yield Notice(now, f"agents run in a sandbox: {boxed.mechanism}{network}")
    elif boxed.wanted != "none":
        yield Notice(
            now,
            f"no sandbox: agents can read and change everything you can ({sandbox.explain_no_mechanism()})",
            "warning",
        )


def explain_refusal(boxed: RunSandbox, turn: Turn, now: str) -> Iterator[Notice]:
    """Say that the sandbox may be why an agent failed over a path, as a program is shown no reason."""
    if boxed.mechanism != "none" and turn.failed and REFUSALS.search(turn.detail):
        grant = "if it needs that path, grant it by `sandbox.read` or `sandbox.write` in .aigon/config.json"
        yield Notice(
            now, f"the sandbox may have blocked {turn.agent}: {grant}; --sandbox none shows whether it did", "warning"
        )
