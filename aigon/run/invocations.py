"""The aigons that work here: ask them to stop, end what killed ones left running, tell whether one of them asks.

A loop's watchdog ends its processes within a moment; leftovers exist only if the watchdog was killed as well. Nothing
that a loop started may approve, merge or stop anything: aigon asks its own notes of running loops and the system's
table of processes, never the words of a command line.
"""

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from aigon.errors import AigonError, Exit, environment
from aigon.files.home import find_home, list_homes
from aigon.files.locks import read_start
from aigon.git.person import Checkout
from aigon.journal import records
from aigon.model.agents import find_candidate
from aigon.process import orphans, running
from aigon.process.orphans import list_lineage, read_variable
from aigon.process.running import QUEUES, Invocation, StartedProcess, StopRequest
from aigon.spec import files
from aigon.text.quoting import fold

_MAX_COMMAND = 60
"""Characters of a command line that are shown."""


class LeftProcess(Struct, frozen=True):
    """One process that an aigon left: its number, its command line (shortened), and that aigon with the note of it."""

    pid: int
    command: str
    left_by: Invocation
    note: Path


def list_left_processes(home: Path, feature: str | None = None, label: str = "") -> tuple[LeftProcess, ...]:
    """Return what dead invocations of this repository left alive on this machine, or those of one feature and agent.

    If nothing runs and nothing was killed, only one folder is listed.
    """
    return tuple(
        LeftProcess(one.pid, fold(orphans.read_command_line(one.pid), _MAX_COMMAND), about, note)
        for note, about in _list_dead(home)
        if feature is None or (feature, label) == (about.feature, about.label)
        for one in _find_survivors(about)
    )


def end_processes(processes: Sequence[LeftProcess]) -> int:
    """End them, what they started, and what else their invocations left; return how many processes are gone.

    First SIGTERM, then SIGKILL. Notes of which nothing is left are removed.
    """
    ended = 0
    for note in sorted({one.note for one in processes}):
        if about := running.read_note(note):
            ended += orphans.end_survivors(about)
            if not _find_survivors(about):
                running.remove_note(note)
    return ended


def remove_stale_notes(home: Path) -> None:
    """Remove the notes of aigons that are gone and left nothing."""
    for note, about in list(_list_dead(home)):
        if not _find_survivors(about):
            running.remove_note(note)


def offer_to_end(
    home: Path, confirm: Callable[[str], bool] | None, say: Callable[[str], None], *, beside: str = ""
) -> None:
    """Tell a person what was left running, and end it if they agree; without `confirm`, name the command that does.

    The feature called `beside` is left out: a run of it ends its own leftovers.
    """
    if left := [one for one in list_left_processes(home) if one.left_by.feature != beside]:
        many = "a process that is" if len(left) == 1 else f"{len(left)} processes that are"
        lines = [f"an aigon that was killed left {many} still running:"]
        for one in left:
            about = one.left_by
            whose = f"{about.feature} ({about.label})" if about.label else about.feature
            lines.append(f"  pid {one.pid}: {one.command} (feature {whose}, since {about.since})")
        text = "\n".join(lines)
        if confirm is None:
            say(f"{text}\n  To end them: aigon doctor --repair")
        elif confirm(f"{text}\nEnd them?"):
            say(f"ended {end_processes(left)} of them")
    remove_stale_notes(home)


def _list_dead(home: Path) -> list[tuple[Path, Invocation]]:
    """Return the notes whose aigon is gone, as far as this machine can know."""
    return [
        (note, about)
        for note, about in running.read_notes(home)
        if running.is_from_earlier_boot(about)
        or (running.is_on_this_machine(about) and not running.is_alive(about.loop))
    ]


def _find_survivors(about: Invocation) -> Sequence[running.StartedProcess]:
    return () if running.is_from_earlier_boot(about) else orphans.find_survivors(about)


def ask_to_stop(main: Checkout, wanted: str, agents: Sequence[str], how: StopRequest) -> tuple[Invocation, ...]:
    """Ask the loops of the feature `wanted`, or those of these agents of it, to end; return the notes about them.

    A loop is asked by a file next to its note, which it looks for: nothing is signalled, so no other process can be
    meant. Raises AigonError: exit 2 for an unknown feature, exit 7 if none of its loops runs.
    """
    home = find_home(main.common_dir)
    notes = running.read_notes(home) if home else []
    name = wanted if wanted in QUEUES else _resolve_name(main, home, wanted, {about.feature for _, about in notes})
    notes = [(n, about) for n, about in notes if about.feature == name and not running.is_from_earlier_boot(about)]
    known = records.find_candidates(home, name)
    labels = [candidate.label if (candidate := find_candidate(known, agent)) else agent for agent in agents]
    chosen = [(note, about) for note, about in notes if not labels or about.label in labels]
    if missing := [label for label in labels if label not in [about.label for _, about in chosen]]:
        working = ", ".join(sorted(about.label for _, about in notes if about.label)) or "none in a worktree"
        raise environment(f"{missing[0]} is not working on feature {name}", hint=f"Running: {working}")
    local = [(note, one) for note, one in chosen if running.is_on_this_machine(one) and running.is_alive(one.loop)]
    if not local:
        elsewhere = [about for _, about in chosen if not running.is_on_this_machine(about)]
        if not elsewhere and name in QUEUES:
            raise environment(
                f"No `{QUEUES[name]}` runs in this repository", hint="aigon run status shows the last one"
            )
        if not elsewhere:
            hint = f"aigon feature-status {name} shows where it stands"
            raise environment(f"No loop runs on feature {name}", hint=hint)
        where = ", ".join(f"pid {about.loop.pid} on {about.host}, since {about.since}" for about in elsewhere)
        what = f"Feature {name} is worked on where this machine cannot see"
        raise environment(what, where=where, hint="Stop it there")
    pids = {about.loop.pid for _, about in local}
    for note, about in local:
        if running.read_parent(about.loop.pid) not in pids:  # an arena passes on what is asked of it
            running.request_stop(note, how)
    loops = tuple(about for _, about in local if about.run_id)
    return loops or tuple(about for _, about in local)  # an arena that has not started one yet


