"""The plan for the program that asks a server: the configuration with all that it refers to, frozen.

Its documents are JSON or YAML: JSON Schemas, which refer to one another, and OpenAPI.
"""

import base64
import json
import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

from msgspec import Struct, convert, field, to_builtins

from aigon.config.endpoints import Endpoints
from aigon.model.checks import TestResult
from aigon.text.untrusted import AbsurdDocument, load_yaml

VARIABLE = "AIGON_ENDPOINTS"
"""The variable that holds the plan; it is gone before the server starts."""
LARGEST_PLAN = 120_000
"""Characters of that variable: Linux takes 128 KiB for one (MAX_ARG_STRLEN)."""


class EndpointPlan(Struct, frozen=True):
    """`names` are those of the requests, `schemas` the documents that their answers have to fit, by their number.

    `documents` are texts of files by path, and schemas of the configuration itself by `#` and a number; `openapi` is
    the name of one. `programs` are folders, relative to the server's, that are searched before PATH.
    """

    config: Endpoints
    names: list[str] = field(default_factory=list)
    schemas: dict[int, str] = field(default_factory=dict)
    openapi: str = ""
    documents: dict[str, str] = field(default_factory=dict)
    programs: list[str] = field(default_factory=list)


def pack_plan(plan: EndpointPlan) -> str:
    """Return the plan as one word without braces, so that no placeholder in it is filled in."""
    document = json.dumps(to_builtins(plan), separators=(",", ":")).encode()
    return base64.b64encode(zlib.compress(document, 9)).decode()


def unpack_plan(word: str) -> EndpointPlan:
    """Return the plan that `pack_plan` made a word of. Raises ValueError for anything else."""
    try:
        document = zlib.decompress(base64.b64decode(word, validate=True))
    except zlib.error as error:
        raise ValueError(f"not a plan: {error}") from error
    return convert(json.loads(document), EndpointPlan, str_keys=True)


MARK = "endpoints"
"""The value of `aigon` in a report: the program and its reader are of one version."""
PASSED, FAILED, BROKEN = 0, 1, 2
"""Exit codes: all as expected; something was not; the server did not come up, or ended. 3 is a fault of aigon."""


class RequestOutcome(Struct, frozen=True):
    """One request. `error`: it could not be asked at all. `said` is what was not as expected; `broke` says that the
    connection broke."""

    name: str
    result: TestResult
    said: tuple[str, ...] = ()
    status: int | None = None
    seconds: float = 0.0
    broke: bool = False


class SchemathesisRun(Struct, frozen=True):
    """A run of schemathesis: its exit code, and its report in JUnit's format."""

    exit_code: int | None
    junit: str = ""


class EndpointReport(Struct):
    """Everything that was tried; `broken` says what kept the rest from being asked."""

    requests: list[RequestOutcome] = field(default_factory=list)
    schemathesis: SchemathesisRun | None = None
    broken: str = ""

    @property
    def exit_code(self) -> int:
        if self.broken:
            return BROKEN
        has_failed = any(outcome.result != "passed" for outcome in self.requests)
        return FAILED if has_failed or (self.schemathesis and self.schemathesis.exit_code != 0) else PASSED

    def encode(self) -> dict[str, object]:
        """Return the report as JSON data."""
        return {"aigon": MARK, **to_builtins(self)}


_HOME = "aigon://documents/"
"""Where documents lie, so that one can name another by its relative path; nothing is ever fetched from there."""
_MOST_COMPLAINTS = 5
_LONGEST_COMPLAINT = 200
_MOST_VALUES = 2_000_000
"""Values in a document of YAML, each alias counted as what it names: the largest descriptions of APIs have half."""


