"""Give every reader damaged input for as long as is wanted, and keep the smallest that breaks one.

    python -m tests.fuzz [--seconds 600] [--seed N] [--save DIR] [TARGET ...]

Each target runs in a process of its own, with a limit on memory and on the CPU time of one input. What is found is
printed, made smaller by hypothesis, and written to DIR (`fuzz-findings`). Exit code 1 if anything was found.
Names of targets may hold `*`: `parser-*`.
"""

import argparse
import fnmatch
import multiprocessing
import resource
import signal
import sys
import time
import traceback
from pathlib import Path

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.errors import FlakyFailure

from tests.fuzz.damage import inputs
from tests.fuzz.target import Target, bounded
from tests.fuzz.targets import BY_NAME, TARGETS

MEMORY = 3 * 1024**3
"""Bytes of address space for one target."""
HANG = 30
"""Seconds of CPU for one input of at most 128 kB."""
ROUND = 400
"""Examples between two looks at the clock."""
KINDS = 5
"""Different findings of one target after which there is no point in going on."""


class Hang(BaseException):
    """One input took too long. No Exception: no reader may take it for its own."""


def main() -> int:
    """The command."""
    options, found = _options(), 0
    targets = [t for t in TARGETS if any(fnmatch.fnmatch(t.name, wanted) for wanted in options.target or ["*"])]
    until = time.monotonic() + options.seconds
    for place, target in enumerate(targets):
        share = (until - time.monotonic()) / (len(targets) - place)
        found += _apart(target, options, max(1.0, share))
    print(f"{found} findings" if found else "nothing found", flush=True)
    return 1 if found else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("target", nargs="*", metavar="TARGET", help=f"one of {', '.join(BY_NAME)}")
    parser.add_argument("--seconds", type=float, default=600, help="of all targets together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=Path, default=Path("fuzz-findings"), help="folder for what breaks something")
    options = parser.parse_args()
    for wanted in options.target:
        if not fnmatch.filter(BY_NAME, wanted):
            parser.error(f"no target is called {wanted}; there are {', '.join(BY_NAME)}")
    return options


def _apart(target: Target, options: argparse.Namespace, seconds: float) -> int:
    """Attempts at one reader in a child; how many findings. A child that dies is one, too."""
    child = multiprocessing.get_context("fork").Process(target=_attempts, args=(target, options, seconds))
    child.start()
    child.join(seconds * 3 + 300)
    if child.is_alive():
        child.kill()
    if child.exitcode is not None and 0 <= child.exitcode <= KINDS:
        return child.exitcode
    print(f"{target.name}: the process ended with {child.exitcode}", flush=True)
    return 1


def _attempts(target: Target, options: argparse.Namespace, seconds: float) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGVTALRM, _hang)
    until, number, seen = time.monotonic() + seconds, 0, set[str]()
    while time.monotonic() < until and len(seen) < KINDS:
        if trouble := _round(target, options, number, seen, until):
            print(f"{target.name}: {trouble}", flush=True)
        number += 1
    print(f"{target.name}: {number} rounds of up to {ROUND}, {len(seen)} findings", flush=True)
    sys.exit(len(seen))


def _round(target: Target, options: argparse.Namespace, number: int, seen: set[str], until: float) -> str:
    """One run of hypothesis: what is new and where it was kept, or nothing."""
    last: list[bytes] = []

    @seed(options.seed * 1000 + number)
    @settings(
        max_examples=ROUND, database=None, deadline=None, verbosity=Verbosity.quiet, report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck), phases=(Phase.generate, Phase.shrink),
    )  # fmt: skip
    @given(inputs(target))
    def attempt(data: bytes) -> None:
        trouble = complaint(target, data) if time.monotonic() < until else ""
        if trouble and trouble not in seen:
            last[:] = [data]
            raise AssertionError(trouble)

    try:
        attempt()
    except (AssertionError, FlakyFailure):
        trouble = complaint(target, last[0]) or "an input that breaks it only sometimes"
        seen.add(trouble)
        return f"{trouble}\n    {kept(target, last[0], options.save)}"
    return ""


def complaint(target: Target, data: bytes) -> str:
    """What is wrong with reading `data`, in words that are the same for the same fault; '' for nothing."""
    signal.setitimer(signal.ITIMER_VIRTUAL, HANG)
    try:
        bounded(target, data)
    except (Exception, Hang) as broken:  # every kind of fault is what is looked for
        at = [frame for frame in traceback.extract_tb(broken.__traceback__) if "/aigon/" in frame.filename][-1:]
        place = f"{Path(at[0].filename).name}:{at[0].lineno}" if at else "?"
        said = str(broken).split("\n")[0][:160] if isinstance(broken, AssertionError) else ""
        return f"{type(broken).__name__} at {place} {'too slow' if 'bytes' in said else said}".strip()
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return ""


def kept(target: Target, data: bytes, folder: Path) -> str:
    """Where an input was written to, and how it begins."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{target.name}-{abs(hash(data)) % 10**8:08}.bin"
    file.write_bytes(data)
    return f"{file} ({len(data):,} bytes) {data[:100]!r}"


def _hang(*_: object) -> None:
    raise Hang


if __name__ == "__main__":
    sys.exit(main())
