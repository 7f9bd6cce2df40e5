"""The key `endpoints`: a server, when it is ready, and what it has to answer. See docs/endpoints.md."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, model_validator
from pydantic.alias_generators import to_camel

from aigon.config.endpoint_errors import wrong
from aigon.config.endpoint_values import (
    Headers,
    Method,
    Options,
    Pairs,
    Path,
    Seconds,
    Sources,
    Statuses,
    Texts,
    Variables,
    WantedHeaders,
    Words,
    as_expect,
    as_openapi,
    as_ready,
    as_request,
)  # fmt: skip


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel)


class Ready(_Section):
    """When the server is ready to be asked: its port accepts connections, or a path answers with a status."""

    path: Path | None = Field(default=None, description="A path that is asked until it answers as it should")
    status: Statuses = Field(default=["2xx"], description="What it has to answer: 200, '2xx' or a list")
    timeout: Seconds = Field(default=60.0, description="How long the server may take to be ready")


class Expect(_Section):
    """What an answer has to be. Everything that is named has to hold."""

    status: Statuses = Field(default=["2xx"], description="200, '2xx' or a list of them")
    headers: WantedHeaders = Field(default={}, description="Values of headers; true: it is there, false: it is not")
    json_: JsonValue = Field(default=None, alias="json", description="A part of the JSON body: objects may hold more")
    schema_: dict[str, JsonValue] | bool | str | None = Field(
        default=None, alias="schema", description="A JSON Schema, or the path of a file of the project that holds one"
    )
    text: Texts = Field(default=[], description="What the body has to contain: a text or a list of them")


class Request(_Section):
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
        Expect, BeforeValidator(as_expect, json_schema_input_type=Expect | int | str | list[int | str])
    ] = Field(default=Expect(), description="What the answer has to be; any status from 200 to 299 without it")
    save: Sources = Field(
        default={}, description="Values for later requests: $.id of the JSON body, headers.location, cookies.session"
    )
    timeout: Seconds = Field(default=10.0, description="How long the whole answer may take")

    @model_validator(mode="after")
    def _one_body(self) -> Self:
        bodies = [name for name in ("json_", "form", "text") if name in self.model_fields_set]
        if len(bodies) > 1:
            raise wrong(f"has several bodies ({', '.join(name.strip('_') for name in bodies)}); keep one")
        return self


class OpenApi(_Section):
    """An OpenAPI document that schemathesis exercises the server with."""

    file: str | None = Field(default=None, description="A file of the project")
    path: Path | None = Field(default=None, description="A path on the server, such as /openapi.json")
    args: Options = Field(default=[], description="More options of `schemathesis run`, such as --max-examples 20")

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.file is None) == (self.path is None):
            raise wrong("needs either a file of the project or a path on the server")
        return self


class Endpoints(_Section):
    """A server that is started, asked, and stopped again: the check `endpoints`."""

    command: Words = Field(description="What starts the server: a line for bash, or a program and its arguments")
    env: Variables = Field(default={}, description="Variables for the server; {port} and {scratch} are filled in")
    port: int | None = Field(
        default=None, ge=1, le=65535, description="The port that it listens on; a free one, {port} and PORT, without it"
    )
    ready: Annotated[Ready, BeforeValidator(as_ready, json_schema_input_type=Ready | str)] = Field(
        default=Ready(), description="When it is ready: its port accepts connections, without it"
    )
    requests: list[Annotated[Request, BeforeValidator(as_request, json_schema_input_type=Request | str)]] = Field(
        default=[], max_length=1000, description="What is asked, in this order"
    )
    openapi: Annotated[OpenApi, BeforeValidator(as_openapi, json_schema_input_type=OpenApi | str)] | None = Field(
        default=None, description="An OpenAPI document to exercise with schemathesis"
    )
    stop: Seconds = Field(default=5.0, description="How long it may take to end after SIGTERM, before SIGKILL")
    timeout: Seconds = Field(default=300.0, description="How long all of it may take")

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.requests and self.openapi is None:
            raise wrong('asks nothing: name "requests", or an "openapi" document')
        return self


def given(section: BaseModel, alias: str) -> tuple[object, ...]:
    """The value of a field that may be null: empty where it is not named at all."""
    fields: Mapping[str, Any] = type(section).model_fields
    name = next(name for name, field in fields.items() if field.alias == alias)
    return (getattr(section, name),) if name in section.model_fields_set else ()
