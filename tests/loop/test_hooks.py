"""Hooks and notifications in whole runs."""

import json
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.lab import DONE_WHEN, STATE, Lab, alive, finish, until
from tests.loop.processes import LOOP, RESUME, left_behind, turns

IN_PLACE = True
WORKS = 'echo turn >> "$HOME/turns"; touch done.txt'
SAYS = '#!/bin/sh\necho "$AIGON_HOOK" >> "$HOME/said"\n'
ROUND = ["before_iteration", "before_agent", "after_agent", "before_checks", "after_checks", "after_iteration"]


@pytest.fixture
def feature(lab: Lab) -> Lab:
    """A feature that its agent builds in one turn, proved in place: the clean room is not what this is about."""
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.config(proof="in-place")
    lab.agent(WORKS)
    return lab


def hook(lab: Lab, point: str, script: str = SAYS) -> None:
    """An executable of the project, committed like any other file of its."""
    lab.write(f".aigon/hooks/{point}", script, executable=True)


def said(lab: Lab) -> list[str]:
    file = lab.home / "said"
    return file.read_text().splitlines() if file.exists() else []


def hooks_ran(events: list[dict[str, Any]]) -> list[tuple[str, str, bool]]:
    return [(each["point"], each["status"], each["veto"]) for each in events if each["event"] == "hook_ran"]


def test_hooks_run_at_every_point_and_the_last_line_stays_the_end_of_the_run(feature: Lab) -> None:
    for point in ("before_loop", *ROUND, "needs_human", "after_loop"):
        hook(feature, point)
    feature.config(hooks={"after_iteration": {"command": "git tag built-$AIGON_ITERATION; cat > $HOME/look"}})
    ran = feature.aigon(*LOOP, "--json")
    assert ran.code == 0, ran.out + ran.err
    base = ["before_loop", "before_checks", "after_checks"]
    assert said(feature) == [*base, *ROUND, "after_loop"]
    assert {status for _, status, _ in hooks_ran(ran.events)} == {"ok"}
    assert ran.events[-1]["event"] == "run_finished"
    look = json.loads((feature.home / "look").read_text())
    assert (look["feature"], look["event"]["verdicts"][0]["status"]) == ("42", "met")
    assert feature.git("rev-parse", "built-1") == look["event"]["checkpoint"] == feature.git("rev-parse", "HEAD")
    feature.sound()


@pytest.mark.parametrize("committed", ["git rm -q done.txt", "git commit -q --allow-empty -m nothing"])
def test_what_somebody_commits_after_the_proof_is_not_proven(feature: Lab, committed: str) -> None:
    """A hook does so here; a person may as well while it runs."""
    hook(feature, "after_iteration", f"#!/bin/sh\n{committed}\ngit commit -q --allow-empty -m later\n")
    feature.commit("a hook")
    ran = feature.aigon(*LOOP)
    assert ran.code == 0, ran.out + ran.err
    done, is_same = feature.aigon("feature-done", "42"), "nothing" in committed
    assert (done.code, "has changed since it was proven" in done.err) == ((0, False) if is_same else (3, True)), done
    assert feature.path("done.txt").exists() is is_same


def test_a_veto_before_an_iteration_costs_nothing_and_a_resume_goes_on(feature: Lab) -> None:
    feature.config(hooks={"before_iteration": {"command": 'echo "budget: $(cat $HOME/no)"; ! test -f $HOME/no',
                                               "veto": True}})  # fmt: skip
    (feature.home / "no").write_text("spent")
    ran = feature.aigon(*LOOP)
    assert ran.code == 3, ran.out + ran.err
    assert "before_iteration (hooks.before_iteration) vetoed the run: budget: spent" in ran.out
    assert "--resume" in ran.out
    assert (feature.state()["status"], feature.state()["iteration"]) == ("stopped", 0)
    assert not (feature.home / "turns").exists()
    (feature.home / "no").unlink()
    ran = feature.aigon(*RESUME)
    assert (ran.code, turns(feature)) == (0, 1), ran.out + ran.err
    feature.sound()


