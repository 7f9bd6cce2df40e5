"""The worktree of one candidate: made, used again, or found after a move, with ports and names of its own."""

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from shlex import quote

from aigon.config.models import Config
from aigon.errors import AigonError, environment, usage
from aigon.files.home import find_home
from aigon.git import worktrees
from aigon.git.person import Checkout
from aigon.git.repository import find_repository
from aigon.job import branch
from aigon.model.candidates import Candidate
from aigon.process.stop import Stop
from aigon.spec.features import ROOT
from aigon.worktrees.places import claim_folder, find_worktree, is_in_use, plan_worktree_path
from aigon.worktrees.ready import prepare_worktree

MAX_PROJECT_NAME_CHARS = 63
"""The limit of Docker Compose for project names, which become a part of host names."""
LAST_PORT = 65_535


def provide_worktree(
    main: Checkout,
    candidate: Candidate,
    config: Config,
    base: str,
    say: Callable[[str], None],
    *,
    stop: Stop | None = None,
) -> Candidate:
    """Return the candidate with its worktree ready: used again, found after a move, or made at `base`.

    aigon's record is left to the caller. If this is interrupted before that, the worktree is found by its branch the
    next time. Nothing is touched in a worktree in which a loop works. `say` gets sentences for people, `stop` ends a
    set-up command. Raises AigonError: exit 2 for the configuration, 7 for the repository or a failed set-up.
    """
    branch.ignore_runtime_files(main)
    # A large repository is checked out in part; aigon's own files and the specs are always needed.
    sparse = tuple(dict.fromkeys((*config.worktree.sparse, ".aigon", ROOT))) if config.worktree.sparse else ()
    path = find_worktree(main, candidate, config.worktree)
    if path is None:
        path = _choose_path(main, candidate, config, say)
        worktrees.add_worktree(main, path, candidate.branch, base, sparse)
    elif candidate.path and Path(candidate.path) != path:
        say(f"The worktree of {candidate.label} was moved: it is {path} now")
    found = replace(candidate, path=str(path))
    if is_in_use(main, candidate):
        return found
    with Checkout.open(path) as checkout:
        _require_own_work_tree(checkout, path)
        if not (checkout.git_dir / "index").exists():  # git was killed before it checked anything out
            worktrees.fill_worktree(main, path, sparse)
        _switch_to_branch(checkout, path, candidate)
        settings = build_environment(found, config)
        return replace(found, ready=prepare_worktree(main, checkout, candidate, config, settings, say, stop))


def _choose_path(main: Checkout, candidate: Candidate, config: Config, say: Callable[[str], None]) -> Path:
    path, remark = plan_worktree_path(main.root, main.common_dir, config.worktree, candidate.branch)
    if candidate.path:
        where = f", as {path}" if str(path) != candidate.path else ""
        say(f"The worktree {candidate.path} is not there any more: it is made again from its branch{where}")
    if remark:
        say(remark)
    try:
        claim_folder(path.parent, main.common_dir)
    except OSError as error:
        raise environment(
            f"The folder of the worktrees cannot be made: {error.strerror}",
            where=str(path.parent),
            hint='Name another one: "worktree": {"root": "FOLDER"} in .aigon/config.json',
        ) from error
    return path


def _require_own_work_tree(checkout: Checkout, path: Path) -> None:
    """Raise AigonError (exit 7) if `path` is a part of another work tree for git, such as one around it."""
    if checkout.root != path.resolve() or checkout.git_dir == checkout.common_dir:
        raise environment(
            "This folder is no worktree of its own: git takes it for a part of another",
            where=f"{path} (git says {checkout.root})",
            hint=f"Move it away: mv {quote(str(path))} {quote(f'{path}.old')}",
        )


def _switch_to_branch(checkout: Checkout, path: Path, candidate: Candidate) -> None:
    """Switch to the candidate's branch. Raises AigonError (exit 7) if a merge or the like is under way there."""
    current = checkout.branch
    if current == candidate.branch:
        return
    try:
        if current is None or checkout.under_way():
            raise environment("", hint=f"git -C {path} status   # tells more; then git switch {candidate.branch}")
        checkout.switch(candidate.branch)
    except AigonError as error:
        stands = current or "no branch (HEAD is detached)"
        what = f"The worktree of {candidate.label} stands on {stands}, not on {candidate.branch}"
        raise environment(what, where=str(path), hint=error.hint) from None


def choose_free_slot(candidates: Iterable[Candidate]) -> int:
    """Return the lowest slot from 1 that none of the candidates has."""
    taken = {each.slot for each in candidates}
    return next(number for number in range(1, len(taken) + 2) if number not in taken)


def build_environment(candidate: Candidate, config: Config) -> dict[str, str]:
    """Return the variables with ports and names of the candidate's own, for whatever runs in its worktree.

    Raises AigonError (exit 2) if no ports are left for its slot.
    """
    first = config.worktree.port_base + candidate.slot * config.worktree.ports
    if first + config.worktree.ports - 1 > LAST_PORT:
        raise usage(
            f"There are no ports left for worktree {candidate.slot}: they would begin at {first}",
            where="worktree.portBase, worktree.ports",
            hint="Lower one of them, or remove worktrees that are not needed: aigon worktrees",
        )
    return {
        "AIGON_SLOT": str(candidate.slot),
        "AIGON_PORT_BASE": str(first),
        "COMPOSE_PROJECT_NAME": _format_project_name(candidate),
    }


def _format_project_name(candidate: Candidate) -> str:
    """Return a valid name that no other candidate has, not even one of another repository of the same name."""
    path = Path(candidate.path)
    try:
        home = find_home(find_repository(path).common_dir)
    except (AigonError, OSError):
        home = None
    id_ = home.name if home else f"{path.parent.name}-{hashlib.sha256(str(path.parent).encode()).hexdigest()}"
    repository, _, own = id_.rpartition("-")
    end = re.sub(r"[^a-z0-9_-]", "-", f"-{candidate.feature}-{candidate.label}-{own[:6]}".lower())
    name = re.sub(r"[^a-z0-9_-]+", "-", repository.lower()).strip("-_") or "aigon"
    return f"{name[: MAX_PROJECT_NAME_CHARS - len(end)]}{end}"
