"""The JSON Schema of the configuration, made of the models that check it and of the page that explains its keys.

Written anew by: AIGON_UPDATE_SCHEMAS=1 pytest tests/config/test_schemas.py
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from aigon.config.models import Config

Schema = dict[str, Any]
ROOT = Path(__file__).parents[1]
FILE = ROOT / "templates" / "schemas" / "config.schema.json"
PAGE = ROOT / ".aigon.example" / "README.md"
_ROW = re.compile(r"(?m)^\| `([^`]+)` \| .*? \| (.*) \|$")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_DURATION = r"^\s*(\d+(\.\d+)?\s*(ms|[hmsdHMSD])\s*)*\d+(\.\d+)?\s*(ms|[hmsdHMSD])?\s*$"
_SCHEMA = "The JSON Schema of this file, for editors: ./schemas/config.schema.json, by aigon config schema --write"


def generated() -> Schema:
    """What ships as config.schema.json."""
    schema = Config.model_json_schema(by_alias=True)
    _explain(schema, schema.get("$defs", {}), explained(), "")
    _words_for_durations(schema)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Configuration of aigon"}
    return {**head, "description": "`.aigon/config.json` and a person's own `config.json`.", **_less(schema)}


def _less(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key not in ("title", "description")}


def explained() -> dict[str, str]:
    """What the page says of each key: `guards.stall`, `agents.NAME.model`, `protect[].paths`."""
    rows = _ROW.findall(PAGE.read_text(encoding="utf-8"))
    return {key: _LINK.sub(r"\1", text).replace("`", "") for key, text in rows} | {"$schema": _SCHEMA}


def _explain(schema: Schema, definitions: Mapping[str, Schema], page: Mapping[str, str], at: str) -> None:
    """Give every property a title and a description: the model's own, the page's, or that of what it holds."""
    for key, each in schema.get("properties", {}).items():
        place = f"{at}{key}"
        below = [what for _, what in _within(each, definitions)]
        said = each.get("description") or page.get(place) or next((d.get("description", "") for d in below), "")
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
