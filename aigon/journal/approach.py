"""What a turn is told of turns that led nowhere: a failure or a tree that came back, a turn that was cut off."""

from aigon.journal.state import State
from aigon.model.turns import TEMPORARY_ENDS

_BACK = {
    "failure": "the same checks fail in the same way and the same criteria are open as after iteration {number}",
    "tree": "the files are again what they were after iteration {number}",
}


def approach(state: State, number: int) -> str:
    """A section of the prompt of iteration `number`; empty when there is nothing to say."""
    return "\n\n".join(part for part in (_cut_off(state, number), _another_way(state)) if part)


def _cut_off(state: State, number: int) -> str:
    if not _held(state, number):
        return ""
    return (
        "## A turn before yours was cut off\n\n"
        "It ran into a limit in the middle of its work. What it had written is in the workspace: look at it "
        "(`git status`, `git diff`) before you go on from there, or do it over."
    )


def _held(state: State, number: int) -> bool:
    """Whether the try before this one, or the last iteration (of an invocation before, too), was held up."""
    turn, done = state.turn, state.tried.done
    if turn is not None:
        return turn.held and turn.number in (number, state.finished)
    return bool(done) and done[-1].number == state.finished and done[-1].end in TEMPORARY_ENDS


def _another_way(state: State) -> str:
    """Nothing where nobody worked: that a tree is as it was is no wonder then."""
    last = state.tried.done[-1] if state.tried.done and state.tried.done[-1].end not in TEMPORARY_ENDS else None
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
