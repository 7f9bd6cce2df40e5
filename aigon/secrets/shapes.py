"""The shapes of credentials that providers document.

Sources are the providers' own pages on their token formats and on secret scanning. A JSON Web Token is not among them:
most of those in a repository are samples, and those that are not expire.
"""

import re
from binascii import b2a_base64
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Shape:
    """`hints` are literals one of which a text has to hold before `pattern` is tried on it.

    With `alone` the hint is part of the token itself, so that only long words have to be looked at; otherwise it is
    in lower case, and so is the text that it is looked for in.
    """

    kind: str
    hints: tuple[bytes, ...]
    pattern: re.Pattern[bytes]
    alone: bool = False


def _shape(kind: str, pattern: bytes, *hints: bytes) -> Shape:
    """A token by itself: neither the end of a longer word nor the beginning of one."""
    whole = rb"(?<![A-Za-z0-9_])(?P<value>" + pattern + rb")(?![A-Za-z0-9_])"
    return Shape(kind, hints, re.compile(whole), alone=True)


SHAPES = (
    _shape("an Anthropic key", rb"sk-ant-[A-Za-z0-9_-]{20,}", b"sk-ant-"),
    _shape(
        "an OpenAI key",
        rb"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}",
        b"sk-proj-",
        b"sk-svcacct-",
        b"sk-admin-",
        b"sk-None-",
    ),
    _shape("an OpenRouter key", rb"sk-or-v1-[0-9a-f]{64}", b"sk-or-"),
    _shape("an API key", rb"sk-(?=[A-Za-z]*[0-9])[A-Za-z0-9]{32,}", b"sk-"),
    _shape("a GitHub token", rb"gh[pousr]_[A-Za-z0-9]{36,}", b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_"),
    _shape("a GitHub token", rb"github_pat_[A-Za-z0-9_]{30,}", b"github_pat_"),
    _shape(
        "a GitLab token",
        rb"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas|imt)-[A-Za-z0-9_.-]{20,}",
        b"glpat-",
        b"gldt-",
        b"glrt-",
        b"glcbt-",
        b"glptt-",
        b"glft-",
        b"glsoat-",
        b"glagent-",
        b"gloas-",
        b"glimt-",
    ),
    _shape(
        "a Slack token",
        rb"xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{12,}|xapp-[0-9]-[A-Za-z0-9-]{20,}",
        b"xoxa",
        b"xoxb",
        b"xoxe",
        b"xoxo",
        b"xoxp",
        b"xoxr",
        b"xoxs",
        b"xapp",
    ),
    _shape(
        "a Slack webhook",
        rb"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{30,}",
        b"hooks.slack",
    ),
    _shape("an AWS access key", rb"(?:AKIA|ASIA)[A-Z0-9]{16}", b"AKIA", b"ASIA"),
    _shape("a Google API key", rb"AIza[0-9A-Za-z_-]{35}", b"AIza"),
    _shape("a Google OAuth secret", rb"GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{30,}", b"GOCSPX-", b"ya29."),
    _shape("a Stripe key", rb"[sr]k_live_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/]{32,}", b"k_live_", b"whsec_"),
    _shape("an npm token", rb"npm_[A-Za-z0-9]{36}", b"npm_"),
    _shape("a PyPI token", rb"pypi-Ag[A-Za-z0-9_-]{50,}", b"pypi-"),
    _shape("a Hugging Face token", rb"(?:hf|api_org)_[A-Za-z0-9]{30,}", b"hf_", b"api_org_"),
    _shape("a SendGrid key", rb"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{32,}", b"SG."),
    _shape("a DigitalOcean token", rb"do[opr]_v1_[a-f0-9]{64}", b"_v1_"),
    _shape("a Shopify token", rb"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}", b"shpat_", b"shpca_", b"shppa_", b"shpss_"),
    _shape("a Telegram bot token", rb"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}", b":AA"),
    _shape("a Databricks token", rb"dapi[a-f0-9]{32}", b"dapi"),
    _shape("a Vault token", rb"hv[sb]\.[A-Za-z0-9_-]{24,}", b"hvs.", b"hvb."),
    _shape("a Groq key", rb"gsk_[A-Za-z0-9]{40,}", b"gsk_"),
    _shape("an xAI key", rb"xai-[A-Za-z0-9]{60,}", b"xai-"),
    _shape("a Perplexity key", rb"pplx-[A-Za-z0-9]{40,}", b"pplx-"),
    _shape("a Replicate token", rb"r8_[A-Za-z0-9]{37}", b"r8_"),
    _shape("a Supabase token", rb"sb[ps]_(?:secret_)?[A-Za-z0-9_-]{30,}", b"sbp_", b"sbs_"),
    _shape("a Linear key", rb"lin_(?:api|oauth)_[A-Za-z0-9]{32,}", b"lin_"),
    _shape("a Grafana token", rb"gl(?:sa|c)_[A-Za-z0-9_=+/]{32,}", b"glsa_", b"glc_"),
    _shape("a Postman key", rb"PMAK-[a-f0-9]{24}-[a-f0-9]{34}", b"PMAK-"),
    _shape("a Terraform token", rb"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}", b".atlasv1."),
    _shape("an age key", rb"AGE-SECRET-KEY-1[A-Z0-9]{58}", b"AGE-SECRET-KEY-1"),
    Shape(
        "an AWS secret key",
        (b"secret_access_key", b"secretaccesskey", b"secret_key", b"secretkey"),
        re.compile(
            rb"(?:secret_?access_?key|aws_?secret_?key)[\"']?\s{0,3}(?:=>|[=:,])\s{0,3}[\"']?"
            rb"(?P<value>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
            re.I,
        ),
    ),
    Shape(
        "an Azure storage key",
        (b"accountkey", b"sharedaccesskey"),
        re.compile(rb"(?:AccountKey|SharedAccessKey)=(?P<value>[A-Za-z0-9+/]{42,86}={1,2})", re.I),
    ),
    Shape(
        "a private key",
        (b"private key",),
        # In source the line break may be written out, or the text put together from several strings.
        re.compile(
            rb"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
            rb"(?:\\r|\\n|[\s\"'+,;\\(]|[A-Za-z-]+: [^\n]{0,200}\n)*(?P<value>[A-Za-z0-9+/]{16,})"
        ),
    ),
    Shape("a PuTTY private key", (b"putty-user-key-file",), re.compile(rb"(?P<value>PuTTY-User-Key-File-[23]: \S+)")),
)


@dataclass(frozen=True, slots=True)
class FoundSecret:
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


def find_tokens(data: bytes) -> tuple[FoundSecret, ...]:
    """Credentials of known shapes in `data`, in the order of lines; what is plainly a stand-in is not counted."""
    found: dict[int, tuple[str, bytes]] = {}
    for start in range(0, max(1, len(data) - OVERLAP), WINDOW - OVERLAP):
        piece = data[start : start + WINDOW]
        found |= {start + at: known for at, known in _locate_tokens(piece)}
    return tuple(FoundSecret(kind, data.count(b"\n", 0, at) + 1, value) for at, (kind, value) in sorted(found.items()))


def _locate_tokens(data: bytes) -> Iterator[tuple[int, tuple[str, bytes]]]:
    """Where each token is, of what kind, and what it says."""
    lowered, words = data.lower(), select_long_words(data)
    for shape in SHAPES:
        if any(hint in (words if shape.alone else lowered) for hint in shape.hints):
            yield from ((match.start("value"), (shape.kind, match["value"])) for match in _match_shape(shape, data))


SHORTEST = 15
"""No token is shorter."""
_OF_WORDS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+=:")
_WORDS = bytes(byte if byte in _OF_WORDS else ord(" ") for byte in range(256))


def select_long_words(data: bytes) -> bytes:
    """What could be tokens, each once: a sixth of usual source code."""
    return b" ".join({word for word in data.translate(_WORDS).split() if len(word) >= SHORTEST})


def _match_shape(shape: Shape, data: bytes) -> Iterator[re.Match[bytes]]:
    return (match for match in shape.pattern.finditer(data) if not is_stand_in(match["value"]))


def is_stand_in(value: bytes) -> bool:
    """Whether a value is plainly nobody's: it says so, it is a known sample, or one or two characters repeated."""
    random = _PREFIX.sub(b"", value) or value
    return bool(_STAND_IN.search(value)) or value in _SAMPLES or len(set(random.lower())) <= 2


_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~")
"""What RFC 3986 leaves as it is."""


def spell(value: bytes) -> Iterator[bytes]:
    """`value` itself, and as it stands in base64, in an address, in XML and in a line that was quoted for a shell."""
    yield value
    yield from spell_in_base64(value)
    yield from _spell_in_address(value)
    yield value.replace(b"&", b"&amp;").replace(b"<", b"&lt;").replace(b">", b"&gt;")
    yield value.replace(b"&", b"&amp;").replace(b"<", b"&lt;").replace(b">", b"&gt;").replace(b'"', b"&quot;")
    yield value.replace(b"'", b"'\\''")


def spell_in_base64(value: bytes) -> Iterator[bytes]:
    """What base64 of any text with `value` in it holds, by the three places at which a group of three bytes can begin.

    The characters at both ends that depend on what stands beside it are left out.
    """
    for before in range(3):
        text = b2a_base64(bytes(before) + value, newline=False)
        whole = text[-(-before * 8 // 6) : (before + len(value)) * 8 // 6]
        yield whole
        yield whole.translate(_URL_SAFE)


def _spell_in_address(value: bytes) -> Iterator[bytes]:
    """Percent-encoded, in capitals and not."""
    for form in ("%%%02X", "%%%02x"):
        yield b"".join(bytes((byte,)) if byte in _UNRESERVED else (form % byte).encode() for byte in value)
