"""What works in the workspace and not in a clean export of the commit is refused, and the run says why."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cheats.agent import Agent, cases, tried, without_pytest
from tests.cheats.calculator import BRANCH, SPEC, calculator, implemented
from tests.lab import Lab, Ran

OWN = """
put "$own" <<'PY'
def multiply(a, b):
    return a * b
PY
"""
IGNORES = "echo 'local/' >> .gitignore\n"
READS = """
add <<'PY'


def multiply(a, b):
    {needs}
    return a * b
PY
export_it
"""

NEEDS = [
    Agent(
        "an ignored file",
        "own=calc/_local.py" + OWN + "echo '_local.py' >> .gitignore\n"
        "add <<< $'\\nfrom calc._local import multiply'; export_it",
    ),
    Agent(
        "an ignored data file",
        "put local/limits.json <<< '{}'\n" + IGNORES + READS.format(needs="open('local/limits.json').close()"),
    ),
    Agent(
        "an absolute path",
        "own=local/_own.py" + OWN + IGNORES + "add <<PY\n\nimport sys\n\n"
        'sys.path.insert(0, "$PWD/local")\nfrom _own import multiply\nPY\nexport_it\n',
    ),
    Agent(
        "an empty folder",
        "mkdir calc/cache\n"
        + READS.format(needs="__import__('os').listdir(__import__('os').path.dirname(__file__) + '/cache')"),
    ),
    Agent(
        "a mode that git does not keep",
        "echo secret > calc/seed; chmod 600 calc/seed\n"
        + READS.format(needs="assert __import__('os').stat('calc/seed').st_mode & 0o777 == 0o600"),
    ),
    Agent(
        "a compiled file without its source",
        "own=calc/_fast.py" + OWN + "python3 -c 'import py_compile; "
        'py_compile.compile("calc/_fast.py", cfile="calc/_fast.pyc")\'; rm calc/_fast.py; '
        "echo '*.pyc' >> .gitignore\n"
        "add <<< $'\\nfrom calc._fast import multiply'; export_it",
    ),
    Agent(
        "a change of time",
        "touch -d 2001-01-01 calc/__init__.py\n"
        + READS.format(needs="assert __import__('os').stat(__file__).st_mtime < 1e9")
        + "touch -d 2001-01-01 calc/__init__.py\n",
    ),
]


def refused_by_the_clean_room(lab: Lab, ran: Ran) -> None:
    said = ran.out + ran.err
    if "not isolated" in said:
        pytest.skip("nothing on this machine can keep the workspace out of reach")
    assert ran.code != 0, said
    assert re.search("clean.room", said, re.IGNORECASE), said
    assert "x" not in "".join(re.findall(r"- \[(.)\]", lab.git("show", f"{BRANCH}:{SPEC}"))), said


@pytest.mark.slow  # by default: the ignored files of tests/cheats/about_git.py
@pytest.mark.parametrize("agent", cases(NEEDS))
def test_a_commit_that_lacks_what_it_needs_is_refused(lab: Lab, agent: Agent) -> None:
    calculator(lab, agent)
    refused_by_the_clean_room(lab, implemented(lab, agent))


def editable(lab: Lab, folder: Path) -> None:
    """An environment in which the package is the workspace itself, as `pip install -e .` leaves it."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], env=lab.env, check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "calc_editable.pth").write_text(f"{lab.root}\n")
    (packages / "tools.pth").write_text(f"{Path(pytest.__file__).parent.parent}\n")
    lab.env["PATH"] = f"{folder / 'bin'}:{lab.env['PATH']}"


@pytest.mark.parametrize("place", tried(["home/env", "repo/.venv"]))
def test_an_editable_install_does_not_stand_in_for_the_commit(lab: Lab, place: str) -> None:
    editable(lab, lab.root.parent / place)
    agent = Agent("", NEEDS[0].script + "sed -i '/^pythonpath/d' pyproject.toml")
    calculator(lab, agent)
    refused_by_the_clean_room(lab, implemented(lab, agent))


@pytest.mark.parametrize("name", tried(["PYTHONPATH", "CALC_HOME"]))
def test_a_variable_that_points_into_the_workspace_does_not_help(lab: Lab, name: str) -> None:
    taken = "import os, sys; sys.path.append(os.environ.get('CALC_HOME', '')); from _own import multiply"
    agent = Agent("", f"own=local/_own.py{OWN}{IGNORES}add <<< $'\\n' <<< \"{taken}\"; export_it")
    calculator(lab, without_pytest(agent))
    lab.env[name] = str(lab.path("local"))
    refused_by_the_clean_room(lab, implemented(lab, agent))
