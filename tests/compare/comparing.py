"""Two rivals on one small Python project: real repositories, worktrees and pytest, records as a run leaves them."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aigon.compare.bench import Bench
from aigon.config.models import Config
from aigon.files.home import ensure_home
from aigon.git.person import Checkout
from aigon.journal.records import Records, locate_records
from aigon.model.checks import Check, TestResult
from aigon.process.stop import Stop
from aigon.proof import frozen
from aigon.proof.frozen import Frozen, Tested
from tests.lab import Lab

PYTEST = Check(
    "tests",
    "tests",
    (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml={report}"),
    "pytest",
    env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPYCACHEPREFIX": ""},
)
"""In no room of its own place for bytecode: compiling pytest for each of them would take longer than the tests."""
OLD: Mapping[str, TestResult] = {"tests.test_old::test_old": "passed"}


@dataclass
class Rivals:
    """A feature's candidates in worktrees beside `lab`; `base` is the commit that all of them begin at."""

    lab: Lab
    base: str
    check: Check = PYTEST
    config: Config = field(default_factory=Config)
    tips: dict[str, str] = field(default_factory=dict)
    records: dict[str, Records] = field(default_factory=dict)

    def add(self, label: str, files: Mapping[str, str], tested: Mapping[str, TestResult] | None = OLD) -> str:
        """A candidate that wrote these files; its tip. Without `tested` nobody recorded the base's tests."""
        tree = self.lab.home / "worktrees" / label
        self.lab.git("worktree", "add", "-q", "-b", f"feature-42-{label}-dark-mode", str(tree), self.base)
        for name, text in files.items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(text)
        self.lab.git("-C", str(tree), "add", "-A")
        self.lab.git("-C", str(tree), "commit", "-q", "-m", f"by {label}")
        self.tips[label] = self.lab.git("-C", str(tree), "rev-parse", "HEAD")
        self._record(label, tree, tested)
        return self.tips[label]

    def _record(self, label: str, tree: Path, tested: Mapping[str, TestResult] | None) -> None:
        with Checkout.open(self.lab.root) as checkout:
            self.records[label] = locate_records(ensure_home(checkout.common_dir), "42", label)
        known = {} if tested is None else {"tests": Tested(tested, True)}
        frozen.save(self.records[label].frozen, Frozen(self.base, str(tree), "", (self.check,), tested=known))

    @contextmanager
    def bench(self, stop: Stop | None = None) -> Iterator[Bench]:
        """The bench for all of them."""
        with (
            Checkout.open(self.lab.root) as checkout,
            Bench.open(checkout, self.config, self.records, stop or Stop()) as bench,
        ):
            yield bench


def rivals(lab: Lab, check: Check = PYTEST, **files: str) -> Rivals:
    """A project with one module and one test, and nobody who works on it yet."""
    lab.write("app.py", "def one():\n    return 1\n")
    lab.write("tests/test_old.py", "from app import one\n\ndef test_old():\n    assert one() == 1\n")
    lab.write("pyproject.toml", '[tool.pytest.ini_options]\npythonpath = ["."]\n')
    for name, text in files.items():
        lab.write(name, text)
    return Rivals(lab, lab.commit("base"), check)
