"""The plan that a configuration leads to: everything read and named, nothing left for a run to find out."""

import posixpath
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from aigon.checks.endpoints.documents import gathered
from aigon.checks.endpoints.plan import Body, Expect, OpenApi, Plan, Ready, Request
from aigon.config import endpoint_references
from aigon.errors import usage
from aigon.profiles.profile import CONFIG
from aigon.text.documents import nearest

if TYPE_CHECKING:
    from aigon.config import endpoints as given

_PROGRAMS = (".venv/bin", "venv/bin", "node_modules/.bin")


def plan_of(config: "given.Endpoints", root: Path, folder: str, where: str) -> Plan:
    """What the program is to do. `where` is the key that `config` stands under.

    Raises AigonError (exit 2) for what refers to nothing.
    """
    _require_saved(config, where)
    documents = gathered(config, root, folder, where)
    openapi = config.openapi
    names = _names(config.requests)
    return Plan(
        tuple(
            _request(each, names[number], documents.schemas.get(number, ""))
            for number, each in enumerate(config.requests)
        ),
        OpenApi(documents.openapi, openapi.path or "", tuple(openapi.args)) if openapi else None,
        documents.texts,
        config.env,
        config.port,
        Ready(config.ready.path or "", tuple(config.ready.status), config.ready.timeout),
        config.stop,
        config.timeout,
        tuple(_programs(folder)),
    )


def _request(config: "given.Request", name: str, schema: str) -> Request:
    from aigon.config.endpoints import get_named_value as is_given

    expect = config.expect
    wanted = Expect(tuple(expect.status), expect.headers, is_given(expect, "json"), schema, tuple(expect.text))
    return Request(
        name,
        config.method,
        config.path,
        tuple(_pairs(config.query)),
        config.headers,
        _body(config, is_given(config, "json")),
        config.cookies,
        wanted,
        config.save,
        config.timeout,
    )


def _body(config: "given.Request", json: tuple[object, ...]) -> Body | None:
    if json:
        return Body("json", json[0])
    if config.form is not None:
        return Body("form", list(_pairs(config.form)))
    return None if config.text is None else Body("text", config.text)


def _pairs(values: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Names and values as texts; a list is its name several times."""
    for name, value in values.items():
        for each in value if isinstance(value, list) else [value]:
            yield name, endpoint_references.format_value(each)


def _names(requests: "list[given.Request]") -> list[str]:
    """What each request is called: no two alike, and the same in every run."""
    names: list[str] = []
    for each in requests:
        name = " ".join((each.name or f"{each.method} {each.path}").split())
        names.append(next(n for n in _numbered(name) if n not in names))
    return names


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name} ({number})" for number in range(2, 10_000))


def _programs(folder: str) -> Iterator[str]:
    """Folders with a project's programs, seen from `folder`: its own, then the repository's."""
    yield from _PROGRAMS
    up = posixpath.relpath(".", folder or ".")
    yield from (f"{up}/{name}" for name in _PROGRAMS if up != ".")


def _require_saved(config: "given.Endpoints", where: str) -> None:
    """Raise AigonError (exit 2) for a `${name}` that no earlier request saves."""
    known = {"base", "port"}
    for number, each in enumerate(config.requests):
        expected = (each.expect.headers, each.expect.text, each.expect.json_)
        sent = (each.path, each.query, each.headers, each.json_, each.form or {}, each.text or "")
        for name in sorted(endpoint_references.list_references((sent, expected)) - known):
            place = f"{where}.requests.{number} in {CONFIG}"
            hint = f"{nearest(name, known)}; $${{{name}}} is for a plain ${{{name}}}"
            raise usage(
                f"No request before {each.method} {each.path} saves a value as {name!r}", where=place, hint=hint
            )
        known |= set(each.save)
