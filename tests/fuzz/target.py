"""A reader as fuzzers take it, and what holds for every one: only documented errors, and a bound on time."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from aigon.errors import AigonError, Exit, explain_error

DOCUMENTED = (Exit.USAGE, Exit.ENVIRONMENT)
"""Exit codes with which a reader may refuse what it is given: a mistake of a person, a damaged record."""
_UNSHOWN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
SECONDS = 2.0
"""CPU time for one input of at most `LONGEST` bytes. The slowest needs a fifth of it on a slow machine."""
LONGEST = 64 * 1024
"""Bytes of an input that is timed."""


@dataclass(frozen=True)
class Target:
    """A reader of bytes: `read` raises AigonError with a documented code, or one of `raises`, and nothing else.

    `samples` gives sound inputs, `words` what its grammar is made of: what is planted, and repeated to see it grow;
    `seconds` are the CPU time that one input may take.
    """

    name: str
    read: Callable[[bytes], object]
    samples: Callable[[], Sequence[bytes]]
    words: tuple[bytes, ...] = ()
    raises: tuple[type[Exception], ...] = field(default=())
    seconds: float = SECONDS


class TooSlow(AssertionError):
    """An input took more CPU time than it may."""


def held(target: Target, data: bytes) -> bool:
    """Whether the reader took the input; False where it refused it in a documented way. Raises everything else."""
    try:
        target.read(bytes(data))  # what hypothesis hands out is a kind of its own, which libyaml does not take
    except AigonError as error:
        assert error.code in DOCUMENTED, f"{target.name} ends with {error.code!r}: {error}"
        said = explain_error(error)
        assert error.what.strip() and not _UNSHOWN.search(said), "a message that a terminal can show"
        said.encode()
        return False
    except target.raises as error:
        assert str(error).strip(), "an error that says nothing"
        return False
    return True


def timed(target: Target, data: bytes) -> float:
    """Seconds of CPU that an input takes; what is raised is as in `held`."""
    begun = time.process_time()
    held(target, data)
    return time.process_time() - begun


def bounded(target: Target, data: bytes) -> None:
    """As `held`, and raises TooSlow beyond the bound. A slow input is measured twice: the first may have imported."""
    if timed(target, data) > target.seconds and (again := timed(target, data)) > target.seconds:
        raise TooSlow(f"{target.name}: {again:.1f} s for {len(data):,} bytes")
