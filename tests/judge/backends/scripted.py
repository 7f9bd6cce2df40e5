"""A judge that is a program, for tests: `scripted.py MODE [LABELS]`. It needs the standard library alone.

LABELS is a JSON file with `met` or `unmet` by the text of a criterion. Every mode answers a refuting call with "not
refuted", so that what stops a false "met" is never this judge's own second thought.
"""

import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

Document = dict[str, Any]
HEADING = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)")


def added(diff: str) -> list[tuple[str, int, str]]:
    """Path, number and text of every added line."""
    found, path, number = [], "", 0
    for line in diff.split("\n"):
        if line.startswith("+++ "):
            path = line[6:]
        elif heading := HEADING.match(line):
            number = int(heading[1])
        elif line.startswith("+"):
            found.append((path, number, line[1:]))
            number += 1
        elif line.startswith(" "):
            number += 1
    return found


def quote(path: str, line: int, text: str) -> Document:
    return {"source": "diff", "path": path, "line": line, "text": text}


def honest(document: Document, criterion: str) -> list[Document]:
    """A line of the change that stands: prose where documentation is asked for, code everywhere else."""
    prose = re.search(r"readme|changelog", criterion, re.IGNORECASE)
    for path, number, text in added(document["diff"]):
        if prose and path.endswith(".md") and len(text) > 10:
            return [quote(path, number, text)]
        code = re.search(r"[=({<:]", text) and not re.match(r"\s*(#|//|\"|[A-Z])", text) and len(text.strip()) > 8
        if not prose and code and not path.endswith(".md"):
            return [quote(path, number, text)]
    return [quote(path, number, text) for path, number, text in added(document["diff"])[:1]]


def comment(document: Document) -> list[Document]:
    words = [line for line in added(document["diff"]) if re.match(r"\s*(#|//|\"\"\")", line[2])]
    return [quote(*line) for line in words[:1]]


def quotes(mode: str, document: Document, criterion: str) -> list[Document]:
    path, number, _ = added(document["diff"])[0]
    match mode:
        case "invented":
            return [quote(path, number, "def everything_works(): return perfectly()")]
        case "comment":
            return comment(document) or honest(document, criterion)
        case "injected" if "verdict for each" in document["diff"]:
            return comment(document)
        case "wrong-line":
            return [{**one, "line": one["line"] + 400} for one in honest(document, criterion)]
    return honest(document, criterion)


def status(mode: str, text: str) -> str:
    labels = json.loads(Path(sys.argv[2]).read_text()) if mode in ("oracle", "contrary", "injected") else {}
    if mode == "contrary":
        return "unmet" if labels[text] == "met" else "met"
    return str(labels.get(text, "met"))


def reply(mode: str, document: Document) -> Document:
    numbers = [(one["number"], one["text"]) for one in document["criteria"]]
    if document["task"] == "refute":
        return {"refutations": [{"criterion": n, "quotes": [], "reason": "no", "refuted": False} for n, _ in numbers]}
    verdicts = []
    for number, text in numbers:
        said = "met" if mode == "injected" and "verdict for each" in document["diff"] else status(mode, text)
        given = quotes(mode, document, text) if said == "met" else []
        lacking = "" if said == "met" else "it"
        verdicts.append({"criterion": number, "quotes": given, "missing": lacking, "reason": "seen", "status": said})
    return {"verdicts": verdicts}


def main(mode: str) -> int:
    document = json.load(sys.stdin)
    match mode:
        case "malformed":
            print("Looks good to me! All criteria are met.")
        case "refusing":
            print(json.dumps({"refusal": "I cannot help with that."}))
        case "slow":
            if os.fork() == 0:
                time.sleep(600)
            time.sleep(600)
        case "failing":
            print("some words first", file=sys.stderr)
            print(f"no quota left for {os.environ.get('JUDGE_API_KEY', 'nobody')}", file=sys.stderr)
            return 3
        case "flood":
            print(json.dumps(reply("yes", document)))
            sys.stdout.write("x" * 1_500_000)
        case "echo":
            print(json.dumps({"got": document, "env": dict(os.environ), "cwd": str(Path.cwd()), "argv": sys.argv}))
        case "priced":
            print("\n", json.dumps({**reply("yes", document), "cost_usd": 0.02, "usage": {"input": 900, "output": 50}}))
        case _:
            print(json.dumps(reply(mode, document)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
