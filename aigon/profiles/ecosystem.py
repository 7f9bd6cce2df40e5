"""An ecosystem (Python, Node): which commands can stand for a role, under which conditions. Read from YAML."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from aigon.errors import usage
from aigon.model.checks import ROLES, ProjectReader, Role
from aigon.profiles import protection
from aigon.profiles.conditions import KINDS, Condition, HasModule, HasTool, holds, parse_condition
from aigon.text.documents import DocumentNode, suggest

KEYS = (
    "title", "detect", "absent", "fallback", "manifests", "workspace", "variables", "protect", "setup", "caches",
    "outputs", "roles",
)  # fmt: skip

PLACEHOLDER = re.compile(r"(?<!\$)\{([a-z][a-z0-9_]*)(?::([^{}\s]+))?\}")
"""`{python}` or `{tool:ruff}`; not the `${name}` of a shell."""
_NAME = re.compile(r"[a-z]+(?:-[a-z0-9]+)*")
OWN = ("python", "report", "scratch")
"""Placeholders without a colon that every ecosystem has; `report` and `scratch` are left to whoever runs the check."""


@dataclass(frozen=True, slots=True)
class Need:
    """What has to be installed for a command to work; `name` is said when it is not, with `hint`."""

    name: str
    condition: Condition
    hint: str


@dataclass(frozen=True, slots=True)
class CommandCandidate:
    """One command for a role. `condition` says that the project has it configured, `needs` that it can run."""

    condition: Condition
    argv: tuple[str, ...]
    parser: str | None = None
    hint: str = ""
    needs: tuple[Need, ...] = ()
    timeout: float | None = None
    exclusive: bool = False
    when: Literal["each", "final"] = "each"
    paths: tuple[str, ...] = ()
    cwd: str = "."
    env: Mapping[str, str] = field(default_factory=dict)
    reports: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    shown: str = ""


@dataclass(frozen=True, slots=True)
class RoleChoice:
    """The candidates for a check, the first that fits is taken; `absent` says why there is none.

    `name` is that of its role, or of one more check with that role (`lint-format`), which may be absent silently.
    """

    role: Role
    absent: str
    candidates: tuple[CommandCandidate, ...]
    name: str


@dataclass(frozen=True, slots=True)
class Setup:
    """How dependencies get into a fresh checkout with the file `lock`: `argv`, run in `cwd`, leaves the folder `makes`.

    `lock` and `makes` are relative to the checkout.
    """

    lock: str
    argv: tuple[str, ...]
    makes: str
    cwd: str = "."


@dataclass(frozen=True, slots=True)
class Ecosystem:
    """`variables` are placeholders of its own, each with values under conditions; the first that holds is taken.

    `protect` are rules on what an agent may change, `setups` the ways to its dependencies, `caches` variables and the
    folders in a person's home that they name. A `fallback` gives checks only for roles that no other ecosystem has any
    for. `manifests` are files that mark a project in a folder; where `workspace` holds, those below the root belong to
    the root's own project; `outputs` are lines for .gitignore about what its tools leave, whoever runs them. The keys
    of `roles` are the names of the checks.
    """

    name: str
    title: str
    detect: Condition
    absent: str
    roles: Mapping[str, RoleChoice]
    variables: Mapping[str, tuple[tuple[Condition, str], ...]]
    file: str
    protect: tuple[protection.Rule, ...] = ()
    setups: tuple[Setup, ...] = ()
    caches: Mapping[str, str] = field(default_factory=dict)
    fallback: bool = False
    manifests: tuple[str, ...] = ()
    workspace: Condition | None = None
    outputs: tuple[str, ...] = ()

    def choices(self, role: Role) -> tuple[RoleChoice, ...]:
        """What it offers for a role: the check that is called like it, then the others."""
        return tuple(sorted((c for c in self.roles.values() if c.role == role), key=lambda c: c.name != role))


def read_ecosystem(name: str, node: DocumentNode) -> Ecosystem:
    """The ecosystem in a document. Raises AigonError (usage) that names file and key for anything not known."""
    fields = node.fields(KEYS, required=("title", "detect", "absent", "roles"))
    variables = _read_variables(fields["variables"]) if "variables" in fields else {}
    return Ecosystem(
        name,
        fields["title"].text(),
        parse_condition(fields["detect"]),
        fields["absent"].text(),
        read_roles(fields["roles"], tuple(variables)),
        variables,
        node.file,
        protection.read_rules(fields["protect"]) if "protect" in fields else (),
        tuple(_read_setup(item) for item in fields["setup"].items()) if "setup" in fields else (),
        {name: place.inside() for name, place in fields["caches"].pairs().items()} if "caches" in fields else {},
        fields["fallback"].flag() if "fallback" in fields else False,
        fields["manifests"].texts() if "manifests" in fields else (),
        parse_condition(fields["workspace"]) if "workspace" in fields else None,
        fields["outputs"].texts() if "outputs" in fields else (),
    )


def _read_setup(node: DocumentNode) -> Setup:
    fields = node.fields(("lock", "argv", "makes"), required=("lock", "argv", "makes"))
    return Setup(fields["lock"].inside(), _read_argv(fields["argv"]), fields["makes"].inside())


def read_roles(node: DocumentNode, variables: tuple[str, ...] = ()) -> dict[str, RoleChoice]:
    """Return the choices under `roles:` in an ecosystem or a profile, by the names of their checks."""
    return {name: _read_choice(name, child, variables) for name, child in node.pairs().items()}


def find_role(name: str) -> Role | None:
    """Return the role that a check's name speaks of: `tests` for `tests` and `tests-e2e`."""
    return next((role for role in ROLES if name == role or name.startswith(f"{role}-")), None)


