"""A record as a stranger may have pushed it: what is cut, altered or of somebody else is refused by name."""

import hashlib
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from aigon.errors import AigonError
from aigon.journal.records import Origin
from aigon.model.agents import Candidate
from aigon.records.portable import MANIFEST, Manifest, PortableRecord, read_record

Files = dict[str, bytes]
LOG = "logs/001/agent.log"
CANDIDATE = Candidate("42", "dark-mode", "cc", "claude", "worktree", 0, "feature-42-cc-dark-mode", "")
WHOLE = Manifest(
    "0.1.0", "42", "dark-mode", "cc", CANDIDATE.branch, "1" * 40, "", Origin("main", "1" * 40), CANDIDATE,
    {LOG: hashlib.sha256(b"hello").hexdigest()},
)  # fmt: skip


def encode(manifest: Manifest = WHOLE, **files: bytes) -> Files:
    return PortableRecord(manifest, {LOG: b"hello", **files}).encode()


def test_a_whole_record_is_read_as_it_was_written() -> None:
    assert read_record("42--cc", encode(), "here").manifest == WHOLE


CHANGES: dict[str, tuple[Callable[[], Files], str]] = {
    "altered": (lambda: {**encode(), LOG: b"hullo"}, f"{LOG} was altered"),
    "cut": (lambda: {MANIFEST: encode()[MANIFEST]}, f"{LOG} is missing"),
    "added": (lambda: {**encode(), "journal.jsonl": b""}, "journal.jsonl was altered"),
    "path": (lambda: {**encode(), "logs/../../x": b""}, "no file of a record is called"),
    "sum": (lambda: {**encode(), MANIFEST: encode()[MANIFEST].replace(b"claude", b"codex!")}, "its sum is wrong"),
    "other": (lambda: encode(replace(WHOLE, feature="43")), "it is of 43--cc"),
    "folder": (lambda: encode(replace(WHOLE, run="../../x")), "its name is not valid"),
    "branch": (lambda: encode(replace(WHOLE, branch="main")), "its worktree is another feature's"),
    "no journal": (lambda: encode(replace(WHOLE, run="20261123-1")), "its journal or its frozen job is missing"),
    "nothing": (dict, "it has no manifest.json"),
    "no JSON": (lambda: {MANIFEST: b"{"}, "Expecting property name"),
    "a list": (lambda: {MANIFEST: b"[]"}, "it is no JSON object"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_not_whole_is_refused_by_name(change: str) -> None:
    make, said = CHANGES[change]
    with pytest.raises(AigonError, match="The record 42--cc is refused") as error:
        read_record("42--cc", make(), "there")
    assert said in error.value.what
