"""Programs that run when the package is installed or built: they run on other people's machines, and in the proof.

`review`: features hardly ever need one, and it can change anything that is installed with it. Setting up git hooks
with husky and its like is ordinary and a `note`, as are build hooks that only work out a version.
"""

from collections.abc import Iterator

from aigon.model.changes import Concern, Edits
from aigon.proof.analysis.manifests import read_scripts
from aigon.proof.analysis.sightings import report_file
from aigon.text.patterns import compile_re
from aigon.text.quoting import code_span, fold

RULE = "install-scripts"
_ORDINARY = compile_re(
    r"\s*(npx\s+)?(husky(\s+install)?|lefthook\s+install|simple-git-hooks"
    r"|is-ci\s*\|\|\s*husky(\s+install)?|patch-package"
    r"|prisma\s+generate|(npm|yarn|pnpm)\s+run\s+build|tsc(\s+-p\s+[\w./-]+)?"
    r"|electron-builder\s+install-app-deps)\s*(\|\|\s*true)?\s*"
)
_WHY = "That runs before any check. Let the code do its work when it is used, or let a person look at this."


def look(edits: Edits) -> Iterator[Concern]:
    """Report each manifest that brings or changes one."""
    for edit in edits.files:
        before, after = read_scripts(edit.path, edit.before), read_scripts(edit.path, edit.after)
        if new := {name: command for name, command in after.items() if command != before.get(name)}:
            is_ordinary = all(map(_ORDINARY.fullmatch, new.values()))
            shown = ", ".join(f"{fold(name, 60)}: {code_span(command, 80)}" for name, command in list(new.items())[:5])
            what = f"{fold(edit.path)} runs something when the package is installed or built: {shown}. {_WHY}"
            yield report_file(RULE, "note" if is_ordinary else "review", what, edit)
