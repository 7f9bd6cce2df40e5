"""aigon's installation: the environment that it has for itself, and its extras."""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from aigon.errors import AigonError, environment
from aigon.git.repository import find_repository
from aigon.text.patterns import compile_re

if TYPE_CHECKING:  # both are slow to import, and most commands need neither
    from importlib.metadata import Distribution

INSTALLERS = ("pip", "setuptools", "uv", "wheel")
"""What is in an environment of its own, too, and needed by nothing in it."""
_NAME = compile_re(r"([\w.-]+)\s*(?:\[([^]]*)])?")
_EXTRA = compile_re(r"extra\s*==\s*['\"]([\w.-]+)['\"]")


def leave_environment(env: MutableMapping[str, str], here: Path) -> None:
    """Take aigon's own environment out of PATH and VIRTUAL_ENV: checks and agents run the user's programs, not its own.

    It stays where it is the project's as well: it is inside the repository around `here`, or it holds packages that
    aigon does not need.
    """
    own, parts = os.path.realpath(sys.prefix), env.get("PATH", "").split(os.pathsep)
    others = [part for part in parts if os.path.realpath(part) != f"{own}/bin"]
    is_active = os.path.realpath(env.get("VIRTUAL_ENV") or "/") == own
    if sys.prefix == sys.base_prefix or (others == parts and not is_active):
        return
    with suppress(AigonError):
        project = find_repository(here)
        if any(Path(own).is_relative_to(root) for root in (project.root, *project.worktrees)):
            return
    if _is_shared():
        return
    env["PATH"] = os.pathsep.join(others) or os.defpath
    if is_active:
        del env["VIRTUAL_ENV"]


def _is_shared() -> bool:
    """Return whether the environment holds anything that neither aigon nor one of its plug-ins needs."""
    folders = {
        _normalise(folder.stem.partition("-")[0]): folder
        for place in _list_places()
        for folder in [*place.glob("*.dist-info"), *place.glob("*.egg-info")]
    }
    if "aigon" not in folders:
        return True
    plugins = (name for name, folder in folders.items() if "[aigon." in _read(folder / "entry_points.txt"))
    waiting = [(name, "") for name in ("aigon", *INSTALLERS, *plugins)]
    waiting += [("aigon", extra) for extra in _read_headers(folders["aigon"], "Provides-Extra")]
    needed, required = set(waiting), dict[str, list[tuple[str, str, str]]]()
    while waiting:
        name, extra = waiting.pop()
        if name in folders and name not in required:
            required[name] = [*_parse_requirements(_read_headers(folders[name], "Requires-Dist"))]
        new = {(other, its) for condition, other, its in required.get(name, ()) if condition == extra} - needed
        needed |= new
        waiting += new
    return not folders.keys() <= {name for name, _ in needed}


def _list_places() -> set[Path]:
    import sysconfig

    return {Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("platlib"))}


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""


def _read_headers(folder: Path, name: str) -> list[str]:
    """Return the values of a header of a distribution. `importlib.metadata` would parse its whole description, too."""
    head = _read(folder / "METADATA").partition("\n\n")[0]
    return [line.partition(":")[2].strip() for line in head.split("\n") if line.startswith(f"{name}:")]


def _parse_requirements(lines: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Yield what a distribution needs: for which extra of its own, a name, an extra of that; "" for no extra."""
    for line in lines:
        condition, name = _EXTRA.search(line) if "extra" in line else None, _NAME.match(line)
        if name:
            for each in ("", *filter(None, (name[2] or "").split(","))):
                yield condition[1] if condition else "", _normalise(name[1]), each.strip()


def _normalise(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def has_modules(*modules: str) -> bool:
    """Return whether all of these can be imported."""
    return all(find_spec(module) for module in modules)


def require_extra(extra: str, *modules: str, purpose: str) -> None:
    """Raise AigonError (exit 7) with the command that installs `extra` unless it is here with all its `modules`."""
    if not has_modules(*modules):
        what = f"{purpose} needs {' and '.join(modules)}, which aigon's extra `{extra}` installs"
        raise environment(what, where=sys.prefix, hint=suggest_extra(extra))


def suggest_extra(extra: str) -> str:
    """Return the command that adds `extra` to aigon as it is installed."""
    import json
    from importlib.metadata import distributions

    places = [*map(str, _list_places())]
    installed = {_normalise(each.metadata["Name"]): each for each in distributions(path=places)}
    aigon = installed.get("aigon")
    source = json.loads((aigon and aigon.read_text("direct_url.json")) or "{}")
    if source.get("dir_info", {}).get("editable"):
        from urllib.parse import unquote, urlsplit

        folder = unquote(urlsplit(source["url"]).path)
        return f"{_pip_install()} -e {quote(f'{folder}[{extra}]')}"
    url = source.get("url", "")
    if vcs := source.get("vcs_info"):
        revision = f"@{vcs['requested_revision']}" if vcs.get("requested_revision") else ""
        url = f"{vcs['vcs']}+{url}{revision}"
    receipts = {"uv-receipt.toml": "uv tool install", "pipx_metadata.json": "pipx install --force"}
    command = next((made for name, made in receipts.items() if Path(sys.prefix, name).is_file()), "")
    extras = {extra}
    if command:  # both install anew, and would drop the extras that are there
        known = (aigon.metadata.get_all("Provides-Extra") or []) if aigon else []
        extras |= {each for each in known if each not in ("all", "dev") and _has_extra(installed, each)}
    wanted = f"aigon[{','.join(sorted(extras))}]" + (f" @ {url}" if url else "")
    return f"{command or _pip_install()} {quote(wanted)}"


def _has_extra(installed: "Mapping[str, Distribution]", extra: str) -> bool:
    required = _parse_requirements(installed["aigon"].requires or ())
    return all(name in installed for condition, name, _ in required if condition == extra)


def _pip_install() -> str:
    """Return the command that installs into this environment, which uv makes without pip."""
    python = quote(sys.executable)
    return f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
