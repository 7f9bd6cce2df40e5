"""The judge decides what no command can: all of it in one call, never while checks are red, never by silence."""

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from aigon.core.decide import JUDGE_UNAVAILABLE
from aigon.core.events import Spent
from aigon.core.judging import JudgeSettings
from aigon.core.model import Verdict
from aigon.core.state import State
from aigon.run.assess import assess
from tests.lab import Lab
from tests.model_server import ModelServer, Reply, message, refusal
from tests.run.bench import drain, job_of, looked, only, script, snapshot, spec_of, verdicts, world_of

JUDGE = JudgeSettings("anthropic", timeout=5.0)
TESTS = script("tests", "true")


def answer(*decisions: tuple[int, str]) -> Reply:
    items: list[dict[str, Any]] = [
        {"criterion": n, "evidence": "app.py: seen", "reason": f"because {n}", "status": status}
        for n, status in decisions
    ]
    return message(json.dumps({"verdicts": items}))


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Nothing of the person's environment, and a key that opens nothing."""
    for name in ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-key")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield monkeypatch


def judged_by(lab: Lab, server: ModelServer, credentials: pytest.MonkeyPatch, *criteria: str, **how: Any) -> Any:
    """The look, and what was spent on the judge."""
    credentials.setenv("ANTHROPIC_BASE_URL", server.url)
    checks = how.pop("checks", (TESTS,))
    judge = how.pop("judge", JUDGE)
    with world_of(lab) as world:
        base = lab.git("rev-parse", "HEAD")
        lab.write("app.py", "answer = 42\n")
        job = job_of(spec_of(*criteria), *checks, base=base, judge=judge, **how)
        look, events = drain(assess(job, world, snapshot(world, base=base), State()))
    return look, [event.cost for event in events if isinstance(event, Spent)]


def test_all_open_criteria_go_into_one_call_with_the_diff_and_the_findings(
    lab: Lab, credentials: pytest.MonkeyPatch
) -> None:
    with ModelServer(answer((1, "met"), (3, "unmet"))) as server:
        criteria = ("it is elegant", "it works <!-- verify: true -->", "it is quick")
        look, spent = judged_by(lab, server, credentials, *criteria)
        assert len(server.requests) == 1
        asked = server.requests[0].body["messages"][0]["content"]
    assert verdicts(look) == [("met", "judge"), ("met", "verify"), ("unmet", "judge")]
    assert (look.verdicts[0].evidence, look.verdicts[2].reason) == ("app.py: seen", "because 3")
    assert "answer = 42" in asked and "1. it is elegant" in asked and "3. it is quick" in asked
    assert "2. it works" not in asked.rsplit("The criteria to decide:", 1)[1]
    assert len(spent) == 1 and spent[0] > 0


def test_while_checks_are_red_nobody_is_asked(lab: Lab, credentials: pytest.MonkeyPatch) -> None:
    with ModelServer(answer((1, "met"))) as server:
        look, spent = judged_by(lab, server, credentials, "it is elegant", checks=(script("tests", "exit 1"),))
        assert server.requests == [] and spent == []
    assert only(look).status == "unclear" and "while checks are red (Validation script (tests))" in only(look).reason


def test_a_known_failure_does_not_keep_the_judge_away(lab: Lab, credentials: pytest.MonkeyPatch) -> None:
    with ModelServer(answer((1, "met"))) as server:
        checks = (script("tests", "exit 1"), script("lint", "true"))
        look, _ = judged_by(lab, server, credentials, "it is elegant", checks=checks, known=("tests",))
    assert only(look).status == "met"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (message("it looks fine to me"), "not in the format"),
        (message('{"verdicts": []}'), "leaves this criterion out"),
        (answer((1, "met"), (2, "met")), "criteria that were not asked (2)"),
        (message('{"verdicts": [{"criterion": 1', stop_reason="max_tokens"), "was cut"),
        (message("", stop_reason="refusal"), "refused"),
        (refusal(400, "bad request"), "400"),
        (refusal(429, "slow down", retry_after="3600"), "429"),
    ],
)
def test_what_is_malformed_cut_or_refused_is_unclear(
    lab: Lab, credentials: pytest.MonkeyPatch, reply: Reply, reason: str
) -> None:
    with ModelServer(reply) as server:
        look, _ = judged_by(lab, server, credentials, "it is elegant")
    assert (only(look).status, only(look).method) == ("unclear", "judge") and reason in only(look).reason


def test_a_late_answer_is_unclear_and_costs_nobody_knows_what(lab: Lab, credentials: pytest.MonkeyPatch) -> None:
    late = message('{"verdicts": []}', delay=30)
    with ModelServer(late) as server:
        judge = JudgeSettings("anthropic", timeout=0.5)
        look, spent = judged_by(lab, server, credentials, "it is elegant", judge=judge)
    assert only(look).status == "unclear" and "did not answer within 0.5 s" in only(look).reason
    assert spent == [None]


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_judge_that_will_never_answer_is_told_from_one_that_is_unsure(
    lab: Lab, credentials: pytest.MonkeyPatch, status: int
) -> None:
    with ModelServer(refusal(status, "invalid x-api-key")) as server:
        look, _ = judged_by(lab, server, credentials, "it is elegant")
    assert (only(look).status, only(look).method) == ("unclear", JUDGE_UNAVAILABLE)
    assert str(status) in only(look).reason


def test_a_judge_only_proposes_where_ticking_is_left_to_people(lab: Lab, credentials: pytest.MonkeyPatch) -> None:
    with ModelServer(answer((1, "met"), (2, "unmet"))) as server:
        look, _ = judged_by(lab, server, credentials, "it is elegant", "it is quick", auto_check=False)
    assert [v.status for v in look.verdicts] == ["unclear", "unmet"]
    assert "proposes met (because 1)" in look.verdicts[0].reason and "aigon approve" in look.verdicts[0].reason


def test_without_a_judge_nobody_is_asked(lab: Lab, credentials: pytest.MonkeyPatch) -> None:
    with ModelServer(answer((1, "met"))) as server:
        look, spent = judged_by(lab, server, credentials, "it is elegant", judge=None)
        assert server.requests == [] and spent == []
    assert only(look).status == "unclear"


def test_only_what_only_a_judge_can_decide_is_asked(lab: Lab, credentials: pytest.MonkeyPatch) -> None:
    with ModelServer(answer((1, "met"))) as server:
        criteria = ("it works <!-- verify: true -->", "All tests pass", "it reads well <!-- human -->")
        judged_by(lab, server, credentials, *criteria)
        assert server.requests == []


def test_a_stop_does_not_wait_for_the_judge_and_decides_nothing(lab: Lab, credentials: pytest.MonkeyPatch) -> None:
    with ModelServer(message('{"verdicts": []}', delay=30)) as server, world_of(lab) as world:
        credentials.setenv("ANTHROPIC_BASE_URL", server.url)
        threading.Timer(1.0, setattr, (world.stop, "now", True)).start()
        begun = time.monotonic()
        judge = JudgeSettings("anthropic", timeout=60)
        job = job_of(spec_of("it is elegant"), TESTS, base=lab.git("rev-parse", "HEAD"), judge=judge)
        look = looked(world, job)
    assert time.monotonic() - begun < 6
    assert not look.complete
    assert only(look) == Verdict(1, "unclear", "judge", "", "the run was stopped before this was decided")
