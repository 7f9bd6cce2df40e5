"""The worktree of one candidate: made, used again or found after a move, then readied once."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from shlex import quote

from msgspec.structs import replace

from aigon.config.loading import build_tool_path
from aigon.config.models import Config
from aigon.errors import AigonError, Exit, environment, usage
from aigon.files.atomic import write_atomic
from aigon.files.home import ensure_home, find_home
from aigon.git import worktrees
from aigon.git.person import Checkout
from aigon.git.repository import find_repository
from aigon.git.run_repository import put_back_link
from aigon.job import branch
from aigon.journal.records import candidate_records, list_candidates
from aigon.model.agents import Candidate
from aigon.model.turns import ProgramExit
from aigon.process import orphans, run
from aigon.process.stop import Stop
from aigon.secrets import redaction
from aigon.spec.features import ROOT
from aigon.text.quoting import clean
from aigon.worktrees.ignored import (
    copy_files,
    hash_content,
    link_files,
    list_ignored_work,
    record_copies,
    refresh_configuration,
)
from aigon.worktrees.places import claim_folder, find_worktree, is_in_use, plan_worktree_path

MAX_PROJECT_NAME_CHARS = 63
"""The limit of Docker Compose for project names, which become a part of host names."""
LAST_PORT = 65_535


def provide_worktree(
    main: Checkout,
    candidate: Candidate,
    config: Config,
    base: str,
    say: Callable[[str], None],
) -> Candidate:
    """Return the candidate with its worktree ready: used again, found after a move, or made at `base`.

    aigon's record is left to the caller. If this is interrupted before that, the worktree is found by its branch the
    next time. Nothing is touched in a worktree in which a loop works. `say` gets sentences for people. Raises
    AigonError: exit 2 for the configuration, 7 for the repository or a failed set-up.
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
    put_back_link(path)
    with Checkout.open(path) as checkout:
        _require_own_work_tree(checkout, path)
        if not (checkout.git_dir / "index").exists():  # git was killed before it checked anything out
            worktrees.fill_worktree(main, path, sparse)
        _switch_to_branch(checkout, path, candidate)
        return replace(found, ready=prepare_worktree(main, checkout, found, config, say))


def _choose_path(main: Checkout, candidate: Candidate, config: Config, say: Callable[[str], None]) -> Path:
    path, remark = plan_worktree_path(main.root, main.common_dir, config.worktree, candidate.branch)
    if candidate.path:
        where = f", as {path}" if str(path) != candidate.path else ""
        say(f"The worktree {candidate.path} is gone: it is created again from its branch{where}")
    if remark:
        say(remark)
    try:
        claim_folder(path.parent, main.common_dir)
    except OSError as error:
        raise environment(
            f"The folder of the worktrees cannot be created: {error.strerror}",
            where=str(path.parent),
            hint='Name another one: "worktree": {"root": "FOLDER"} in .aigon/config.json',
        ) from error
    return path


