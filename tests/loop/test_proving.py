"""An agent writes tests for criteria before the work: what they are worth, who accepts them, what then decides."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aigon.commands import prove
from aigon.files.home import ensure_home, find_home
from aigon.git.person import Checkout
from aigon.job.world import World
from aigon.journal.decisions import Acceptance, AcceptanceTest
from aigon.journal.records import load_acceptance, save_acceptance
from aigon.spec.document import parse_spec
from tests.lab import Lab, Ran
from tests.loop.processes import answer_in_terminal

INBOX = "docs/specs/features/02-backlog/feature-42-multiply.md"
SPEC = "docs/specs/features/03-in-progress/feature-42-multiply.md"
BRANCH = "feature-42-multiply"
TESTS = "tests/acceptance/42"
FIVE = (
    "`./calc.py multiply A B` prints the product of two numbers",
    "`./calc.py multiply` works for negative numbers",
    "`./calc.py help` names `multiply`",
    "`./calc.py multiply` fails where an argument is no number",
    "the help is friendly",
)
CALC = """#!/usr/bin/env python3
import sys


def main(words):
    if words[0] == "help":
        return "add A B"
    return int(words[1]) + int(words[2])


print(main(sys.argv[1:]))
"""
BUILT = CALC.replace('"add A B"', '"add A B, multiply A B"').replace(
    "    return int(words[1]) +",
    '    if words[0] == "multiply":\n        return int(words[1]) * int(words[2])\n    return int(words[1]) +',
)
AUTHOR = r"""
if ! grep -q "Tests before the work" "$AIGON_PROMPT_FILE"; then
WORK
exit; fi
d=tests/acceptance/42; mkdir -p $d
if [ ! -e $d/criteria.txt ]; then
    echo stray > stray.txt
    echo '[ "$(./calc.py multiply 7 6)" = 42 ]' > $d/1.sh
    echo '[ "$(./calc.py multiply -2 3)" = -6 ]' > $d/2.sh
    echo './calc.py help | grep -q add' > $d/3.sh
    echo '! ./calc.py multiply 3 4 | grep -q 12 || ! ./calc.py multiply a 2' > $d/4.sh
    printf '%s\n' '1. verify: bash tests/acceptance/42/1.sh' '2. verify: bash tests/acceptance/42/2.sh' \
        '3. verify: bash tests/acceptance/42/3.sh' '4. verify: FOURTH' \
        '5. judge: nothing runs a tone of voice' > $d/criteria.txt
else
    echo './calc.py help | grep -q multiply' > $d/3.sh
