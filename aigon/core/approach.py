"""What a turn is told of turns that led nowhere: a failure or a tree that came back, a turn that was cut off."""

from aigon.core.state import State

_BACK = {
    "failure": "the same checks fail in the same way and the same criteria are open as after iteration {number}",
    "tree": "the files are again what they were after iteration {number}",
}


def approach(state: State, number: int) -> str:
    """A section of the prompt of iteration `number`; empty when there is nothing to say."""
    return "\n\n".join(part for part in (_cut_off(state, number), _another_way(state)) if part)


def _cut_off(state: State, number: int) -> str:
    turn = state.turn
    if turn is None or not turn.held or turn.number not in (number, state.finished):
        return ""
    return (
        "## A turn before yours was cut off\n\n"
        "It ran into a limit in the middle of its work. What it had written is in the workspace: look at it "
        "(`git status`, `git diff`) before you go on from there, or do it over."
    )


def _another_way(state: State) -> str:
    last = state.tried.done[-1] if state.tried.done else None
    found = [(last.again, "failure"), (last.same_tree, "tree")] if last else []
    before, what = next(((number, what) for number, what in found if number), (0, ""))
    if not what:
        return ""
    return (
        "## Try a different approach\n\n"
        f"The last iteration led back: {_BACK[what].format(number=before)}. More of the same will not help. Before you "
        "edit, read the failing code and its test once more, name the assumption that was wrong, and take another way "
        "than the ones before: another place to change, another design, or a smaller step that you can check by itself."
    )
