"""Set up a repository: detect how it is checked, and write what is not there. Also, make that of the demo."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from aigon.agents.install_commands import InstallTarget, find_types_here, install_commands
from aigon.checks.project_checks import ProjectChecks, find_unchecked_folders, resolve_checks
from aigon.config.loading import PROJECT_FILE, SCHEMA_FOLDER, load_configuration, open_work_tree
from aigon.errors import AigonError, explain_error, usage
from aigon.files.atomic import write_atomic
from aigon.files.home import IGNORED_LINES
from aigon.files.resources import find_resource
from aigon.git.commits import FIRST_COMMIT
from aigon.git.person import Checkout
from aigon.installation import require_extra
from aigon.job import bookkeeping, branch
from aigon.job.bookkeeping import Committing
from aigon.job.options import Options
from aigon.model.agents import CommandFileResult
from aigon.process.start import capture_output
from aigon.run import feature_stages

HEADING = "# aigon's runtime files"
UNCOMMITTED_HINT = "Not committed yet. Features start from a commit with these files: aigon init --commit"


class InitialisedProject(Struct, frozen=True):
    """The result of `aigon init`. `elsewhere` are agents whose commands would go into the person's home.

    `others` are folders that look like projects of their own and that no check covers; `kept_profile` is the profile
    that the configuration still names although another one was asked for; `unignored` are lines that .gitignore lacks
    about what tools leave here. `committed_schemas`: an earlier aigon had its JSON schemas committed.
    """

    checks: ProjectChecks
    written: tuple[str, ...]
    kept: tuple[str, ...]
    commands: tuple[CommandFileResult, ...]
    elsewhere: tuple[str, ...]
    others: tuple[str, ...]
    kept_profile: str
    committed_schemas: bool
    unignored: tuple[str, ...]


class UncommittedSetup(Struct, frozen=True):
    """Files of aigon's set-up that are in no commit yet. `why_not` says why they cannot be committed here, if so."""

    paths: tuple[str, ...]
    branch: str = ""
    why_not: str = ""


def find_uncommitted_setup(checkout: Checkout) -> UncommittedSetup:
    """Return the files of aigon's set-up that are in no commit, with new programs of the person's own agents."""
    config = load_configuration(open_work_tree(checkout.root))
    commands = [[own.command] if isinstance(own.command, str) else own.command for own in config.agents.values()]
    words = {os.path.normpath(word) for command in commands for word in command}
    programs = [path for path in checkout.list_changed() if path in words and not checkout.git("ls-files", "--", path)]
    paths = tuple(dict.fromkeys([*branch.list_uncommitted_setup(checkout), *programs]))
    if checkout.head is None and set(checkout.list_changed()) > {*paths}:
        why = f"Not committed: the repository has no commits yet. Make the first one: {FIRST_COMMIT}"
        return UncommittedSetup(paths, "", why)
    try:
        feature_stages.require_committer(checkout)
    except AigonError as error:
        return UncommittedSetup(paths, "", f"Not committed: {explain_error(error)}")
    return UncommittedSetup(paths, checkout.branch or "")


def commit_setup(checkout: Checkout, left: UncommittedSetup, how: Committing) -> str:
    """Commit the files of aigon's set-up; return the commit. Raises AigonError (exit 7) if that is not possible."""
    feature_stages.require_committer(checkout)
    known = checkout.head and checkout.ask("cat-file", "-e", f"HEAD:{PROJECT_FILE}") is not None
    subject = "chore: update aigon's configuration" if known else "chore: set up aigon"
    bookkeeping.commit_as_asked(checkout, left.paths, subject, how)
    return str(checkout.head)


def initialise(
    checkout: Checkout,
    profile: str | None,
    *,
    commands: bool = True,
    agents: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> InitialisedProject:
    """Detect the profile, write what is not there. Raises AigonError (exit 2) if several profiles fit equally.

    With `commands`, agents that are installed or configured get theirs, as far as they read them in the repository.
    `agents` are programs of the person's own and their commands: the configuration has them, or gets them.
    """
    root = checkout.root
    config = load_configuration(open_work_tree(root))
    checks = resolve_checks(root, config, None, Options("", profile=profile), dict(os.environ))
    wrote = {
        PROJECT_FILE: _write_config(root / PROJECT_FILE, checks, agents),
        ".gitignore": _write_ignores(root),
    }
    inside, elsewhere = find_types_here(root, config, os.environ) if commands else ((), ())
    return InitialisedProject(
        checks,
        written=tuple(name for name, is_new in wrote.items() if is_new),
        kept=tuple(name for name, is_new in wrote.items() if not is_new),
        commands=install_commands(inside, InstallTarget(root, Path.home())) if inside else (),
        elsewhere=tuple(kind.name for kind in elsewhere),
        others=() if profile else find_unchecked_folders(root, config, checks, os.environ),
        kept_profile=(config.profile or "") if profile and config.profile != profile else "",
        committed_schemas=bool(checkout.git("ls-files", "--", SCHEMA_FOLDER)),
        unignored=_list_unignored_outputs(checkout, checks),
    )


def _list_unignored_outputs(checkout: Checkout, checks: ProjectChecks) -> tuple[str, ...]:
    """Return the lines that .gitignore lacks about what the project's tools and checks leave in the work tree."""
    samples = {line: f"{line}file" if line.endswith("/") else line for line in checks.outputs}
    ignored = checkout.ask("check-ignore", "--", *samples.values()) if samples else ""
    return tuple(line for line, sample in samples.items() if sample not in (ignored or "").splitlines())


def _write_config(path: Path, checks: ProjectChecks, agents: Mapping[str, Sequence[str]]) -> bool:
    """Write a configuration with these agents, or add them to the one that is there."""
    own = {name: {"adapter": "command", "command": [*argv]} for name, argv in agents.items()}
    if path.exists():
        document = json.loads(path.read_bytes())
        known = document.get("agents", {})
        for name in own.keys() & known.keys():
            if own[name] != known[name]:
                raise usage(
                    f"An agent called {name} is configured already", where=PROJECT_FILE, hint="Choose another name"
                )
        if own.keys() <= known.keys():
            return False
        document["agents"] = {**known, **own}
    else:
        path.parent.mkdir(exist_ok=True)
        below = {folder: profile for folder, profile in checks.folders.items() if folder != "."}
        chosen = {"profile": checks.profile} if not checks.folders or "." in checks.folders else {}
        document = {**chosen, **({"paths": below} if below else {}), **({"agents": own} if own else {})}
        document["ralph"] = {"enabled": True, "maxIterations": 5}
    write_atomic(path, (json.dumps(document, indent=2) + "\n").encode())
    return True


def _write_ignores(root: Path) -> bool:
    """Add aigon's lines to .gitignore, with the line ending that it has."""
    path = root / ".gitignore"
    before = path.read_bytes() if path.exists() else b""
    known = {line.strip() for line in before.decode(errors="replace").splitlines()}
    missing = [line for line in IGNORED_LINES if line not in known]
    if not missing:
        return False
    end = "\r\n" if b"\r\n" in before else "\n"
    gap = "" if not before or before.endswith(b"\n") else end
    write_atomic(path, before + (gap + end.join([HEADING, *missing, ""])).encode())
    return True


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
