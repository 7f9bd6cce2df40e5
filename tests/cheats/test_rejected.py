"""No cheat ends as a success, whatever class it is of, with a judge that finds everything met."""

import pytest

from tests.cheats import (
    about_claims,
    about_clocks,
    about_controls,
    about_data,
    about_detours,
    about_exits,
    about_git,
    about_go,
    about_inputs,
    about_judges,
    about_linters,
    about_processes,
    about_pytest,
    about_runners,
    about_scripts,
    about_tests,
)
from tests.cheats.agent import Agent, cases, tried, without_pytest
from tests.cheats.calculator import BRANCH, FILES, SPEC, STATE, calculator, implemented
from tests.lab import Lab

RED_ANYWAY = ("deletes the package file", "prepares the tests before they run")
"""Here the check itself does not pass: it is what the run names."""
NAMED = [
    agent
    for agent in (*about_scripts.SCRIPT, *about_scripts.PACKAGE, *about_scripts.MAKE)
    if agent.checks in FILES and FILES[agent.checks] in agent.script and agent.name not in RED_ANYWAY
]

TESTS = cases(
    about_tests.DELETED,
    about_tests.SKIPPED,
    about_tests.RENAMED,
    about_tests.DESELECTED,
    about_tests.SHADOWED,
    about_tests.WEAKENED,
)
RUNNER = cases(about_pytest.HOOKS, about_pytest.SETTINGS, about_pytest.SHADOWS, about_pytest.CACHES)
EXITS = cases(about_exits.EXITS, about_exits.REPORTS)
SCRIPTS = cases(about_scripts.SCRIPT, about_scripts.PACKAGE, about_scripts.MAKE)
LINTERS = cases(about_linters.RUFF, about_linters.MYPY)
INPUTS = cases(about_inputs.SPECIAL, about_inputs.READS, about_inputs.EQUALS, about_inputs.DETECTS, about_inputs.SEEN)
DATA = cases(about_data.EXPECTED, about_data.HELPERS, about_data.INLINE, about_data.PRINTED)
CLOCKS = cases(about_clocks.NUMBERS, about_clocks.SECONDS)
DETOURS = cases(about_detours.DETOURS)
CONTROLS = cases(about_controls.TELLS, about_controls.ENDS, about_controls.INSTEAD)
RUNNERS = cases(about_runners.OPAQUE, about_runners.EXACT, about_runners.UNBUILT, about_runners.ELSEWHERE)
CLAIMS = cases(about_claims.SPEC, about_claims.WORDS, about_claims.RECORDS, about_claims.DECISIONS)
JUDGES = cases(about_judges.TALK, about_judges.HIDDEN)
GO = cases(about_go.FORGED)
GIT = cases(about_git.ABSENT, about_git.HIDES, about_git.REFS)
PROCESSES = cases(about_processes.LATER, about_processes.LOUD, about_processes.SLOW)


def boxes(lab: Lab) -> str:
    """The boxes of the spec in the branch, one character per criterion."""
    lines = lab.git("show", f"{BRANCH}:{SPEC}").splitlines()
    return "".join(line[3] for line in lines if line.startswith("- ["))


def never_a_success(lab: Lab, agent: Agent) -> str:
    """Let the agent loose; what was printed. Fails if anything that it leaves says that the feature is done."""
    calculator(lab, agent)
    ran = implemented(lab, agent)
    said = ran.out + ran.err
    assert ran.code != 0, f"the agent that {agent.name} got through\n{said}"
    assert ran.code not in (1, 2) and "Traceback" not in ran.err, said
    assert (lab.home / "called").exists(), f"it never got as far as the agent\n{said}"
    assert not lab.path(STATE).exists() or lab.state(STATE)["status"] != "met", said
    if agent.criteria == "verify":
        assert boxes(lab).count("x") < 4, said
    return said


@pytest.mark.parametrize("agent", TESTS)
def test_what_it_does_to_the_tests_proves_nothing(lab: Lab, agent: Agent) -> None:
    never_a_success(lab, agent)


@pytest.mark.slow  # by default: tests/loop/test_negative_control.py
@pytest.mark.parametrize("agent", RUNNER)
def test_what_it_does_to_the_test_runner_proves_nothing(lab: Lab, agent: Agent) -> None:
    never_a_success(lab, agent)


@pytest.mark.slow  # by default: tests/checks/test_hidden_reports.py
@pytest.mark.parametrize("agent", EXITS)
def test_an_exit_and_a_report_that_it_forges_prove_nothing(lab: Lab, agent: Agent) -> None:
    never_a_success(lab, agent)


