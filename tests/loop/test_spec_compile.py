"""`spec-compile`: what it proposes in a real project, how that stands now, and what of it goes into the spec."""

import contextlib
import json
import os
import pty
import select
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from aigon.isolation.check_sandbox import choose_check_mechanism
from aigon.isolation.mechanisms import CLOSING
from tests.lab import SPEC, Lab
from tests.loop.untouched import files_of, print_of, refused
from tests.model_server import ModelServer, message

CALC = "__all__ = ['add']\n\n\ndef add(a, b):\n    return a + b\n"
MAIN = "import argparse\nargparse.ArgumentParser(prog='calc').parse_args()\n"
MULTIPLY = "import calc\n\n\ndef test_multiply():\n    assert calc.multiply(2, 3) == 6\n"
OPEN = (
    "`git grep -q multiply -- calc` passes",
    "`calc --help` mentions `--round`",
    "`calc --help` mentions `usage`",
    "`cat README.md` says `multiply`",
    "`cat pyproject.toml` contains `strict`",
    "`calc wipe` exits with 3",
    "It looks good",
    "It is fair to all users",
)
KEPT = ("it is done <!-- verify: test -f done.txt -->", "all is well <!-- judge -->", "All tests pass")


def calculator(lab: Lab) -> None:
    """A small Python project with a program, tests and a spec."""
    lab.write("calc/__init__.py", CALC)
    lab.write("calc/__main__.py", MAIN)
    lab.write("tests/test_multiply.py", MULTIPLY)
    lab.write("pyproject.toml", '[tool.pytest.ini_options]\ntestpaths = ["tests"]\n')
    lab.config(judge={"backend": "none"}, checks={"tests": {"command": "python3 -c 'import calc; calc.multiply'"}})
    lab.spec(*OPEN, *KEPT)
    lab.commit("a calculator")


def compiled(lab: Lab, *options: str, **env: str) -> dict[int, dict[str, Any]]:
    """The criteria of the document by number."""
    ran = lab.aigon("spec-compile", "42", "--json", *options, env=env)
    assert ran.code == 0, ran.out + ran.err
    assert ran.json["schema_version"] == 1
    return {criterion["number"]: criterion for criterion in ran.json["criteria"]}


def summary(criterion: dict[str, Any]) -> tuple[object, ...]:
    """What is proposed, how sure, how it stands."""
    made = criterion["proposal"]
    return made and made["kind"], made and made["command"], criterion["confidence"], criterion["base"]


def test_every_open_criterion_gets_a_proposal_and_nothing_is_touched(lab: Lab) -> None:
    calculator(lab)
    lab.write("dirty.txt", "not committed")
    before = print_of(lab)
    found = compiled(lab, "--run-all")
    assert print_of(lab) == before, "it left something behind"
    python = found[2]["proposal"]["command"].partition(" ")[0]
    round_ = "grep -qE -e '(^|[^[:alnum:]_-])--round([^[:alnum:]_-]|$)'"
    assert [summary(found[number]) for number in range(1, 12)] == [
        ("verify", "git grep -q multiply -- calc", "likely", "red"),
        ("verify", f"{python} -m calc --help | {round_}", "sure", "red"),
        ("verify", f"{python} -m calc --help | grep -qw usage", "sure", "green"),
        ("verify", "cat README.md | grep -qw multiply", "likely", "red"),
        ("verify", "cat pyproject.toml | grep -qw strict", "likely", "red"),
        ("verify", f"{python} -m calc wipe > /dev/null 2>&1; test $? -eq 3", "likely", "red"),
        ("human", None, "likely", "not run"),
        ("judge", None, "likely", "not run"),
        (None, None, None, "red"),
        (None, None, None, "not run"),
        (None, None, None, "red"),
    ]
    assert [n for n, criterion in found.items() if criterion["vacuous"]] == [3]
    assert (found[9]["kind"], found[9]["command"]) == ("verify", "test -f done.txt")
    assert "exit 1" in found[1]["detail"]


def test_yes_writes_what_is_sure_or_likely_and_red_now_and_no_other_line(lab: Lab) -> None:
    calculator(lab)
    raw = lab.path(SPEC).read_bytes().replace(b"looks good", b"looks good\r\n  and caf\xe9  ").replace(b"\n", b"\r\n")
    lab.path(SPEC).write_bytes(b"\xef\xbb\xbf" + raw.replace(b"\r\r", b"\r"))
    head = lab.git("rev-parse", "HEAD")
    before = lab.path(SPEC).read_bytes().split(b"\r\n")
    ran = lab.aigon("spec-compile", "42", "--yes", "--run-all", "--only", "2,3,7,8,9")
    assert ran.code == 0, ran.out + ran.err
    assert "Wrote the annotations of 2, 7 into" in ran.out and "Nothing was committed" in ran.out
    assert "passes already, so it cannot show that the feature was built" in ran.out
    after = lab.path(SPEC).read_bytes().split(b"\r\n")
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert [new.removeprefix(old.rstrip()) for old, new in changed] == [
        b" <!-- verify: python -m calc --help | grep -qE -e '(^|[^[:alnum:]_-])--round([^[:alnum:]_-]|$)' -->",
        b" <!-- human -->  ",
    ]
    kinds = {c["number"]: c["kind"] for c in lab.aigon("spec-show", "42", "--json").json["criteria"]}
    assert [kinds[n] for n in range(1, 12)] == [
        *("judge", "verify", "judge", "judge", "judge", "judge", "human", "judge"),
        *("verify", "judge", "check"),
    ]
    assert lab.git("rev-parse", "HEAD") == head
    assert lab.git("status", "--porcelain") == f"M {SPEC}".rjust(len(SPEC) + 3)
    again = lab.aigon("spec-compile", "42", "--yes", "--only", "2,7")
    assert "as it is: human" in again.out and again.out.rstrip().endswith("Nothing was written.")


