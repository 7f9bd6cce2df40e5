"""What one run of a check came to, and how it is kept as JSON."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from aigon.model.checks import Finding, Problem, TestCounts, TestResult


@dataclass(frozen=True, slots=True)
class Result:
    """A finding, and the whole (capped) output it was made from.

    `tests` are the results of single tests by id, from reports that nobody could print, or from what a runner prints
    itself where its parser can tell that from what tests print; `reported` says whether such a report came that could
    be read to its end, be it of no test at all.
    """

    finding: Finding
    output: bytes = b""
    tests: Mapping[str, TestResult] = field(default_factory=dict)
    reported: bool = False


KEPT_OUTPUT = 100_000
"""Bytes of output kept with a result; a metric's number stands at its end."""


def encode_result(result: Result, root: Path) -> dict[str, object]:
    """The result as it was found in the work tree at `root`."""
    return {
        "root": str(root),
        "finding": asdict(result.finding),
        "output": result.output[-KEPT_OUTPUT:].decode("latin-1"),
        "tests": dict(result.tests),
        "reported": result.reported,
    }


def decode_result(document: Mapping[str, Any], root: Path, log: Path) -> Result:
    """The result in a document, as cached, for the work tree at `root`.

    Of one from another tree the paths are this tree's, and the whole output is copied to `log`: nothing leads there.
    Raises KeyError, TypeError, ValueError or AttributeError for a document that is none.
    """
    home = document.get("root", str(root))
    if home != str(root):
        document = _move_paths(document, _path_mover(home, str(root)))
    finding = _decode_finding(document["finding"])
    if home != str(root):
        finding = replace(finding, log=_copy_log(document["log_there"], home, root, log))
    output = document["output"].encode("latin-1")
    return Result(finding, output, _decode_tests(document["tests"]), bool(document["reported"]))


def _path_mover(old: str, new: str) -> Callable[[str], str]:
    """Text with the path of one folder for that of another, as text or as bytes that are written as latin-1."""
    names = {old: new, os.fsencode(old).decode("latin-1"): os.fsencode(new).decode("latin-1")}
    found = re.compile("|".join(rf"{re.escape(name)}(?![\w.-])" for name in names))
    return lambda text: found.sub(lambda match: names[match[0]], text)


def _move_paths(document: Mapping[str, Any], moved: Callable[[str], str]) -> dict[str, Any]:
    """All text of the document; where its log lies stays as `log_there`."""

    def of(value: Any) -> Any:
        if isinstance(value, str):
            return moved(value)
        if isinstance(value, list):
            return [of(each) for each in value]
        return {of(key): of(each) for key, each in value.items()} if isinstance(value, dict) else value

    return {**of(dict(document)), "log_there": document["finding"]["log"]}


def _copy_log(source: str, home: str, root: Path, log: Path) -> str:
    """Where the output is now; "" where it is no more."""
    try:
        text = Path(source).read_bytes().decode("latin-1")
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(_path_mover(home, str(root))(text).encode("latin-1"))
    except OSError:
        return ""
    return str(log)


def _decode_finding(document: Mapping[str, Any]) -> Finding:
    known = dict(document)
    counts, problems, names = known.pop("counts"), known.pop("problems"), known.pop("fingerprints")
    return Finding(
        **{
            **known,
            "counts": TestCounts(**counts) if isinstance(counts, dict) else None,
            "problems": tuple(Problem(**each) for each in problems) if isinstance(problems, list) else (),
            "fingerprints": tuple(map(str, names)),
            "cached": True,
        }
    )


def _decode_tests(document: Mapping[str, TestResult]) -> dict[str, TestResult]:
    if not set(document.values()) <= set(get_args(TestResult)):
        raise ValueError("no result of a test")
    return dict(document)
