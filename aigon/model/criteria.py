"""Acceptance criteria, the verdicts on them, the promises that claim them, and specs that other tools wrote."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.errors import usage
from aigon.model import Recorded
from aigon.model.checks import ROLES, Finding, Role
from aigon.text.amounts import list_criteria
from aigon.text.patterns import compile_re

CriterionKind = Literal["verify", "prints", "metric", "seconds", "checklist", "check", "judge", "human", "hidden"]
COMMAND_KINDS: tuple[CriterionKind, ...] = ("verify", "prints", "metric", "seconds", "checklist")
"""The kinds that a command decides."""
HIDDEN: Literal["hidden"] = "hidden"
"""The kind that tests decide which the agent never sees: no spec says so, aigon's records do."""
VerdictStatus = Literal["met", "unmet", "unclear"]
WAIVED = "waived"
"""The method of a verdict on a criterion that a person does not need any more."""
VERDICT_WORDS: Mapping[str, str] = {"met": "passed", "unmet": "failed", "unclear": "needs review"}
"""What people and agents read for a verdict."""


class Criterion(Struct, frozen=True):
    """One task-list item of the acceptance criteria.

    `number` and `line` count from 1; `command` is what follows the colon of the annotation (a command, a command with a
    bound, a check's name); `box` is the byte offset of the character between the brackets.
    """

    number: int
    line: int
    text: str
    checked: bool
    kind: CriterionKind
    command: str | None
    box: int


class SpecWarning(Struct, frozen=True):
    """Something odd in a spec that does not stop a run; `line` counts from 1."""

    line: int
    message: str


MAX_ITERATIONS = 20
"""The limit of a run, whatever sets it (docs/design/contracts.md, Defaults)."""
SpecMode = Literal["ralph"]
Priority = Literal["high", "medium", "low"]


class SpecStage(Struct, frozen=True):
    """A part of the way: the criteria to work on until all are proven, and the phrase that claims them, "" for none."""

    criteria: tuple[int, ...]
    promise: str = ""


class SpecSettings(Struct, frozen=True):
    """Settings of a spec for its own runs; None and empty if it has none. Seconds; `lines` has the line of each key."""

    mode: SpecMode | None = None
    kind: str = ""
    max_iterations: int | None = None
    max_time: float | None = None
    promises: tuple[str, ...] = ()
    priority: Priority | None = None
    depends_on: tuple[str, ...] = ()
    stages: tuple[SpecStage, ...] = ()
    lines: Mapping[str, int] = field(default_factory=dict)


class Spec(Struct, frozen=True):
    """A parsed feature spec: `raw` is the file, `validation` the script of `## Validation`."""

    raw: bytes
    title: str
    frontmatter: Mapping[str, object]
    criteria: tuple[Criterion, ...]
    validation: str | None
    warnings: tuple[SpecWarning, ...] = ()
    settings: SpecSettings = SpecSettings()


class Verdict(Recorded, frozen=True):
    """The decision on one criterion. `method` names what decided.

    That is one of `COMMAND_KINDS`, check:NAME, judge, approval (a person did), human (one has to), judge:unavailable or
    judge:broken (its program answers in another format), waived (by a person: decided, and not proven).
    """

    criterion: int
    status: VerdictStatus
    method: str
    evidence: str = ""
    reason: str = ""

    @property
    def is_waived(self) -> bool:
        return self.method == WAIVED


