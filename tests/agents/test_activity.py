"""What agents do, read from their captured outputs while they come."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from aigon.agents.activity import (
    LONGEST,
    MOST_LINES,
    MOST_RECORDS,
    MOST_STARTS,
    ActivityFile,
    ActivityLog,
    ActivityReader,
    choose_log,
    find_newest_activity,
    name_activity_file,
    name_log,
)
from aigon.agents.adapters import find_adapter
from aigon.agents.adapters._records import parse_line
from aigon.model.turns import Step
from aigon.secrets.redaction import make_redactor
from tests.agents.captured import FOLDER, events

SAYS, LISTS = ("says", "I will create the file."), ("runs", "ls -1 && git status --short")
FAILED, WRITTEN = ("fails", "Exit code 3"), "cat > hello.txt <<'EOF_SCRIPTED' hello EOF_SCRIPTED"
DONE = ("says", "All done: hello.txt created.")
TWICE = ("says", "All done: hello.txt created. All done: hello.txt created.")


REDACT = make_redactor({"API_KEY": "hunter2-hunter2"})


def edits(folder: str) -> tuple[str, str]:
    return "edits", f"<HOME>/repos/{folder}/hello.txt"


def read(adapter: str, output: bytes, piece: int = 100) -> list[tuple[str, str]]:
    """The activities in this output, which comes in pieces of so many bytes."""
    reader = ActivityReader(find_adapter(adapter).module)
    found = [each for at in range(0, len(output), piece) for each in reader.feed(output[at : at + piece])]
    return [(each.kind, " ".join(each.text.split())) for each in (*found, *reader.close()) if each.kind != "spends"]


@pytest.mark.parametrize(
    ("adapter", "capture", "expected"),
    [
        ("claude", "claude_stream", [SAYS, edits("claude-ok"), ("says", "Now list files."), LISTS, TWICE]),
        ("claude", "claude_failed_stream", [("says", "fail"), ("runs", "exit 3"), FAILED, ("says", "It failed.")]),
        ("codex", "codex_ok", [SAYS, ("runs", WRITTEN), ("says", "Now list files."), LISTS, TWICE]),
        ("gemini", "gemini_stream", [SAYS, edits("gemini-stream-ok"), ("says", "Now list files."), LISTS, DONE]),
        ("opencode", "opencode_ok", [SAYS, edits("opencode-ok"), ("says", "Now list files."), LISTS, TWICE]),
        ("qwen", "qwen_ok", [SAYS, edits("qwen-ok"), ("says", "Now list files."), LISTS, TWICE]),
        ("pi", "pi_stream", [SAYS, edits("pi-real-ok"), ("says", "Now list files."), LISTS, DONE]),
        ("copilot", "copilot_ok", [SAYS, ("edits", "hello.txt"), ("says", "Now list files."), LISTS, DONE]),
        ("vibe", "vibe_ok", [SAYS, ("edits", "/project/hello.txt"), ("says", "Now list files."), LISTS, DONE]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("piece", [7, 65536])
def test_captured_streams_become_what_the_agent_did(
    adapter: str, capture: str, expected: list[tuple[str, str]], piece: int
) -> None:
    assert read(adapter, (FOLDER / f"{capture}.jsonl").read_bytes(), piece) == expected


def test_the_built_in_agent_and_cursor_tell_their_tools() -> None:
    own = events({"type": "text", "text": "Hm."}, {"type": "tool", "line": "bash: false", "failed": True, "exit": 1})
    assert read("api", own) == [("says", "Hm."), ("runs", "false"), ("fails", "exited with 1")]
    assert ("says", "done") not in read("cursor", b"")
    call = {"type": "tool_call", "subtype": "started", "tool_call": {"readToolCall": {"args": {"path": "a.py"}}}}
    assert read("cursor", events(call)) == [("reads", "a.py")]


def test_a_program_without_records_prints_lines() -> None:
    assert read("aider", b"one\n\n\x1b[1mtwo\x1b[0m\nthree") == [
        ("prints", "one"),
        ("prints", "two"),
        ("prints", "three"),
    ]


@pytest.mark.parametrize(
    "output",
    [
        b"\xff\xfe\n{\n[]\nnull\n",
        events({"type": "assistant", "message": {"content": "no list"}}, {"type": "user", "message": None}),
        b'{"type": ' * 100_000 + b"\n",
        b'{"type": "assistant", "message": "' + b"x" * (2 << 20) + b'"}\n',
    ],
)
@pytest.mark.parametrize("adapter", ["claude", "codex", "gemini", "opencode", "pi", "copilot", "vibe", "cursor", "api"])
def test_what_is_no_record_tells_nothing(adapter: str, output: bytes) -> None:
    assert read(adapter, output, 65536) == []


def test_steps_are_read_while_they_are_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("aigon.agents.activity.INTERVAL", 0)
    log = name_log(tmp_path, 2)
    file = name_activity_file(log)
    steps = ActivityFile(file, 3)
    assert file.name == "activity-2.ndjson" and not list(steps.read_new())
    with ActivityLog(log, find_adapter("claude").module, Path("/work/tree"), REDACT) as written:
        use = {"type": "tool_use", "name": "Read", "input": {"file_path": "/work/tree/src/a.py"}}
        record = events({"type": "assistant", "message": {"content": [use]}})
        written.hear(record[:30])
        assert not list(steps.read_new())
        written.hear(record[30:])
        (step,) = steps.read_new()
        assert (step.number, step.kind, step.text) == (3, "reads", "src/a.py")
        written.hear(events({"type": "assistant", "message": {"content": [{"type": "text", "text": "x" * 999}]}}))
    (said,) = steps.read_new()
    assert said.text == "x" * (LONGEST - 1) + "…"
    with file.open("a") as more:
        more.write('{"at": 1, "kind": "lies", "text": "x"}\n{"at": "soon"}\n[]\nhalf')
    assert not list(steps.read_new())


def test_a_reader_that_raises_ends_no_turn(tmp_path: Path) -> None:
    def read_activity(_record: object) -> Any:
        raise AttributeError("a plug-in")

    with ActivityLog(
        tmp_path / "agent.log", cast(Any, SimpleNamespace(read_activity=read_activity)), tmp_path, REDACT
    ) as log:
        log.hear(b"{}\n")
    assert (tmp_path / "activity.ndjson").read_bytes() == b""


def read_steps(adapter: str, output: bytes, folder: Path) -> list[Step]:
    """The steps that a log of this output has."""
    log = folder / "agent.log"
    with ActivityLog(log, find_adapter(adapter).module, folder, REDACT) as written:
        written.hear(output)
    return list(ActivityFile(name_activity_file(log), 1).read_new())


@pytest.mark.parametrize(
    ("adapter", "capture", "tokens", "usd"),
    [
        ("claude", "claude_stream", 15_203, 0.0),
        ("qwen", "qwen_ok", 14_575, 0.0),
        ("opencode", "opencode_ok", 14_575, 0.009795),
        ("pi", "pi_ok", 15_275, 0.01242),
    ],
)
def test_a_turn_tells_what_it_has_used_so_far(
    adapter: str, capture: str, tokens: int, usd: float, tmp_path: Path
) -> None:
    steps = read_steps(adapter, (FOLDER / f"{capture}.jsonl").read_bytes(), tmp_path)
    spent = [step.spent for step in steps if step.spent]
    assert [each.tokens for each in spent] == sorted(each.tokens for each in spent)
    assert spent[-1].tokens == tokens and abs(spent[-1].usd - usd) < 1e-6


def test_secrets_are_redacted_before_a_text_is_shortened(tmp_path: Path) -> None:
    secret = "hunter2-hunter2"
    use = {"type": "tool_use", "name": "Bash", "input": {"command": "x" * (LONGEST - 5) + secret}}
    said = {"type": "text", "text": f"the key is {secret}"}
    steps = read_steps("claude", events({"type": "assistant", "message": {"content": [use, said]}}), tmp_path)
    assert [step.text for step in steps][1] == "the key is [redacted]" and "hunter" not in steps[0].text
    key = b"before\n-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG\n-----END PRIVATE KEY-----\nafter\n"
    assert [step.text for step in read_steps("aider", key, tmp_path)] == ["before", "after"]


def test_only_lines_that_can_tell_something_are_parsed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    parsed: list[bytes] = []
    monkeypatch.setattr("aigon.agents.activity.parse_line", parsed.append)
    result = {"type": "tool_result", "content": "x" * 4000, "is_error": False}
    for adapter, record in (
        ("claude", {"type": "user", "message": {"content": [result]}}),
        ("codex", {"type": "item.completed", "item": {"type": "command_execution", "status": "completed"}}),
        ("gemini", {"type": "tool_result", "status": "success", "output": "x" * 4000}),
        ("pi", {"type": "message_update", "delta": "x" * 4000}),
        ("copilot", {"type": "assistant.message_delta", "data": {}}),
    ):
        read_steps(adapter, events(record), tmp_path)
    assert not parsed
    lines = b"".join(b"line %d\n" % number for number in range(1000))
    assert len(read_steps("aider", lines, tmp_path)) == MOST_LINES


def test_a_flood_is_read_at_intervals_and_only_its_end_is_parsed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    parsed: list[bytes] = []

    def parse(line: bytes) -> object:
        parsed.append(line)
        return parse_line(line)

    monkeypatch.setattr("aigon.agents.activity.parse_line", parse)
    monkeypatch.setattr("aigon.agents.activity.INTERVAL", 3600)
    says = [{"type": "assistant", "message": {"content": [{"type": "text", "text": f"{n}"}]}} for n in range(1000)]
    log = tmp_path / "agent.log"
    with ActivityLog(log, find_adapter("claude").module, tmp_path, REDACT) as written:
        for each in says:
            written.hear(events(each))
        assert len(parsed) == 1
        monkeypatch.setattr("aigon.agents.activity.INTERVAL", 0)
        written.hear(b"")  # nothing comes for now
        steps = list(ActivityFile(name_activity_file(log), 1).read_new())
    assert [step.text for step in steps] == ["0", *map(str, range(1000 - MOST_RECORDS, 1000))]
    assert len(parsed) == 1 + MOST_RECORDS


def test_an_activity_file_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text(json.dumps({"at": 1, "kind": "says", "text": "secret"}) + "\n")
    (tmp_path / "activity.ndjson").symlink_to("elsewhere")
    assert not list(ActivityFile(tmp_path / "activity.ndjson", 1).read_new())


def test_each_program_of_an_iteration_has_its_own_files_up_to_a_limit(tmp_path: Path) -> None:
    assert choose_log(tmp_path).name == "agent.log" and find_newest_activity(tmp_path).name == "activity.ndjson"
    for _ in range(MOST_STARTS + 1):
        log = choose_log(tmp_path)
        log.touch()
        name_activity_file(log).touch()
    assert choose_log(tmp_path).name == "agent-99.log" and find_newest_activity(tmp_path).name == "activity-99.ndjson"
