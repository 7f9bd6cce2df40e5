"""Records of a feature that this state home does not have: what is known about them, and the way to them."""

import shlex
from pathlib import Path

from aigon.files.home import find_other_homes
from aigon.git.repository import find_repository
from aigon.journal.loop_states import states


def describe_search(root: Path, name: str, journal: Path) -> str:
    """Return which journal of feature `name` is not there, and what the state files of the checkout say about it."""
    told = [each for each in states(find_repository(root)) if each.feature == name]
    files = [f".aigon/loop-state-{name}{f'-{each.label}' if each.label else ''}.json" for each in told]
    known = [
        f"{file} has run {each.state['run_id']} of {each.state['agent']}, {each.state['status']}"
        for file, each in zip(files, told, strict=True)
        if each.state.get("run_id")
    ]
    return "; ".join([f"no journal at {journal}", *known])


def command_elsewhere(common_dir: Path, name: str, command: str) -> str:
    """Return `command` with the state home that has records of the feature, for each that does; "" for none."""
    homes = find_other_homes(common_dir, name)
    return "   or   ".join(f"AIGON_STATE_HOME={shlex.quote(str(home))} {command}" for home in homes)
