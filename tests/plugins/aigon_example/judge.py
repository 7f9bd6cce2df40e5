"""Judge by one word: a criterion is met if the change adds a line with "yes"."""

import json
from collections.abc import Mapping

from aigon.model.requests import JudgeAnswer, JudgeQuestion, JudgeSettings


def explain_unready(_settings: JudgeSettings, _env: Mapping[str, str]) -> str:
    """Return what is missing; empty if the judge can be asked."""
    return ""


def ask(question: JudgeQuestion, _settings: JudgeSettings) -> JudgeAnswer:
    """Answer in the form of `question.schema`: first decide, then find nothing that refutes it."""
    document = question.document
    numbers = [criterion["number"] for criterion in document["criteria"]]  # type: ignore[attr-defined]
    if document["task"] == "refute":
        items = [{"criterion": n, "quotes": [], "reason": "it is there", "refuted": False} for n in numbers]
        return JudgeAnswer(json.dumps({"refutations": items}), cost=0.0, cost_status="reported")
    line = "answer = compute_answer(yes)"
    quote = {"source": "diff", "path": "answer.py", "line": 1, "text": line}
    found = line in str(document["diff"])
    verdict = {"quotes": [quote] if found else [], "missing": "", "reason": "by the word", "status": "met"}
    verdict |= {} if found else {"missing": "the word yes", "status": "unmet"}
    return JudgeAnswer(json.dumps({"verdicts": [{"criterion": n, **verdict} for n in numbers]}), cost=0.0,
                       cost_status="reported")  # fmt: skip
