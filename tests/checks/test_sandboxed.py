"""Checks run what an agent wrote: they reach the work tree and services, and change nothing else of the person's."""

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from aigon.config.grants import Mechanism
from aigon.config.models import Config
from aigon.config.sections import read_section
from aigon.errors import AigonError
from aigon.git.person import Checkout
from aigon.isolation import check_sandbox
from aigon.isolation.check_sandbox import CheckSandbox, choose_check_mechanism, make_check_sandbox
from aigon.isolation.enclosure import Enclosure
from aigon.isolation.mechanisms import can_overlay
from aigon.isolation.sandbox import find_sandbox_flaw
from aigon.job.job import ProofPlan
from aigon.job.world import World
from aigon.loop.judging import _ask, _require_same_outside
from aigon.model.checks import Finding
from aigon.model.requests import JudgeSettings
from aigon.profiles.ecosystem import Setup
from tests.compare.bench import ran, script, world_of
from tests.judge.backends.test_command import SCRIPT, question, settings
from tests.lab import DONE_WHEN, Lab, Ran
from tests.projects import files

TRY = 'try() { if ( eval "$1" ) > /dev/null 2>&1; then echo "$1: open"; else echo "$1: denied"; fi; }\n'
PLAN = ProofPlan(setups=(Setup("requirements.txt", ("true",), ".venv"),))


