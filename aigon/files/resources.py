"""The one lookup of what ships with aigon: profiles, templates, examples.

A wheel holds them in `aigon/_data/`; an editable install and a checkout have them at the top of the repository.
"""

import contextlib
import marshal
import re
import sys
from collections.abc import Iterable
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

from aigon import __version__
from aigon.errors import AigonError, Exit, usage
from aigon.files import atomic

_PACKAGE = Path(__file__).resolve().parent.parent


def find_resource(*parts: str) -> Path:
    """The file or folder `parts` lead to. Raises AigonError (internal) when it is not there."""
    data = _PACKAGE / "_data"
    # Never the folder beside an installed package: `templates` in site-packages would be somebody else's.
    path = (data if data.is_dir() else _PACKAGE.parent).joinpath(*parts)
    if not path.exists():
        hint = "The installation is damaged: reinstall aigon (pip install --force-reinstall aigon)"
        raise AigonError(f"{'/'.join(parts)} is missing from aigon", where=str(path), hint=hint, code=Exit.INTERNAL)
    return path


def read_prompt(name: str, **values: object) -> list[str]:
    """Return the parts of a prompt that ships with aigon, with each `{{NAME}}` replaced by its value."""
    parts = find_resource("templates", "prompts", f"{name}.md").read_text(encoding="utf-8").strip().split("\n---\n")
    return [re.sub(r"\{\{([A-Z]+)\}\}", lambda found: str(values[found[1]]), part) for part in parts]


def read_profiles(folder: Path | None = None) -> dict[str, bytes]:
    """The YAML documents in `folder` by path without suffix (`library`, `ecosystems/python`).

    Without `folder` the shipped ones; a folder that does not exist holds none. Raises AigonError (exit 2).
    """
    root = find_resource("profiles") if folder is None else folder
    found = [path for path in sorted(root.rglob("*")) if path.suffix in (".yaml", ".yml") and path.is_file()]
    read = {path.relative_to(root).with_suffix("").as_posix(): read_document(path) for path in found}
    if folder is None:
        _remember(read.values())
    return read


def read_shipped(*parts: str) -> bytes:
    """The bytes of a YAML document that ships with aigon, whose value `parse_yaml` then knows."""
    content = find_resource(*parts).read_bytes()
    _remember([content])
    return content


def _remember(documents: Iterable[bytes]) -> None:
    """Let `parse_yaml` know the values of these documents, and of all others that ship, without parsing them again."""
    from aigon.text.documents import is_remembered, remember_shipped

    remember_shipped(_read_values())
    if not all(map(is_remembered, documents)):
        remember_shipped(_parse_all())


@cache
def _read_values() -> dict[bytes, bytes]:
    """Return what an earlier start parsed, by content; nothing of another version, nor of a damaged file.

    It lies where Python keeps aigon's own compiled code, where an attacker who can write needs no forged values.
    """
    with contextlib.suppress(OSError, ValueError, EOFError, TypeError):
        version, values = marshal.loads(_find_values_file().read_bytes())
        if version == __version__ and isinstance(values, dict):
            return values
    return {}


@cache
def _parse_all() -> dict[bytes, bytes]:
    """Parse what ships, and leave it for later starts where the installation can be written."""
    from aigon.text.documents import parse_yaml

    values: dict[bytes, bytes] = {}
    for path in (*find_resource("profiles").rglob("*.yaml"), *find_resource("templates").rglob("*.yaml")):
        with contextlib.suppress(AigonError, OSError, ValueError):  # whoever needs it says what is wrong
            content = path.read_bytes()
            value: Any = parse_yaml(content, path.name).value
            values[content] = marshal.dumps(value)
    if not sys.dont_write_bytecode:
        with contextlib.suppress(OSError):
            atomic.write_atomic(_find_values_file(), marshal.dumps((__version__, values)))
    return values


def _find_values_file() -> Path:
    return Path(cache_from_source(str(_PACKAGE / "shipped.py")))


def read_document(path: Path) -> bytes:
    """The bytes of a YAML document. Raises AigonError (exit 2) for one that is too large, or cannot be read."""
    from aigon.text.documents import LARGEST_DOCUMENT

    try:
        return atomic.read_bounded(path, LARGEST_DOCUMENT, "The document", hint="Keep in it what aigon reads")
    except OSError as error:
        hint = "Check its permissions"
        raise usage(f"The document cannot be read: {error.strerror}", where=str(path), hint=hint) from None


def find_agent_types(folder: Path | None = None) -> dict[str, Path]:
    """The YAML files in `folder` by name without suffix; without `folder` the shipped ones. No folder, no files."""
    root = find_resource("templates", "agents") if folder is None else folder
    return {path.stem: path for path in sorted(root.glob("*.y*ml")) if path.suffix in (".yaml", ".yml")}
