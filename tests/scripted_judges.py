"""Judges for `ModelServer`: they read the question as a model would and answer by a fixed character.

with ModelServer(oracle({2: "app.py"})) as server: ...
with ModelServer(always_yes()) as server: ...
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.model_server import Reply, Request, message

Judge = Callable[[Request], Reply]
Quote = dict[str, Any]


def quote(path: str, line: int, text: str, source: str = "diff") -> Quote:
    """A quote of a reply."""
    return {"source": source, "path": path, "line": line, "text": text}


def decision(number: int, status: str = "met", *quotes: Quote, reason: str = "", missing: str = "") -> dict[str, Any]:
    """One verdict of a reply."""
    said = reason or f"because {number}"
    return {"criterion": number, "quotes": list(quotes), "missing": missing, "reason": said, "status": status}


def refutation(number: int, *quotes: Quote, refuted: bool = False, reason: str = "looked") -> dict[str, Any]:
    """One answer to a claim."""
    return {"criterion": number, "quotes": list(quotes), "reason": reason, "refuted": refuted}


def decisions(*items: dict[str, Any]) -> str:
    """A reply to the first call."""
    return json.dumps({"verdicts": items})


def refutations(*items: dict[str, Any]) -> str:
    """A reply to the second call."""
    return json.dumps({"refutations": items})


def text_of(request: Request) -> tuple[str, str]:
    """The shared data and the task of a question."""
    shared, task = request.body["messages"][0]["content"]
    return shared["text"], task["text"]


def is_refuting(request: Request) -> bool:
    """Whether this is the second call."""
    return "Try to refute" in text_of(request)[1]


def asked(request: Request) -> list[int]:
    """The numbers of the criteria that are asked."""
    return [int(n) for n in re.findall(r"^(\d+)\. ", text_of(request)[1].rpartition(":\n")[2], re.MULTILINE)]


def added(request: Request) -> list[Quote]:
    """Every line that the shown diff adds, as a quote."""
    found: list[Quote] = []
    path = ""
    for line in text_of(request)[0].splitlines():
        if head := re.fullmatch(r"file (.+) \((?:added|modified|deleted|of another type)\)", line):
            path = head[1]
        elif (plus := re.fullmatch(r" *(\d+) \+(.*)", line)) and path:
            found.append(quote(path, int(plus[1]), plus[2]))
    return found


def telling(quotes: Sequence[Quote]) -> Quote:
    """The longest of them that is code."""
    code = [q for q in quotes if not q["path"].endswith((".md", ".txt")) and not q["text"].lstrip().startswith("#")]
    return max(code, key=lambda each: len(each["text"].strip()), default=quote("nowhere.py", 1, "nothing at all"))


def saying(choose: Callable[[Request, int], Sequence[Quote]]) -> Judge:
    """Met for everything, with the quotes that `choose` gives; it never refutes itself."""

    def judge(request: Request) -> Reply:
        if is_refuting(request):
            return message(refutations(*(refutation(n) for n in asked(request))))
        return message(decisions(*(decision(n, "met", *choose(request, n)) for n in asked(request))))

    return judge


def always_yes() -> Judge:
    """Says met and quotes a line that really is there."""
    return saying(lambda request, _: [telling(added(request))])


def invents() -> Judge:
    """Says met and quotes a line that is nowhere."""
    return saying(lambda request, _: [telling(added(request)) | {"text": "def everything_that_was_asked_for(): ..."}])


def quotes_nothing() -> Judge:
    """Says met without any quote."""
    return saying(lambda *_: [])


def quotes(*chosen: Quote) -> Judge:
    """Says met and quotes just this: a comment, a wrong line, a trifle."""
    return saying(lambda *_: chosen)


def oracle(truth: Mapping[int, str], why: str = "it is not there") -> Judge:
    """Knows which file proves which criterion: met as soon as that file is in the change, unmet until then."""

    def judge(request: Request) -> Reply:
        if is_refuting(request):
            return message(refutations(*(refutation(n) for n in asked(request))))
        mine = {n: [q for q in added(request) if q["path"] == truth.get(n)] for n in asked(request)}
        given = (decision(n, "met", telling(q)) if q else decision(n, "unmet", reason=why) for n, q in mine.items())
        return message(decisions(*given))

    return judge


def doubter(*against: Quote) -> Judge:
    """Says met on the first call and refutes that on the second, with these quotes."""

    def judge(request: Request) -> Reply:
        if is_refuting(request):
            return message(
                refutations(*(refutation(n, *against, refuted=True, reason="a stub") for n in asked(request)))
            )
        return always_yes()(request)

    return judge


def injected() -> Judge:
    """Does whatever the data tells it: met for all, quoting the text that told it so."""
    told = re.compile("all criteria are met|mark .* as met", re.IGNORECASE)
    return saying(lambda request, _: [next((q for q in added(request) if told.search(q["text"])), telling([]))])
