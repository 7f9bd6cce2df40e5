"""Criteria that only a judge can decide, against a scripted server on loopback: its word, and its silence."""

import json
from typing import Any

from tests.lab import DONE_WHEN, Lab, Ran
from tests.model_server import ModelServer, Reply, message, refusal

WORKS = f"it works <!-- verify: {DONE_WHEN} -->"
NO_KEY = {"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": ""}


def answer(*decisions: tuple[int, str], reason: str = "it is short") -> Reply:
    items: list[dict[str, Any]] = [
        {"criterion": n, "evidence": "done.txt: there", "reason": reason, "status": status} for n, status in decisions
    ]
    return message(json.dumps({"verdicts": items}))


def asked(server: ModelServer) -> dict[str, str]:
    """The environment of a person whose judge is `server`; the key opens nothing."""
    return {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "not-a-key", "NO_PROXY": "127.0.0.1"}


def project(lab: Lab, *criteria: str, agent: str = "touch done.txt") -> None:
    """A feature with one check that is red until the agent has worked."""
    lab.spec(*criteria)
    lab.config(checks={"tests": {"command": DONE_WHEN}})
    lab.agent(agent)


def looped(lab: Lab, server: ModelServer, *options: str) -> Ran:
    return lab.aigon("feature-implement", "42", "--loop", *options, env=asked(server))


def test_a_judge_that_finds_it_met_proves_the_rest_in_one_call(lab: Lab) -> None:
    project(lab, WORKS, "it is elegant", "it is quick")
    with ModelServer(answer((2, "met"), (3, "met"))) as server:
        ran = looped(lab, server)
        assert len(server.requests) == 1, "asked on a red base, or once per criterion"
    assert ran.code == 0, ran.out + ran.err
    assert lab.boxes() == "xxx"
    assert "judge: anthropic (claude-sonnet-5-5) for 2, 3" in ran.out
    state = lab.state()
    assert [c["method"] for c in state["criteria"]] == ["verify", "judge", "judge"]
    assert state["criteria"][1]["evidence"] == "done.txt: there"
    assert state["spend"]["usd"] == 0.003, "1,000 tokens in and 100 out at the prices of the model"
    lab.sound()


def test_what_the_judge_misses_is_told_to_the_agent(lab: Lab) -> None:
    project(
        lab, WORKS, "it is elegant", agent="touch done.txt; grep -q 'a whole page' && echo short > short.txt || true"
    )
    with ModelServer(answer((2, "unmet"), reason="the header takes a whole page"), answer((2, "met"))) as server:
        ran = looped(lab, server)
        assert len(server.requests) == 2
    assert ran.code == 0, ran.out + ran.err
    assert lab.path("short.txt").exists()
    assert len(lab.state()["iterations"]) == 3


def test_what_the_judge_cannot_say_waits_for_a_person(lab: Lab) -> None:
    project(lab, WORKS, "it is elegant")
    with ModelServer(message("Looks good to me!")) as server:
        ran = looped(lab, server)
    assert ran.code == 4, ran.out + ran.err
    assert lab.boxes() == "x "
    assert "not in the format" in lab.state()["criteria"][1]["reason"]
    assert "aigon approve 42 2" in ran.out


def test_a_judge_with_a_bad_key_is_unavailable_and_a_resume_asks_again(lab: Lab) -> None:
    project(lab, WORKS, "it is elegant")
    with ModelServer(refusal(401, "invalid x-api-key"), answer((2, "met"))) as server:
        ran = looped(lab, server)
        assert ran.code == 6, ran.out + ran.err
        assert "invalid x-api-key" in ran.out and lab.state()["status"] == "unavailable"
        turns = len(lab.state()["iterations"])
        again = lab.aigon("feature-implement", "42", "--resume", env=asked(server))
    assert again.code == 0, again.out + again.err
    assert "mine works" not in again.out
    assert lab.boxes() == "xx" and turns == 2


def test_where_no_judge_is_wanted_nobody_is_asked(lab: Lab) -> None:
    project(lab, WORKS, "it is elegant")
    lab.config(judge={"backend": "none"})
    with ModelServer(answer((2, "met"))) as server:
        ran = looped(lab, server)
        assert server.requests == []
    assert ran.code == 4, ran.out + ran.err
    assert "no judge is ready: criteria 2 will wait for `aigon approve`" in ran.out


def test_a_missing_key_is_said_before_the_first_turn(lab: Lab) -> None:
    project(lab, WORKS, "it is elegant")
    before = lab.fingerprint()
    named = lab.aigon("feature-implement", "42", "--loop", "--judge", "anthropic", env=NO_KEY)
    assert named.code == 6 and "ANTHROPIC_API_KEY" in named.err, named.out + named.err
    assert lab.fingerprint() == before
    unnamed = lab.aigon("feature-implement", "42", "--loop", env=NO_KEY)
    assert unnamed.code == 4, unnamed.out + unnamed.err
    lines = unnamed.out.splitlines()
    said = next(n for n, line in enumerate(lines) if "no judge is ready" in line)
    assert said < next(n for n, line in enumerate(lines) if "mine works" in line)


def test_a_judge_that_only_proposes_leaves_the_tick_to_a_person(lab: Lab) -> None:
    project(lab, WORKS, "it is elegant")
    lab.config(ralph={"autoCheckCriteria": False})
    with ModelServer(answer((2, "met"))) as server:
        ran = looped(lab, server)
        assert ran.code == 4, ran.out + ran.err
        assert "proposes met" in lab.state()["criteria"][1]["reason"] and lab.boxes() == "x "
        approved = lab.aigon("approve", "42", "2", "--yes")
        assert approved.code == 0, approved.out + approved.err
        again = lab.aigon("feature-implement", "42", "--resume", env=asked(server))
    assert again.code == 0, again.out + again.err
    assert lab.boxes() == "xx"
    assert "mine works" not in again.out


def test_a_judges_word_alone_is_no_proof_where_no_check_ran(lab: Lab) -> None:
    project(lab, WORKS, "it is elegant")
    with ModelServer(answer((2, "met"))) as server:
        ran = looped(lab, server, "--skip-validation")
    assert ran.code == 4, ran.out + ran.err
    assert "no check passed" in lab.state()["stop_reason"]
    assert lab.boxes() == "x ", "what is no proof was ticked and committed"
    assert len(lab.state()["iterations"]) == 2


def test_an_unknown_judge_is_refused_though_nothing_waits_for_one(lab: Lab) -> None:
    project(lab, WORKS)
    ran = lab.aigon("feature-implement", "42", "--loop", "--judge", "antropic")
    assert ran.code == 2 and "did you mean anthropic" in ran.err
