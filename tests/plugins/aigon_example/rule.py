"""Note every change that adds a file called done.txt."""

from collections.abc import Iterator

from aigon.model.changes import Concern, Edits, hash_change

RULE = "example-rule"


def look(edits: Edits) -> Iterator[Concern]:
    """Yield a concern for each such file; `review` instead of `note` would stop the run for a person."""
    for edit in edits.files:
        if edit.path == "done.txt" and edit.before is None:
            yield Concern(RULE, "note", "The example rule saw done.txt.", (edit.path,), hash_change([RULE, edit.path]))
