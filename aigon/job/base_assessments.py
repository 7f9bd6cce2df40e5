"""What the loops of an arena know from one another of the base, at which all of them look: what failed there.

Passes are remembered for everybody (`aigon.checks.passes`). A failure is one only here, for the commit that all
have in common and as long as the arena lasts, and never for the loop that found it: it looks again when it comes back.
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
    """Kept in `folder`, which the arena empties when it begins; `label` is whose look this is."""

    def __init__(self, folder: Path, label: str) -> None:
        self._folder, self._label = folder, label
        self._held = ExitStack()

    def claim(self, keys: Iterable[str], stop: Stop) -> None:
        """Be the only one who runs the checks with these names, until `close`: whoever wants to know waits for it.

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
        """Let the others look."""
        self._held.close()

    def keep(self, key: str, result: Result, root: Path) -> None:
        """Keep a failure that was found in the work tree at `root`."""
        self._folder.mkdir(parents=True, exist_ok=True)
        document = {**encode_result(result, root), "by": self._label}
        write_atomic(self._folder / f"{key}.json", json.dumps(document).encode())

    def first(self, name: str, said: Mapping[str, str]) -> dict[str, str]:
        """What the first loop of the arena said under this name; `said`, if this is the first."""
        file = self._folder / f"{name}.json"
        try:
            return {str(key): str(value) for key, value in json.loads(file.read_bytes()).items()}
        except (OSError, ValueError, AttributeError, RecursionError):
            self._folder.mkdir(parents=True, exist_ok=True)
            write_atomic(file, json.dumps(dict(said)).encode())
            return dict(said)

    def failure(self, key: str, root: Path, log: Path) -> Result | None:
        """The failure that another loop found, as if it had been found in the work tree at `root`.

        None where there is none, or what is there can be read in no way that is surely a failure.
        """
        try:
            document = json.loads((self._folder / f"{key}.json").read_bytes())
            found = None if document["by"] == self._label else decode_result(document, root, log)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        return found if found and found.finding.status == "fail" else None
