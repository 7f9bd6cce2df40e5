"""The check `endpoints` of a project: what its configuration asks of a server, frozen into one command."""

import json
import posixpath
import re
import sys
from collections.abc import Iterator, Mapping
from itertools import chain, count
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
from aigon.checks.project import ProjectOnDisk
from aigon.config.endpoint_references import format_value, list_references
from aigon.errors import usage
from aigon.model.checks import Check, ProjectReader
from aigon.profiles.profile import CONFIG
from aigon.profiles.resolution import fill_arguments, find_missing_programs, locate_program
from aigon.text.documents import suggest
from aigon.text.shell import list_commands

if TYPE_CHECKING:
    from aigon.config import endpoints as given

PROGRAM = Path(__file__).with_name("__main__.py")
"""Started by its file: so it is the installed aigon's, whatever lies in the folder that it is started in."""
_PROGRAM_FOLDERS = (".venv/bin", "venv/bin", "node_modules/.bin")
_WORD = re.compile(r"[\w.+-]+", re.ASCII)
_BUILT_IN = frozenset(
    ("!", ".", "[[", "alias", "builtin", "cd", "command", "coproc", "declare", "eval", "exec", "export", "let", "local")
) | {"pushd", "read", "readonly", "set", "shopt", "source", "time", "trap", "type", "ulimit", "umask", "unset", "wait"}
"""First words that bash itself knows."""


def endpoint_check(config: "given.Endpoints", root: Path, folder: str, project: ProjectReader) -> Check:
    """Return the check in `folder`, relative to `root`; `project` says where the server's program is.

    Files that the requests refer to are read now, so that an agent cannot change what is expected. A pass holds for the
    next run on the same tree, as one of tests does: both start the project's code anew. Raises AigonError (exit 2) for
    what cannot be meant.
    """
    where = "endpoints" if folder in ("", ".") else f"paths.{folder}.endpoints"
    word = pack_plan(build_plan(config, root, folder, where))
    if len(word) > LARGEST_PLAN:
        what = "The requests and their documents are too large to hand on"
        hint = 'Ask for fewer things, name smaller schemas, or give the document as a path on the server ("path")'
        raise usage(what, where=f"{where} in {CONFIG}", hint=hint)
    template = ("bash", "-c", config.command) if isinstance(config.command, str) else tuple(config.command)
    argv = locate_program(fill_arguments(template, project, {}), project)
    schemathesis = project.tool("schemathesis")
    missing = next(iter(_list_missing(config.command, argv, template, project)), "")
    hint = f"Install {missing} and put it on PATH, or change {where}.command" if missing else ""
    if not missing and config.openapi and not schemathesis:
        missing, hint = "schemathesis", "pip install schemathesis (https://schemathesis.io)"
    tool = ("--schemathesis", schemathesis or "schemathesis") if config.openapi else ()
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


def _list_missing(
    command: str | list[str], argv: tuple[str, ...], template: tuple[str, ...], project: ProjectReader
) -> Iterator[str]:
    """Yield the programs of the server's command that are not installed."""
    yield from find_missing_programs(argv, template, project)
    # The program of a line can only be told if the line is nothing but one plain command.
    commands = list_commands(command) if isinstance(command, str) else ()
    word = commands[0].words[0] if len(commands) == 1 else ""
    if _WORD.fullmatch(word) and word not in _BUILT_IN and not project.tool(word):
        yield word


def build_plan(config: "given.Endpoints", root: Path, folder: str, where: str) -> EndpointPlan:
    """Return what the program is to do. `where` is the key of `config`.

    Raises AigonError (exit 2) for what refers to nothing.
    """
    _require_saved(config, where)
    reader = _DocumentReader(ProjectOnDisk(root, {}), folder)
    named = {n: name for n, r in enumerate(config.requests) if (name := reader.read_schema(n, r, where))}
    openapi = config.openapi
    file = reader.read_file(openapi.file, f"{where}.openapi in {CONFIG}") if openapi and openapi.file else ""
    _require_usable(reader.values, named, where)
    names = _name_requests(config.requests)
    up = posixpath.relpath(".", folder or ".")
    return EndpointPlan(
        tuple(_plan_request(r, names[n], named.get(n, "")) for n, r in enumerate(config.requests)),
        OpenApiPlan(file, openapi.path or "", tuple(openapi.args)) if openapi else None,
        reader.texts,
        config.env,
        config.port,
        Readiness(config.ready.path or "", tuple(config.ready.status), config.ready.timeout),
        config.stop,
        config.timeout,
        # Programs of the project in `folder`, then those of the repository.
        (*_PROGRAM_FOLDERS, *(f"{up}/{name}" for name in _PROGRAM_FOLDERS if up != ".")),
    )


