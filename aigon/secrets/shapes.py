"""The shapes of credentials that providers document, and the ways to spell a value.

The sources are the providers' pages on token formats and secret scanning. JSON Web Tokens are left out: most of those
in a repository are samples, and the others expire.
"""

import re
from binascii import b2a_base64
from collections.abc import Iterable, Iterator

from msgspec import Struct

from aigon.text.patterns import compile_re


class Shape(Struct, frozen=True):
    """`pattern` is tried only on a text that holds one of the `hints`.

    If the shape is found `alone`, its hint is part of the token and only long words are searched; otherwise the hint is
    in lower case, like the text that is searched for it.
    """

    kind: str
    hints: tuple[bytes, ...]
    pattern: re.Pattern[bytes]
    alone: bool = False


def _shape(kind: str, pattern: bytes, hints: bytes) -> Shape:
    """Return the shape of a token that is neither the end nor the beginning of a longer word."""
    whole = rb"(?<![A-Za-z0-9_])(?P<value>" + pattern + rb")(?![A-Za-z0-9_])"
    return Shape(kind, tuple(hints.split()), compile_re(whole), alone=True)


SHAPES = (
    _shape("an Anthropic key", rb"sk-ant-[A-Za-z0-9_-]{20,}", b"sk-ant-"),
    _shape(
        "an OpenAI key",
        rb"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}",
        b"sk-proj- sk-svcacct- sk-admin- sk-None-",
    ),
    _shape("an OpenRouter key", rb"sk-or-v1-[0-9a-f]{64}", b"sk-or-"),
    _shape("an API key", rb"sk-(?=[A-Za-z]*[0-9])[A-Za-z0-9]{32,}", b"sk-"),
    _shape("a GitHub token", rb"gh[pousr]_[A-Za-z0-9]{36,}", b"ghp_ gho_ ghu_ ghs_ ghr_"),
    _shape("a GitHub token", rb"github_pat_[A-Za-z0-9_]{30,}", b"github_pat_"),
    _shape(
        "a GitLab token",
        rb"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas|imt)-[A-Za-z0-9_.-]{20,}",
        b"glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glagent- gloas- glimt-",
    ),
    _shape(
        "a Slack token",
        rb"xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{12,}|xapp-[0-9]-[A-Za-z0-9-]{20,}",
        b"xoxa xoxb xoxe xoxo xoxp xoxr xoxs xapp",
    ),
    _shape(
        "a Slack webhook",
        rb"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{30,}",
        b"hooks.slack",
    ),
    _shape("an AWS access key", rb"(?:AKIA|ASIA)[A-Z0-9]{16}", b"AKIA ASIA"),
    _shape("a Google API key", rb"AIza[0-9A-Za-z_-]{35}", b"AIza"),
    _shape("a Google OAuth secret", rb"GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{30,}", b"GOCSPX- ya29."),
    _shape("a Stripe key", rb"[sr]k_live_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/]{32,}", b"k_live_ whsec_"),
    _shape("an npm token", rb"npm_[A-Za-z0-9]{36}", b"npm_"),
    _shape("a PyPI token", rb"pypi-Ag[A-Za-z0-9_-]{50,}", b"pypi-"),
    _shape("a Hugging Face token", rb"(?:hf|api_org)_[A-Za-z0-9]{30,}", b"hf_ api_org_"),
    _shape("a SendGrid key", rb"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{32,}", b"SG."),
    _shape("a DigitalOcean token", rb"do[opr]_v1_[a-f0-9]{64}", b"_v1_"),
    _shape("a Shopify token", rb"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}", b"shpat_ shpca_ shppa_ shpss_"),
    _shape("a Telegram bot token", rb"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}", b":AA"),
    _shape("a Databricks token", rb"dapi[a-f0-9]{32}", b"dapi"),
    _shape("a Vault token", rb"hv[sb]\.[A-Za-z0-9_-]{24,}", b"hvs. hvb."),
    _shape("a Groq key", rb"gsk_[A-Za-z0-9]{40,}", b"gsk_"),
    _shape("an xAI key", rb"xai-[A-Za-z0-9]{60,}", b"xai-"),
    _shape("a Perplexity key", rb"pplx-[A-Za-z0-9]{40,}", b"pplx-"),
    _shape("a Replicate token", rb"r8_[A-Za-z0-9]{37}", b"r8_"),
    _shape("a Supabase token", rb"sb[ps]_(?:secret_)?[A-Za-z0-9_-]{30,}", b"sbp_ sbs_"),
    _shape("a Linear key", rb"lin_(?:api|oauth)_[A-Za-z0-9]{32,}", b"lin_"),
    _shape("a Grafana token", rb"gl(?:sa|c)_[A-Za-z0-9_=+/]{32,}", b"glsa_ glc_"),
    _shape("a Postman key", rb"PMAK-[a-f0-9]{24}-[a-f0-9]{34}", b"PMAK-"),
    _shape("a Terraform token", rb"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}", b".atlasv1."),
    _shape("an age key", rb"AGE-SECRET-KEY-1[A-Z0-9]{58}", b"AGE-SECRET-KEY-1"),
    Shape(
        "an AWS secret key",
        (b"secret_access_key", b"secretaccesskey", b"secret_key", b"secretkey"),
        compile_re(
            rb"(?:secret_?access_?key|aws_?secret_?key)[\"']?\s{0,3}(?:=>|[=:,])\s{0,3}[\"']?"
            rb"(?P<value>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
            re.I,
        ),
    ),
    Shape(
        "an Azure storage key",
        (b"accountkey", b"sharedaccesskey"),
        compile_re(rb"(?:AccountKey|SharedAccessKey)=(?P<value>[A-Za-z0-9+/]{42,86}={1,2})", re.I),
    ),
    Shape(
        "a private key",
        (b"private key",),
        # In source the line break may be written out, or the text put together from several strings.
        compile_re(
            rb"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
            rb"(?:\\r|\\n|[\s\"'+,;\\(]|[A-Za-z-]+: [^\n]{0,200}\n)*(?P<value>[A-Za-z0-9+/]{16,})"
        ),
    ),
    Shape("a PuTTY private key", (b"putty-user-key-file",), compile_re(rb"(?P<value>PuTTY-User-Key-File-[23]: \S+)")),
)


