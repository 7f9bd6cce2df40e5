"""The tree of one iteration (`Snapshot`) and what its checks and criteria came to (`Assessment`)."""

import errno
from collections.abc import Sequence
from concurrent.futures import Future
from threading import Lock

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.errors import environment
from aigon.files.system_errors import ResourceShortage, explain_os_error, explain_shortage
from aigon.git.private_index import Content
from aigon.git.workspace import Tip, Workspace
from aigon.job.results import Result
from aigon.model.changes import Concern, FileChange, PutBack
from aigon.model.checks import Check, Finding
from aigon.model.criteria import Verdict
from aigon.model.resources import find_full_volume, format_bytes
from aigon.process.meter import Meter
from aigon.text.quoting import combine_fingerprints, fingerprint

CHANGED = "changed-by-checks"
"""The rule for a file of the commit that the checks changed."""
MAX_NAMED_PATHS = 3


class Snapshot(Struct):
    """The content of aigon's private index. `complaints` are git's, about paths it refused; `notes` go to the agent.

    `put_back` is what the agent may not change. `number` is the iteration it belongs to, 0 for the baseline.
    """

    number: int
    tip: Tip
    workspace: Workspace
    base: str
    own_files: frozenset[str]
    complaints: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    changes: Future[tuple[FileChange, ...]] | None = None
    put_back: tuple[PutBack, ...] = ()
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
        """Return what it holds beyond the base, read from git once and only when something asks for it."""
        with self._asking:  # checks that run side by side all ask
            if self._content is None:
                self._content = self.workspace.content(self.base, self.own_files)
            return self._content

    @property
    def known(self) -> str:
        """A name for that content if something asked for it already, else empty."""
        return self._content.key() if self._content is not None else ""

    def forget(self) -> None:
        """Drop what was read of its content: the index was changed."""
        self._content = None


def is_baseline(base: str, workspace: Workspace) -> bool:
    """Return whether the snapshot is that of the commit `base`: what one run leaves is where the next one begins."""
    return not workspace.raw_changes(base)


class Assessment(Struct, frozen=True):
    """The findings and decisions on a snapshot; not `complete` if the run was stopped at once meanwhile.

    `ran` are its checks and commands with their whole results. `passed_at_base` and `adds_nothing` as in
    `IterationFinished`.
    """

    findings: tuple[Finding, ...]
    verdicts: tuple[Verdict, ...]
    content: str
    complete: bool = True
    concerns: tuple[Concern, ...] = ()
    ran: tuple[tuple[Check, Result], ...] = ()
    passed_at_base: tuple[int, ...] = ()
    adds_nothing: bool = False

    @property
    def fingerprint(self) -> str:
        """One name for the fingerprints of failures and the criteria that have not passed."""
        failing = (name for finding in self.findings for name in finding.fingerprints)
        open_ = (f"criterion {v.criterion}: {fingerprint(v.reason)}" for v in self.verdicts if v.status != "met")
        return combine_fingerprints([*failing, *open_])

    @property
    def score(self) -> tuple[int, ...]:
        """Progress, the weightiest first: criteria, checks and tests that passed."""
        tests = sum(f.counts.passed for f in self.findings if f.counts)
        checks = sum(f.status == "pass" for f in self.findings)
        return (sum(v.status == "met" for v in self.verdicts), checks, tests)


def leave_undecided(assessment: Assessment) -> Assessment:
    """Return the assessment of a run that was stopped at once meanwhile: what did not run cannot speak against it."""
    why = "the run was stopped before this was decided"
    verdicts = tuple(replace(verdict, status="unclear", reason=why) for verdict in assessment.verdicts)
    return replace(assessment, verdicts=verdicts, complete=False)


def require_untouched(assessment: Assessment) -> None:
    """Raise AigonError (exit 7) if the checks changed files of the base: no turn of an agent can help there."""
    finding = next((f for f in assessment.findings if f.role == "git" and f.status == "fail"), None)
    if changed := [problem.file for problem in finding.problems if problem.rule == CHANGED] if finding else []:
        raise environment(
            "The checks change files that git holds, so they do not pass on the files that are committed",
            where=few_paths(changed),
            hint="See what with `git diff`. Let them only check (--check), or run on a copy: "
            '"checks": {"NAME": {"writes": ["."]}} in .aigon/config.json. Then `git restore .`, and run again',
        )


def few_paths(paths: Sequence[str]) -> str:
    more = len(paths) - MAX_NAMED_PATHS
    return ", ".join([*paths[:MAX_NAMED_PATHS], *([f"{more} more"] if more > 0 else [])])


def require_room(meter: Meter, assessment: Assessment) -> None:
    """Raise AigonError (exit 7) if something failed while a disk was full: that says nothing about the work.

    Nothing was decided then. A resume assesses the very same work again, and pays no turn for that.
    """
    meter.sample()
    passed = all(f.status == "pass" for f in assessment.findings) and all(
        v.status == "met" for v in assessment.verdicts
    )
    if passed or not assessment.complete:
        return
    if isinstance(meter.trouble, ResourceShortage):
        raise meter.trouble
    if isinstance(meter.trouble, OSError):
        raise explain_os_error("The checks could not run, so nothing was decided", meter.trouble)
    if volume := find_full_volume(meter.least):
        what, do = explain_shortage(errno.EROFS if volume.problem else errno.ENOSPC, volume.mounted)
        least = "" if volume.problem or volume.free is None else f" (down to {format_bytes(volume.free)})"
        raise ResourceShortage(
            f"Checks failed while {what}{least}, so nothing was decided",
            where=f"{volume.place} ({volume.holds})",
            hint=f"{do}, then run again with --resume: the work is assessed again, without a paid turn",
        )
