"""A program that has nothing of its own to say is started and judged by what its kind says."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from aigon.agents.adapters import _program
from aigon.model.agents import AgentType
from aigon.model.turns import Agent, ProgramExit, TurnEnd, TurnReport, TurnRequest
from tests.agents.turns import place

HOSTILE = '# Do {prompt} and {{that}}, {model}\n"quotes" $HOME `id` \\ é \U0001f600\n-x\n'
KIND = AgentType("mine", "Mine", "mine", argv=("run", "{approval}", "{model}", "{effort}", "{budget}", "{prompt}"),
            approval=("--yes",), approval_as_root=("--some",), permission_flags=("--ask",), model=("-m", "{model}"),
            effort=("-e={effort}",), budget=("--usd", "{usd}"))  # fmt: skip


@pytest.fixture
def ask(tmp_path: Path) -> TurnRequest:
    made = place(tmp_path).ask()
    Path(made.prompt_file).write_text(HOSTILE, encoding="utf-8")
    return made


def words(kind: AgentType, agent: Agent, ask: TurnRequest) -> tuple[str, ...]:
    return _program.build_launch(kind, agent, ask).argv


def test_groups_are_there_only_where_somebody_asked_for_them(ask: TurnRequest) -> None:
    agent = Agent("mine", "mine")
    assert words(KIND, agent, ask) == ("mine", "run", "--yes", HOSTILE)
    full = words(
        KIND, replace(agent, model="{effort}", effort="max", args=("--more", "{model}")), replace(ask, budget=1.5)
    )
    assert full == ("mine", "run", "--yes", "-m", "{effort}", "-e=max", "--usd", "1.50", HOSTILE, "--more", "{model}")


def test_a_prompt_reaches_the_program_byte_for_byte_or_by_its_file(ask: TurnRequest, tmp_path: Path) -> None:
    echo = tmp_path / "echo.sh"
    echo.write_text('#!/bin/sh\nprintf %s "$2"\n')
    kind = replace(KIND, program="/bin/sh", argv=(str(echo), "first", "{prompt}"))
    argv = words(kind, Agent("mine", "mine"), ask)
    import subprocess

    assert subprocess.run(argv, capture_output=True, check=True).stdout.decode() == HOSTILE
    for unfit in (b"a\0b", b"x" * 200_000):
        Path(ask.prompt_file).write_bytes(unfit)
        assert words(kind, Agent("mine", "mine"), ask)[-1].startswith(f"Your task is in the file {ask.prompt_file}")
    Path(ask.prompt_file).write_bytes(b"caf\xe9")
    assert words(kind, Agent("mine", "mine"), ask)[-1] == "caf\ufffd"


def test_how_a_program_may_act_is_its_kinds_or_a_persons_word(ask: TurnRequest) -> None:
    agent, root = Agent("mine", "mine"), replace(ask, root=True)
    assert "--some" in words(KIND, agent, root)
    assert "--yes" in words(KIND, replace(agent, env={"IS_SANDBOX": "1"}), root)
    assert "--yes" in words(replace(KIND, approval_as_root=None), agent, root)
    own = words(KIND, replace(agent, args=("--ask=always",)), root)
    assert not {"--yes", "--some"} & set(own) and own[-1] == "--ask=always"


def test_braces_and_arguments_have_their_place(ask: TurnRequest) -> None:
    kind = replace(KIND, argv=("{args}", "{{x}}", "--in={prompt_file}", "{unknown}", "-"))
    assert words(kind, Agent("mine", "mine", args=("a",)), ask) == (
        "mine",
        "a",
        "{x}",
        f"--in={ask.prompt_file}",
        "{unknown}",
        "-",
    )
    assert _program.build_launch(replace(KIND, argv=("run",)), Agent("mine", "mine"), ask).stdin == "prompt"
    assert _program.build_launch(KIND, Agent("mine", "mine"), ask).stdin == "nothing"


def test_a_variable_of_the_kind_gives_way_to_a_persons(ask: TurnRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = replace(KIND, env={"MINE_MODEL": "{model}", "MINE_TRIES": "3", "MINE_HOME": "/x"})
    monkeypatch.setenv("MINE_HOME", "/y")
    env = _program.build_launch(kind, Agent("mine", "mine", "big", env={"MINE_TRIES": "9", "AIGON_RUN": "z"}), ask).env
    assert (env["MINE_MODEL"], env["MINE_TRIES"], env["AIGON_RUN"]) == ("big", "9", "run-1")
    assert "MINE_HOME" not in env and os.environ["MINE_HOME"] == "/y"


def test_what_is_missing_is_said_with_the_way_to_get_it() -> None:
    agent = Agent("mine", "mine")
    assert _program.explain_unready(KIND, agent, lambda _: "/bin/mine") == ""
    assert "no `mine` on PATH. Install it with: get" in _program.explain_unready(
        replace(KIND, install="get"), agent, lambda _: None
    )
    assert "names no program" in _program.explain_unready(replace(KIND, program=""), agent, lambda _: None)


FINE = TurnReport("finished", said="done", cost=0.5, cost_status="reported")


@pytest.mark.parametrize(
    ("exited", "seen", "end", "cost"),
    [
        (ProgramExit(0), FINE, "finished", 0.5),
        (ProgramExit(1), FINE, "failed", 0.5),
        (ProgramExit(-9), FINE, "failed", 0.5),
        (ProgramExit(0), TurnReport(), "failed", None),
        (ProgramExit(0), TurnReport("usage_limit", resets_at=9.0), "usage_limit", None),
        (ProgramExit(1), TurnReport("bad_credentials"), "bad_credentials", None),
        (ProgramExit(0, timed_out=True), FINE, "timed_out", 0.5),
        (ProgramExit(-15, killed=True, ended=1.0), FINE, "killed", 0.5),
        (ProgramExit(None, start_error="gone"), TurnReport(), "not_started", 0.0),
    ],
)
def test_neither_an_exit_code_nor_a_record_is_trusted_alone(
    ask: TurnRequest, exited: ProgramExit, seen: TurnReport, end: TurnEnd, cost: float | None
) -> None:
    turn = _program.build_turn(Agent("mine", "mine", "m"), ask, exited, seen)
    assert (turn.end, turn.cost, turn.model) == (end, cost, "m")
    assert end == "finished" or turn.detail or seen.end in ("usage_limit", "bad_credentials")