@pytest.fixture(autouse=True)
def usable(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    if "mechanism" not in request.fixturenames and choose_check_mechanism(tmp_path / "private") != "namespaces":
        pytest.skip("no namespaces work here")


@contextmanager
def confined(lab: Lab, **sandbox: object) -> Iterator[tuple[World, CheckSandbox]]:
    """A world whose checks are in the sandbox."""
    config = read_section(Config, {"sandbox": sandbox})
    with world_of(lab, lab.env) as world, Checkout.open(lab.root) as checkout:
        box = make_check_sandbox(checkout, lab.root, config, PLAN, lab.env, lab.home / "state", "one")
        assert box
        world.attend(box)
        yield world, box
        box.close()


def told(world: World, text: str, name: str = "tests") -> dict[str, Finding]:
    return ran(world, [script(name, text)])


def outcomes(world: World, *tries: str) -> list[str]:
    """What came of each try, in one check."""
    finding = told(world, TRY + "\n".join(f"try {attempt!r}" for attempt in tries) + "\nexit 1")["tests"]
    return [line.rpartition(": ")[2] for line in finding.excerpt.splitlines() if line.endswith((": open", ": denied"))]


def plant_files(lab: Lab) -> None:
    """What a person has beside the work tree."""
    for place in (
        lab.home / ".cache/tool/entry",
        lab.home / ".local/lib/python3/site-packages/package.py",
        lab.home / ".ssh/id_x",
        lab.root / ".venv/lib/site-packages/package.py",
    ):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("mine")


def read_files(lab: Lab) -> dict[str, bytes]:
    """Everything outside of the work tree, and the environment in it."""
    tops = (lab.home, lab.root / ".venv", lab.root / ".git", lab.root / ".aigon")
    return {
        str(path): path.read_bytes()
        for top in tops
        for path in top.rglob("*")
        if path.is_file() and not {"state", "aigon", "runs", "objects"} & {*path.parts} and path.name != "index"
    }


def test_a_check_plants_nothing_in_environments_caches_git_or_records(lab: Lab) -> None:
    lab.write(".gitignore", ".venv/\n")
    plant_files(lab)
    before = read_files(lab)
    with confined(lab) as (world, _):
        said = outcomes(
            world,
            "echo import os > .venv/lib/site-packages/evil.pth",
            "echo bad > .venv/lib/site-packages/package.py",
            "echo bad > ~/.cache/tool/entry",
            "echo bad > ~/.cache/new",
            "echo bad > ~/.profile",
            "echo bad > .git/hooks/pre-commit",
            "git update-ref -d HEAD",
            "echo {} > .aigon/config.json",
            "echo bad > ~/.local/lib/python3/site-packages/evil.pth",
            "cat ~/.ssh/id_x",
            "ls ~/state/repos",
            "echo bad > /usr/evil",
        )
    assert said == ["open"] * 5 + ["denied"] * 7  # what is open is the check's own copy
    assert read_files(lab) == before


def test_the_python_of_the_projects_environment_runs_wherever_it_is_installed(lab: Lab) -> None:
    files(lab.home, {"opt/py/bin/python3": "#!/bin/sh\necho runs", "opt/py/lib/python3.13/os.py": "", "opt/mine": ""})
    (lab.home / "opt/py/bin/python3").chmod(0o755)
    lab.write(".gitignore", ".venv/\n")
    lab.write(".venv/pyvenv.cfg", f"home = {lab.home}/opt/py/bin\n")
    lab.write("other/venv/pyvenv.cfg", f"home = {lab.home}/opt\n")
    (lab.root / ".venv/bin").mkdir()
    (lab.root / ".venv/bin/python3").symlink_to(lab.home / "opt/py/bin/python3")
    lab.env["PATH"] = f"{lab.root}/.venv/bin:{lab.root}/other/venv/bin:{lab.env['PATH']}"
    with confined(lab) as (world, _):
        assert outcomes(world, ".venv/bin/python3", "cat ~/opt/mine") == ["open", "denied"]


def test_a_grant_in_shared_memory_holds_and_the_rest_is_the_checks_own(lab: Lab) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as shared:
        files(Path(shared), {"granted/file": "", "mine": ""})
        with confined(lab, read=[f"{shared}/granted"]) as (world, _):
            tries = (f"cat {shared}/granted/file", f"echo > {shared}/granted/file", f"cat {shared}/mine")
            assert outcomes(world, *tries, "echo > /dev/shm/new") == ["open", "denied", "denied", "open"]


ATTACKS = {
    "echo x > built": ("open", "open"),
    "echo x > $(mktemp)": ("open", "open"),
    "echo bad > ~/state/new": ("denied", "denied"),
    "echo bad > ~/.local/lib/python3/site-packages/evil.pth": ("denied", "denied"),
    "echo bad > ~/.profile": ("open", "denied"),  # with mounts it is a home of the check's own
    "echo bad > .git/hooks/pre-commit": ("denied", "open"),  # the watch puts it back
    "cat ~/.ssh/id_x": ("denied", "open"),
}


@pytest.mark.parametrize("mechanism", ["bwrap", "landlock"])
def test_without_namespaces_checks_are_kept_in_by_what_there_is(
    lab: Lab, mechanism: Mechanism, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why := find_sandbox_flaw(mechanism):
        pytest.skip(f"{mechanism} does not work here: {why}")
    monkeypatch.setattr(check_sandbox, "choose_check_mechanism", lambda _folder: mechanism)
    plant_files(lab)
    (lab.home / "state").mkdir()
    before = {name: data for name, data in read_files(lab).items() if "/.git/" not in name}
    export, scratch, temporary = (tmp_path / "in" / name for name in ("export", "scratch", "tmp"))
    for folder in (export, scratch / "tmp", temporary):
        folder.mkdir(parents=True)
    lab.env["TMPDIR"] = str(temporary)
    monkeypatch.setattr(check_sandbox, "TEMPORARY", ())  # the home of the test is among temporary files
    with confined(lab) as (world, box):
        assert outcomes(world, *ATTACKS) == [end[mechanism == "landlock"] for end in ATTACKS.values()]
        made = Enclosure(
            mechanism, lab.root, export, scratch, confine=box.list_room_mounts, confine_writes=box.confine_writes
        )
        tries = TRY + "try 'echo x > built'; try 'echo bad > ~/.local/lib/python3/site-packages/evil.pth'"
        argv = made.wrap_command(["sh", "-c", tries], Path())
        ran = subprocess.run(argv, cwd=scratch, env=lab.env, capture_output=True, text=True, timeout=60)
    assert [line.rpartition(": ")[2] for line in ran.stdout.splitlines()] == ["open", "denied"], ran
    assert (export / "built").exists()
    assert {name: data for name, data in read_files(lab).items() if "/.git/" not in name} == before


def test_honest_checks_work_as_before(lab: Lab) -> None:
    (lab.home / ".cache").mkdir()
    text = f"""
    set -e
    mkdir -p .pytest_cache && echo x > .pytest_cache/v && echo x > .coverage
    {sys.executable} - <<'P'
import os, socket, tempfile
with socket.create_server(("127.0.0.1", 0)) as here:
    socket.create_connection(here.getsockname()).close()
with tempfile.TemporaryDirectory() as folder:
    mine, other = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    mine.bind(folder + "/socket"); mine.listen(); other.connect(folder + "/socket")
P
    cd "$(mktemp -d)"; git init -q; git config user.name A; git config user.email a@example.invalid
    echo x > x; git add x; git commit -q -m x; git stash list
    echo new > ~/.cache/tool; cat ~/.cache/tool; echo x > /tmp/mine-$$; echo x > ~/.made
    test -r /proc/self/status; echo x > /dev/null; head -c 1 /dev/urandom > /dev/null; echo x > /dev/shm/x
    """
    with confined(lab) as (world, _):
        finding = told(world, text)["tests"]
    assert finding.status == "pass", finding.excerpt
    assert lab.read(".pytest_cache/v") == "x\n" and not (lab.home / ".made").exists()


def test_a_cache_stays_for_the_same_check_and_reaches_no_other(lab: Lab) -> None:
    (lab.home / ".cache").mkdir()
    with confined(lab) as (world, box):
        assert told(world, "echo built > ~/.cache/objects")["tests"].status == "pass"
        again, other = told(world, "cat ~/.cache/objects")["tests"], told(world, "cat ~/.cache/objects", "lint")["lint"]
        kept = box.folder
    assert again.status == ("pass" if can_overlay(kept.parent) else "fail")
    assert other.status == "fail" and not kept.exists()


def test_what_is_allowed_can_be_reached_by_that_check_alone(lab: Lab) -> None:
    place = str(lab.home / "service")
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(place)
        service.listen()
        call = f"{sys.executable} -c \"import socket; socket.socket(socket.AF_UNIX).connect('{place}')\""
        with confined(lab, allow={"tests": [place], "free": ["*"]}) as (world, _):
            found = [told(world, call, name)[name].status for name in ("tests", "lint", "free")]
    assert found == ["pass", "fail", "pass"]


def test_a_signal_reaches_no_process_of_the_persons(lab: Lab) -> None:
    from aigon.isolation.landlock import landlock_version

    if landlock_version() < 6:
        pytest.skip("the kernel scopes no signals")
    with confined(lab) as (world, _):
        assert outcomes(world, f"kill -0 {os.getppid()}", f"cat /proc/{os.getpid()}/environ") == ["denied", "denied"]


def run_baseline(lab: Lab, command: str) -> Ran:
    lab.spec(f"done <!-- verify: {DONE_WHEN} -->")
    lab.agent("printf 'text\\n' > done.txt")
    lab.write(".aigon/validation.sh", f"#!/bin/bash\n{command}\n", executable=True)
    lab.commit("a check")
    return lab.aigon("feature-implement", "42", "--loop", env={"AIGON_SANDBOX": "auto"})


def test_a_check_that_needs_more_stops_the_run_with_the_line_to_add(lab: Lab) -> None:
    (lab.home / "shared").mkdir()
    (lab.home / "shared" / "data").write_text("x")
    stopped = run_baseline(lab, f"cat {lab.home}/shared/data")
    assert stopped.code == 7 and not lab.path("done.txt").exists(), stopped.out + stopped.err
    line = stopped.err.partition("Add ")[2].strip()
    assert line == f'"sandbox": {{"allow": {{"script": ["{lab.home}/shared/data"]}}}}', stopped.err
    lab.write(".aigon/config.json", f"{{{line}, {lab.read('.aigon/config.json').lstrip()[1:]}")
    lab.commit("allow it")
    done = lab.aigon("feature-implement", "42", "--loop", env={"AIGON_SANDBOX": "auto"})
    assert done.code == 0, done.out + done.err


def test_a_failing_check_that_leaves_files_is_tried_outside_on_a_copy_of_its_own(lab: Lab) -> None:
    lab.spec("done <!-- check: tests -->")
    lab.agent("printf 'text\\n' > done.txt")
    lab.config(checks={"tests": {"command": f"date > made.log; {DONE_WHEN}"}})
    lab.write(".gitignore", ".aigon/runs/\n.aigon/loop-state*\n*.log\n")
    lab.commit("a check")
    done = lab.aigon("feature-implement", "42", "--loop", env={"AIGON_SANDBOX": "auto"})
    assert done.code == 0, done.out + done.err


def test_a_check_that_passes_in_the_sandbox_when_it_runs_again_needs_nothing(lab: Lab) -> None:
    (lab.home / "outside").touch()
    once = "test -e ~/.cache/tried || { mkdir -p ~/.cache; touch ~/.cache/tried; exit 1; }"
    done = run_baseline(lab, f"test -e done.txt || test -e {lab.home}/outside || {{ {once}; }}")
    assert done.code == 0, done.out + done.err


@pytest.mark.slow
def test_a_check_whose_output_names_nothing_may_be_run_without_a_sandbox(lab: Lab) -> None:
    stopped = run_baseline(lab, f"test -e {lab.home}/mine-agent")
    assert stopped.code == 7 and '"allow": {"script": ["*"]}' in stopped.err, stopped.out + stopped.err


def judging(lab: Lab, before: str) -> JudgeSettings:
    """A judge that does this before it answers."""
    script = lab.write("judge.py", Path(SCRIPT).read_text())  # the tests themselves may be in a home that is hidden
    line = f"{before}; exec {sys.executable} {script} yes"
    return replace(settings(lab.root, "/bin/bash", "-c", line), env=lab.env)


def test_a_judge_that_is_a_command_changes_nothing_either(lab: Lab) -> None:
    tries = f"echo bad > {lab.home}/evil; echo bad > .git/evil; true"
    with confined(lab) as (world, _):
        answer = _ask(world, judging(lab, tries), question())
    assert not answer.failure and json.loads(answer.text)
    assert not (lab.home / "evil").exists() and not lab.path(".git/evil").exists()


def test_a_judge_that_needs_more_is_refused_with_the_line_to_add(lab: Lab) -> None:
    (lab.home / "login").write_text("x")
    judge = judging(lab, f"cat {lab.home}/login > /dev/null || exit 1")
    with confined(lab) as (world, _):
        assert _ask(world, judge, question()).failure
        with pytest.raises(AigonError) as caught:
            _require_same_outside(world, judge, question())
    assert caught.value.code == 7 and '"sandbox": {"allow": {"judge": ["*"]}}' in caught.value.hint
