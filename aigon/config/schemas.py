"""The JSON Schemas that ship with aigon, for editors: by name, and as files of a project."""

import json
from pathlib import Path
from typing import Any

from aigon.errors import usage
from aigon.files.atomic import write_atomic
from aigon.files.resources import find_resource
from aigon.text.documents import suggest

SCHEMA_FOLDER = ".aigon/schemas"
"""Where `aigon config schema --write` puts a copy for editors."""
_SUFFIX = ".schema.json"


def list_schemas() -> tuple[str, ...]:
    """Return the names of the schemas: config, ecosystem, profile, spec (its frontmatter)."""
    files = find_resource("templates", "schemas").glob(f"*{_SUFFIX}")
    return tuple(sorted(path.name.removesuffix(_SUFFIX) for path in files))


def load_schema(name: str) -> dict[str, Any]:
    """Return the schema called `name`. Raises AigonError (exit 2), with the nearest name, if none has this name."""
    if name not in list_schemas():
        raise usage(f"There is no schema {name!r}", where="aigon config schema", hint=suggest(name, list_schemas()))
    schema: dict[str, Any] = json.loads(_read_schema(name))
    return schema


def write_schemas(root: Path) -> tuple[str, ...]:
    """Write all schemas into `.aigon/schemas/` of the project at `root`, ignored by git, and return their paths."""
    files = {f"{name}{_SUFFIX}": _read_schema(name) for name in list_schemas()}
    (root / SCHEMA_FOLDER).mkdir(parents=True, exist_ok=True)
    for name, content in {".gitignore": b"*\n", **files}.items():
        write_atomic(root / SCHEMA_FOLDER / name, content)
    return tuple(f"{SCHEMA_FOLDER}/{name}" for name in files)


def _read_schema(name: str) -> bytes:
    return find_resource("templates", "schemas", f"{name}{_SUFFIX}").read_bytes()