fi
"""
FOURTH = "./calc.py multiply 3 4 | grep -q 12 \\&\\& ! ./calc.py multiply a 2"


def prepare(lab: Lab, author: str, criteria: tuple[str, ...] = FIVE, **config: object) -> Lab:
    """A calculator that can add, and a feature whose criteria are sentences."""
    lab.write("calc.py", CALC, executable=True)
    lab.spec(*criteria, name=INBOX)
    lab.agent(author)
    lab.config(judge={"backend": "none"}, **config)
    lab.commit("calculator")
    return lab


def author(work: str = "exit 1") -> str:
    """An author whose third test is vacuous at first; `work` is what it does where it has to build the feature."""
    return AUTHOR.replace("FOURTH", FOURTH.replace("\\&", "&")).replace("WORK", work)


def build(text: str) -> str:
    return f"cat > calc.py <<'PY'\n{text}PY\n"


def by_number(ran: Ran) -> dict[int, dict[str, object]]:
    return {test["number"]: test for test in ran.json["tests"]}


def test_a_vacuous_test_is_sent_back_and_the_others_wait_for_a_person(lab: Lab) -> None:
    before = prepare(lab, author(), FIVE[:3], notify=[{"command": ["sh", "-c", "cat > $HOME/told"]}]).git(
        "status", "--short", "--branch"
    )
    ran = lab.aigon("feature-prove", "42")
    assert ran.code == 4, ran.err + ran.out
    assert "stray.txt were put back: only files in tests/acceptance/42/ are yours" in ran.out
    assert "criterion 3 failed: `./calc.py help` names `multiply` (it passes before anything is built" in ran.out
    assert "3 of 3 open criteria would be decided by a test" in ran.out
    assert "Next: aigon approve 42 tests" in ran.out
    assert "tests for feature 42 multiply started: mine on" in ran.out
    told = json.loads((lab.home / "told").read_text())
    assert told["purpose"] == "tests" and told["text"].startswith("aigon, tests for feature 42 multiply: Needs a human")
    assert told["summary"].endswith("Next: aigon approve 42 tests\n")
    assert lab.git("status", "--short", "--branch") == before  # nothing of the person's is touched
    assert lab.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert lab.git("cat-file", "--batch-all-objects", "--batch-check").count("blob") < 10


@pytest.mark.slow
def test_accepted_tests_are_committed_before_the_work_and_decide(lab: Lab) -> None:
    prepare(lab, author(build(BUILT)))
    assert lab.aigon("feature-prove", "42").code == 4
    ran = lab.aigon("approve", "42", "tests:1,3", "--yes", "--json")
    assert ran.code == 0, ran.err
    assert [number for number, test in by_number(ran).items() if test["accepted"]] == [1, 3]
    assert lab.git("branch", "--show-current") == BRANCH
    assert set(lab.git("ls-files", TESTS).splitlines()) == {f"{TESTS}/{number}.sh" for number in (1, 3, 4)}
    assert "<!-- verify: bash tests/acceptance/42/1.sh -->" in lab.read(SPEC)
    assert "accepted by Ada" in lab.git("log", "-1", "--format=%b")
    again = lab.aigon("approve", "42", "tests", "--yes")
    assert (again.code, "No tests of feature 42 wait" in again.err) == (2, True)


def propose(lab: Lab, monkeypatch: pytest.MonkeyPatch, file: str, text: str, **known: Any) -> Acceptance:
    """Record a test of criterion 1 as if the agent `author` had written it."""
    monkeypatch.setenv("AIGON_STATE_HOME", lab.env["AIGON_STATE_HOME"])
    home = ensure_home(lab.root / ".git")
    (criterion,) = parse_spec(lab.read(INBOX).encode()).criteria
    command = f"{'python3' if file.endswith('.py') else 'bash'} {TESTS}/{file}"
    test = AcceptanceTest(1, criterion.text, "verify", command, "assertion", runs=3, is_accepted="accepted_by" in known)
    files = {f"{TESTS}/{file}": text.encode()}
    acceptance = Acceptance("42", "author", lab.git("rev-parse", "HEAD"), World.now(), (test,), files, **known)
    save_acceptance(home, acceptance)
    return acceptance


def test_yes_commits_the_tests_and_names_nobody(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    acceptance = propose(prepare(lab, "true", FIVE[:1]), monkeypatch, "1.sh", "exit 1\n")
    with Checkout.open(lab.root) as checkout:
        assert prove.decide(checkout, acceptance, (), yes=True, as_json=False) == 0
    assert lab.git("log", "-1", "--format=%B").endswith("Tests written by author, accepted by nobody.")
    assert lab.git("show", "--name-only", "--format=").split() == [SPEC, f"{TESTS}/1.sh"]
    assert f"<!-- verify: bash {TESTS}/1.sh -->" in lab.read(SPEC)
    recorded = load_acceptance(find_home(lab.root / ".git"), "42")
    assert recorded and (recorded.accepted_by, recorded.tests[0].is_accepted) == ("nobody", True)


@pytest.mark.slow
def test_yes_accepts_all_and_the_outcome_says_that_nobody_did(lab: Lab) -> None:
    prepare(lab, author(build(BUILT)), FIVE[:4])
    ran = lab.aigon("feature-prove", "42", "--yes", "--json")
    assert ran.code == 0, ran.err
    assert {n: (t["red"], t["runs"]) for n, t in by_number(ran).items()} == {
        1: ("assertion", 3),
        2: ("assertion", 3),
        3: ("assertion", 3),
        4: ("assertion", 3),
    }
    base = lab.git("rev-parse", "HEAD")
    done = lab.aigon("feature-implement", "42", "--loop")
    assert done.code == 0, done.out + done.err
    assert "tests written by mine, accepted by nobody" in done.out
    report = lab.aigon("report", "42", "--format", "md").out
    assert "Tests written by mine, accepted by nobody, committed before the work." in report
    assert "1. red by an assertion, 3 times of 3 in a clean room (bash tests/acceptance/42/1.sh)" in report
    assert base in json.dumps(json.loads(lab.read(".aigon/loop-state-42.json")))  # the work is compared with it


@pytest.mark.parametrize(
    ("test", "fault"),
    [
        ("exit 1 # sleep\nsleep 100", ""),
        ("sleep 1000", "timed out"),
        ("curl -sS http://example.invalid/ || { echo 'Could not resolve host: example.invalid'; exit 1; }", "network"),
        ("python3 -c 'import frobnicate'", "the spec never names"),
        ("if then", "syntax"),
        ("python3 -c 'raise RuntimeError(1)'", "no assertion"),
        ("true", "passes before anything is built"),
    ],
)
@pytest.mark.slow
def test_tests_that_show_nothing_are_told_apart(lab: Lab, test: str, fault: str) -> None:
    prepare(
        lab,
        f"mkdir -p {TESTS}; cat > {TESTS}/1.sh <<'SH'\n{test}\nSH\n"
        f"echo '1. verify: bash {TESTS}/1.sh' > {TESTS}/criteria.txt",
        FIVE[:1],
    )
    ran = lab.aigon("feature-prove", "42", "--max-iterations", "1", timeout=300)
    assert ran.code == (3 if fault else 4), ran.err + ran.out
    assert (f"criterion 1 {'failed' if fault else 'needs review'}" in ran.out, fault in ran.out) == (True, True)


def test_an_author_that_writes_nothing_ends_with_the_limits(lab: Lab) -> None:
    prepare(lab, "true", FIVE[:1])
    ran = lab.aigon("feature-prove", "42", "--max-iterations", "1")
    assert ran.code == 3
    assert "No test shows anything yet" in ran.out
    assert "Next: aigon feature-prove 42 --resume" in ran.out


def test_there_has_to_be_a_criterion_without_a_decider_and_no_work(lab: Lab) -> None:
    prepare(lab, "true", ("it is there <!-- verify: test -f x -->",))
    ran = lab.aigon("feature-prove", "42")
    assert (ran.code, "says what decides it already" in ran.err) == (2, True)
    lab.spec("it is there", name=INBOX)
    lab.commit("sentence")
    lab.git("switch", "-q", "-c", BRANCH)
    lab.write("x", "work\n")
    lab.commit("work")
    ran = lab.aigon("feature-prove", "42")
    assert (ran.code, "has begun, and tests are written before it" in ran.err) == (2, True)


def wait_for(has_happened: Callable[[], object]) -> None:
    """Wait until something has happened."""
    until = time.monotonic() + 60
    while not has_happened():
        assert time.monotonic() < until
        time.sleep(0.05)


def home_of(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AIGON_STATE_HOME", lab.env["AIGON_STATE_HOME"])
    home = find_home(lab.root / ".git")
    assert home
    return home


@pytest.mark.slow
def test_a_witness_turns_tests_green_and_is_thrown_away(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(lab, author(build(BUILT)), FIVE[:3])
    ran = lab.aigon("feature-prove", "42", "--witness", "--json", timeout=180)
    assert ran.code == 4, ran.err + ran.out
    first = by_number(ran)[1]
    assert first["green_with_witness"] is True
    mutants = {mutant["mutant"]: mutant["noticed"] for mutant in first["mutants"]}  # type: ignore[attr-defined]
    assert mutants["calc.py:9: return int(words[1]) + int(words[2])"]
    place = home_of(lab, monkeypatch) / "proving" / "42"
    assert not (place / "witness").exists()
    assert not (place / "witness.json").exists()
    assert (place / "witness-journal.jsonl").exists()
    assert "int(words[1]) *" not in lab.git("grep", "-h", "words", *lab.git("rev-list", "--all").split())


@pytest.mark.slow
def test_prove_first_stops_until_a_person_accepts_and_then_goes_on(lab: Lab) -> None:
    prepare(lab, author(build(BUILT)), FIVE[:1], ralph={"proveFirst": True})
    lab.agent("exit 1", name="worker")
    lab.config(defaultAgent=None)
    lab.commit("two agents")
    waits = lab.aigon("feature-implement", "42", "--loop", "--agent", "mine", timeout=300)
    assert (waits.code, "Next: aigon approve 42 tests" in waits.out) == (4, True), waits.err
    assert "iteration 2" not in waits.out
    again = lab.aigon("feature-implement", "42", "--loop", "--agent", "mine", timeout=300)
    assert (again.code, "iteration 1" in again.out, "Nothing is accepted yet" in again.out) == (4, False, True)
    assert lab.aigon("approve", "42", "tests", "--yes").code == 0
    done = lab.aigon("feature-implement", "42", "--loop", "--agent", "mine", timeout=300)
    assert done.code == 0, done.out + done.err
    assert "accepted by" not in done.out  # a person did


def test_nobody_is_paid_for_tests_of_a_run_that_cannot_start(lab: Lab) -> None:
    prepare(lab, "touch $HOME/called", FIVE[:1])
    lab.write("notes.txt", "mine\n")
    ran = lab.aigon("feature-implement", "42", "--loop", "--prove-first")
    assert (ran.code, "There are uncommitted changes" in ran.err) == (7, True)
    assert not (lab.home / "called").exists() and lab.read("notes.txt") == "mine\n"


def test_without_an_agent_the_spec_stays_in_the_inbox(lab: Lab) -> None:
    inbox = "docs/specs/features/01-inbox/feature-add.md"
    lab.spec("it adds", name=inbox)
    lab.commit("an idea")
    head = lab.git("rev-parse", "HEAD")
    ran = lab.aigon("feature-prove", "add", "--with", "nobody")
    assert (ran.code, "--with" in ran.err) == (2, True), ran.err
    lab.config(agents={name: {"adapter": "command", "command": ["true"]} for name in ("mine", "other")})
    lab.commit("two agents")
    ran = lab.aigon("feature-prove", "add")
    assert ran.code == 2 and "--with mine or --with other" in ran.err, ran.err
    assert "--agent" not in ran.err
    assert lab.path(inbox).exists() and lab.git("rev-parse", "HEAD~1") == head


def test_a_spec_that_needs_no_tests_stays_in_the_inbox(lab: Lab) -> None:
    lab.spec("it is there <!-- verify: test -f x -->", name="docs/specs/features/01-inbox/feature-add.md")
    lab.agent("true")
    lab.commit("an idea")
    head = lab.git("rev-parse", "HEAD")
    ran = lab.aigon("feature-prove", "add")
    assert (ran.code, "says what decides it already" in ran.err) == (2, True), ran.err
    assert lab.git("rev-parse", "HEAD") == head


@pytest.mark.slow
def test_a_killed_call_is_resumed_where_it_was(lab: Lab) -> None:
    prepare(lab, f"touch begun; [ -e {TESTS}/1.sh ] || sleep 1000", FIVE[:1])
    with lab.start("feature-prove", "42") as process:
        wait_for(lambda: [*lab.home.glob("state/repos/*/proving/42/tests/begun")])
        process.kill()
    lab.agent(author())
    ran = lab.aigon("feature-prove", "42", "--resume", "--json")
    assert ran.code == 4, ran.err + ran.out
    assert by_number(ran)[1]["worth"]


@pytest.mark.slow
def test_a_call_is_stopped_from_another_terminal(lab: Lab) -> None:
    prepare(lab, "touch begun; sleep 1000", FIVE[:1])
    with lab.start("feature-prove", "42") as process:
        wait_for(lambda: [*lab.home.glob("state/repos/*/proving/42/tests/begun")])
        assert lab.aigon("stop", "42", "--now").code == 0
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130, out
    assert "Next: aigon feature-prove 42 --resume" in out


def drafted(lab: Lab) -> None:
    """A project in which a program answers with a draft of one plain sentence, and the agent does the rest."""
    prepare(lab, author(build(BUILT)).replace("acceptance/42", "acceptance/43"))
    draft = {"summary": "", "criteria": [{"text": FIVE[0], "kind": "judge", "command": ""}], "questions": []}
    (lab.home / "draft").write_text(json.dumps(draft))
    lab.config(
        judge={"backend": "command", "command": ["sh", "-c", f"echo asked >> $HOME/asked; cat {lab.home}/draft"]}
    )
    lab.commit("a model")


@pytest.mark.slow
def test_go_makes_a_proven_feature_of_an_idea(lab: Lab) -> None:
    drafted(lab)
    ran = lab.aigon("feature-create", "Multiply numbers", "--draft", "--go", "--yes", timeout=180)
    assert ran.code == 0, ran.out + ran.err
    assert "An agent writes tests for criterion 1 first" in ran.out
    assert "Accepted the tests of criterion 1" in ran.out
    assert "Next: aigon feature-done 43" in ran.out


@pytest.mark.slow
def test_go_asks_before_anything_is_run(lab: Lab) -> None:
    lab.agent("touch $HOME/called")
    lab.write("specs/001-reset/spec.md", "# Reset\n\n- **FR-001**: A mail arrives\n")
    lab.commit("spec")
    code, shown = answer_in_terminal(lab, b"n\r", "feature-create", "--from", "specs", "--go")
    assert code == 4, shown
    assert "1. [ ] FR-001: A mail arrives  <a person>" in shown
    assert "Next: aigon feature-implement reset --loop --prove-first" in shown
    assert not (lab.home / "called").exists() and lab.git("status", "--porcelain") == ""


def test_go_is_refused_before_anything_is_paid(lab: Lab) -> None:
    drafted(lab)
    idea = ("feature-create", "Multiply numbers", "--go")
    lab.agent("true", name="other")
    lab.config(defaultAgent=None)
    ran = lab.aigon(*idea, "--draft", "--yes")
    assert (ran.code, "Several agents are configured" in ran.err) == (2, True)
    assert not (lab.home / "asked").exists()


@pytest.mark.slow
def test_go_takes_one_feature_that_has_criteria_and_a_person(lab: Lab) -> None:
    drafted(lab)
    idea = ("feature-create", "Multiply numbers", "--go")
    assert lab.aigon(*idea, "--yes").code == 2
    assert lab.aigon(*idea, "--draft").code == 4  # nobody can be asked
    assert lab.aigon(*idea, "--draft", "--yes", "--json").code == 2
    assert not (lab.home / "asked").exists()
    lab.write("specs/001-one/spec.md", "# One\n\n- **FR-001**: It is one\n")
    lab.write("specs/002-two/spec.md", "# Two\n\n- **FR-001**: It is two\n")
    lab.commit("specs")
    ran = lab.aigon("feature-create", "--from", "specs", "--go", "--yes")
    assert (ran.code, "--go takes one feature, and 2 were imported" in ran.err) == (2, True)
    assert "aigon feature-implement one --loop --prove-first" in ran.err
