"""Take credentials out of environments, output and values: known values, token shapes, base64.

More is redacted than is kept out of commits: a harmless word that becomes `[redacted]` costs nothing.
"""

import binascii
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from aigon.secrets.shapes import SHAPES, has_one, is_stand_in, select_long_words, spell, spell_in_base64
from aigon.text.patterns import compile_re

T = TypeVar("T")
Redact = Callable[[bytes], bytes]
REDACTED = b"[redacted]"
SHORTEST = 8
"""A shorter value is as likely a word of the output as a secret."""
SHORTEST_LINE = 16
"""The same for one line of a value that has several."""

_CREDENTIAL = compile_re(
    r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASS|PWD|CREDENTIALS?|AUTH)(?:_|$)|PASSWORD|PASSWD|PASSPHRASE", re.I
)
_PROVIDER = compile_re(
    r"^(?:ANTHROPIC|OPENAI|GEMINI|GOOGLE_(?:API|GENAI|CLOUD|VERTEX|GEMINI)|VERTEX(?:AI)?|MISTRAL|OPENROUTER|CLAUDE|CODEX"
    r"|COPILOT|CURSOR|DASHSCOPE|DEEPSEEK|AWS|AZURE|GH|GITHUB)_",
    re.I,
)
_HARMLESS = frozenset({"SSH_AUTH_SOCK", "XAUTHORITY", "PWD", "OLDPWD"})


def holds_secret(name: str) -> bool:
    """Return whether a variable of this name holds a secret."""
    return name not in _HARMLESS and bool(_CREDENTIAL.search(name))


def is_credential(name: str) -> bool:
    """Return whether a variable of this name holds a secret or belongs to a model or cloud provider."""
    return name not in _HARMLESS and bool(_CREDENTIAL.search(name) or _PROVIDER.match(name))


def drop_credentials(env: Mapping[str, str], allowed: Sequence[str] = ()) -> dict[str, str]:
    """Return the environment for a check: without credentials, except the names in `allowed`."""
    return {name: value for name, value in env.items() if name in allowed or not is_credential(name)}


def make_redactor(*environments: Mapping[str, str]) -> Redact:
    """Return a function that redacts the secret values of these environments and token shapes, in base64 too."""
    values = {value for env in environments for value in _list_secret_values(env)}
    spellings = {spelling for value in values for spelling in spell(value) if len(spelling) >= SHORTEST}
    longest_first = sorted(spellings, key=len, reverse=True)

    def redact(chunk: bytes) -> bytes:
        for value in longest_first:
            if value in chunk:
                chunk = chunk.replace(value, REDACTED)
        return redact_tokens(chunk)

    return redact


def _list_secret_values(env: Mapping[str, str]) -> Iterator[bytes]:
    """Yield the values of secret variables, plain and as JSON writes them, and their long lines."""
    for name, value in env.items():
        if holds_secret(name) and len(value) >= SHORTEST:
            yield os.fsencode(value)
            yield json.dumps(value)[1:-1].encode()
            if "\n" in value:
                yield from (os.fsencode(line) for line in value.splitlines() if len(line) >= SHORTEST_LINE)


def collect_findable_values(env: Mapping[str, str]) -> dict[bytes, str]:
    """Return the secret values that cannot be anything else in a file, in every spelling, with `$NAME` of each."""
    values = {os.fsencode(value): f"${name}" for name, value in env.items() if holds_secret(name) and "\n" not in value}
    return {
        spelling: name
        for value, name in values.items()
        if _is_findable(value)
        for spelling in spell(value)
        if len(spelling) >= SHORTEST_LINE
    }


def _is_findable(value: bytes) -> bool:
    """Return whether a value is long and mixes letters and digits: not `postgres`, a path or a placeholder."""
    mixed = any(48 <= byte < 58 for byte in value) and any(byte > 64 for byte in value)
    return len(value) >= SHORTEST_LINE and mixed and value[:1] not in (b"/", b"~") and not is_stand_in(value)


