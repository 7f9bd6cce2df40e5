"""What the loops of an arena tell one another of the baseline, which all of them assess: what failed there.

Passes are remembered for everybody (`aigon.checks.passes`). A failure is shared only here, for the commit that all
have in common and as long as the arena lasts, and never with the loop that found it: that one runs the check again.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from aigon.files.atomic import write_atomic
from aigon.job.results import Result, decode_result, encode_result
from aigon.job.world import Attendant
from aigon.process.capacity import wait_for_lock
from aigon.process.stop import Stop


class BaselineResults(Attendant):
    """Kept in `folder`, which the arena empties when it begins; `label` is the loop's own."""

    def __init__(self, folder: Path, label: str) -> None:
        self._folder, self._label = folder, label
        self._held = ExitStack()

    def claim(self, keys: Iterable[str], stop: Stop) -> None:
        """Be the only one who runs the checks with these names, until `close`; other loops wait for that.

        All at once and in order, so that no two wait for each other. Once `stop` says now, nothing is waited for.
        """
        for key in sorted(set(keys)):
            if not wait_for_lock(self._folder / f"{key}.lock", stop, self._held):
                return

    @contextmanager
    def alone(self, name: str, stop: Stop) -> Iterator[None]:
        """Be the only one of the arena who does this; others wait for its end."""
        with ExitStack() as held:
            wait_for_lock(self._folder / f"{name}.lock", stop, held)
            yield

    def close(self) -> None:
        """Let the others run the checks."""
        self._held.close()

    def keep(self, key: str, result: Result, root: Path) -> None:
        """Keep a failure that was found in the work tree at `root`."""
        self._write(key, {**encode_result(result, root), "by": self._label})

    def first(self, name: str, said: Mapping[str, str]) -> dict[str, str]:
        """Return what the first loop of the arena said under this name; `said`, if this is the first."""
        try:
            return {str(key): str(value) for key, value in json.loads(self._read(name)).items()}
        except (OSError, ValueError, AttributeError, RecursionError):
            self._write(name, said)
            return dict(said)

    def failure(self, key: str, root: Path, log: Path) -> Result | None:
        """Return the failure that another loop found, as if it had been found in the work tree at `root`.

        None if there is none, or the file cannot be read as what is surely a failure.
        """
        try:
            document = json.loads(self._read(key))
            result = None if document["by"] == self._label else decode_result(document, root, log)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        return result if result and result.finding.status == "fail" else None

    def _read(self, name: str) -> bytes:
        return (self._folder / f"{name}.json").read_bytes()

    def _write(self, name: str, document: Mapping[str, object]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        write_atomic(self._folder / f"{name}.json", json.dumps(dict(document)).encode())
