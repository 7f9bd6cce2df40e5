"""Readers of what aigon itself wrote, which an agent, a full disk or a person may have got at."""

import atexit
import json
import shutil
import tempfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from aigon.compare import stand
from aigon.compare.file import recall_proposal
from aigon.done import checkouts
from aigon.files.checksums import JournalFile, read_documents, read_journal_end
from aigon.files.home import find_home
from aigon.git.repository import RepositoryFolders
from aigon.job.ledger import Account, Ledger, reset_accounts
from aigon.job.results import BaselineResults, load_durations
from aigon.journal.decisions import HumanDecision
from aigon.journal.events import Event
from aigon.journal.records import Records
from aigon.journal.replay import decode, dumps, read_events
from aigon.journal.state import replay
from aigon.journal.state_document import read_state_files
from aigon.journal.state_file import StateFileSink
from aigon.model.agents import Candidate
from aigon.model.checks import Check
from aigon.proof import frozen
from aigon.spec.features import parse_feature_path
from aigon.views import board_text, status
from tests.fuzz.of_documents import JSON
from tests.fuzz.target import Target

KEYS = (*JSON, b'"event":"', b'"at":', b'"schema_version":1', b'"outcome":', b"\n", b"00000000 {}\n")


@cache
def place() -> Path:
    """A folder for the records of one process."""
    folder = Path(tempfile.mkdtemp(prefix="aigon-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def put(name: str, data: bytes) -> Path:
    """A file with these bytes."""
    file = place() / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


@cache
def story() -> tuple[Event, ...]:
    """The events of a realistic run."""
    from tests.views.story import story as told

    return tuple(told())


def lines(documents: Sequence[str]) -> bytes:
    """A journal of these documents."""
    return b"".join(b"%08x %s\n" % (zlib.crc32(each.encode()), each.encode()) for each in documents)


@cache
def journals() -> Sequence[bytes]:
    whole = [dumps(event) for event in story()]
    return (lines(whole), lines(whole[:3]), lines(whole[::-1]), lines(whole[2:3] * 5 + whole[-1:]))


def journal(data: bytes) -> None:
    """A journal is read, folded, opened for more, and shown, or refused."""
    found = read_events(put("journal.jsonl", data))
    state = replay(found)
    sink = StateFileSink(place() / ".aigon" / "loop-state-42.json", found)
    if state.started and found:
        sink.write(found[-1], state)


def torn(data: bytes) -> None:
    """What a crash left is cut off, and what is appended is read again."""
    file = put("torn.jsonl", data)
    opened = JournalFile(file)
    opened.append("{}", durable=False)
    opened.close()
    assert read_documents(file)[-1] == {}


def ends(data: bytes) -> None:
    """The ends of journals, for which any damage is passed over."""
    read_journal_end(put("features/a/journal.jsonl", data), 1000, b'"event"')
    load_durations(place())


def event(data: bytes) -> None:
    """One event of a journal, as far as it is JSON."""
    with suppress(RecursionError):
        document = json.loads(data)
        _folded(document)


def _folded(document: Any) -> None:
    found = decode(document)
    assert dumps(decode(json.loads(dumps(found)))) == dumps(found)
    replay([found, found])


def decisions(data: bytes) -> None:
    """People's decisions."""
    put("feature/decisions.jsonl", data)
    Records(place() / "feature").decisions()


def small_records(data: bytes) -> None:
    """The small files beside a journal: damaged, they are taken for absent or refused."""
    records = Records(place() / "feature")
    put("feature/candidate.json", data)
    put("merging.json", data)
    put("evaluations/42.json", data)
    put("looks/key.json", data)
    if found := records.candidate():
        assert isinstance(found, Candidate)
    checkouts.read_note(place())
    recall_proposal(place(), "42", {})
    looks = BaselineResults(place() / "looks", "mine")
    looks.failure("key", place(), place() / "log")
    looks.first("key", {"a": "b"})
    stand.load_runs(place() / "looks" / "key.json")


def origin(data: bytes) -> None:
    """Where the feature began."""
    put("feature/feature.json", data)
    Records(place() / "feature").origin()


def home(data: bytes) -> None:
    """Which folder belongs to a repository."""
    put("git/aigon/id", data)
    put("repos/x/repository.json", data)
    find_home(place() / "git")


def frozen_job(data: bytes) -> None:
    """What decides a feature; what cannot be read is looked at anew."""
    found = frozen.load(put("feature/frozen.json", data))
    if found:
        frozen.lasting(found, (), found.root, found.inputs, found.base)
        found.version("a")


def ledger(data: bytes) -> None:
    """An arena's money."""
    file = put("ledger.json", data)
    Ledger(file, "mine", 5.0).settle(Account(1.0), turn=True)
    reset_accounts(put("ledger.json", data), ("mine",))


def state_file(data: bytes) -> None:
    """A state file on the board, and as feature-status reads it."""
    put("repo/.aigon/loop-state-42.json", data)
    _board()
    feature = parse_feature_path("docs/specs/features/03-in-progress/feature-42-a.md")
    assert feature
    row = status.read_feature_status(place() / "repo", feature, "A title", place())
    json.dumps(status.build_status_document([row]))
    status.render_status([row], detailed=True)


def _board() -> None:
    """The whole board: whatever a state says, it can be drawn."""
    from unittest.mock import patch

    from aigon.views import board_cards
    from aigon.views.board_cards import build_board_document

    root = place() / "repo"
    spec = root / "docs/specs/features/03-in-progress/feature-42-a.md"
    spec.parent.mkdir(parents=True, exist_ok=True)
    spec.write_bytes(b"# A\n\n## Acceptance Criteria\n\n- [ ] a\n")
    here = RepositoryFolders(root, root / ".git", ())
    read_state_files(here)
    with (
        patch.object(board_cards, "find_repository", lambda _start: here),
        patch.object(board_cards, "find_home", lambda _dir: None),
    ):
        columns = board_cards.gather_board(root, everything=True)
    json.dumps(build_board_document(columns))
    board_text.print_board(columns, StringIO(), 100)


@cache
def state_files() -> Sequence[bytes]:
    written: list[bytes] = []
    for count in (4, len(story())):
        sink = StateFileSink(place() / "sample.json")
        past = story()[:count]
        for each in past:
            sink.remember(each)
        sink.write(past[-1], replay(list(past)))
        written.append((place() / "sample.json").read_bytes())
    return tuple(written)


def _json(*values: Any) -> Callable[[], Sequence[bytes]]:
    return lambda: tuple(json.dumps(value).encode() for value in values)


@cache
def _frozen() -> Sequence[bytes]:
    check = Check("tests", "tests", ("pytest",), "pytest")
    guarded = {"a": frozen.Guarded(b"x", 0o644)}
    found = frozen.Frozen(
        "b" * 40, "/r", "i", (check,), {"a": "c"}, {"tests": frozen.Tested({"t": "passed"}, True)}, guarded
    )
    frozen.save(place() / "frozen.json", found)
    return ((place() / "frozen.json").read_bytes(),)


_CANDIDATE = to_builtins(Candidate("42", "a", "cc", "claude", "arena", 1, "feature-42-cc-a", "/w"))
_DECISION = to_builtins(HumanDecision(1, "a", "approve", "", "c", "d" * 40, "Ada", "2026-11-20T10:00:00+00:00"))
_LEDGER = {"schema_version": 1, "accounts": {"other": {"spent": 1.0, "reserved": 0.5, "unknown": 0, "per_turn": None}}}
_SEEN = [
    {"check": "tests", "status": "pass", "summary": "", "tests": {"a": "passed"}, "reported": True, "problems": []}
]
_LOOK = {
    "finding": {"counts": None, "problems": [], "fingerprints": []},
    "output": "",
    "tests": {},
    "by": "x",
    "reported": 1,
}
_PROPOSED = {"kind": "one", "label": "cc", "reasons": ["a"], "so_far": False, "tips": {}}

TARGETS = (
    Target("journal", journal, journals, KEYS),
    Target("torn-journal", torn, journals, KEYS),
    Target("journal-end", ends, journals, KEYS),
    Target("event", event, lambda: tuple(dumps(each).encode() for each in story()), KEYS, (ValueError,)),
    Target("decisions", decisions, lambda: (lines([json.dumps(_DECISION)] * 2),), KEYS),
    Target("records", small_records, _json(_CANDIDATE, _SEEN, _LOOK, _PROPOSED), KEYS),
    Target("origin", origin, _json({"branch": "main", "commit": "a" * 40}), KEYS),
    Target("home", home, lambda: (b"x\n", b'{"git_dir": "/a"}'), KEYS),
    Target("frozen", frozen_job, _frozen, KEYS),
    Target("ledger", ledger, _json(_LEDGER), KEYS),
    Target("state", state_file, state_files, (*KEYS, b'"status": "met"', b'"waiting": {"until": "x"}', b'"running"')),
)
