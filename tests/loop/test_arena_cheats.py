"""Agents in worktrees that live on the work of others, or that meddle with what others have."""

import sysconfig
import venv
from pathlib import Path

import pytest

from tests.lab import SPEC, Lab, Ran, finish, until
from tests.loop.rivals import CALC, CRITERIA, QUICK, agents, project, worktree

QUICKS = "../feature-42-quick-dark-mode/calc.py"
DONE = "def double(a):\n    return 2 * a\n\n\ndef half(a):\n    return a / 2\n"


def ran(lab: Lab, agent: str, *more: str) -> Ran:
    """A run of one agent in its worktree, one turn."""
    return lab.aigon(
        "feature-implement", "42", "--loop", "--agent", agent, "--worktree", "--max-iterations", "1", *more
    )


@pytest.fixture
def rivals(lab: Lab) -> Lab:
    """A project for several agents."""
    project(lab)
    return lab


@pytest.mark.slow
def test_a_program_that_reads_a_rivals_file_is_not_proven(rivals: Lab) -> None:
    agents(rivals, quick=QUICK, thief=f"""printf "exec(open('{QUICKS}').read())\\n" > calc.py""")
    assert ran(rivals, "quick").code == 0
    ended = ran(rivals, "thief")
    assert ended.code == 3 and "FileNotFoundError" in ended.out, ended.out + ended.err


@pytest.mark.slow
def test_a_program_that_reads_a_file_of_the_main_checkout_is_not_proven(rivals: Lab) -> None:
    agents(rivals, thief=f"""printf "exec(open('{rivals.root}/work/done.py').read())\\n" > calc.py""")
    rivals.write(".git/info/exclude", "/work/\n")
    rivals.write("work/done.py", CALC + DONE)
    ended = ran(rivals, "thief")
    assert ended.code == 3 and "FileNotFoundError" in ended.out, ended.out + ended.err


@pytest.mark.slow
def test_a_path_to_search_that_names_the_main_checkout_means_the_worktree(rivals: Lab) -> None:
    rivals.path("calc.py").unlink()
    rivals.write("src/calc.py", CALC)
    rivals.spec("all tests pass <!-- check: tests -->", "marked <!-- verify: test -f done.txt -->")
    agents(
        rivals, broken="printf 'def add(a, b):\\n    return 0\\n' > src/calc.py; touch done.txt", fine="touch done.txt"
    )
    rivals.env["PYTHONPATH"] = str(rivals.root / "src")
    assert ran(rivals, "fine").code == 0
    ended = ran(rivals, "broken")
    assert ended.code == 3 and "assert 0 == 3" in ended.out, ended.out + ended.err


def environment(lab: Lab) -> Path:
    """A virtual environment in the main checkout, ignored."""
    place = lab.path(".venv")
    venv.create(place, symlinks=True, with_pip=False)
    site = next(place.glob("lib/python3*/site-packages"))
    (site / "all.pth").write_text(sysconfig.get_path("purelib") + "\n")
    text = f"#!{place}/bin/python\nimport pytest\nraise SystemExit(pytest.main())\n"
    lab.write(".venv/bin/pytest", text, executable=True)
    lab.write(".gitignore", "__pycache__/\n.pytest_cache/\n.venv\n")
    return place


@pytest.mark.slow
@pytest.mark.parametrize("way", ["linked", "activated"])
def test_an_environment_in_the_main_checkout_serves_the_proof(rivals: Lab, way: str) -> None:
    place = environment(rivals)
    if way == "linked":
        rivals.config(worktree={"link": [".venv"]})
    else:
        rivals.env["PATH"] = f"{place}/bin:{rivals.env['PATH']}"
    agents(rivals, quick=QUICK)
    ended = ran(rivals, "quick")
    assert ended.code == 0, ended.out + ended.err


PLANT = "printf '#!/bin/sh\\n' > {0}/validation.sh; chmod +x {0}/validation.sh"
BREAK = "printf 'def add(a, b):\\n    return 0\\n' > calc.py; touch done.txt"


@pytest.mark.slow
@pytest.mark.parametrize("ignored", [True, False])
def test_what_an_agent_plants_in_the_main_checkout_decides_no_later_run(rivals: Lab, ignored: bool) -> None:
    rivals.write(".gitignore", "__pycache__/\n.pytest_cache/\n" + ".aigon/\n" * ignored)
    rivals.spec("marked <!-- verify: test -f done.txt -->")
    own = rivals.path(".aigon")
    agents(rivals, planter=f"{PLANT.format(own)}; echo '{{}}' > {own}/config.json; {BREAK}")
    before = (own / "config.json").read_bytes()
    ended = ran(rivals, "planter")
    assert ended.code == 3 and "main checkout was changed" in ended.out, ended.out + ended.err
    assert (own / "config.json").read_bytes() == before and not (own / "validation.sh").exists()
    again = ran(rivals, "planter", "--resume")
    assert again.code == 3, again.out + again.err


