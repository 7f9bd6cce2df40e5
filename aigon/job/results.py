"""The result of one run of a check, its form in JSON, what the loops of an arena share, and how long checks took."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, get_args

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from aigon.files.atomic import write_atomic
from aigon.files.checksums import read_journal_end
from aigon.job.world import Attendant
from aigon.model.checks import Durations, Finding, Problem, TestCounts, TestResult, add_duration
from aigon.process.capacity import wait_for_lock
from aigon.process.stop import Stop

KEPT_OUTPUT = 100_000
"""Bytes of output kept with a result; the number of a metric is at its end."""


class Measurement(Struct, frozen=True):
    """A measurement of a command by aigon, the best of so many `runs`, in the unit of its quantity."""

    value: float
    runs: int


class Result(Struct, frozen=True):
    """A finding, and the whole (capped) output it was made from.

    `tests` are the results of single tests by id, from reports that a program cannot forge by printing, or from what a
    runner prints itself if its parser can tell that from what tests print; `reported` says whether such a report could
    be read to its end, even if it names no test.
    """

    finding: Finding
    output: bytes = b""
    tests: Mapping[str, TestResult] = field(default_factory=dict)
    reported: bool = False
    measured: Measurement | None = None


def encode_result(result: Result, root: Path) -> dict[str, object]:
    """Return the result, as it was found in the work tree at `root`, as JSON."""
    return {
        "root": str(root),
        "finding": to_builtins(result.finding),
        "output": result.output[-KEPT_OUTPUT:].decode("latin-1"),
        "tests": dict(result.tests),
        "reported": result.reported,
    }


def decode_result(document: Mapping[str, Any], root: Path, log: Path) -> Result:
    """Return the result in a document, as cached, for the work tree at `root`.

    If it comes from another tree, its paths become this tree's, and the whole output is copied to `log`. Raises
    KeyError, TypeError, ValueError or AttributeError for a malformed document.
    """
    home = document.get("root", str(root))
    source = document["finding"]["log"]
    if home != str(root):
        document = _Relocation(home, str(root)).move_paths(dict(document))
    known = dict(document["finding"])
    counts, problems, names = known.pop("counts"), known.pop("problems"), known.pop("fingerprints")
    finding = Finding(
        **{
            **known,
            "counts": TestCounts(**counts) if isinstance(counts, dict) else None,
            "problems": tuple(Problem(**each) for each in problems) if isinstance(problems, list) else (),
            "fingerprints": tuple(map(str, names)),
            "cached": True,
        }
    )
    if home != str(root):
        finding = replace(finding, log=_Relocation(home, str(root)).copy_log(source, log))
    tests = dict(document["tests"])
    if not set(tests.values()) <= set(get_args(TestResult)):
        raise ValueError("no result of a test")
    return Result(finding, document["output"].encode("latin-1"), tests, bool(document["reported"]))


class _Relocation:
    """Replaces the path of one folder by that of another, as text or as bytes that are written as latin-1."""

    def __init__(self, old: str, new: str) -> None:
        self._names = {old: new, os.fsencode(old).decode("latin-1"): os.fsencode(new).decode("latin-1")}
        self._pattern = re.compile("|".join(rf"{re.escape(name)}(?![\w.-])" for name in self._names))

    def move_paths(self, value: Any) -> Any:
        """Return JSON with all of its text changed."""
        if isinstance(value, str):
            return self._pattern.sub(lambda match: self._names[match[0]], value)
        if isinstance(value, list):
            return [self.move_paths(each) for each in value]
        if isinstance(value, dict):
            return {self.move_paths(key): self.move_paths(each) for key, each in value.items()}
        return value

    def copy_log(self, source: str, log: Path) -> str:
        """Copy the output to `log` and return its path; "" if the output is gone."""
        try:
            text = Path(source).read_bytes().decode("latin-1")
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_bytes(self.move_paths(text).encode("latin-1"))
        except OSError:
            return ""
        return str(log)


class BaselineResults(Attendant):
    """The failures of the baseline, which all loops of an arena assess and tell one another.

    Passes are remembered for everybody (`aigon.checks.reuse`). A failure is shared only here, for the commit that all
    have in common and as long as the arena lasts, and never with the loop that found it: that one runs the check again.
    The files are in `folder`, which the arena empties when it begins; `label` is the loop's own.
    """

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


FEATURES = 4
"""Folders of features that are looked into, those that were begun last."""
JOURNALS = 3
"""Journals that are read, the newest."""
TAIL = 128 * 1024
"""Bytes at the end of a journal: some looks at a project with long failures, read in less than a millisecond."""
_MARK = b'"event":"check_finished"'
"""What the line of such an event holds, and no text in another one: there its quotes are escaped."""


def load_durations(home: Path) -> Durations:
    """Return what the newest journals below `home` measured. Never raises: only the order of checks depends on it."""
    known: Durations = {}
    for journal in _newest(home / "features"):
        for document in read_journal_end(journal, TAIL, _MARK):
            known = _add_document(known, document)
    return known


def _add_document(known: Durations, document: bytes) -> Durations:
    """Add one line of a journal; lines of another version may lack anything."""
    try:
        found = json.loads(document)["finding"]
        return add_duration(
            known, str(found["check"]), found["status"], float(found["duration"]), cached=found["cached"] is True
        )
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return known


def _newest(folder: Path) -> list[Path]:
    """Return the journals that were written to last, the newest at the end."""
    begun = (path for _, path in _latest(folder, "", FEATURES))
    journals = (found for path in begun for found in _latest(Path(path), "journal", JOURNALS))
    return [Path(path) for _, path in sorted(journals)[-JOURNALS:]]


def _latest(folder: Path, begins: str, number: int) -> list[tuple[int, str]]:
    """Return the newest entries of a folder with their times. A folder's own time is when a run began in it."""
    try:
        with os.scandir(folder) as found:
            return sorted((each.stat().st_mtime_ns, each.path) for each in found if each.name.startswith(begins))[
                -number:
            ]
    except OSError:
        return []
