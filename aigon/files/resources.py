"""The one lookup of what ships with aigon: profiles, templates, examples.

A wheel holds them in `aigon/_data/`; an editable install and a checkout have them at the top of the repository.
"""

from pathlib import Path

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


def read_profiles(folder: Path | None = None) -> dict[str, bytes]:
    """The YAML documents in `folder` by path without suffix (`library`, `ecosystems/python`).

    Without `folder` the shipped ones; a folder that does not exist holds none. Raises AigonError (exit 2).
    """
    root = find_resource("profiles") if folder is None else folder
    found = [path for path in sorted(root.rglob("*")) if path.suffix in (".yaml", ".yml") and path.is_file()]
    return {path.relative_to(root).with_suffix("").as_posix(): read_document(path) for path in found}


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
