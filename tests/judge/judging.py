"""Small cases for tests of the judge: a change made of texts, criteria, a judge made of two answers."""

import difflib
import json
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from aigon.git.diff import parse_diff
from aigon.judge.judgement import judge_case
from aigon.judge.question import Case, Judgement, ObservedCheck
from aigon.model.changes import FileDiff
from aigon.model.checks import Finding
from aigon.model.criteria import Criterion
from aigon.model.requests import JudgeAnswer, JudgeQuestion
from tests.scripted_judges import decisions, refutation, refutations

MARK = "0123456789abcdef"


def criterion(number: int = 1, text: str = "It works") -> Criterion:
    """An open criterion."""
    return Criterion(number, number, text, False, "judge", None, 0)


def changed(path: str, before: str, after: str) -> FileDiff:
    """One file's change, as git would show it."""
    old, new = ("a/file" if before else "/dev/null"), ("b/file" if after else "/dev/null")
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), old, new, lineterm="")
    (found,) = parse_diff("\n".join(lines).encode())
    return replace(found, path=path, content=after)


def added(path: str, text: str) -> FileDiff:
    """A file that the change adds."""
    return changed(path, "", text)


def seen(check: str = "tests", output: str = "", summary: str = "3 passed") -> ObservedCheck:
    """A check that passed, and what it printed."""
    return ObservedCheck(Finding(check, "tests", "Tests", "pass", summary), output)


def case(*criteria: Criterion, diffs: Sequence[FileDiff] = (), **more: Any) -> Case:
    """A look with these criteria, on a change of one file if nothing else is said."""
    observed = tuple(more.pop("observed", (seen(),)))
    diffs = tuple(diffs) or (added("app.py", "answer = 42\n"),)
    return Case(criteria or (criterion(),), "# A feature", diffs, observed, MARK, **more)


def sat(
    what: Case, decide: str | JudgeAnswer | Callable[[JudgeQuestion], str] = "", refute: str | JudgeAnswer | None = None
) -> tuple[Judgement, list[JudgeQuestion]]:
    """The judgement of a judge that answers this to the first call and that to the second (nothing against it)."""
    questions: list[JudgeQuestion] = []
    steps = judge_case(what)
    try:
        question = next(steps)
        while True:
            questions.append(question)
            answer = decide if question.document["task"] == "decide" else refute
            if callable(answer):
                answer = answer(question)
            if answer is None:
                answer = nothing_against(question)
            question = steps.send(answer if isinstance(answer, JudgeAnswer) else JudgeAnswer(answer))
    except StopIteration as end:
        result: Judgement = end.value
        return result, questions


def nothing_against(question: JudgeQuestion) -> str:
    """A second call that found nothing."""
    asked: Any = question.document["criteria"]
    return refutations(*(refutation(one["number"]) for one in asked))


def outcome(what: Case, *given: dict[str, Any], refute: str | JudgeAnswer | None = None) -> tuple[str, str]:
    """Status and reason of the only criterion."""
    found, _ = sat(what, decisions(*given), refute)
    (verdict,) = found.verdicts
    return verdict.status, verdict.reason


def document(question: JudgeQuestion) -> dict[str, Any]:
    """The question as a program gets it: through JSON."""
    found: dict[str, Any] = json.loads(json.dumps(question.document))
    return found