_LOOSE = compile_re(
    rb"(?<![A-Za-z0-9])(?:sk-(?:ant-)?[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}"
    rb"|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35})"
)
"""The best known shapes, whatever follows them."""
_LOOSE_HINTS = (b"sk-", b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_", b"xox", b"AKIA", b"AIza")
KEY_BEGIN = compile_re(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_KEY = compile_re(KEY_BEGIN.pattern + rb"(?:\s*[A-Za-z-]+: [^\n]*)*[A-Za-z0-9+/=\\\s]*")
"""A private key with its headers, up to the line that ends it."""
_LINE_SHAPES = tuple(shape for shape in SHAPES if not shape.alone)
_WORD_SHAPES = tuple(shape for shape in SHAPES if shape.alone)
_WORD_HINTS = tuple(dict.fromkeys(hint for shape in _WORD_SHAPES for hint in shape.hints))
_HINT = 4
"""Characters that are rare enough in any base64."""
_WORD = 27
"""Characters of base64 that the shortest token takes."""
_OF_BASE64 = bytes(byte if byte < 128 and (chr(byte).isalnum() or byte in b"+/_-") else ord(" ") for byte in range(256))
_STANDARD = bytes.maketrans(b"-_", b"+/")


def find_unfinished_key(output: bytes) -> int:
    """Return where a private key begins that has not ended yet, else the length of `output`."""
    last = output.rfind(b"-----BEGIN ")
    begin = KEY_BEGIN.match(output, last) if last >= 0 else None
    return last if begin and b"-----END" not in output[begin.end() :] else len(output)


def redact_tokens(text: bytes) -> bytes:
    """Redact tokens, private keys, and base64 that holds one."""
    if b"-----BEGIN " in text:
        text = _KEY.sub(REDACTED, text)
    for value in sorted({*_find_in_lines(text), *_find_in_words(select_long_words(text))}, key=len, reverse=True):
        text = text.replace(value, REDACTED)
    return text


def _find_in_lines(text: bytes) -> Iterator[bytes]:
    """Yield values that only the text before them shows to be secrets."""
    if has_one(text, (b"ecret", b"ECRET", b"=", b"BEGIN", b"PuTTY")):
        lowered = text.lower()
        for shape in _LINE_SHAPES:
            if has_one(lowered, shape.hints):
                yield from (match["value"] for match in shape.pattern.finditer(text))


def _find_in_words(words: bytes) -> Iterator[bytes]:
    yield from _match_words(words)
    if has_one(words, _LOOSE_HINTS):
        yield from _LOOSE.findall(words)
    coded = [word for word in words.translate(_OF_BASE64).split() if len(word) >= _WORD]
    together = b" ".join(coded)
    if together and (hints := [hint for hint in _list_base64_hints() if hint in together]):
        yield from _find_in_base64(coded, hints)


def _match_words(words: bytes) -> Iterator[bytes]:
    if has_one(words, _WORD_HINTS):  # mostly there is none
        for shape in _WORD_SHAPES:
            if has_one(words, shape.hints):
                yield from (match["value"] for match in shape.pattern.finditer(words))


@cache
def _list_base64_hints() -> frozenset[bytes]:
    """Return what the base64 of tokens contains. Of a short prefix (`hf_`) one spelling of three is long enough."""
    hints = {spelling for shape in _WORD_SHAPES for hint in shape.hints for spelling in spell_in_base64(hint)}
    return frozenset(hint for hint in hints if len(hint) >= _HINT)


def _find_in_base64(words: Iterable[bytes], hints: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the parts of the words that decode to a token."""
    for word in words:
        if has_one(word, hints):
            yield from (word[start:end] for start, end in _locate_in_base64(word.translate(_STANDARD)))


def _locate_in_base64(word: bytes) -> Iterator[tuple[int, int]]:
    """Yield where a word of base64 holds tokens, at whichever character a group of four begins."""
    for shift in range(4):
        text = word[shift:]
        text = text[: len(text) - (len(text) % 4 == 1)]
        decoded = binascii.a2b_base64(text + b"A" * (-len(text) % 4))
        for value in (*_match_words(decoded), *_LOOSE.findall(decoded), *KEY_BEGIN.findall(decoded)):
            at = decoded.find(value)
            yield shift + at * 8 // 6, shift + -(-(at + len(value)) * 8 // 6)


UNREDACTED_FIELDS = frozenset(
    {
        "at", "event", "run_id", "feature_id", "slug", "label", "agent", "mode", "branch", "base_commit", "head",
        "host", "spec_path", "spec_sha", "human_ticks", "checkpoint", "checkpoints", "commit", "old", "ref", "tree",
        "content", "status", "fingerprint", "fingerprints", "check", "role", "rule", "level", "key", "method", "log",
        "started_at", "end", "choices",
    }
)  # fmt: skip
"""Names, hashes and words that aigon chose and reads back: redacting one would break a resume. None of them holds what
an agent, a check or a judge said."""


def redact_value(value: T, redact: Redact) -> T:
    """Return a value (a struct of structs, texts, numbers) with all its texts redacted; usually itself."""
    together = "\n".join(_list_texts(value)).encode("utf-8", "replace")
    return value if redact(together) == together else _redact_deeply(value, redact)


def _list_texts(value: Any) -> list[str]:
    """Return all texts of a value, with few calls: every event goes through here."""
    texts: list[str] = []
    left = [value]
    for each in left:  # which grows meanwhile
        if isinstance(each, str):
            texts.append(each)
        elif isinstance(each, tuple | list):
            left += each
        elif isinstance(each, Struct):
            left += _make_getter(type(each))(each)
        elif isinstance(each, dict | Mapping):  # a mapping of another kind takes longer to tell
            texts += map(str, each)
            left += each.values()
    return texts


@cache
def _make_getter(kind: type[Struct]) -> Callable[[Struct], tuple[Any, ...]]:
    """Return what returns the fields of a struct that are redacted."""
    names = [name for name in kind.__struct_fields__ if name not in UNREDACTED_FIELDS]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda struct: tuple(getattr(struct, name) for name in names)


def _redact_deeply(value: Any, redact: Redact) -> Any:
    if isinstance(value, str):
        return redact(value.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")
    if isinstance(value, Mapping):
        return {_redact_deeply(name, redact): _redact_deeply(item, redact) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(_redact_deeply(item, redact) for item in value)
    if isinstance(value, Struct):
        names = (name for name in value.__struct_fields__ if name not in UNREDACTED_FIELDS)
        old = {name: getattr(value, name) for name in names}
        changed = {name: new for name in old if (new := _redact_deeply(old[name], redact)) != old[name]}
        return replace(value, **changed)
    return value
