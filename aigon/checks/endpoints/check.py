"""The check `endpoints` of a project: what its configuration asks of a server, frozen into one command."""

import json
import posixpath
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from aigon.checks.endpoints import schemas
from aigon.checks.endpoints.plan import (
    LARGEST_PLAN,
    VARIABLE,
    EndpointPlan,
    Expectation,
    OpenApiPlan,
    PlannedRequest,
    Readiness,
    RequestBody,
    pack_plan,
)
from aigon.checks.endpoints.schemas import Schemas
from aigon.checks.project import ProjectOnDisk
from aigon.config import endpoint_references
from aigon.errors import AigonError, usage
from aigon.model.checks import Check, Project
from aigon.profiles.profile import CONFIG
from aigon.profiles.resolution import fill_arguments, find_missing_programs, locate_program
from aigon.text.documents import suggest
from aigon.text.shell import list_commands

if TYPE_CHECKING:
    from aigon.config import endpoints as given
if TYPE_CHECKING:
    from aigon.config import endpoints as given
if TYPE_CHECKING:
    from aigon.config.endpoints import Endpoints


PROGRAM = Path(__file__).with_name("__main__.py")
"""Started by its file: so it is the installed aigon's, whatever lies in the folder that it is started in."""
_WORD = re.compile(r"[\w.+-]+", re.ASCII)
_BUILT_IN = frozenset(
    ("!", ".", "[[", "alias", "builtin", "cd", "command", "coproc", "declare", "eval", "exec", "export", "let", "local")
) | {"pushd", "read", "readonly", "set", "shopt", "source", "time", "trap", "type", "ulimit", "umask", "unset", "wait"}
"""First words that bash itself knows."""


def endpoint_check(config: "given.Endpoints", root: Path, folder: str, project: Project) -> Check:
    """The check in `folder`, relative to `root`; `project` says where the server's program is.

    Files that the requests refer to are read now, so that an agent cannot change what is expected. A pass stands for
    the next run on the same tree, as one of tests does: both start the project's code anew, and what they may meet
    outside of the tree is the same. Raises AigonError (exit 2) for what cannot be meant.
    """
    where = "endpoints" if folder in ("", ".") else f"paths.{folder}.endpoints"
    word = pack_plan(build_plan(config, root, folder, where))
    if len(word) > LARGEST_PLAN:
        hint = 'Ask for fewer things, name smaller schemas, or give the document as a path on the server ("path")'
        raise usage(
            "The requests and their documents are too large to hand on", where=f"{where} in {CONFIG}", hint=hint
        )
    template = ("bash", "-c", config.command) if isinstance(config.command, str) else tuple(config.command)
    argv = locate_program(fill_arguments(template, project, {}), project)
    missing, hint = _find_missing(config, template, argv, project, where)
    tool = ("--schemathesis", project.tool("schemathesis") or "schemathesis") if config.openapi else ()
    program = (sys.executable, "-I", str(PROGRAM), "--report", "{report}", "--scratch", "{scratch}")
    return Check(
        "endpoints",
        "endpoints",
        (*program, *tool, "--", *argv),
        parser="endpoints",
        timeout=config.timeout,
        # Only one at a time can have a port that is not free to choose.
        exclusive=config.port is not None,
        cwd=folder or ".",
        env={VARIABLE: word},
        source=CONFIG,
        missing=missing,
        hint=hint,
    )


def _find_missing(
    config: "given.Endpoints", template: tuple[str, ...], argv: tuple[str, ...], project: Project, where: str
) -> tuple[str, str]:
    """What is not installed, the server's program or schemathesis, and how to get it; two empty texts for nothing."""
    started = _read_first_word(config.command) if isinstance(config.command, str) else ""
    lacking = [
        *find_missing_programs(argv, template, project),
        *([started] if started and not project.tool(started) else []),
    ]
    if lacking:
        return lacking[0], f"Install {lacking[0]} and put it on PATH, or change {where}.command"
    if config.openapi and not project.tool("schemathesis"):
        return "schemathesis", "pip install schemathesis (https://schemathesis.io)"
    return "", ""


