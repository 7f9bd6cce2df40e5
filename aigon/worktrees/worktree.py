"""The worktree of one candidate: made, used again, or found after a move, with ports and names of its own."""

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from shlex import quote

from aigon.config.models import Config
from aigon.errors import AigonError, usage
from aigon.errors import environment as refused
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


def provide_worktree(
    main: Checkout,
    candidate: Candidate,
    config: Config,
    base: str,
    say: Callable[[str], None],
    *,
    stop: Stop | None = None,
) -> Candidate:
    """The candidate with its worktree there and ready: used again, found again after a move, else made at `base`.

    Nothing is written to aigon's record: the caller does that with what is given back. Broken off before that, the
    worktree is found by its branch the next time. Where a loop works in it, nothing in it is touched.
    `say` gets sentences for people, `stop` ends a set-up command. Raises AigonError: exit 2 for what the configuration
    asks for, 7 for the repository or a set-up that failed.
    """
    branch.ignore_runtime_files(main)
    path = find_worktree(main, candidate, config.worktree)
    if path is None:
        path = _make_worktree(main, candidate, config, base, say)
    elif candidate.path and Path(candidate.path) != path:
        say(f"The worktree of {candidate.label} was moved: it is {path} now")
    if is_in_use(main, candidate):
        return replace(candidate, path=str(path))
    with Checkout.open(path) as checkout:
        _finish_checkout(main, checkout, path, config)
        _switch_to_branch(checkout, path, candidate)
        ready = prepare_worktree(main, checkout, candidate, config, _build_settings(candidate, path, config), say, stop)
    return replace(candidate, path=str(path), ready=ready)


def _build_settings(candidate: Candidate, path: Path, config: Config) -> dict[str, str]:
    return build_environment(replace(candidate, path=str(path)), config)


def _make_worktree(main: Checkout, candidate: Candidate, config: Config, base: str, say: Callable[[str], None]) -> Path:
    path, remark = plan_worktree_path(main.root, main.common_dir, config.worktree, candidate.branch)
    if candidate.path:
        where = f", as {path}" if str(path) != candidate.path else ""
        say(f"The worktree {candidate.path} is not there any more: it is made again from its branch{where}")
    if remark:
        say(remark)
    try:
        claim_folder(path.parent, main.common_dir)
    except OSError as error:
        raise refused(
            f"The folder of the worktrees cannot be made: {error.strerror}",
            where=str(path.parent),
            hint='Name another one: "worktree": {"root": "FOLDER"} in .aigon/config.json',
        ) from error
    worktrees.add_worktree(main, path, candidate.branch, base, _list_sparse_folders(config))
    return path


def _list_sparse_folders(config: Config) -> tuple[str, ...]:
    """What is checked out of a large repository: aigon's own files and the specs too, where anything is left out."""
    wanted = config.worktree.sparse
    return tuple(dict.fromkeys((*wanted, ".aigon", ROOT))) if wanted else ()


def _finish_checkout(main: Checkout, checkout: Checkout, path: Path, config: Config) -> None:
    """Check out what git had only begun to: it was killed, and nobody has worked there."""
    _require_itself(checkout, path)
    if not (checkout.git_dir / "index").exists():
        worktrees.fill_worktree(main, path, _list_sparse_folders(config))


def _require_itself(checkout: Checkout, path: Path) -> None:
    """Raise AigonError (exit 7) where git, asked in `path`, answers for another work tree, such as one around it."""
    if checkout.root != path.resolve() or checkout.git_dir == checkout.common_dir:
        raise refused(
            "This folder is no worktree of its own: git takes it for a part of another",
            where=f"{path} (git says {checkout.root})",
            hint=f"Move it away: mv {quote(str(path))} {quote(f'{path}.old')}",
        )


def _switch_to_branch(checkout: Checkout, path: Path, candidate: Candidate) -> None:
    """Stand on the candidate's branch. Raises AigonError (exit 7) where something else is under way there."""
    now = checkout.branch
    if now == candidate.branch:
        return
    try:
        if now is None or checkout.under_way():
            raise refused("", hint=f"git -C {path} status   # tells more; then git switch {candidate.branch}")
        checkout.switch(candidate.branch)
    except AigonError as error:
        stands = now or "no branch (HEAD is detached)"
        what = f"The worktree of {candidate.label} stands on {stands}, not on {candidate.branch}"
        raise refused(what, where=str(path), hint=error.hint) from None


def choose_free_slot(candidates: Iterable[Candidate]) -> int:
    """The lowest number from 1 that none of them has."""
    taken = {each.slot for each in candidates}
    return next(number for number in range(1, len(taken) + 2) if number not in taken)


MAX_PROJECT_NAME_CHARS = 63
"""Characters of a project name that Docker Compose takes: it becomes a part of host names."""
LAST_PORT = 65_535


def build_environment(candidate: Candidate, config: Config) -> dict[str, str]:
    """Ports and names of the candidate's own, for whatever runs in its worktree.

    Raises AigonError (exit 2) where no ports are left for its slot.
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
    """A name that Compose takes and that no other candidate has, of another repository of the same name either."""
    repository, own = _identify_repository(Path(candidate.path))
    end = f"-{candidate.feature}-{candidate.label}-{own}".lower()
    end = re.sub(r"[^a-z0-9_-]", "-", end)
    name = re.sub(r"[^a-z0-9_-]+", "-", repository.lower()).strip("-_") or "aigon"
    return f"{name[: MAX_PROJECT_NAME_CHARS - len(end)]}{end}"


def _identify_repository(path: Path) -> tuple[str, str]:
    """A repository's name, and what tells it from others of that name."""
    try:
        home = find_home(find_repository(path).common_dir)
    except (AigonError, OSError):
        home = None
    id_ = home.name if home else f"{path.parent.name}-{hashlib.sha256(str(path.parent).encode()).hexdigest()}"
    name, _, own = id_.rpartition("-")
    return name, own[:6]