def _read_variables(node: DocumentNode) -> dict[str, tuple[tuple[Condition, str], ...]]:
    return {name: tuple(_read_value(item) for item in child.items()) for name, child in node.pairs().items()}


def _read_value(node: DocumentNode) -> tuple[Condition, str]:
    fields = node.fields(("if", "value"), required=("if", "value"))
    return parse_condition(fields["if"]), fields["value"].text()


def _read_choice(name: str, node: DocumentNode, variables: tuple[str, ...]) -> RoleChoice:
    role = find_role(name)
    if role is None or not _NAME.fullmatch(name):
        hint = f"A role, or one more check for it such as 'lint-format'. {suggest(name, ROLES)}"
        raise usage(f"Unknown key {node.path!r}", where=node.file, hint=hint)
    required = ("absent", "candidates") if name == role else ("candidates",)
    fields = node.fields(("absent", "timeout", "writes", "candidates"), required=required)
    shared = read_settings({key: fields[key] for key in ("timeout", "writes") if key in fields})
    candidates = tuple(_read_candidate(item, shared, variables) for item in fields["candidates"].items())
    return RoleChoice(role, fields["absent"].text() if "absent" in fields else "", candidates, name)


def _read_candidate(node: DocumentNode, shared: Mapping[str, Any], variables: tuple[str, ...]) -> CommandCandidate:
    fields = node.fields(("if", "argv", "shown", "hint", "needs", *SETTINGS), required=("if", "argv"))
    for key in ("argv", "hint", "needs"):
        if key in fields:
            _check_placeholders(fields[key], (*OWN, *variables))
    given = {**shared, **read_settings(fields)}
    return CommandCandidate(
        parse_condition(fields["if"]),
        _read_argv(fields["argv"]),
        hint=fields["hint"].text() if "hint" in fields else "",
        needs=tuple(_read_need(item) for item in fields["needs"].items()) if "needs" in fields else (),
        shown=fields["shown"].text() if "shown" in fields else "",
        **given,
    )


def _read_argv(node: DocumentNode) -> tuple[str, ...]:
    argv = node.texts()
    if isinstance(node.value, str) or not argv:
        raise node.wrong("must be a list: the program and its arguments", "For a shell: [bash, -c, '...']")
    return argv


