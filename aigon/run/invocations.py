"""The aigons that work on a feature: ask them to stop, and end what killed ones left running.

A loop's guardian ends its processes within a moment; leftovers exist only if the guardian was killed as well.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from aigon.errors import environment
from aigon.files.home import find_home
from aigon.git.person import Checkout
from aigon.journal import records
from aigon.model.agents import find_candidate
from aigon.process import running
from aigon.process.running import QUEUES, Invocation, StopRequest
from aigon.spec import files

_MAX_COMMAND = 60
"""Characters of a command line that are shown."""


class LeftProcess(Struct, frozen=True):
    """One process that an aigon left: its number, what it is (its command line, shortened), and whose it was.

    `since` is when that aigon began (ISO 8601); `note` the file about it.
    """

    pid: int
    what: str
    feature: str
    label: str
    run_id: str
    since: str
    note: Path


def list_left_processes(home: Path, feature: str | None = None, label: str = "") -> tuple[LeftProcess, ...]:
    """Return what dead invocations of this repository left alive on this machine, or those of one feature and agent.

    If nothing runs and nothing was killed, only one folder is listed.
    """
    return tuple(
        LeftProcess(one.pid, _preview_command(one.pid), about.feature, about.label, about.run_id, about.since, note)
        for note, about in _list_dead(home)
        if feature is None or (feature, label) == (about.feature, about.label)
        for one in _find_survivors(about)
    )


def _preview_command(pid: int) -> str:
    from aigon.process.orphans import read_command_line
    from aigon.text.quoting import fold

    return fold(read_command_line(pid), _MAX_COMMAND)


def end_processes(processes: Sequence[LeftProcess]) -> int:
    """End them, what they started, and what else their invocations left; return how many processes are gone.

    First SIGTERM, then SIGKILL. Notes of which nothing is left are removed.
    """
    from aigon.process import orphans

    ended = 0
    for note in sorted({one.note for one in processes}):
        if about := running.read_note(note):
            ended += orphans.end_survivors(about)
            if not _find_survivors(about):
                running.remove_note(note)
    return ended


def end_left_by_feature(home: Path, feature: str, label: str) -> int:
    """End what a killed aigon left for this feature and agent: it would go on during the next one."""
    return end_processes(list_left_processes(home, feature, label))


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
    if left := [one for one in list_left_processes(home) if one.feature != beside]:
        many = "a process that is" if len(left) == 1 else f"{len(left)} processes that are"
        lines = [f"an aigon that was killed left {many} still running:"]
        for one in left:
            whose = f"{one.feature} ({one.label})" if one.label else one.feature
            lines.append(f"  pid {one.pid}: {one.what} (feature {whose}, since {one.since})")
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
    if running.is_from_earlier_boot(about):
        return ()
    from aigon.process.orphans import find_survivors

    return find_survivors(about)


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