def _read_first_word(line: str) -> str:
    """The program of a line that is nothing but one plain command; empty where that cannot be told by reading."""
    commands = list_commands(line)
    word = commands[0].words[0] if len(commands) == 1 else ""
    return word if _WORD.fullmatch(word) and word not in _BUILT_IN else ""


_PROGRAM_FOLDERS = (".venv/bin", "venv/bin", "node_modules/.bin")


def build_plan(config: "given.Endpoints", root: Path, folder: str, where: str) -> EndpointPlan:
    """What the program is to do. `where` is the key that `config` stands under.

    Raises AigonError (exit 2) for what refers to nothing.
    """
    _require_saved(config, where)
    documents = gather_documents(config, root, folder, where)
    openapi = config.openapi
    names = _name_requests(config.requests)
    return EndpointPlan(
        tuple(
            _plan_request(each, names[number], documents.schemas.get(number, ""))
            for number, each in enumerate(config.requests)
        ),
        OpenApiPlan(documents.openapi, openapi.path or "", tuple(openapi.args)) if openapi else None,
        documents.texts,
        config.env,
        config.port,
        Readiness(config.ready.path or "", tuple(config.ready.status), config.ready.timeout),
        config.stop,
        config.timeout,
        tuple(_list_program_folders(folder)),
    )


def _plan_request(config: "given.Request", name: str, schema: str) -> PlannedRequest:
    from aigon.config.endpoints import get_named_value as is_given

    expect = config.expect
    wanted = Expectation(tuple(expect.status), expect.headers, is_given(expect, "json"), schema, tuple(expect.text))
    return PlannedRequest(
        name,
        config.method,
        config.path,
        tuple(_list_pairs(config.query)),
        config.headers,
        _plan_body(config, is_given(config, "json")),
        config.cookies,
        wanted,
        config.save,
        config.timeout,
    )


def _plan_body(config: "given.Request", json: tuple[object, ...]) -> RequestBody | None:
    if json:
        return RequestBody("json", json[0])
    if config.form is not None:
        return RequestBody("form", list(_list_pairs(config.form)))
    return None if config.text is None else RequestBody("text", config.text)


