"""Commands that may start any test runner: `make test` (`any`) and `npm test` (`node`), also of a whole workspace.

They are read as what plainly printed something. `any` counts nothing that could be otherwise: two runners that report
different numbers, or one that ran twice and sums up only itself. It names no tests either: in the output of an opaque
command anybody may say what a test is called.

`npm run lint` (`nodelint`), builds (`build`) and `pre-commit run` (`precommit`) start other tools, too.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from msgspec.structs import replace

from aigon.checks.parsers import javascript, junit, load_reader, playwright, tap
from aigon.checks.parsers.cargo import find_placed, find_uncompiled
from aigon.checks.parsers.matchers import load_matcher, load_tests
from aigon.checks.parsers.output import LARGEST_REPORT, clean, find_matches, is_silent, read_text
from aigon.checks.parsers.readings import (
    describe_unknown,
    find_error_lines,
    find_problems,
    keep_distinct,
    make_problem,
    merge_readings,
    summarize_lint,
    summarize_tests,
)
from aigon.checks.parsers.stacks import read_crash
from aigon.files.resources import read_shipped
from aigon.model.checks import ParsedOutput, Problem, TestCounts
from aigon.text.documents import parse_yaml
from aigon.text.patterns import compile_re

_MAKE = compile_re(r"^make(?:\[\d+\])?: ")
_NOTHING_MADE = compile_re(r"^make: (?!\*\*\* |[Ww]arning).*\.$")
"""`'test' is up to date.`, in whatever language. What else it says at level 0 by itself ends otherwise."""
_JUNIT = compile_re(rb"\A\s*(?:<\?xml[^>]*>\s*)?<testsuites?\b")

_NODE_RUNNERS: tuple[Callable[[str], ParsedOutput | None], ...] = (
    lambda lines: load_tests("vitest").read_lines(lines),
    lambda lines: load_tests("jest").read_lines(lines),
    playwright.read_playwright_text,
    lambda lines: load_tests("nodetest").read_lines(lines),
    lambda lines: load_tests("mocha").read_lines(lines),
    lambda lines: load_tests("bun").read_lines(lines),
    lambda lines: load_tests("ava").read_lines(lines),
    tap.read_tap_text,
)
_NO_SCRIPT = compile_re(
    r"^(?:Scope: [^\n]*|None of the selected packages has a [^\n]*|Done in \d{1,9}[\d.]{0,9}m?s[^\n]*|)$", re.M
)
"""What package managers print if no package of a workspace has the script, which some of them exit 0 for."""
_HEADER = compile_re(
    # npm and pnpm name package and script, then the command; Yarn 1 names the package before it says its version.
    r"^> (?:[^\s@]\S*@\S+ |@[^\s@]+@\S+ )?[\w:.-]+(?: /[^\n]*)?\n> [^\n]*$|^> \S+\nyarn \w+ v1\.[^\n]*$"
    r"|^> nx run \S+[^\n]*$|^lerna info run Ran npm script [^\n]*$",
    re.M,
)
_PREFIXED = compile_re(
    # `packages/a test: ` (pnpm, bun), `[@s/a]: ` (Yarn), `web:test: ` (turbo)
    r"^(?P<package>[\w@./~-]{1,150} [\w:.-]{1,60}:|\[[^\]\n]{1,150}\]:|[\w@./-]{1,150}:[\w.-]{1,60}:)"
    r"(?: (?P<rest>[^\n]*)|$)",
    re.M,
)
_MOST_PARTS = 500
_FEWEST_LINES = 3
"""Lines that have to begin alike to be taken for those of one package."""


def read_any(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return what the one runner counted; otherwise not understood, and the exit code says what there is to say."""
    if report:
        return junit.read(b"", report)
    if _JUNIT.match(output[:1000]) and (printed := junit.read(output, None)).understood:
        return printed
    lines = read_text(output, LARGEST_REPORT)
    if nothing := _read_make(lines):
        return nothing
    readings = _read_signed(output, lines)
    signs, _, only_last = _load_signs()
    repeated = any(len(signs[name].findall(lines)) > 1 for name in only_last)
    if len({reading.counts for reading in readings}) == 1 and not repeated:
        return replace(readings[0], tests={})
    problems = keep_distinct(problem for reading in readings for problem in reading.problems)
    if (
        not problems and "could not compile" in lines and find_uncompiled(lines)
    ):  # what kept the tests from running at all
        problems = keep_distinct(problem for problem in find_placed(lines) if problem.severity == "error")
    return ParsedOutput(problems=problems, understood=False) if problems else describe_unknown(read_text(output))


