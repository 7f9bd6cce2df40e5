"""Which files hold secrets by their name, or by what stands in them, and have no place in a commit.

A name decides alone only where files of that name hold nothing but secrets. For the others (`.npmrc`, `*.pem`) the
name says what to look for. What is kept out stays in the work tree; a spec can allow a path.
"""

import fnmatch
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from aigon.secrets.shapes import FoundSecret, find_tokens, is_stand_in

SECRET_NAMES = (
    ".env", ".env[._-]*", ".netrc", "_netrc", ".pgpass", ".htpasswd", ".my.cnf", ".git-credentials", ".dockercfg",
    ".s3cfg", ".boto", ".vault-token", "master.key", "secring.gpg",
    "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.agekey",
    "id_rsa", "id_rsa[._-]*", "id_dsa", "id_dsa[._-]*", "id_ecdsa", "id_ecdsa[._-]*", "id_ed25519", "id_ed25519[._-]*",
)  # fmt: skip
"""Globs on the last part of a path, as gitignore reads them."""
FINE_NAMES = (
    ".env*example*", ".env*sample*", ".env*template*", ".env*tmpl*", ".env*dist", ".env*default*", ".env*schema*",
    ".env.test", ".env.testing", ".env.test.*", ".env.ci", ".env.vault", ".env*.d.ts", ".env*.md", ".env*.enc",
    ".env*.sops", ".env*.gpg", ".env*.age", "id_*.pub", "id_*-cert.pub", "debug.keystore",
    "id_*.py", "id_*.go", "id_*.rs", "id_*.js", "id_*.ts", "id_*.java", "id_*.rb", "id_*.c", "id_*.h", "id_*.md",
)  # fmt: skip
"""Exceptions: samples, public halves, encrypted files, source code, the keystore that every Android project shares."""
AFTER_ALL = (".env*.local",)
"""Exceptions to those: frameworks keep a person's own values in `.env.test.local` and the like."""


HOW_TO_ALLOW = "a person can allow its path (`allow` in the spec, `secrets.allow` in .aigon/config.json)"


@dataclass(frozen=True, slots=True)
class Leak:
    """A file that was kept out, why, and on which line (from 1; 0 for the whole file). Never the secret itself."""

    path: str
    why: str
    line: int = 0

    @property
    def sentence(self) -> str:
        """For people and the agent."""
        at = f":{self.line}" if self.line else ""
        return f"{self.path}{at} was kept out of the commit: {self.why}"


def is_secret_name(path: str) -> bool:
    """Whether a file of this name holds nothing but secrets."""
    name = path.rpartition("/")[2].lower()
    if not _any(SECRET_NAMES).match(name):
        return False
    return not _any(FINE_NAMES).match(name) or bool(_any(AFTER_ALL).match(name))


@cache
def _any(globs: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(fnmatch.translate, globs)))


def list_exclude_lines(allowed: Sequence[str] = ()) -> tuple[str, ...]:
    """Lines of an exclude file by which `git add -A` takes no file that `blocked` names, but for paths in `allowed`.

    They go before the person's own lines, so that these can still say otherwise. Folders of such names (a virtual
    environment called `.env`) are none of their business.
    """
    fine = (*(f"!{name}" for name in FINE_NAMES), *AFTER_ALL, *(f"!{name}/" for name in SECRET_NAMES))
    return (*SECRET_NAMES, *fine, *(f"!/{path.lstrip('/')}" for path in allowed))


def find_leak(
    path: str,
    data: bytes,
    *,
    tracked: bool = False,
    known: Callable[[bytes], bool] = lambda _value: False,
    values: Mapping[bytes, str] = MappingProxyType({}),
) -> Leak | None:
    """Why a file with this name and content must not be committed; None where there is no reason not to.

    `tracked`: the base has a file of this name, so the name is a person's decision. `known` says of a credential
    that the base holds it already, in whatever file. `values` are secrets of the person, with what they are called.
    """
    if not tracked and (why := _by_name(path, data) or _value_in_name(path, values)):
        return Leak(path, why)
    text = _as_bytes(data)
    for found in sorted(
        (*find_tokens(text), *find_placed_secrets(path, text), *_find_values(values, text)), key=lambda each: each.line
    ):
        if not known(found.value):
            return Leak(path, f"it holds {found.kind}", found.line)
    return None


