"""Claude Code's adapter: captured outputs of version 2.1.330, and a stand-in program that prints them."""

import json
import os
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from aigon.agents.adapters import find_adapter
from aigon.model.turns import Agent, ProgramExit, Turn, Usage
from tests.agents.turns import PROMPT, Place, place, play, program

claude = find_adapter("claude")
CAPTURES = Path(__file__).parent / "captures"
AGENT = Agent(name="claude", adapter="claude", model="sonnet")


@pytest.fixture
def there(tmp_path: Path) -> Place:
    return place(tmp_path)


def capture(name: str) -> bytes:
    return (CAPTURES / f"{name}.jsonl").read_bytes()


def turn(
    there: Place, stdout: bytes, exit_code: int | None = 0, stderr: bytes = b"", *, timed_out: bool = False
) -> Turn:
    return claude.read_turn(
        AGENT, there.ask(), ProgramExit(exit_code, stdout, stderr, timed_out=timed_out, duration=3.0)
    )


def result(**fields: object) -> bytes:
    """A good result record but for `fields`."""
    good = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "terminal_reason": "completed",
        "result": "Done.",
    }
    return json.dumps(good | fields).encode() + b"\n"


def test_a_finished_turn_has_its_words_its_cost_and_its_session(there: Place) -> None:
    seen = turn(there, capture("ok"))
    assert (seen.end, seen.detail, seen.denied, seen.failed) == ("finished", "", (), False)
    assert seen.said == "All done: hello.txt created.\nAll done: hello.txt created."
    assert (seen.cost, seen.cost_status) == (0.01242, "estimated")
    assert seen.usage == Usage(input=2300, output=75, cached=12900)
    assert seen.session == "0227692a-6ccd-46c2-8d8b-2531be6dd7ac"
    assert (seen.model, seen.duration) == ("claude-sonnet-4-5", 3.0)


def test_a_failed_tool_is_not_a_failed_turn(there: Place) -> None:
    seen = turn(there, capture("tool_failed"))
    assert (seen.end, seen.said) == ("finished", "It failed.")


def test_a_usage_limit_is_known_with_the_time_when_it_resets(there: Place) -> None:
    seen = turn(there, capture("usage_limit"), 1)
    assert (seen.end, seen.held, seen.failed) == ("usage_limit", True, False)
    assert seen.resets_at == 1795173026
    assert seen.detail == "usage limit: You've hit your 5-hour limit · resets 11:10am (UTC)"


def test_a_bad_key_is_said_although_the_subtype_says_success(there: Place) -> None:
    assert b'"subtype": "success"' in capture("bad_key")
    seen = turn(there, capture("bad_key"), 1)
    assert (seen.end, seen.resets_at) == ("bad_credentials", None)
    assert seen.detail == "bad credentials (401): Invalid API key · Fix external API key"


def test_a_rate_limit_is_an_overload_and_no_usage_limit(there: Place) -> None:
    seen = turn(there, capture("rate_limited"), 1)
    assert seen.end == "overloaded"
    assert seen.detail.startswith("overloaded (429): API Error: Request rejected (429)")


@pytest.mark.parametrize("status", [500, 503, 529])
def test_an_overloaded_server_is_said_so(there: Place, status: int) -> None:
    broken = result(is_error=True, terminal_reason="api_error", api_error_status=status, result="API Error")
    seen = turn(there, broken, 1)
    assert (seen.end, seen.detail) == ("overloaded", f"overloaded ({status}): API Error")


def test_too_many_turns_and_a_spent_budget_are_failed_turns_with_their_cost(there: Place) -> None:
    turns, budget = turn(there, capture("max_turns"), 1), turn(there, capture("budget"), 1)
    assert (turns.end, turns.detail) == ("failed", "max turns: Reached maximum number of turns (3)")
    assert turns.cost == 0.199857
    assert (budget.end, budget.detail) == ("failed", "budget exhausted: Reached maximum budget ($0.01)")
    assert (budget.cost, budget.usage) == (0.01224, Usage(input=2200, output=60, cached=7700))


def test_a_refusal_is_finished_and_mentioned(there: Place) -> None:
    seen = turn(there, capture("refusal"))
    assert (seen.end, seen.said) == ("finished", "Done.")
    assert seen.detail == "the model's safeguards stopped 1 of its replies"


def test_denied_permissions_are_listed_although_the_turn_is_finished(there: Place) -> None:
    seen = turn(there, capture("denied"))
    assert (seen.end, seen.exit_code) == ("finished", 0)
    assert seen.denied == ("Write: /project/hello.txt",)


def test_each_denial_is_listed_once_and_short(there: Place) -> None:
    denials = [{"tool_name": "Bash", "tool_input": {"command": "rm\n -rf " + "x" * 500}}] * 3
    denials += [{"tool_name": "WebSearch", "tool_input": {}}, "noise"]  # type: ignore[list-item]
    seen = turn(there, result(permission_denials=denials))
    assert seen.denied[1:] == ("WebSearch",)
    assert seen.denied[0].startswith("Bash: rm -rf xxx")
    assert len(seen.denied[0]) == 200


