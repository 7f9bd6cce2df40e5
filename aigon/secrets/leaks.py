"""Find files that must not be committed because of their name or content.

A name alone decides only for files that hold nothing but secrets. For others (`.npmrc`, `*.pem`) the name says what to
search for. What is kept out of a commit stays in the work tree; a spec can allow a path.
"""

import fnmatch
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType

from msgspec import Struct

from aigon.secrets.shapes import FoundSecret, find_tokens, is_stand_in
from aigon.text.patterns import compile_re

SECRET_NAMES = (
    ".env", ".env[._-]*", ".netrc", "_netrc", ".pgpass", ".htpasswd", ".my.cnf", ".git-credentials", ".dockercfg",
    ".s3cfg", ".boto", ".vault-token", "master.key", "secring.gpg",
    "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.agekey",
    "id_rsa", "id_rsa[._-]*", "id_dsa", "id_dsa[._-]*", "id_ecdsa", "id_ecdsa[._-]*", "id_ed25519", "id_ed25519[._-]*",
)  # fmt: skip
"""Globs on file names, as gitignore reads them."""
FINE_NAMES = (
    ".env*example*", ".env*sample*", ".env*template*", ".env*tmpl*", ".env*dist", ".env*default*", ".env*schema*",
    ".env.test", ".env.testing", ".env.test.*", ".env.ci", ".env.vault", ".env*.d.ts", ".env*.md", ".env*.enc",
    ".env*.sops", ".env*.gpg", ".env*.age", "id_*.pub", "id_*-cert.pub", "debug.keystore",
    "id_*.py", "id_*.go", "id_*.rs", "id_*.js", "id_*.ts", "id_*.java", "id_*.rb", "id_*.c", "id_*.h", "id_*.md",
)  # fmt: skip
"""Exceptions: samples, public halves, encrypted files, source code, the keystore that every Android project shares."""
SECRET_AFTER_ALL = (".env*.local",)
"""Exceptions to those: frameworks keep personal values in `.env.test.local` and the like."""

HOW_TO_ALLOW = "a person can allow its path (`allow` in the spec, `secrets.allow` in .aigon/config.json)"


class Leak(Struct, frozen=True):
    """A file that was kept out, why, and on which line (from 1; 0 for the whole file)."""

    path: str
    why: str
    line: int = 0

    @property
    def sentence(self) -> str:
        at = f":{self.line}" if self.line else ""
        return f"{self.path}{at} was kept out of the commit: {self.why}"


def is_secret_name(path: str) -> bool:
    """Return whether files of this name hold nothing but secrets."""
    name = path.rpartition("/")[2].lower()
    if not _compile_globs(SECRET_NAMES).match(name):
        return False
    return not _compile_globs(FINE_NAMES).match(name) or bool(_compile_globs(SECRET_AFTER_ALL).match(name))


@cache
def _compile_globs(globs: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(fnmatch.translate, globs)))


