"""Files that survive a crash: whole or not at all."""

import json
import os
import socket
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from aigon.errors import AigonError, Exit
from aigon.files.atomic import write_atomic
from aigon.files.checksums import JournalFile, read_documents, read_journal_end
from aigon.files.home import IGNORED_LINES
from aigon.files.locks import hold_lock, is_locked

ROOT = Path(__file__).parents[2]
SMALL = """
import resource, signal, sys
from pathlib import Path
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path, limit = Path(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
from aigon.files.atomic import write_atomic, write_whole
from aigon.files.checksums import JournalFile as Journal
"""
"""The start of a program whose files may not grow beyond a limit, as on a full disk."""


def cramped(program: str, path: Path, limit: int) -> "subprocess.CompletedProcess[str]":
    """Run a program with `path`, in a process whose files may hold at most `limit` bytes."""
    arguments = [sys.executable, "-c", SMALL + program, str(path), str(limit)]
    return subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, timeout=30)


def written(path: Path, *documents: str) -> Path:
    """A journal with these documents."""
    journal = JournalFile(path)
    for document in documents:
        journal.append(document, durable=True)
    journal.close()
    return path


def test_a_journal_is_read_back_in_order(tmp_path: Path) -> None:
    path = written(tmp_path / "new" / "j.jsonl", '{"n": 1}', '{"n": "ä"}')
    written(path, '{"n": 3}')
    assert read_documents(path) == [{"n": 1}, {"n": "ä"}, {"n": 3}]


def test_a_journal_is_its_owners_alone(tmp_path: Path) -> None:
    assert written(tmp_path / "j.jsonl", "{}").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("keep", range(1, 22, 3))
def test_a_torn_last_line_never_counted_and_is_cut(tmp_path: Path, keep: int) -> None:
    path = written(tmp_path / "j.jsonl", '{"n": 1}')
    whole = path.read_bytes()
    written(path, '{"n": 22222}')
    path.write_bytes(path.read_bytes()[: len(whole) + keep])
    assert read_documents(path) == [{"n": 1}]
    written(path, '{"n": 3}')
    assert read_documents(path) == [{"n": 1}, {"n": 3}]


def test_a_journal_of_nothing_but_a_torn_line_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    path.write_bytes(b'0badc0de {"n"')
    JournalFile(path).close()
    assert path.read_bytes() == b""
    assert read_documents(path) == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda line: line.replace(b"2", b"3", 1),
        lambda line: line[:-3],
        lambda line: line[:0],
        lambda line: b"\0" * len(line),
    ],
    ids=["a flipped byte", "a cut line", "an empty line", "zeros"],
)
def test_a_damaged_line_in_the_middle_is_an_error_that_names_file_and_line(tmp_path: Path, damage: object) -> None:
    assert callable(damage)
    path = written(tmp_path / "j.jsonl", '{"n": 1}', '{"n": 2222}', '{"n": 3}')
    lines = path.read_bytes().split(b"\n")
    lines[1] = damage(lines[1])
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(AigonError) as caught:
        read_documents(path)
    assert caught.value.code == Exit.ENVIRONMENT
    assert caught.value.where == f"{path}:2"
    assert "aigon doctor --repair" in caught.value.hint


def test_a_line_that_does_not_fit_on_the_disk_leaves_no_half_of_itself(tmp_path: Path) -> None:
    program = """
journal = Journal(path)
journal.append('{"n": 1}', durable=True)
try:
    journal.append('{"n": "' + "x" * 100 + '"}', durable=True)
except OSError as error:
    print(error.errno, error.filename)
journal.append('{"n": 3}', durable=True)
"""
    path = tmp_path / "j.jsonl"
    done = cramped(program, path, 60)
    assert done.returncode == 0, done.stderr
    assert str(path) in done.stdout
    assert read_documents(path) == [{"n": 1}, {"n": 3}]


def test_a_full_disk_with_no_room_at_all_is_an_error_and_leaves_the_journal(tmp_path: Path) -> None:
    path = written(tmp_path / "j.jsonl", '{"n": 1}')
    size = path.stat().st_size
    done = cramped("Journal(path).append('{}', durable=True)", path, size)
    assert "OSError" in done.stderr
    assert read_documents(path) == [{"n": 1}]


