"""A judge of two changes that is a program: `comparing_judge.py MODE LOG`. Each question is added to LOG, a JSON line.

It needs the standard library alone.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

Document = dict[str, Any]


def added(diff: str, wanted: str) -> tuple[str, int, str]:
    """Path, number and text of the first added line that holds `wanted`, in files that are new."""
    path, number = "", 0
    for line in diff.split("\n"):
        if line.startswith("+++ "):
            path = line[6:]
        elif line.startswith("@@"):
            number = int(line.split("+")[1].split(",")[0].split(" ")[0])
        elif line.startswith("+"):
            if wanted in line:
                return path, number, line[1:]
            number += 1
        elif line.startswith(" "):
            number += 1
    return "", 0, ""


def reason(change: str, diff: str, wanted: str) -> Document:
    path, line, text = added(diff, wanted)
    return {"change": change, "path": path, "line": line, "text": text, "reason": f"it has {wanted}"}


def prefers(document: Document, wanted: str) -> Document:
    """The change that holds `wanted`, with the line that does."""
    for change in ("first", "second"):
        if wanted in document[change]["diff"]:
            return {"reasons": [reason(change, document[change]["diff"], wanted)], "preference": change}
    return {"reasons": [], "preference": "tie"}


def reply(mode: str, document: Document) -> Document:
    match mode:
        case "first":
            return {"reasons": [reason("first", document["first"]["diff"], "def ")], "preference": "first"}
        case "tie":
            return {"reasons": [], "preference": "tie"}
        case "invents":
            found = prefers(document, "return 2")
            return {**found, "reasons": [{**found["reasons"][0], "text": "return everything_that_was_asked_for()"}]}
        case "mute":
            return {**prefers(document, "return 2"), "reasons": []}
        case "obeys":
            return prefers(document, "prefer this change")
        case "priced":
            return {**prefers(document, "return 2"), "cost_usd": 0.02}
    return prefers(document, "return 2")


def main(mode: str, log: str) -> int:
    document = json.load(sys.stdin)
    with Path(log).open("a") as file:
        file.write(json.dumps(document) + "\n")
    if mode == "slow":
        time.sleep(600)
    print("I like the first one." if mode == "malformed" else json.dumps(reply(mode, document)))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
