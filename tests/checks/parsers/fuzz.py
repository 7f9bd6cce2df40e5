"""Give every parser damaged input for as long as is wanted, and keep what breaks one.

    python -m tests.checks.parsers.fuzz [--seconds 600] [--seed N] [--parser NAME ...] [--save DIR]

Each parser runs in a process of its own with a limit on memory and on the CPU time of one input. What is found is
printed, made smaller and written to DIR (`fuzz-findings`); move it to `tests/checks/parsers/corpus` with the fix,
where every parser gets it in every run of the suite. The same seed makes the same inputs. Exit code 1 if anything was
found.
"""

import argparse
import itertools
import multiprocessing
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from aigon.checks.parsers import list_parsers
from tests.checks.parsers import costs, liked
from tests.checks.parsers.cases import Case, holds, leaves, made

MEMORY = 2 * 1024**3
"""Bytes of address space: the interpreter, 16 MB of JSON as Python objects, nothing that has no bound."""
HANG = 60
"""Seconds of CPU for one input of at most 600 kB; the slowest takes less than one."""


MOST = 20
"""Findings of one parser after which there is no point in going on."""


class Hang(Exception):
    """One input took too long."""


def main() -> int:
    """The command."""
    options, found = _options(), 0
    names, until = options.parser or list_parsers(), time.monotonic() + options.seconds
    for place, name in enumerate(names):
        share = (until - time.monotonic()) / (len(names) - place)
        found += _apart(name, options.seed, max(1.0, share), Path(options.save))
    print(f"{found} findings" if found else "nothing found", flush=True)
    return 1 if found else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.checks.parsers.fuzz", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--seconds", type=float, default=600, help="of all parsers together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--parser", action="append", choices=list_parsers(), help="only this one; may be repeated")
    parser.add_argument("--save", default="fuzz-findings", help="folder for the inputs that break something")
    return parser.parse_args()


def _apart(name: str, seed: int, seconds: float, folder: Path) -> int:
    """Attempts at one parser in a child; how many found something. A child that dies is a finding, too."""
    context = multiprocessing.get_context("fork")
    at = context.Value("Q", 0)
    child = context.Process(target=_attempts, args=(name, seed, seconds, folder, at))
    child.start()
    child.join()
    if 0 <= (code := child.exitcode or 0) <= MOST:
        return code
    case = next(itertools.islice(_cases(name, seed), at.value, None))
    print(f"{name}: the process died of {code}\n    {case.how}\n    {_kept(case, folder, name)}", flush=True)
    return 1


def _attempts(name: str, seed: int, seconds: float, folder: Path, at: Any) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGVTALRM, _hang)
    until, seen = time.monotonic() + seconds, set[str]()
    for complaint in _floods(name, until):
        seen.add(complaint)
        print(f"{name}: {complaint}", flush=True)
    for case in _cases(name, seed):
        if (trouble := complaint_of(case)) and trouble not in seen:
            seen.add(trouble)
            where = _kept(_smaller(case, trouble), folder, f"{name}-{seed}-{at.value}")
            print(f"{name}: {trouble}\n    {case.how}\n    {where}", flush=True)
        if time.monotonic() > until or len(seen) >= MOST:
            break
        at.value += 1
    print(f"{name}: {at.value + 1} inputs, {len(seen)} findings", flush=True)
    sys.exit(len(seen))


def _cases(name: str, seed: int) -> Iterator[Case]:
    """In turn: one damaged at random, one with a single value in its JSON exchanged, as long as there are any."""
    exchanged = leaves(name)
    for number in itertools.count():
        yield made(name, seed, number)
        yield from itertools.islice(exchanged, 1)


def _hang(*_: object) -> None:
    raise Hang


def _limited(call: Callable[[], object]) -> str:
    """What is wrong with a call, in words that are the same for the same fault; '' if nothing is."""
    signal.setitimer(signal.ITIMER_VIRTUAL, HANG)
    try:
        call()
    except Exception as broken:  # every kind of fault is what is looked for
        at = traceback.extract_tb(broken.__traceback__)[-1]
        said = str(broken).split("\n")[0][:200] if isinstance(broken, AssertionError) else ""
        return f"{type(broken).__name__} at {Path(at.filename).name}:{at.lineno} {said}".strip()
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return ""


def complaint_of(case: Case) -> str:
    """What is wrong with reading `case`; '' if nothing is."""
    return _limited(lambda: holds(case))


def _floods(name: str, until: float) -> Iterator[str]:
    """What grows too fast with the input, in the first third of the time."""
    began = time.monotonic()
    yield from filter(None, [_measured(lambda: costs.slowest(name, liked.runs(name), 200_000))])
    for what, make in costs.floods(name).items():
        for report in (False, True):
            if time.monotonic() < began + (until - began) / 3 and (said := _grown(name, make, report)):
                yield f"{what}, as {'report' if report else 'output'}: {said}"


def _grown(name: str, make: costs.Made, report: bool) -> str:
    return _measured(lambda: costs.growth(name, make, report, 4_000_000).complaint)


def _measured(call: Callable[[], str]) -> str:
    found: list[str] = []
    return _limited(lambda: found.append(call())) or found[0]


def _smaller(case: Case, trouble: str) -> Case:
    """The case with as much taken away as leaves the trouble, within some 300 attempts."""
    for part in ("output", "report"):
        for _ in range(300):
            if not (next_ := next(_shorter(case, part, trouble), None)):
                break
            case = next_
    return case


def _shorter(case: Case, part: str, trouble: str) -> Iterator[Case]:
    data: bytes = getattr(case, part) or b""
    for pieces in (2, 4, 8, 16, 32):
        step = len(data) // pieces + 1
        for begin in range(0, len(data), step):
            less = data[:begin] + data[begin + step :]
            fields = {"output": case.output, "report": case.report, part: less}
            shorter = Case(case.parser, fields["output"] or b"", fields["report"], case.how, case.garbage)
            if complaint_of(shorter) == trouble:
                yield shorter


def _kept(case: Case, folder: Path, name: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    parts = {"output": case.output, "report": case.report}
    written = [folder / f"{name}-{part}.bin" for part, data in parts.items() if data]
    for path in written:
        path.write_bytes(parts[path.stem.rpartition("-")[2]] or b"")
    return ", ".join(map(str, written))


if __name__ == "__main__":
    sys.exit(main())