class FoundSecret(Struct, frozen=True):
    """A credential in a file, the line (from 1) that it begins on, and its value, which is never printed."""

    kind: str
    line: int
    value: bytes

    def __repr__(self) -> str:
        """Leave the value out: what is printed or logged must not hold it."""
        return f"FoundSecret(kind={self.kind!r}, line={self.line})"


_STAND_IN = compile_re(
    rb"example|placeholder|redacted|change_?me|x{6}|\*{4}|your[_-]?(?:own[_-]?)?(?:api|access|secret|private|auth|token|key)",
    re.I,
)
"""Words by which documentation marks a sample: AKIAIOSFODNN7EXAMPLE, sk-ant-your-key-here."""
_SAMPLES = frozenset({b"Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="})
"""Keys that are the same for everybody: that of Azure's storage emulator."""
_PREFIX = compile_re(rb"^[A-Za-z0-9]{2,7}[_-](?:[A-Za-z0-9]{1,8}[_-])*")
WINDOW = 1 << 20
"""Bytes that are searched at a time: the search takes several times its size of memory."""
OVERLAP = 16 << 10
"""Bytes that two windows share, so that no token is cut."""
SHORTEST_TOKEN = 15
_OF_WORDS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+=:")
_WORDS = bytes(byte if byte in _OF_WORDS else ord(" ") for byte in range(256))


def find_tokens(data: bytes) -> tuple[FoundSecret, ...]:
    """Return the credentials of known shapes in `data`, in the order of lines, without placeholders."""
    tokens: dict[int, tuple[str, bytes]] = {}
    for start in range(0, max(1, len(data) - OVERLAP), WINDOW - OVERLAP):
        tokens |= {start + at: token for at, token in _locate_tokens(data[start : start + WINDOW])}
    return tuple(FoundSecret(kind, data.count(b"\n", 0, at) + 1, value) for at, (kind, value) in sorted(tokens.items()))


def _locate_tokens(data: bytes) -> Iterator[tuple[int, tuple[str, bytes]]]:
    """Yield position, kind and value of each token."""
    lowered, words = data.lower(), select_long_words(data)
    for shape in SHAPES:
        if has_one(words if shape.alone else lowered, shape.hints):
            for match in shape.pattern.finditer(data):
                if not is_stand_in(match["value"]):
                    yield match.start("value"), (shape.kind, match["value"])


def has_one(data: bytes, hints: Iterable[bytes]) -> bool:
    """Return whether one of the hints is in `data`. It is asked some hundred times per iteration."""
    for hint in hints:  # noqa: SIM110 - a generator is entered once per hint
        if hint in data:
            return True
    return False


def select_long_words(data: bytes) -> bytes:
    """Return the words that are long enough for a token, each once: a sixth of usual source code."""
    return b" ".join({word for word in data.translate(_WORDS).split() if len(word) >= SHORTEST_TOKEN})


def is_stand_in(value: bytes) -> bool:
    """Return whether a value is a placeholder: it says so, is a known sample, or repeats one or two characters."""
    random = _PREFIX.sub(b"", value) or value
    return bool(_STAND_IN.search(value)) or value in _SAMPLES or len(set(random.lower())) <= 2


_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~")
"""What RFC 3986 leaves as it is."""


def spell(value: bytes) -> Iterator[bytes]:
    """Yield `value` as it is written in text, base64, addresses, XML and shell quotes."""
    xml = value.replace(b"&", b"&amp;").replace(b"<", b"&lt;").replace(b">", b"&gt;")
    yield from (value, *spell_in_base64(value), xml, xml.replace(b'"', b"&quot;"), value.replace(b"'", b"'\\''"))
    for escape in ("%%%02X", "%%%02x"):
        yield b"".join(bytes((byte,)) if byte in _UNRESERVED else (escape % byte).encode() for byte in value)


def spell_in_base64(value: bytes) -> Iterator[bytes]:
    """Yield what the base64 of any text around `value` contains, for each position within a group of three bytes.

    The characters at both ends that depend on the neighbouring bytes are left out.
    """
    for before in range(3):
        text = b2a_base64(bytes(before) + value, newline=False)
        whole = text[-(-before * 8 // 6) : (before + len(value)) * 8 // 6]
        yield whole
        yield whole.translate(_URL_SAFE)