def _read_need(node: DocumentNode) -> Need:
    """A need is a condition with `hint`, and with `name` where the condition itself names no tool or module."""
    pairs = node.fields((*KINDS, "name", "hint"), required=("hint",))
    condition = parse_condition(
        DocumentNode({k: n.value for k, n in pairs.items() if k in KINDS}, node.file, node.path)
    )
    if "name" in pairs:
        return Need(pairs["name"].text(), condition, pairs["hint"].text())
    if not isinstance(condition, HasTool | HasModule):
        raise node.wrong("needs the key 'name'", "It is what people are told is missing")
    return Need(condition.name, condition, pairs["hint"].text())


def _check_placeholders(node: DocumentNode, known: tuple[str, ...]) -> None:
    for name, of in PLACEHOLDER.findall(str(node.value)):
        if (name != "tool") if of else (name not in known):
            raise node.wrong(f"has the unknown placeholder {{{name}}}", suggest(name, (*known, "tool:NAME")))


def read_settings(fields: Mapping[str, DocumentNode]) -> dict[str, Any]:
    """What `fields` say about how a check is run: the fields of a Candidate and of a Check by their names."""
    return {key: read(fields[key]) for key, read in SETTINGS.items() if key in fields}


def _read_env(node: DocumentNode) -> dict[str, str]:
    return {name: child.text() for name, child in node.pairs().items()}


WHEN: tuple[Literal["each", "final"], ...] = ("each", "final")
SETTINGS: Mapping[str, Callable[[DocumentNode], object]] = {
    "parser": DocumentNode.text,
    "timeout": DocumentNode.seconds,
    "exclusive": DocumentNode.flag,
    "when": lambda node: node.choice(WHEN),
    "paths": DocumentNode.texts,
    "cwd": DocumentNode.inside,
    "env": _read_env,
    "reports": DocumentNode.texts,
    "writes": DocumentNode.texts,
}
"""How a check is run, as candidates and a project's own `checks` may say it."""

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


def find_project_folders(project: ProjectReader, ecosystems: Iterable[Ecosystem]) -> tuple[str, ...]:
    """Folders below the root that are projects of their own, outer ones only; members of a workspace are not."""
    found = {
        folder for each in ecosystems if not _is_workspace(each, project) for folder in _find_folders(each, project)
    }
    return tuple(sorted(folder for folder in found if not any(_is_in(folder, other) for other in found)))


def has_root_manifest(project: ProjectReader, ecosystems: Iterable[Ecosystem]) -> bool:
    """Return whether a manifest stands at the root itself."""
    return any(project.glob(name) for each in ecosystems for name in each.manifests)


def find_setups(project: ProjectReader, ecosystems: Iterable[Ecosystem]) -> Iterator[Setup]:
    """The set-ups of every ecosystem for the root and for the projects below: by their own lock file or the root's."""
    for each in ecosystems:
        yield from each.setups
        for folder in dict.fromkeys(_list_manifest_folders(each, project)):
            for setup in each.setups:
                makes = f"{folder}/{setup.makes}"
                if project.kind(f"{folder}/{setup.lock}") == "file":
                    yield replace(setup, lock=f"{folder}/{setup.lock}", makes=makes, cwd=folder)
                elif project.kind(setup.lock) == "file":
                    yield replace(setup, makes=makes)


def _is_workspace(ecosystem: Ecosystem, project: ProjectReader) -> bool:
    return ecosystem.workspace is not None and holds(ecosystem.workspace, project)


def _find_folders(ecosystem: Ecosystem, project: ProjectReader) -> Iterator[str]:
    for folder in _list_manifest_folders(ecosystem, project):
        parts = folder.split("/")
        if len(parts) <= DEPTH and not NOT_PROJECTS.intersection(parts):
            yield folder


def _list_manifest_folders(ecosystem: Ecosystem, project: ProjectReader) -> Iterator[str]:
    for name in ecosystem.manifests:
        for path in project.glob(f"**/{name}"):
            if folder := path.rpartition("/")[0]:
                yield folder


def _is_in(folder: str, other: str) -> bool:
    return folder.startswith(f"{other}/")
