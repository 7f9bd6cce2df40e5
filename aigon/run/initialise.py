"""Set up a repository: what was found, what was written."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from aigon.agents.install_commands import InstallTarget, find_types_here, install_commands
from aigon.checks.execution import render_command
from aigon.checks.project_checks import ProjectChecks, find_unchecked_folders, resolve_checks
from aigon.config.loading import PROJECT_FILE, load_configuration, open_work_tree
from aigon.config.models import Config
from aigon.config.schemas import SCHEMA_FOLDER as SCHEMAS
from aigon.errors import AigonError, explained, usage
from aigon.files.atomic import write_atomic
from aigon.files.home import IGNORED_LINES
from aigon.git.path_commits import FIRST_COMMIT
from aigon.git.person import Checkout
from aigon.job import bookkeeping, branch
from aigon.job.bookkeeping import Committing
from aigon.job.options import Options
from aigon.model.agent_types import CommandFileResult
from aigon.model.checks import Check
from aigon.run import feature_stages
from aigon.views.setup import build_command_document, describe_command_file

HEADING = "# aigon's runtime files"


@dataclass(frozen=True, slots=True)
class Initialised:
    """What `aigon init` found and did. `elsewhere` are agents whose commands would go into the person's home.

    `others` are folders that look like projects of their own and that no check speaks of; `kept_profile` is what the
    configuration goes on saying where another one was asked for; `unignored` are lines that .gitignore lacks about what
    tools leave here. `committed_schemas`: an earlier aigon had its JSON
    schemas committed.
    """

    checks: ProjectChecks
    written: tuple[str, ...]
    kept: tuple[str, ...]
    commands: tuple[CommandFileResult, ...] = ()
    elsewhere: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    kept_profile: str = ""
    committed_schemas: bool = False
    unignored: tuple[str, ...] = ()

    def document(self) -> dict[str, object]:
        """Everything as data."""
        return {
            "profile": self.checks.profile,
            "paths": dict(self.checks.folders),
            "other_projects": list(self.others),
            "checks": [
                {"name": c.name, "role": c.role, "command": render_command(c), "cwd": c.cwd, "source": c.source}
                for c in self.checks.checks
            ],
            "missing": [{"check": c.name, "tool": c.missing, "hint": c.hint} for c in self.checks.checks if c.missing],
            "absent": [{"role": a.role, "why": a.why, "of": a.ecosystem} for a in self.checks.absent],
            "written": [*self.written, *(c.path for c in self.commands if c.wrote)],
            "kept": [*self.kept, *(c.path for c in self.commands if not c.wrote)],
            "commands": [build_command_document(one) for one in self.commands],
            "commands_elsewhere": list(self.elsewhere),
            "unignored": list(self.unignored),
        }

    def text(self) -> str:
        """For people."""
        found = [f"  {c.name}: {render_command(c)}{_where(c)}" for c in self.checks.checks if not c.missing]
        missing = [f"  {c.name}: {c.missing} is not installed. {c.hint}" for c in self.checks.checks if c.missing]
        absent = [f"  {each.text}" for each in self.checks.absent]
        lines = [*self._profiles(), "Checks:", *(found or ([] if missing else ["  none found"])), *missing, *absent]
        lines += [
            f'{name} looks like a project of its own: name it in "paths" ({PROJECT_FILE})' for name in self.others
        ]
        if self.kept_profile:
            lines += [
                f'{PROJECT_FILE} says "profile": "{self.kept_profile}": change it there to keep {self.checks.profile}'
            ]
        if self.committed_schemas:
            hint = f"git rm -rq {SCHEMAS}   (for editors: aigon config schema --write)"
            lines += [f"{SCHEMAS}/ is no longer needed: {hint}"]
        lines += [f"Wrote {name}" for name in self.written] + [f"Kept {name} as it is" for name in self.kept]
        lines += [describe_command_file(one) for one in self.commands if one.state != "unchanged"]
        lines += [f"{name} reads its commands in your home: aigon install-commands {name}" for name in self.elsewhere]
        if self.unignored:
            lines += ["git does not ignore what tools leave here. Add to .gitignore:"]
            lines += [f"  {line}" for line in self.unignored]
        return "\n".join(lines)

    def _profiles(self) -> list[str]:
        folders = self.checks.folders
        return [f"Profile of {place}: {name}" for place, name in folders.items()] or [f"Profile: {self.checks.profile}"]


def _where(check: Check) -> str:
    return "" if check.cwd == "." else f"  (in {check.cwd})"


@dataclass(frozen=True, slots=True)
class Uncommitted:
    """Files of aigon's set-up that are in no commit yet. `why_not` says why they cannot be committed here, if so."""

    paths: tuple[str, ...]
    branch: str = ""
    why_not: str = ""

    def __bool__(self) -> bool:
        return bool(self.paths)

    @property
    def possible(self) -> bool:
        """Whether they can be committed where the checkout stands."""
        return not self.why_not

    @property
    def hint(self) -> str:
        """What a person has to know who leaves them uncommitted."""
        return self.why_not or "Not committed yet. Features start from a commit with these files: aigon init --commit"


