"""Credentials of known shapes in a text, and what only looks like one: samples from documentation, stand-ins."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from aigon.secrets.known_shapes import SHAPES, Shape


@dataclass(frozen=True, slots=True)
class Found:
    """A credential in a file: whose it is, the line (from 1) that it begins on, and the value, which nobody prints."""

    kind: str
    line: int
    value: bytes = field(repr=False)


_STAND_IN = re.compile(
    rb"example|placeholder|redacted|change_?me|x{6}|\*{4}|your[_-]?(?:own[_-]?)?(?:api|access|secret|private|auth|token|key)",
    re.I,
)
"""Words by which documentation says that this is nobody's: AKIAIOSFODNN7EXAMPLE, sk-ant-your-key-here."""
_SAMPLES = frozenset({b"Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="})
"""Keys that are the same for everybody: that of Azure's storage emulator."""
_PREFIX = re.compile(rb"^[A-Za-z0-9]{2,7}[_-](?:[A-Za-z0-9]{1,8}[_-])*")


WINDOW = 1 << 20
"""Bytes that are looked at in one go: what is made of a text on the way takes several times its size."""
OVERLAP = 16 << 10
"""Bytes of which two windows have both, so that no token is cut."""


def tokens(data: bytes) -> tuple[Found, ...]:
    """Credentials of known shapes in `data`, in the order of lines; what is plainly a stand-in is not counted."""
    found: dict[int, tuple[str, bytes]] = {}
    for start in range(0, max(1, len(data) - OVERLAP), WINDOW - OVERLAP):
        piece = data[start : start + WINDOW]
        found |= {start + at: known for at, known in _tokens(piece)}
    return tuple(Found(kind, data.count(b"\n", 0, at) + 1, value) for at, (kind, value) in sorted(found.items()))


def _tokens(data: bytes) -> Iterator[tuple[int, tuple[str, bytes]]]:
    """Where each token is, of what kind, and what it says."""
    lowered, words = data.lower(), long_words(data)
    for shape in SHAPES:
        if any(hint in (words if shape.alone else lowered) for hint in shape.hints):
            yield from ((match.start("value"), (shape.kind, match["value"])) for match in _counted(shape, data))


SHORTEST = 15
"""No token is shorter."""
_OF_WORDS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+=:")
_WORDS = bytes(byte if byte in _OF_WORDS else ord(" ") for byte in range(256))


def long_words(data: bytes) -> bytes:
    """What could be tokens, each once: a sixth of usual source code."""
    return b" ".join({word for word in data.translate(_WORDS).split() if len(word) >= SHORTEST})


def _counted(shape: Shape, data: bytes) -> Iterator[re.Match[bytes]]:
    return (match for match in shape.pattern.finditer(data) if not is_stand_in(match["value"]))


def is_stand_in(value: bytes) -> bool:
    """Whether a value is plainly nobody's: it says so, it is a known sample, or one or two characters repeated."""
    random = _PREFIX.sub(b"", value) or value
    return bool(_STAND_IN.search(value)) or value in _SAMPLES or len(set(random.lower())) <= 2
