"""TAP 12 to 14, line by line: points, plans, subtests, directives, blocks under a point, several documents."""

from aigon.checks.parsers import _taplines
from aigon.checks.parsers._taptree import Level, Point, count, joined

_BLOCK = 300
"""Lines kept of what stands under a point."""
_DEEPEST = 16
"""Levels of subtests; what is deeper counts as of that level."""
_FEW = 10
"""Accidents kept of one output."""


def document(lines: str) -> "Document | None":
    """The TAP in a text; None where there is none: no version, no plan."""
    found = Document()
    for line in lines.split("\n"):
        found.line(line)
    found.end()
    return found if found.understood else None


class Document:
    """Collects points while lines come.

    `done` has everything of finished documents, `stated` what the producer counted, `bailed` why it gave up,
    `off_plan` what was planned (None for documents without a plan) and what ran.
    """

    def __init__(self) -> None:
        self.done = Level()
        self.stated: dict[str, int] = {}
        self.understood = False
        self.bailed: list[str] = []
        self.off_plan: list[tuple[int | None, int]] = []
        self._levels = [Level()]
        self._open: list[tuple[int, Point]] = []
        self._point: tuple[int, Point] | None = None
        self._block = -1
        self._heading = self._file = ""
        self._headed = self._begun = False

    def line(self, line: str) -> None:
        """Take the next line."""
        body = line.lstrip(" ")
        indent = len(line) - len(body)
        if self._in_block(line, body, indent) or (body.rstrip() == "ok" and self._file):
            return  # the latter is prove's own word on a whole file
        depth = min(indent // 4, _DEEPEST)
        if point := _taplines.point(body):
            self._take(depth, point)
        elif body.startswith("#"):
            self._comment(body, indent)
        elif (last := _taplines.plan(body)) is not None:
            self._plan(depth, last)
        elif body.startswith("Bail out!") and len(self.bailed) < _FEW:
            self.bailed.append(body.removeprefix("Bail out!").strip())
        elif body == "}" and self._open:
            self._settle()
            self._count(*self._open.pop())
        elif not indent:
            self._border(line)

    def end(self) -> None:
        """The end of a document: what is still open is counted, and what is missing is seen."""
        self._settle()
        while self._open:
            self._count(*self._open.pop())
        self._close_to(0)
        whole = self._levels[0]
        if (whole.off_plan or (self._begun and whole.plan is None)) and len(self.off_plan) < _FEW:
            self.off_plan.append((whole.plan, whole.points))
        self.done.absorb(whole, self._file)
        self._levels, self._heading, self._headed, self._begun = [Level()], "", False, False

    def _in_block(self, line: str, body: str, indent: int) -> bool:
        """Whether the line belongs to the YAML under a point: from `---` to `...`, both further in than the point."""
        if self._block < 0 or self._point is None:
            if body.rstrip() != "---" or self._point is None or not indent or self._point[1].block:
                return False
            self._block = indent
        elif (body.rstrip() == "..." and indent == self._block) or (body and indent < self._block):
            self._block = -1
            return body.rstrip() == "..."
        elif len(self._point[1].block) < _BLOCK:
            self._point[1].block.append(line)
        return True

    def _take(self, depth: int, point: Point) -> None:
        self._settle()
        if not depth and self._heading != point.name:
            point.name = joined(self._heading, point.name)
        if point.opens and len(self._open) < _DEEPEST:
            self._open.append((depth, point))
        else:
            self._point = (depth, point)

    def _settle(self) -> None:
        self._block = -1
        if self._point is not None:
            (depth, point), self._point = self._point, None
            self._count(depth, point)

    def _count(self, depth: int, point: Point) -> None:
        level = self._level(depth)
        self._close_to(depth + 1)
        below = self._levels.pop() if len(self._levels) == depth + 2 else None
        count(level, point, below)

    def _level(self, depth: int) -> Level:
        while len(self._levels) <= depth:
            self._levels.append(Level())
        return self._levels[depth]

    def _close_to(self, depth: int) -> None:
        """Levels further in that nothing summed up belong to the one at `depth`."""
        while len(self._levels) > depth + 1:
            below = self._levels.pop()
            self._levels[-1].absorb(below)

    def _plan(self, depth: int, last: int) -> None:
        self._settle()
        self.understood |= not depth
        self._level(depth).plan = last

    def _comment(self, body: str, indent: int) -> None:
        if said := _taplines.stated(body):
            self.stated[said[0]] = self.stated.get(said[0], 0) + said[1]
        if self._point is not None and not self._point[1].ok and body.startswith("#   "):
            if len(self._point[1].block) < _BLOCK:
                self._point[1].block.append(body)
        elif body.startswith("# Subtest"):
            self._headed, self._heading = False, ""
        elif not indent and self._headed and (name := _taplines.heading(body)):
            self._settle()
            self._heading = name

    def _border(self, line: str) -> None:
        """A line that begins another document: its version, or the file that `prove` is at."""
        if line.startswith("TAP version 1"):
            self.end()
            self._headed = self._begun = self.understood = True
        elif file := _taplines.announced(line):
            self.end()
            self._file = file
