"""Make a worktree ready: the ignored files that the project needs there, and its own set-up command, once."""

import contextlib
import hashlib
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from aigon.config.loading import build_tool_path
from aigon.config.models import Config, WorktreeConfig
from aigon.errors import AigonError, Exit
from aigon.files.atomic import write_atomic
from aigon.files.home import ensure_home, find_home
from aigon.git.person import Checkout
from aigon.journal.records import candidate_records, list_candidates
from aigon.model.candidates import Candidate
from aigon.model.turns import ProgramExit
from aigon.process import orphans, run
from aigon.process.stop import Stop
from aigon.secrets import redaction
from aigon.text.quoting import clean
from aigon.worktrees.ignored import list_ignored_work
from aigon.worktrees.places import is_in_use
from aigon.worktrees.project_files import copy_files, hash_content, link_files, record_copies, refresh_configuration

MAX_OUTPUT_LINES = 10
"""Lines of a failed set-up's output that are shown."""
MAX_HASHED_BYTES = 500 * 1024 * 1024
"""Bytes of what a set-up made that are read, to tell later whether anybody changed it."""


def hash_set_up(config: WorktreeConfig) -> str:
    """A name for what is done in a new worktree: another one, and it is done again."""
    said = json.dumps([config.copy_, config.link, config.setup])
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def prepare_worktree(
    main: Checkout,
    worktree: Checkout,
    candidate: Candidate,
    config: Config,
    settings: Mapping[str, str],
    say: Callable[[str], None],
    stop: Stop | None,
) -> str:
    """Do in the worktree what the configuration asks for, unless it was done there; the name of the set-up.

    What was done is noted in git's own folder of the worktree, with which it is gone. `settings` are the variables of
    the candidate's own. Raises AigonError: exit 2 for a bad configuration, 7 for a set-up that failed.
    """
    name, done = hash_set_up(config.worktree), worktree.git_dir / "aigon" / "ready"
    if not (done.is_file() and _is_another_loop_running(main, candidate)):
        refresh_configuration(main, worktree)
    if done.is_file() and done.read_text() == name:
        return name
    copy_files(main, worktree, config.worktree.copy_, say)
    link_files(main, worktree, config.worktree.link, say)
    if config.worktree.setup:
        _run_set_up(main, worktree, candidate, config, settings, say, stop)
        _record_made_files(worktree)
    done.parent.mkdir(exist_ok=True)
    write_atomic(done, name.encode())
    return name


def _is_another_loop_running(main: Checkout, candidate: Candidate) -> bool:
    """Whether another loop runs: what its agent writes into the main checkout just now is nobody's word."""
    others = (each for each in list_candidates(find_home(main.common_dir)) if each != candidate)
    return any(is_in_use(main, each) for each in others)


def _run_set_up(
    main: Checkout,
    worktree: Checkout,
    candidate: Candidate,
    config: Config,
    settings: Mapping[str, str],
    say: Callable[[str], None],
    stop: Stop | None,
) -> None:
    command = config.worktree.setup or ""
    shown = command if isinstance(command, str) else " ".join(command)
    say(f"Setting up the worktree of {candidate.label}: {shown}")
    log = candidate_records(ensure_home(main.common_dir), candidate).folder / "set-up.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    env = {
        **redaction.drop_credentials(os.environ, config.env.pass_),
        "PATH": build_tool_path(worktree.root),
        **settings,
    }
    env["PWD"] = str(worktree.root)
    with _listen_for_stop(stop) as heard:
        with orphans.contain_descendants():
            exited = run.run(
                run.Command(
                    _resolve_command(command, env),
                    cwd=worktree.root,
                    env=env,
                    deadline=float(config.worktree.setup_timeout),
                    log=log,
                    redact=redaction.make_redactor(os.environ),
                ),
                heard,
            )
        if exited.exit_code != 0 or exited.killed:
            raise _describe_failure(exited, shown, log, heard)


def _record_made_files(worktree: Checkout) -> None:
    """Write down what ignored files there are after the set-up: as they are then, they are nobody's work."""
    made, size = {}, 0
    for path in list_ignored_work(worktree):
        file = worktree.root / path
        with contextlib.suppress(OSError):
            size += file.lstat().st_size
            if size > MAX_HASHED_BYTES:
                break
            made[path] = hash_content(file)
    record_copies(worktree, made)


def _resolve_command(command: str | list[str], env: Mapping[str, str]) -> list[str]:
    if isinstance(command, str):
        return ["bash", "-c", command]
    return [shutil.which(command[0], path=env["PATH"]) or command[0], *command[1:]]


@contextmanager
def _listen_for_stop(stop: Stop | None) -> Iterator[Stop | None]:
    """What ends the command: the run's own, or Ctrl+C, for as long as it runs."""
    if stop or threading.current_thread() is not threading.main_thread():
        yield stop
        return
    with closing(Stop(patient=False)) as own, own.handling():
        yield own


def _describe_failure(exited: ProgramExit, shown: str, log: Path, stop: Stop | None) -> AigonError:
    last = clean(exited.stdout.decode(errors="replace")).strip().splitlines()[-MAX_OUTPUT_LINES:]
    said = exited.start_error or "\n         ".join(last)
    why, code = f"it exited with {exited.exit_code}", Exit.ENVIRONMENT
    if exited.timed_out:
        why = "it ran out of time (worktree.setupTimeout)"
    elif stop and stop.now:
        why, code = "it was interrupted", Exit.INTERRUPTED if stop.reason == "SIGINT" else Exit.TERMINATED
    elif exited.start_error:
        why = "it could not be started"
    return AigonError(
        f"The set-up of the worktree failed: {why}: {shown}",
        where=str(log),
        hint=f'Fix the command ("worktree": {{"setup": ...}} in .aigon/config.json), then run again. {said}'.strip(),
        code=code,
    )
