"""How an open criterion could be decided: a proposal, where it came from, and how sure its maker is of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from aigon.model.criteria import CriterionKind, find_bound_checks
from aigon.spec.annotation import Annotation, split_metric

Confidence = Literal["sure", "likely", "guess"]
CONFIDENCES: tuple[Confidence, ...] = ("sure", "likely", "guess")
"""The best first. `sure`: the command says what the criterion says; `likely`: by a convention; `guess`: in part."""
Base = Literal["red", "green", "error", "not run"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """`command` is what would stand after the colon: a command, a command with a bound, the name of a check."""

    kind: CriterionKind
    command: str | None
    reason: str
    confidence: Confidence
    by: Literal["rules", "judge"] = "rules"

    @property
    def annotation(self) -> Annotation:
        """The same, as it is written into a spec."""
        return Annotation(self.kind, self.command)

    @property
    def script(self) -> str:
        """What a shell runs for it; empty where a check, a judge or a person decides."""
        if self.kind == "verify":
            return self.command or ""
        return split_metric(self.command or "")[0] if self.kind == "metric" else ""

    def weaker(self, why: str) -> "Proposal":
        """No more than a guess, for this reason too."""
        return replace(self, confidence="guess", reason=f"{self.reason}; {why}")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a project has, as far as proposals are made from it. Paths are relative to its root.

    `checks` are the roles of its checks by name, `shown` their commands; `files` everything but tools and
    dependencies; `tests` the text of each test file and `runners` the command that runs it, by path; `modules` says of
    each Python module (`calc`, `calc.ops`) what has to stand before a command that imports it; `functions` where each
    function is defined; `entries` are the command lines that start the project's own programs, by name; `programs`
    those that can be started by their name; `python` is what the interpreter is called, empty without one; `coverage`
    a command that prints a percentage.
    """

    checks: Mapping[str, str] = field(default_factory=dict)
    shown: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    tests: Mapping[str, str] = field(default_factory=dict)
    runners: Mapping[str, str] = field(default_factory=dict)
    modules: Mapping[str, str] = field(default_factory=dict)
    functions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    entries: Mapping[str, str] = field(default_factory=dict)
    programs: frozenset[str] = frozenset()
    python: str = ""
    coverage: str = ""

    def has_check(self, wanted: str) -> bool:
        """Whether a criterion can be bound to this name or role."""
        return bool(find_bound_checks(wanted, self.checks))

    def file(self, name: str) -> str:
        """The file of that path, or else the only one of that name, whatever its case; empty where there is none."""
        if name in self.files:
            return name
        wanted = name.casefold()
        found = [path for path in self.files if path.casefold() == wanted]
        found = found or [path for path in self.files if path.casefold().rpartition("/")[2] == wanted]
        return found[0] if len(found) == 1 else ""

    def is_folder(self, path: str) -> bool:
        """Whether it is a folder with files in it, or is written like one."""
        return path.endswith("/") or any(name.startswith(f"{path}/") for name in self.files)

    def page(self, stem: str) -> str:
        """The file called `stem` with whatever ending, nearest to the root: README.md, README.rst, CHANGELOG."""
        found = [p for p in self.files if p.rpartition("/")[2].casefold().split(".")[0] == stem.casefold()]
        return min(found, key=lambda path: (path.count("/"), path), default="")
