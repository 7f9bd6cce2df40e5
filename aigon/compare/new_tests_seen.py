"""What the tests of one tree came to, and its memory: the same tree under the same checks is run once."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_args

from aigon.files.atomic import write_atomic
from aigon.job.results import Result
from aigon.model.checks import CheckStatus, Problem, TestResult

KEPT = 200
"""Problems of one check that are kept."""
LONGEST = 300
"""Characters of what one of them says."""
IMPORTS = ("ImportError", "ModuleNotFoundError", "cannot import name", "No module named", "Cannot find module")
"""What an import that is missing says, in Python and in node."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One check on one tree. `tests` are results by id, `reported` whether a report names them all."""

    check: str
    status: CheckStatus
    summary: str
    tests: Mapping[str, TestResult] = field(default_factory=dict)
    reported: bool = False
    problems: tuple[Problem, ...] = ()

    @property
    def lasting(self) -> bool:
        """Whether the same would come again; what was killed or ran out of time says nothing of the tree."""
        return self.status in ("pass", "fail")

    def unloaded(self, test: str) -> bool:
        """Whether a test that is not there, or the file or class that it is in, is named as what could not be loaded.

        The id of a test that is called like its file is that of the file.
        """
        broken = {name for name, result in self.tests.items() if result in ("failed", "error")}
        broken |= {problem.test or problem.file for problem in self.problems} - {""}
        within = (test == name or test.startswith((f"{name}::", f"{name}.")) for name in broken)
        return test not in self.tests and any(within)

    def lacks_import(self, test: str) -> bool:
        """Whether a test failed because something that it imports is not there."""
        said = (each.message for each in self.problems if each.test == test)
        return any(word in message for message in said for word in IMPORTS)


def seen(result: Result) -> Seen:
    """What is kept of a result. Problems name tests as the report does."""
    finding = result.finding
    problems = tuple(Problem(p.message[:LONGEST], p.file, test=_as_reported(p.test)) for p in finding.problems[:KEPT])
    return Seen(finding.check, finding.status, finding.summary, dict(result.tests), result.reported, problems)


def _as_reported(test: str) -> str:
    """A node id of pytest in the form of its report: `tests/test_a.py::TestX::test_y`, `tests.test_a.TestX::test_y`."""
    path, _, inside = test.partition("::")
    if not path.endswith(".py"):
        return test
    bare, bracket, parameter = inside.partition("[")
    owner, _, name = bare.rpartition("::")
    module = path.removesuffix(".py").replace("/", ".")
    within = ".".join(filter(None, (module, owner.replace("::", "."))))
    return f"{within}::{name}{bracket}{parameter}" if inside else module


def load(file: Path) -> tuple[Seen, ...] | None:
    """What was remembered; None where nothing was, or nothing that can be read."""
    try:
        return tuple(map(_decoded, json.loads(file.read_bytes())))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def save(file: Path, all_: Sequence[Seen]) -> None:
    """Remember what will not change."""
    if all(each.lasting for each in all_):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, json.dumps([asdict(each) for each in all_]).encode("utf-8", "surrogatepass"))


def _decoded(document: dict[str, Any]) -> Seen:
    if not set(document["tests"].values()) <= set(get_args(TestResult)):
        raise ValueError("no result of a test")
    problems = tuple(Problem(**each) for each in document.pop("problems"))
    return Seen(**document, problems=problems)
