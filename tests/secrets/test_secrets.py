"""What looks like a credential: variables, values, token shapes."""

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aigon.secrets.redaction import (
    collect_findable_values,
    drop_credentials,
    find_unfinished_key,
    is_credential,
    make_redactor,
)


@pytest.mark.parametrize(
    "name",
    [
        "ANTHROPIC_API_KEY", "API_KEY", "MY_APIKEY", "GITHUB_TOKEN", "GH_HOST", "AWS_PROFILE", "DB_PASSWORD",
        "PGPASSWORD", "MYSQL_PWD", "DB_PASS", "client_secret", "GOOGLE_APPLICATION_CREDENTIALS", "npm_config__auth",
        "GPG_PASSPHRASE",
    ],
)  # fmt: skip
def test_a_name_that_looks_like_a_credential_is_one(name: str) -> None:
    assert is_credential(name)


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "HOME",
        "PWD",
        "OLDPWD",
        "SSH_AUTH_SOCK",
        "KEYBOARD",
        "MONKEY",
        "AUTHOR",
        "COMPASS_HOME",
        "TOKENIZERS",
        "CI",
    ],
)
def test_an_ordinary_name_is_not_taken_for_one(name: str) -> None:
    assert not is_credential(name)


def test_checks_see_the_environment_without_credentials_but_allowed_ones() -> None:
    env = {"PATH": "/bin", "DB_PASSWORD": "x", "GITHUB_TOKEN": "y", "LANG": "C"}
    assert drop_credentials(env, ["DB_PASSWORD"]) == {"PATH": "/bin", "DB_PASSWORD": "x", "LANG": "C"}


@pytest.mark.parametrize(
    "token",
    [
        "sk-ant-" + "a1B2-" * 6, "sk-" + "abcdef" * 4, "ghp_" + "a1B2" * 9, "github_pat_" + "a1" * 20,
        "xoxb-1234567890-abc", "AKIA" + "ABCDEFGH12345678", "AIza" + "a" * 35,
    ],
)  # fmt: skip
@pytest.mark.parametrize("around", ["{}", "key={}\n", '"{}"', "https://x:{}@host/", "a {} b"])
def test_token_shapes_are_taken_out(token: str, around: str) -> None:
    assert make_redactor({})(around.format(token).encode()) == around.format("[redacted]").encode()


@pytest.mark.parametrize(
    "text", ["tests/disk-usage-and-other-words.py", "risk-assessment-of-everything", "sk-short", "AKIA"]
)
def test_ordinary_words_are_left_alone(text: str) -> None:
    assert make_redactor({})(text.encode()) == text.encode()


def test_known_values_are_taken_out_longest_first() -> None:
    redact = make_redactor({"A_TOKEN": "12345678", "B_TOKEN": "123456789abc", "C_TOKEN": "short", "PLAIN": "untouched"})
    assert redact(b"12345678 123456789abc short untouched") == b"[redacted] [redacted] short untouched"


def test_values_of_several_environments_are_known() -> None:
    assert (
        make_redactor({"A_KEY": "aaaaaaaaaa"}, {"A_KEY": "bbbbbbbbbb"})(b"aaaaaaaaaa bbbbbbbbbb")
        == b"[redacted] [redacted]"
    )


def test_a_value_is_known_in_json_and_line_by_line_and_in_any_bytes() -> None:
    value = 'say "hello" to\nthe second line of it\nend'
    redact = make_redactor({"A_SECRET": value, "B_SECRET": "\udcff\udcfe and more"})
    assert redact(json.dumps({"x": value}).encode()) == b'{"x": "[redacted]"}'
    assert redact(b"the second line of it") == b"[redacted]"
    assert redact(b"\xff\xfe and more") == b"[redacted]"


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
def test_a_private_key_is_taken_out_with_its_headers(kind: str) -> None:
    body = f"-----BEGIN {kind}PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0F\n\nMIIE+/=\nAA==\n"
    end = f"-----END {kind}PRIVATE KEY-----\n"
    assert make_redactor({})(f"a\n{body}{end}b\n".encode()) == f"a\n[redacted]{end}b\n".encode()
    assert find_unfinished_key(f"a\n{body}".encode()) == 2
    whole = f"a\n{body}{end}".encode()
    assert find_unfinished_key(whole) == len(whole)


