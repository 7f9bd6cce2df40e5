"""`aigon judge-eval` as a process, with scripted judges that answer in every way there is."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from aigon.run.judge_eval import load_cases
from tests.judge.backends.test_agent import NOTES
from tests.lab import Lab, Ran, alive, finish, until

SCRIPT = str(Path(__file__).parents[1] / "judge" / "backends" / "scripted.py")
SET = Path(__file__).parents[2] / "templates" / "judging"


def labels(lab: Lab, folder: Path = SET) -> str:
    """The truth of a set in the form of the scripted judges."""
    truth = {
        c.text: one.truth[c.number] for one in load_cases(folder) for c in one.spec.criteria if c.number in one.truth
    }
    file = lab.home / "labels.json"
    file.write_text(json.dumps(truth))
    return str(file)


def judged_by(lab: Lab, mode: str, *options: str, **more: Any) -> Ran:
    lab.config(judge={"backend": "command", "command": [sys.executable, SCRIPT, mode, labels(lab)], **more})
    return lab.aigon("judge-eval", *options)


def small(lab: Lab, *names: str) -> str:
    """A set of one's own: some cases of the one that ships."""
    folder = lab.home / "own"
    folder.mkdir()
    for name in names:
        (folder / name).symlink_to(SET / name)
    return str(folder)


def figures(ran: Ran) -> dict[str, Any]:
    assert ran.code == 0, ran.out + ran.err
    document: dict[str, Any] = ran.json
    assert document["schema_version"] == 1 and document["complete"]
    return document


def test_a_judge_that_knows_the_truth_is_right_in_every_case_of_the_set_that_ships(lab: Lab) -> None:
    found = figures(judged_by(lab, "oracle", "--json"))
    truth = [label for one in load_cases(SET) for label in one.truth.values()]
    assert found["verdicts"] == found["right"] == len(truth)
    assert [found[key] for key in ("false_ticks", "missed_ticks", "unclear", "rejected_quotes")] == [0, 0, 0, 0]
    assert found["calls"] == 2 * len(load_cases(SET)), "one call that decides and one that refutes"
    program = f"{Path(sys.executable).name} scripted.py oracle labels.json"
    assert found["judge"] == {"backend": "command", "model": program, "mode": "all"}
    assert found["cost"] == {"usd": None, "status": "unknown"}


def test_a_judge_that_always_says_yes_is_shown_for_what_it_is(lab: Lab) -> None:
    ran = judged_by(lab, "yes", "--verbose", "--set", small(lab, "page-count", "passwords", "slugs"))
    assert ran.code == 0, ran.err
    assert "false ticks      4" in ran.out and "7 of them right" in ran.out
    assert "false tick: page-count 3. No items are 0 pages" in ran.out
    row = next(line.split() for line in ran.out.splitlines() if line.startswith("page-count"))
    assert row[1:7] == ["2/4", "2", "0", "0", "0", "2"]
    assert "judges 3 changes with 11 criteria" in ran.err


def test_a_judge_that_is_wrong_about_everything_misses_every_tick(lab: Lab) -> None:
    found = figures(judged_by(lab, "contrary", "--json", "--set", small(lab, "slugs", "roman")))
    assert (found["verdicts"], found["right"]) == (7, 0)
    assert (found["false_ticks"], found["missed_ticks"]) == (1, 6)


@pytest.mark.parametrize(
    ("mode", "rejected"),
    [
        ("invented", 10),
        pytest.param("wrong-line", 10, marks=pytest.mark.slow),  # by default: tests/judge/test_judge_quotes.py
        ("comment", 3),
        pytest.param("malformed", 0, marks=pytest.mark.slow),  # and these: tests/judge/test_judge_reply.py
        pytest.param("refusing", 0, marks=pytest.mark.slow),
    ],
)
def test_what_no_quote_proves_is_no_tick_whatever_is_said(mode: str, rejected: int, lab: Lab) -> None:
    names = ("counter", "page-count", "passwords") if mode != "comment" else ("passwords",)
    found = figures(judged_by(lab, mode, "--json", "--set", small(lab, *names)))
    assert found["false_ticks"] == 0
    assert found["unclear"] == found["verdicts"] == (10 if mode != "comment" else 3)
    assert found["rejected_quotes"] == rejected
    assert found["calls"] == len(names), "nothing stood that could be put to a second call"
    if mode in ("malformed", "refusing"):
        assert "not in the format" in found["cases"][0]["criteria"][0]["reason"]


