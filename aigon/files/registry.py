"""Find built-ins and plug-ins through one registry.

A built-in is a module of a package; its name has no leading underscore. A plug-in is an entry point of another
distribution in the environment that aigon runs in: the person who runs aigon installs it, and nothing in a worktree can
add one. docs/plugins.md has the contract of each kind.
"""

import importlib
import os
import pkgutil
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from aigon.errors import AigonError, Exit, usage
from aigon.text.documents import suggest

if TYPE_CHECKING:  # slow to import, and only plug-ins need it
    from importlib.metadata import EntryPoint


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
        """Import and return what is called `name`.

        Raises a usage error for an unknown name, for one that a plug-in shares with a built-in or another plug-in, and
        for a plug-in that cannot be imported.
        """
        module, claims = self.builtins().get(name), self.plugins().get(name, ())
        owners = [*(["aigon itself"] if module else []), *(plugin.distribution for plugin in claims)]
        if len(owners) > 1:
            what = f"The {self.noun} {name!r} is offered by {' and by '.join(owners)}"
            raise usage(what, where=f"entry points {self.group}", hint=f"Uninstall {' or '.join(owners[-1:])}")
        if module:
            return importlib.import_module(module)
        if claims:
            return _load_plugin(claims[0], self)
        raise usage(f"There is no {self.noun} called {name!r}", hint=self.suggest(name))

    def load_plugins(self) -> Iterator[tuple[str, Any]]:
        """Import every plug-in, in the order of their names. Raises as `load` does."""
        return ((name, self.load(name)) for name in self.plugins())

    def suggest(self, name: str) -> str:
        """Return a hint for an unknown name: the nearest known one, and all of them."""
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


def _has_plugins(place: str) -> bool:
    """Return whether a distribution in a folder of the search path has entry points for aigon."""
    files = Path(place).glob("*-info/entry_points.txt")
    return any(b"[aigon." in file.read_bytes() for file in files)
