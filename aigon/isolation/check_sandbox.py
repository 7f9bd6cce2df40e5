"""The sandbox of checks: they run what an agent wrote, and reach the work tree, services, and nothing of the person's.

It takes aigon's namespaces. Caches and installed environments can be written and are not changed: with an overlay, what
a check writes there is its own, for the run in the workspace and for one command in a clean room.
"""

import functools
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.config.grants import Grants, Mechanism, WantedMechanism, is_inside
from aigon.config.models import Config
from aigon.files.folders import remove_tree
from aigon.git.person import Checkout
from aigon.isolation.enclosure import make_bubblewrap_command, make_launcher_command, make_mount_plan
from aigon.isolation.machine_paths import (
    expand_existing,
    find_home,
    find_shared_tools,
    list_alternates,
    list_program_folders,
    load_sandbox_data,
    strip_made,
)
from aigon.isolation.mechanisms import PRIVATE, can_overlay, find_mount_flaw
from aigon.isolation.mounts import Mount, list_mounts
from aigon.isolation.run_sandbox import REFUSALS, TEMPORARY, list_hidden, list_real, list_temporary
from aigon.isolation.sandbox import explain_no_mechanism, find_sandbox_flaw
from aigon.job.job import ProofPlan
from aigon.job.world import CheckStart, Confinement
from aigon.journal.events import Notice
from aigon.text.patterns import compile_re

ANYTHING = "*"
"""The entry of `checks.NAME.allow` that runs a check without a sandbox."""
JUDGE = "judge"
"""What a judge that is a command is called there."""
CRITERIA = "criteria"
"""What the commands of criteria are called there, as criteria are renumbered."""
_PATH = compile_re(r"(?<![\w.~-])~?/[\w.@+~-]+(?:/[\w.@+~-]+)*")
_NAMED = 50
"""Paths of a failed check's output that are looked at."""


