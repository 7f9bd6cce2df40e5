"""The worktree that a candidate works in: made, used again, found again after a move, and what tells it from others."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from shlex import quote

from aigon.config.models import Config
from aigon.errors import AigonError
from aigon.errors import environment as refused
from aigon.git import worktrees
from aigon.git.person import Checkout
from aigon.job import branch
from aigon.model.candidates import Candidate
from aigon.process.stop import Stop
from aigon.spec.features import ROOT
from aigon.worktrees.lock import is_worked_in
from aigon.worktrees.lookup import found
from aigon.worktrees.place import claim, place
from aigon.worktrees.ready import made_ready
from aigon.worktrees.settings import environment

__all__ = ["environment", "free_slot", "place", "provide"]


def provide(
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
    path = found(main, candidate, config.worktree)
    if path is None:
        path = _made(main, candidate, config, base, say)
    elif candidate.path and Path(candidate.path) != path:
        say(f"The worktree of {candidate.label} was moved: it is {path} now")
    if is_worked_in(main, candidate):
        return replace(candidate, path=str(path))
    with Checkout.open(path) as checkout:
        _finished(main, checkout, path, config)
        _stand_on(checkout, path, candidate)
        ready = made_ready(main, checkout, candidate, config, _settings(candidate, path, config), say, stop)
    return replace(candidate, path=str(path), ready=ready)


def _settings(candidate: Candidate, path: Path, config: Config) -> dict[str, str]:
    return environment(replace(candidate, path=str(path)), config)


def _made(main: Checkout, candidate: Candidate, config: Config, base: str, say: Callable[[str], None]) -> Path:
    path, remark = place(main.root, main.common_dir, config.worktree, candidate.branch)
    if candidate.path:
        where = f", as {path}" if str(path) != candidate.path else ""
        say(f"The worktree {candidate.path} is not there any more: it is made again from its branch{where}")
    if remark:
        say(remark)
    try:
        claim(path.parent, main.common_dir)
    except OSError as error:
        raise refused(
            f"The folder of the worktrees cannot be made: {error.strerror}",
            where=str(path.parent),
            hint='Name another one: "worktree": {"root": "FOLDER"} in .aigon/config.json',
        ) from error
    worktrees.add(main, path, candidate.branch, base, _cone(config))
    return path


def _cone(config: Config) -> tuple[str, ...]:
    """What is checked out of a large repository: aigon's own files and the specs too, where anything is left out."""
    wanted = config.worktree.sparse
    return tuple(dict.fromkeys((*wanted, ".aigon", ROOT))) if wanted else ()


def _finished(main: Checkout, checkout: Checkout, path: Path, config: Config) -> None:
    """Check out what git had only begun to: it was killed, and nobody has worked there."""
    _require_itself(checkout, path)
    if not (checkout.git_dir / "index").exists():
        worktrees.check_out(main, path, _cone(config))


def _require_itself(checkout: Checkout, path: Path) -> None:
    """Raise AigonError (exit 7) where git, asked in `path`, answers for another work tree, such as one around it."""
    if checkout.root != path.resolve() or checkout.git_dir == checkout.common_dir:
        raise refused(
            "This folder is no worktree of its own: git takes it for a part of another",
            where=f"{path} (git says {checkout.root})",
            hint=f"Move it away: mv {quote(str(path))} {quote(f'{path}.old')}",
        )


def _stand_on(checkout: Checkout, path: Path, candidate: Candidate) -> None:
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


def free_slot(candidates: Iterable[Candidate]) -> int:
    """The lowest number from 1 that none of them has."""
    taken = {each.slot for each in candidates}
    return next(number for number in range(1, len(taken) + 2) if number not in taken)
