"""The demonstration: a real repository, a real loop, a recorded agent."""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from aigon.errors import usage
from aigon.files.resources import find_resource
from aigon.git.person import Checkout
from aigon.installation import require_extra
from aigon.process.output import capture_output

RECORDED = "recorded"


def create_demo(folder: str | None) -> Path:
    """Make the demonstration's repository with its first commit, and return where it is.

    Raises AigonError: exit 2 if the folder is not empty, exit 7 without pytest and ruff.
    """
    require_extra("demo", "pytest", "ruff", purpose="The demo")
    root = Path(folder).absolute() if folder else Path(tempfile.mkdtemp(prefix="aigon-demo-"))
    if root.exists() and any(root.iterdir()):
        raise usage("The folder for the demo is not empty", where=str(root), hint="Name a new one, or leave --dir out")
    caches = shutil.ignore_patterns("__pycache__", ".pytest_cache", ".ruff_cache")
    shutil.copytree(find_resource("templates", "demo", "repo"), root, dirs_exist_ok=True, ignore=caches)
    recording = str(find_resource("templates", "demo", "attempts"))
    config = {"agents": {RECORDED: {"adapter": "replay", "recording": recording}}, "judge": {"backend": "none"}}
    (root / ".aigon").mkdir(exist_ok=True)
    (root / ".aigon" / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    for arguments in (
        ("-c", "init.defaultBranch=main", "init", "-q"),
        ("config", "user.name", "aigon demo"),
        ("config", "user.email", "demo@example.invalid"),
        ("config", "commit.gpgsign", "false"),
        ("add", "-A"),
        ("commit", "-q", "--no-verify", "-m", "feat: a tea timer, and the spec of its next feature"),
    ):
        code, _, err = capture_output(("git", *arguments), cwd=root, env=dict(os.environ))
        if code:
            raise usage(f"git {arguments[0]} failed", where=str(root), hint=err.decode(errors="replace").strip())
    # The project of the demo is aigon's own: its checks are those that were installed with aigon.
    own = Path(sys.executable).parent
    os.environ["PATH"] = os.pathsep.join([str(own), os.environ.get("PATH", os.defpath)])
    os.environ["VIRTUAL_ENV"] = str(own.parent)
    return root


def describe_demo(root: Path, agent: str | None) -> str:
    """Return what is about to happen."""
    recorded = "Only the agent is a recording of three attempts."
    who = f"So is the agent, {agent}." if agent else recorded
    return (
        f"A small Python project with a feature to build is in {root}\n"
        f"Git, pytest, ruff, the commits and the assessments are real. {who}\n"
    )


def suggest_next(checkout: Checkout, agent: str | None) -> str:
    """Return what to look at, and how to do the same in one's own repository."""
    root = checkout.root
    log = next(iter(sorted(root.glob("docs/specs/features/logs/*.md"))), root)
    spec = next(iter(sorted(root.glob("docs/specs/features/*/feature-*.md"))), root)
    story = checkout.git("log", "--oneline", "--no-decorate", "main..")
    lines = [
        "Look at what it left:",
        f"  cd {root}",
        f"  less {log.relative_to(root)}   # what each iteration found",
        f"  git diff main -- {spec.relative_to(root)}   # exactly the proven boxes are ticked",
        "  git log main..   # one commit per iteration",
        *(f"    {line}" for line in story.splitlines()),
        "",
        "The same with a real agent, in your own repository:",
        "  aigon init && aigon feature-create my feature   # then write its acceptance criteria",
        f"  aigon feature-implement my-feature --loop --agent {agent or 'claude'}",
    ]
    return "\n".join(lines)
