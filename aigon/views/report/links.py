"""Commits and files, with their address where a known forge has them. No address comes from anybody else."""

from dataclasses import dataclass

from aigon.journal.account import FeatureAccount, WorkAccount
from aigon.views.report.markup import Markup, tag

SHORT = 8
"""Digits of a commit that people are shown."""
LONGEST = 400
"""Characters of a path that is linked."""


@dataclass(frozen=True, slots=True)
class Links:
    """How one work's commits and files are shown."""

    account: FeatureAccount
    work: WorkAccount

    def commit(self, commit: str) -> Markup:
        """A commit by its short name; the whole one is its title."""
        short = tag("code", commit[:SHORT], title=f"commit {commit}")
        forge = self.account.forge
        return tag("a", short, href=forge.commit(commit), rel="noreferrer") if forge and commit else short

    def file(self, path: str, line: int = 0, commit: str = "") -> Markup:
        """A file, at a line where one is named, as `commit` has it (else the last one of the work)."""
        shown = tag("code", f"{path}:{line}" if line else path, class_="path")
        forge, at = self.account.forge, commit or self.work.commit
        if not forge or not at or len(path) > LONGEST or path.startswith("/") or ".." in path.split("/"):
            return shown
        return tag("a", shown, href=forge.file(at, path, line), rel="noreferrer")
