"""How aigon is installed: the environment that it has for itself, and its extras."""

import os
import re
import sys
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
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
    if _is_inside_project(Path(own), here) or _is_shared():
        return
    env["PATH"] = os.pathsep.join(others) or os.defpath
    if is_active:
        del env["VIRTUAL_ENV"]


def _is_inside_project(folder: Path, here: Path) -> bool:
    with suppress(AigonError):
        project = find_repository(here)
        return any(folder.is_relative_to(root) for root in (project.root, *project.worktrees))
    return False


def _is_shared() -> bool:
    """Return whether the environment holds anything that neither aigon nor one of its plug-ins needs."""
    installed = _list_installed()
    plugins = (name for name, each in installed.items() if _is_plugin(each))
    waiting = [(name, "") for name in ("aigon", *INSTALLERS, *plugins)]
    waiting += [("aigon", extra) for extra in _list_extras(installed.get("aigon"))]
    needed = set(waiting)
    while waiting:
        name, extra = waiting.pop()
        new = {*_list_requirements(installed[name], extra)} - needed if name in installed else set()
        needed |= new
        waiting += new
    return "aigon" not in installed or not installed.keys() <= {name for name, _ in needed}


def _list_installed() -> "dict[str, Distribution]":
    """Return what is installed in this environment, by normalised name."""
    import sysconfig
    from importlib.metadata import distributions

    folders = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    return {_normalise(each.metadata["Name"]): each for each in distributions(path=[*folders])}


def _is_plugin(distribution: "Distribution") -> bool:
    return any(entry.group.startswith("aigon.") for entry in distribution.entry_points)


def _list_requirements(distribution: "Distribution", extra: str) -> "Iterator[tuple[str, str]]":
    """Yield the name and an extra ("" for none) of what a distribution needs, by itself or for its own `extra`."""
    for line in distribution.requires or ():
        condition, name = _EXTRA.search(line), _NAME.match(line)
        if name and (condition[1] if condition else "") == extra:
            yield _normalise(name[1]), ""
            yield from ((_normalise(name[1]), each.strip()) for each in (name[2] or "").split(",") if each)


def _list_extras(distribution: "Distribution | None") -> Sequence[str]:
    return (distribution.metadata.get_all("Provides-Extra") or []) if distribution else []


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

    installed = _list_installed()
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
        extras |= {each for each in _list_extras(aigon) if each not in ("all", "dev") and _has_extra(installed, each)}
    wanted = f"aigon[{','.join(sorted(extras))}]" + (f" @ {url}" if url else "")
    return f"{command or _pip_install()} {quote(wanted)}"


def _has_extra(installed: "Mapping[str, Distribution]", extra: str) -> bool:
    return all(name in installed for name, _ in _list_requirements(installed["aigon"], extra))


def _pip_install() -> str:
    """Return the command that installs into this environment, which uv makes without pip."""
    python = quote(sys.executable)
    return f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