@pytest.mark.slow
def test_a_loop_that_starts_during_a_rivals_turn_takes_nothing_planted_over(rivals: Lab) -> None:
    rivals.write(".gitignore", "__pycache__/\n.pytest_cache/\n.aigon/\n")
    rivals.spec("marked <!-- verify: test -f done.txt -->")
    config, go = rivals.path(".aigon/config.json"), rivals.home / "go"
    planted = """{"checks": {"tests": {"enabled": false}},"""
    agents(
        rivals,
        planter=f"sed -i '0,/{{/s//{planted}/' {config}; touch {go}; while test -e {go}; do sleep 0.1; done",
        broken=BREAK,
    )
    assert rivals.aigon("feature-setup", "42", "planter", "broken").code == 0
    planter = rivals.start("feature-implement", "42", "--agent", "planter", "--worktree", "--max-iterations", "1")
    until(go.exists, 60)
    ended = ran(rivals, "broken")
    go.unlink()
    finish(planter, 60)
    assert ended.code == 3 and "0/1 passed" in ended.out, ended.out + ended.err


QUICKS_BRANCH = "feature-42-quick-dark-mode"


@pytest.mark.slow
@pytest.mark.parametrize("harm", ["update-ref -d refs/heads/{}", "update-ref refs/heads/{} {}~1"])
def test_a_rivals_work_that_is_done_outlives_what_others_do_to_its_branch(rivals: Lab, harm: str) -> None:
    agents(rivals, quick=QUICK, vandal=f"git {harm.format(QUICKS_BRANCH, QUICKS_BRANCH)}")
    assert ran(rivals, "quick").code == 0
    tip = rivals.git("rev-parse", QUICKS_BRANCH)
    assert ran(rivals, "vandal").code == 3
    assert rivals.git("for-each-ref", "--contains", tip)
    if "-d" in harm:
        assert rivals.git("rev-parse", QUICKS_BRANCH) == tip
        assert rivals.aigon("feature-done", "42").code == 0


@pytest.mark.slow
def test_git_metadata_that_leads_to_the_main_checkout_is_put_back(rivals: Lab) -> None:
    agents(rivals, vandal=f"echo 'gitdir: {rivals.root}/.git' > .git")
    head = rivals.git("rev-parse", "HEAD")
    own = (
        worktree(rivals, "vandal") / ".git",
        f"gitdir: {rivals.root}/.git/worktrees/{worktree(rivals, 'vandal').name}",
    )
    ended = ran(rivals, "vandal")
    assert ended.code == 3, ended.out + ended.err
    assert own[0].read_text().strip() == own[1] and rivals.git("rev-parse", "HEAD") == head
    rivals.sound()


@pytest.mark.slow
def test_a_criterion_that_came_to_the_spec_on_the_target_is_not_merged_unproven(rivals: Lab) -> None:
    rivals.spec(*CRITERIA, extra="## Notes\n\n" + "One more.\n" * 9)
    agents(rivals, quick=QUICK)
    assert ran(rivals, "quick").code == 0
    more = "## Acceptance Criteria of late\n\n- [ ] third <!-- verify: python3 -c 'import calc; calc.third' -->\n"
    rivals.write(SPEC, rivals.read(SPEC) + "\n" + more)
    rivals.commit("another criterion")
    done = rivals.aigon("feature-done", "42", "quick")
    assert done.code == 3 and "criterion 4" in done.err, done.out + done.err


@pytest.mark.slow
def test_what_one_agent_installs_into_a_shared_environment_serves_nobody_elses_proof(rivals: Lab) -> None:
    site = next(environment(rivals).glob("lib/python3*/site-packages"))
    rivals.config(worktree={"link": [".venv"]})
    on_it = "printf 'from extra import double, half\\n' >> calc.py"
    agents(rivals, first=f"cp calc.py {site}/extra.py; echo '{DONE}' >> {site}/extra.py", second=on_it)
    line = ("--agents", "first,second", "--parallel", "1", "--max-iterations", "1")
    ended = rivals.aigon("arena", "42", *line, timeout=200)
    assert ended.code != 0, ended.out + ended.err
