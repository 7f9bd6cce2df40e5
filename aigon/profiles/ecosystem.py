"""An ecosystem (Python, Node): which commands can fill a role, under which conditions. Read from YAML."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import Annotated, Any

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.errors import usage
from aigon.model.checks import ROLES, ProjectReader, Role
from aigon.profiles import protection
from aigon.profiles.conditions import KINDS, Condition, parse_condition
from aigon.text.documents import DocumentNode, suggest
from aigon.text.patterns import compile_re

PLACEHOLDER = compile_re(r"(?<!\$)\{([a-z][a-z0-9_]*)(?::([^{}\s]+))?\}")
"""`{python}` or `{tool:ruff}`; not the `${name}` of a shell."""
_NAME = compile_re(r"[a-z]+(?:-[a-z0-9]+)*")
OWN = ("python", "report", "scratch")
"""Placeholders without a colon that every ecosystem has; `report` and `scratch` are filled in when the check runs."""


class Need(Struct, frozen=True):
    """A requirement of a command; `name` is said when it is not installed, with `hint`."""

    name: str
    condition: Condition
    hint: str


class CommandCandidate(Struct, frozen=True):
    """One command for a role. `condition` says that the project has it configured, `needs` that it can run.

    `settings` are fields of a Check by name.
    """

    condition: Condition
    argv: tuple[str, ...]
    hint: str
    needs: tuple[Need, ...]
    settings: Mapping[str, Any]


class RoleChoice(Struct, frozen=True, dict=True):
    """The candidates for a check, the first that fits is taken; `absent` says why none fits.

    `name` is that of its role, or of one more check with that role (`lint-format`), which may be absent silently.
    Candidates that ship are read when they are asked for: a project needs those of few ecosystems.
    """

    role: Role
    absent: str
    name: str
    read: Callable[[], tuple[CommandCandidate, ...]]

    @cached_property
    def candidates(self) -> tuple[CommandCandidate, ...]:
        return self.read()


def _read_argv(node: DocumentNode) -> tuple[str, ...]:
    argv = node.texts()
    if isinstance(node.value, str) or not argv:
        raise node.wrong("must be a list: the program and its arguments", "For a shell: [bash, -c, '...']")
    return argv


class Setup(Struct, frozen=True):
    """Installs dependencies in a fresh checkout with the file `lock`: `argv`, run in `cwd`, leaves the folder `makes`.

    `lock` and `makes` are relative to the checkout.
    """

    lock: Annotated[str, DocumentNode.inside]
    argv: Annotated[tuple[str, ...], _read_argv]
    makes: Annotated[str, DocumentNode.inside]
    cwd: str = "."


def _read_setups(node: DocumentNode) -> tuple[Setup, ...]:
    return tuple(item.build(Setup, cwd=".") for item in node.items())


def _read_variable(node: DocumentNode) -> tuple[tuple[Condition, str], ...]:
    readers = {"if": parse_condition, "value": DocumentNode.text}
    values = (item.read(readers, required=readers) for item in node.items())
    return tuple((value["if"], value["value"]) for value in values)


class Ecosystem(Struct, frozen=True):
    """`variables` are placeholders of its own, each with values under conditions; the first that holds is taken.

    `protect` are rules on what an agent may change, `setup` the ways to its dependencies, `caches` variables and the
    folders in a person's home that they name. A `fallback` gives checks only for roles that no other ecosystem has any
    for. `manifests` are files that mark a project in a folder; where `workspace` holds, those below the root belong to
    the root's own project; `outputs` are lines for .gitignore about what its tools leave, in a run or outside of one.
    The keys of `roles` are the names of the checks.
    """

    name: str
    title: str
    detect: Annotated[Condition, parse_condition]
    absent: str
    roles: Annotated[Mapping[str, RoleChoice], lambda _: {}]  # their placeholders are those of `variables`
    file: str
    variables: Mapping[str, Annotated[tuple[tuple[Condition, str], ...], _read_variable]] = field(default_factory=dict)
    protect: Annotated[tuple[protection.Rule, ...], protection.read_rules] = ()
    setup: Annotated[tuple[Setup, ...], _read_setups] = ()
    caches: Mapping[str, Annotated[str, DocumentNode.inside]] = field(default_factory=dict)
    fallback: bool = False
    manifests: tuple[str, ...] = ()
    workspace: Annotated[Condition, parse_condition] = lambda _project: False
    outputs: tuple[str, ...] = ()

    def choices(self, role: Role) -> tuple[RoleChoice, ...]:
        """Return what it offers for a role: the check that is called like it, then the others."""
        return tuple(sorted((c for c in self.roles.values() if c.role == role), key=lambda c: c.name != role))


def read_ecosystem(name: str, node: DocumentNode) -> Ecosystem:
    """Return the ecosystem in a document. Raises AigonError (usage) that names file and key for anything not known."""
    read = node.build(Ecosystem, name=name, file=node.file)
    return replace(read, roles=read_roles(node.pairs()["roles"], tuple(read.variables)))


SETTINGS: Mapping[str, Callable[[DocumentNode], Any]] = {
    "parser": DocumentNode.text,
    "timeout": DocumentNode.seconds,
    "exclusive": DocumentNode.flag,
    "when": lambda node: node.choice(("each", "final")),
    "paths": DocumentNode.texts,
    "cwd": DocumentNode.inside,
    "env": lambda node: {name: child.text() for name, child in node.pairs().items()},
    "reports": DocumentNode.texts,
    "writes": DocumentNode.texts,
}
"""How a check is run, as candidates and a project's own `checks` may say it: fields of a Check by their names."""