def test_without_a_terminal_it_says_how_to_write_and_an_agent_may_not(lab: Lab) -> None:
    calculator(lab)
    lab.spec(*OPEN, "it takes its time <!-- verify: sleep 60 -->")
    lab.commit("slow")
    ran = lab.aigon("spec-compile", "42", "--only", "4,9", "--timeout", "1s", "--run-all")
    assert ran.code == 0 and "with --yes it writes 4" in ran.out
    assert "now: it does not run (timed out after 1" in ran.out
    inside = lab.aigon("spec-compile", "42", "--only", "4", "--yes", env={"AIGON_RUN": "1"})
    assert inside.code == 4 and "inside a run" in inside.err
    assert lab.git("status", "--porcelain") == ""


def test_mistakes_are_refused_like_everywhere(lab: Lab) -> None:
    calculator(lab)
    refused(lab, "spec-compile", "43", code=2, what="no feature '43'", where="docs/specs/", do="42 dark-mode")
    refused(lab, "spec-compile", "42", "--only", "12", code=2, what="no criterion 12", where=SPEC, do="1 to 11")
    refused(lab, "spec-compile", "42", "--only", "one", code=2, what="'one'", where="spec-compile", do="--help")
    refused(lab, "spec-compile", "42", "--judge", "nobody", code=2, what="'nobody'", where="--judge", do="Known")


def in_a_terminal(lab: Lab, typed: str, *arguments: str) -> str:
    """What a terminal shows while somebody types this."""
    master, slave = pty.openpty()
    env = {**lab.env, "TERM": "xterm", "COLUMNS": "200"}
    with subprocess.Popen(
        lab.command(*arguments), stdin=slave, stdout=slave, stderr=slave, cwd=lab.root, env=env
    ) as run:
        os.close(slave)
        os.write(master, typed.encode())
        shown, limit = b"", time.monotonic() + 40
        with contextlib.suppress(OSError):
            while time.monotonic() < limit and (run.poll() is None or select.select([master], [], [], 0)[0]):
                if select.select([master], [], [], 0.05)[0]:
                    shown += os.read(master, 65536)
        assert run.wait(5) == 0, shown.decode(errors="replace")
    os.close(master)
    return shown.decode(errors="replace")


@pytest.mark.slow
def test_in_a_terminal_every_proposal_is_asked_about(lab: Lab) -> None:
    calculator(lab)
    # Yes to running them all; 1 yes, 2 no, 3 (green) yes, 4 and all the rest that --yes would take.
    shown = in_a_terminal(lab, "y\ny\nn\ny\na\n", "spec-compile", "42")
    assert "may change something" in shown and "calc wipe" in shown
    assert "Wrote the annotations of 1, 3, 4, 5, 6, 7 into" in shown
    lab.git("checkout", "-q", "--", ".")
    quit_ = in_a_terminal(lab, "y\nn\nq\n", "spec-compile", "42", "--only", "4,6,7")
    assert "fails now, so it can show the feature (exit 1" in quit_ and "Nothing was written" in quit_
    assert lab.git("status", "--porcelain") == ""


def test_what_changes_files_of_the_project_changes_a_copy(lab: Lab) -> None:
    calculator(lab)
    edits = "from pathlib import Path\n\n\ndef test_power():\n    Path('README.md').write_text('power')\n    assert 0\n"
    lab.write("tests/test_power.py", edits)
    lab.spec(
        "`python -m pytest tests/test_power.py` passes", "`cat README.md` says `root`", "ok <!-- verify: nonsense -->"
    )
    lab.commit("tests that misbehave")
    before = files_of(lab.root)
    found = compiled(lab, "--run-all")
    assert files_of(lab.root) == before and lab.git("status", "--porcelain") == ""
    assert summary(found[1])[3] == "red" and found[2]["base"] == "red"
    assert (found[3]["base"], "not found" in found[3]["detail"]) == ("error", True)