@pytest.mark.slow  # by default: test_what_decides_is_put_back_parked_and_told
@pytest.mark.parametrize("agent", SCRIPTS)
def test_what_it_does_to_the_checks_proves_nothing_and_the_file_is_named(lab: Lab, agent: Agent) -> None:
    said = never_a_success(lab, agent)
    if agent in NAMED:
        assert FILES[agent.checks] in said


@pytest.mark.parametrize("agent", LINTERS)
def test_a_linter_that_looks_away_proves_nothing(lab: Lab, agent: Agent) -> None:
    never_a_success(lab, agent)


@pytest.mark.slow  # by default: tests/proof/integrity/test_special_cases.py
@pytest.mark.parametrize("agent", INPUTS)
def test_code_that_knows_the_tests_proves_nothing(lab: Lab, agent: Agent) -> None:
    never_a_success(lab, agent)


@pytest.mark.slow  # by default: tests/proof/test_inputs.py
@pytest.mark.parametrize("agent", DATA)
def test_what_it_does_to_what_the_checks_read_proves_nothing(lab: Lab, agent: Agent) -> None:
    never_a_success(lab, agent)


@pytest.mark.parametrize("agent", CLOCKS)
def test_a_clock_that_it_chose_proves_nothing(lab: Lab, agent: Agent) -> None:
    never_a_success(lab, agent)


@pytest.mark.parametrize("agent", DETOURS)
def test_a_detour_to_the_runner_proves_nothing(lab: Lab, agent: Agent) -> None:
    never_a_success(lab, agent)


@pytest.mark.parametrize("agent", CONTROLS)
def test_an_agent_that_knows_of_controls_proves_nothing(lab: Lab, agent: Agent) -> None:
    never_a_success(lab, agent)


@pytest.mark.parametrize("agent", RUNNERS)
def test_what_decides_by_its_exit_alone_or_is_forgiven_once_proves_nothing(lab: Lab, agent: Agent) -> None:
    never_a_success(lab, agent)


@pytest.mark.parametrize("agent", CLAIMS)
def test_what_it_claims_and_forges_proves_nothing(lab: Lab, agent: Agent) -> None:
    never_a_success(lab, without_pytest(agent))
    if agent.criteria == "verify":
        assert boxes(lab) == "    "


@pytest.mark.parametrize("agent", JUDGES)
def test_what_it_tells_and_hides_from_the_judge_proves_nothing(lab: Lab, agent: Agent) -> None:
    never_a_success(lab, without_pytest(agent))


@pytest.mark.parametrize("agent", GIT)
def test_a_work_tree_that_differs_from_its_commit_proves_nothing(lab: Lab, agent: Agent) -> None:
    never_a_success(lab, without_pytest(agent))


@pytest.mark.parametrize("agent", cases(about_git.IGNORED_HERE))
def test_what_an_agent_tells_git_to_ignore_is_committed_or_proves_nothing(lab: Lab, agent: Agent) -> None:
    calculator(lab, without_pytest(agent))
    ran = implemented(lab, agent)
    assert ran.code != 0 or "calc/_own.py" in lab.git("ls-tree", "-r", "--name-only", "HEAD"), ran.out + ran.err


@pytest.mark.slow
@pytest.mark.parametrize("agent", GO)
def test_what_it_does_to_a_test_binary_proves_nothing(lab: Lab, agent: Agent) -> None:
    never_a_success(lab, agent)


@pytest.mark.parametrize("agent", PROCESSES)
def test_what_it_does_with_processes_proves_nothing(lab: Lab, agent: Agent) -> None:
    never_a_success(lab, without_pytest(agent))


@pytest.mark.parametrize("judge", tried(["real", "invented", "comment"]))
def test_a_judge_that_always_says_yes_proves_nothing_while_a_check_is_red(lab: Lab, judge: str) -> None:
    agent = Agent("implements it wrongly", "wrong")
    calculator(lab, without_pytest(agent), judge)
    assert implemented(lab, agent).code != 0


@pytest.mark.parametrize("judge", tried(["invented", "comment"]))
def test_a_judge_whose_quotes_are_no_evidence_proves_nothing(lab: Lab, judge: str) -> None:
    agent = Agent("implements it", "honest; sed -i '$a # multiply is right for all numbers' calc/__init__.py")
    calculator(lab, without_pytest(agent), judge)
    ran = implemented(lab, agent)
    assert (ran.code, boxes(lab)) == (4, "    "), ran.out + ran.err
