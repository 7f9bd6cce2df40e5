"""The branch as a ref: moved by compare-and-swap, with a lock that can be told from anybody else's."""

import time
from contextlib import suppress
from pathlib import Path

from aigon.files.store import sync_folder
from aigon.git.loose_objects import write_out
from aigon.git.trusted import TrustedGit

RECENT = 60.0
"""Seconds before a run in which a person's git may have written what the kernel has not: it does so within 35 s."""


class BranchRef:
    """`refs/heads/<branch>` of a repository, which the checkout's HEAD names."""

    def __init__(self, trusted: TrustedGit, branch: str) -> None:
        self._trusted, self._name = trusted, f"refs/heads/{branch}"
        self._file = trusted.common_dir / "refs" / "heads" / branch
        self._seen: dict[str, int] = {}
        self._since = (time.time() - RECENT, time.monotonic() - RECENT)

    @property
    def lock(self) -> Path:
        """git's lock on the branch."""
        return self._file.with_name(f"{self._file.name}.lock")

    def move(self, commit: str, old: str) -> tuple[int, str]:
        """Move it from `old` to `commit` once all that `commit` holds is written out; git's exit code and words.

        git does not lock HEAD, and so does not write its log either: the line is added here. Raises OSError.
        """
        self.write_out()
        code, said = self._trusted.refs("update-ref", "-m", "aigon", self._name, commit, old, headless=True)
        if code == 0:
            self._flushed()
            self._log(commit, old)
        return code, said

    def write_out(self) -> None:
        """Hand to the disk what any git wrote since the last time. Raises OSError."""
        wall, steady = self._since
        now, passed = time.time(), time.monotonic() - steady
        since = min(wall, now - passed)  # whichever way the clock was set
        write_out(self._trusted.common_dir / "objects", since, self._seen)
        self._since = now, time.monotonic()

    def _flushed(self) -> None:
        """On a disk of its own the journal's next flush would not bring the branch's new name with it."""
        folder = self._file.parent
        if folder.stat().st_dev != self._trusted.directory.stat().st_dev:
            sync_folder(folder)

    def _log(self, commit: str, old: str) -> None:
        log, env = self._trusted.git_dir / "logs" / "HEAD", self._trusted.env
        who = f"{env['GIT_COMMITTER_NAME']} <{env['GIT_COMMITTER_EMAIL']}>"
        with suppress(OSError):  # a log is there for people who look for it: nothing else reads it
            if log.is_file():
                with log.open("ab") as file:
                    file.write(f"{old} {commit} {who} {int(time.time())} {time.strftime('%z')}\taigon\n".encode())

    def remove_own_lock(self, commit: str) -> bool:
        """Remove the lock that a git of aigon's left when it was killed; whether there was one. No other is touched.

        It holds the checkpoint that the branch was to be moved to: nobody else knows that one.
        """
        with suppress(OSError):
            if self.lock.read_bytes() == commit.encode() + b"\n":
                self.lock.unlink()
                return True
        return False
