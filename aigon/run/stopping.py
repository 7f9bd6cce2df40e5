"""Ask the loops of a feature to end: the one in a checkout, those in worktrees, an arena with all of its own."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from aigon.errors import AigonError, environment
from aigon.files.home import known_home
from aigon.git.person import Checkout
from aigon.journal import candidates
from aigon.model.candidates import find_candidate
from aigon.process import running
from aigon.process.running import Invocation, StopRequest
from aigon.spec import files


def ask_to_stop(main: Checkout, wanted: str, agents: Sequence[str], how: StopRequest) -> tuple[Invocation, ...]:
    """Ask the loops of the feature `wanted`, or those of these agents of it, to end; return the notes about them.

    A loop is asked by a file beside its note, which it looks for: nothing is signalled, so no other process can be
    meant. Raises AigonError: exit 2 for an unknown feature, exit 7 if none of its loops runs.
    """
    home = known_home(main.common_dir)
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
    if slug := next((each.feature for each in candidates.every(home) if each.slug == wanted), None):
        return slug
    return files.locate(main.root, wanted).name_for_people


def _same_number(one: str, other: str) -> bool:
    return one.isdecimal() and other.isdecimal() and int(one) == int(other)


def _label_of(home: Path | None, name: str, agent: str) -> str:
    found = find_candidate(candidates.of_feature(home, name), agent)
    return found.label if found else agent


def _nothing_to_stop(name: str, elsewhere: Sequence[Invocation]) -> AigonError:
    hint = f"aigon feature-status {name} shows where it stands"
    if not elsewhere:
        return environment(f"No loop runs on feature {name}", hint=hint)
    where = ", ".join(f"pid {each.loop.pid} on {each.host}, since {each.since}" for each in elsewhere)
    return environment(f"Feature {name} is worked on where this machine cannot see", where=where, hint="Stop it there")
