"""A judgement without a loop: for whoever has a change, criteria and somebody to ask."""

from aigon.judge.judgement import judge_change
from aigon.judge.question import ObservedCheck
from aigon.model.checks import Finding
from aigon.model.requests import JudgeAnswer, JudgeQuestion, JudgeSettings
from tests.judge.judging import added, criterion, nothing_against
from tests.scripted_judges import decision, decisions, quote

DIFFS = (added("app.py", "answer = 42\n"),)
CHECKS = (ObservedCheck(Finding("tests", "tests", "Tests", "pass", "3 passed"), "3 passed\n"),)


def test_everything_is_asked_read_checked_and_counted() -> None:
    questions: list[JudgeQuestion] = []
    here, nowhere = quote("app.py", 1, "answer = 42"), quote("app.py", 1, "answer = 43")

    def ask(question: JudgeQuestion) -> JudgeAnswer:
        questions.append(question)
        given = decisions(decision(1, "met", here), decision(2, "met", nowhere))
        return JudgeAnswer(
            nothing_against(question) if len(questions) > 1 else given, cost=0.25, cost_status="reported"
        )

    found = judge_change(JudgeSettings("x"), [criterion(1), criterion(2)], "# A feature", DIFFS, CHECKS, ask=ask)
    assert [v.status for v in found.verdicts] == ["met", "unclear"] and found.rejected == 1
    assert [(call.task, call.criteria, call.answer.cost) for call in found.calls] == [
        ("decide", (1, 2), 0.25),
        ("refute", (1,), 0.25),
    ]


def test_the_delimiters_are_others_in_every_judgement_and_the_same_within_one() -> None:
    questions: list[JudgeQuestion] = []

    def ask(question: JudgeQuestion) -> JudgeAnswer:
        questions.append(question)
        return JudgeAnswer(failure="no")

    settings = JudgeSettings("x", mode="each")
    for _ in range(2):
        judge_change(settings, [criterion(1), criterion(2)], "", DIFFS, (), ask=ask)
    assert [len({q.shared for q in pair}) for pair in (questions[:2], questions[2:], questions)] == [1, 1, 2]
