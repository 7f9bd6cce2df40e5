"""The command agent, run as a real process."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from aigon.agents.adapters import find_adapter
from aigon.model.turns import Agent, FindProgram, ProgramExit, Usage
from tests.agents.turns import PROMPT, Place, place, play, program

command = find_adapter("command")


@pytest.fixture
def there(tmp_path: Path) -> Place:
    return place(tmp_path)


def mine(*words: str, **more: object) -> Agent:
    return Agent(name="mine", adapter="command", command=words, **more)  # type: ignore[arg-type]


def finder(checkout: Path) -> FindProgram:
    """A bare name by PATH, a relative path from the main checkout: executable or not."""

    def find(name: str) -> str | None:
        if "/" not in name:
            return shutil.which(name)
        return str(checkout / name) if (checkout / name).exists() else None

    return find


def test_the_program_gets_the_prompt_the_workspace_and_the_variables(there: Place) -> None:
    program(there.checkout / "agent.sh", "cat > prompt.txt; pwd > where.txt; env > env.txt; echo done")
    turn = play(command, mine("./agent.sh"), there.ask(3))
    assert (turn.end, turn.said, turn.number, turn.agent) == ("finished", "done", 3, "mine")
    assert (there.workspace / "prompt.txt").read_text() == PROMPT
    assert (there.workspace / "where.txt").read_text().strip() == str(there.workspace.resolve())
    seen = (there.workspace / "env.txt").read_text().splitlines()
    assert f"AIGON_SPEC={there.workspace / 'spec.md'}" in seen
    assert f"AIGON_PROMPT_FILE={there.checkout / 'prompt.md'}" in seen
    assert {"AIGON_FEATURE=42", "AIGON_ITERATION=3", "AIGON_RUN=run-1", "AIGON_TURN_LIMIT=5"} <= set(seen)


def test_the_program_learns_which_model_effort_step_and_promises_were_chosen(there: Place) -> None:
    script = 'echo "$AIGON_TURN_MODEL|$AIGON_TURN_EFFORT|$AIGON_TURN_STEP|$AIGON_PROMISE"'
    agent = mine("sh", "-c", script, model="opus", effort="high", env={"AIGON_TURN_MODEL": "masked"})
    assert play(command, agent, there.ask()).said == "opus|high|2/3|COMPLETE\nTESTS_PASS"


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("opus", ["--model", "opus", "--model=opus", "use opus", "${model}", "{{model}}", "--last", "x opus"]),
        ("", ["use ", "${model}", "{{model}}", "--last", "x "]),
    ],
)
def test_placeholders_of_model_and_effort_are_filled_in(there: Place, model: str, words: list[str]) -> None:
    given = ("--model", "{model}", "--effort", "{effort}", "--model={model}", "use {model}", "${model}", "{{model}}")
    agent = mine("sh", *given, args=("--last", "x {model}"), model=model)
    assert [*command.build_launch(agent, there.ask()).argv[1:]] == words


REPLY = '{"thought": "I looked around.", "tool_calls": %s, "next_action": "%s", "reason": "%s"}'


@pytest.mark.parametrize("action", ["DONE", "CONTINUE"])
def test_a_structured_reply_claims_nothing_by_done_or_continue(there: Place, action: str) -> None:
    turn = play(command, mine("sh", "-c", f"echo working; echo '{REPLY % ('[]', action, '')}'"), there.ask())
    assert (turn.end, turn.detail, turn.said) == ("finished", "", "working\n\nI looked around.")


def test_a_structured_reply_may_say_that_the_turn_failed(there: Place) -> None:
    turn = command.read_turn(mine("x"), there.ask(), ProgramExit(0, (REPLY % ("[]", "FAILED", "no compiler")).encode()))
    assert (turn.end, turn.detail) == ("failed", "the agent says that it failed: no compiler")


def test_a_structured_reply_may_ask_for_a_person(there: Place) -> None:
    reply = REPLY % ("[]", "NEEDS_HUMAN", "2 contradicts <impossible>3</impossible>")
    turn = command.read_turn(mine("x"), there.ask(), ProgramExit(0, reply.encode()))
    assert (turn.end, turn.said) == ("finished", "I looked around.\n\n<impossible>2 contradicts 3</impossible>")


def test_tool_calls_of_a_structured_reply_are_noted_and_not_carried_out(there: Place) -> None:
    calls = '[{"tool": "create_invoice", "args": {}}, {"name": "send"}, "ping", 7]'
    turn = command.read_turn(mine("x"), there.ask(), ProgramExit(0, (REPLY % (calls, "DONE", "")).encode()))
    assert turn.tools == tuple(
        f"{name} (asked for, not carried out)" for name in ("create_invoice", "send", "ping", "a tool")
    )


def test_a_bad_exit_code_counts_more_than_a_structured_reply(there: Place) -> None:
    turn = command.read_turn(mine("x"), there.ask(), ProgramExit(3, (REPLY % ("[]", "DONE", "")).encode()))
    assert (turn.end, turn.detail) == ("failed", "exited with 3")


def test_a_relative_program_is_the_one_in_the_main_checkout(there: Place) -> None:
    program(there.checkout / "agent.sh", "echo from the checkout")
    program(there.workspace / "agent.sh", "echo from the workspace")
    assert play(command, mine("./agent.sh"), there.ask()).said == "from the checkout"


def test_a_bare_name_is_found_on_path_and_gets_its_arguments(there: Place) -> None:
    agent = mine("sh", "-c", 'echo "$0 $1"', args=("one", "two"))
    assert command.build_launch(agent, there.ask()).argv[0] == "sh"
    assert play(command, agent, there.ask()).said == "one two"


def test_configured_variables_arrive_but_cannot_mask_the_run(there: Place) -> None:
    agent = mine("sh", "-c", 'echo "$COLOUR $AIGON_RUN"', env={"COLOUR": "blue", "AIGON_RUN": "none"})
    assert play(command, agent, there.ask()).said == "blue run-1"


def test_a_program_that_exits_with_an_error_failed_and_says_why(there: Place) -> None:
    turn = play(command, mine("sh", "-c", "echo half; echo no network >&2; exit 9"), there.ask())
    assert (turn.end, turn.exit_code, turn.said) == ("failed", 9, "half")
    assert turn.detail == "exited with 9: no network"
    assert turn.failed


@pytest.mark.parametrize(
    ("script", "end"),
    [
        ("echo Working; echo 'Error: 429 Too Many Requests' >&2; exit 1", "overloaded"),
        ('echo "You\'ve hit your usage limit, try again in 2 hours" >&2; exit 1', "usage_limit"),
        ("echo 'rate limit exceeded' >&2; echo 'SyntaxError: invalid' >&2; exit 1", "failed"),
        ("echo 'I built the rate limit: 429 Too Many Requests'; exit 1", "failed"),
        ("echo 'connection refused' >&2; exit 1", "failed"),
        ("echo '429 Too Many Requests, trying again' >&2", "finished"),
    ],
)
def test_a_limit_in_its_last_line_of_standard_error_is_no_failure(there: Place, script: str, end: str) -> None:
    assert play(command, mine("sh", "-c", script), there.ask()).end == end


def test_a_program_ended_by_a_signal_failed(there: Place) -> None:
    turn = play(command, mine("sh", "-c", "kill -9 $$"), there.ask())
    assert (turn.end, turn.detail) == ("failed", "ended by signal 9")


@pytest.mark.parametrize(
    ("exited", "end", "detail"),
    [
        (ProgramExit(None, start_error="Exec format error"), "not_started", "Exec format error"),
        (ProgramExit(None), "not_started", "did not start"),
        (ProgramExit(-9, timed_out=True, duration=1800.0), "timed_out", "timed out after 1800 s"),
        (ProgramExit(0, timed_out=True, duration=2.0), "timed_out", "timed out after 2 s"),
        (ProgramExit(-15, killed=True), "killed", "stopped by aigon"),
    ],
)
def test_a_program_that_did_not_end_by_itself(there: Place, exited: ProgramExit, end: str, detail: str) -> None:
    turn = command.read_turn(mine("x"), there.ask(), exited)
    assert (turn.end, turn.detail) == (end, detail)


def test_a_program_that_never_started_cost_nothing(there: Place) -> None:
    assert command.read_turn(mine("x"), there.ask(), ProgramExit(None)).cost == 0
    assert command.read_turn(mine("x"), there.ask(), ProgramExit(0)).cost is None


def test_what_it_said_is_the_end_of_its_output_as_text(there: Place) -> None:
    stdout = b"\xff\xfe start " + b"x" * 5000 + "\x1b[32mgrün\x1b[0m".encode() + b"\xff\n"
    said = command.read_turn(mine("x"), there.ask(), ProgramExit(0, stdout)).said
    assert len(said) == 2000
    assert said.endswith("xgrün\ufffd")


def test_a_program_may_report_what_it_cost(there: Place) -> None:
    report = json.dumps({"cost_usd": 0.25, "usage": {"input": 1200, "output": 300}})
    turn = play(command, mine("sh", "-c", f"echo working; echo '{report}'; echo"), there.ask())
    assert (turn.cost, turn.cost_status, turn.usage) == (0.25, "reported", Usage(1200, 300))


@pytest.mark.parametrize(
    "last",
    [
        '{"cost_usd": "0.25"}',
        '{"cost_usd": true}',
        '{"cost_usd": -1}',
        '{"cost_usd": NaN}',
        '{"cost_usd": Infinity}',
        '{"cost_usd": 1' + "0" * 400 + "}",
        '{"usage": {"input": -5}}',
        '{"usage": {"input": 1.5}}',
        '{"usage": [1]}',
        '["cost_usd", 1]',
        '{"cost_usd": 0.2',
        '{"pad": "' + "x" * 70_000 + '", "cost_usd": 1}',
        '{"cost_usd": 1}\nand then some text',
        "[" * 3000,
    ],
)
def test_what_is_no_report_is_not_taken_for_one(there: Place, last: str) -> None:
    turn = command.read_turn(mine("x"), there.ask(), ProgramExit(0, last.encode()))
    assert (turn.end, turn.cost, turn.cost_status, turn.usage) == ("finished", None, "unknown", None)


def test_a_report_of_tokens_alone_leaves_the_cost_unknown(there: Place) -> None:
    turn = command.read_turn(
        mine("x"), there.ask(), ProgramExit(0, b'{"usage": {"input": 7, "output": 2, "cached": 1}}')
    )
    assert (turn.cost, turn.cost_status, turn.usage) == (None, "unknown", Usage(7, 2, 1))


def test_it_is_ready_when_the_program_can_be_run(there: Place) -> None:
    path = program(there.checkout / "agent.sh", "true")
    find = finder(there.checkout)
    assert command.explain_unready(mine("./agent.sh"), find, {}) == ""
    assert command.explain_unready(mine(str(path)), find, {}) == ""
    assert command.explain_unready(mine("sh"), find, {}) == ""


def _without_its_bit(folder: Path) -> None:
    program(folder / "agent.sh", "true").chmod(0o644)


def _without_a_first_line(folder: Path) -> None:
    program(folder / "agent.sh", "true").write_text("echo hello\n")


@pytest.mark.parametrize(
    ("prepare", "says"),
    [
        (lambda _: None, "chmod +x ./agent.sh"),
        (lambda folder: (folder / "agent.sh").mkdir(), "was not found"),
        (_without_its_bit, '["bash", "./agent.sh"]'),
        (_without_a_first_line, "#!/bin/sh"),
    ],
)
def test_a_program_that_cannot_be_run_is_named_with_what_to_do(
    there: Place, prepare: Callable[[Path], None], says: str
) -> None:
    prepare(there.checkout)
    missing = command.explain_unready(mine("./agent.sh"), finder(there.checkout), {})
    assert "./agent.sh" in missing
    assert says in missing


def test_a_missing_command_or_program_is_named(there: Place) -> None:
    find = finder(there.checkout)
    assert "has no command" in command.explain_unready(mine(), find, {})
    assert "no-such-agent of the agent mine is not on PATH" in command.explain_unready(mine("no-such-agent"), find, {})
    assert "/nowhere/agent" in command.explain_unready(mine("/nowhere/agent"), find, {})


def test_a_compiled_program_needs_no_first_line() -> None:
    shell = shutil.which("sh")
    assert shell is not None
    assert os.access(shell, os.X_OK)
    assert command.explain_unready(mine(shell), lambda _: None, {}) == ""
