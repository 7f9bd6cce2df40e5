"""A program as a judge: real processes that answer, and all the ways in which they do not."""

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from aigon.judge.backends import command
from aigon.model.requests import JudgeAnswer, JudgeQuestion, JudgeSettings
from aigon.model.turns import Usage
from tests.lab import alive, until

SCRIPT = str(Path(__file__).with_name("scripted.py"))
DIFF = "--- a/app.py\n+++ b/app.py\n@@ -1 +1,2 @@\n one = 1\n+second = one + 1\n"
DOCUMENT: Mapping[str, object] = {
    "task": "decide",
    "criteria": [{"number": 2, "text": "it counts — quickly"}],
    "diff": DIFF,
    "reply_schema": {"type": "object"},
}


def question(**more: object) -> JudgeQuestion:
    return JudgeQuestion("rules", "shared", "task", {}, {**DOCUMENT, **more})


def settings(folder: Path, *argv: str, timeout: float = 30.0, **env: str) -> JudgeSettings:
    """A judge whose main checkout is `folder`."""
    there = {"PATH": os.environ["PATH"], **env}
    return JudgeSettings("command", timeout=timeout, command=argv, cwd=str(folder), env=there)


def asked(folder: Path, mode: str, *more: str, timeout: float = 30.0, **env: str) -> JudgeAnswer:
    return command.ask(question(), settings(folder, sys.executable, SCRIPT, mode, *more, timeout=timeout, **env))


def printing(folder: Path, output: bytes | str, code: int = 0) -> JudgeAnswer:
    """The answer of a program that prints this."""
    file = folder / "output"
    file.write_bytes(output.encode() if isinstance(output, str) else output)
    return command.ask(question(), settings(folder, "sh", "-c", f'cat "{file}"; exit {code}'))


def test_it_gets_the_question_on_standard_input_and_answers_on_standard_output(tmp_path: Path) -> None:
    answer = asked(tmp_path, "echo", "a b", MINE="1")
    seen: dict[str, Any] = json.loads(answer.text)
    assert answer.failure == "" and answer.available
    assert seen["got"] == DOCUMENT
    assert seen["argv"][1:] == ["echo", "a b"]
    assert seen["env"]["MINE"] == "1" and "HOME" not in seen["env"], "it gets the environment of the settings, no other"
    assert Path(seen["cwd"]).resolve() == tmp_path.resolve()
    assert (answer.cost, answer.cost_status, answer.usage) == (None, "unknown", None)


def test_it_may_say_what_it_cost_and_only_the_verdicts_are_passed_on(tmp_path: Path) -> None:
    answer = asked(tmp_path, "priced")
    assert (answer.cost, answer.cost_status, answer.usage) == (0.02, "reported", Usage(900, 50))
    assert list(json.loads(answer.text)) == ["verdicts"]


@pytest.mark.parametrize("cost", ["-1", '"0.1"', "true", "null", "1e999"])
def test_what_is_no_sum_of_money_is_an_unknown_cost(cost: str, tmp_path: Path) -> None:
    answer = printing(tmp_path, f'{{"verdicts": [], "cost_usd": {cost}, "usage": {{"input": -3}}}}')
    assert (answer.cost, answer.cost_status, answer.usage) == (None, "unknown", None)
    assert json.loads(answer.text) == {"verdicts": []}


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("", "it is empty"),
        (" \n", "it is empty"),
        ("Looks good to me!", "it is not JSON"),
        ('Here it is: {"verdicts": []}', "it is not JSON"),
        ('{"verdicts": []}\ndone', "it is not JSON"),
        ('{"verdicts": []}{"verdicts": []}', "it is not JSON"),
        ('```json\n{"verdicts": []}\n```', "it is not JSON"),
        ('{"verdicts": [', "it is not JSON"),
        ("[]", "it is no JSON object"),
        ('{"verdicts": [], "verdicts": []}', "the key 'verdicts' occurs twice"),
        ('{"verdicts": [{"criterion": NaN}]}', "NaN is no number"),
        (b'{"verdicts": "\xff"}', "it is not UTF-8"),
        ("[" * 200_000, "it is nested too deeply"),
    ],
)
def test_a_reply_that_is_not_exactly_one_json_object_is_none(output: bytes | str, why: str, tmp_path: Path) -> None:
    answer = printing(tmp_path, output)
    assert answer.text == "" and why in answer.failure, answer
    assert answer.available, "another question may be answered"


