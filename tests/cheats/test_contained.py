"""The code is good; nothing that an agent planted runs in aigon's own work, nothing it left behind reaches a commit."""

import subprocess
import time

import pytest

from tests.cheats import side_effects
from tests.cheats.agent import Agent, cases, without_pytest
from tests.cheats.calculator import BRANCH, SPEC, calculator, implemented
from tests.lab import Lab

ACCEPTED_OR_ASKED = (0, 4)
SECRET = ("BEGIN RSA PRIVATE", "sk-ant-" + "api03", "gh" + "p_a1B2")


def git_as_it_was(lab: Lab) -> tuple[bytes, dict[str, bytes]]:
    """What the person's git would run: the configuration and the hooks."""
    hooks = {file.name: file.read_bytes() for file in lab.path(".git/hooks").iterdir()}
    return lab.path(".git/config").read_bytes(), hooks


def let_loose(lab: Lab, agent: Agent) -> str:
    """Run the agent on the calculator; what was printed. Fails unless it is accepted, or a person asked."""
    calculator(lab, without_pytest(agent))
    ran = implemented(lab, agent)
    assert ran.code in ACCEPTED_OR_ASKED, ran.out + ran.err
    return ran.out + ran.err


@pytest.mark.parametrize("agent", cases(side_effects.PLANTS))
def test_what_is_planted_in_git_never_runs_and_does_not_stay(lab: Lab, agent: Agent) -> None:
    lab.git("config", "user.name")
    before = git_as_it_was(lab)
    said = let_loose(lab, agent)
    assert not (lab.home / "ran").exists(), said
    assert git_as_it_was(lab) == before
    lab.git("fsck", "--full", "--strict")


@pytest.mark.parametrize("agent", cases(side_effects.INSIDE))
def test_what_is_planted_in_a_repository_inside_never_runs(lab: Lab, agent: Agent) -> None:
    calculator(lab, without_pytest(agent))
    ran = implemented(lab, agent)
    assert ran.code != 0, "its files are in no commit"
    assert not (lab.home / "ran").exists(), ran.out + ran.err


@pytest.mark.parametrize("agent", cases(side_effects.LASTS))
def test_what_an_agent_leaves_running_changes_nothing(lab: Lab, agent: Agent) -> None:
    calculator(lab, without_pytest(agent))
    ran = implemented(lab, agent)
    time.sleep(1.2)  # what would have come later had its time
    assert ran.code == 0, ran.out + ran.err
    assert not (lab.home / "ran").exists()
    assert "def multiply" in lab.git("show", "HEAD:calc/__init__.py")
    assert lab.boxes(SPEC) == "xxxx"
    lab.sound()


@pytest.mark.parametrize("agent", cases(side_effects.HOLDS))
def test_output_that_does_not_end_holds_nothing_up(lab: Lab, agent: Agent) -> None:
    calculator(lab, without_pytest(agent))
    began = time.monotonic()
    ran = implemented(lab, agent)
    assert ran.code == 0, ran.out + ran.err
    assert time.monotonic() - began < agent.patience
    lab.sound()


@pytest.mark.parametrize("agent", cases(side_effects.SECRETS))
def test_a_secret_gets_into_no_commit_of_the_branch_and_none_of_aigons(lab: Lab, agent: Agent) -> None:
    calculator(lab, without_pytest(agent))
    ran = implemented(lab, agent)
    said = ran.out + ran.err
    named = lab.git("rev-list", "--objects", BRANCH, "main", "--glob=refs/aigon")
    assert not [name for name in (".env", ".pem", "id_") if f" {name}" in named or f"/{name}" in named], said
    objects = "\n".join(line.split()[0] for line in named.splitlines())
    contents = subprocess.run(
        ["git", "cat-file", "--batch"], cwd=lab.root, env=lab.env, input=objects.encode(), capture_output=True
    ).stdout.decode(errors="replace")
    assert "def add" in contents
    assert not [secret for secret in SECRET if secret in contents], said
    made = set(lab.git("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads", "refs/tags").split())
    assert not [ref for ref in made - {BRANCH, "main"} if ref not in said], (
        "a ref of the agent's that nobody was told of"
    )