def _read_signed(output: bytes, lines: str) -> list[ParsedOutput]:
    """Return the readings of all runners that left their sign and understand it. Several may describe one run."""
    runners, builds, _ = _load_signs()
    names = [name for name, sign in runners.items() if sign.search(lines)]
    names = names or [name for name, sign in builds.items() if sign.search(lines)]
    readings = {name: load_reader(name)(output, None) for name in names}
    found = {name: reading for name, reading in readings.items() if reading.understood}
    if "nodetest" in found:
        found.pop("tap", None)  # node:test speaks TAP, and a file that cannot be loaded is a failed test there
    return list(found.values())


@cache
def _load_signs() -> tuple[dict[str, re.Pattern[str]], dict[str, re.Pattern[str]], tuple[str, ...]]:
    """Return the signs of runners and of build tools by parser, and the parsers that read only the last run."""
    file = "runner_signs.yaml"
    tables = parse_yaml(read_shipped("templates", file), file).fields(("runners", "builds", "only_last"))
    runners, builds = (
        {name: compile_re(sign.text(), re.M) for name, sign in tables[key].pairs().items()}
        for key in ("runners", "builds")
    )
    return runners, builds, tables["only_last"].texts()


def _read_make(lines: str) -> ParsedOutput | None:
    """make exits 0 without running anything if a file or a folder is called like the target, or it has no recipe."""
    said = [line for line in lines.split("\n") if line.strip()] if lines[:5] == "make:" and len(lines) < 4000 else []
    if not said or not all(map(_MAKE.match, said)) or not _NOTHING_MADE.match(said[-1]):
        return None
    return ParsedOutput(clean(f"nothing ran: {said[-1]}", 200), TestCounts())