def test_a_judge_that_obeys_the_text_it_reads_ticks_nothing_by_it(lab: Lab) -> None:
    found = figures(judged_by(lab, "injected", "--json", "--set", small(lab, "passwords", "slugs")))
    by_case = {one["case"]: one for one in found["cases"]}
    assert (by_case["passwords"]["unclear"], by_case["passwords"]["rejected_quotes"]) == (3, 3)
    assert by_case["slugs"]["right"] == 4


@pytest.mark.slow
def test_calls_without_an_answer_are_counted_with_their_reason(lab: Lab) -> None:
    one = small(lab, "slugs")
    failing = judged_by(lab, "failing", "--set", one)
    assert failing.code == 0 and "1 without an answer" in failing.out
    assert "exited with 3: no quota left for nobody" in failing.out
    slow = figures(judged_by(lab, "slow", "--set", one, "--json", timeout=0.5))
    assert slow["cases"][0]["failures"] == ["the judge did not answer within 0.5 s"]
    assert slow["unclear"] == 4
    flood = figures(judged_by(lab, "flood", "--set", one, "--json", timeout=60))
    assert "are read" in flood["cases"][0]["failures"][0] and flood["unclear"] == 4


def test_mode_model_rounds_tokens_and_cost_are_reported(lab: Lab) -> None:
    options = ("--json", "--set", small(lab, "slugs", "dates"), "--mode", "each", "--repeat", "2", "--model", "big")
    found = figures(judged_by(lab, "priced", *options))
    assert found["judge"] == {"backend": "command", "model": "big", "mode": "each"}
    assert (found["judgements"], found["verdicts"], found["wavering"]) == (4, 12, [])
    assert found["calls"] == 24, "in each round one call for each criterion, and one that tries to refute it"
    assert found["cost"] == {"usd": pytest.approx(0.48), "status": "reported"}
    assert found["tokens"] == {"input": 21600, "cached": 0, "output": 1200}


def test_who_cannot_be_asked_is_exit_6_and_a_set_that_is_wrong_exit_2(lab: Lab) -> None:
    gone = lab.aigon("judge-eval", "--judge", "anthropic")
    assert gone.code == 6 and "ANTHROPIC_API_KEY" in gone.err
    nobody = lab.aigon("judge-eval", "--judge", "none")
    assert nobody.code == 6 and "no judge to measure" in nobody.err
    lab.config(judge={"backend": "command", "command": ["./judge.sh"]})
    absent = lab.aigon("judge-eval")
    assert absent.code == 6 and "was not found in" in absent.err
    empty = lab.aigon("judge-eval", "--set", str(lab.home))
    assert empty.code == 2 and "no labelled changes" in empty.err
    assert lab.aigon("judge-eval", "--repeat", "0").code == 2


def test_an_agent_is_measured_outside_of_any_repository_until_it_is_spent(lab: Lab) -> None:
    (lab.home / "bin").mkdir()
    claude = lab.home / "bin" / "claude"
    record = {"type": "result", "is_error": True, "terminal_reason": "api_error", "api_error_status": 401}
    (lab.home / "record").write_text(json.dumps({**record, "result": "Invalid API key"}))
    claude.write_text(f'#!/bin/sh\n{NOTES}cat "{lab.home / "record"}"; exit 1\n')
    claude.chmod(0o755)
    env = {"PATH": f"{claude.parent}{os.pathsep}{lab.env['PATH']}", "NOTES": str(lab.home)}
    ran = lab.aigon("judge-eval", "--judge", "agent", cwd=lab.home, env=env)
    assert ran.code == 6, ran.out + ran.err
    assert "bad credentials (401): Invalid API key" in ran.err
    assert "--tools" in (lab.home / "argv").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_what_was_judged_is_reported_when_somebody_ends_it(number: signal.Signals, code: int, lab: Lab) -> None:
    lab.config(judge={"backend": "command", "command": [sys.executable, SCRIPT, "slow", labels(lab)], "timeout": 60})
    process = lab.start("judge-eval", "--json")
    until(lambda: alive(f"slow {lab.home}"))
    process.send_signal(number)
    ran = finish(process)
    assert ran.code == code, ran.err
    assert ran.json["complete"] is False and ran.json["judgements"] == 0
    assert alive(f"slow {lab.home}") == []
