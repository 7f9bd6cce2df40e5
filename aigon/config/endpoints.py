"""The key `endpoints`: a server, when it is ready, and what it has to answer. See docs/endpoints.md.

References to values are `${name}` in a request; `$.items[0].id`, `headers.x` and `cookies.x` in an answer.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from aigon.config.sections import Form, Section
from aigon.text import amounts
from aigon.text.patterns import compile_re

_REFERENCE = compile_re(r"\$(?P<literal>\$)?\{(?P<name>[A-Za-z_]\w*)\}", re.ASCII)
SavedValues = Mapping[str, object]


class UnsavedValue(Exception):
    """A value was never saved; the text of the error is its name."""


def list_references(value: object) -> set[str]:
    """Return the names of all values that `value` asks for, in texts at any depth."""
    if isinstance(value, str):
        return {hole["name"] for hole in _REFERENCE.finditer(value) if not hole["literal"]}
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return {name for part in parts for name in list_references(part)}


def parse_reference(text: str) -> str:
    """Return the name in `text` if that is nothing but one reference; else ""."""
    hole = _REFERENCE.fullmatch(text)
    return hole["name"] if hole and not hole["literal"] else ""


def fill_references(value: object, values: SavedValues) -> object:
    """Return `value` with all references filled. A text that is only a reference becomes the value, with its type.

    Raises UnsavedValue.
    """
    if isinstance(value, str):
        return _get_saved(name, values) if (name := parse_reference(value)) else fill_text(value, values)
    if isinstance(value, Mapping):
        return {key: fill_references(each, values) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [fill_references(each, values) for each in value]
    return value


def fill_text(template: str, values: SavedValues, quote: Callable[[str], str] = str) -> str:
    """Return `template` with each reference as text, which `quote` makes fit for its place; `$${x}` becomes `${x}`.

    Raises UnsavedValue.
    """

    def fill(hole: re.Match[str]) -> str:
        return hole[0][1:] if hole["literal"] else quote(format_value(_get_saved(hole["name"], values)))

    return _REFERENCE.sub(fill, template)


def _get_saved(name: str, values: SavedValues) -> object:
    if name not in values:
        raise UnsavedValue(name)
    return values[name]


def format_value(value: object) -> str:
    """Return a value for a longer text: a text as it is, everything else as in JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_STEP = compile_re(r"""\.(?P<name>[^.\[\]"'\s]+)|\[(?P<number>-?\d{1,9})\]|\[(?P<quote>["'])(?P<key>.*?)(?P=quote)\]""")
PathStep = str | int


class ValueSource(Struct, frozen=True):
    """The source of a value; `steps` lead to it in JSON, or are the name of a header or a cookie."""

    kind: Literal["json", "headers", "cookies"]
    steps: tuple[PathStep, ...]


def parse_source(text: str) -> ValueSource:
    """Return the source that `text` names. Raises ValueError, for people, if it names none."""
    kinds: tuple[Literal["headers", "cookies"], ...] = ("headers", "cookies")
    for kind in kinds:
        name = text.removeprefix(f"{kind}.")
        if name and name != text:
            return ValueSource(kind, (name,))
    if not text.startswith("$"):
        raise ValueError(f"{text!r} is not one of $.name, headers.NAME and cookies.NAME")
    steps: list[PathStep] = []
    at = 1
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None:
            raise ValueError(f'{text!r} cannot be read from {text[at:]!r}: $.name, $[0] and $["any name"] can')
        number, key = step["number"], step["key"]
        steps.append(int(number) if number is not None else key if key is not None else step["name"])
        at = step.end()
    return ValueSource("json", tuple(steps))


def resolve_path(value: object, steps: tuple[PathStep, ...]) -> tuple[object, ...]:
    """Return the value that `steps` lead to, alone in a tuple, or ()."""
    for step in steps:
        children: Any = value if isinstance(value, dict if isinstance(step, str) else list) else {}
        try:
            value = children[step]
        except LookupError:
            return ()
    return (value,)