def find_uncommitted_setup(checkout: Checkout) -> Uncommitted:
    """Return the files of aigon's set-up that are in no commit."""
    paths = tuple(branch.list_uncommitted_setup(checkout))
    if checkout.head is None and set(checkout.changed()) > {*paths}:
        why = f"Not committed: the repository has no commits yet. Make the first one: {FIRST_COMMIT}"
        return Uncommitted(paths, "", why)
    try:
        feature_stages.require_committer(checkout)
    except AigonError as error:
        return Uncommitted(paths, "", f"Not committed: {explained(error)}")
    return Uncommitted(paths, checkout.branch or "")


def commit_setup(checkout: Checkout, left: Uncommitted, how: Committing) -> str:
    """Commit the files of aigon's set-up; return the commit. Raises AigonError (exit 7) if that is not possible."""
    feature_stages.require_committer(checkout)
    known = checkout.head and checkout.ask("cat-file", "-e", f"HEAD:{PROJECT_FILE}") is not None
    bookkeeping.commit_as_asked(checkout, left.paths, f"chore: {'update the' if known else 'set up'} aigon", how)
    return str(checkout.head)


def initialise(
    checkout: Checkout,
    profile: str | None,
    *,
    commands: bool = True,
    agents: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Initialised:
    """Detect the profile, write what is not there. Raises AigonError (exit 2) where detection is a tie.

    With `commands`, agents that are installed or configured get theirs, as far as they read them in the repository.
    `agents` are programs of the person's own and their commands, for a new configuration.
    """
    _refuse_agents(checkout.root, agents)
    config = load_configuration(open_work_tree(checkout.root))
    checks = resolve_checks(checkout.root, config, None, Options("", profile=profile), dict(os.environ))
    written: list[str] = []
    kept: list[str] = []
    (written if _write_config(checkout.root, checks, agents) else kept).append(PROJECT_FILE)
    (written if _write_ignores(checkout.root) else kept).append(".gitignore")
    placed, elsewhere = _write_commands(checkout.root, config) if commands else ((), ())
    others = find_unchecked_folders(checkout.root, config, checks, os.environ) if not profile else ()
    other = config.profile if profile and config.profile != profile else None
    schemas = bool(checkout.git("ls-files", "--", SCHEMAS))
    unignored = unignored_outputs(checkout, checks)
    return Initialised(checks, tuple(written), tuple(kept), placed, elsewhere, others, other or "", schemas, unignored)


def unignored_outputs(checkout: Checkout, checks: ProjectChecks) -> tuple[str, ...]:
    """Return the lines that .gitignore lacks about what the project's tools and checks leave in the work tree."""
    samples = {line: f"{line}file" if line.endswith("/") else line for line in checks.outputs}
    ignored = checkout.ask("check-ignore", "--", *samples.values()) if samples else ""
    return tuple(line for line, sample in samples.items() if sample not in (ignored or "").splitlines())


def _write_commands(root: Path, config: Config) -> tuple[tuple[CommandFileResult, ...], tuple[str, ...]]:
    inside, elsewhere = find_types_here(root, config, os.environ)
    return install_commands(inside, InstallTarget(root, Path.home())), tuple(kind.name for kind in elsewhere)


def _refuse_agents(root: Path, agents: Mapping[str, Sequence[str]]) -> None:
    """Raise AigonError (exit 2) for agents if there is a configuration already: it is the person's to edit."""
    if agents and (root / PROJECT_FILE).exists():
        text = json.dumps(_configured(agents))
        what, hint = f"{PROJECT_FILE} exists already, and init does not change it", f"Add there: {text[1:-1]}"
        raise usage(what, where="--agent", hint=hint)


def _configured(agents: Mapping[str, Sequence[str]]) -> dict[str, object]:
    """Return what a configuration says of these programs."""
    return {"agents": {name: {"adapter": "command", "command": [*argv]} for name, argv in agents.items()}}


def _write_config(root: Path, checks: ProjectChecks, agents: Mapping[str, Sequence[str]]) -> bool:
    path = root / PROJECT_FILE
    if path.exists():
        return False
    path.parent.mkdir(exist_ok=True)
    below = {folder: profile for folder, profile in checks.folders.items() if folder != "."}
    chosen = {"profile": checks.profile} if not checks.folders or "." in checks.folders else {}
    own = _configured(agents) if agents else {}
    document = {**chosen, **({"paths": below} if below else {}), **own, "ralph": {"enabled": True, "maxIterations": 5}}
    write_atomic(path, (json.dumps(document, indent=2) + "\n").encode())
    return True


def _write_ignores(root: Path) -> bool:
    """Add aigon's lines to .gitignore, in the line ending that it has."""
    path = root / ".gitignore"
    before = path.read_bytes() if path.exists() else b""
    there = {line.strip() for line in before.decode(errors="replace").splitlines()}
    missing = [line for line in IGNORED_LINES if line not in there]
    if not missing:
        return False
    end = "\r\n" if b"\r\n" in before else "\n"
    gap = "" if not before or before.endswith(b"\n") else end
    block = gap + end.join([HEADING, *missing, ""])
    write_atomic(path, before + block.encode())
    return True