def test_a_certificate_is_no_secret() -> None:
    text = b"-----BEGIN CERTIFICATE-----\nMIIE\n"
    assert make_redactor({})(text) == text
    assert find_unfinished_key(text) == len(text)


VALUE = "hunter2-correct-horse/battery?staple~~~>>>"
TOKENS = ("sk-ant-api03-" + "aB3dEfG7hI" * 5, "ghp_" + "q7Zt2LmX9vKc4RbW8sNd3HfY6pGj1TaE5uQo", "AKIA" + "FAKE" * 4,
          "glpat-" + "q7Zt2LmX9vKc4RbW8sNd", "npm_" + "q7Zt2LmX9vKc4RbW8sNd3HfY6pGj1TaE5uQo")  # fmt: skip
ENCODERS = (base64.b64encode, base64.urlsafe_b64encode)


@given(st.binary(max_size=40), st.binary(max_size=40), st.sampled_from(ENCODERS))
def test_base64_with_a_known_value_in_it_holds_it_no_longer(before: bytes, after: bytes, encode: object) -> None:
    assert callable(encode)
    text = encode(before + VALUE.encode() + after)
    redacted = make_redactor({"MY_TOKEN": VALUE})(b"auth: " + text + b"\n")
    assert b"[redacted]" in redacted and not [part for part in _parts(VALUE.encode()) if part in redacted]


@given(st.sampled_from(TOKENS), st.binary(max_size=40), st.sampled_from(["", "\n", ' "}', " and more"]))
def test_base64_with_a_token_in_it_holds_it_no_longer(token: str, before: bytes, after: str) -> None:
    text = base64.b64encode(before + b" " + token.encode() + after.encode())
    redacted = make_redactor({})(b"value=" + text + b"\n")
    assert b"[redacted]" in redacted and not [part for part in _parts(token.encode()) if part in redacted]


def _parts(secret: bytes) -> list[bytes]:
    """What the base64 of a text has of a secret that stands in it, by where it begins: at least half of it."""
    texts = [base64.b64encode(bytes(before) + secret)[4:-4] for before in range(3)]
    return [half for text in texts for half in (text[: len(text) // 2], text[len(text) // 2 :])]


def test_a_value_is_known_in_an_address_and_in_xml() -> None:
    redact = make_redactor({"MY_TOKEN": 'a<b>&"c"/d e'})
    for spelled in (quote('a<b>&"c"/d e', safe=""), "a&lt;b&gt;&amp;&quot;c&quot;/d e", 'a&lt;b&gt;&amp;"c"/d e'):
        assert redact(f"({spelled})".encode()) == b"([redacted])"


def test_what_may_not_be_committed_is_not_written_either() -> None:
    from aigon.secrets.shapes import find_tokens

    lines = (
        "AccountKey=" + "q7Zt2LmX9vKc4RbW8sNd3HfY6pGj1TaE5uQo" * 2 + "abcdefghijklmn==",
        "aws_secret_access_key = wJalrXUtnFEMIK7MDENGbPxRfiCYFAKEFAKEKEYX",
        "12345678:AA" + TOKENS[1][4:37],
    )
    for line in (*lines, *TOKENS):
        [found] = find_tokens(line.encode())
        assert found.value not in make_redactor({})(f"x {line} y\n".encode())


def test_ordinary_base64_and_hashes_are_left_alone() -> None:
    text = base64.b64encode(b"nothing to see here, only words and words and words") + b" " + b"0123456789abcdef" * 4
    assert make_redactor({"A_TOKEN": "something else"})(text) == text


def test_only_values_that_are_nothing_else_are_looked_for_in_files() -> None:
    env = {
        "A_KEY": "Q7zt2lmx9vkc4rbw8snd",
        "B_PASSWORD": "postgres",
        "C_TOKEN": "/home/ada/token-file-1",
        "PATH": "/bin",
        "D_SECRET": "example-0123456789abc",
        "E_AUTH": "averylongwordwithoutdigits",
    }
    found = collect_findable_values(env)
    assert b"Q7zt2lmx9vkc4rbw8snd" in found and {*found.values()} == {"$A_KEY"}
