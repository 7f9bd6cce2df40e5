"""What is asked of a server, decided before any agent runs, and how it gets to the program that asks."""

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

VARIABLE = "AIGON_ENDPOINTS"
"""The variable that holds the plan; it is gone before the server starts."""
LARGEST = 120_000
"""Characters of that variable: Linux takes 128 KiB for one (MAX_ARG_STRLEN)."""


@dataclass(frozen=True, slots=True)
class Body:
    """What is sent: any JSON, pairs of a form, or a text."""

    kind: Literal["json", "form", "text"]
    value: object


@dataclass(frozen=True, slots=True)
class Expect:
    """`status` holds numbers and classes (`2xx`); `json` is empty or holds the one value; `schema` names a document."""

    status: tuple[str, ...] = ("2xx",)
    headers: Mapping[str, str | bool] = field(default_factory=dict)
    json: tuple[object, ...] = ()
    schema: str = ""
    text: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """One request. `save` are the places of values, by their names; `timeout` is in seconds."""

    name: str
    method: str = "GET"
    path: str = "/"
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Body | None = None
    cookies: bool = True
    expect: Expect = Expect()
    save: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 10.0


@dataclass(frozen=True, slots=True)
class Ready:
    """Without a path the server is ready when its port accepts connections. `timeout` is in seconds."""

    path: str = ""
    status: tuple[str, ...] = ("2xx",)
    timeout: float = 60.0


@dataclass(frozen=True, slots=True)
class OpenApi:
    """A document by the name under which the plan holds it, or by a path on the server; more options for the tool."""

    file: str = ""
    path: str = ""
    args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """`documents` are texts of files by path, and schemas that stand in the configuration itself by `#` and a number.

    `programs` are folders, relative to the server's, that are searched before PATH. Times are in seconds.
    """

    requests: tuple[Request, ...] = ()
    openapi: OpenApi | None = None
    documents: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    port: int | None = None
    ready: Ready = Ready()
    stop: float = 5.0
    timeout: float = 300.0
    programs: tuple[str, ...] = ()


def packed(plan: Plan) -> str:
    """The plan as one word without braces, in which nobody fills in anything."""
    document = json.dumps(asdict(plan), separators=(",", ":")).encode()
    return base64.b64encode(zlib.compress(document, 9)).decode()


def unpacked(word: str) -> Plan:
    """The plan that `packed` made a word of. Raises ValueError for anything else."""
    try:
        return _plan(json.loads(zlib.decompress(base64.b64decode(word, validate=True))))
    except (zlib.error, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"not a plan: {error}") from error


def _plan(document: dict[str, Any]) -> Plan:
    openapi = document.pop("openapi")
    return Plan(
        tuple(_request(each) for each in document.pop("requests")),
        _of(OpenApi, openapi) if openapi else None,
        ready=_of(Ready, document.pop("ready")),
        programs=tuple(document.pop("programs")),
        **document,
    )


def _request(document: dict[str, Any]) -> Request:
    body, expect = document.pop("body"), document.pop("expect")
    query = tuple((name, value) for name, value in document.pop("query"))
    return Request(**document, query=query, body=Body(**body) if body else None, expect=_of(Expect, expect))


def _of(kind: Any, document: dict[str, Any]) -> Any:
    """A value whose only lists are tuples."""
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in document.items()})