def find_bound_checks(wanted: str, checks: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the checks that have to pass for `wanted`; `checks` has their roles by name.

    A role means every check with that role or name, or else the script that replaces the checks; any other word is a
    name.
    """
    if wanted not in ROLES:
        return (wanted,) if wanted in checks else ()
    own = tuple(name for name, role in checks.items() if wanted in (name, role))
    return own or tuple(name for name, role in checks.items() if role == "script")


DEFAULT_PROMISE = "COMPLETE"
MAX_PROMISE_CHARS = 100
"""Characters of a phrase: the prompt has to hold it whole."""
_PROMISE = compile_re(r"<promise>(.*?)</promise>", re.DOTALL)
_ROLE_WORDS: dict[str, Role] = {
    "test": "tests", "tests": "tests", "build": "build", "builds": "build", "lint": "lint", "linted": "lint",
    "type": "types", "types": "types", "endpoint": "endpoints", "endpoints": "endpoints", "script": "script",
    "validation": "script",
}  # fmt: skip


class Promise(Recorded, frozen=True):
    """A phrase with which the agent claimed success, and whether the assessment confirms it; `why` says why not."""

    text: str
    kept: bool
    why: str = ""


def parse_promises(given: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct phrases of `given`, or the default. Raises AigonError (exit 2) for an unusable one."""
    found = tuple(dict.fromkeys(" ".join(phrase.split()) for phrase in given))
    for phrase in found:
        if not phrase or len(phrase) > MAX_PROMISE_CHARS or not phrase.isprintable() or set("<>") & set(phrase):
            hint = f"Give a word or two such as COMPLETE or TESTS_PASS: up to {MAX_PROMISE_CHARS} characters, no < or >"
            raise usage(f"A promise cannot be {phrase[:MAX_PROMISE_CHARS]!r}", where="--promise", hint=hint)
    return found or (DEFAULT_PROMISE,)


def list_promises(given: Sequence[str], spec: Spec) -> tuple[str, ...]:
    """Return the phrases that a run listens for: those of `given`, or the default, and those of the spec's stages."""
    stages = (stage.promise for stage in spec.settings.stages if stage.promise)
    return tuple(dict.fromkeys((*parse_promises(given), *stages)))


def narrow_to_stage(spec: Spec, verdicts: Iterable[Verdict]) -> tuple[Spec, str]:
    """Return the spec with only the criteria of the current stage, and the stage's phrase, "" for none.

    That is the first stage with a criterion that has not passed, whatever an agent claimed; criteria in no stage are
    the last. Without stages, and once everything has passed, it is the spec itself.
    """
    passed = {verdict.criterion for verdict in verdicts if verdict.status == "met"}
    staged = {number for stage in spec.settings.stages for number in stage.criteria}
    rest = SpecStage(tuple(c.number for c in spec.criteria if c.number not in staged))
    for stage in (*spec.settings.stages, rest) if staged else ():
        if not passed.issuperset(stage.criteria):
            return replace(spec, criteria=tuple(c for c in spec.criteria if c.number in stage.criteria)), stage.promise
    return spec, ""


def find_promises(said: str, phrases: Sequence[str]) -> tuple[str, ...]:
    """Return those of `phrases` that `said` has between the tags, exactly and in the same case."""
    found = {" ".join(text.split()) for text in _PROMISE.findall(said)}
    return tuple(phrase for phrase in phrases if " ".join(phrase.split()) in found)


def judge_promises(
    phrases: Iterable[str],
    findings: Sequence[Finding],
    verdicts: Sequence[Verdict],
    forgiven: Collection[str] = (),
    stages: Sequence[SpecStage] = (),
) -> tuple[Promise, ...]:
    """Judge the phrase of a stage by its criteria, one that names roles (`TESTS_PASS`) by their checks, any other by
    everything.

    Checks that are `forgiven`, by name, may fail if everything is meant, as they may for the run itself.
    """
    staged, promises = {stage.promise: stage.criteria for stage in stages}, []
    for phrase in phrases:
        if phrase in staged:
            left = [v.criterion for v in verdicts if v.criterion in staged[phrase] and v.status != "met"]
            promises.append(Promise(phrase, not left, f"not passed: {list_criteria(left)}" if left else ""))
        else:
            promises.append(_judge_promise(phrase, findings, verdicts, forgiven))
    return tuple(promises)


def _judge_promise(
    phrase: str, findings: Sequence[Finding], verdicts: Sequence[Verdict], forgiven: Collection[str]
) -> Promise:
    words = re.split(r"[\W_]+", phrase.lower())
    roles = tuple(dict.fromkeys(_ROLE_WORDS[word] for word in words if word in _ROLE_WORDS))
    concerned = [f for f in findings if f.role in roles or (not roles and f.check not in forgiven)]
    red = [f.title for f in concerned if f.status != "pass"]
    open_ = [] if roles else [v.criterion for v in verdicts if v.status != "met"]
    without = [role for role in roles if role not in {f.role for f in concerned}]
    why = [f"failed: {', '.join(red)}"] if red else []
    why += [f"not passed: {list_criteria(open_)}"] if open_ else []
    why += [f"there is no check of the role {', '.join(without)}"] if without else []
    return Promise(phrase, not why, "; ".join(why))


assert set(_ROLE_WORDS.values()) <= set(ROLES), "every word names a role"


class ImportedCriterion(Struct, frozen=True):
    """One criterion: the heading that it belongs under, and what its author would run (`verify: make`), if anything."""

    text: str
    group: str = ""
    annotation: str = ""


class ImportedSpec(Struct, frozen=True):
    """One feature. `original` has the texts that it was read from, by name.

    `questions` are those that the text itself leaves open, `left` counts by name what became no criterion. `source` is
    its address, "" for the path that was imported.
    """

    title: str
    criteria: tuple[ImportedCriterion, ...]
    original: Mapping[str, str]
    summary: str = ""
    questions: tuple[str, ...] = ()
    left: Mapping[str, int] = field(default_factory=dict)
    source: str = ""
