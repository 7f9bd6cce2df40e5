"""Taking credentials of known shapes out of a text, as they are and inside base64.

More is taken out than is kept out of commits: what only might be a token does no harm as `[redacted]`.
"""

import binascii
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from aigon.secrets.known_shapes import SHAPES
from aigon.secrets.spellings import in_base64
from aigon.secrets.token_shapes import long_words

GONE = b"[redacted]"
_LOOSE = re.compile(
    rb"(?<![A-Za-z0-9])(?:sk-(?:ant-)?[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}"
    rb"|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35})"
)
"""The best known shapes without regard to what follows them."""
_LOOSE_HINTS = (b"sk-", b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_", b"xox", b"AKIA", b"AIza")
BEGUN = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_KEY = re.compile(BEGUN.pattern + rb"(?:\s*[A-Za-z-]+: [^\n]*)*[A-Za-z0-9+/=\\\s]*")
"""A private key with its headers, up to the line that ends it."""
_IN_LINES = tuple(shape for shape in SHAPES if not shape.alone)
_ALONE = tuple(shape for shape in SHAPES if shape.alone)
_HINT = 4
"""Characters that are rare enough in any base64."""
_WORD = 27
"""Characters of base64 that the shortest token takes."""
_OF_BASE64 = bytes(byte if byte < 128 and (chr(byte).isalnum() or byte in b"+/_-") else ord(" ") for byte in range(256))
_STANDARD = bytes.maketrans(b"-_", b"+/")


def redacted(text: bytes) -> bytes:
    """`text` without tokens, private keys, and base64 that holds one."""
    if b"-----BEGIN " in text:
        text = _KEY.sub(GONE, text)
    for value in sorted({*_in_lines(text), *_in_words(long_words(text))}, key=len, reverse=True):
        text = text.replace(value, GONE)
    return text


def _in_lines(text: bytes) -> Iterator[bytes]:
    """Values of which only what stands before them tells that they are secrets."""
    if not any(hint in text for hint in (b"ecret", b"ECRET", b"=", b"BEGIN", b"PuTTY")):
        return
    lowered = text.lower()
    for shape in _IN_LINES:
        if any(hint in lowered for hint in shape.hints):
            yield from (match["value"] for match in shape.pattern.finditer(text))


def _in_words(words: bytes) -> Iterator[bytes]:
    for shape in _ALONE:
        if any(hint in words for hint in shape.hints):
            yield from (match["value"] for match in shape.pattern.finditer(words))
    if any(hint in words for hint in _LOOSE_HINTS):
        yield from _LOOSE.findall(words)
    coded = [word for word in words.translate(_OF_BASE64).split() if len(word) >= _WORD]
    together = b" ".join(coded)
    if hints := [hint for hint in _base64_hints() if hint in together]:
        yield from _in_base64(coded, hints)


@cache
def _base64_hints() -> frozenset[bytes]:
    """Something that the base64 of a token has. Of the shortest beginnings (`hf_`) only one of three has enough."""
    hints = {spelled for shape in _ALONE for hint in shape.hints for spelled in in_base64(hint)}
    return frozenset(hint for hint in hints if len(hint) >= _HINT)


def _in_base64(words: Iterable[bytes], hints: Sequence[bytes]) -> Iterator[bytes]:
    """The parts of the words that hold a token, whole: decoded, it has to be one."""
    for word in words:
        if any(hint in word for hint in hints):
            yield from (word[start:end] for start, end in _spans(word.translate(_STANDARD)))


def _spans(word: bytes) -> Iterator[tuple[int, int]]:
    """Where a word of base64 holds tokens, at whichever character a group of four begins."""
    for shift in range(4):
        text = word[shift:]
        text = text[: len(text) - (len(text) % 4 == 1)]
        decoded = binascii.a2b_base64(text + b"A" * (-len(text) % 4))
        for value in _plain(decoded):
            at = decoded.find(value)
            yield shift + at * 8 // 6, shift + -(-(at + len(value)) * 8 // 6)


def _plain(decoded: bytes) -> Iterator[bytes]:
    for shape in _ALONE:
        if any(hint in decoded for hint in shape.hints):
            yield from (match["value"] for match in shape.pattern.finditer(decoded))
    yield from _LOOSE.findall(decoded)
    yield from BEGUN.findall(decoded)