def _require_own_work_tree(checkout: Checkout, path: Path) -> None:
    """Raise AigonError (exit 7) if `path` is a part of another work tree for git, such as one around it."""
    if checkout.root != path.resolve() or checkout.git_dir == checkout.common_dir:
        raise environment(
            "This folder is not a worktree: git treats it as part of another one",
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
        what = f"The worktree of {candidate.label} is on {stands}, not on {candidate.branch}"
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


MAX_OUTPUT_LINES = 10
"""Lines of a failed set-up's output that are shown."""
MAX_HASHED_BYTES = 500 * 1024 * 1024
"""Bytes of files made by a set-up that are hashed, to find out later whether anybody changed them."""


def prepare_worktree(
    main: Checkout,
    worktree: Checkout,
    candidate: Candidate,
    config: Config,
    say: Callable[[str], None],
) -> str:
    """Do in the worktree what the configuration asks for, unless it is done, and return the name of the set-up.

    The note of what is done is in git's own folder of the worktree and goes with it. Raises AigonError: exit 2 for a
    bad configuration, 7 for a failed set-up.
    """
    wanted, settings = config.worktree, build_environment(candidate, config)
    name = hashlib.sha256(json.dumps([wanted.copy_, wanted.link, wanted.setup]).encode()).hexdigest()[:16]
    done = worktree.git_dir / "aigon" / "ready"
    # While another loop runs, its agent may just have written what is in the main checkout.
    others = (each for each in list_candidates(find_home(main.common_dir)) if each.branch != candidate.branch)
    if not (done.is_file() and any(is_in_use(main, each) for each in others)):
        refresh_configuration(main, worktree)
    if done.is_file() and done.read_text() == name:
        return name
    copy_files(main, worktree, wanted.copy_, say)
    link_files(main, worktree, wanted.link, say)
    if wanted.setup:
        say(f"Setting up the worktree of {candidate.label}: {_spell_command(wanted.setup)}")
        log = candidate_records(ensure_home(main.common_dir), candidate).folder / "set-up.log"
        _run_set_up(worktree.root, config, settings, log)
        _record_made_files(worktree)
    done.parent.mkdir(exist_ok=True)
    write_atomic(done, name.encode())
    return name


def _spell_command(command: str | Sequence[str]) -> str:
    return command if isinstance(command, str) else " ".join(command)


def _run_set_up(root: Path, config: Config, settings: Mapping[str, str], log: Path) -> None:
    """Run the project's command; `settings` are variables of the candidate. Raises AigonError (exit 7) if it fails."""
    command, seconds = config.worktree.setup or "", float(config.worktree.setup_timeout)
    env = {**redaction.drop_credentials(os.environ, config.env.pass_), "PATH": build_tool_path(root), **settings}
    env["PWD"] = str(root)
    if isinstance(command, str):
        argv = ["bash", "-c", command]
    else:
        argv = [shutil.which(command[0], path=env["PATH"]) or command[0], *command[1:]]
    log.parent.mkdir(parents=True, exist_ok=True)
    redact = redaction.make_redactor(os.environ)
    with _listen_for_stop() as stopping:
        with orphans.contain_descendants():
            exited = run.run(run.Command(argv, root, env, deadline=seconds, log=log, redact=redact), stopping)
        if exited.exit_code != 0 or exited.killed:
            raise _describe_failure(exited, _spell_command(command), log, stopping)


def _record_made_files(worktree: Checkout) -> None:
    """Record the ignored files that exist after the set-up: as they are now, they are no agent's work."""
    made, size = {}, 0
    for path in list_ignored_work(worktree):
        file = worktree.root / path
        with contextlib.suppress(OSError):
            size += file.lstat().st_size
            if size > MAX_HASHED_BYTES:
                break
            made[path] = hash_content(file)
    record_copies(worktree, made)


@contextmanager
def _listen_for_stop() -> Iterator[Stop | None]:
    """Yield what ends the command at Ctrl+C, which the main thread alone can listen for."""
    if threading.current_thread() is not threading.main_thread():
        yield None
        return
    with closing(Stop(patient=False)) as own, own.handling():
        yield own


def _describe_failure(exited: ProgramExit, shown: str, log: Path, stop: Stop | None) -> AigonError:
    reason, code = f"it exited with {exited.exit_code}", Exit.ENVIRONMENT
    if exited.timed_out:
        reason = "it ran out of time (worktree.setupTimeout)"
    elif stop and stop.now:
        reason, code = "it was interrupted", stop.exit_code
    elif exited.start_error:
        reason = "it could not be started"
    last_lines = clean(exited.stdout.decode(errors="replace")).strip().splitlines()[-MAX_OUTPUT_LINES:]
    output = exited.start_error or "\n         ".join(last_lines)
    return AigonError(
        f"The set-up of the worktree failed: {reason}: {shown}",
        where=str(log),
        hint=f'Fix the command ("worktree": {{"setup": ...}} in .aigon/config.json), then run again. {output}'.strip(),
        code=code,
    )