def test_a_single_json_object_is_read_on_one_line_or_many(there: Place) -> None:
    one = json.loads(capture("denied"))
    for text in (json.dumps(one), json.dumps(one, indent=2), json.dumps([{"type": "system"}, one])):
        seen = turn(there, text.encode())
        assert (seen.end, seen.cost, seen.said) == ("finished", 0.01398, "All done: hello.txt created.")


@pytest.mark.parametrize(
    "noise",
    [
        b"npm warn deprecated",
        b"\xff\xfe\x00",
        b"{",
        b'{"type": "result", "is_err',
        b"null",
        b"[1, 2]",
        b"[" * 5000,
        b'{"a": 1}',
    ],
)
def test_what_is_no_record_is_passed_over(there: Place, noise: bytes) -> None:
    lines = capture("ok").splitlines()
    stream = b"\n".join([noise, *lines[:3], noise, *lines[3:], noise])
    assert turn(there, stream) == turn(there, capture("ok"))


def test_a_stream_cut_in_the_middle_still_ends_with_its_result(there: Place) -> None:
    whole = capture("ok")
    seen = turn(there, whole[:700] + b"\n[... 3 MB left out ...]\n" + whole[900:])
    assert (seen.end, seen.cost) == ("finished", 0.01242)


def test_records_of_the_wrong_shape_do_no_harm(there: Place) -> None:
    odd = result(
        usage=[1],
        modelUsage={"m": "x"},
        total_cost_usd="free",
        permission_denials={"a": 1},
        safety_stops=None,
        session_id=7,
    )
    odd = b'{"type": "assistant", "message": {"content": [5, {"text": 3}]}}\n{"type": "rate_limit_event"}\n' + odd
    seen = turn(there, odd)
    assert (seen.end, seen.cost, seen.cost_status, seen.session, seen.denied) == ("finished", None, "unknown", "", ())


def test_without_a_result_record_the_turn_failed_whatever_the_exit_code(there: Place) -> None:
    cut = b"\n".join(capture("ok").splitlines()[:4])
    seen = turn(there, cut, 0, b"Segmentation fault\n")
    assert (seen.end, seen.cost, seen.cost_status) == ("failed", None, "unknown")
    assert seen.detail == "ended without saying how (exited with 0): Segmentation fault"
    assert seen.said == "Now list files."
    assert turn(there, b"", -15).detail == "ended without saying how (ended by signal 15)"


def test_its_refusal_to_run_as_root_is_told(there: Place) -> None:
    said = b"--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons\n"
    seen = turn(there, b"", 1, said)
    assert seen.end == "failed"
    assert "cannot be used with root" in seen.detail


@pytest.mark.parametrize("reason", ["aborted_tools", "prompt_too_long", "something_new"])
def test_a_reason_that_is_not_a_completion_is_a_failed_turn(there: Place, reason: str) -> None:
    seen = turn(there, result(terminal_reason=reason))
    assert (seen.end, seen.detail) == ("failed", f"{reason.replace('_', ' ')}: Done.")


def test_a_good_result_of_a_program_that_then_failed_is_a_failed_turn(there: Place) -> None:
    seen = turn(there, result(), 143)
    assert (seen.end, seen.detail) == ("failed", "exited with 143 although its output says that all is well")


@pytest.mark.parametrize(
    ("stdout", "stderr", "resets_at"),
    [
        (
            result(is_error=True, terminal_reason=None, result="Claude AI usage limit reached|1749924000"),
            b"",
            1749924000.0,
        ),
        (b"Claude AI usage limit reached|1749924000\n", b"", 1749924000.0),
        (b'{"no": "record"}\nClaude AI usage limit reached|1749924000\n', b"", 1749924000.0),
        (b"", "You've hit your weekly limit · resets 3pm (UTC)".encode(), None),
    ],
)
def test_older_ways_to_tell_of_a_usage_limit_are_known(
    there: Place, stdout: bytes, stderr: bytes, resets_at: float | None
) -> None:
    seen = turn(there, stdout, 1, stderr)
    assert (seen.end, seen.resets_at) == ("usage_limit", resets_at)
    assert "limit" in seen.detail


def test_a_login_that_is_missing_is_said(there: Place) -> None:
    seen = turn(
        there, result(is_error=True, terminal_reason="api_error", result="Not logged in · Please run /login"), 1
    )
    assert (seen.end, seen.detail) == ("bad_credentials", "bad credentials: Not logged in · Please run /login")


def test_an_agent_that_speaks_of_limits_and_keys_is_not_taken_at_its_word(there: Place) -> None:
    words = "You've hit your 5-hour limit. Invalid API key: please run /login"
    assert turn(there, result(result=words)).end == "finished"
    spoken = (
        json.dumps({"type": "assistant", "message": {"content": [{"type": "text", "text": words}]}}).encode() + b"\n"
    )
    stopped = result(is_error=True, terminal_reason="max_turns", result=None, errors=["Reached maximum"])
    assert turn(there, spoken + stopped, 1).detail == "max turns: Reached maximum"
    assert turn(there, spoken, 1).end == "failed"


