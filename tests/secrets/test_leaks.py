"""Which names and which contents are secrets, and which only look like some."""

import json
import re
import time

import pytest

from aigon.secrets.leaks import find_leak, is_secret_name, list_exclude_lines
from aigon.secrets.shapes import find_tokens

# Put together here, so that this file holds none of them.
FAKE = "FAKE" * 20
RANDOM = "q7Zt2LmX9vKc4RbW8sNd3HfY6pGj1TaE5uQo0iVyBzDxCwMk" * 2
KEY = "-----BEGIN {}PRIVATE KEY-----"


@pytest.mark.parametrize(
    "path",
    [
        ".env", "api/.env", ".env.production", ".env.local", ".env.test.local", ".env-prod", ".env_staging", ".ENV",
        ".netrc", "_netrc", ".pgpass", ".htpasswd", ".git-credentials", "config/master.key", "a.p12", "a.PFX", "a.jks",
        "release.keystore", "x.kdbx", "id_rsa", "keys/id_ed25519", "id_ecdsa.bak", "id_dsa_old", "id_ed25519_sk",
        ".ssh/id_rsa.pem",
    ],
)  # fmt: skip
def test_files_of_these_names_hold_secrets(path: str) -> None:
    assert is_secret_name(path)
    found = find_leak(path, b"")
    assert found and found.path == path and found.sentence.startswith(f"{path} was kept out of the commit: ")


@pytest.mark.parametrize(
    "path",
    [
        ".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults", ".env.local.example", ".env.test",
        ".env.ci", ".env-example", ".env.schema", ".env.vault", "env", "src/env.py", ".envrc", ".environment", "dotenv",
        "id_rsa.pub", "id_ed25519-cert.pub", "id_rsa.py", "id_rsa_test.go", "id_card.png", "android/app/debug.keystore",
        ".env/bin/activate", "keystore.py", ".netrc.md", "test_netrc.py", ".npmrc", "slides.key", "cert.pem",
    ],
)  # fmt: skip
def test_files_of_these_names_need_not(path: str) -> None:
    assert not is_secret_name(path)


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        ("sk-ant-api03-" + FAKE + "AA", "an Anthropic key"),
        ("sk-proj-" + RANDOM, "an OpenAI key"),
        ("sk-" + RANDOM[:48], "an API key"),
        ("ghp_" + RANDOM[:36], "a GitHub token"),
        ("github_pat_" + RANDOM[:22] + "_" + RANDOM[:59], "a GitHub token"),
        ("glpat-" + RANDOM[:20], "a GitLab token"),
        ("xoxb-" + "123456789012-" + RANDOM[:24], "a Slack token"),
        ("AKIA" + "FAKEFAKEFAKEFAKE", "an AWS access key"),
        ("AIza" + RANDOM[:35], "a Google API key"),
        ("sk_live_" + RANDOM[:24], "a Stripe key"),
        ("rk_live_" + RANDOM[:24], "a Stripe key"),
        ("npm_" + RANDOM[:36], "an npm token"),
        ("pypi-AgEIcHlwaS5vcmc" + RANDOM, "a PyPI token"),
        ("hf_" + RANDOM[:34], "a Hugging Face token"),
        ("AccountKey=" + RANDOM[:86] + "==", "an Azure storage key"),
        ("SG." + RANDOM[:22] + "." + RANDOM[:43], "a SendGrid key"),
        ("12345678:AA" + RANDOM[:33], "a Telegram bot token"),
        ("AWS_SECRET_ACCESS_KEY=" + "wJalrXUtnFEMIK7MDENGbPxRfiCYFAKEFAKEKEYX", "an AWS secret key"),
        ("AGE-SECRET-KEY-1" + "Q" * 29 + "PZRY9X8GF2TVDW0S3JN54KHCE6MUA", "an age key"),
    ],
)
@pytest.mark.parametrize("around", ["{}", 'key = "{}"\n', "{{'a': '{}'}}", "https://x:{}@host/", "a {} b"])
def test_tokens_are_found_by_their_shape(token: str, kind: str, around: str) -> None:
    text = "one\ntwo\n" + around.format(token)
    assert [(found.kind, found.line) for found in find_tokens(text.encode())] == [(kind, 3)]
    assert token not in repr(find_tokens(text.encode()))


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "PGP "])
@pytest.mark.parametrize(
    "body",
    [
        "\nMIIEFAKEFAKEFAKEFAKE\n",
        "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0F\n\nMIIEFAKEFAKEFAKEFAKE",
        "\\nMIIEFAKEFAKEFAKEFAKE\\n",
        '\\n"\n    "MIIEFAKEFAKEFAKEFAKE\\n"',
        "\r\nMIIEFAKEFAKEFAKEFAKE",
    ],
)
def test_private_keys_are_found_in_files_in_json_and_in_source(kind: str, body: str) -> None:
    block = " BLOCK" if kind == "PGP " else ""
    text = "# x\n" + KEY.format(kind).replace("KEY-", f"KEY{block}-") + body
    assert [found.kind for found in find_tokens(text.encode())] == ["a private key"]


