"""What calls of Python's own functions and methods come to, for constants that are put together piece by piece."""

import base64
import binascii
import codecs
from collections.abc import Callable
from typing import Any

from aigon.proof.integrity._languages import words

UNKNOWN = object()
"""An expression that depends on more than the text."""
LONGEST = 20_000
"""Characters or items of a value."""

_METHODS = words(
    "join lower upper strip lstrip rstrip replace title capitalize casefold swapcase removeprefix removesuffix split"
    " encode decode hex"
)


def result(name: str, module: str, owner: Any, arguments: list[Any]) -> Any:
    """What `name` gives for these values; `module` is what stands before its dot, `owner` the value of that."""
    if (module, name) == ("codecs", "decode"):
        return _rotated(*arguments)
    if name in _FUNCTIONS:
        return _FUNCTIONS[name](*arguments)
    if name in _METHODS and isinstance(owner, (str, bytes)) and _stays_small(name, owner, arguments):
        return getattr(owner, name)(*arguments)
    return UNKNOWN


def _stays_small(name: str, owner: str | bytes, arguments: list[Any]) -> bool:
    if name == "join":
        return len(arguments) == 1 and len(owner) * len(arguments[0]) <= LONGEST
    return name != "replace" or len(owner) * max(len(argument) for argument in arguments) <= LONGEST


def _rotated(value: str, codec: str) -> Any:
    return codecs.decode(value, "rot13") if codec.replace("_", "").lower() == "rot13" else UNKNOWN


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "chr": chr,
    "str": str,
    "bytes": lambda items, *_: bytes(items) if isinstance(items, list) else UNKNOWN,
    "bytearray": lambda items: bytes(items) if isinstance(items, list) else UNKNOWN,
    "fromhex": bytes.fromhex,
    "unhexlify": binascii.unhexlify,
    "b64decode": base64.b64decode,
    "urlsafe_b64decode": base64.urlsafe_b64decode,
    "b32decode": base64.b32decode,
    "reversed": lambda items: list(items)[::-1],
    "list": lambda items: list(items),
    "tuple": lambda items: tuple(items),
}
