"""What stands on a request's first line: a path and a query, in ASCII, on the server that was started."""

import re
from collections.abc import Callable, Sequence
from urllib.parse import quote, urlsplit

from aigon.config import endpoint_references
from aigon.config.endpoint_references import SavedValues

_KEPT = "/?:@!$&'()*+,;=-._~"
"""What may stand in a path and a query as it is (RFC 3986, 3.3 and 3.4)."""
_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
Pair = tuple[str, str]


def target(path: str, query: Sequence[Pair], values: SavedValues) -> str:
    """The path and query to send. What is percent-encoded already stays so; saved values are encoded whole.

    A path that is only `${name}` is taken as it was saved, as in a Location header. Raises Unsaved, and ValueError for
    a saved address on another server.
    """
    if endpoint_references.parse_reference(path):
        plain = _of_address(endpoint_references.fill_text(path, values), str(values.get("base", "")))
    else:
        plain = endpoint_references.fill_text(_encoded(path, around_holes=True), values, _part)
    return _joined(_encoded(plain), query, values)


def _encoded(text: str, *, around_holes: bool = False) -> str:
    kept = _KEPT + ("{}" if around_holes else "")
    return quote(_PERCENT.sub("%25", text), safe=kept + "%")


def _part(text: str) -> str:
    return quote(text, safe="")


def _of_address(address: str, base: str) -> str:
    """Path and query of a saved address. Raises ValueError where it does not lie on the server at `base`."""
    if address.startswith("/") and not address.startswith("//"):
        return address.partition("#")[0]
    parts, own = urlsplit(address), urlsplit(base)
    loopback = (parts.hostname or "") in ("localhost", "127.0.0.1", "::1")
    if parts.scheme != "http" or not loopback or parts.port != own.port:
        raise ValueError(f"{address!r} is not an address on the server that was started")
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _joined(path: str, query: Sequence[Pair], values: SavedValues) -> str:
    more = encoded(query, values)
    return path + (("&" if "?" in path else "?") + more if more else "")


def encoded(pairs: Sequence[Pair], values: SavedValues, quoted: Callable[[str], str] = _part) -> str:
    """`pairs` as a query or a form holds them, with the saved values in them. Raises Unsaved."""
    return "&".join(f"{quoted(name)}={quoted(endpoint_references.fill_text(value, values))}" for name, value in pairs)