def format_path(steps: tuple[PathStep, ...]) -> str:
    """Return the path as people write it."""
    text = "$"
    for step in steps:
        name = str(step) if isinstance(step, int) else f'"{step}"'
        text += f".{step}" if isinstance(step, str) and re.fullmatch(r"[\w-]+", step) else f"[{name}]"
    return text


_METHOD = compile_re(r"[A-Z][A-Z-]{0,30}")
_TOKEN = compile_re(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
"""A header's name (RFC 9110, 5.6.2)."""
_NAME = compile_re(r"[A-Za-z_]\w{0,60}", re.ASCII)
_CLASS = compile_re(r"[1-5]xx")
_URL = compile_re(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_REFUSED = ("--url", "--origin", "--proxy", "--report", "--baseline")
"""Options of schemathesis that would lead it elsewhere, or that are aigon's to set."""
_STATUS = 'a status such as 201, a class such as "2xx", or a list of them'


def _parse_statuses(value: object) -> list[str]:
    """Read `201`, `"2xx"` or a list of them as texts."""
    each = value if isinstance(value, list) else [value]
    texts = [str(one) for one in each if isinstance(one, int | str) and not isinstance(one, bool)]
    known = [text for text in texts if _CLASS.fullmatch(text) or (text.isdecimal() and 100 <= int(text) <= 599)]
    if not known or len(known) != len(each):
        raise ValueError(f"has to be {_STATUS}")
    return known


def _check_command(value: str | list[str]) -> str | list[str]:
    first = value if isinstance(value, str) else next(iter(value), "")
    if not first.strip():
        raise ValueError("must not be empty")
    if "{report}" in "".join(value):
        raise ValueError("cannot hold {report}: that file is aigon's own")
    return value


def _parse_method(value: str) -> str:
    if not _METHOD.fullmatch(value.upper()) or value.upper() == "CONNECT":
        raise ValueError("has to be a method such as GET or POST")
    return value.upper()


def _check_path(value: str) -> str:
    if _URL.match(value):
        raise ValueError("has to be a path such as /users: aigon asks no other server than the one that it starts")
    if not value.startswith("/") and not parse_reference(value):
        raise ValueError("has to begin with /, or to be a saved value alone (${location})")
    if "#" in value:
        raise ValueError("cannot have a fragment (#): it is never sent to a server")
    return value


def _check_headers(value: dict[str, Any]) -> dict[str, Any]:
    for name, each in value.items():
        if not _TOKEN.fullmatch(name):
            raise ValueError(f"has an invalid header name: {name!r}")
        if isinstance(each, str) and re.search(r"[\r\n\0]", each):
            raise ValueError(f"has a line break in {name}")
    return value


def _check_sources(value: dict[str, str]) -> dict[str, str]:
    for name, source in value.items():
        if not _NAME.fullmatch(name) or name in ("port", "base"):
            raise ValueError(f"cannot call a value {name!r}: letters, digits and _, but not port or base")
        try:
            parse_source(source)
        except ValueError as error:
            raise ValueError(f"has no place to take {name!r} from: {error}") from None
    return value


def _check_variables(value: dict[str, str]) -> dict[str, str]:
    for name, each in value.items():
        if not name or "=" in name or "\0" in name + each:
            raise ValueError(f"has an invalid variable name: {name!r}")
    return value


def accept_text(key: str) -> Callable[[object], object]:
    """Return a function that reads a value as short for an object with just that key."""
    return lambda value: {key: value}


def _expand_request(value: str) -> object:
    """Read `"GET /users"` as short for an object with the two."""
    method, blank, path = value.partition(" ")
    return {"method": method, "path": path.strip()} if blank else {"path": value}


def _check_schemathesis_options(value: list[str]) -> list[str]:
    for each in value:
        if each.startswith(_REFUSED) or re.match(r"-u", each):
            raise ValueError(f"cannot hold {each}: where schemathesis asks and reports is aigon's to say")
    return value


_Status = int | str | list[int | str]
Scalar = str | int | float | bool
Seconds = Annotated[float, Form(str | float, amounts.parse_duration, "a duration such as 90, 90s or 2m")]
Statuses = Annotated[list[str], Form(_Status, _parse_statuses, _STATUS)]
Texts = Annotated[list[str], Form(str | list[str], lambda value: [value] if isinstance(value, str) else value)]
Words = Annotated[str | list[str], Form(str | list[str], _check_command)]
Path = Annotated[str, Form(str, _check_path)]
Pairs = dict[str, Scalar | list[Scalar]]
Method = Annotated[str, Form(str, _parse_method)]
Headers = Annotated[dict[str, str], Form(dict[str, str], _check_headers)]
WantedHeaders = Annotated[dict[str, str | bool], Form(dict[str, str | bool], _check_headers)]
Sources = Annotated[dict[str, str], Form(dict[str, str], _check_sources)]
Variables = Annotated[dict[str, str], Form(dict[str, str], _check_variables)]
Options = Annotated[list[str], Form(list[str], _check_schemathesis_options)]
MAX_REQUESTS = 1000


class Ready(Section, frozen=True):
    """When the server is ready to be asked: its port accepts connections, or a path answers with a status."""

    path: Path | None = None
    status: Statuses = field(default_factory=lambda: ["2xx"])
    timeout: Seconds = 60.0


class Expect(Section, frozen=True):
    """Expectations of an answer. Everything that is named has to hold."""

    status: Statuses = field(default_factory=lambda: ["2xx"])
    headers: WantedHeaders = field(default_factory=dict)
    json_: Any | UnsetType = field(default=UNSET, name="json")
    schema_: dict[str, Any] | bool | str | None = field(default=None, name="schema")
    text: Texts = field(default_factory=list)


class Request(Section, frozen=True):
    """One request and what its answer has to be. `${name}` is replaced by a value that an earlier request saved."""

    path: Path
    name: str | None = None
    method: Method = "GET"
    query: Pairs = field(default_factory=dict)
    headers: Headers = field(default_factory=dict)
    json_: Any | UnsetType = field(default=UNSET, name="json")
    form: Pairs | None = None
    text: str | None = None
    cookies: bool = True
    expect: Annotated[Expect, Form(_Status, accept_text("status"))] = Expect()
    save: Sources = field(default_factory=dict)
    timeout: Seconds = 10.0

    def __post_init__(self) -> None:
        bodies = [name for name in ("json_", "form", "text") if name in self.given]
        if len(bodies) > 1:
            raise ValueError(f"has several bodies ({', '.join(name.strip('_') for name in bodies)}); keep one")


class OpenApi(Section, frozen=True):
    """An OpenAPI document that schemathesis exercises the server with."""

    file: str | None = None
    path: Path | None = None
    args: Options = field(default_factory=list)

    def __post_init__(self) -> None:
        if (self.file is None) == (self.path is None):
            raise ValueError("needs either a file of the project or a path on the server")


class Endpoints(Section, frozen=True):
    """A server that is started, asked, and stopped again: the check `endpoints`."""

    command: Words
    env: Variables = field(default_factory=dict)
    port: Annotated[int, Meta(ge=1, le=65535)] | None = None
    ready: Annotated[Ready, Form(str, accept_text("path"))] = Ready()
    requests: list[Annotated[Request, Form(str, _expand_request)]] = field(default_factory=list)
    openapi: Annotated[OpenApi, Form(str, lambda at: {"path" if at.startswith("/") else "file": at})] | None = None
    stop: Seconds = 5.0
    timeout: Seconds = 300.0

    def __post_init__(self) -> None:
        if not self.requests and self.openapi is None:
            raise ValueError('asks nothing: name "requests", or an "openapi" document')
        if len(self.requests) > MAX_REQUESTS:
            raise ValueError(f"has more than {MAX_REQUESTS} requests")
