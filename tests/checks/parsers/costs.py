"""What reading costs as the input grows. Ratios of CPU time and of memory, because machines differ and are busy."""

import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass

from tests.checks.parsers import liked, seeds, structures
from tests.checks.parsers.captured import read

Made = Callable[[int], bytes]
TIMES = 4
"""How much larger the second input is. A linear parser takes 4 times as long, a quadratic one 16 times."""
RATIO = 9.0
"""Between the two, nearer to 4: what else a machine does blurs it."""
MEASURABLE = 0.15
"""Seconds of CPU below which a ratio says nothing."""
SLOWEST = 3.0
"""Seconds of CPU per million bytes of what a pattern likes, which keeps the 4 MB that are read of any output at some
12 seconds. The slowest pattern there is takes a third of it, ordinary text a hundredth."""
MEMORY = 60
"""Bytes at the peak per byte of input: Python's objects for JSON that is nothing but brackets take some 30."""
FEW = 100
"""Runs in one input: with more of them none is long enough to show anything."""
FLOOR = 2 * 1024 * 1024
"""Bytes at the peak that any input may need."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of CPU for `size` bytes, and how many times that for `TIMES` as many (0 where that is not measured)."""

    size: int
    seconds: float
    ratio: float

    @property
    def complaint(self) -> str:
        """What is wrong with it; '' if nothing is."""
        if self.ratio > RATIO:
            return f"{TIMES} times {self.size} bytes take {self.ratio:.1f} times as long (from {self.seconds:.2f} s)"
        rate = self.seconds / max(self.size, 100_000) * 1e6
        return f"{self.size} bytes take {self.seconds:.2f} s" if rate > SLOWEST else ""


def growth(parser: str, make: Made, report: bool, most: int) -> Cost:
    """What reading `make(size)` costs for sizes up to `most`; stops at the first size that can be measured."""
    size, before = most // TIMES**3, 0.0
    while True:
        seconds = _seconds(parser, make(size), report)
        if before and seconds > MEASURABLE:
            return _again(parser, make, report, size // TIMES)
        if size >= most or seconds > MEASURABLE * 20:
            return Cost(size, seconds, 0.0)
        before, size = seconds, size * TIMES


def _again(parser: str, make: Made, report: bool, size: int) -> Cost:
    """The ratio, as the best of up to three measurements."""
    best = Cost(size, 0.0, 1e9)
    for _ in range(3):
        few, many = (_seconds(parser, make(each), report) for each in (size, size * TIMES))
        best = min(best, Cost(size * TIMES, many, many / max(few, 1e-4)), key=lambda cost: cost.ratio)
        if not best.complaint:
            break
    return best


def _seconds(parser: str, data: bytes, report: bool) -> float:
    began = time.process_time()
    read(parser, b"" if report else data, data if report else None)
    return time.process_time() - began


def slowest(parser: str, runs: tuple[liked.Run, ...], size: int) -> str:
    """What is wrong with the one of `runs` that takes longest for its size; '' if nothing is.

    A line is cut before it gets long, so what is quadratic within a line is linear in the input, but slow.
    """
    limit, wrong = SLOWEST * size / 1e6, ""
    for each in runs:
        data = liked.flood(each, size)
        seconds = _seconds(parser, data, False)
        if seconds > limit and (seconds := min(_seconds(parser, data, False) for _ in range(3))) > limit:
            limit = seconds
            wrong = f"{len(data)} bytes take {seconds:.2f} s: {each.pattern!r} after {each.head!r} on {each.body!r}"
    return wrong


def peak(parser: str, data: bytes, report: bool) -> int:
    """Bytes that reading `data` takes at its peak, beyond `data` itself."""
    tracemalloc.start()
    try:
        read(parser, b"" if report else data, data if report else None)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def floods(parser: str, most: int = 100) -> dict[str, Made]:
    """Inputs that grow: what the parser's patterns like, in the open and inside of at most so many of its documents."""
    runs = liked.runs(parser)
    found: dict[str, Made] = {"all its patterns like": lambda size: together(runs, size)}
    documents = [seed for seed in seeds.own(parser) if seed.report and seed.data.strip()]
    for seed in sorted(documents, key=lambda seed: -len(seed.data))[:most]:
        found[f"many times {seed.name}"] = lambda size, data=seed.data: many(data, size)  # type: ignore[misc]
        found[f"long texts in {seed.name}"] = lambda size, data=seed.data: stretched(data, runs, size)  # type: ignore[misc]
    return found


def together(runs: tuple[liked.Run, ...], size: int) -> bytes:
    """Some `size` bytes with floods of the runs, or of some of them where there are very many."""
    few = runs[:: len(runs) // FEW + 1]
    return b"\n".join(liked.flood(each, size // len(few)) for each in few)


def many(data: bytes, size: int) -> bytes:
    """The inside of a document again and again: its lines, or its rows where it is one list or object."""
    found = structures.documents(data)
    if len(found) == 1:
        return structures.written(_longer(found[0][2], max(1, size // len(data))))
    lines = data.splitlines(keepends=True)
    head, tail = lines[: len(lines) // 4], lines[-len(lines) // 4 :]
    middle = b"".join(lines[len(head) : len(lines) - len(tail)])
    return b"".join(head) + middle * (size // max(1, len(middle))) + b"".join(tail)


def stretched(data: bytes, runs: tuple[liked.Run, ...], size: int) -> bytes:
    """A document whose longer texts are floods."""
    text = together(runs, max(1000, size // 4)).decode("utf-8", "replace").replace("\0", " ")
    found = structures.documents(data)
    if found:
        begin, end, value = max(found, key=lambda each: each[1] - each[0])
        return data[:begin] + structures.written(_with_texts(value, text)) + data[end:]
    safe = text.translate({ord(c): " " for c in "<>&\"'\x1b"}).encode()
    return data.replace(b"</failure>", safe + b"</failure>").replace(b'message="', b'message="' + safe)


def _longer(value: object, times: int) -> object:
    if isinstance(value, list):
        return [_longer(each, 1) for each in value] * times
    if isinstance(value, dict):
        return {key: _longer(each, times) for key, each in value.items()}
    return value


def _with_texts(value: object, text: str) -> object:
    if isinstance(value, list):
        return [_with_texts(each, text) for each in value]
    if isinstance(value, dict):
        return {key: _with_texts(each, text) for key, each in value.items()}
    return text if isinstance(value, str) and (" " in value or len(value) > 20) else value
