"""The JSON Schema of the configuration and docs/configuration.md: the models that check it, and what each key does.

Written anew by: AIGON_UPDATE_SCHEMAS=1 pytest tests/config/test_schemas.py
"""

import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
import yaml
from msgspec import NODEFAULT, UNSET, UnsetType
from msgspec.structs import FieldInfo

from aigon.config.models import Config
from aigon.config.sections import Form, Section, list_fields

Schema = dict[str, Any]
ROOT = Path(__file__).parents[1]
FILE = ROOT / "templates" / "schemas" / "config.schema.json"
KEYS = ROOT / "templates" / "schemas" / "config_keys.yaml"
PAGE = ROOT / "docs" / "configuration.md"
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_DURATION = r"^\s*(\d+(\.\d+)?\s*(ms|[hmsdHMSD])\s*)*\d+(\.\d+)?\s*(ms|[hmsdHMSD])?\s*$"
_ABOUT = """\
# Configuration

`.aigon/config.json` is the project's configuration; `aigon init` writes a short one. A value comes from the first of
these that has it: a command-line option, an `AIGON_*` variable, `.aigon/config.json`, your own `config.json`
(`~/.config/aigon/` on Linux), the profile, the default. `aigon config show --origin` says where each value comes from.
The configuration counts as it is on the base branch; an agent's edit is put back.

The variables are `AIGON_AGENT`, `AIGON_MODEL`, `AIGON_JUDGE`, `AIGON_PROFILE`, `AIGON_VALIDATION_SCRIPT`,
`AIGON_MAX_ITERATIONS`, `AIGON_MAX_COST`, `AIGON_MAX_TIME`, `AIGON_MAX_WAIT`, `AIGON_ITERATION_TIMEOUT`,
`AIGON_IDLE_TIMEOUT`, `AIGON_MAX_CONSECUTIVE_FAILURES` and `AIGON_SANDBOX`. `AIGON_STATE_HOME` moves aigon's own
records.

`config.json` is plain JSON, without comments and trailing commas. A key that aigon does not know is an error that names
the file, the key and the nearest key that it knows. `aigon config schema --write` writes a JSON Schema with which an
editor completes and checks the file. The folder [.aigon.example](../.aigon.example/README.md) is a sample.
"""


@cache
def load_sections() -> list[dict[str, Any]]:
    """Return what KEYS says, section by section."""
    sections: list[dict[str, Any]] = yaml.safe_load(KEYS.read_text(encoding="utf-8"))
    return sections


def render_page() -> str:
    """Return docs/configuration.md."""
    places = dict(list_places(generated()))
    parts = [_ABOUT]
    for section in load_sections():
        if "page" in section:
            continue
        about = f"{section['about']}\n\n" if "about" in section else ""
        rows = "".join(
            f"| `{key}` | {explained.get('default') or _default_of(places[key])} | {explained['text']} |\n"
            for key, explained in section["keys"].items()
        )
        parts.append(f"## {section['title']}\n\n{about}| key | default | what it does |\n|---|---|---|\n{rows}")
    return "\n".join(parts)