class CheckSandbox(Struct, Confinement):
    """`grants` are those of a check in the checkout `root`; `allowed` names more for some, by check.

    `folder` is where changes of private folders go. The checks in `lifted` run without a sandbox for now. With Landlock
    only writing is confined.
    """

    mechanism: Mechanism
    root: str
    grants: Grants
    folder: Path
    allowed: Mapping[str, Sequence[str]]
    env: Mapping[str, str]
    lifted: set[str] = field(default_factory=set)
    _prepared: tuple[CheckStart, Path] | None = None
    """A check that is started soon, and the folder for a home and temporary files of its own."""

    def prepare(self, cwd: Path, start: CheckStart) -> Sequence[str]:
        """Return the beginning of the command line that the next `wrap_command` for this start will return."""
        own = Path(tempfile.mkdtemp(prefix="own-", dir=start.scratch))
        self._prepared = start, own
        command = self.wrap_command((), cwd, start)
        self._prepared = start, own
        return command

    def wrap_command(self, argv: Sequence[str], cwd: Path, start: CheckStart) -> Sequence[str]:
        """Return the command line that runs `argv` in the workspace."""
        if not self.confines(start.name):
            return argv
        if self.mechanism == "landlock":
            return self.confine_writes(argv, start, (self.root,))
        kept = self.folder / re.sub(r"[^A-Za-z0-9._-]", "_", start.name)
        mounts = self._list_mounts(self._find_grants(start), start, kept, overlays=self.mechanism == "namespaces")
        if self.mechanism == "bwrap":
            return [*make_bubblewrap_command(mounts, str(cwd)), *make_launcher_command({"enter": "scopes"}), *argv]
        return [*make_launcher_command(make_mount_plan(mounts, cwd)), *argv]

    def confine_writes(self, argv: Sequence[str], start: CheckStart, folders: Sequence[str]) -> Sequence[str]:
        """Return the command line that can write in these folders, where anybody keeps temporary files, and in caches.

        That is for Landlock alone; with mounts it is `argv`.
        """
        if self.mechanism != "landlock" or not self.confines(start.name):
            return argv
        temporary = list_real((*TEMPORARY, self.env.get("TMPDIR", "")))
        write = (*folders, *self._find_grants(start).write, *self.grants.private, *temporary)
        return [*make_launcher_command({"enter": "writes", "write": write}), *argv]

    def list_room_mounts(self, start: CheckStart, changes: Path, *, overlays: bool) -> list[Mount] | None:
        """Return what a command in a clean room sees outside of it; None for one without a sandbox."""
        if self.mechanism == "landlock" or not self.confines(start.name):
            return None
        grants = self._find_grants(start)

        def keep_outside(paths: Sequence[str]) -> tuple[str, ...]:
            return tuple(path for path in paths if not is_inside(path, self.root))

        grants = replace(
            grants,
            write=keep_outside(grants.write),
            read=keep_outside(grants.read),
            private=keep_outside(grants.private),
            fixed=keep_outside(grants.fixed),
        )
        return self._list_mounts(grants, start, changes, overlays=overlays)

    def confines(self, name: str) -> bool:
        return name not in self.lifted and ANYTHING not in self._list_allowed(name)

    def shares(self, name: str) -> bool:
        """Return whether a check reaches anything outside that other checks can change."""
        return not self.confines(name) or bool(self._list_allowed(name))

    @contextmanager
    def lifting(self, name: str) -> Iterator[None]:
        """Let a check run without a sandbox for as long as the context lasts."""
        self.lifted.add(name)
        try:
            yield
        finally:
            self.lifted.discard(name)

    @contextmanager
    def allowing(self, name: str, entries: Sequence[str]) -> Iterator[None]:
        """Let a check reach more for as long as the context lasts."""
        before, key = self.allowed, self.name_allowed(name)
        self.allowed = {**before, key: (*before.get(key, ()), *entries)}
        try:
            yield
        finally:
            self.allowed = before

    @staticmethod
    def name_allowed(name: str) -> str:
        """Return the key of `sandbox.allow` for a check."""
        return CRITERIA if name.startswith("criterion-") else name

    def _list_allowed(self, name: str) -> Sequence[str]:
        return self.allowed.get(self.name_allowed(name), ())

    def opens_network(self, name: str) -> bool:
        """Return whether a check may reach a host although the network of checks is closed."""
        entries = set(self._list_allowed(name)) - {ANYTHING}
        return any(entry[0] not in "/~$." and not Path(self.root, entry).exists() for entry in entries if entry)

    def _find_grants(self, start: CheckStart) -> Grants:
        more = expand_existing(self._list_allowed(start.name), self.env, Path(self.root))
        return self.grants.more(write=(*more, *([str(start.scratch)] if start.scratch else ())), read=start.reads)

    def _list_mounts(self, grants: Grants, start: CheckStart, changes: Path, *, overlays: bool) -> list[Mount]:
        changes.mkdir(parents=True, exist_ok=True)
        prepared, own = self._prepared, None
        if prepared and prepared[0] == start:
            own, self._prepared = prepared[1], None
        own = own or Path(tempfile.mkdtemp(prefix="own-", dir=start.scratch or changes))
        return list_mounts(grants, own, changes if overlays and can_overlay(self.folder.parent) else None)

    def list_refused(self, output: str) -> list[str]:
        """Return paths that lines about a refusal in the output name, as far as they exist and are not granted.

        Of one that a check wanted to make, that is the folder around it.
        """
        lines = [line for line in output.splitlines() if REFUSALS.search(line)]
        words = dict.fromkeys(path for line in lines for path in _PATH.findall(line))
        return [*dict.fromkeys(path for word in [*words][:_NAMED] if (path := self._find_closed(word)))]

    def describe_grant(self, name: str, entries: Sequence[str]) -> str:
        """Return the line of .aigon/config.json that lets a check reach more."""
        return json.dumps({"sandbox": {"allow": {self.name_allowed(name): [*entries]}}})[1:-1]

    def _find_closed(self, word: str) -> str:
        path = os.path.realpath(os.path.expanduser(word))  # noqa: PTH111 - a text
        around = path if os.path.exists(path) else os.path.dirname(path)  # noqa: PTH110, PTH120 - as above
        is_wide = around in ("/", *self.grants.own, *self.grants.hidden)
        is_granted = any(is_inside(around, top) for top in self.grants.write)
        return "" if is_wide or is_granted or not os.path.exists(around) else around  # noqa: PTH110 - as above

    def close(self) -> None:
        """Remove what checks wrote in private folders."""
        remove_tree(self.folder)


