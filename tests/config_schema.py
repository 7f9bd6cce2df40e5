"""The JSON Schema of the configuration and docs/configuration.md: the models that check it, and what each key does.

Written anew by: AIGON_UPDATE_SCHEMAS=1 pytest tests/config/test_schemas.py
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from aigon.config.models import Config

Schema = dict[str, Any]
ROOT = Path(__file__).parents[1]
FILE = ROOT / "templates" / "schemas" / "config.schema.json"
KEYS = ROOT / "templates" / "schemas" / "config_keys.yaml"
PAGE = ROOT / "docs" / "configuration.md"
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_DURATION = r"^\s*(\d+(\.\d+)?\s*(ms|[hmsdHMSD])\s*)*\d+(\.\d+)?\s*(ms|[hmsdHMSD])?\s*$"
_HEAD = (
    "<!-- Generated from the configuration's schema: AIGON_UPDATE_SCHEMAS=1 pytest tests/config/test_schemas.py -->\n"
)
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
    schema = Config.model_json_schema(by_alias=True)
    _explain(schema, schema.get("$defs", {}), list_explanations(), "")
    _words_for_durations(schema)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Configuration of aigon"}
    return {**head, "description": "`.aigon/config.json` and a person's own `config.json`.", **_less(schema)}


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
        below = [what for _, what in _within(each, definitions)]
        said = page.get(place) or each.get("description") or next((d.get("description", "") for d in below), "")
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
