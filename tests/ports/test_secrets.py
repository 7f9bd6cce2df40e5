"""What looks like a credential: variables, values, token shapes."""

import json

import pytest

from aigon.ports.secrets import for_checks, is_credential, redactor, unfinished


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


def test_checks_see_the_persons_environment_without_credentials_but_for_the_ones_allowed() -> None:
    env = {"PATH": "/bin", "DB_PASSWORD": "x", "GITHUB_TOKEN": "y", "LANG": "C"}
    assert for_checks(env, ["DB_PASSWORD"]) == {"PATH": "/bin", "DB_PASSWORD": "x", "LANG": "C"}


@pytest.mark.parametrize(
    "token",
    [
        "sk-ant-" + "a1B2-" * 6, "sk-" + "abcdef" * 4, "ghp_" + "a1B2" * 9, "github_pat_" + "a1" * 20,
        "xoxb-1234567890-abc", "AKIA" + "ABCDEFGH12345678", "AIza" + "a" * 35,
    ],
)  # fmt: skip
@pytest.mark.parametrize("around", ["{}", "key={}\n", '"{}"', "https://x:{}@host/", "a {} b"])
def test_token_shapes_are_taken_out(token: str, around: str) -> None:
    assert redactor({})(around.format(token).encode()) == around.format("[redacted]").encode()


@pytest.mark.parametrize(
    "text", ["tests/disk-usage-and-other-words.py", "risk-assessment-of-everything", "sk-short", "AKIA"]
)
def test_ordinary_words_are_left_alone(text: str) -> None:
    assert redactor({})(text.encode()) == text.encode()


def test_known_values_are_taken_out_longest_first() -> None:
    redact = redactor({"A_TOKEN": "12345678", "B_TOKEN": "123456789abc", "C_TOKEN": "short", "PLAIN": "untouched"})
    assert redact(b"12345678 123456789abc short untouched") == b"[redacted] [redacted] short untouched"


def test_values_of_several_environments_are_known() -> None:
    assert (
        redactor({"A_KEY": "aaaaaaaaaa"}, {"A_KEY": "bbbbbbbbbb"})(b"aaaaaaaaaa bbbbbbbbbb") == b"[redacted] [redacted]"
    )


def test_a_value_is_known_in_json_and_line_by_line_and_in_any_bytes() -> None:
    value = 'say "hello" to\nthe second line of it\nend'
    redact = redactor({"A_SECRET": value, "B_SECRET": "\udcff\udcfe and more"})
    assert redact(json.dumps({"x": value}).encode()) == b'{"x": "[redacted]"}'
    assert redact(b"the second line of it") == b"[redacted]"
    assert redact(b"\xff\xfe and more") == b"[redacted]"


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
def test_a_private_key_is_taken_out_with_its_headers(kind: str) -> None:
    body = f"-----BEGIN {kind}PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0F\n\nMIIE+/=\nAA==\n"
    end = f"-----END {kind}PRIVATE KEY-----\n"
    assert redactor({})(f"a\n{body}{end}b\n".encode()) == f"a\n[redacted]{end}b\n".encode()
    assert unfinished(f"a\n{body}".encode()) == 2
    whole = f"a\n{body}{end}".encode()
    assert unfinished(whole) == len(whole)


def test_a_certificate_is_no_secret() -> None:
    text = b"-----BEGIN CERTIFICATE-----\nMIIE\n"
    assert redactor({})(text) == text
    assert unfinished(text) == len(text)