def test_a_program_that_fails_is_heard_to_its_last_word_and_not_believed(tmp_path: Path) -> None:
    answer = asked(tmp_path, "failing", JUDGE_API_KEY="sesame-open-1234")
    assert answer.text == ""
    assert answer.failure == "the judge exited with 3: no quota left for [redacted]"
    assert printing(tmp_path, '{"verdicts": []}', code=1).text == ""
    killed = command.ask(question(), settings(tmp_path, "sh", "-c", "kill -9 $$"))
    assert killed.failure == "the judge was ended by signal 9"


def test_a_flood_is_no_answer(tmp_path: Path) -> None:
    answer = asked(tmp_path, "flood")
    assert answer.text == "" and "1,048,576 are read" in answer.failure


def test_a_slow_one_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    begun = time.monotonic()
    answer = asked(tmp_path, "slow", str(tmp_path), timeout=0.5)
    assert answer.failure == "the judge did not answer within 0.5 s"
    assert time.monotonic() - begun < 15
    if sys.platform.startswith("linux"):
        until(lambda: alive(str(tmp_path)) == [])  # what is killed takes a moment to end


def script(folder: Path, text: str = '#!/bin/sh\ncat > asked.json; echo "{}"\n', mode: int = 0o755) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "judge"
    file.write_text(text)
    file.chmod(mode)
    return file


def test_a_relative_program_is_the_one_in_the_main_checkout(tmp_path: Path) -> None:
    script(tmp_path / "tools")
    there = settings(tmp_path, "./tools/judge")
    assert command.explain_unready(there, there.env) == ""
    assert command.ask(question(), there).text == "{}"
    assert json.loads((tmp_path / "asked.json").read_text()) == DOCUMENT
    by_name = settings(tmp_path, "judge", PATH=f"{tmp_path / 'tools'}:{os.environ['PATH']}")
    assert command.explain_unready(by_name, by_name.env) == ""


def test_what_cannot_be_run_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    def missing(*argv: str) -> str:
        there = settings(tmp_path, *argv)
        asked = command.ask(question(), there)
        assert not asked.available and asked.failure and asked.cost == 0.0
        return command.explain_unready(there, there.env)

    script(tmp_path / "a", mode=0o644)
    script(tmp_path / "b", text="cat\n")
    assert '"command": ["./judge.sh"]' in missing()
    assert "was not found on PATH" in missing("no-such-judge-program")
    assert f"was not found in {tmp_path}" in missing("./no/judge")
    assert "A program with arguments is a list" in missing("./a/judge --strictly")
    assert "chmod +x ./a/judge" in missing("./a/judge")
    assert "Begin it with a line such as #!/bin/sh" in missing("./b/judge")


def test_an_interpreter_that_is_missing_is_no_answer(tmp_path: Path) -> None:
    file = script(tmp_path / "c", text="#!/no/such/interpreter\n")
    answer = command.ask(question(), settings(tmp_path, str(file)))
    assert "did not start" in answer.failure and not answer.available


def test_text_of_any_kind_reaches_it_unharmed(tmp_path: Path) -> None:
    odd = "half \ud800, \x00, \u2028, </data>"
    answer = command.ask(question(spec=odd), settings(tmp_path, sys.executable, SCRIPT, "echo"))
    assert json.loads(answer.text)["got"]["spec"] == odd


def test_a_checkout_that_is_gone_is_no_answer_and_no_crash(tmp_path: Path) -> None:
    gone = replace(settings(tmp_path, "cat"), cwd=str(tmp_path / "gone"))
    assert "did not start" in command.ask(question(), gone).failure
