"""The projects of one repository: folders with a manifest of their own, and what installs their dependencies."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from aigon.model.checks import Project
from aigon.profiles.conditions import holds
from aigon.profiles.ecosystem import Ecosystem, Setup

DEPTH = 3
"""Folders deep that projects are looked for: `packages/web`, `services/billing/api`."""
NOT_PROJECTS = {
    *("bench", "benchmark", "benchmarks", "demo", "demos", "doc", "docs", "e2e", "example", "examples", "fixture"),
    *("fixtures", "fuzz", "playground", "playgrounds", "sample", "samples", "sandbox", "scaffold", "skeleton"),
    *("template", "templates", "test", "testdata", "tests"),
    *("3rdparty", "contrib", "deps", "extern", "external", "externals", "node_modules", "submodules"),
    *("third-party", "third_party", "thirdparty", "vendor", "vendored"),
}
"""Folders whose manifests belong to data, documentation or other people's code."""


def folders(project: Project, ecosystems: Iterable[Ecosystem]) -> tuple[str, ...]:
    """Folders below the root that are projects of their own, outer ones only; members of a workspace are not."""
    found = {folder for each in ecosystems if not _is_workspace(each, project) for folder in _below(each, project)}
    return tuple(sorted(folder for folder in found if not any(_is_in(folder, other) for other in found)))


def at_root(project: Project, ecosystems: Iterable[Ecosystem]) -> bool:
    """Whether a manifest stands at the root itself."""
    return any(project.glob(name) for each in ecosystems for name in each.manifests)


def everywhere(project: Project, ecosystems: Iterable[Ecosystem]) -> Iterator[Setup]:
    """The set-ups of every ecosystem for the root and for the projects below: by their own lock file or the root's."""
    for each in ecosystems:
        yield from each.setups
        for folder in dict.fromkeys(_manifest_folders(each, project)):
            for setup in each.setups:
                makes = f"{folder}/{setup.makes}"
                if project.kind(f"{folder}/{setup.lock}") == "file":
                    yield replace(setup, lock=f"{folder}/{setup.lock}", makes=makes, cwd=folder)
                elif project.kind(setup.lock) == "file":
                    yield replace(setup, makes=makes)


def _is_workspace(ecosystem: Ecosystem, project: Project) -> bool:
    return ecosystem.workspace is not None and holds(ecosystem.workspace, project)


def _below(ecosystem: Ecosystem, project: Project) -> Iterator[str]:
    for folder in _manifest_folders(ecosystem, project):
        parts = folder.split("/")
        if len(parts) <= DEPTH and not NOT_PROJECTS.intersection(parts):
            yield folder


def _manifest_folders(ecosystem: Ecosystem, project: Project) -> Iterator[str]:
    for name in ecosystem.manifests:
        for path in project.glob(f"**/{name}"):
            if folder := path.rpartition("/")[0]:
                yield folder


def _is_in(folder: str, other: str) -> bool:
    return folder.startswith(f"{other}/")
