"""The tree that is proven, and the same with other texts."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from aigon.git import objects
from aigon.git.trusted import TrustedGit
from aigon.job.results import Result
from aigon.model.changes import FilePart
from aigon.model.checks import Check
from aigon.proof.findings import Changed, read_versions

Run = Callable[[str, Sequence[Check], str], Mapping[str, Result]]
"""Runs checks on a clean export of a tree; their output goes to the folder of that name."""
Texts = Mapping[str, tuple[str, str]]
"""The texts of files by path: the base's and the tree's."""


class Tree(Struct, frozen=True):
    """The tree to prove, how it differs from the base, and what its files are for."""

    git: TrustedGit
    name: str
    rows: Sequence[Changed]
    part: Callable[[str], FilePart]

    def lay_over(self, texts: Mapping[str, str]) -> str:
        """Return the name of the tree with these texts."""
        entries = objects.list_entries(self.git, self.name, texts)
        blobs = {path: objects.write_blob(self.git, text.encode("utf-8", "replace")) for path, text in texts.items()}
        return objects.write_tree_with(
            self.git, self.name, {path: (entries[path].mode, sha) for path, sha in blobs.items()}
        )

    def read_changes(self, *parts: str) -> dict[str, tuple[str, str]]:
        """Return the texts of the files that are there and differ, by path."""
        rows = [row for row in self.rows if row.tree and row.tree.is_file and self.part(row.path) in parts]
        versions = read_versions(self.git, rows).items()
        return {path: (before or "", after or "") for path, (before, after) in versions}
