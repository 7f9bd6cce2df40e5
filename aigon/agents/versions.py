"""Which versions programs are: by what their installer left beside them, else asked, side by side."""

import json
import re
import signal
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from aigon.errors import AigonError, Exit
from aigon.files import bounded
from aigon.process import run
from aigon.process.run import Command, EndingSteps
from aigon.process.stop import Stop
from aigon.text.fingerprints import plain

LONGEST = 60.0
"""Seconds that a program may take to say its version. The slowest of the agents that were measured takes 3.3 s, many
times that on a busy machine, and one may unpack itself at its first start: ended in the middle, it would begin anew."""
_OVER: EndingSteps = ((signal.SIGTERM, 1.0), (signal.SIGKILL, 2.0))
_QUIET = {"NO_COLOR": "1", "NO_UPDATE_NOTIFIER": "1", "DISABLE_AUTOUPDATER": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}
"""A question for the version is no reason to update anything."""
_VERSION = re.compile(r"(?<![\w.])v?(\d+(?:\.\d+)+(?:[-+.][0-9A-Za-z.+-]*[0-9A-Za-z])?)(?![\w])")
_OFFER = re.compile(r"(?i)\b(?:updates?|upgrades?|available|deprecat\w*|warn\w*)\b")
"""What programs say beside their version of other versions."""
_SHOWN = 40
_FARTHEST = 5
"""Folders above a program in which its package.json is looked for."""
_LARGEST = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Said:
    """The version of a program, "" when it is not known; `problem` is why it cannot work, `remark` what is unknown."""

    version: str = ""
    problem: str = ""
    remark: str = ""


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


def installed_version(program: str) -> str:
    """Return the version that npm or pip noted beside a program; empty if neither installed it. Nothing is started."""
    try:
        place = Path(program).resolve()
        return _by_npm(place, Path(program).name) or _by_pip(place)
    except (OSError, RuntimeError):
        return ""


def _by_npm(place: Path, name: str) -> str:
    """The version in the `package.json` that has the program among its own."""
    for folder in list(place.parents)[:_FARTHEST]:
        try:
            package = json.loads(bounded.content(folder / "package.json", _LARGEST, "A package.json", hint=""))
        except (OSError, AigonError, ValueError, RecursionError):
            continue
        programs = package.get("bin") if isinstance(package, dict) else None
        if name in programs if isinstance(programs, dict) else bool(programs):
            return str(package.get("version", ""))[:_SHOWN]
    return ""


def _by_pip(place: Path) -> str:
    """The version of the distribution in the same environment that has a command of this name."""
    command = re.compile(rf"^{re.escape(place.name)}\s*=", re.MULTILINE)
    for file in sorted(place.parent.parent.glob("lib/python3*/site-packages/*.dist-info/entry_points.txt")):
        if command.search(file.read_text("utf-8", "replace")):
            return file.parent.name.removesuffix(".dist-info").rpartition("-")[2][:_SHOWN]
    return ""


def _asked(argv: Question, cwd: Path, env: Mapping[str, str], stop: Stop, longest: float) -> Said:
    exited = run.run(Command(argv, cwd, env, deadline=longest, ladder=_OVER, merge=False), stop)
    asked = " ".join(Path(word).name if index == 0 else word for index, word in enumerate(argv))
    if exited.timed_out:
        return Said(remark=f"its version is not known: `{asked}` did not answer within {longest:g} s")
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
