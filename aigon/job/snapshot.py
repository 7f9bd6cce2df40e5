"""The work tree at one moment, in aigon's private index."""

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Lock

from aigon.git.workspace import Content, Tip, Workspace
from aigon.model.changes import FileChange


@dataclass(slots=True)
class Snapshot:
    """What aigon's private index holds. `complaints` are git's, about paths it could not take; `notes` go to the agent.

    `number` is the iteration it belongs to, 0 for the base.
    """

    number: int
    tip: Tip
    workspace: Workspace
    base: str
    own_files: frozenset[str]
    complaints: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    changes: Future[tuple[FileChange, ...]] | None = None
    _content: Content | None = field(default=None)
    _asking: Lock = field(default_factory=Lock)

    def take_in(self, paths: Sequence[str]) -> None:
        """Hold these files as they are in the work tree now."""
        self.workspace.stage(paths)
        self.forget()

    def settle(self) -> None:
        """Wait until nothing of aigon's own is running for this snapshot: a sweep would take it for a survivor."""
        if self.changes:
            self.changes.result()

    def content(self) -> Content:
        """What it holds beyond the base, asked of git once and only when something wants to know."""
        with self._asking:  # of checks side by side each wants to know
            if self._content is None:
                self._content = self.workspace.content(self.base, self.own_files)
            return self._content

    @property
    def known(self) -> str:
        """A name for that content if something asked for it already, else empty."""
        return self._content.key() if self._content is not None else ""

    def forget(self) -> None:
        """The index was changed: what was known of its content no longer holds."""
        self._content = None


def is_the_base(base: str, workspace: Workspace, tree: str) -> bool:
    """Return whether `tree` is that of the commit `base`: what one run leaves is where the next one begins."""
    code, out, _ = workspace.trusted.attempt("rev-parse", "--verify", "-q", f"{base}^{{tree}}")
    return code == 0 and out.decode().strip() == tree
