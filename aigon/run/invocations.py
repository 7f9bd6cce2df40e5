"""The aigons that work on a feature: ask them to stop, and end what killed ones left running.

A loop's guardian ends its processes within a moment; the leftovers are for when the guardian was killed as well.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from aigon.errors import AigonError, environment
from aigon.files.home import find_home
from aigon.git.person import Checkout
from aigon.journal import records
from aigon.model.candidates import find_candidate
from aigon.process import running
from aigon.process.running import Invocation, StopRequest
from aigon.spec import files

REMEDY = "aigon doctor --repair"
_SHOWN = 60
"""Characters of a command line that are shown."""


@dataclass(frozen=True, slots=True)
class LeftProcess:
    """One process that an aigon left: its number, what it is (its command line, shortened), and whose it was.

    `since` is when that aigon began (ISO 8601); `note` the file that tells of it.
    """

    pid: int
    what: str
    feature: str
    label: str
    run_id: str
    since: str
    note: Path

    @property
    def whose(self) -> str:
        """The feature, with its agent where there are several."""
        return f"{self.feature} ({self.label})" if self.label else self.feature


def list_left_processes(home: Path, feature: str | None = None, label: str = "") -> tuple[LeftProcess, ...]:
    """What dead invocations of this repository left alive on this machine; of one feature and agent where it is named.

    It only looks: a listing of one folder where nothing runs and nothing was killed.
    """
    return tuple(
        LeftProcess(one.pid, _command_of(one.pid), about.feature, about.label, about.run_id, about.since, note)
        for note, about in _dead(home)
        if feature is None or (feature, label) == (about.feature, about.label)
        for one in _survivors(about)
    )


def end_processes(found: Sequence[LeftProcess]) -> int:
    """End them, what they started, and what else their invocations left; how many processes are gone.

    First SIGTERM, then SIGKILL. Notes of which nothing is left are removed.
    """
    from aigon.process import orphans

    ended = 0
    for note in sorted({one.note for one in found}):
        if about := running.read_note(note):
            ended += orphans.end_survivors(about)
            if not _survivors(about):
                running.remove_note(note)
    return ended


def remove_stale_notes(home: Path) -> None:
    """Remove the notes of aigons that are gone and left nothing."""
    for note, about in list(_dead(home)):
        if not _survivors(about):
            running.remove_note(note)


def offer_to_end(
    home: Path, confirm: Callable[[str], bool] | None, say: Callable[[str], None], *, beside: str = ""
) -> None:
    """Tell a person what was left running, and end it if they say so; without `confirm`, tell the command that does.

    What was left of the feature called `beside` is not spoken of: a run of it ends that by itself.
    """
    found = [one for one in list_left_processes(home) if one.feature != beside]
    if found and confirm and confirm(f"{_said(found)}\nEnd them?"):
        say(f"ended {end_processes(found)} of them")
    elif found and not confirm:
        say(f"{_said(found)}\n  To end them: {REMEDY}")
    remove_stale_notes(home)


def end_left_by_feature(home: Path, feature: str, label: str) -> int:
    """End what an aigon that was killed left for this feature and agent: it would go on beside the next one."""
    return end_processes(found) if (found := list_left_processes(home, feature, label)) else 0


def _said(found: Sequence[LeftProcess]) -> str:
    lines = [f"  pid {one.pid}: {one.what} (feature {one.whose}, since {one.since})" for one in found]
    many = "a process that is" if len(found) == 1 else f"{len(found)} processes that are"
    return "\n".join([f"an aigon that was killed left {many} still running:", *lines])


def _dead(home: Path) -> list[tuple[Path, running.Invocation]]:
    """The notes whose aigon is gone, of those that this machine can know of."""
    read = [(note, about) for note in running.list_notes(home) if (about := running.read_note(note))]
    return [
        (note, about)
        for note, about in read
        if running.is_from_earlier_boot(about)
        or (running.is_on_this_machine(about) and not running.is_alive(about.loop))
    ]


def _survivors(about: running.Invocation) -> Sequence[running.StartedProcess]:
    if running.is_from_earlier_boot(about):
        return ()
    from aigon.process.orphans import find_survivors

    return find_survivors(about)


def _command_of(pid: int) -> str:
    """Its command line, for people."""
    from aigon.process.orphans import read_command_line
    from aigon.text.quoting import clean

    words = " ".join(clean(read_command_line(pid)).split())
    return words if len(words) <= _SHOWN else f"{words[:_SHOWN]}..."


def ask_to_stop(main: Checkout, wanted: str, agents: Sequence[str], how: StopRequest) -> tuple[Invocation, ...]:
    """Ask the loops of the feature `wanted`, or those of these agents of it, to end; return the notes about them.

    A loop is asked by a file beside its note, which it looks for: nothing is signalled, so no other process can be
    meant. Raises AigonError: exit 2 for an unknown feature, exit 7 if none of its loops runs.
    """
    home = find_home(main.common_dir)
    name = _name_of(main, home, wanted)
    notes = list(_notes(home, name)) if home else []
    labels = [_label_of(home, name, agent) for agent in agents]
    chosen = [(note, each) for note, each in notes if not labels or each.label in labels]
    if missing := [label for label in labels if label not in [each.label for _, each in chosen]]:
        there = ", ".join(each.label for _, each in notes if each.label) or "none in a worktree"
        raise environment(f"{missing[0]} is not working on feature {name}", hint=f"Running: {there}")
    local = [(note, each) for note, each in chosen if running.is_on_this_machine(each) and running.is_alive(each.loop)]
    if not local:
        raise _nothing_to_stop(name, [each for _, each in chosen if not running.is_on_this_machine(each)])
    for note in _leading(local):
        running.request_stop(note, how)
    loops = tuple(each for _, each in local if each.run_id)
    return loops or tuple(each for _, each in local)  # an arena that has not started one yet


def _notes(home: Path, name: str) -> Iterator[tuple[Path, Invocation]]:
    """The notes about aigons that work on a feature; those of an earlier boot of this machine are left out."""
    for note in running.list_notes(home):
        about = running.read_note(note)
        if about and about.feature == name and not running.is_from_earlier_boot(about):
            yield note, about


def _leading(chosen: Sequence[tuple[Path, Invocation]]) -> list[Path]:
    """The notes of those that no other of them started: an arena passes on what is asked of it."""
    pids = {each.loop.pid for _, each in chosen}
    return [note for note, each in chosen if running.read_parent(each.loop.pid) not in pids]


def _name_of(main: Checkout, home: Path | None, wanted: str) -> str:
    """What people call the feature. Its spec may be on another branch than the one that is checked out."""
    known = (
        {about.feature for note in running.list_notes(home) if (about := running.read_note(note))} if home else set()
    )
    if named := [name for name in known if name == wanted or _same_number(name, wanted)]:
        return named[0]
    if slug := next((each.feature for each in records.list_candidates(home) if each.slug == wanted), None):
        return slug
    return files.locate_feature(main.root, wanted).name_for_people


def _same_number(one: str, other: str) -> bool:
    return one.isdecimal() and other.isdecimal() and int(one) == int(other)


def _label_of(home: Path | None, name: str, agent: str) -> str:
    found = find_candidate(records.find_candidates(home, name), agent)
    return found.label if found else agent


def _nothing_to_stop(name: str, elsewhere: Sequence[Invocation]) -> AigonError:
    hint = f"aigon feature-status {name} shows where it stands"
    if not elsewhere:
        return environment(f"No loop runs on feature {name}", hint=hint)
    where = ", ".join(f"pid {each.loop.pid} on {each.host}, since {each.since}" for each in elsewhere)
    return environment(f"Feature {name} is worked on where this machine cannot see", where=where, hint="Stop it there")
