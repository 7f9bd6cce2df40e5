"""What single values under `endpoints` may be, and their short forms; what is wrong is said in whole sentences."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from aigon.config import endpoint_holes, endpoint_paths
from aigon.config.endpoint_errors import wrong
from aigon.text import durations

_METHOD = re.compile(r"[A-Z][A-Z-]{0,30}")
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
"""A header's name (RFC 9110, 5.6.2)."""
_NAME = re.compile(r"[A-Za-z_]\w{0,60}", re.ASCII)
_CLASS = re.compile(r"[1-5]xx")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_REFUSED = ("--url", "--origin", "--proxy", "--report", "--baseline")
"""Options of schemathesis that would lead it elsewhere, or that are aigon's to set."""


def _seconds(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise wrong("has to be a duration such as 90, 90s or 2m")
    try:
        return durations.seconds(value)
    except ValueError as error:
        raise wrong(str(error)) from None


def _statuses(value: object) -> object:
    """`201`, `"2xx"` or a list of them, as texts."""
    each = value if isinstance(value, list) else [value]
    texts = [str(one) for one in each if isinstance(one, int | str) and not isinstance(one, bool)]
    known = [text for text in texts if _CLASS.fullmatch(text) or (text.isdecimal() and 100 <= int(text) <= 599)]
    if not known or len(known) != len(each):
        raise wrong('has to be a status such as 201, a class such as "2xx", or a list of them')
    return known


def _texts(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _words(value: str | list[str]) -> str | list[str]:
    first = value if isinstance(value, str) else next(iter(value), "")
    if not first.strip():
        raise wrong("must not be empty")
    if "{report}" in "".join(value):
        raise wrong("cannot hold {report}: that file is aigon's own")
    return value


def _method(value: str) -> str:
    if not _METHOD.fullmatch(value.upper()) or value.upper() == "CONNECT":
        raise wrong("has to be a method such as GET or POST")
    return value.upper()


def _path(value: str) -> str:
    if _URL.match(value):
        raise wrong("has to be a path such as /users: aigon asks no other server than the one that it starts")
    if not value.startswith("/") and not endpoint_holes.whole(value):
        raise wrong("has to begin with /, or to be a saved value alone (${location})")
    if "#" in value:
        raise wrong("cannot have a fragment (#): it is never sent to a server")
    return value


def _header_names(value: dict[str, Any]) -> dict[str, Any]:
    for name, each in value.items():
        if not _TOKEN.fullmatch(name):
            raise wrong(f"has a name that is none of a header: {name!r}")
        if isinstance(each, str) and re.search(r"[\r\n\0]", each):
            raise wrong(f"has a line break in {name}")
    return value


def _sources(value: dict[str, str]) -> dict[str, str]:
    for name, source in value.items():
        if not _NAME.fullmatch(name) or name in ("port", "base"):
            raise wrong(f"cannot call a value {name!r}: letters, digits and _, but not port or base")
        try:
            endpoint_paths.source(source)
        except ValueError as error:
            raise wrong(f"has no place to take {name!r} from: {error}") from None
    return value


def _env_names(value: dict[str, str]) -> dict[str, str]:
    for name, each in value.items():
        if not name or "=" in name or "\0" in name + each:
            raise wrong(f"has a name that is none of a variable: {name!r}")
    return value


def as_ready(value: object) -> object:
    """`"/health"` is short for `{"path": "/health"}`."""
    return {"path": value} if isinstance(value, str) else value


def as_expect(value: object) -> object:
    """`201` is short for `{"status": 201}`."""
    return {"status": value} if isinstance(value, int | str | list) else value


def as_request(value: object) -> object:
    """`"GET /users"` is short for an object with the two."""
    if not isinstance(value, str):
        return value
    method, blank, path = value.partition(" ")
    return {"method": method, "path": path.strip()} if blank else {"path": value}


def as_openapi(value: object) -> object:
    """A text that begins with / is a path on the server, another one a file."""
    return {"path" if value.startswith("/") else "file": value} if isinstance(value, str) else value


def _schemathesis(value: list[str]) -> list[str]:
    for each in value:
        if each.startswith(_REFUSED) or re.match(r"-u", each):
            raise wrong(f"cannot hold {each}: where schemathesis asks and reports is aigon's to say")
    return value


Seconds = Annotated[float, BeforeValidator(_seconds, json_schema_input_type=float | str)]
Statuses = Annotated[list[str], BeforeValidator(_statuses, json_schema_input_type=int | str | list[int | str])]
Texts = Annotated[list[str], BeforeValidator(_texts, json_schema_input_type=str | list[str])]
Words = Annotated[str | list[str], AfterValidator(_words)]
Path = Annotated[str, AfterValidator(_path)]
Scalar = str | int | float | bool
Pairs = dict[str, Scalar | list[Scalar]]
Method = Annotated[str, AfterValidator(_method)]
Headers = Annotated[dict[str, str], AfterValidator(_header_names)]
WantedHeaders = Annotated[dict[str, str | bool], AfterValidator(_header_names)]
Sources = Annotated[dict[str, str], AfterValidator(_sources)]
Variables = Annotated[dict[str, str], AfterValidator(_env_names)]
Options = Annotated[list[str], AfterValidator(_schemathesis)]
