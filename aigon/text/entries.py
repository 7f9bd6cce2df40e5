"""Values in configuration files: TOML, JSON and INI, looked up by their keys."""

from functools import lru_cache
from typing import Literal

Format = Literal["toml", "json", "ini"]


def values(kind: Format, raw: bytes, keys: tuple[str, ...]) -> list[object]:
    """Every value that `keys` lead to in the document `raw`; `*` is any key. Raises ValueError for a broken one."""
    return _under(_parsed(kind, raw), keys)


@lru_cache(maxsize=16)
def _parsed(kind: Format, raw: bytes) -> object:
    """The document in `raw`. Raises ValueError (every parser's own error is one)."""
    try:
        return _read(kind, raw.decode("utf-8-sig"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _read(kind: Format, text: str) -> object:
    if kind == "ini":
        return _ini(text)
    if kind == "json":
        import json

        return json.loads(text)
    import tomllib

    return tomllib.loads(text)


def _ini(text: str) -> object:
    from configparser import Error, RawConfigParser

    parser = RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(text)
    except Error as error:
        raise ValueError(str(error)) from None
    return {section: dict(parser.items(section)) for section in parser.sections()}


def _under(value: object, keys: tuple[str, ...]) -> list[object]:
    """Every value that `keys` lead to."""
    if not keys:
        return [value]
    if not isinstance(value, dict):
        return []
    children = value.values() if keys[0] == "*" else [value[keys[0]]] if keys[0] in value else []
    return [found for child in children for found in _under(child, keys[1:])]