def list_exclude_lines(allowed: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the lines of an exclude file that keep secret names out of `git add -A`, except paths in `allowed`.

    They come before the person's own lines, which can override them. Folders are exempt: a virtual environment may be
    called `.env`.
    """
    fine = (*(f"!{name}" for name in FINE_NAMES), *SECRET_AFTER_ALL, *(f"!{name}/" for name in SECRET_NAMES))
    return (*SECRET_NAMES, *fine, *(f"!/{path.lstrip('/')}" for path in allowed))


def find_leak(
    path: str,
    data: bytes,
    *,
    tracked: bool = False,
    known: Callable[[bytes], bool] = lambda _value: False,
    values: Mapping[bytes, str] = MappingProxyType({}),
) -> Leak | None:
    """Return why a file with this name and content must not be committed, if it must not.

    `tracked`: the base has a file of this name, so a person decided on the name. `known(value)`: the base already holds
    that credential in some file. `values` maps the person's secrets to their names.
    """
    name = path.encode("utf-8", "surrogateescape")
    if not tracked:
        if is_secret_name(path):
            return Leak(path, "files of this name hold secrets")
        if _looks_like_private_key(path, data):
            return Leak(path, "it looks like a private key")
        if secret_in_name := next(iter((*find_tokens(name), *_find_values(values, name))), None):
            return Leak(path, f"its name holds {secret_in_name.kind}")
    text = _drop_utf16_nulls(data)
    secrets = (*find_tokens(text), *find_placed_secrets(path, text), *_find_values(values, text))
    for secret in sorted(secrets, key=lambda secret: secret.line):
        if not known(secret.value):
            return Leak(path, f"it holds {secret.kind}", secret.line)
    return None


def _drop_utf16_nulls(data: bytes) -> bytes:
    """Return UTF-16 and UTF-32 text, as some shells and editors write it, as ASCII; other data unchanged."""
    head = data[:256]
    if head[:2] in (b"\xff\xfe", b"\xfe\xff") or (len(head) > 8 and head.count(0) * 5 > len(head) * 2):
        return data.replace(b"\0", b"")
    return data


def _find_values(values: Mapping[bytes, str], data: bytes) -> Iterator[FoundSecret]:
    for value, name in values.items():
        if (at := data.find(value)) >= 0:
            yield FoundSecret(f"the value of {name}", data.count(b"\n", 0, at) + 1, value)


def _looks_like_private_key(path: str, data: bytes) -> bool:
    if path.endswith(".pem"):  # certificates, public keys and parameters come as PEM files, too
        return bool(data.strip()) and (b"-----BEGIN " not in data or b"PRIVATE KEY" in data)
    # Slides and translations end in `.key`, too: a key is one opaque word, or binary (DER).
    return path.endswith(".key") and bool(_OPAQUE.match(data) or (_DER.match(data) and b"\0" in data))


_OPAQUE = compile_re(rb"\s*[A-Za-z0-9+/=_-]{16,}\s*\Z")
_DER = compile_re(rb"\x30[\x20-\x84]")
_VALUE = rb"[\"']?(?P<value>[^\s\"',;]{8,})"
_PLACES: tuple[tuple[str, str, re.Pattern[bytes]], ...] = (
    ("*/.npmrc", "an npm token", compile_re(rb"(?:_authToken|_auth|_password)\s*=\s*" + _VALUE)),
    ("*/.yarnrc.yml", "an npm token", compile_re(rb"npmAuth(?:Token|Ident):\s*" + _VALUE)),
    ("*/.pypirc", "a password", compile_re(rb"^\s*password\s*[=:]\s*" + _VALUE, re.M)),
    ("*/.aws/credentials", "an AWS secret key", compile_re(rb"secret_access_key\s*=\s*" + _VALUE, re.I)),
    ("*/.docker/config.json", "a password", compile_re(rb"\"(?:auth|identitytoken)\"\s*:\s*" + _VALUE)),
    ("*/.cargo/credentials*", "a token", compile_re(rb"^\s*token\s*=\s*" + _VALUE, re.M)),
    ("*/.gem/credentials", "a token", compile_re(rb"^\s*:?[a-z_]*api_key:\s*" + _VALUE, re.M)),
    ("*/.kube/config", "a cluster's key", compile_re(rb"(?:client-key-data|token|password):\s*" + _VALUE)),
    ("*/kubeconfig*", "a cluster's key", compile_re(rb"(?:client-key-data|token|password):\s*" + _VALUE)),
    ("*/gh/hosts.yml", "a GitHub token", compile_re(rb"oauth_token:\s*" + _VALUE)),
    *(
        (name, "a private key", compile_re(rb"\"(?:private_key|client_secret|refresh_token)\"\s*:\s*" + _VALUE))
        for name in ("*/*credentials*.json", "*/*service[-_]account*.json", "*/client_secret*.json")
    ),
)
"""Files that are often committed without a secret: glob on `/` and the path, kind of secret, where it is."""
_REFERENCE = compile_re(rb"[$<{%]|process\.env|env[.:]|vault:", re.I)
"""The beginning of a reference to a value that is kept elsewhere: `${NPM_TOKEN}`, `<your token>`, `{{ token }}`."""


def find_placed_secrets(path: str, data: bytes) -> Iterator[FoundSecret]:
    """Yield credentials of no particular shape in files that are known to hold them in certain places."""
    place = f"/{path}".lower()
    for name, kind, pattern in _PLACES:
        if fnmatch.fnmatchcase(place, name):
            for match in pattern.finditer(data):
                if not _REFERENCE.match(match["value"]) and not is_stand_in(match["value"]):
                    yield FoundSecret(kind, data.count(b"\n", 0, match.start("value")) + 1, match["value"])
