"""The configuration of one invocation: the project's and the person's file, merged and checked; its JSON Schemas.

Prices likewise: the project's over the person's own over those that ship, model by model.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from aigon.config.models import Config
from aigon.config.prices import PriceTable, load_shipped_prices, merge_tables, read_price_table
from aigon.config.sections import read_section
from aigon.errors import AigonError, usage
from aigon.files import atomic
from aigon.files.atomic import write_atomic
from aigon.files.resources import find_resource, read_document
from aigon.text.amounts import MIB, size_error
from aigon.text.documents import suggest
from aigon.text.untrusted import load_strict_json

ReadFile = Callable[[str], bytes | None]
"""Reads a file of the project by its path; None if it does not exist."""
PROJECT_FILE = ".aigon/config.json"
PRICE_FILE = ".aigon/prices.yaml"
UNSUPPORTED_FILES = tuple(f".aigon/config.{ending}" for ending in ("yaml", "yml", "toml"))
"""Names that people expect from other tools. Such a file would be ignored without a word."""
MAX_CONFIG_BYTES = MIB
"""A thousand requests of endpoints, the most that are allowed, take half of it."""
MAX_FILE_BYTES = 16 * MIB
"""The limit for any file of a project that is read whole; most readers have a lower one."""
_JSON_ERRORS = {
    "Expecting ',' delimiter": "a comma is missing before this",
    "Expecting ':' delimiter": "a colon is missing after the key",
    "Expecting property name enclosed in double quotes": "a key has to be in double quotes",
    "Expecting value": "a value is missing or is not in double quotes",
    "Extra data": "something follows the end of the object",
    "Unterminated string starting at": "a text that begins here has no closing double quote",
    "Invalid control character at": "a text goes over the end of its line",
}


def load_configuration(read: ReadFile) -> Config:
    """Return the project's configuration over the person's own. Raises AigonError (exit 2) for anything malformed.

    `read` reads the project's files: those of the work tree, or those of a commit.
    """
    if other := next((name for name in UNSUPPORTED_FILES if read(name) is not None), ""):
        hint = f"Write it as JSON into {PROJECT_FILE}, and remove it"
        raise usage(f"aigon does not read {other}", where=other, hint=hint)
    contents = ((str(get_user_file()), read_user_configuration()), (PROJECT_FILE, read(PROJECT_FILE)))
    return parse_configuration([(name, content) for name, content in contents if content is not None])


def open_work_tree(root: Path) -> ReadFile:
    """Return a reader of the project's files in the work tree at `root`."""
    return lambda path: _read_file(root / path)


def read_user_configuration() -> bytes | None:
    """Return the content of the person's own configuration, or None. Raises AigonError (exit 2)."""
    return _read_file(get_user_file())


def get_user_file() -> Path:
    """Return the path of `config.json` in the person's configuration directory."""
    from platformdirs import user_config_path

    return user_config_path("aigon") / "config.json"


def _read_file(path: Path) -> bytes | None:
    if not path.is_file():
        return None
    try:
        return atomic.read_bounded(
            path, MAX_FILE_BYTES, "The file", hint="aigon reads no file of a project that is larger"
        )
    except OSError as error:
        raise usage(f"The configuration cannot be read: {error.strerror}", where=str(path)) from error


def build_tool_path(root: Path, path: str = "") -> str:
    """Return PATH with the tools of the project's virtual environment and node_modules first."""
    folders = (root / ".venv" / "bin", root / "venv" / "bin", root / "node_modules" / ".bin")
    return os.pathsep.join([*(str(f) for f in folders if f.is_dir()), path or os.environ.get("PATH", os.defpath)])


def parse_configuration(sources: Sequence[tuple[str, bytes]]) -> Config:
    """Return one configuration from files in rising precedence, each as (name for messages, content).

    Raises AigonError (exit 2) for bad JSON, unknown keys and bad values, with file, key and the nearest known key.
    """
    return _parse(tuple(sources))


@lru_cache(maxsize=4)  # each step of a run's preparation reads the same bytes
def _parse(sources: tuple[tuple[str, bytes], ...]) -> Config:
    merged: dict[str, Any] = {}
    for name, content in sources:
        document = _parse_document(name, content)
        read_section(Config, document, name)
        merged = _merge(merged, document)
    return read_section(Config, merged, " + ".join(name for name, _ in sources))


def _parse_document(name: str, content: bytes) -> dict[str, Any]:
    if len(content) > MAX_CONFIG_BYTES:
        hint = "Keep in it what aigon reads; documents of an API have files of their own"
        raise size_error("The configuration", len(content), MAX_CONFIG_BYTES, where=name, hint=hint)
    try:
        text = content.decode("utf-8-sig")
        document = load_strict_json(text)
    except UnicodeDecodeError:
        raise usage("The configuration is not UTF-8", where=name, hint="Save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        raise _describe_json_error(name, error) from None
    except RecursionError:
        raise usage("The configuration is nested too deeply", where=name, hint="It has a few levels only") from None
    except ValueError as error:  # a number of thousands of digits, NaN, a duplicate key
        raise usage(f"The configuration is not valid JSON: {error}", where=name, hint="Fix that value") from None
    if not isinstance(document, dict):
        raise usage("The configuration is not a JSON object", where=name, hint="It starts with { and ends with }")
    return document


def _describe_json_error(name: str, error: json.JSONDecodeError) -> AigonError:
    before, rest = error.doc[: error.pos].rstrip(), error.doc[error.pos :].lstrip()
    at, verb = len(error.doc) - len(rest), "Remove it from"
    if rest.startswith(("//", "/*", "#")):
        what = "there is a comment, which JSON does not allow"
    elif rest.startswith(",") and rest[1:].lstrip()[:1] in ("}", "]"):
        what = f"there is a comma too many before `{rest[1:].lstrip()[:1]}`"
    elif before.endswith(",") and rest[:1] in ("}", "]"):
        what, at = f"there is a comma too many before `{rest[:1]}`", len(before) - 1
    else:
        what, verb = _JSON_ERRORS.get(error.msg, error.msg), "Fix"
    line, column = error.doc.count("\n", 0, at) + 1, at - error.doc.rfind("\n", 0, at)
    where, hint = f"{name}:{line}:{column}", f"{verb} line {line}"
    return usage(f"The configuration is not valid JSON: {what}", where=where, hint=hint)


def _merge(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    """Return `high` over `low`: objects key by key, everything else whole."""
    both = {k: _merge(low[k], v) for k, v in high.items() if isinstance(v, dict) and isinstance(low.get(k), dict)}
    return {**low, **high, **both}


def load_prices(read: ReadFile) -> PriceTable:
    """Return the prices for a project whose files `read` reads: those of its work tree, or those of a commit.

    Raises AigonError (exit 2), with file and key, for a malformed file and an alias of an unknown model.
    """
    user = get_user_file().with_name("prices.yaml")
    contents = ((PRICE_FILE, read(PRICE_FILE)), (str(user), read_document(user) if user.is_file() else None))
    own = [read_price_table(content, file) for file, content in contents if content is not None]
    table = merge_tables(*own, load_shipped_prices())
    known = {name for group in table.groups for name in group.prices}
    for group in table.groups:
        for alias, name in group.aliases.items():
            if name not in known:
                what = f"The alias {alias!r} means {name!r}, which has no price"
                raise usage(what, where=group.file, hint=suggest(name, known))
    return table


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
