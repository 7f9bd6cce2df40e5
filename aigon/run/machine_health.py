"""What aigon needs of the machine and the repository, beside an agent."""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from aigon.agents.health import find_version, parse_version
from aigon.config.models import Config
from aigon.errors import AigonError
from aigon.files import home
from aigon.isolation import mechanisms, sandbox
from aigon.model.diagnosis import MachineFact
from aigon.process import capacity, run

OLDEST_GIT = "2.36"
"""The first git that flushes refs and nothing else on demand (core.fsync), which every checkpoint asks for."""
TRIED_ON = "linux"


def git(env: Mapping[str, str]) -> MachineFact:
    """The git on PATH."""
    program = shutil.which("git", path=env.get("PATH"))
    if program is None:
        return MachineFact("git", "git", "not installed", {"minimum": OLDEST_GIT},
                    problem=f"there is no git on PATH: install git {OLDEST_GIT} or newer")  # fmt: skip
    code, out, _ = run.capture_output([program, "--version"], env={**env, "LC_ALL": "C"})
    version = find_version(out)
    data = {"path": program, "version": version, "minimum": OLDEST_GIT}
    if code or not version:
        return MachineFact("git", "git", program, data, problem="it does not say its version: is it git?")
    old = f"aigon needs git {OLDEST_GIT} or newer" if parse_version(version) < parse_version(OLDEST_GIT) else ""
    return MachineFact("git", "git", f"{version} (needs {OLDEST_GIT} or newer)", data, problem=old)


def python() -> MachineFact:
    """The Python that runs aigon."""
    version = platform.python_version()
    return MachineFact(
        "python", "Python", f"{version} ({sys.executable})", {"version": version, "path": sys.executable}
    )


def system() -> MachineFact:
    """The operating system."""
    name, release, cpu = platform.system(), platform.release(), platform.machine()
    remark = "" if sys.platform.startswith(TRIED_ON) else "aigon is tested on Linux alone"
    data = {"system": name, "release": release, "machine": cpu}
    return MachineFact("platform", "Platform", f"{name} {release} {cpu}", data, remark=remark)


def clean_room(root: Path | None, config: Config) -> MachineFact:
    """How commands are kept from the workspace when a feature is proven."""
    with tempfile.TemporaryDirectory(prefix="aigon-doctor-") as folder:
        try:
            found = mechanisms.choose_isolation(root or Path(folder), config.proof.isolation)
        except AigonError as error:
            return MachineFact("clean_room", "Clean room", "not as wanted", {"isolation": None}, problem=worded(error))
    remark = "" if found != "none" else 'proofs will say "not isolated": no bubblewrap, namespaces or Landlock here'
    return MachineFact("clean_room", "Clean room", found, {"isolation": found}, remark=remark)


def kept_in(config: Config, env: Mapping[str, str]) -> MachineFact:
    """What keeps agents to the workspace, and why it is nothing better."""
    own, wanted = config.sandbox, env.get("AIGON_SANDBOX") or config.sandbox.mode
    data = {"mode": wanted, "mechanism": None, "network": own.network}
    try:
        found = sandbox.choose_mechanism(wanted, own.network)  # type: ignore[arg-type]  # what it is not is refused by a run
    except (AigonError, KeyError) as error:
        said = worded(error) if isinstance(error, AigonError) else f"AIGON_SANDBOX is {wanted!r}"
        return MachineFact("sandbox", "Sandbox", "not as wanted", data, problem=said)
    text = f"{found} (as wanted)" if wanted == found else found
    return MachineFact("sandbox", "Sandbox", text, {**data, "mechanism": found}, remark=_no_better(found, wanted))


def _no_better(found: str, wanted: str) -> str:
    if found == "none":
        why = "as wanted" if wanted == "none" else sandbox.explain_no_mechanism()
        return f"agents can read and change everything you can ({why})"
    if found == "landlock" and wanted == "auto":
        return f"without bubblewrap, sockets and process numbers are shared ({sandbox.find_sandbox_flaw('bwrap')})"
    return ""


def room(root: Path, config: Config) -> MachineFact:
    """Free disk and memory, against the guards."""
    disk, memory = capacity.measure_free_disk(root), capacity.measure_free_memory()
    wanted = {"disk": config.guards.disk_free, "memory": config.guards.memory_free}
    short = [name for name, free in (("disk", disk), ("memory", memory)) if free is not None and free < wanted[name]]
    text = f"{_size(disk)} of disk, {_size(memory)} of memory"
    data = {"disk_free": disk, "memory_free": memory, "disk_needed": wanted["disk"], "memory_needed": wanted["memory"]}
    problem = "; ".join(f"a run stops below {_size(wanted[name])} of {name} (guards.{name}Free)" for name in short)
    return MachineFact("room", "Free", text, data, problem=problem)


def state_home() -> MachineFact:
    """Where aigon keeps its records."""
    place = home.state_home()
    there = next(folder for folder in (place, *place.parents) if folder.exists())
    writable = there.is_dir() and os.access(there, os.W_OK | os.X_OK)
    problem = "" if writable else f"{there} is not writable: make it writable, or point AIGON_STATE_HOME elsewhere"
    return MachineFact("state_home", "Records", str(place), {"path": str(place), "writable": writable}, problem=problem)


def worded(error: AigonError) -> str:
    """An error in one line: what, where, what to do."""
    where = f" ({error.where})" if error.where else ""
    return f"{error.what}{where}" + (f". {error.hint}" if error.hint else "")


def _size(count: int | None) -> str:
    if count is None:
        return "an unknown amount"
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def facts(root: Path | None, config: Config, env: Mapping[str, str]) -> tuple[MachineFact, ...]:
    """Everything that needs no agent. `root` is the repository, None outside of one."""
    rooms = clean_room(root, config), kept_in(config, env)
    return (git(env), python(), system(), *rooms, room(root or Path.cwd(), config), state_home())