def read_roles(node: DocumentNode, variables: tuple[str, ...] = ()) -> dict[str, RoleChoice]:
    """Return the choices under `roles:` in an ecosystem or a profile, by the names of their checks."""
    return {name: _read_choice(name, child, variables) for name, child in node.pairs().items()}


def find_role(name: str) -> Role | None:
    """Return the role that a check's name speaks of: `tests` for `tests` and `tests-e2e`."""
    return next((role for role in ROLES if name == role or name.startswith(f"{role}-")), None)


def _read_choice(name: str, node: DocumentNode, variables: tuple[str, ...]) -> RoleChoice:
    role = find_role(name)
    if role is None or not _NAME.fullmatch(name):
        hint = f"A role, or one more check for it such as 'lint-format'. {suggest(name, ROLES)}"
        raise usage(f"Unknown key {node.path!r}", where=node.file, hint=hint)
    required = ("absent", "candidates") if name == role else ("candidates",)
    shared = {key: SETTINGS[key] for key in ("timeout", "writes")}
    values = node.read({"absent": DocumentNode.text, **shared, "candidates": DocumentNode.items}, required)
    settings = {key: values[key] for key in shared if key in values}
    read = partial(_read_candidate, shared=settings, variables=variables)
    own = () if node.is_shipped else tuple(map(read, values["candidates"]))  # at once, to say what is wrong
    return RoleChoice(role, values.get("absent", ""), name, lambda: own or tuple(map(read, values["candidates"])))


def _read_candidate(node: DocumentNode, shared: Mapping[str, Any], variables: tuple[str, ...]) -> CommandCandidate:
    def fillable(read: Callable[[DocumentNode], Any]) -> Callable[[DocumentNode], Any]:
        def check_and_read(child: DocumentNode) -> Any:
            _require_placeholders(child, (*OWN, *variables))
            return read(child)

        return check_and_read

    readers = {
        "if": parse_condition,
        "argv": fillable(_read_argv),
        "shown": DocumentNode.text,
        "hint": fillable(DocumentNode.text),
        "needs": fillable(lambda needs: tuple(map(_read_need, needs.items()))),
        **SETTINGS,
    }
    values = {"hint": "", "needs": (), **shared, **node.read(readers, required=("if", "argv"))}
    condition, argv, hint, needs = (values.pop(key) for key in ("if", "argv", "hint", "needs"))
    return CommandCandidate(condition, argv, hint, needs, values)


def _read_need(node: DocumentNode) -> Need:
    """Return a condition with `hint`, and with `name` where the condition itself names no tool or module."""
    pairs = node.fields((*KINDS, "name", "hint"), required=("hint",))
    named = pairs.get("name") or pairs.get("tool") or pairs.get("module")
    values = {key: child.value for key, child in pairs.items() if key in KINDS}
    condition = parse_condition(DocumentNode(values, node.file, node.path))
    if named is None:
        raise node.wrong("needs the key 'name'", "The message that something is missing names it")
    return Need(named.text(), condition, pairs["hint"].text())


def _require_placeholders(node: DocumentNode, known: tuple[str, ...]) -> None:
    for name, of in PLACEHOLDER.findall(str(node.value)):
        if (name != "tool") if of else (name not in known):
            raise node.wrong(f"has the unknown placeholder {{{name}}}", suggest(name, (*known, "tool:NAME")))


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
    """Return the folders below the root that are projects of their own: outer ones only, no members of a workspace."""
    manifests = (
        folder for each in ecosystems if not each.workspace(project) for folder in _list_manifest_folders(each, project)
    )
    found = {
        folder for folder in manifests if folder.count("/") < DEPTH and not NOT_PROJECTS.intersection(folder.split("/"))
    }
    return tuple(sorted(folder for folder in found if not any(folder.startswith(f"{other}/") for other in found)))


def find_setups(project: ProjectReader, ecosystems: Iterable[Ecosystem]) -> Iterator[Setup]:
    """Yield the set-ups for the root and for the projects below, by their own lock file or the root's."""
    for each in ecosystems:
        yield from each.setup
        for folder in dict.fromkeys(_list_manifest_folders(each, project)):
            for setup in each.setup:
                makes = f"{folder}/{setup.makes}"
                if project.kind(f"{folder}/{setup.lock}") == "file":
                    yield replace(setup, lock=f"{folder}/{setup.lock}", makes=makes, cwd=folder)
                elif project.kind(setup.lock) == "file":
                    yield replace(setup, makes=makes)


def _list_manifest_folders(ecosystem: Ecosystem, project: ProjectReader) -> Iterator[str]:
    for name in ecosystem.manifests:
        for path in project.glob(f"**/{name}"):
            folder = path.rpartition("/")[0]
            # Beside `__init__.py`, `setup.py` is a module of a package.
            if folder and not (name == "setup.py" and project.kind(f"{folder}/__init__.py") == "file"):
                yield folder
