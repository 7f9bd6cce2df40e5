"""The check `endpoints` of a project: what its configuration asks of a server, frozen into one command."""

import json
import posixpath
import re
import sys
from itertools import chain, count
from pathlib import Path

from aigon.checks.endpoints import plan
from aigon.checks.endpoints.plan import LARGEST_PLAN, VARIABLE, EndpointPlan, pack_plan
from aigon.checks.project import ProjectOnDisk
from aigon.config.endpoints import Endpoints, Request, list_references
from aigon.errors import usage
from aigon.installation import require_extra
from aigon.model.checks import Check, ProjectReader
from aigon.profiles.profile import CONFIG
from aigon.profiles.resolution import fill_arguments, find_missing_programs, locate_program
from aigon.text.documents import suggest
from aigon.text.patterns import compile_re
from aigon.text.shell import list_commands

PROGRAM = Path(__file__).with_name("__main__.py")
"""Started by its file: so it is the installed aigon's, whatever lies in the folder that it is started in."""
_PROGRAM_FOLDERS = (".venv/bin", "venv/bin", "node_modules/.bin")
_WORD = compile_re(r"[\w.+-]+", re.ASCII)
_BUILT_IN = frozenset(
    ("!", ".", "[[", "alias", "builtin", "cd", "command", "coproc", "declare", "eval", "exec", "export", "let", "local")
) | {"pushd", "read", "readonly", "set", "shopt", "source", "time", "trap", "type", "ulimit", "umask", "unset", "wait"}
"""First words that bash itself knows."""


def endpoint_check(config: Endpoints, root: Path, folder: str, project: ProjectReader) -> Check:
    """Return the check in `folder`, relative to `root`; `project` says where the server's program is.

    Files that the requests refer to are read now, so that an agent cannot change what is expected. A pass holds for the
    next run on the same tree, as one of tests does: both start the project's code anew. Raises AigonError: exit 2 for
    what cannot be meant, exit 7 for a schema without the extra that reads them.
    """
    where = "endpoints" if folder in ("", ".") else f"paths.{folder}.endpoints"
    word = pack_plan(_build_plan(config, root, folder or ".", where))
    if len(word) > LARGEST_PLAN:
        what = "The requests and their documents are too large to hand on"
        hint = 'Ask for fewer things, name smaller schemas, or give the document as a path on the server ("path")'
        raise usage(what, where=f"{where} in {CONFIG}", hint=hint)
    template = ("bash", "-c", config.command) if isinstance(config.command, str) else tuple(config.command)
    argv = locate_program(fill_arguments(template, project, {}), project)
    missing = next(iter(find_missing_programs(argv, template, project)), "") or _find_missing_word(config, project)
    hint = f"Install {missing} and put it on PATH, or change {where}.command" if missing else ""
    schemathesis = project.tool("schemathesis")
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


def _find_missing_word(config: Endpoints, project: ProjectReader) -> str:
    """Return the program of a line for bash that is not installed, if the line is nothing but one plain command."""
    commands = list_commands(config.command) if isinstance(config.command, str) else ()
    word = commands[0].words[0] if len(commands) == 1 else ""
    return word if _WORD.fullmatch(word) and word not in _BUILT_IN and not project.tool(word) else ""


def _build_plan(config: Endpoints, root: Path, folder: str, where: str) -> EndpointPlan:
    """Return what the program is to do. `where` is the key of `config`. Raises AigonError (exit 2)."""
    _require_saved(config, where)
    reader = _DocumentReader(ProjectOnDisk(root, {}), folder)
    named = {n: name for n, request in enumerate(config.requests) if (name := reader.read_schema(n, request, where))}
    openapi = config.openapi.file if config.openapi else None
    file = reader.read_file(openapi, f"{where}.openapi in {CONFIG}") if openapi else ""
    if named:
        require_extra("endpoints", "jsonschema", purpose=f"{where}: `schema`")
    known = plan.Schemas(reader.values) if named else None
    for number, name in named.items():
        if known and (flaw := known.flaw(name)):
            place = f"{where}.requests.{number}.expect.schema in {CONFIG}" if name.startswith("#") else name
            hint = "Fix the schema. Nothing is fetched: what it refers to has to be a file of the project"
            raise usage(f"The schema of request {number} cannot be used: {flaw}", where=place, hint=hint)
    up = posixpath.relpath(".", folder)
    # Programs of the project in `folder`, then those of the repository.
    programs = [*_PROGRAM_FOLDERS, *(f"{up}/{name}" for name in _PROGRAM_FOLDERS if up != ".")]
    names = _name_requests(config.requests)
    return EndpointPlan(
        config=config, names=names, schemas=named, openapi=file, documents=reader.texts, programs=programs
    )


def _name_requests(requests: list[Request]) -> list[str]:
    """Return what each request is called: no two alike, and the same in every run."""
    names: list[str] = []
    for request in requests:
        name = " ".join((request.name or f"{request.method} {request.path}").split())
        numbered = (f"{name} ({number})" for number in count(2))
        names.append(next(each for each in chain([name], numbered) if each not in names))
    return names


def _require_saved(config: Endpoints, where: str) -> None:
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
        self._project, self._folder = project, folder

    def read_schema(self, number: int, request: Request, where: str) -> str:
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
            value = plan.parse_document(name, text)
        except ValueError as error:
            why = "it is not in UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
            hint = "Fix the file: JSON, or YAML by its name"
            raise usage(f"{name} cannot be read: {why}", where=name, hint=hint) from None
        self.texts[name], self.values[name] = text, value
        self._follow(name, value, name)
        return name

    def _follow(self, name: str, value: object, place: str) -> None:
        for reference in plan.find_references(value):
            file = reference.partition("#")[0]
            if plan.is_address(reference):
                # What has that name by `$id` is found later; nothing is fetched.
                if not reference.startswith(("http://", "https://", "urn:")):
                    hint = "Keep a copy in the project, and name that"
                    raise usage(f"{reference!r} cannot be read", where=place, hint=hint)
            elif file:
                path = posixpath.normpath(posixpath.join(posixpath.dirname(name), file))
                is_there = not path.startswith(("../", "/")) and self._project.kind(path) == "file"
                # A document with a name of its own may mean another one relative to that.
                if is_there or not plan.read_id(value):
                    self._read(path, file, place)