class Schemas:
    """The documents of a plan, parsed, by name. Nothing is fetched: what they name has to be among them."""

    def __init__(self, documents: Mapping[str, object]) -> None:
        import referencing
        from referencing.jsonschema import DRAFT202012, SchemaRegistry

        resources = {
            name: referencing.Resource.from_contents(value, default_specification=DRAFT202012)
            for name, value in documents.items()
            if isinstance(value, dict | bool)
        }
        named = [(_make_uri(name), resource) for name, resource in resources.items()]
        named += [(identity, resource) for resource in resources.values() if (identity := resource.id())]
        registry: SchemaRegistry = referencing.Registry()
        self._registry = registry.with_resources(named).crawl()
        self._documents = documents

    def flaw(self, name: str) -> str:
        """Return why a document is no schema that can be used, with the place in it; empty if it is one."""
        import jsonschema  # type: ignore[import-untyped]
        import referencing.exceptions as missing

        schema = self._documents[name]
        if not isinstance(schema, dict | bool):
            return "a schema is an object, true or false"
        try:
            _choose_validator(schema).check_schema(schema)
        except jsonschema.SchemaError as error:
            return f"{error.json_path}: {error.message[:_LONGEST_COMPLAINT]}"
        if _has_ids(schema):
            return ""  # references are relative to the names of parts
        resolver = self._registry.resolver(read_id(schema) or _make_uri(name))
        for reference in find_references(schema):
            try:
                resolver.lookup(reference)
            except (missing.Unresolvable, ValueError):
                return f"what it refers to does not exist: {reference}"
        return ""

    def complaints(self, name: str, value: object) -> list[str]:
        """Return what of `value` does not fit the schema `name`, each with its place."""
        import referencing.exceptions as missing

        schema = self._documents[name]
        target = {"$ref": _make_uri(name)} if isinstance(schema, dict) else schema
        validator = _choose_validator(schema)(target, registry=self._registry, format_checker=_make_format_checker())
        complaints: list[str] = []
        try:
            for error in validator.iter_errors(value):
                complaints.append(f"{error.json_path}: {error.message[:_LONGEST_COMPLAINT]}")
                if len(complaints) == _MOST_COMPLAINTS:
                    break
        except missing.Unresolvable as error:
            complaints.append(f"the schema {name} cannot be used: {error}")
        except RecursionError:
            complaints.append(f"the schema {name} cannot be used: it has no end")
        return complaints


def find_references(document: object) -> Iterator[str]:
    """Yield every `$ref` in a document, as it is written. What several places share is looked at once."""
    seen: set[int] = set()
    waiting = [document]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, dict | list) or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, dict) and isinstance(node.get("$ref"), str):
            yield node["$ref"]
        waiting += node.values() if isinstance(node, dict) else node


def is_address(reference: str) -> bool:
    """Return whether a reference has a scheme or a host, and so is no path of a file."""
    parts = urlsplit(reference)
    return bool(parts.scheme or parts.netloc)


def _make_uri(name: str) -> str:
    return urljoin(_HOME, quote(name))


def read_id(schema: object) -> str:
    identity = schema.get("$id") if isinstance(schema, dict) else None
    return identity if isinstance(identity, str) else ""


def _has_ids(schema: object) -> bool:
    parts = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    return any(read_id(part) or _has_ids(part) for part in parts)


def _choose_validator(schema: object) -> Any:
    from jsonschema.validators import Draft202012Validator, validator_for  # type: ignore[import-untyped]

    return validator_for(schema, default=Draft202012Validator)


@cache
def _make_format_checker() -> Any:
    """Return a checker of the same formats, whatever else is installed."""
    from jsonschema import FormatChecker

    checker = FormatChecker(formats=("date", "email", "ipv4", "ipv6", "regex", "uuid"))
    checker.checks("date-time", raises=ValueError)(_is_date_time)
    return checker


def _is_date_time(value: object) -> bool:
    """Return whether a text is a date and a time with an offset (RFC 3339, 5.6). What is no text has no format."""
    from datetime import datetime

    if not isinstance(value, str):
        return True
    return value[10:11] in ("T", "t", " ") and datetime.fromisoformat(value).tzinfo is not None


def parse_document(name: str, text: str) -> object:
    """Return what a document holds. Raises ValueError, for people, if it is neither JSON nor, by its name, YAML."""
    if name.endswith((".yaml", ".yml")):
        return _parse_yaml(text)
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_unnamed(text: str) -> object:
    """Return what a document without a name holds, JSON or YAML. Raises ValueError."""
    try:
        return parse_document("", text)
    except ValueError:
        return _parse_yaml(text)


def _parse_yaml(text: str) -> object:
    import yaml

    class Loader(yaml.SafeLoader):
        """YAML's safe types without its dates, which JSON does not have."""

    Loader.yaml_implicit_resolvers = {
        first: [each for each in known if each[0] != "tag:yaml.org,2002:timestamp"]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    try:
        return load_yaml(text, Loader, most=_MOST_VALUES)
    except (yaml.YAMLError, AbsurdDocument) as error:
        raise ValueError(str(error).splitlines()[0]) from None


def find_base_path(document: object) -> str:
    """Return the path before all paths of an OpenAPI document: that of the first server, or `basePath`."""
    if not isinstance(document, dict):
        return ""
    servers = document.get("servers")
    server = servers[0] if isinstance(servers, list) and servers and isinstance(servers[0], dict) else {}
    url = str(server["url"]) if isinstance(server.get("url"), str) else ""
    variables = server.get("variables")
    for name, variable in variables.items() if isinstance(variables, dict) else ():
        url = url.replace(f"{{{name}}}", str(variable.get("default", "")) if isinstance(variable, dict) else "")
    base = document.get("basePath")
    try:
        path = urlsplit(base if isinstance(base, str) else url).path.rstrip("/")
    except ValueError:
        return ""
    return path if not path or path.startswith("/") else f"/{path}"
