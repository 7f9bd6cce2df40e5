"""The one lookup of what ships with aigon (profiles, templates, examples, built-ins) and of what plug-ins add.

A wheel holds the data in `aigon/_data/`; an editable install and a checkout have it at the top of the repository. A
built-in is a module of a package; its name has no leading underscore. A plug-in is an entry point of another
distribution in the environment that aigon runs in: the person who runs aigon installs it, and nothing in a worktree can
add one. docs/plugins.md has the contract of each kind.
"""

import contextlib
import importlib
import marshal
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.util import cache_from_source, find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from aigon import __version__
from aigon.errors import AigonError, Exit, usage
from aigon.files import atomic

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


_PACKAGE = Path(__file__).resolve().parent.parent


def find_resource(*parts: str) -> Path:
    """The file or folder `parts` lead to. Raises AigonError (internal) when it is not there."""
    data = _PACKAGE / "_data"
    # Never the folder beside an installed package: `templates` in site-packages would be somebody else's.
    path = (data if data.is_dir() else _PACKAGE.parent).joinpath(*parts)
    if not path.exists():
        hint = "The installation is damaged: reinstall aigon (pip install --force-reinstall aigon)"
        raise AigonError(f"{'/'.join(parts)} is missing from aigon", where=str(path), hint=hint, code=Exit.INTERNAL)
    return path


def read_prompt(name: str, **values: object) -> list[str]:
    """Return the parts of a prompt that ships with aigon, with each `{{NAME}}` replaced by its value."""
    parts = find_resource("templates", "prompts", f"{name}.md").read_text(encoding="utf-8").strip().split("\n---\n")
    return [re.sub(r"\{\{([A-Z]+)\}\}", lambda found: str(values[found[1]]), part) for part in parts]


def read_profiles(folder: Path | None = None) -> dict[str, bytes]:
    """The YAML documents in `folder` by path without suffix (`library`, `ecosystems/python`).

    Without `folder` the shipped ones; a folder that does not exist holds none. Raises AigonError (exit 2).
    """
    if folder is None:
        return dict(_read_shipped_profiles())
    found = [path for path in sorted(folder.rglob("*")) if path.suffix in (".yaml", ".yml") and path.is_file()]
    return {path.relative_to(folder).with_suffix("").as_posix(): read_document(path) for path in found}


@cache
def _read_shipped_profiles() -> dict[str, bytes]:
    """Read what ships once per process: a run asks for it several times."""
    profiles = read_profiles(find_resource("profiles"))
    _remember(profiles.values())
    return profiles


def read_shipped(*parts: str) -> bytes:
    """The bytes of a YAML document that ships with aigon, whose value `parse_yaml` then knows."""
    content = find_resource(*parts).read_bytes()
    _remember([content])
    return content


def _remember(documents: Iterable[bytes]) -> None:
    """Let `parse_yaml` know the values of these documents, and of all others that ship, without parsing them again."""
    from aigon.text.documents import is_remembered, remember_shipped

    remember_shipped(_read_values())
    if not all(map(is_remembered, documents)):
        remember_shipped(_parse_all())


@cache
def _read_values() -> dict[bytes, bytes]:
    """Return what an earlier start parsed, by content; nothing of another version, nor of a damaged file.

    It lies where Python keeps aigon's own compiled code, where an attacker who can write needs no forged values.
    """
    with contextlib.suppress(OSError, ValueError, EOFError, TypeError):
        version, values = marshal.loads(_find_values_file().read_bytes())
        if version == __version__ and isinstance(values, dict):
            return values
    return {}


@cache
def _parse_all() -> dict[bytes, bytes]:
    """Parse what ships, and leave it for later starts where the installation can be written."""
    from aigon.text.documents import parse_yaml

    values: dict[bytes, bytes] = {}
    for path in (*find_resource("profiles").rglob("*.yaml"), *find_resource("templates").rglob("*.yaml")):
        with contextlib.suppress(AigonError, OSError, ValueError):  # whoever needs it says what is wrong
            content = path.read_bytes()
            value: Any = parse_yaml(content, path.name).value
            values[content] = marshal.dumps(value)
    if not sys.dont_write_bytecode:
        with contextlib.suppress(OSError):
            atomic.write_atomic(_find_values_file(), marshal.dumps((__version__, values)))
    return values


def _find_values_file() -> Path:
    return Path(cache_from_source(str(_PACKAGE / "shipped.py")))


def read_document(path: Path) -> bytes:
    """The bytes of a YAML document. Raises AigonError (exit 2) for one that is too large, or cannot be read."""
    from aigon.text.documents import LARGEST_DOCUMENT

    try:
        return atomic.read_bounded(path, LARGEST_DOCUMENT, "The document", hint="Keep in it what aigon reads")
    except OSError as error:
        hint = "Check its permissions"
        raise usage(f"The document cannot be read: {error.strerror}", where=str(path), hint=hint) from None


