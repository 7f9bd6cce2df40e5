"""Documents in JSON or YAML: JSON Schemas, which refer to one another, and OpenAPI."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any
from urllib.parse import urljoin, urlsplit

from aigon.text import documents

_HOME = "aigon://documents/"
"""Where documents lie, so that one can name another by its relative path; nothing is ever fetched from there."""
_MOST = 5
"""Complaints of one schema that are said."""
_LONGEST = 200
"""Characters of one complaint."""


class Schemas:
    """The documents of a plan, parsed, by name. Nothing is fetched: what they name has to be among them."""

    def __init__(self, documents: Mapping[str, object]) -> None:
        import referencing
        from referencing.jsonschema import DRAFT202012, SchemaRegistry

        made = {
            name: referencing.Resource.from_contents(value, default_specification=DRAFT202012)
            for name, value in documents.items()
            if isinstance(value, dict | bool)
        }
        named = [(_make_uri(name), each) for name, each in made.items()]
        named += [(identity, each) for each in made.values() if (identity := each.id())]
        registry: SchemaRegistry = referencing.Registry()
        self._registry = registry.with_resources(named).crawl()
        self._documents = documents

    def flaw(self, name: str) -> str:
        """Why a document is no schema that can be used, with the place in it; empty where it is one."""
        import jsonschema  # type: ignore[import-untyped]

        schema = self._documents[name]
        if not isinstance(schema, dict | bool):
            return "a schema is an object, true or false"
        try:
            _choose_validator(schema).check_schema(schema)
        except jsonschema.SchemaError as error:
            return f"{error.json_path}: {error.message[:_LONGEST]}"
        lost = "" if _has_ids(schema) else self._lost(name, schema)
        return f"what it refers to is not there: {lost}" if lost else ""

    def _lost(self, name: str, schema: object) -> str:
        """The first reference in a document that leads nowhere; empty for none."""
        import referencing.exceptions as missing

        resolver = self._registry.resolver(_read_id(schema) or _make_uri(name))
        for reference in find_references(schema):
            try:
                resolver.lookup(reference)
            except (missing.Unresolvable, ValueError):
                return reference
        return ""

    def complaints(self, name: str, value: object) -> list[str]:
        """What of `value` does not fit the schema `name`, each with its place."""
        import referencing.exceptions as missing

        schema = self._documents[name]
        schema = {"$ref": _make_uri(name)} if isinstance(schema, dict) else schema
        kind = _choose_validator(self._documents[name])
        validator = kind(schema, registry=self._registry, format_checker=_make_format_checker())
        found = []
        try:
            for error in validator.iter_errors(value):
                found.append(f"{error.json_path}: {error.message[:_LONGEST]}")
                if len(found) == _MOST:
                    break
        except missing.Unresolvable as error:
            found.append(f"the schema {name} cannot be used: {error}")
        except RecursionError:
            found.append(f"the schema {name} cannot be used: it has no end")
        return found


def find_references(document: object) -> Iterator[str]:
    """Every `$ref` in a document, as it stands there. What several places share is looked at once."""
    seen: set[int] = set()
    left = [document]
    while left:
        each = left.pop()
        if not isinstance(each, dict | list) or id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, dict) and isinstance(each.get("$ref"), str):
            yield each["$ref"]
        left += each.values() if isinstance(each, dict) else each


def referenced_file(reference: str) -> str:
    """The file that a reference names, relative to its own; empty for a place in the same document."""
    return reference.partition("#")[0]


def is_address(reference: str) -> bool:
    """Whether a reference has a scheme or a host, and so is no path of a file."""
    parts = urlsplit(reference)
    return bool(parts.scheme or parts.netloc)


def _make_uri(name: str) -> str:
    from urllib.parse import quote

    return urljoin(_HOME, quote(name))


def _read_id(schema: object) -> str:
    identity = schema.get("$id") if isinstance(schema, dict) else None
    return identity if isinstance(identity, str) else ""


def _has_ids(schema: object) -> bool:
    """Whether parts of it have names of their own, to which their references are relative."""
    parts = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    return any(_read_id(part) or _has_ids(part) for part in parts)


def _choose_validator(schema: object) -> Any:
    from jsonschema.validators import Draft202012Validator, validator_for  # type: ignore[import-untyped]

    return validator_for(schema, default=Draft202012Validator)


@cache
def _make_format_checker() -> Any:
    """The formats that are checked: the same ones whatever else is installed beside aigon."""
    from jsonschema import FormatChecker

    checker = FormatChecker(formats=("date", "email", "ipv4", "ipv6", "regex", "uuid"))
    checker.checks("date-time", raises=ValueError)(_is_moment)
    return checker


def _is_moment(value: object) -> bool:
    """Whether a text is a date and a time with an offset (RFC 3339, 5.6); what is no text has no format."""
    from datetime import datetime

    if not isinstance(value, str):
        return True
    return value[10:11] in ("T", "t", " ") and datetime.fromisoformat(value).tzinfo is not None


MOST_VALUES = 2_000_000
"""Values in a document of YAML, each alias counted as what it names: the largest descriptions of APIs have half."""


def parse_document(name: str, text: str) -> object:
    """What a document says. Raises ValueError, for people, where it is neither JSON nor, by its name, YAML."""
    if name.endswith((".yaml", ".yml")):
        return _parse_yaml(text)
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_unnamed(text: str) -> object:
    """What a document without a name says. Raises ValueError."""
    try:
        return parse_document("", text)
    except ValueError:
        return _parse_yaml(text)


def _parse_yaml(text: str) -> object:
    import yaml

    try:
        return documents.load_yaml(text, _make_loader(yaml), most=MOST_VALUES)
    except (yaml.YAMLError, documents.AbsurdDocument) as error:
        raise ValueError(str(error).splitlines()[0]) from None


def _make_loader(yaml: Any) -> Any:
    """YAML's safe types less its dates, which JSON does not have."""

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        pass

    resolvers = yaml.SafeLoader.yaml_implicit_resolvers
    Loader.yaml_implicit_resolvers = {
        first: [each for each in known if each[0] != "tag:yaml.org,2002:timestamp"]
        for first, known in resolvers.items()
    }
    return Loader


def find_base_path(document: object) -> str:
    """The path that stands before all paths: that of the first server, or `basePath`; empty for none."""
    if not isinstance(document, dict):
        return ""
    if isinstance(base := document.get("basePath"), str):
        return _url_path(base)
    servers = document.get("servers")
    first = servers[0] if isinstance(servers, list) and servers else None
    url = first.get("url") if isinstance(first, dict) else None
    return _url_path(_fill_defaults(url, first.get("variables"))) if isinstance(url, str) and first else ""


def _fill_defaults(url: str, variables: object) -> str:
    for name, each in variables.items() if isinstance(variables, dict) else ():
        url = url.replace(f"{{{name}}}", str(each.get("default", "")) if isinstance(each, dict) else "")
    return url


def _url_path(url: str) -> str:
    try:
        path = urlsplit(url).path.rstrip("/")
    except ValueError:
        return ""
    return path if not path or path.startswith("/") else f"/{path}"