def test_a_file_is_replaced_whole_and_nothing_lies_about(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    write_atomic(path, b"one")
    write_atomic(path, b"two")
    assert path.read_bytes() == b"two"
    assert [entry.name for entry in tmp_path.iterdir()] == ["state.json"]


def test_a_reader_keeps_the_file_it_has_open(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    write_atomic(path, b"one")
    with path.open("rb") as reader:
        write_atomic(path, b"other")
        assert reader.read() == b"one"


def test_the_old_file_stays_when_the_new_one_does_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    write_atomic(path, b"old")
    done = cramped('write_atomic(path, b"x" * 1000)', path, 100)
    assert done.returncode != 0
    assert "OSError" in done.stderr
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["state.json"]


def test_the_old_state_stays_when_its_folder_is_in_the_way(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.mkdir()
    (path / "inside").touch()
    with pytest.raises(OSError):
        write_atomic(path, b"new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["state.json"]


def test_a_lock_names_its_holder_and_is_free_after_it(tmp_path: Path) -> None:
    path = tmp_path / "locks" / "feature-42.lock"
    with hold_lock(path, "Feature 42"):
        with pytest.raises(AigonError) as caught, hold_lock(path, "Feature 42"):
            pass
        assert caught.value.code == Exit.ENVIRONMENT
        assert caught.value.what == "Feature 42 is in use by another aigon"
        since = datetime.fromisoformat(json.loads(path.with_suffix(".holder").read_text())["since"])
        assert caught.value.where == f"pid {os.getpid()} on {socket.gethostname()}, since {since:%H:%M}"
    with hold_lock(path, "Feature 42"):
        pass


def test_a_lock_is_free_after_an_error_inside(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with pytest.raises(ZeroDivisionError), hold_lock(path, "It"):
        raise ZeroDivisionError
    with hold_lock(path, "It"):
        assert json.loads(path.with_suffix(".holder").read_text())["pid"] == os.getpid()
    assert not path.with_suffix(".holder").exists()


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    program = "import os, sys; from pathlib import Path; from aigon.files.locks import hold_lock as lock\n"
    program += "with lock(Path(sys.argv[1]), 'It'): os.kill(os.getpid(), 9)"
    done = subprocess.run([sys.executable, "-c", program, str(path)], cwd=ROOT, timeout=30)
    assert done.returncode == -9
    assert path.with_suffix(".holder").exists()
    with hold_lock(path, "It"):
        assert json.loads(path.with_suffix(".holder").read_text())["pid"] == os.getpid()


def test_a_holder_that_cannot_be_read_is_still_a_refusal(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with hold_lock(path, "It"):
        path.with_suffix(".holder").write_text("{")
        with pytest.raises(AigonError) as caught, hold_lock(path, "It"):
            pass
    assert caught.value.where == "its holder did not say who it is"


def test_what_a_kill_leaves_of_a_state_file_is_ignored_like_the_file(tmp_path: Path) -> None:
    path = tmp_path / ".aigon" / "loop-state-42.json"
    path.parent.mkdir()
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("\n".join(IGNORED_LINES))
    program = """
import os
os.fsync = lambda _: os.kill(os.getpid(), 9)
write_atomic(path, b"{}")
"""
    assert cramped(program, path, 1000).returncode == -9
    assert len(list(path.parent.iterdir())) == 1
    status = ["git", "status", "--porcelain", "--untracked-files=all"]
    left = subprocess.run(status, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert left.stdout == "?? .gitignore\n"


def test_a_file_of_the_work_tree_stays_when_the_new_one_does_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "spec.md"
    path.write_bytes(b"old")
    done = cramped('write_whole(path, b"x" * 1000, [path.parent / "aside"])', path, 100)
    assert "OSError" in done.stderr
    assert path.read_bytes() == b"old"
    assert list((tmp_path / "aside").iterdir()) == []


def test_following_survives_a_replaced_journal_and_a_deleted_one(
    tmp_path: Path,
) -> None:
    journal = JournalFile(tmp_path / "here" / "journal.jsonl")
    journal.append('{"n": 1}', durable=True)
    write_atomic(journal.path, journal.path.read_bytes())
    journal.append('{"n": 2}', durable=True)
    assert [document["n"] for document in read_documents(journal.path)] == [1, 2]
    journal.path.unlink()
    journal.path.parent.rmdir()
    journal.append('{"n": 3}', durable=True)
    journal.close()


def test_the_end_of_a_journal_is_read_as_far_as_it_is_sound(tmp_path: Path) -> None:
    path = written(tmp_path / "journal.jsonl", *(json.dumps({"mark": number}) for number in range(9)))
    whole, mark = path.stat().st_size, b'"mark"'
    assert [json.loads(data)["mark"] for data in read_journal_end(path, 10**6, mark)] == [*range(9)]
    one = whole // 9
    assert [json.loads(data)["mark"] for data in read_journal_end(path, 3 * one + 2, mark)] == [6, 7, 8]
    damaged = path.read_bytes().replace(b'": 7}', b'": 6}') + b"12345678 torn"
    path.write_bytes(damaged)
    assert [json.loads(data)["mark"] for data in read_journal_end(path, 10**6, mark)][-2:] == [6, 8]
    assert read_journal_end(path, 10**6, b"no such") == read_journal_end(tmp_path, 9, mark) == []
    assert read_journal_end(tmp_path / "none", 9, mark) == []


def test_whether_a_lock_is_held_can_be_asked_without_holding_it(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    assert is_locked(path) is None
    program = f"""
import sys
from pathlib import Path
from aigon.files.locks import hold_lock as lock
with lock(Path({str(path)!r}), "It"):
    print("held", flush=True)
    sys.stdin.read()
"""
    other = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdout and other.stdout.readline() == b"held\n"
    assert is_locked(path) is True and is_locked(path) is True
    other.communicate(timeout=20)
    assert is_locked(path) is False
    with hold_lock(path, "It"):
        pass
