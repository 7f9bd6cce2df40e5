"""Where the test files of one candidate go on the tree of another, of whose own files none is replaced."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from aigon.git.objects import TreeEntry

_PYTHON = re.compile(r"(?P<folder>(?:.*/)?)(?:(?P<first>test_[^/]*|test[^/]*)|(?P<last>[^/]*_test))\.py")
"""Files in which pytest (and unittest) looks for tests, whatever the rest of their names."""


@dataclass(frozen=True, slots=True)
class Laid:
    """`files` are to be laid by the path that they get, `moved` says which of them have another one than their own.

    `clash` are those that can go nowhere.
    """

    files: Mapping[str, TreeEntry]
    moved: Mapping[str, str] = field(default_factory=dict)
    clash: tuple[str, ...] = ()

    def renamed(self, test: str) -> str:
        """The id of a test as it is where its file was moved."""
        for old, new in self.moved.items():
            for before, after in zip(_names(old), _names(new), strict=True):
                for end in ("::", "."):
                    if test.startswith(before + end):
                        return after + test[len(before) :]
        return test


def laid(
    files: Mapping[str, TreeEntry], base: Mapping[str, TreeEntry], there: Mapping[str, TreeEntry], label: str
) -> Laid:
    """The places of `files`, those of the candidate `label`, among the files `there`, which began as `base`.

    A file that the other left as the base has it is none of its own. One of its own keeps its place: then a test file
    in Python goes to a free name, `test_x__cc.py`, and nothing else goes anywhere.
    """
    placed: dict[str, TreeEntry] = {}
    moved: dict[str, str] = {}
    clash: list[str] = []
    for path, entry in files.items():
        mine = there.get(path)
        same = mine and (mine.mode, mine.sha) == (entry.mode, entry.sha)
        if mine is None or same or mine == base.get(path):
            placed[path] = entry
        elif free := _free(path, {*there, *files, *placed}, label):
            placed[free], moved[path] = entry, free
        else:
            clash.append(path)
    return Laid(placed, moved, tuple(clash))


def _free(path: str, taken: set[str], label: str) -> str:
    """A name beside `path` that nobody has and that is still taken for a test; "" where there is none to be had."""
    match = _PYTHON.fullmatch(path)
    if not match:
        return ""
    own = re.sub(r"\W", "_", label) or "other"
    for more in ("", *(f"_{number}" for number in range(2, 100))):
        name = f"{match['first']}__{own}{more}" if match["first"] else f"{match['last'][:-5]}__{own}{more}_test"
        if (free := f"{match['folder']}{name}.py") not in taken:
            return free
    return ""


def _names(path: str) -> Iterator[str]:
    """How ids of its tests can begin: the path, or what Python makes of it, from any folder above it."""
    parts = path.split("/")
    for start in range(len(parts)):
        below = "/".join(parts[start:])
        yield below
        yield below.removesuffix(".py").replace("/", ".")