def read_node(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return what each part's first runner that understands it says, or else not understood."""
    lines = read_text(output)
    found = javascript.read_jest_report(output, report)
    found = found or _merge_parts(_split_by_header(lines)) or _merge_parts(_split_by_prefix(lines))
    if not found and not _NO_SCRIPT.sub("", lines).strip():
        return replace(summarize_tests(TestCounts()), understood=False)
    return found or javascript.read_unloaded(lines) or read_crash(lines) or describe_unknown(lines)


def _merge_parts(parts: Iterable[str]) -> ParsedOutput | None:
    firsts = (next(filter(None, (read(part) for read in _NODE_RUNNERS)), None) for part in parts)
    readings = list(filter(None, firsts))
    return merge_readings(readings) if readings else None


def _split_by_header(lines: str) -> list[str]:
    """Return the parts that begin with a package manager's words on what it runs."""
    begins = [match.start() for match in find_matches(_HEADER, lines, _MOST_PARTS)]
    return [lines[begin:end] for begin, end in zip([0, *begins], [*begins, len(lines)], strict=True)]


def _split_by_prefix(lines: str) -> list[str]:
    """Return the lines of each package, without the name that each of them begins with."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for match in _PREFIXED.finditer(lines):
        if match["package"] in found or len(found) < _MOST_PARTS:
            found[match["package"]].append(match["rest"] or "")
    return ["\n".join(rest) + "\n" for rest in found.values() if len(rest) >= _FEWEST_LINES]


_LINTERS = ("eslint", "biome", "prettier", "tsc")
# Linters of any other name, if they put file, line and column before the message: `standard`, `oxlint -f unix`.
_STANDARD = compile_re(
    r"^ *(?P<file>[^\s:][^\n:]{0,500}\.[cm]?[jt]sx?):(?P<line>\d{1,9}):\d{1,9}: "
    r"(?P<message>[^\n]*?)(?: \((?P<rule>[\w@/-]+)\))?$",
    re.M,
)


def read_nodelint(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return problems by rule, file and line, of every linter that is recognised."""
    lines = read_text(report or output)
    reading = _read_lint(lines)
    if reading is None and (parts := _split_by_prefix(lines)):
        reading = _read_lint("\n".join(parts))
    return reading or describe_unknown(lines)


def _read_lint(lines: str) -> ParsedOutput | None:
    problems = list(_find_lint(lines))
    counting = [load_matcher(name) for name in ("eslint", "biome")]
    known = (*counting, load_matcher("prettier"))
    if not (problems or is_silent(lines) or any(matcher.recognises(lines) for matcher in known)):
        return None
    # Several linters may complain of one line: what each says there is, is the least that there is.
    return summarize_lint(problems, sum(matcher.count_stated(lines) for matcher in counting))


def _find_lint(lines: str) -> Iterator[Problem]:
    for matcher in map(load_matcher, _LINTERS):
        if not matcher.strict or matcher.recognises(lines):
            yield from matcher.find_problems(lines)
    yield from find_problems(_STANDARD, lines, message="")


_BUILT = compile_re(r"^Successfully built (?P<names>[^\n]+)$", re.M)
_LINES = 20


def read_build(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return tsc's errors, or the last lines that look like errors; the summary is what was built, or the first."""
    lines = read_text(output or report or b"")
    typed = load_matcher("tsc").read_lines(lines)
    if typed and typed.problems:
        return typed
    problems = find_error_lines(lines, _LINES)
    built = _BUILT.search(lines)
    # uv says where each file is, in a folder that has another name in each run.
    names = [name.rpartition("/")[2] for name in built["names"].split(" ")] if built else []
    summary = f"built {' '.join(names)}" if built else problems[0].message if problems else ""
    return ParsedOutput(clean(summary, 100), None, problems, understood=bool(built or problems))


_HOOK_ID = "- hook id: "
_HOOK_END = ("pre-commit hook(s) made changes.", "All changes made by hooks:")
_HOOK_PLACE = compile_re(r"^(?P<file>[^\s:][^:\n]{0,400}):(?P<line>\d+):(?:\d+:)? ?(?P<message>\S[^\n]*)$")
_FIXING = compile_re(r"^(?:Fixing|reformatted|Formatting) (?P<file>\S[^\n]*)$")
_MODIFIED = "files were modified by this hook"


def read_precommit(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return a problem for each line of a failing hook, or one for a hook that only says that it failed."""
    text = read_text(output or report or b"")
    lines = text.split("\n")
    if not any(map(_is_hook, lines)):
        return describe_unknown(text)
    problems = (problem for hook, below in _find_failed(lines) for problem in _read_hook(hook, below))
    return summarize_lint(keep_distinct(problems))


def _is_hook(line: str) -> bool:
    return line.endswith(("Passed", "Failed", "Skipped")) and "..." in line and not line.startswith((" ", "."))


def _find_failed(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the id of each failing hook, and the lines below it."""
    hook, below = "", list[str]()
    for line in (*lines, *_HOOK_END):
        if _is_hook(line) or line in _HOOK_END:
            if hook:
                yield hook, below
            hook, below = (line.partition("...")[0] if line.endswith("Failed") else ""), []
        elif hook and line.startswith(_HOOK_ID):
            hook = line.removeprefix(_HOOK_ID)
        elif hook and line.strip():
            below.append(line)


def _read_hook(hook: str, below: list[str]) -> list[Problem]:
    printed = [_read_line(hook, line) for line in below if not line.startswith("- ")]
    return printed or [make_problem(_MODIFIED if f"- {_MODIFIED}" in below else "the hook failed", rule=hook)]


def _read_line(hook: str, line: str) -> Problem:
    if place := _HOOK_PLACE.match(line):
        return make_problem(place["message"], place["file"], place["line"], hook)
    if fixing := _FIXING.match(line):
        return make_problem("The hook would change this file", fixing["file"], rule=hook)
    return make_problem(line, rule=hook)
