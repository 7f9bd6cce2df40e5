"""What aigons that were killed left running for a repository: found by their notes, shown, ended.

A loop's guardian ends it within a moment; this is for when the guardian was killed as well. Nothing is done by itself
but for what a new run of the same feature would collide with: a person is asked, or told the command.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from aigon.process import running

REMEDY = "aigon doctor --repair"
_SHOWN = 60
"""Characters of a command line that are shown."""


@dataclass(frozen=True, slots=True)
class Left:
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


def left(home: Path, feature: str | None = None, label: str = "") -> tuple[Left, ...]:
    """What dead invocations of this repository left alive on this machine; of one feature and agent where it is named.

    It only looks: a listing of one folder where nothing runs and nothing was killed.
    """
    return tuple(
        Left(one.pid, _command_of(one.pid), about.feature, about.label, about.run_id, about.since, note)
        for note, about in _dead(home)
        if feature is None or (feature, label) == (about.feature, about.label)
        for one in _survivors(about)
    )


def end(found: Sequence[Left]) -> int:
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


def tidy(home: Path) -> None:
    """Remove the notes of aigons that are gone and left nothing."""
    for note, about in list(_dead(home)):
        if not _survivors(about):
            running.remove_note(note)


def offer(home: Path, confirm: Callable[[str], bool] | None, say: Callable[[str], None], *, beside: str = "") -> None:
    """Tell a person what was left running, and end it if they say so; without `confirm`, tell the command that does.

    What was left of the feature called `beside` is not spoken of: a run of it ends that by itself.
    """
    found = [one for one in left(home) if one.feature != beside]
    if found and confirm and confirm(f"{_said(found)}\nEnd them?"):
        say(f"ended {end(found)} of them")
    elif found and not confirm:
        say(f"{_said(found)}\n  To end them: {REMEDY}")
    tidy(home)


def end_of(home: Path, feature: str, label: str) -> int:
    """End what an aigon that was killed left for this feature and agent: it would go on beside the next one."""
    return end(found) if (found := left(home, feature, label)) else 0


def _said(found: Sequence[Left]) -> str:
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
