"""The shapes of credentials that providers document.

Sources are the providers' own pages on their token formats and on secret scanning. A JSON Web Token is not among them:
most of those in a repository are samples, and those that are not expire.
"""

import re
from dataclasses import dataclass


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