def _list_pairs(values: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Names and values as texts; a list is its name several times."""
    for name, value in values.items():
        for each in value if isinstance(value, list) else [value]:
            yield name, endpoint_references.format_value(each)


def _name_requests(requests: "list[given.Request]") -> list[str]:
    """What each request is called: no two alike, and the same in every run."""
    names: list[str] = []
    for each in requests:
        name = " ".join((each.name or f"{each.method} {each.path}").split())
        names.append(next(n for n in _number_name(name) if n not in names))
    return names


def _number_name(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name} ({number})" for number in range(2, 10_000))


def _list_program_folders(folder: str) -> Iterator[str]:
    """Folders with a project's programs, seen from `folder`: its own, then the repository's."""
    yield from _PROGRAM_FOLDERS
    up = posixpath.relpath(".", folder or ".")
    yield from (f"{up}/{name}" for name in _PROGRAM_FOLDERS if up != ".")


def _require_saved(config: "given.Endpoints", where: str) -> None:
    """Raise AigonError (exit 2) for a `${name}` that no earlier request saves."""
    known = {"base", "port"}
    for number, each in enumerate(config.requests):
        expected = (each.expect.headers, each.expect.text, each.expect.json_)
        sent = (each.path, each.query, each.headers, each.json_, each.form or {}, each.text or "")
        for name in sorted(endpoint_references.list_references((sent, expected)) - known):
            place = f"{where}.requests.{number} in {CONFIG}"
            hint = f"{suggest(name, known)}; $${{{name}}} is for a plain ${{{name}}}"
            raise usage(
                f"No request before {each.method} {each.path} saves a value as {name!r}", where=place, hint=hint
            )
        known |= set(each.save)


_META_SCHEMAS = ("https://json-schema.org/", "http://json-schema.org/")
"""Schemas of schemas, which nobody has to bring along."""


@dataclass(frozen=True, slots=True)
class GatheredDocuments:
    """`texts` by path in the repository, or `#` and a number for a schema in the configuration itself; `schemas` are
    their names by number of the request, `openapi` is that of the OpenAPI document."""

    texts: Mapping[str, str]
    schemas: Mapping[int, str] = field(default_factory=dict)
    openapi: str = ""


def gather_documents(config: "Endpoints", root: Path, folder: str, where: str) -> GatheredDocuments:
    """Everything that `config` refers to. Raises AigonError (exit 2) for what is not there or cannot be used."""
    reader = _DocumentReader(ProjectOnDisk(root, {}), folder)
    named: dict[int, str] = {}
    for number, request in enumerate(config.requests):
        place = f"{where}.requests.{number}.expect.schema in {CONFIG}"
        if isinstance(schema := request.expect.schema_, str):
            named[number] = reader.file(schema, place)
        elif schema is not None:
            named[number] = reader.inline(f"#{number}", schema, place)
    of_openapi = config.openapi.file if config.openapi else None
    openapi = reader.file(of_openapi, f"{where}.openapi in {CONFIG}") if of_openapi else ""
    _require_usable(reader.values, named, where)
    return GatheredDocuments(reader.texts, named, openapi)


class _DocumentReader:
    """Reads documents with all that they refer to, each once."""

    def __init__(self, project: ProjectOnDisk, folder: str) -> None:
        self.texts: dict[str, str] = {}
        self.values: dict[str, object] = {}
        self._project = project
        self._folder = folder

    def file(self, path: str, place: str) -> str:
        """The name of a file of the project, in the configuration's own folder, read with all it refers to."""
        return self._read(posixpath.normpath(posixpath.join(self._folder or ".", path)), path, place)

    def inline(self, name: str, value: object, place: str) -> str:
        """The name of a schema that stands in the configuration."""
        self.texts[name], self.values[name] = json.dumps(value), value
        self._follow(posixpath.join(self._folder or ".", "config"), value, place)
        return name

    def _read(self, name: str, shown: str, place: str) -> str:
        if name in self.values:
            return name
        raw = None if name.startswith(("../", "/")) or name == ".." else self._project.read(name)
        if raw is None:
            raise usage(f"There is no file {shown!r} in the project", where=place, hint="Fix the path, or add the file")
        try:
            text = raw.decode("utf-8-sig")
            value = schemas.parse_document(name, text)
        except ValueError as error:
            raise _unreadable(name, error) from None
        self.texts[name], self.values[name] = text, value
        self._follow(name, value, name)
        return name

    def _follow(self, name: str, value: object, place: str) -> None:
        for reference in schemas.find_references(value):
            if schemas.is_address(reference):
                self._require_known(reference, place)
            elif file := schemas.referenced_file(reference):
                path = posixpath.normpath(posixpath.join(posixpath.dirname(name), file))
                if isinstance(value, dict) and isinstance(value.get("$id"), str) and not self._is_there(path):
                    continue  # relative to its own name, which is perhaps that of another one
                self._read(path, file, place)

    def _is_there(self, path: str) -> bool:
        return not path.startswith(("../", "/")) and self._project.kind(path) == "file"

    @staticmethod
    def _require_known(reference: str, place: str) -> None:
        """Raise AigonError (exit 2) for what would have to be fetched. What has that name by `$id` is found later."""
        if reference.startswith(("http://", "https://")) and not reference.startswith(_META_SCHEMAS):
            return
        if not reference.startswith((*_META_SCHEMAS, "urn:")):
            raise usage(f"{reference!r} cannot be read", where=place, hint="Keep a copy in the project, and name that")


def _require_usable(values: Mapping[str, object], named: Mapping[int, str], where: str) -> None:
    """Raise AigonError (exit 2) for a schema that no answer could be compared with."""
    known = Schemas(values) if named else None
    for number, name in named.items():
        if known and (flaw := known.flaw(name)):
            place = f"{where}.requests.{number}.expect.schema in {CONFIG}" if name.startswith("#") else name
            hint = "Fix the schema. Nothing is fetched: what it refers to has to be a file of the project"
            raise usage(f"The schema of request {number} cannot be used: {flaw}", where=place, hint=hint)


def _unreadable(name: str, error: ValueError) -> AigonError:
    what = "it is not in UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
    return usage(f"{name} cannot be read: {what}", where=name, hint="Fix the file: JSON, or YAML by its name")
