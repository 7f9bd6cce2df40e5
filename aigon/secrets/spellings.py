"""The ways in which a secret may stand in a text: as it is, inside base64 wherever it begins there, escaped."""

from binascii import b2a_base64
from collections.abc import Iterator

_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~")
"""What RFC 3986 leaves as it is."""


def spellings(value: bytes) -> Iterator[bytes]:
    """`value` itself, and as it stands in base64, in an address, in XML and in a line that was quoted for a shell."""
    yield value
    yield from in_base64(value)
    yield from _in_addresses(value)
    yield value.replace(b"&", b"&amp;").replace(b"<", b"&lt;").replace(b">", b"&gt;")
    yield value.replace(b"&", b"&amp;").replace(b"<", b"&lt;").replace(b">", b"&gt;").replace(b'"', b"&quot;")
    yield value.replace(b"'", b"'\\''")


def in_base64(value: bytes) -> Iterator[bytes]:
    """What base64 of any text with `value` in it holds, by the three places at which a group of three bytes can begin.

    The characters at both ends that depend on what stands beside it are left out.
    """
    for before in range(3):
        text = b2a_base64(bytes(before) + value, newline=False)
        whole = text[-(-before * 8 // 6) : (before + len(value)) * 8 // 6]
        yield whole
        yield whole.translate(_URL_SAFE)


def _in_addresses(value: bytes) -> Iterator[bytes]:
    """Percent-encoded, in capitals and not."""
    for form in ("%%%02X", "%%%02x"):
        yield b"".join(bytes((byte,)) if byte in _UNRESERVED else (form % byte).encode() for byte in value)