def list_places(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield every key as the page writes it, and what the schema says of it."""

    def below(inside: Schema, at: str) -> Iterator[tuple[str, Schema]]:
        for key, each in inside.get("properties", {}).items():
            yield f"{at}{key}", each
            for way, what in _within(each, schema["$defs"]):
                yield from below(what, f"{at}{key}{way}.")

    yield from below(schema, "")


def _default_of(key: Schema) -> str:
    value = key.get("default")
    if value is None or value == "":
        types = {option.get("type") for option in key.get("anyOf", [key])}
        return "`[]`" if types == {"array"} else "`{}`" if types == {"object"} else "none"
    if isinstance(value, float) and any("pattern" in option for option in key["anyOf"]):
        unit, size = next(unit for unit in (("h", 3600), ("m", 60), ("s", 1)) if value % unit[1] == 0)
        value = f"{value / size:g}{unit}"
    return f"`{json.dumps(value)}`"


def generated() -> Schema:
    """What ships as config.schema.json."""
    definitions: dict[str, Schema] = {}
    schema = {**_describe_section(Config, definitions), "$defs": definitions}
    _explain(schema, definitions, list_explanations(), "")
    _words_for_durations(schema)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Configuration of aigon"}
    return {**head, "description": "`.aigon/config.json` and a person's own `config.json`.", **_less(schema)}


def _describe_section(kind: type[Section], definitions: dict[str, Schema]) -> Schema:
    keys = list_fields(kind).items()
    required = {"required": names} if (names := [key for key, each in keys if each.required]) else {}
    properties = {key: {**_describe(each.type, definitions), **_describe_default(each)} for key, each in keys}
    about = inspect.cleandoc(kind.__doc__ or "")
    return {
        "type": "object", "description": about, "properties": properties, **required, "additionalProperties": False
    }  # fmt: skip


def _describe_default(each: FieldInfo) -> Schema:
    value = each.default if each.default_factory is NODEFAULT else each.default_factory()
    return {} if value in (NODEFAULT, UNSET, [], {}) or isinstance(value, Section) else {"default": value}


def _describe(wanted: Any, definitions: dict[str, Schema]) -> Schema:
    """Return the schema of a type as people write it."""
    origin, inside = get_origin(wanted), get_args(wanted)
    if form := next((each for each in getattr(wanted, "__metadata__", ()) if isinstance(each, Form)), None):
        long = [inside[0]] if any(issubclass(one, Section) for one in _list_classes(inside[0])) else []
        words = [each for each in _list_options(inside[0]) if get_origin(each) is Literal]
        return _describe_union([*long, *_list_options(form.written), *words], definitions)
    if isinstance(wanted, type) and issubclass(wanted, Section):
        if wanted.__name__ not in definitions:
            definitions[wanted.__name__] = {}
            definitions[wanted.__name__] = _describe_section(wanted, definitions)
        return {"$ref": f"#/$defs/{wanted.__name__}"}
    if origin in (Union, UnionType):
        return _describe_union(inside, definitions)
    if origin is dict:
        names = {"propertyNames": {"enum": list(get_args(inside[0]))}} if get_origin(inside[0]) is Literal else {}
        return {"type": "object", "additionalProperties": _describe(inside[1], definitions), **names}
    if origin is list:
        return {"type": "array", "items": _describe(inside[0], definitions)}
    return {"enum": list(inside), "type": "string"} if origin is Literal else msgspec.json.schema(wanted)


def _describe_union(options: Iterable[Any], definitions: dict[str, Schema]) -> Schema:
    found = [_describe(each, definitions) for each in options if each not in (UnsetType, list[Any])]
    flat = [one for each in found for one in each.get("anyOf", [each])]
    return {"anyOf": flat} if len(flat) > 1 else flat[0]


def _list_options(wanted: Any) -> tuple[Any, ...]:
    return get_args(wanted) if get_origin(wanted) in (Union, UnionType) else (wanted,)


def _list_classes(wanted: Any) -> list[type]:
    """Return the classes within a type."""
    inside = [found for each in get_args(wanted) for found in _list_classes(each)]
    return inside or ([wanted] if isinstance(wanted, type) else [])


def _less(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key not in ("title", "description")}


def list_explanations() -> dict[str, str]:
    """Return what KEYS says of each key (`guards.stall`, `agents.NAME.model`), without Markdown."""
    rows = {key: row for section in load_sections() for key, row in section["keys"].items()}
    texts = {
        key: f"{row['text']}. Default: {row['default']}" if "default" in row else row["text"]
        for key, row in rows.items()
    }
    return {key: _LINK.sub(r"\1", text).replace("`", "") for key, text in texts.items()}


def _explain(schema: Schema, definitions: Mapping[str, Schema], page: Mapping[str, str], at: str) -> None:
    """Give every property a title and a description: the model's own, the page's, or that of what it holds."""
    for key, each in schema.get("properties", {}).items():
        place = f"{at}{key}"
        below = [what.get("description", "") for _, what in _within(each, definitions)]
        said = page.get(place) or page.get(place.removeprefix("paths.NAME.")) or next(iter(below), "")
        each.update(title=_title(key), **({"description": said} if said else {}))
        if isinstance(each.get("default"), dict):
            each.pop("default")  # of an object: its keys say theirs
        for inside, what in _within(each, definitions):
            _explain(what, definitions, page, f"{place}{inside}.")


def _within(schema: Schema, definitions: Mapping[str, Schema]) -> Iterator[tuple[str, Schema]]:
    """The objects that a value may hold, and how the page writes the way there."""
    for option in schema.get("anyOf", [schema]):
        if "$ref" in option:
            yield "", definitions[option["$ref"].rsplit("/", 1)[-1]]
        for key, way in (("items", "[]"), ("additionalProperties", ".NAME")):
            if isinstance(option.get(key), dict):
                yield from ((f"{way}{more}", found) for more, found in _within(option[key], definitions))


def _title(key: str) -> str:
    """`maxIterations` becomes `Max iterations`."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", key.removeprefix("$")).lower()
    return words[:1].upper() + words[1:]


def _words_for_durations(schema: Any) -> None:
    """Wherever a number or a text will do, it is a duration."""
    options = schema.get("anyOf", []) if isinstance(schema, dict) else []
    types = {option.get("type") for option in options}
    if {"number", "string"} <= types <= {"number", "string", "integer", "null"} and "boolean" not in types:
        next(option for option in options if option["type"] == "string")["pattern"] = _DURATION
    for each in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        _words_for_durations(each)
