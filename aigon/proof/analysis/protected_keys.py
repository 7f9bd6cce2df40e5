"""Single keys of files that hold more than what is protected: package.json, pyproject.toml, setup.cfg.

What cannot be read as its format is compared and put back as a whole, as its parts are unknown.
"""

import json
from collections.abc import Mapping, MutableMapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from configparser import RawConfigParser

Document = MutableMapping[str, Any]
_ABSENT = object()


def have_equal_keys(before: str | None, after: str | None, path: str, keys: Sequence[str]) -> bool:
    """Return whether both texts of the file say the same under `keys`; a file that is not there says nothing."""
    if before == after:
        return True
    old, new = _read(before, path), _read(after, path)
    if old is None or new is None:
        return False
    return all(_encode(_get(old, path, key)) == _encode(_get(new, path, key)) for key in keys)


def copy_keys(base: str | None, text: str | None, path: str, keys: Sequence[str]) -> str | None:
    """Return `text`, saying under `keys` what `base` says; `base` itself if either cannot be read."""
    old, new = _read(base, path), _read(text, path)
    if text is None or old is None or new is None:
        return base
    for key in keys:
        _put(new, _split_key(path, key), _get(old, path, key))
    return _write(new, path, text)


def _split_key(path: str, key: str) -> tuple[str, ...]:
    """Split a key at its dots; a section of an INI file may hold dots and colons itself."""
    return (key,) if path.endswith((".cfg", ".ini")) else tuple(key.split("."))


def _get(document: Mapping[str, Any], path: str, key: str) -> Any:
    value: Any = document
    for part in _split_key(path, key):
        if not isinstance(value, Mapping) or part not in value:
            return _ABSENT
        value = value[part]
    return value


def _put(document: Document, parts: Sequence[str], value: Any) -> None:
    *above, last = parts
    for part in above:
        if not isinstance(document.get(part), MutableMapping):
            if value is _ABSENT:
                return
            document[part] = {}
        document = document[part]
    if value is _ABSENT:
        document.pop(last, None)
    else:
        document[last] = value


def _encode(value: Any) -> str:
    """Return what tells values apart, whatever the library's own types: `1` is not `true`."""
    return "absent" if value is _ABSENT else json.dumps(value, sort_keys=True, default=str)


def _read(text: str | None, path: str) -> Document | None:
    """Return the document; empty for a file that is not there, None for one that is not in its format."""
    if text is None:
        return {}
    document: Any = None
    try:
        if path.endswith(".json"):
            document = json.loads(text.removeprefix("\ufeff"))
        elif path.endswith(".toml"):
            document = _read_toml(text)
        elif path.endswith((".cfg", ".ini")):
            document = _read_ini(text)
    except (ValueError, KeyError, RecursionError):
        return None
    return document if isinstance(document, MutableMapping) else None


def _read_toml(text: str) -> Any:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise ValueError(str(error)) from error


def _read_ini(text: str) -> Document:
    from configparser import Error

    parser = _make_parser()
    try:
        parser.read_string(text)
        return {name: dict(parser.items(name)) for name in parser.sections()}
    except Error as error:
        raise ValueError(str(error)) from error


def _make_parser() -> "RawConfigParser":
    from configparser import RawConfigParser  # a run without such a file does without

    parser = RawConfigParser(strict=False, allow_no_value=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    return parser


def _write(document: Document, path: str, before: str) -> str:
    if path.endswith(".toml"):
        import tomlkit

        return tomlkit.dumps(document)
    if path.endswith(".json"):
        # As the file is indented now; on a single line if it has only one.
        second = next((line for line in before.split("\n")[1:] if line.strip()), "")
        blank = second[: len(second) - len(second.lstrip())]
        indent = blank or (None if "\n" not in before.strip() else 2)
        end = "\n" if before.endswith("\n") else ""
        return json.dumps(document, indent=indent, ensure_ascii=False) + end
    parser = _make_parser()
    parser.read_dict(document)
    parser.write(out := StringIO())
    return out.getvalue()