def test_a_veto_before_the_agent_or_its_checks_loses_no_work(feature: Lab) -> None:
    hook(feature, "before_agent", '#!/bin/sh\n! test -f "$HOME/no-agent"\n')
    hook(feature, "before_checks", '#!/bin/sh\n! test -f "$HOME/no-checks" || test "$AIGON_ITERATION" = 0\n')
    feature.config(hooks={"before_agent": {"veto": True}, "before_checks": {"veto": True}})
    (feature.home / "no-agent").touch()
    (feature.home / "no-checks").touch()
    ran = feature.aigon(*LOOP, "--json")
    assert (ran.code, hooks_ran(ran.events)[-1]) == (3, ("before_agent", "failed", True))
    assert [each["event"] for each in ran.events if each["event"] in ("iteration_started", "turn_ended")] == []
    (feature.home / "no-agent").unlink()
    ran = feature.aigon(*RESUME)
    assert (ran.code, turns(feature)) == (3, 1), ran.out + ran.err
    assert feature.boxes() == " " and feature.path("done.txt").exists()
    (feature.home / "no-checks").unlink()
    ran = feature.aigon(*RESUME)
    assert (ran.code, turns(feature)) == (0, 1), "the turn that was paid for is judged: " + ran.out + ran.err
    assert feature.boxes() == "x"
    feature.sound()


def test_a_hook_that_hangs_ends_with_all_it_started_and_hinders_nothing(feature: Lab) -> None:
    hook(feature, "after_agent", "#!/bin/bash\nsetsid sleep 61.25 &\ntrap '' TERM\nsleep 61.25\n")
    feature.config(hooks={"after_agent": {"timeout": "0.5s"}})
    begun = time.monotonic()
    ran = feature.aigon(*LOOP, "--json")
    assert ran.code == 0, ran.out + ran.err
    assert time.monotonic() - begun < 15
    assert hooks_ran(ran.events) == [("after_agent", "timed_out", False)]
    assert alive("sleep 61.25") == []


def test_no_hook_that_an_agent_plants_or_edits_is_ever_run(feature: Lab) -> None:
    hook(feature, "after_agent", '#!/bin/sh\n. "$(dirname "$0")/common"\nsay after\n')
    hook(feature, "common", 'say() { echo "$1" >> "$HOME/said"; }\n')
    feature.write("scripts/tell.sh", "echo tell >> $HOME/said\n")
    feature.config(hooks={"after_iteration": {"command": ["sh", "scripts/tell.sh"]}})
    feature.config(notify=[{"command": "sh scripts/tell.sh"}])
    feature.commit("hooks")
    planted = "printf '#!/bin/sh\\necho planted >> \"$HOME/said\"\\n'"
    feature.agent(
        f"""
        echo turn >> "$HOME/turns"
        for name in before_checks after_checks after_agent after_iteration after_loop common needs_human; do
            {planted} > .aigon/hooks/$name; chmod +x .aigon/hooks/$name
        done
        mkdir .aigon/hooks/after_agent.d
        {planted} > .aigon/hooks/after_agent.d/a
        chmod +x .aigon/hooks/after_agent.d/a
        {planted} > scripts/tell.sh
        [ "$AIGON_ITERATION" = 1 ] || touch done.txt
        """
    )
    ran = feature.aigon(*LOOP)
    assert ran.code == 0, ran.out + ran.err
    assert said(feature) == ["after", "tell"] * 2 + ["tell"]
    assert "hook after_agent runs as it was when the run began: .aigon/hooks/" in ran.out
    assert feature.git("show", "HEAD:scripts/tell.sh") == "echo tell >> $HOME/said"
    assert not feature.path(".aigon/hooks/before_checks").exists()


def test_a_decision_from_a_hook_is_refused(feature: Lab) -> None:
    feature.spec("it reads well <!-- human -->")
    aigon = " ".join(feature.command("approve", "42", "1", "--yes"))
    feature.config(hooks={"needs_human": {"command": f"exec {aigon}"}})
    ran = feature.aigon(*LOOP, "--json")
    assert ran.code == 4, ran.out + ran.err
    (done,) = [each for each in ran.events if each["event"] == "hook_ran"]
    assert (done["point"], done["exit_code"]) == ("needs_human", 4)
    assert "is for a person" in done["output"]


