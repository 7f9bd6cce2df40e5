"""Output is kept head and tail, and no secret survives, however the pipe cut it."""

import base64
import io
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aigon.process.capture import LINE, Capture, open_log
from aigon.secrets.redaction import make_redactor

SECRET = "a secret value: 0123456789"
KEY = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n" + "MIIEowIBAAKCAQEA0123\n" * 20
REDACT = make_redactor({"MY_TOKEN": SECRET, "MY_PEM_KEY": "first line of it!\nsecond line of it!\n"})
CODED = base64.b64encode(b"k: " + SECRET.encode())
CODED_TOKEN = base64.b64encode(b"k: ghp_" + b"q7Zt2LmX9vKc4RbW8sNd3HfY6pGj1TaE5uQo")
PIECES = (
    SECRET.encode(),
    CODED,
    CODED_TOKEN,
    b"second line of it!",
    b"sk-ant-" + b"abcdefghij" * 3,
    b"ghp_" + b"a1" * 18,
    KEY.encode() + b"-----END RSA PRIVATE KEY-----\n",
    b"\n",
    b"\r\n",
    b"plain words ",
    b"\xff\x00",
    b"-----",
    b"x" * 300,
)
HIDDEN = (SECRET.encode(), CODED[8:24], CODED_TOKEN[16:40], b"second line", b"abcdefghij", b"a1a1a1", b"MIIEow")


def fed(output: bytes, borders: list[int], half: int = 1 << 20) -> tuple[bytes, bytes]:
    """What is kept of `output`, cut at `borders`, and what is in its log."""
    log = io.BytesIO()
    capture = Capture(REDACT, log, half)
    for start, end in pairwise([0, *sorted(borders), len(output)]):
        capture.feed(output[start:end])
    return capture.close(), log.getvalue()


@given(st.lists(st.sampled_from(PIECES), max_size=12), st.lists(st.integers(0, 3000), max_size=20))
def test_wherever_a_pipe_cuts_the_same_is_redacted(pieces: list[bytes], borders: list[int]) -> None:
    output = b" ".join(pieces)
    kept, log = fed(output, [min(border, len(output)) for border in borders])
    assert kept == log
    assert not [secret for secret in HIDDEN if secret in kept]
    if not any(piece.startswith(b"---") for piece in pieces):
        assert kept == REDACT(output)


@settings(max_examples=15)
@given(st.integers(0, 2 * LINE), st.integers(1000, LINE))
def test_a_secret_inside_a_very_long_line_is_redacted_wherever_it_stands(before: int, step: int) -> None:
    output = b"x" * before + b" " + SECRET.encode() + b" sk-" + b"y" * 200 + b" " + b"z" * LINE
    kept, _ = fed(output, list(range(0, len(output), step)))
    assert kept == b"x" * before + b" [redacted] [redacted] " + b"z" * LINE


@settings(max_examples=8)
@given(st.integers(0, 2 * LINE), st.integers(1000, LINE))
def test_base64_of_a_token_inside_a_very_long_line_is_redacted_wherever_it_stands(before: int, step: int) -> None:
    output = b"x" * before + b" " + CODED_TOKEN + b" " + CODED + b" " + b"z" * LINE
    kept, _ = fed(output, list(range(0, len(output), step)))
    assert CODED_TOKEN[16:40] not in kept and CODED[8:24] not in kept


@given(st.integers(1, 400), st.integers(0, 200))
def test_a_secret_at_the_edge_of_what_is_left_out_is_redacted(half: int, shift: int) -> None:
    output = b"." * shift + (SECRET.encode() + b"\n") * 60
    kept, log = fed(output, list(range(0, len(output), 17)), half)
    assert kept == log
    assert SECRET.encode()[:12] not in kept
    assert SECRET.encode()[-12:] not in kept


def test_small_output_is_kept_whole() -> None:
    assert fed(b"one\ntwo", [1, 2]) == (b"one\ntwo", b"one\ntwo")
    assert fed(b"", []) == (b"", b"")


def test_of_large_output_head_and_tail_are_kept_and_the_gap_is_named() -> None:
    lines = [b"%06d\n" % number for number in range(10_000)]
    kept, log = fed(b"".join(lines), list(range(0, 70_000, 700)), half=1400)
    assert kept == log
    head, _, tail = kept.partition(b"\n[... ")
    assert head == b"".join(lines[:200])
    number, _, rest = tail.partition(b" bytes left out ...]\n")
    assert rest.endswith(b"".join(lines[-200:]))
    assert len(head) + int(number) + len(rest) == 70_000


class Full(io.RawIOBase):
    """A log on a disk that is full."""

    def write(self, _data: object) -> int:
        raise OSError(28, "No space left on device")


def test_a_log_that_cannot_be_written_is_given_up() -> None:
    capture = Capture(REDACT, Full())  # type: ignore[arg-type]
    capture.feed(b"one\n")
    capture.feed(b"two\n")
    assert capture.close() == b"one\ntwo\n"


def test_a_line_is_in_the_log_as_soon_as_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a" / "log"
    with open_log(path) as log:
        capture = Capture(REDACT, log)
        capture.feed(b"whole\nnot yet")
        assert path.read_bytes() == b"whole\n"
        capture.close()
    assert path.read_bytes() == b"whole\nnot yet"


def test_a_log_that_cannot_be_made_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with open_log(tmp_path / "file" / "log") as log:
        assert log.write(b"x") == 1


@pytest.mark.parametrize("size", [LINE - 1, 3 * LINE])
def test_a_private_key_that_never_ends_does_not_hold_the_output_back_for_ever(size: int) -> None:
    capture = Capture(REDACT)
    capture.feed(b"-----BEGIN PRIVATE KEY-----\n" + b"MIIEow==\n" * (size // 9))
    capture.feed(b"!!! after it\n")
    assert capture.close() == b"[redacted]!!! after it\n"


def test_whoever_listens_hears_a_bounded_part_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aigon.process.capture.HEARD", 20_000)
    heard, line = bytearray(), b"x" * 999 + b"\n"
    capture = Capture(REDACT, half=1000, hear=heard.extend)
    capture.feed(line * 3 + b"half")
    assert bytes(heard) == line * 3 + b"half"
    for _ in range(40):
        capture.feed(line)
    assert 20_000 <= len(heard) < 21_000
    assert b"bytes left out" in capture.close()
