"""TAP 12 to 14, line by line: points, plans, subtests, directives, blocks under a point, several documents."""

import re
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.checks.parsers.output import clean, parse_number
from aigon.checks.parsers.readings import KEPT_PROBLEMS, KEPT_TESTS, make_problem
from aigon.checks.parsers.stacks import Place, find_frame
from aigon.model.checks import Problem, TestResult
from aigon.text.patterns import compile_re

_BLOCK = 300
"""Lines kept of the text under a point."""
_DEEPEST = 16
"""Levels of subtests; what is deeper counts as of that level."""
_FEW = 10
"""Accidents kept of one output."""

_POINT = compile_re(r"(?P<not>not )?ok(?: +(?P<number>\d{1,9})(?: +-)?(?: +|$)| +- +|$)(?P<name>.*)")
_DIRECTIVE = compile_re(r"(?:^|(?<!\\) )# *(?P<kind>skip|todo)(?:[^\n]*)$", re.I)
_TIME = compile_re(r"(?:^|(?<!\\) )# time=\S+$")
_PLAN = compile_re(r"1\.\.(?P<last>\d{1,9})(?: *#[^\n]*)?")
_FILE = compile_re(r"\S{0,200}/\S{0,200}|\S{1,200}\.t")
_STATED = compile_re(r"# (?P<word>tests|pass|fail|skip)  ?(?P<number>\d{1,9})")
_HEADING = compile_re(r"# (?:SKIP |TODO )?(?P<name>[^\s{#][^\n]*)")
_NO_HEADING = compile_re(
    r"# (?:tests|pass|fail|skip|skipped|todo|cancelled|suites|ok|failed|time=|duration_ms|test count|No |Looks like)\b"
)

_KEY = compile_re(r"(?P<indent> *)(?P<key>'[^'\n]{1,80}'|[\w.-]{1,80}):(?: (?P<value>.*))?$")
_FOLDED = compile_re(r"[|>][0-9]?[+-]?[0-9]?")
_PERL = compile_re(r"at (?P<file>\S[^\n]*?) line (?P<line>\d+)\.?$")
_SPOT = compile_re(r"(?:file://)?(?P<file>[^\s():'\"]+):(?P<line>\d+)(?::\d+)?['\")]*$")
_CHANGED = compile_re(r"(?P<sign>[+-])(?!\1\1)(?P<value>.*)")
_PAIRS = (("expected", "actual"), ("wanted", "found"), ("expected", "got"))


class Point(Struct):
    """One `ok` or `not ok` line; `directive` is skip, todo or empty; `block` is below it.

    The points of a subtest that it `opens` follow it; otherwise they precede it.
    """

    ok: bool
    name: str
    directive: str
    opens: bool = False
    block: list[str] = field(default_factory=list)