def test_a_limit_that_was_passed_by_is_no_end(there: Place) -> None:
    rejected = capture("usage_limit").splitlines()[1] + b"\n"
    assert turn(there, rejected + result()).end == "finished"
    assert turn(there, rejected + capture("max_turns"), 1).end == "failed"
    broken = result(is_error=True, terminal_reason="api_error", api_error_status=500, result="API Error")
    assert turn(there, rejected + broken, 1).detail == "overloaded (500): API Error"


def test_a_turn_that_aigon_ended_keeps_what_was_said_and_spent(there: Place) -> None:
    cut = b"\n".join(capture("ok").splitlines()[:4])
    late = turn(there, cut, -9, timed_out=True)
    assert (late.end, late.cost, late.said) == ("timed_out", None, "Now list files.")
    assert turn(there, capture("ok"), -9, timed_out=True).cost == 0.01242
    assert turn(there, b"", None).end == "not_started"


def stand_in(there: Place, output: str, exit_code: int) -> dict[str, str]:
    """A `claude` on a PATH of its own, which notes what it was given and prints a capture."""
    bin_folder = there.checkout / "bin"
    bin_folder.mkdir()
    notes = 'printf "%s\\n" "$@" > args.txt; cat > stdin.txt; env > env.txt'
    program(bin_folder / "claude", f'{notes}; cat "{CAPTURES / output}.jsonl"; exit {exit_code}')
    return {"PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"}


def test_it_is_run_with_the_prompt_on_standard_input(there: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLAUDE_CODE_MAX_RETRIES", raising=False)
    env = stand_in(there, "ok", 0)
    monkeypatch.setenv("PATH", env["PATH"])
    seen = play(claude, AGENT, there.ask(2), env)
    assert (seen.end, seen.number, seen.cost) == ("finished", 2, 0.01242)
    assert (there.workspace / "stdin.txt").read_text() == PROMPT
    given = (there.workspace / "args.txt").read_text().split()
    assert given[:4] == ["-p", "--output-format", "stream-json", "--verbose"]
    assert given[-2:] == ["--model", "sonnet"]
    noted = set((there.workspace / "env.txt").read_text().splitlines())
    assert {"AIGON_RUN=run-1", "AIGON_ITERATION=2", "CLAUDE_CODE_MAX_RETRIES=3"} <= noted


def test_a_usage_limit_of_a_real_process_is_known(there: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    env = stand_in(there, "usage_limit", 1)
    monkeypatch.setenv("PATH", env["PATH"])
    seen = play(claude, AGENT, there.ask(), env)
    assert (seen.end, seen.exit_code, seen.resets_at) == ("usage_limit", 1, 1795173026)


def test_the_retries_that_a_person_chose_are_left_alone(there: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_MAX_RETRIES", "7")
    assert "CLAUDE_CODE_MAX_RETRIES" not in claude.build_launch(AGENT, there.ask()).env
    monkeypatch.delenv("CLAUDE_CODE_MAX_RETRIES")
    chosen = Agent(name="c", adapter="claude", env={"CLAUDE_CODE_MAX_RETRIES": "1"})
    assert claude.build_launch(chosen, there.ask()).env["CLAUDE_CODE_MAX_RETRIES"] == "1"


def test_permissions_are_given_in_the_way_that_works_for_this_user(there: Place) -> None:
    root = os.geteuid() == 0
    argv = claude.build_launch(AGENT, replace(there.ask(), root=root)).argv
    as_root = ("--permission-mode", "acceptEdits", "--allowedTools", "Bash")
    assert ("--dangerously-skip-permissions" in argv) == (os.geteuid() != 0)
    assert (set(as_root) <= set(argv)) == (os.geteuid() == 0)
    sandboxed = claude.build_launch(
        Agent(name="c", adapter="claude", env={"IS_SANDBOX": "1"}), replace(there.ask(), root=True)
    ).argv
    assert "--dangerously-skip-permissions" in sandboxed


def test_permissions_that_a_person_configured_are_the_only_ones(there: Place) -> None:
    agent = Agent(name="c", adapter="claude", effort="high", args=("--permission-mode=plan",))
    argv = claude.build_launch(agent, there.ask()).argv
    assert argv[-3:] == ("--effort", "high", "--permission-mode=plan")
    assert "--dangerously-skip-permissions" not in argv
    assert "acceptEdits" not in argv


def test_it_is_ready_when_claude_is_on_path(tmp_path: Path) -> None:
    program(tmp_path / "claude", "true")
    assert claude.explain_unready(AGENT, lambda name: shutil.which(name, path=str(tmp_path)), {}) == ""
    assert "npm install -g @anthropic-ai/claude-code" in claude.explain_unready(AGENT, lambda _: None, {})