def _as_bytes(data: bytes) -> bytes:
    """A text in UTF-16 or UTF-32, as some shells and editors write it, as if it were in ASCII; other data as it is."""
    head = data[:256]
    if head[:2] in (b"\xff\xfe", b"\xfe\xff") or (len(head) > 8 and head.count(0) * 5 > len(head) * 2):
        return data.replace(b"\0", b"")
    return data


def _find_values(values: Mapping[bytes, str], data: bytes) -> Iterator[FoundSecret]:
    for value, name in values.items():
        if (at := data.find(value)) >= 0:
            yield FoundSecret(f"the value of {name}", data.count(b"\n", 0, at) + 1, value)


def _by_name(path: str, data: bytes) -> str:
    if is_secret_name(path):
        return "files of this name hold secrets"
    if (path.endswith(".pem") and not _is_public(data)) or (path.endswith(".key") and _is_key(data)):
        return "it looks like a private key"
    if named := find_tokens(path.encode("utf-8", "surrogateescape")):
        return f"its name holds {named[0].kind}"
    return ""


def _value_in_name(path: str, values: Mapping[bytes, str]) -> str:
    return next(
        (f"its name holds {found.kind}" for found in _find_values(values, path.encode("utf-8", "surrogateescape"))), ""
    )


def _is_public(data: bytes) -> bool:
    """Certificates, public keys, parameters: a PEM file with nothing private in it; an empty one too."""
    return not data.strip() or (b"-----BEGIN " in data and b"PRIVATE KEY" not in data)


_OPAQUE = re.compile(rb"\s*[A-Za-z0-9+/=_-]{16,}\s*\Z")
_DER = re.compile(rb"\x30[\x20-\x84]")


def _is_key(data: bytes) -> bool:
    """One opaque word, or a key in binary form; `.key` is the ending of other things too (slides, translations)."""
    return bool(_OPAQUE.match(data) or (_DER.match(data) and b"\0" in data))


_VALUE = rb"[\"']?(?P<value>[^\s\"',;]{8,})"
_PLACES: tuple[tuple[str, str, re.Pattern[bytes]], ...] = (
    ("*/.npmrc", "an npm token", re.compile(rb"(?:_authToken|_auth|_password)\s*=\s*" + _VALUE)),
    ("*/.yarnrc.yml", "an npm token", re.compile(rb"npmAuth(?:Token|Ident):\s*" + _VALUE)),
    ("*/.pypirc", "a password", re.compile(rb"^\s*password\s*[=:]\s*" + _VALUE, re.M)),
    ("*/.aws/credentials", "an AWS secret key", re.compile(rb"secret_access_key\s*=\s*" + _VALUE, re.I)),
    ("*/.docker/config.json", "a password", re.compile(rb"\"(?:auth|identitytoken)\"\s*:\s*" + _VALUE)),
    ("*/.cargo/credentials*", "a token", re.compile(rb"^\s*token\s*=\s*" + _VALUE, re.M)),
    ("*/.gem/credentials", "a token", re.compile(rb"^\s*:?[a-z_]*api_key:\s*" + _VALUE, re.M)),
    ("*/.kube/config", "a cluster's key", re.compile(rb"(?:client-key-data|token|password):\s*" + _VALUE)),
    ("*/kubeconfig*", "a cluster's key", re.compile(rb"(?:client-key-data|token|password):\s*" + _VALUE)),
    ("*/gh/hosts.yml", "a GitHub token", re.compile(rb"oauth_token:\s*" + _VALUE)),
    *(
        (name, "a private key", re.compile(rb"\"(?:private_key|client_secret|refresh_token)\"\s*:\s*" + _VALUE))
        for name in ("*/*credentials*.json", "*/*service[-_]account*.json", "*/client_secret*.json")
    ),
)
"""Files that are committed as often without a secret: glob on `/` and the path, what the secret is, where it stands."""
_REFERENCE = re.compile(rb"[$<{%]|process\.env|env[.:]|vault:", re.I)
"""How a value that is kept elsewhere begins: `${NPM_TOKEN}`, `<your token>`, `{{ token }}`."""


def find_placed_secrets(path: str, data: bytes) -> Iterator[FoundSecret]:
    """Credentials of no particular shape in files of which it is known where those stand."""
    place = f"/{path}".lower()
    for name, kind, pattern in _PLACES:
        if fnmatch.fnmatchcase(place, name):
            for match in pattern.finditer(data):
                if not _REFERENCE.match(match["value"]) and not is_stand_in(match["value"]):
                    yield FoundSecret(kind, data.count(b"\n", 0, match.start("value")) + 1, match["value"])
