"""One attempt at a parser: made from a number, so that it can be made again, and what must hold of it."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from aigon.model.checks import ParsedOutput
from tests.checks.parsers import mutations, seeds, structures
from tests.checks.parsers.captured import read
from tests.checks.parsers.soundness import made_up, sound

_WORDS = ("alpha", "beta", "delta", "sun", "moon", "river", "stone", "cloud", "tree", "seven", "yellow", "quick")


@dataclass(frozen=True, slots=True)
class Case:
    """What a parser is given. `garbage` says that no tool wrote any of it: nothing may be read into it."""

    parser: str
    output: bytes
    report: bytes | None
    how: str
    garbage: bool = False


def made(parser: str, seed: int, number: int) -> Case:
    """Case `number` of `parser` under `seed`: the same whenever it is asked for."""
    rng = Random(f"{seed}:{parser}:{number}")
    if rng.random() < 0.15:
        return of_garbage(parser, rng)
    output, said = _damaged(parser, rng)
    report, written = _damaged(parser, rng)
    shape = rng.choice(("output", "report", "both"))
    if shape == "output":
        return Case(parser, output, None, f"output {said}")
    return Case(parser, output if shape == "both" else b"", report, f"{shape}: output {said}; report {written}")


def of_garbage(parser: str, rng: Random) -> Case:
    """Words, bytes or a document of no tool, as output or as report."""
    ways = (_prose, lambda rng: rng.randbytes(rng.randint(1, 400)), lambda rng: rng.choice(seeds.nobodys()).data)
    data = rng.choice(ways)(rng)
    if rng.random() < 0.5:
        return Case(parser, data, None, "garbage as output", garbage=True)
    return Case(parser, b"", data, "garbage as report", garbage=True)


def leaves(parser: str) -> Iterator[Case]:
    """Every value in the JSON documents of the parser's captures as everything that it may not be."""
    for seed in seeds.own(parser):
        for begin, end, value in structures.documents(seed.data):
            for at, odd in itertools.product(structures.paths(value), structures.ODD):
                written = structures.written(structures.replaced(value, at, odd))
                data = seed.data[:begin] + written + seed.data[end:]
                output, report = (b"", data) if seed.report else (data, None)
                yield Case(parser, output, report, f"{seed.name} with {odd!r:.30} at {'/'.join(map(str, at))}")


def meaningful(data: bytes) -> bool:
    """Whether something is left to misread when what terminals and package managers add is taken away."""
    lines = re.sub(r"^(?:[>$] ?|npm |yarn |Done in ).*$", "", data.decode("utf-8", "ignore"), flags=re.M)
    return len(re.findall(r"[A-Za-z]{3}", lines)) > 0


def holds(case: Case) -> ParsedOutput:
    """Fail unless the parser reads `case` without an exception, soundly, and makes nothing up."""
    found = read(case.parser, case.output, case.report)
    sound(found)
    if case.garbage and meaningful(case.report or case.output):
        assert not (claim := made_up(found)), f"{case.parser} reads into {case.how}: {claim}"
    return found


def _damaged(parser: str, rng: Random) -> tuple[bytes, str]:
    seed = seeds.drawn(rng, parser)
    data, names = mutations.mutated(seed.data, rng, parser)
    return data, f"{seed.name} ({names})"


def _prose(rng: Random) -> bytes:
    lines = (" ".join(rng.choices(_WORDS, k=rng.randint(1, 9))) for _ in range(rng.randint(1, 30)))
    return rng.choice(("\n", "\r\n", " ")).join(lines).encode()
