"""Single keys of files that hold more than what is protected: package.json, pyproject.toml, setup.cfg.

What cannot be read as its format is compared and put back as a whole: nobody can say what is in it.
"""

import json
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from configparser import Error, RawConfigParser
from io import StringIO
from typing import Any

Document = MutableMapping[str, Any]
_ABSENT = object()


def have_equal_keys(before: str | None, after: str | None, path: str, keys: Sequence[str]) -> bool:
    """Whether both texts of the file say the same under `keys`; a file that is not there says nothing."""
    if before == after:
        return True
    old, new = _read(before, path), _read(after, path)
    if old is None or new is None:
        return False
    return all(_plain(_at(old, path, key)) == _plain(_at(new, path, key)) for key in keys)


def copy_keys(base: str | None, text: str | None, path: str, keys: Sequence[str]) -> str | None:
    """`text`, saying under `keys` what `base` says; `base` itself where either cannot be read."""
    old, new = _read(base, path), _read(text, path)
    if old is None or new is None:
        return base
    if text is None:
        return base
    for key in keys:
        _put(new, _parts(path, key), _at(old, path, key))
    return _written(new, path, text)


def _parts(path: str, key: str) -> tuple[str, ...]:
    """A section of an INI file may hold dots and colons; elsewhere dots lead further in."""
    return (key,) if path.endswith((".cfg", ".ini")) else tuple(key.split("."))


def _at(document: Mapping[str, Any], path: str, key: str) -> Any:
    found: Any = document
    for part in _parts(path, key):
        if not isinstance(found, Mapping) or part not in found:
            return _ABSENT
        found = found[part]
    return found


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


def _plain(value: Any) -> Any:
    """By value, whatever the library's own types, and `1` is not `true`."""
    if value is _ABSENT:
        return "absent"
    return json.dumps(value, sort_keys=True, default=str)


def _read(text: str | None, path: str) -> Document | None:
    """The document; empty for a file that is not there, None for one that is not in its format."""
    if text is None:
        return {}
    try:
        found = _READERS[path.rpartition(".")[2]](text)
    except (ValueError, KeyError, Error, RecursionError):
        return None
    return found if isinstance(found, MutableMapping) else None


def _toml(text: str) -> Any:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise ValueError(str(error)) from error


def _ini(text: str) -> Any:
    parser = RawConfigParser(strict=False, allow_no_value=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return {name: dict(parser.items(name)) for name in parser.sections()}


def _json(text: str) -> Any:
    return json.loads(text.removeprefix("\ufeff"))


_READERS: Mapping[str, Callable[[str], Any]] = {"json": _json, "toml": _toml, "cfg": _ini, "ini": _ini}


def _written(document: Document, path: str, before: str) -> str:
    if path.endswith(".toml"):
        import tomlkit

        return tomlkit.dumps(document)
    if path.endswith(".json"):
        return json.dumps(document, indent=_indent(before), ensure_ascii=False) + (
            "\n" if before.endswith("\n") else ""
        )
    parser = RawConfigParser(allow_no_value=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_dict(document)
    parser.write(out := StringIO())
    return out.getvalue()


def _indent(text: str) -> int | str | None:
    """As the file is indented now; None for one on a single line."""
    second = next((line for line in text.split("\n")[1:] if line.strip()), "")
    blank = second[: len(second) - len(second.lstrip())]
    return blank or (None if "\n" not in text.strip() else 2)