def find_agent_types(folder: Path | None = None) -> dict[str, Path]:
    """The YAML files in `folder` by name without suffix; without `folder` the shipped ones. No folder, no files."""
    root = find_resource("templates", "agents") if folder is None else folder
    return {path.stem: path for path in sorted(root.glob("*.y*ml")) if path.suffix in (".yaml", ".yml")}


class Plugin(Struct, frozen=True):
    """An entry point of another distribution."""

    name: str
    distribution: str
    entry: "EntryPoint"


class Registry(Struct, frozen=True):
    """The modules of `package` and its subpackages, and the entry points of `group`.

    `noun` is what messages call one of them ("judge backend"). `shared` has the names of the built-ins that share a
    file, by that file; "" for a file that holds none. Nothing is imported before it is loaded.
    """

    group: str
    package: str
    noun: str
    shared: Mapping[str, str] = {}

    def builtins(self) -> dict[str, str]:
        """Return the full module name of each built-in by its name."""
        files = _list_modules(self.package)
        own = {name: module for name, module in files.items() if name not in self.shared}
        return own | {name: files[file] for file, names in self.shared.items() for name in names.split()}

    def plugins(self) -> dict[str, tuple[Plugin, ...]]:
        """Return the plug-ins by name, sorted. Several distributions may claim one name."""
        return _scan_plugins().get(self.group, {})

    def names(self) -> tuple[str, ...]:
        """Return the names of built-ins and plug-ins, sorted."""
        return tuple(sorted({*self.builtins(), *self.plugins()}))

    def load(self, name: str) -> Any:
        """Import and return what is called `name`: a module, or an attribute of the one that several share.

        Raises a usage error for an unknown name, for one that a plug-in shares with a built-in or another plug-in, and
        for a plug-in that cannot be imported.
        """
        module, claims = self.builtins().get(name), self.plugins().get(name, ())
        owners = [*(["aigon itself"] if module else []), *(plugin.distribution for plugin in claims)]
        if len(owners) > 1:
            what = f"The {self.noun} {name!r} is offered by {' and by '.join(owners)}"
            raise usage(what, where=f"entry points {self.group}", hint=f"Uninstall {' or '.join(owners[-1:])}")
        if module:
            found = importlib.import_module(module)
            return (
                getattr(found, name, found) if any(name in names.split() for names in self.shared.values()) else found
            )
        if claims:
            return _load_plugin(claims[0], self)
        raise usage(f"There is no {self.noun} called {name!r}", hint=self.suggest(name))

    def load_plugins(self) -> Iterator[tuple[str, Any]]:
        """Import every plug-in, in the order of their names. Raises as `load` does."""
        return ((name, self.load(name)) for name in self.plugins())

    def suggest(self, name: str) -> str:
        """Return a hint for an unknown name: the nearest known one, and all of them."""
        from aigon.text.documents import suggest

        return suggest(name, self.names())


def _load_plugin(plugin: Plugin, registry: Registry) -> Any:
    try:
        return plugin.entry.load()
    except Exception as error:  # a module of somebody else's may raise anything when it is imported
        raise AigonError(
            f"The {registry.noun} {plugin.name!r} of {plugin.distribution} cannot be loaded: "
            f"{type(error).__name__}: {' '.join(str(error).split())[:300]}",
            where=f"entry point {registry.group}: {plugin.entry.value}",
            hint=f"Update or uninstall {plugin.distribution}",
            code=Exit.USAGE,
        ) from error


@cache
def _list_modules(package: str) -> dict[str, str]:
    import pkgutil

    found = find_spec(package)
    assert found is not None, package
    modules: dict[str, str] = {}
    for module in pkgutil.iter_modules(found.submodule_search_locations):
        if module.name.startswith("_"):
            continue
        full = f"{package}.{module.name}"
        modules |= _list_modules(full) if module.ispkg else {module.name: full}
    return dict(sorted(modules.items()))


@cache
def _scan_plugins() -> dict[str, dict[str, tuple[Plugin, ...]]]:
    """Scan the environment once per process: what is installed while a run goes on takes no part in it.

    `python -m aigon` puts the working directory on the path. It is left out, since an agent can write there.
    """
    path = [place for place in sys.path if place and os.path.realpath(place) != os.path.realpath(os.curdir)]
    found: dict[str, dict[str, dict[str, Plugin]]] = {}
    if not any(map(_has_plugins, path)):
        return {}
    from importlib.metadata import distributions

    for distribution in distributions(path=path):
        if "[aigon." not in (distribution.read_text("entry_points.txt") or ""):
            continue
        for entry in distribution.entry_points:
            if entry.group.startswith("aigon."):
                name = distribution.metadata["Name"]
                found.setdefault(entry.group, {}).setdefault(entry.name, {}).setdefault(
                    name, Plugin(entry.name, name, entry)
                )
    return {
        group: {name: tuple(owners.values()) for name, owners in sorted(names.items())}
        for group, names in found.items()
    }


@cache
def _has_plugins(place: str) -> bool:
    """Return whether a distribution in a folder of the search path has entry points for aigon."""
    files = Path(place).glob("*-info/entry_points.txt")
    return any(b"[aigon." in file.read_bytes() for file in files)
