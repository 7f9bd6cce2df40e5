"""Programs that run when the package is installed or built: they run on other people's machines, and in the proof.

`review`: features hardly ever need one, and it can change anything that is installed with it. Setting up git hooks
with husky and its like is ordinary and a `note`, as are build hooks that only work out a version.
"""

import re
from collections.abc import Iterator

from aigon.model.changes import Concern, ConcernLevel, Edit, Edits
from aigon.proof.analysis.manifests import scripts
from aigon.proof.analysis.sightings import key
from aigon.text.quoting import code_span, fold

RULE = "install-scripts"
_ORDINARY = re.compile(
    r"\s*(npx\s+)?(husky(\s+install)?|lefthook\s+install|simple-git-hooks"
    r"|is-ci\s*\|\|\s*husky(\s+install)?|patch-package"
    r"|prisma\s+generate|(npm|yarn|pnpm)\s+run\s+build|tsc(\s+-p\s+[\w./-]+)?"
    r"|electron-builder\s+install-app-deps)\s*(\|\|\s*true)?\s*"
)


def look(edits: Edits) -> Iterator[Concern]:
    """One concern for each manifest that brings or changes one."""
    for edit in edits.files:
        before, after = scripts(edit.path, edit.before), scripts(edit.path, edit.after)
        new = {name: after[name] for name in after if after[name] != before.get(name)}
        if new:
            yield _concern(edit, new)


def _concern(edit: Edit, new: dict[str, str]) -> Concern:
    level: ConcernLevel = "note" if all(_ORDINARY.fullmatch(command) for command in new.values()) else "review"
    shown = ", ".join(f"{fold(name, 60)}: {code_span(command, 80)}" for name, command in list(new.items())[:5])
    what = (
        f"{fold(edit.path)} runs something when the package is installed or built: {shown}. "
        "That runs before any check. Let the code do its work when it is used, or let a person look at this."
    )
    return Concern(RULE, level, what, (edit.path,), key(RULE, edit))
