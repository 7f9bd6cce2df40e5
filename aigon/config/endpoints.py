"""The key `endpoints`: a server, when it is ready, and what it has to answer. See docs/endpoints.md."""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, model_validator
from pydantic.alias_generators import to_camel

from aigon.config import endpoint_references
from aigon.text import amounts
from aigon.text.patterns import compile_re

if TYPE_CHECKING:
    from pydantic_core import PydanticCustomError


def make_error(what: str) -> "PydanticCustomError":
    """Return an error to raise in a validator. Its message is `what` alone, without pydantic's own words."""
    from pydantic_core import PydanticCustomError

    return PydanticCustomError("endpoints", "{what}", {"what": what})


_METHOD = compile_re(r"[A-Z][A-Z-]{0,30}")
_TOKEN = compile_re(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
"""A header's name (RFC 9110, 5.6.2)."""
_NAME = compile_re(r"[A-Za-z_]\w{0,60}", re.ASCII)
_CLASS = compile_re(r"[1-5]xx")
_URL = compile_re(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_REFUSED = ("--url", "--origin", "--proxy", "--report", "--baseline")
"""Options of schemathesis that would lead it elsewhere, or that are aigon's to set."""


def _parse_seconds(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise make_error("has to be a duration such as 90, 90s or 2m")
    try:
        return amounts.parse_duration(value)
    except ValueError as error:
        raise make_error(str(error)) from None


def _parse_statuses(value: object) -> object:
    """Read `201`, `"2xx"` or a list of them as texts."""
    each = value if isinstance(value, list) else [value]
    texts = [str(one) for one in each if isinstance(one, int | str) and not isinstance(one, bool)]
    known = [text for text in texts if _CLASS.fullmatch(text) or (text.isdecimal() and 100 <= int(text) <= 599)]
    if not known or len(known) != len(each):
        raise make_error('has to be a status such as 201, a class such as "2xx", or a list of them')
    return known


def _parse_texts(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _check_command(value: str | list[str]) -> str | list[str]:
    first = value if isinstance(value, str) else next(iter(value), "")
    if not first.strip():
        raise make_error("must not be empty")
    if "{report}" in "".join(value):
        raise make_error("cannot hold {report}: that file is aigon's own")
    return value


def _parse_method(value: str) -> str:
    if not _METHOD.fullmatch(value.upper()) or value.upper() == "CONNECT":
        raise make_error("has to be a method such as GET or POST")
    return value.upper()


def _check_path(value: str) -> str:
    if _URL.match(value):
        raise make_error("has to be a path such as /users: aigon asks no other server than the one that it starts")
    if not value.startswith("/") and not endpoint_references.parse_reference(value):
        raise make_error("has to begin with /, or to be a saved value alone (${location})")
    if "#" in value:
        raise make_error("cannot have a fragment (#): it is never sent to a server")
    return value


def _check_headers(value: dict[str, Any]) -> dict[str, Any]:
    for name, each in value.items():
        if not _TOKEN.fullmatch(name):
            raise make_error(f"has an invalid header name: {name!r}")
        if isinstance(each, str) and re.search(r"[\r\n\0]", each):
            raise make_error(f"has a line break in {name}")
    return value


def _check_sources(value: dict[str, str]) -> dict[str, str]:
    for name, source in value.items():
        if not _NAME.fullmatch(name) or name in ("port", "base"):
            raise make_error(f"cannot call a value {name!r}: letters, digits and _, but not port or base")
        try:
            endpoint_references.parse_source(source)
        except ValueError as error:
            raise make_error(f"has no place to take {name!r} from: {error}") from None
    return value


def _check_variables(value: dict[str, str]) -> dict[str, str]:
    for name, each in value.items():
        if not name or "=" in name or "\0" in name + each:
            raise make_error(f"has an invalid variable name: {name!r}")
    return value


def accept_text(key: str) -> Callable[[object], object]:
    """Return a validator that reads a text as short for an object with just that key."""
    return lambda value: {key: value} if isinstance(value, str) else value


def _expand_expect(value: object) -> object:
    """Read `201` as short for `{"status": 201}`."""
    return {"status": value} if isinstance(value, int | str | list) else value


def _expand_request(value: object) -> object:
    """Read `"GET /users"` as short for an object with the two."""
    if not isinstance(value, str):
        return value
    method, blank, path = value.partition(" ")
    return {"method": method, "path": path.strip()} if blank else {"path": value}


def _expand_openapi(value: object) -> object:
    """Read a text that begins with / as a path on the server, another one as a file."""
    return {"path" if value.startswith("/") else "file": value} if isinstance(value, str) else value


def _check_schemathesis_options(value: list[str]) -> list[str]:
    for each in value:
        if each.startswith(_REFUSED) or re.match(r"-u", each):
            raise make_error(f"cannot hold {each}: where schemathesis asks and reports is aigon's to say")
    return value


Seconds = Annotated[float, BeforeValidator(_parse_seconds, json_schema_input_type=float | str)]
Statuses = Annotated[list[str], BeforeValidator(_parse_statuses, json_schema_input_type=int | str | list[int | str])]
Texts = Annotated[list[str], BeforeValidator(_parse_texts, json_schema_input_type=str | list[str])]
Words = Annotated[str | list[str], AfterValidator(_check_command)]
Path = Annotated[str, AfterValidator(_check_path)]
Scalar = str | int | float | bool
Pairs = dict[str, Scalar | list[Scalar]]
Method = Annotated[str, AfterValidator(_parse_method)]
Headers = Annotated[dict[str, str], AfterValidator(_check_headers)]
WantedHeaders = Annotated[dict[str, str | bool], AfterValidator(_check_headers)]
Sources = Annotated[dict[str, str], AfterValidator(_check_sources)]
Variables = Annotated[dict[str, str], AfterValidator(_check_variables)]
Options = Annotated[list[str], AfterValidator(_check_schemathesis_options)]


class Section(BaseModel):
    """A section of the configuration: every key is known, every value has its type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel)


class Ready(Section):
    """When the server is ready to be asked: its port accepts connections, or a path answers with a status."""

    path: Path | None = Field(default=None, description="A path that is asked until it answers as it should")
    status: Statuses = Field(default=["2xx"], description="What it has to answer: 200, '2xx' or a list")
    timeout: Seconds = Field(default=60.0, description="How long the server may take to be ready")


class Expect(Section):
    """What an answer has to be. Everything that is named has to hold."""

    status: Statuses = Field(default=["2xx"], description="200, '2xx' or a list of them")
    headers: WantedHeaders = Field(default={}, description="Values of headers; true: it is there, false: it is not")
    json_: JsonValue = Field(default=None, alias="json", description="A part of the JSON body: objects may hold more")
    schema_: dict[str, JsonValue] | bool | str | None = Field(
        default=None, alias="schema", description="A JSON Schema, or the path of a file of the project that holds one"
    )
    text: Texts = Field(default=[], description="What the body has to contain: a text or a list of them")


class Request(Section):
    """One request and what its answer has to be. `${name}` stands for a value that an earlier request saved."""

    name: str | None = Field(default=None, description="What it is called; its method and path without it")
    method: Method = Field(default="GET", description="GET, POST, ...")
    path: Path = Field(description="A path on the server that is started, such as /users?limit=2")
    query: Pairs = Field(default={}, description="More parameters of the query")
    headers: Headers = Field(default={}, description="Headers to send")
    json_: JsonValue = Field(default=None, alias="json", description="The body, sent as JSON")
    form: Pairs | None = Field(default=None, description="The body, sent as a form (urlencoded)")
    text: str | None = Field(default=None, description="The body as it is; say its Content-Type under headers")
    cookies: bool = Field(default=True, description="false: send no cookies of earlier answers, and keep none")
    expect: Annotated[
        Expect, BeforeValidator(_expand_expect, json_schema_input_type=Expect | int | str | list[int | str])
    ] = Field(default=Expect(), description="What the answer has to be; any status from 200 to 299 without it")
    save: Sources = Field(
        default={}, description="Values for later requests: $.id of the JSON body, headers.location, cookies.session"
    )
    timeout: Seconds = Field(default=10.0, description="How long the whole answer may take")

    @model_validator(mode="after")
    def _one_body(self) -> Self:
        bodies = [name for name in ("json_", "form", "text") if name in self.model_fields_set]
        if len(bodies) > 1:
            raise make_error(f"has several bodies ({', '.join(name.strip('_') for name in bodies)}); keep one")
        return self


class OpenApi(Section):
    """An OpenAPI document that schemathesis exercises the server with."""

    file: str | None = Field(default=None, description="A file of the project")
    path: Path | None = Field(default=None, description="A path on the server, such as /openapi.json")
    args: Options = Field(default=[], description="More options of `schemathesis run`, such as --max-examples 20")

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.file is None) == (self.path is None):
            raise make_error("needs either a file of the project or a path on the server")
        return self


class Endpoints(Section):
    """A server that is started, asked, and stopped again: the check `endpoints`."""

    command: Words = Field(description="What starts the server: a line for bash, or a program and its arguments")
    env: Variables = Field(default={}, description="Variables for the server; {port} and {scratch} are filled in")
    port: int | None = Field(
        default=None, ge=1, le=65535, description="The port that it listens on; a free one, {port} and PORT, without it"
    )
    ready: Annotated[Ready, BeforeValidator(accept_text("path"), json_schema_input_type=Ready | str)] = Field(
        default=Ready(), description="When it is ready: its port accepts connections, without it"
    )
    requests: list[Annotated[Request, BeforeValidator(_expand_request, json_schema_input_type=Request | str)]] = Field(
        default=[], max_length=1000, description="What is asked, in this order"
    )
    openapi: Annotated[OpenApi, BeforeValidator(_expand_openapi, json_schema_input_type=OpenApi | str)] | None = Field(
        default=None, description="An OpenAPI document to exercise with schemathesis"
    )
    stop: Seconds = Field(default=5.0, description="How long it may take to end after SIGTERM, before SIGKILL")
    timeout: Seconds = Field(default=300.0, description="How long all of it may take")

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.requests and self.openapi is None:
            raise make_error('asks nothing: name "requests", or an "openapi" document')
        return self


def get_named_value(section: BaseModel, alias: str) -> tuple[object, ...]:
    """Return the value of a field that may be null, alone in a tuple; () if it is not named at all."""
    fields: Mapping[str, Any] = type(section).model_fields
    name = next(name for name, field in fields.items() if field.alias == alias)
    return (getattr(section, name),) if name in section.model_fields_set else ()