def _resolve_name(main: Checkout, home: Path | None, wanted: str, running_features: set[str]) -> str:
    """Return what people call the feature. Its spec may be on another branch than the one that is checked out."""
    for name in running_features:
        both_numbers = name.isdecimal() and wanted.isdecimal()
        if name == wanted or (both_numbers and int(name) == int(wanted)):
            return name
    if slug := next((each.feature for each in records.list_candidates(home) if each.slug == wanted), None):
        return slug
    return files.locate_feature(main.root, wanted).name_for_people


MARKS = ("AIGON_RUN", "AIGON_INVOCATION")
"""Variables that everything has which a loop starts, until it takes them out."""


def require_person(verb: str, yes: bool) -> None:
    """Raise AigonError (exit 4) inside a loop, and without a terminal unless `yes` was given outside of one."""
    require_outside_a_run(verb)
    require_terminal(verb, yes)


def require_outside_a_run(verb: str) -> None:
    """Raise AigonError (exit 4) inside a loop, whatever the options say."""
    if why := find_run_above():
        what = f"{verb} is for a person, and this is inside a run of the loop"
        raise AigonError(what, where=why, hint="Run it in your own shell", code=Exit.NEEDS_HUMAN)


def require_terminal(verb: str, yes: bool | None) -> None:
    """Raise AigonError (exit 4) if no person can be asked and `yes` was not given; None: the verb has no `--yes`."""
    if not yes and not (sys.stdin.isatty() and sys.stderr.isatty()):
        what = f"{verb} needs a person's answer, and there is no terminal to ask in"
        raise AigonError(
            what, hint="Run it in a terminal" + ("" if yes is None else ", or add --yes"), code=Exit.NEEDS_HUMAN
        )


def find_run_above(pid: int | None = None) -> str:
    """Return what shows that a loop started this process, or the one called `pid`; "" if nothing does.

    Its own environment and that of its ancestors, as far as the system shows it; then the notes: a loop above it, the
    leader of a session that a loop started, or such a session itself, which stays when its leader is gone; then locks
    that its ancestors hold. What loses its parents falls to the loop, which adopts orphans (Linux).
    """
    if pid is None and (mark := next((name for name in MARKS if os.environ.get(name)), "")):
        return f"{mark} is set"
    lineage = list_lineage(pid)
    for process in lineage[pid is None :]:
        if mark := next((name for name in MARKS if read_variable(process.pid, name)), ""):
            return f"process {process.pid}, which started this one, has {mark}"
    sessions = {_find_session(process.pid) for process in lineage}
    notes = (about for home in list_homes() for _, about in running.read_notes(home))
    for about in filter(running.is_on_this_machine, notes):
        # An arena or a queue (without a run) starts nothing but loops, some by a person's leave.
        if about.run_id and about.loop in lineage:
            return f"the loop on feature {about.feature} (process {about.loop.pid}) started this"
        if any(leader in lineage or _leads(leader, sessions) for leader in about.sessions):
            return f"the loop on feature {about.feature} started this session"
    # Without a sandbox an agent can delete notes and locks, but no lock that another process has open.
    if holder := next((process.pid for process in lineage[pid is None :] if _holds_loop_lock(process.pid)), 0):
        return f"process {holder}, which started this one, holds the lock of a loop"
    return ""


def _holds_loop_lock(pid: int) -> bool:
    """Return whether a process has the lock of a loop open, as far as the system shows it (Linux)."""
    opened = Path(f"/proc/{pid}/fd")
    with suppress(OSError):
        for name in os.listdir(opened):  # noqa: PTH208 - names alone
            with suppress(OSError):
                if running.LOOP_LOCK.search(os.readlink(opened / name)):  # noqa: PTH115 - a text
                    return True
    return False


def _leads(leader: StartedProcess, sessions: set[int]) -> bool:
    """Return whether `leader` leads one of these sessions: its number is free again only once the session is empty."""
    start = read_start(leader.pid)
    return leader.pid in sessions and start in ("", leader.start)


def _find_session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return 0