def test_a_second_ctrl_c_does_not_wait_for_a_hook_nor_does_it_skip_the_last_one(feature: Lab) -> None:
    hook(feature, "before_agent", '#!/bin/sh\ntouch "$HOME/begun"; sleep 61.5\n')
    hook(feature, "after_loop", f"{SAYS}trap '' TERM\nsleep 61.5\n")
    feature.config(hooks={"before_agent": {"veto": True}})
    process = feature.start(*LOOP)
    until((feature.home / "begun").exists)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
    begun = time.monotonic()
    ran = finish(process)
    assert (ran.code, said(feature)) == (130, ["after_loop"]), ran.out + ran.err
    assert time.monotonic() - begun < 15, "ten seconds on a machine that has nothing else to do"
    assert (alive("sleep 61.5"), left_behind(feature)) == ([], [])
    assert not (feature.home / "turns").exists()


def test_a_run_that_was_refused_half_way_still_ends_with_its_last_hook(feature: Lab) -> None:
    feature.config(hooks={"after_loop": {"command": "cat > $HOME/end"}}, notify=[{"command": "cat > $HOME/told"}])
    feature.agent(f"{WORKS}; mv .git .gone")
    ran = feature.aigon(*LOOP)
    assert ran.code == 7, ran.out + ran.err
    ends = [json.loads((feature.home / "end").read_text())["event"], json.loads((feature.home / "told").read_text())]
    assert [(end["status"], end["exit_code"]) for end in ends] == [("refused", 7)] * 2


@contextmanager
def listening() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A service that takes documents: its address, and what it got."""
    got: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook", got
    finally:
        server.shutdown()
        server.server_close()


def test_what_a_context_hook_prints_is_in_the_prompt(feature: Lab) -> None:
    feature.agent('cat > "$HOME/prompt-$AIGON_ITERATION"; [ "$AIGON_ITERATION" = 1 ] || touch done.txt')
    script = """#!/bin/sh
if [ $AIGON_ITERATION = 2 ]; then echo half; exit 1; fi
echo '```ticket 7```'; seq 3000; echo noise >&2
"""
    hook(feature, "context", script)
    ran = feature.aigon(*LOOP)
    assert ran.code == 0, ran.out + ran.err
    first, second = ((feature.home / f"prompt-{number}").read_text() for number in (1, 2))
    rules, context = first.split("\n## Context from the project\n")
    assert "hook `.aigon/hooks/context`" in context and "````text\n```ticket 7```\n1\n2\n" in context
    assert "more characters are left out\n````" in context and len(context) < 8_300 and "noise" not in context
    assert "## Rules" in rules and "## Context from the project" not in second


def test_the_end_of_a_run_is_told_to_those_who_want_to_know(feature: Lab) -> None:
    with listening() as (url, got):
        feature.config(
            notify=[
                {"webhook": "$CHAT_HOOK_URL", "on": ["met", "needs_human"]},
                {"webhook": url, "on": ["stopped"]},
                {"command": ["sh", "-c", 'cat > "$HOME/told"; echo "$AIGON_RUN" > "$HOME/run"']},
                {"command": "exit 7", "webhook": "file:///etc/hostname", "to": "telegram"},
            ]
        )
        ran = feature.aigon(*LOOP, env={"CHAT_HOOK_URL": url})
    assert ran.code == 0, ran.out + ran.err
    (document,) = got
    assert document == json.loads((feature.home / "told").read_text())
    assert (document["status"], document["criteria"], document["feature"]) == ("met", {"met": 1, "total": 1}, "42")
    assert document["commit"] == feature.git("rev-parse", "HEAD")
    assert document["run"] == (feature.home / "run").read_text().strip()
    assert "42" in document["text"] and "proven" in document["text"]
    assert "notify[3].command could not be notified of the end of the run: failed: exit code 7" in ran.err
    assert "notify[3].webhook cannot be used: its address has to begin with https://" in ran.out
    assert "notify[3].to cannot be used: it is neither desktop, slack, ntfy nor an address" in ran.out
    assert feature.state(STATE)["status"] == "met"
