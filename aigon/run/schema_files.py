"""The JSON Schemas that ship with aigon, for editors: by name, and as files of a project."""

import json
from pathlib import Path
from typing import Any

from aigon.core.document import nearest
from aigon.core.errors import usage
from aigon.ports.resources import resource
from aigon.ports.store import write_atomic

FOLDER = ".aigon/schemas"
"""Where a project has them: `config.json` refers to `./schemas/config.schema.json`."""
_SUFFIX = ".schema.json"


def names() -> tuple[str, ...]:
    """What there is a schema for: config, ecosystem, profile, spec (its frontmatter)."""
    files = resource("templates", "schemas").glob(f"*{_SUFFIX}")
    return tuple(sorted(path.name.removesuffix(_SUFFIX) for path in files))


def schema(name: str) -> dict[str, Any]:
    """The schema called `name`. Raises AigonError (exit 2) for none such, naming the nearest."""
    if name not in names():
        raise usage(f"There is no schema {name!r}", where="aigon config schema", hint=nearest(name, names()))
    found: dict[str, Any] = json.loads(_content(name))
    return found


def write_schemas(root: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Put all of them into `.aigon/schemas/` of the project at `root`; the paths that were written, and those that
    were there already as they are. One of an older aigon is written anew."""
    written: list[str] = []
    unchanged: list[str] = []
    for name in names():
        path, content = f"{FOLDER}/{name}{_SUFFIX}", _content(name)
        same = _is(root / path, content)
        (unchanged if same else written).append(path)
        if not same:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            write_atomic(root / path, content)
    return tuple(written), tuple(unchanged)


def _content(name: str) -> bytes:
    return resource("templates", "schemas", f"{name}{_SUFFIX}").read_bytes()


def _is(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content
