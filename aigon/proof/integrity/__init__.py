"""Integrity rules: what the checks cannot see about how a tree came about, and the rules of plug-ins.

A rule module, or an object in `entries`, has two public names: `RULE`, its name for people, and
`look(edits: Edits) -> Iterator[Concern]`. It is pure, and about what the change added: what the base had already is no
concern, wherever it is now. Texts are chosen by an agent, so every rule is bounded in time and survives anything. What
rules share is in `aigon.proof.analysis`.

`review` is kept for what an honest change hardly ever needs; everything that ordinary work brings along is a `note`.
"""

from aigon.errors import AigonError
from aigon.files.resources import Registry
from aigon.model.changes import Concern, Edits, hash_change

RULES = Registry("aigon.rules", __name__, "integrity rule", {"entries": "attributes executables forged links"})


def concerns(edits: Edits) -> tuple[Concern, ...]:
    """Return what all rules see in a change: what needs a person first. Never raises."""
    found = [concern for name in RULES.names() for concern in _apply(name, edits)]
    return tuple(sorted(found, key=lambda concern: concern.level != "review"))


def _apply(name: str, edits: Edits) -> tuple[Concern, ...]:
    rule = name.replace("_", "-")
    try:
        module = RULES.load(name)
        rule = module.RULE
        return tuple(module.look(edits))
    except Exception as error:
        # The one place where this is right: a rule reads what an agent wrote. A fault in it must not end a run, and
        # it must not pass for "nothing found" either.
        why = error.what if isinstance(error, AigonError) else type(error).__name__
    what = (
        f"The rule {rule} could not be applied ({why}), so the change was not examined for it. "
        "Keep that in mind when you read the change."
    )
    parts = (part for edit in edits.files for part in (edit.path, edit.after or "", edit.mode))
    paths = tuple(edit.path for edit in edits.files)[:20]
    return (Concern(rule, "review", what, paths, hash_change([rule, *map(ascii, parts)])),)
