"""The files that requests refer to (JSON Schemas, an OpenAPI document), and those that these refer to."""

import json
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from aigon.checks.endpoints import data, schemas
from aigon.checks.endpoints.schemas import Schemas
from aigon.checks.project import ProjectOnDisk
from aigon.errors import AigonError, usage
from aigon.profiles.profile import CONFIG

if TYPE_CHECKING:
    from aigon.config.endpoints import Endpoints

_KNOWN = ("https://json-schema.org/", "http://json-schema.org/")
"""Schemas of schemas, which nobody has to bring along."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """`texts` by path in the repository, or `#` and a number for a schema in the configuration itself; `schemas` are
    their names by number of the request, `openapi` is that of the OpenAPI document."""

    texts: Mapping[str, str]
    schemas: Mapping[int, str] = field(default_factory=dict)
    openapi: str = ""


def gathered(config: "Endpoints", root: Path, folder: str, where: str) -> Gathered:
    """Everything that `config` refers to. Raises AigonError (exit 2) for what is not there or cannot be used."""
    reader = _Reader(ProjectOnDisk(root, {}), folder)
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
    return Gathered(reader.texts, named, openapi)


class _Reader:
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
            value = data.value(name, text)
        except ValueError as error:
            raise _broken(name, error) from None
        self.texts[name], self.values[name] = text, value
        self._follow(name, value, name)
        return name

    def _follow(self, name: str, value: object, place: str) -> None:
        for reference in schemas.references(value):
            if schemas.is_address(reference):
                self._require_known(reference, place)
            elif file := schemas.elsewhere(reference):
                path = posixpath.normpath(posixpath.join(posixpath.dirname(name), file))
                if isinstance(value, dict) and isinstance(value.get("$id"), str) and not self._is_there(path):
                    continue  # relative to its own name, which is perhaps that of another one
                self._read(path, file, place)

    def _is_there(self, path: str) -> bool:
        return not path.startswith(("../", "/")) and self._project.kind(path) == "file"

    @staticmethod
    def _require_known(reference: str, place: str) -> None:
        """Raise AigonError (exit 2) for what would have to be fetched. What has that name by `$id` is found later."""
        if reference.startswith(("http://", "https://")) and not reference.startswith(_KNOWN):
            return
        if not reference.startswith((*_KNOWN, "urn:")):
            raise usage(f"{reference!r} cannot be read", where=place, hint="Keep a copy in the project, and name that")


def _require_usable(values: Mapping[str, object], named: Mapping[int, str], where: str) -> None:
    """Raise AigonError (exit 2) for a schema that no answer could be compared with."""
    known = Schemas(values) if named else None
    for number, name in named.items():
        if known and (flaw := known.flaw(name)):
            place = f"{where}.requests.{number}.expect.schema in {CONFIG}" if name.startswith("#") else name
            hint = "Fix the schema. Nothing is fetched: what it refers to has to be a file of the project"
            raise usage(f"The schema of request {number} cannot be used: {flaw}", where=place, hint=hint)


def _broken(name: str, error: ValueError) -> AigonError:
    what = "it is not in UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
    return usage(f"{name} cannot be read: {what}", where=name, hint="Fix the file: JSON, or YAML by its name")