class TapLevel(Struct):
    """The points of one subtest, or of a document. `points` are its own, `numbers` those of all levels below too."""

    numbers: Counter[TestResult] = field(default_factory=Counter)
    names: list[tuple[str, TestResult]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    plan: int | None = None
    points: int = 0

    @property
    def broken(self) -> int:
        """Return how many did not pass and should have."""
        return self.numbers["failed"] + self.numbers["error"]

    @property
    def is_off_plan(self) -> bool:
        """Return whether it ran another number of points than it planned."""
        return self.plan is not None and self.points != self.plan

    def add(self, point: Point, below: "TapLevel | None") -> None:
        """Count a point; `below` are the points that it sums up."""
        self.points += 1
        has_failed = not (point.ok or point.directive)
        if below is None or not below.numbers:
            result: TestResult = "failed" if has_failed else "skipped" if point.directive else "passed"
            if len(self.names) < KEPT_TESTS:
                self.names.append((point.name, result))
            if not has_failed:
                self.numbers[result] += 1
        else:
            self.absorb(below.excuse() if point.directive else below, point.name)
            has_failed = has_failed and not below.broken
        if has_failed:
            message, file, line = diagnose(point.block)
            if below and below.numbers and below.is_off_plan:
                message = f"planned {below.plan} tests, ran {below.points}"
            self.numbers["failed"] += 1
            if len(self.problems) < KEPT_PROBLEMS:
                self.problems.append(make_problem(message or point.name or "failed", file, line, test=point.name))

    def absorb(self, other: "TapLevel", name: str = "") -> None:
        """Take over what a subtest had, under its name."""
        self.numbers.update(other.numbers)
        room = KEPT_TESTS - len(self.names)
        self.names.extend((join_names(name, each), result) for each, result in other.names[:room])
        for problem in other.problems[: KEPT_PROBLEMS - len(self.problems)]:
            self.problems.append(replace(problem, test=clean(join_names(name, problem.test))))

    def excuse(self) -> "TapLevel":
        """Return the level of a subtest that is to do: nothing of it failed."""
        skipped = self.numbers["skipped"] + self.broken
        names: list[tuple[str, TestResult]] = [
            (name, "skipped" if result in ("failed", "error") else result) for name, result in self.names
        ]
        return TapLevel(Counter({"passed": self.numbers["passed"], "skipped": skipped}), names)


class TapDocument:
    """Collects the points in `lines`.

    `done` has everything of finished documents, `stated` what the producer counted, `bailed` why it gave up,
    `off_plan` what was planned (None for documents without a plan) and what ran.
    """

    def __init__(self, lines: str) -> None:
        self.done = TapLevel()
        self.stated = Counter[str]()
        self.understood = False
        self.bailed: list[str] = []
        self.off_plan: list[tuple[int | None, int]] = []
        self._levels = [TapLevel()]
        self._open: list[tuple[int, Point]] = []
        self._point: tuple[int, Point] | None = None
        self._block = -1
        self._heading = self._file = ""
        self._is_headed = self._has_begun = False
        for line in lines.split("\n"):
            self._read_line(line)
        self._end()

    def _read_line(self, line: str) -> None:
        body = line.lstrip(" ")
        indent = len(line) - len(body)
        if self._is_in_block(line, body, indent) or (body.rstrip() == "ok" and self._file):
            return  # the latter is prove's own word on a whole file
        depth = min(indent // 4, _DEEPEST)
        if point := _read_point(body):
            self._settle()
            if not depth and self._heading != point.name:
                point.name = join_names(self._heading, point.name)
            if point.opens and len(self._open) < _DEEPEST:
                self._open.append((depth, point))
            else:
                self._point = (depth, point)
        elif body.startswith("#"):
            self._read_comment(body, indent)
        elif plan := _PLAN.fullmatch(body):
            self._settle()
            self.understood |= not depth
            self._level(depth).plan = parse_number(plan["last"])
        elif body.startswith("Bail out!") and len(self.bailed) < _FEW:
            self.bailed.append(body.removeprefix("Bail out!").strip())
        elif body == "}" and self._open:
            self._settle()
            self._count(*self._open.pop())
        elif not indent and line.startswith("TAP version 1"):
            self._end()
            self._is_headed = self._has_begun = self.understood = True
        elif not indent and " .." in line:
            # `t/a.t ..`: the file that `prove` says it runs, and behind it how that went.
            file, _, rest = line.partition(" ..")
            rest = rest.strip(". ")
            if _FILE.fullmatch(file) and (rest in ("", "ok") or rest.startswith("skipped")):
                self._end()
                self._file = file

    def _end(self) -> None:
        """End a document: count what is still open, and see what is missing."""
        self._settle()
        while self._open:
            self._count(*self._open.pop())
        self._close_to(0)
        whole = self._levels[0]
        if (whole.is_off_plan or (self._has_begun and whole.plan is None)) and len(self.off_plan) < _FEW:
            self.off_plan.append((whole.plan, whole.points))
        self.done.absorb(whole, self._file)
        self._levels, self._heading, self._is_headed, self._has_begun = [TapLevel()], "", False, False

    def _is_in_block(self, line: str, body: str, indent: int) -> bool:
        """Take a line of the YAML under a point: from `---` to `...`, both further in than the point."""
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

    def _settle(self) -> None:
        self._block = -1
        if self._point is not None:
            (depth, point), self._point = self._point, None
            self._count(depth, point)

    def _count(self, depth: int, point: Point) -> None:
        level = self._level(depth)
        self._close_to(depth + 1)
        level.add(point, self._levels.pop() if len(self._levels) == depth + 2 else None)

    def _level(self, depth: int) -> TapLevel:
        while len(self._levels) <= depth:
            self._levels.append(TapLevel())
        return self._levels[depth]

    def _close_to(self, depth: int) -> None:
        """Add levels further in that nothing summed up to the one at `depth`."""
        while len(self._levels) > depth + 1:
            below = self._levels.pop()
            self._levels[-1].absorb(below)

    def _read_comment(self, body: str, indent: int) -> None:
        if stated := _STATED.fullmatch(body):
            self.stated[stated["word"]] += parse_number(stated["number"])
        if self._point is not None and not self._point[1].ok and body.startswith("#   "):
            if len(self._point[1].block) < _BLOCK:
                self._point[1].block.append(body)
        elif body.startswith("# Subtest"):
            self._is_headed, self._heading = False, ""
        elif not indent and self._is_headed and not _NO_HEADING.match(body) and (name := _HEADING.fullmatch(body)):
            # tape's name of the points below
            self._settle()
            self._heading = _unescape(name["name"])


def _read_point(body: str) -> Point | None:
    match = _POINT.fullmatch(body)
    if match is None:
        return None
    name = _TIME.sub("", match["name"]).rstrip()
    directive = _DIRECTIVE.search(name)
    name = name[: directive.start()].rstrip() if directive else name
    # `ok 1 - name {`: its points stand between the braces.
    opens = name.endswith(" {") or name == "{"
    name = _unescape(name.removesuffix("{").rstrip() if opens else name)
    return Point(not match["not"], name, directive["kind"].lower() if directive else "", opens)


def _unescape(name: str) -> str:
    """Return a name without the signs that keep a `#` in it from being read as a directive."""
    return name.replace("\\#", "#").replace("\\\\", "\\")


def join_names(*names: str) -> str:
    """Return names of tests, outermost first, as one; bounded, however deep they are."""
    return clean(" > ".join(filter(None, names)), 1000)


def diagnose(block: Sequence[str]) -> tuple[str, str, int]:
    """Return message, file and line from the YAML or the `#` lines under a failed point; '' and 0 if it has none."""
    lines = block[:_BLOCK]
    if lines and lines[0].lstrip().startswith("#"):
        # Perl: `#   Failed test 'x'`, `#   at t/a.t line 3.`, then what came and what was expected.
        words = [line.strip().lstrip("#").strip() for line in lines]
        spot = next((match for line in words if (match := _PERL.search(line))), None)
        values = ", ".join(line for line in words if line.startswith(("got:", "expected:", "Error:")))
        return (values, spot["file"], parse_number(spot["line"])) if spot else (values, "", 0)
    fields = _read_fields(lines)
    # The first line, with the next if it only announces one (`Expected values to be strictly equal:`).
    words = [line for line in (fields.get("message") or fields.get("error", "")).split("\n") if line]
    headline = " ".join(words[: 2 if words and words[0].endswith(":") else 1])
    said = " ".join(filter(None, (headline, _show_values(fields))))
    return said or fields.get("operator") or fields.get("assertion") or "", *_find_spot(fields)


def _read_fields(lines: Sequence[str]) -> dict[str, str]:
    """Return the keys of the outermost level, each with its text; those below it as lines of that text."""
    found: dict[str, list[str]] = {}
    outermost, key = "", ""
    for line in lines:
        match = _KEY.match(line)
        if match and (not found or match["indent"] == outermost):
            outermost, key = match["indent"], match["key"].strip("'")
            value = (match["value"] or "").strip()
            if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
                value = value[1:-1].replace("''", "'")
                found.setdefault(key, [value])
            else:
                found.setdefault(key, [] if not value or _FOLDED.fullmatch(value) else [value])
        elif key:
            found[key].append(line.strip())
    return {name: "\n".join(texts).strip() for name, texts in found.items()}


def _show_values(fields: dict[str, str]) -> str:
    pair = next(((a, b) for a, b in _PAIRS if a in fields and b in fields), None)
    if pair and not fields.get("error"):
        return ", ".join(f"{name} {' '.join(fields[name].split())}" for name in pair)
    changed = [m for line in fields.get("diff", fields.get("details", "")).split("\n") if (m := _CHANGED.match(line))]
    return ", ".join(f"{match['sign']} {match['value'].strip().rstrip(',')}" for match in changed[:2])


def _find_spot(fields: dict[str, str]) -> Place:
    """Return the innermost frame of the project, else the place of the point itself."""
    frames = [*fields.get("stack", "").split("\n"), *fields.get("at", "").split("\n")]
    found, line = find_frame("\n".join(f"at {frame.removeprefix('at ')}" for frame in frames if frame))
    if found:
        return found, line
    at = _read_fields(fields.get("at", "").split("\n"))
    if file := fields.get("file") or at.get("fileName") or at.get("file", ""):
        return file, parse_number(fields.get("line") or at.get("lineNumber") or at.get("line", ""))
    spot = _SPOT.match(fields.get("location", ""))
    return (spot["file"], parse_number(spot["line"])) if spot else ("", 0)
