"""Which versions programs say they are: asked side by side, each for a few seconds at most."""

import re
import signal
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from aigon.core.errors import Exit
from aigon.core.fingerprint import plain
from aigon.ports import process
from aigon.ports.process import Command, Ladder
from aigon.ports.stop import Stop

LONGEST = 15.0
"""Seconds that a program may take to say its version; the slowest of the agents that were measured takes 3.3 s."""
_OVER: Ladder = ((signal.SIGTERM, 1.0), (signal.SIGKILL, 2.0))
_QUIET = {"NO_COLOR": "1", "NO_UPDATE_NOTIFIER": "1", "DISABLE_AUTOUPDATER": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}
"""A question for the version is no reason to update anything."""
_VERSION = re.compile(r"(?<![\w.])v?(\d+(?:\.\d+)+(?:[-+.][0-9A-Za-z.+-]*[0-9A-Za-z])?)(?![\w])")
_OFFER = re.compile(r"(?i)\b(?:updates?|upgrades?|available|deprecat\w*|warn\w*)\b")
"""What programs say beside their version of other versions."""
_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Said:
    """The version that a program said, "" when it said none; `problem` is why it could not be asked."""

    version: str = ""
    problem: str = ""


Question = tuple[str, ...]
"""A command line that prints a version."""


def asked(
    questions: Sequence[Question], cwd: Path, env: Mapping[str, str], longest: float = LONGEST
) -> dict[Question, Said]:
    """What each command line said of its version, within `longest` seconds. Only that is taken from its output.

    Raises SystemExit (130, 143) when aigon is told to end meanwhile; what was started has ended then.
    """
    each = list(dict.fromkeys(questions))
    if not each:
        return {}
    with closing(Stop()) as stop, stop.handling(), ThreadPoolExecutor(len(each)) as pool:
        said = [pool.submit(_asked, question, cwd, {**_QUIET, **env}, stop, longest) for question in each]
        while wait(said, timeout=0.2).not_done:
            if stop.asked:
                stop.halt()
    if stop.reason:
        raise SystemExit(int(Exit.INTERRUPTED if stop.reason == "SIGINT" else Exit.TERMINATED))
    return {question: one.result() for question, one in zip(each, said, strict=True)}


def _asked(argv: Question, cwd: Path, env: Mapping[str, str], stop: Stop, longest: float) -> Said:
    exited = process.run(Command(argv, cwd, env, deadline=longest, ladder=_OVER, merge=False), stop)
    asked = " ".join(Path(word).name if index == 0 else word for index, word in enumerate(argv))
    if exited.timed_out:
        return Said(problem=f"`{asked}` did not answer within {longest:g} s")
    if exited.exit_code is None:
        return Said(problem=f"it does not start: {exited.start_error.partition(':')[0].lower()}")
    if exited.exit_code:
        return Said(problem=f"`{asked}` {_ended(exited.exit_code)}")
    return Said(version_in(exited.stdout) or version_in(exited.stderr))


def _ended(code: int) -> str:
    return f"exits with {code}" if code > 0 else f"ends by signal {-code}"


def version_in(output: bytes) -> str:
    """The first thing in an output that looks like a version: numbers with dots between them."""
    lines = plain(output[:100_000].decode("utf-8", "replace")).splitlines()
    for line in sorted(lines, key=lambda line: bool(_OFFER.search(line))):
        if found := _VERSION.search(line):
            return found[1][:_SHOWN]
    return ""


def numbers(version: str) -> tuple[int, ...]:
    """A version as something that can be compared: its leading numbers. `2.36.1-rc1` is (2, 36, 1)."""
    release = re.match(r"\d+(?:\.\d+)*", version.removeprefix("v"))
    return tuple(int(number) for number in release[0].split(".")) if release else ()


def compared(version: str, tested: str) -> str:
    """What to remark of a version beside the tested one; empty where nothing."""
    here, there = numbers(version), numbers(tested)
    width = max(len(here), len(there))
    order = [*here, *[0] * (width - len(here))], [*there, *[0] * (width - len(there))]
    if not here or not there or order[0] == order[1]:
        return ""
    return f"{'older' if order[0] < order[1] else 'newer'} than {tested}, which aigon was tried with"
