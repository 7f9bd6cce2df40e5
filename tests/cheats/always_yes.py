"""A judge that finds everything met, run as a program: its question is JSON on standard input, its answer JSON too.

always_yes.py real      it quotes lines of code that the change really adds: the strongest liar there is
always_yes.py invented  it quotes a line that stands nowhere
always_yes.py comment   it quotes a comment or a docstring that the change adds
"""

import json
import re
import sys
from collections.abc import Iterator
from typing import Any

HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)")
FILE = re.compile(r'\+\+\+ "?b/(.*?)"?$')


def added(diff: str) -> Iterator[tuple[str, int, str]]:
    """Path, line number and text of every line that the diff adds."""
    path, number = "", 0
    for line in diff.splitlines():
        if found := FILE.match(line):
            path = found[1]
        elif found := HUNK.match(line):
            number = int(found[1])
        elif line.startswith(("+", " ")):
            if line[0] == "+":
                yield path, number, line[1:]
            number += 1


def prose(text: str) -> bool:
    """Whether a line is a comment or the line of a docstring."""
    return text.strip().startswith(("#", '"""', "//"))


def worth(line: tuple[str, int, str], criterion: str) -> tuple[bool, ...]:
    """How well a line of code serves as a quote for a criterion."""
    path, _, text = line
    product = path.endswith((".py", ".js")) and not path.startswith("tests")
    words = (
        ("__all__",) if "__all__" in criterion else ("TypeError",) if "TypeError" in criterion else ("def multiply",)
    )
    return product, any(word in text for word in words), "multiply" in text


def quote(mode: str, lines: list[tuple[str, int, str]], criterion: str) -> dict[str, Any]:
    """The evidence for one criterion."""
    wanted = [line for line in lines if line[2].strip() and prose(line[2]) == (mode == "comment")]
    if mode == "invented" or not wanted:
        return {"source": "diff", "path": "calc/__init__.py", "line": 12, "text": "    return product_of(a, b)"}
    path, number, text = max(wanted, key=lambda line: worth(line, criterion))
    return {"source": "diff", "path": path, "line": number, "text": text}


def verdict(diff: str, criterion: dict[str, Any]) -> dict[str, Any]:
    """It is met, and here is the evidence."""
    evidence = quote(sys.argv[1], list(added(diff)), criterion["text"])
    said = {"missing": "", "reason": "it is all there", "status": "met"}
    return {"criterion": criterion["number"], "quotes": [evidence], **said}


def refutation(criterion: dict[str, Any]) -> dict[str, Any]:
    """Nothing speaks against it."""
    return {"criterion": criterion["number"], "quotes": [], "reason": "nothing to be found", "refuted": False}


def main() -> None:
    """Answer the question."""
    question = json.load(sys.stdin)
    criteria = question["criteria"]
    if question["task"] == "refute":
        answer = {"refutations": [refutation(criterion) for criterion in criteria]}
    else:
        answer = {"verdicts": [verdict(question["diff"], criterion) for criterion in criteria]}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
