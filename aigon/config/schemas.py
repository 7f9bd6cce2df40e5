"""The JSON Schemas that ship with aigon, for editors: by name, and as files of a project."""

import json
from pathlib import Path
from typing import Any

from aigon.errors import usage
from aigon.files.atomic import write_atomic
from aigon.files.resources import find_resource
from aigon.text.documents import suggest

SCHEMA_FOLDER = ".aigon/schemas"
"""Where `aigon config schema --write` puts a copy for editors, which git ignores."""
_SUFFIX = ".schema.json"


def list_schemas() -> tuple[str, ...]:
    """What there is a schema for: config, ecosystem, profile, spec (its frontmatter)."""
    files = find_resource("templates", "schemas").glob(f"*{_SUFFIX}")
    return tuple(sorted(path.name.removesuffix(_SUFFIX) for path in files))


def load_schema(name: str) -> dict[str, Any]:
    """The schema called `name`. Raises AigonError (exit 2) for none such, naming the nearest."""
    if name not in list_schemas():
        raise usage(f"There is no schema {name!r}", where="aigon config schema", hint=suggest(name, list_schemas()))
    found: dict[str, Any] = json.loads(_content(name))
    return found


def write_schemas(root: Path) -> tuple[str, ...]:
    """Write all schemas into `.aigon/schemas/` of the project at `root`, where git ignores them; return the paths."""
    files = {f"{name}{_SUFFIX}": _content(name) for name in list_schemas()}
    (root / SCHEMA_FOLDER).mkdir(parents=True, exist_ok=True)
    for name, content in {".gitignore": b"*\n", **files}.items():
        write_atomic(root / SCHEMA_FOLDER / name, content)
    return tuple(f"{SCHEMA_FOLDER}/{name}" for name in files)


def _content(name: str) -> bytes:
    return find_resource("templates", "schemas", f"{name}{_SUFFIX}").read_bytes()