@pytest.mark.parametrize(
    "text",
    [
        "AKIA" + "IOSFODNN7EXAMPLE", "aws_secret_access_key = " + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "sk-ant-" + "your-api-key-goes-here-please", "sk-ant-api03-" + "x" * 40, "ghp_" + "x" * 36, "ghp_" + "0" * 36,
        "sk-ant-${KEY}", "sk-<your-key>", "sk_test_" + RANDOM[:24], "AIza" + "X" * 35,
        "xoxb-your-token-here-please", "tests/disk-usage-and-other-words.py", "risk-assessment-of-everything",
        ".sk-folding-cube-animation-delay-for-everything", "task-0123456789abcdef0123456789abcdef01234567",
        KEY.format("") + "\n...\n", f'if text.startswith("{KEY.format("RSA ")}"):\n    return parse(text)',
        KEY.format("") + "\n<your key here>\n", "-----BEGIN CERTIFICATE-----\n" + RANDOM,
        "-----BEGIN PUBLIC KEY-----\n" + RANDOM,
        "AccountKey=" + "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
        "sha512-" + RANDOM[:86] + "==", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0." + RANDOM[:43],
        "npm_config_cache_folder_of_this_machine_x",
        "a" * 5000, "hf_hub_download_and_everything_else_there", "glass-houses-and-other-long-words-here",
    ],
)  # fmt: skip
def test_stand_ins_and_ordinary_text_are_no_tokens(text: str) -> None:
    assert find_tokens(text.encode()) == ()


SECRET = RANDOM[:30]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (".npmrc", f"//registry.example.com/:_authToken={SECRET}\n"),
        ("web/.npmrc", f"_auth = {SECRET}"),
        (".yarnrc.yml", f'npmAuthToken: "{SECRET}"'),
        (".pypirc", f"[pypi]\nusername = u\npassword = {SECRET}\n"),
        ("home/.aws/credentials", f"[default]\naws_secret_access_key = {SECRET}\n"),
        (".docker/config.json", json.dumps({"auths": {"x": {"auth": SECRET}}})),
        ("credentials.json", json.dumps({"installed": {"client_secret": SECRET}})),
        ("my-service-account-1.json", json.dumps({"private_key": KEY.format("") + "\nMIIEFAKEFAKEFAKEFAKE"})),
        ("k/.kube/config", f"users:\n- user:\n    client-key-data: {SECRET}\n"),
        ("server.pem", "FAKE"), ("deploy.pem", KEY.format("RSA ")), ("signing.key", f"{SECRET}\n"),
    ],
)  # fmt: skip
def test_some_files_hold_secrets_by_what_stands_in_them(path: str, text: str) -> None:
    assert find_leak(path, text.encode())


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (".npmrc", "save-exact=true\n//registry.npmjs.org/:_authToken=${NPM_TOKEN}\n"),
        (".yarnrc.yml", 'npmAuthToken: "${NPM_TOKEN}"\nnodeLinker: node-modules\n'),
        (".pypirc", "[distutils]\nindex-servers = pypi\n"),
        ("credentials.json", '{"client_secret": "<your secret here>"}'),
        ("cert.pem", "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----\n"),
        ("empty.pem", ""), ("talk.key", "PK\x03\x04..."), ("de.key", "hello = Hallo Welt\nbye = Tschüss\n"),
        ("docs/npmrc.md", "//registry/:_authToken=abcdefghijkl"),
    ],
)  # fmt: skip
def test_the_same_files_without_a_secret_are_fine(path: str, text: str) -> None:
    assert find_leak(path, text.encode()) is None


def test_what_the_base_has_already_is_a_persons_decision() -> None:
    token = ("ghp_" + RANDOM[:36]).encode()
    assert find_leak(".env", b"A=1", tracked=True) is None
    assert find_leak("server.pem", b"FAKE", tracked=True) is None
    assert find_leak("tests/test_redact.py", token, known=lambda value: value == token) is None
    found = find_leak(".env", b"A=1\nB=" + token, tracked=True)
    assert found and (found.line, found.why) == (2, "it holds a GitHub token")
    assert found.sentence == ".env:2 was kept out of the commit: it holds a GitHub token"


def test_large_files_are_quickly_looked_through() -> None:
    text = b"".join(
        b"const a%d = require('task-sk-thing'); // glass, token, key: AKIA ghp_ sk-ant- \n" % n for n in range(25_000)
    )
    begun = time.process_time()
    assert find_tokens(text) == ()
    assert find_tokens(b"-----BEGIN PRIVATE KEY-----" + b"\n" * 1_000_000) == ()
    assert find_tokens(b"A: " * 300_000 + b"sk-" * 300_000) == ()
    assert time.process_time() - begun < 5


def test_exclude_lines_say_what_the_names_say() -> None:
    lines = list_exclude_lines(["config/.env.production"])
    assert ".env" in lines and "!/config/.env.production" in lines
    assert all(re.fullmatch(r"\S+", line) for line in lines)