def wants_check_sandbox(config: Config, wanted: WantedMechanism | None) -> bool:
    """Return whether checks get a sandbox where one works: if agents have none, it would protect nothing."""
    return config.sandbox.checks != "none" and (wanted or config.sandbox.mode) != "none"


def announce_no_check_sandbox(config: Config, wanted: WantedMechanism | None, home: Path, now: str) -> Iterator[Notice]:
    """Say why checks run without a sandbox, unless a person wanted none."""
    if not wants_check_sandbox(config, wanted):
        return
    mechanism = choose_check_mechanism(home / PRIVATE)
    if mechanism == "none":
        why = explain_no_mechanism()
        yield Notice(now, f"checks run without a sandbox, and can read and change what you can ({why})", "warning")
    elif mechanism == "landlock":
        text = "checks write the work tree, temporary folders and caches alone, and read what you can (landlock)"
        yield Notice(now, text, "warning")


def make_check_sandbox(
    checkout: Checkout,
    main: Path,
    config: Config,
    plan: ProofPlan,
    env: Mapping[str, str],
    home: Path,
    name: str,
    wanted: WantedMechanism | None = None,
) -> CheckSandbox | None:
    """Return the sandbox of the checks in a checkout; None if none is `wanted` or works here.

    Changes of private folders go to a folder in `home` that belongs to the run `name`.
    """
    if not wants_check_sandbox(config, wanted):
        return None
    mechanism = choose_check_mechanism(home / PRIVATE)
    if mechanism == "none":
        return None
    folder = home / PRIVATE / name
    root, data, person = checkout.root, load_sandbox_data(), find_home(env)
    hidden = list_hidden(root, env, data.never)
    own = list_temporary(env)
    lent = [setup.makes for setup in plan.setups if setup.makes]
    caches = (*data.write, *(f"{person}/{place}" for place in plan.caches.values() if person))
    installed = (str(root / name) for name in lent if (root / name).is_dir())
    records = (str(checkout.git_dir), str(checkout.common_dir), str(root / ".aigon"))
    read = (*expand_existing(data.read, env), *expand_existing(strip_made(config.sandbox.read), env, main))
    grants = Grants(
        write=(str(root), *expand_existing(config.sandbox.write, env, main)),
        read=(
            *read,
            *((person,) if plan.home == "real" and person else ()),
            *list_program_folders(env.get("PATH", ""), (*hidden, *own)),
            *map(str, find_shared_tools(root, env.get("PATH", ""), lent)),
            *(str(checkout.git_dir), str(checkout.common_dir), *list_alternates(checkout.common_dir)),
        ),
        private=(*expand_existing(strip_made(caches), env), *list_real((*installed,))),
        fixed=tuple(path for path in list_real(records) if is_inside(path, str(root))),
        hidden=hidden,
        own=own,
    )
    remove_tree(folder)
    return CheckSandbox(mechanism, str(root), grants, folder, config.sandbox.allow, env)


@functools.cache
def choose_check_mechanism(folder: Path) -> Mechanism:
    """Return what keeps checks in here, tried by running a program in it. `folder` is for private changes."""
    if can_overlay(folder) or not find_mount_flaw(
        lambda place: [("ro-bind", "/", "/"), ("bind", str(place), str(place))]
    ):
        return "namespaces"
    others: tuple[Mechanism, ...] = ("bwrap", "landlock")
    return next((name for name in others if not find_sandbox_flaw(name)), "none")
