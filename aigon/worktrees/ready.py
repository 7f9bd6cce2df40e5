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
from aigon.config.models import Config
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
"""Bytes of files made by a set-up that are hashed, to find out later whether anybody changed them."""


def prepare_worktree(
    main: Checkout,
    worktree: Checkout,
    candidate: Candidate,
    config: Config,
    settings: Mapping[str, str],
    say: Callable[[str], None],
    stop: Stop | None,
) -> str:
    """Do in the worktree what the configuration asks for, unless it is done, and return the name of the set-up.

    The note of what is done is in git's own folder of the worktree and goes with it. `settings` are environment
    variables of the candidate. Raises AigonError: exit 2 for a bad configuration, 7 for a failed set-up.
    """
    wanted = config.worktree
    name = hashlib.sha256(json.dumps([wanted.copy_, wanted.link, wanted.setup]).encode()).hexdigest()[:16]
    done = worktree.git_dir / "aigon" / "ready"
    # While another loop runs, its agent may just have written what is in the main checkout.
    others = (each for each in list_candidates(find_home(main.common_dir)) if each != candidate)
    if not (done.is_file() and any(is_in_use(main, each) for each in others)):
        refresh_configuration(main, worktree)
    if done.is_file() and done.read_text() == name:
        return name
    copy_files(main, worktree, wanted.copy_, say)
    link_files(main, worktree, wanted.link, say)
    if wanted.setup:
        _run_set_up(main, worktree, candidate, config, settings, say, stop)
        _record_made_files(worktree)
    done.parent.mkdir(exist_ok=True)
    write_atomic(done, name.encode())
    return name


def _run_set_up(
    main: Checkout,
    worktree: Checkout,
    candidate: Candidate,
    config: Config,
    settings: Mapping[str, str],
    say: Callable[[str], None],
    stop: Stop | None,
) -> None:
    env = {
        **redaction.drop_credentials(os.environ, config.env.pass_),
        "PATH": build_tool_path(worktree.root),
        **settings,
    }
    env["PWD"] = str(worktree.root)
    command = config.worktree.setup or ""
    if isinstance(command, str):
        shown, argv = command, ["bash", "-c", command]
    else:
        shown, argv = " ".join(command), [shutil.which(command[0], path=env["PATH"]) or command[0], *command[1:]]
    say(f"Setting up the worktree of {candidate.label}: {shown}")
    log = candidate_records(ensure_home(main.common_dir), candidate).folder / "set-up.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with _listen_for_stop(stop) as stopping:
        with orphans.contain_descendants():
            exited = run.run(
                run.Command(
                    argv,
                    cwd=worktree.root,
                    env=env,
                    deadline=float(config.worktree.setup_timeout),
                    log=log,
                    redact=redaction.make_redactor(os.environ),
                ),
                stopping,
            )
        if exited.exit_code != 0 or exited.killed:
            raise _describe_failure(exited, shown, log, stopping)


def _record_made_files(worktree: Checkout) -> None:
    """Record the ignored files that exist after the set-up: as they are now, they are nobody's work."""
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
def _listen_for_stop(stop: Stop | None) -> Iterator[Stop | None]:
    """Yield what ends the command: the stop of the run, or one of its own that listens for Ctrl+C."""
    if stop or threading.current_thread() is not threading.main_thread():
        yield stop
        return
    with closing(Stop(patient=False)) as own, own.handling():
        yield own


def _describe_failure(exited: ProgramExit, shown: str, log: Path, stop: Stop | None) -> AigonError:
    reason, code = f"it exited with {exited.exit_code}", Exit.ENVIRONMENT
    if exited.timed_out:
        reason = "it ran out of time (worktree.setupTimeout)"
    elif stop and stop.now:
        reason, code = "it was interrupted", Exit.INTERRUPTED if stop.reason == "SIGINT" else Exit.TERMINATED
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