def _plan_request(config: "given.Request", name: str, schema: str) -> PlannedRequest:
    from aigon.config.endpoints import get_named_value

    expect = config.expect
    body = None
    if json_ := get_named_value(config, "json"):
        body = RequestBody("json", json_[0])
    elif config.form is not None:
        body = RequestBody("form", list(_list_pairs(config.form)))
    elif config.text is not None:
        body = RequestBody("text", config.text)
    return PlannedRequest(
        name,
        config.method,
        config.path,
        tuple(_list_pairs(config.query)),
        config.headers,
        body,
        config.cookies,
        Expectation(tuple(expect.status), expect.headers, get_named_value(expect, "json"), schema, tuple(expect.text)),
        config.save,
        config.timeout,
    )


def _list_pairs(values: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield names and values as texts; a list is its name several times."""
    for name, value in values.items():
        for each in value if isinstance(value, list) else [value]:
            yield name, format_value(each)


def _name_requests(requests: "list[given.Request]") -> list[str]:
    """Return what each request is called: no two alike, and the same in every run."""
    names: list[str] = []
    for request in requests:
        name = " ".join((request.name or f"{request.method} {request.path}").split())
        numbered = (f"{name} ({number})" for number in count(2))
        names.append(next(each for each in chain([name], numbered) if each not in names))
    return names


def _require_saved(config: "given.Endpoints", where: str) -> None:
    """Raise AigonError (exit 2) for a `${name}` that no earlier request saves."""
    known = {"base", "port"}
    for number, request in enumerate(config.requests):
        expected = (request.expect.headers, request.expect.text, request.expect.json_)
        sent = (request.path, request.query, request.headers, request.json_, request.form or {}, request.text or "")
        for name in sorted(list_references((sent, expected)) - known):
            what = f"No request before {request.method} {request.path} saves a value as {name!r}"
            hint = f"{suggest(name, known)}; $${{{name}}} is for a plain ${{{name}}}"
            raise usage(what, where=f"{where}.requests.{number} in {CONFIG}", hint=hint)
        known |= set(request.save)


class _DocumentReader:
    """Reads the files that requests refer to, and those that these refer to, each once.

    `texts` and `values` are by path in the repository, or by `#` and a number for a schema in the configuration.
    """

    def __init__(self, project: ProjectOnDisk, folder: str) -> None:
        self.texts: dict[str, str] = {}
        self.values: dict[str, object] = {}
        self._project = project
        self._folder = folder or "."

    def read_schema(self, number: int, request: "given.Request", where: str) -> str:
        """Return the name of the schema that a request expects; empty for none."""
        schema = request.expect.schema_
        if schema is None:
            return ""
        place = f"{where}.requests.{number}.expect.schema in {CONFIG}"
        if isinstance(schema, str):
            return self.read_file(schema, place)
        name = f"#{number}"
        self.texts[name], self.values[name] = json.dumps(schema), schema
        self._follow(posixpath.join(self._folder, "config"), schema, place)
        return name

    def read_file(self, path: str, place: str) -> str:
        """Read a file in the configuration's own folder with all that it refers to, and return its name."""
        return self._read(posixpath.normpath(posixpath.join(self._folder, path)), path, place)

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
            why = "it is not in UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
            hint = "Fix the file: JSON, or YAML by its name"
            raise usage(f"{name} cannot be read: {why}", where=name, hint=hint) from None
        self.texts[name], self.values[name] = text, value
        self._follow(name, value, name)
        return name

    def _follow(self, name: str, value: object, place: str) -> None:
        has_id = isinstance(value, dict) and isinstance(value.get("$id"), str)
        for reference in schemas.find_references(value):
            file = reference.partition("#")[0]
            if schemas.is_address(reference):
                # What has that name by `$id` is found later; nothing is fetched.
                if not reference.startswith(("http://", "https://", "urn:")):
                    hint = "Keep a copy in the project, and name that"
                    raise usage(f"{reference!r} cannot be read", where=place, hint=hint)
            elif file:
                path = posixpath.normpath(posixpath.join(posixpath.dirname(name), file))
                is_there = not path.startswith(("../", "/")) and self._project.kind(path) == "file"
                if is_there or not has_id:  # else it is relative to its own name, perhaps that of another document
                    self._read(path, file, place)


def _require_usable(values: Mapping[str, object], named: Mapping[int, str], where: str) -> None:
    """Raise AigonError (exit 2) for a schema that no answer could be compared with."""
    known = schemas.Schemas(values) if named else None
    for number, name in named.items():
        if known and (flaw := known.flaw(name)):
            place = f"{where}.requests.{number}.expect.schema in {CONFIG}" if name.startswith("#") else name
            hint = "Fix the schema. Nothing is fetched: what it refers to has to be a file of the project"
            raise usage(f"The schema of request {number} cannot be used: {flaw}", where=place, hint=hint)
