"""A vault: task files in a folder, an agent that does what a task's name says, and what a watcher needs."""

import os
from pathlib import Path

from tests.lab import Lab

AGENT = """
    cat > /dev/null
    echo "$AIGON_FEATURE $AIGON_ITERATION" >> ~/turns
    while [ -e ~/hold ]; do sleep 0.05; done
    case "$AIGON_SPEC" in
        *greeter*) echo "echo hello" > hello.sh;;
        *) echo x >> tried.txt;;
    esac
"""
GREETER = "it says hello <!-- verify: sh hello.sh | grep -q hello -->"


def make_vault(lab: Lab, **watch: object) -> None:
    """Configure a watcher on Needs_Action, and the agent."""
    lab.agent(AGENT)
    lab.config(watch={"folders": ["Needs_Action"], **watch}, guards={"allowUnknownCost": True}, proof="in-place")
    lab.write("Needs_Action/README.md", "Tasks for the night\n")
    lab.commit("a vault")


def write_task(lab: Lab, name: str, *criteria: str, head: str = "mode: ralph", text: str = "") -> Path:
    """Write a task file; the commit is left to the test."""
    items = "".join(f"- [ ] {each}\n" for each in criteria)
    section = f"## Acceptance Criteria\n\n{items}" if criteria else ""
    return lab.write(f"Needs_Action/{name}.md", f"---\n{head}\n---\n# Task: {name}\n\n{text}\n{section}")


def count_turns(lab: Lab) -> int:
    """The turns that agents began."""
    file = lab.home / "turns"
    return len(file.read_text().splitlines()) if file.exists() else 0


def hold(lab: Lab, *, release: bool = False) -> None:
    """Let agents wait in the middle of their turn, or no longer."""
    (lab.home / "hold").unlink() if release else os.close(os.open(lab.home / "hold", os.O_CREAT))
