"""Take credentials out of environments, output and values: known values, token shapes, base64."""

import binascii
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar

from aigon.secrets.shapes import SHAPES, is_stand_in, select_long_words, spell, spell_in_base64

REDACTED = b"[redacted]"
_LOOSE = re.compile(
    rb"(?<![A-Za-z0-9])(?:sk-(?:ant-)?[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}"
    rb"|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35})"
)
"""The best known shapes without regard to what follows them."""
_LOOSE_HINTS = (b"sk-", b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_", b"xox", b"AKIA", b"AIza")
KEY_BEGIN = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_KEY = re.compile(KEY_BEGIN.pattern + rb"(?:\s*[A-Za-z-]+: [^\n]*)*[A-Za-z0-9+/=\\\s]*")
"""A private key with its headers, up to the line that ends it."""
_LINE_SHAPES = tuple(shape for shape in SHAPES if not shape.alone)
_WORD_SHAPES = tuple(shape for shape in SHAPES if shape.alone)
_HINT = 4
"""Characters that are rare enough in any base64."""
_WORD = 27
"""Characters of base64 that the shortest token takes."""
_OF_BASE64 = bytes(byte if byte < 128 and (chr(byte).isalnum() or byte in b"+/_-") else ord(" ") for byte in range(256))
_STANDARD = bytes.maketrans(b"-_", b"+/")


def redact_tokens(text: bytes) -> bytes:
    """`text` without tokens, private keys, and base64 that holds one."""
    if b"-----BEGIN " in text:
        text = _KEY.sub(REDACTED, text)
    for value in sorted({*_find_in_lines(text), *_find_in_words(select_long_words(text))}, key=len, reverse=True):
        text = text.replace(value, REDACTED)
    return text


def _find_in_lines(text: bytes) -> Iterator[bytes]:
    """Values of which only what stands before them tells that they are secrets."""
    if not any(hint in text for hint in (b"ecret", b"ECRET", b"=", b"BEGIN", b"PuTTY")):
        return
    lowered = text.lower()
    for shape in _LINE_SHAPES:
        if any(hint in lowered for hint in shape.hints):
            yield from (match["value"] for match in shape.pattern.finditer(text))


def _find_in_words(words: bytes) -> Iterator[bytes]:
    for shape in _WORD_SHAPES:
        if any(hint in words for hint in shape.hints):
            yield from (match["value"] for match in shape.pattern.finditer(words))
    if any(hint in words for hint in _LOOSE_HINTS):
        yield from _LOOSE.findall(words)
    coded = [word for word in words.translate(_OF_BASE64).split() if len(word) >= _WORD]
    together = b" ".join(coded)
    if hints := [hint for hint in _base64_hints() if hint in together]:
        yield from _find_in_base64(coded, hints)


@cache
def _base64_hints() -> frozenset[bytes]:
    """Something that the base64 of a token has. Of the shortest beginnings (`hf_`) only one of three has enough."""
    hints = {spelled for shape in _WORD_SHAPES for hint in shape.hints for spelled in spell_in_base64(hint)}
    return frozenset(hint for hint in hints if len(hint) >= _HINT)


def _find_in_base64(words: Iterable[bytes], hints: Sequence[bytes]) -> Iterator[bytes]:
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
        for value in _find_decoded(decoded):
            at = decoded.find(value)
            yield shift + at * 8 // 6, shift + -(-(at + len(value)) * 8 // 6)


def _find_decoded(decoded: bytes) -> Iterator[bytes]:
    for shape in _WORD_SHAPES:
        if any(hint in decoded for hint in shape.hints):
            yield from (match["value"] for match in shape.pattern.finditer(decoded))
    yield from _LOOSE.findall(decoded)
    yield from KEY_BEGIN.findall(decoded)


SHORTEST = 8
"""A shorter value is as likely a word of the output as a secret."""
SHORTEST_LINE = 16
"""The same for one line of a value that has several."""
Redact = Callable[[bytes], bytes]


def drop_credentials(env: Mapping[str, str], allowed: Sequence[str] = ()) -> dict[str, str]:
    """The person's environment for a check: without credentials, but for the names in `allowed`."""
    return {name: value for name, value in env.items() if name in allowed or not is_credential(name)}


def make_redactor(*environments: Mapping[str, str]) -> Redact:
    """A function that takes known secret values and token shapes out of output, inside base64 too."""
    values = {value for env in environments for value in _list_secret_values(env)}
    spelled = {each for value in values for each in spell(value) if len(each) >= SHORTEST}
    longest_first = sorted(spelled, key=len, reverse=True)

    def redact(chunk: bytes) -> bytes:
        for value in longest_first:
            if value in chunk:
                chunk = chunk.replace(value, REDACTED)
        return redact_tokens(chunk)

    return redact


def _list_secret_values(env: Mapping[str, str]) -> Iterator[bytes]:
    """The values that credential-shaped variables hold, as they are and as they stand in JSON, and their lines."""
    for name, value in env.items():
        if holds_secret(name) and len(value) >= SHORTEST:
            yield os.fsencode(value)
            yield json.dumps(value)[1:-1].encode()
            if "\n" in value:
                yield from (os.fsencode(line) for line in value.splitlines() if len(line) >= SHORTEST_LINE)


def collect_findable_values(env: Mapping[str, str]) -> dict[bytes, str]:
    """Values of secret variables that are nothing else wherever they stand, with the names of the variables.

    Also as they stand in base64 and in addresses.
    """
    values = {os.fsencode(value): name for name, value in env.items() if holds_secret(name) and "\n" not in value}
    told = {value: f"${name}" for value, name in values.items() if _is_findable(value)}
    return {each: name for value, name in told.items() for each in spell(value) if len(each) >= SHORTEST_LINE}


def _is_findable(value: bytes) -> bool:
    """Long, of letters and digits, and no stand-in: not `postgres`, not a path."""
    mixed = any(48 <= byte < 58 for byte in value) and any(byte > 64 for byte in value)
    return len(value) >= SHORTEST_LINE and mixed and value[:1] not in (b"/", b"~") and not is_stand_in(value)


def find_unfinished_key(output: bytes) -> int:
    """Where a private key begins that has not ended yet; the length of `output` where there is none."""
    last = output.rfind(b"-----BEGIN ")
    begun = KEY_BEGIN.match(output, last) if last >= 0 else None
    return last if begun and b"-----END" not in output[begun.end() :] else len(output)


_CREDENTIAL = re.compile(
    r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASS|PWD|CREDENTIALS?|AUTH)(?:_|$)|PASSWORD|PASSWD|PASSPHRASE", re.I
)
_PROVIDER = re.compile(
    r"^(?:ANTHROPIC|OPENAI|GEMINI|GOOGLE_(?:API|GENAI|CLOUD|VERTEX|GEMINI)|VERTEX(?:AI)?|MISTRAL|OPENROUTER|CLAUDE|CODEX"
    r"|COPILOT|CURSOR|DASHSCOPE|DEEPSEEK|AWS|AZURE|GH|GITHUB)_",
    re.I,
)
_HARMLESS = frozenset({"SSH_AUTH_SOCK", "XAUTHORITY", "PWD", "OLDPWD"})