def test_what_nobody_has_seen_runs_in_a_sandbox_without_a_network_or_not_at_all(lab: Lab) -> None:
    if choose_check_mechanism(lab.home / "private") not in CLOSING:
        pytest.skip("no sandbox here closes the network")
    lab.config(judge={"backend": "none"})
    reach = f"cat '{lab.home}/secret' || tail -n +3 /proc/net/dev | grep -v '^ *lo:'\n"
    lab.write("reach.sh", reach, executable=True)
    lab.home.joinpath("secret").write_text("mine")
    lab.spec("`./reach.sh now` works", "`cat README.md` says `nothing of it`")
    lab.commit("something that reaches out")
    unseen = compiled(lab)
    assert [unseen[n]["base"] for n in (1, 2)] == ["not run"] * 2 and "no person has seen" in unseen[2]["detail"]
    confined = compiled(lab, AIGON_SANDBOX="auto")
    assert [confined[n]["base"] for n in (1, 2)] == ["red"] * 2
    lab.config(judge={"backend": "none"}, proof="in-place")
    in_place = compiled(lab, "--run-all", AIGON_SANDBOX="auto")
    assert in_place[2]["base"] == "not run" and "in-place" in in_place[2]["detail"]


# a judge's model


def reply(*items: tuple[int, str, str], confidence: str = "sure") -> str:
    """What a model answers."""
    proposals = [
        {"criterion": n, "kind": kind, "command": command, "reason": f"because {n}", "confidence": confidence}
        for n, kind, command in items
    ]
    return json.dumps({"proposals": proposals})


def program(lab: Lab, answer: str) -> Path:
    """Configure a judge that keeps what it is asked, and answers this."""
    asked = lab.home / "asked.json"
    file = lab.home / "judge.sh"
    file.write_text(f"#!/bin/sh\ncat > '{asked}'\ncat <<'END'\n{answer}\nEND\n")
    file.chmod(0o755)
    lab.config(judge={"backend": "command", "command": [str(file)]})
    lab.commit("a judge")
    return asked


@pytest.fixture
def asked_lab(lab: Lab) -> Lab:
    """Six open criteria about nothing in particular."""
    lab.spec(*(f"claim number {n} holds" for n in range(1, 7)), "claim 7 holds <!-- human -->")
    return lab


def test_a_program_that_judges_proposes_under_the_same_rules(asked_lab: Lab) -> None:
    lab = asked_lab
    answer = json.loads(
        reply(
            (1, "verify", "test -f one.txt"),
            (2, "verify", "touch two.txt"),
            (3, "verify", "if then"),
            (4, "metric", "wc -l < README.md >= 1"),
            (5, "verify", "./five.sh"),
            (7, "verify", "true"),
        )
    )
    asked = program(lab, json.dumps(answer | {"cost_usd": 0.02}))
    ran = lab.aigon("spec-compile", "42", "--yes", "--run-all")
    assert ran.code == 0, ran.out + ran.err
    assert "Proposed by command (judge.sh), cost $0.02 (reported)" in ran.out
    document = json.loads(asked.read_text())
    assert document["task"] == "propose" and [c["number"] for c in document["criteria"]] == [1, 2, 3, 4, 5, 6]
    assert "Wrote the annotations of 1 into" in ran.out, "2 edits, 3 is no shell, 4 is green, 5 is the agent's to write"
    assert not lab.path("two.txt").exists()
    found = compiled(lab, "--run-all")
    assert found[1]["kind"] == "verify" and found[1]["proposal"] is None
    assert [summary(found[n]) for n in (2, 3, 4, 5, 6)] == [
        ("judge", None, "likely", "not run"),
        ("judge", None, "likely", "not run"),
        ("metric", "wc -l < README.md >= 1", "sure", "green"),
        ("verify", "./five.sh", "guess", "error"),
        ("judge", None, "likely", "not run"),
    ]
    assert "it edits: `touch`" in found[2]["note"] and "no shell command" in found[3]["note"]
    assert "write its own proof" in found[5]["reason"] and "nothing usable" in found[6]["note"]
    assert "it does not run" in ran.out


def test_a_model_is_asked_once_and_what_it_costs_is_shown(asked_lab: Lab) -> None:
    lab = asked_lab
    secret = "sk-ant-" + "x" * 30
    lab.write(SPEC, lab.read(SPEC) + f"\n## Notes\n\n{secret}\n")
    with ModelServer(message(reply((1, "human", ""), (2, "verify", "false")))) as server:
        env = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "not-a-key", "NO_PROXY": "127.0.0.1"}
        first = lab.aigon("spec-compile", "42", "--judge", "anthropic", "--yes", "--run-all", env=env)
        assert len(server.requests) == 1 and secret not in json.dumps(server.requests[0].body)
    assert first.code == 0 and "(estimated)" in first.out and "Wrote the annotations of 1, 2" in first.out
    program(lab, "Sure, here you go!")
    second = lab.aigon("spec-compile", "42", "--judge", "command", "--json")
    assert second.code == 0 and "not in the format" in second.json["model"]["failure"]
    assert [c["proposal"]["kind"] for c in second.json["criteria"][2:6]] == ["judge"] * 4