def holds_secret(name: str) -> bool:
    """Whether what a variable of this name holds is a secret."""
    return name not in _HARMLESS and bool(_CREDENTIAL.search(name))


def is_credential(name: str) -> bool:
    """Whether a variable of this name looks like a credential or belongs to a model or cloud provider."""
    return name not in _HARMLESS and bool(_CREDENTIAL.search(name) or _PROVIDER.match(name))


T = TypeVar("T")
UNREDACTED_FIELDS = frozenset(
    {
        "at", "event", "run_id", "feature_id", "slug", "label", "agent", "mode", "branch", "base_commit", "head",
        "host", "spec_path", "spec_sha", "human_ticks", "checkpoint", "checkpoints", "commit", "old", "ref", "tree",
        "content", "status", "fingerprint", "fingerprints", "check", "role", "rule", "level", "key", "method", "log",
        "started_at", "end", "choices",
    }
)  # fmt: skip
"""Fields of names, hashes and words that aigon itself chose and reads back: taking anything out would break a resume.
None of them holds what an agent, a check or a judge said."""


def redact_value(value: T, redact: Redact) -> T:
    """`value` (a dataclass, of dataclasses, texts, numbers) with all texts redacted; mostly that is itself."""
    together = "\n".join(_list_texts(value)).encode("utf-8", "replace")
    return value if redact(together) == together else _redact_deeply(value, redact)


def _list_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield str(name)
            yield from _list_texts(item)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _list_texts(item)
    elif is_dataclass(value):
        for field in fields(value):
            if field.name not in UNREDACTED_FIELDS:
                yield from _list_texts(getattr(value, field.name))


def _redact_deeply(value: Any, redact: Redact) -> Any:
    if isinstance(value, str):
        return redact(value.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")
    if isinstance(value, Mapping):
        return {_redact_deeply(name, redact): _redact_deeply(item, redact) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(_redact_deeply(item, redact) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        names = (field.name for field in fields(value) if field.name not in UNREDACTED_FIELDS)
        old = {name: getattr(value, name) for name in names}
        return replace(value, **{name: new for name in old if (new := _redact_deeply(old[name], redact)) != old[name]})
    return value
