"""Stacks and uncaught errors: where the project's own code failed, and what its first meaningful line says."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from aigon.checks.parsers.output import clean, find_matches, join_lines, parse_number, shorten_lines
from aigon.checks.parsers.readings import make_problem
from aigon.model.checks import ParsedOutput, Problem
from aigon.text.patterns import compile_re
from aigon.text.quoting import strip_escapes

Place = tuple[str, int]
"""File and line; ("", 0) if none is named."""
_PYTEST_FRAME = compile_re(r"^(?P<file>[^\s:][^:\n]*\.py):(?P<line>\d+): ", re.M)
_PYTHON_FRAME = compile_re(r'^ *(?:E +)?File "(?P<file>[^"\n]+)", line (?P<line>\d+)', re.M)
_SCRIPT_LINE = compile_re(r"^ *(?:at |❯ )(?P<frame>[^\n]*)$", re.M)
_SCRIPT_FRAME = compile_re(r"(?:^|[\s(])(?:file://)?(?P<file>[^\s():]+\.[a-z]{1,5}):(?P<line>\d{1,9}):\d", re.M)
_FOREIGN = ("node_modules/", "node:", "site-packages/", "../", "<")
_PYTEST_LINE = compile_re(r"^E +(?P<said>\S[^\n]*)$", re.M)
_EXCEPTION = compile_re(r"\w+(?:Error|Exception|Warning|Exit|Interrupt|Failed)\b")

_EXPECTED = compile_re(r"^ *(?P<which>Expected|Received)[^:\n]{0,40}: *(?P<value>[^\n]+)$", re.M)
_SCRIPT_NOISE = compile_re(r"^\s*(?:●|at |❯ |\d* *\||> )|^\s*$")
_SCRIPT_PLACE = compile_re(r"\S{1,500}:\d{1,9}")
"""The place where a file could not be compiled comes before the reason."""
_SPAN = 20_000
_UNLOADED = tuple(
    compile_re(pattern, re.M)
    for pattern in (
        # Babel, TypeScript, esbuild, oxc, Node.js
        r"^ *SyntaxError: (?:(?P<file>[^\n:]{1,500}): )?(?P<said>[^\n]*?) ?\((?P<line>\d{1,9}):\d+\)$",
        r"^ *(?P<file>[^\s:(][^\n:(]{0,500})[:(](?P<line>\d{1,9})[:,]\d+\)?(?: -|:) (?P<said>error TS\d+: [^\n]*)",
        r"^ *(?P<file>[^\s:][^\n:]{0,500}):(?P<line>\d{1,9}):\d+: (?P<said>ERROR: [^\n]*)",
        r"^ *(?P<said>\[[A-Z_]{3,40}\] [^\n]*)\n[^\n]*\[ ?(?P<file>[^\n:\[\]]{1,500}):(?P<line>\d{1,9}):\d+ ?\]",
        r"^ *(?:file://)?(?P<file>[^\s:]{1,500}):(?P<line>\d{1,9})\n(?:[^\n]*\n){1,6}? *(?P<said>SyntaxError: [^\n]*)",
    )
)
_THRESHOLD = compile_re(
    r"^(?:# |ℹ )?(?:(?P<jest>Jest: [^\n]{1,500}coverage threshold for [^\n]{1,200}not met[^\n]*)"
    r"|(?:ERROR: )(?P<v8>Coverage for [^\n]{1,300} does not meet [^\n]*threshold[^\n]*)"
    r"|Error: (?P<node>\d[\d.]*% \w+ coverage does not meet threshold of [^\n]*))$",
    re.M,
)

_NODE_ENDED = compile_re(r"^(?:# )?Node\.js v\d+\.[^\n]*\n*(?P<next>[^\n]*)", re.M)
_COMMENT = compile_re(r"^# ?", re.M)
_UNCAUGHT = compile_re(r"^(?:\[?(?:Uncaught )?[A-Z]\w*(?:Error|Exception|Rejection)\b[^\n]*|Error\b[^\n]*)$", re.M)
_CRASH_PLACE = compile_re(r"^(?:file://)?(?P<file>[^\s:]+\.\w{1,5}):(?P<line>\d{1,9})$", re.M)
_IMPORTED = compile_re(r"imported from (?P<file>\S+)|Require stack:\n- (?P<required>\S+)")
_CRASH_SPAN = 8000
_MOST_CRASHES = 200

_JVM_FRAME = compile_re(
    r"^[ \t]*at (?:[^\s()/]{0,100}/){0,2}(?P<class>[^\s()/]{1,400})\.[^.()/\n]{1,300}"
    r"\((?P<file>[\w$-]{1,200}\.(?:java|kts?|groovy|scala|clj)):(?P<line>\d{1,9})\)",
    re.M,
)
_THROWN = compile_re(r"^(?P<package>(?:[\w$]+\.)+)(?P<class>[\w$]+)(?=:|$)")
_CAUSE = compile_re(r"^[ \t]*Caused by: (?P<said>[^\n]+)$", re.M)
_JVM_FOREIGN = (
    "java.", "javax.", "jdk.", "sun.", "com.sun.", "kotlin.", "kotlinx.", "scala.", "groovy.", "org.codehaus.groovy.",
    "org.apache.groovy.", "org.junit.", "junit.", "org.opentest4j.", "org.assertj.", "org.hamcrest.", "org.mockito.",
    "io.mockk.", "org.testng.", "io.kotest.", "org.scalatest.", "org.spockframework.", "spock.", "org.gradle.",
    "org.apache.maven.", "com.google.common.truth.", "org.robolectric.", "android.", "androidx.", "com.android.",
    "org.springframework.", "worker.org.gradle.",
)  # fmt: skip
"""Packages of the platform, of test libraries and of build tools."""
_JVM_SPAN = 100_000
_JVM_LINES = 5
"""Lines of an exception's message that are kept: AssertJ and others put the values on lines of their own."""


def find_frame(stack: str) -> Place:
    """Return the innermost frame of the project in a stack or traceback of Python, pytest or JavaScript."""
    stack = shorten_lines(stack)
    frames = "\n".join(match["frame"] for match in _SCRIPT_LINE.finditer(stack))
    for pattern, text in ((_PYTEST_FRAME, stack), (_PYTHON_FRAME, stack), (_SCRIPT_FRAME, frames)):
        own = [match for match in pattern.finditer(text) if not any(part in match["file"] for part in _FOREIGN)]
        if own:
            return find_own_place(own if pattern is _SCRIPT_FRAME else reversed(own))
    return "", 0


def find_own_place(frames: Iterable[re.Match[str]]) -> Place:
    """Return the first frame with a relative path, else the first: aigon has made the project's own paths relative."""
    found = list(frames)
    own = [match for match in found if not match["file"].startswith("/")] or found
    return (own[0]["file"], parse_number(own[0]["line"])) if own else ("", 0)


def find_headline(message: str, detail: str = "") -> str:
    """Return the first meaningful line. pytest's own words on where it failed say less than the exception."""
    headline = _find_first_line(message)
    if headline and headline != "collection failure" and not headline.startswith("failed on "):
        return headline
    lines = [match["said"] for match in _PYTEST_LINE.finditer(detail)]
    exceptions = [line for line in lines if _EXCEPTION.match(line)]
    return next(iter(exceptions or lines), "") or headline or _find_first_line(detail)


def _find_first_line(text: str) -> str:
    return next((line.strip() for line in text.split("\n") if line.strip()), "")


def describe_failure(message: str) -> str:
    """Return a JavaScript failure on one line, with the values that `expect` puts on lines of their own."""
    message = shorten_lines(strip_escapes(message[:_SPAN]))
    first = next((line.strip() for line in message.split("\n") if not _SCRIPT_NOISE.match(line)), "failed")
    values = {match["which"]: match["value"] for match in reversed(list(_EXPECTED.finditer(message)))}
    if "expect(" not in first or not values:
        return first
    return f"{first}: " + ", ".join(f"{which} {values[which]}" for which in ("Expected", "Received") if which in values)


def describe_script(text: str) -> str:
    """Return what a JavaScript failure says first, and what follows that if it only announces it."""
    first, _, rest = text.strip().partition("\n")
    if _SCRIPT_PLACE.fullmatch(first):
        return explain_unloaded(text, "")[0] if "SyntaxError" in rest else describe_failure(rest)
    return describe_failure(f"{first} {rest.strip().partition(chr(10))[0]}" if first.endswith(":") else text)


def explain_unloaded(message: str, file: str) -> tuple[str, str, int]:
    """Return why a JavaScript test file could not be loaded, and where; if nothing names a place, `file` and 0."""
    lines = shorten_lines(strip_escapes(message[:_SPAN]))
    for pattern in _UNLOADED:
        if match := pattern.search(lines):
            return match["said"], match["file"] or file, parse_number(match["line"])
    found, line = find_frame(lines)
    return (describe_failure(lines), found, line) if found else (describe_failure(lines), file, 0)


def find_thresholds(lines: str) -> Iterator[Problem]:
    """Yield a problem for each coverage threshold that jest, vitest, c8, nyc, tap or node report as missed."""
    for match in find_matches(_THRESHOLD, lines, 50):
        yield make_problem(match["jest"] or match["v8"] or match["node"], rule="coverage")


class Crash(Struct, frozen=True):
    """An uncaught error that ended Node.js; `named` are the files that the output connects it with."""

    message: str
    file: str
    line: int
    named: str


def find_crashes(lines: str) -> list[Crash]:
    """Return the uncaught errors in an output, in its order."""
    return list(islice(_find_crashes(lines), _MOST_CRASHES))


def _find_crashes(lines: str) -> Iterator[Crash]:
    begin = 0
    for match in _NODE_ENDED.finditer(lines):
        block = _COMMENT.sub("", lines[max(begin, match.start() - _CRASH_SPAN) : match.start()])
        begin = match.end()
        if error := _UNCAUGHT.search(block):
            yield _describe_crash(block, error, match["next"])


def _describe_crash(block: str, error: re.Match[str], following: str) -> Crash:
    heads = [head for head in _CRASH_PLACE.finditer(block, 0, error.start()) if not head["file"].startswith("node:")]
    file, line = find_frame(block[error.start() :])
    if heads and "node_modules/" not in heads[-1]["file"]:
        file, line = heads[-1]["file"], parse_number(heads[-1]["line"])
    imported = _IMPORTED.search(block)
    names = (file, following, *(imported.groups() if imported else ()))
    return Crash(clean(error[0].strip("[]")), clean(file), line, " ".join(filter(None, names)))


def read_crash(lines: str) -> ParsedOutput | None:
    """Return the reading of an output in no known format that ends in uncaught errors, or None."""
    problems = [make_problem(crash.message, crash.file, crash.line) for crash in find_crashes(lines)[-5:]]
    return ParsedOutput(problems=tuple(problems), understood=False) if problems else None


def explain_failures(problems: Iterable[Problem], crashes: Sequence[Crash]) -> Iterator[Problem]:
    """Yield `problems` with the error that ended the file, if the runner only said that the file failed."""
    for problem in problems:
        name = problem.file or problem.test
        vague = problem.message in ("test failed", "failed", "", problem.test)
        crash = next((crash for crash in crashes if name and name in crash.named), None) if vague else None
        if crash is None:
            yield problem
        elif crash.file and (crash.file.endswith(problem.file) or problem.file.endswith(crash.file)):
            yield replace(problem, message=crash.message, file=problem.file or crash.file, line=crash.line)
        else:
            yield replace(problem, message=crash.message)


def is_jvm_trace(detail: str) -> bool:
    """Return whether `detail` holds frames of the JVM."""
    return _JVM_FRAME.search(shorten_lines(detail[:_JVM_SPAN])) is not None


def find_jvm_frame(detail: str, owner: str) -> Place:
    """Return the innermost frame of the project in the trace of a failed test of the class `owner`.

    A frame names a class and a file without a folder: `demo/CalcTest.java` is that file by its package. Frames in the
    first two parts of the owner's package are preferred.
    """
    thrown = _CAUSE.split(shorten_lines(detail[:_JVM_SPAN]), maxsplit=1)[0]
    foreign = tuple(package for package in _JVM_FOREIGN if not owner.startswith(package))
    own = [match for match in _JVM_FRAME.finditer(thrown) if not match["class"].startswith(foreign)]
    family = ".".join(owner.split(".")[: min(2, owner.count("."))])
    near = [match for match in own if family and match["class"].startswith(f"{family}.")]
    for match in (near or own)[:1]:
        return "/".join([*match["class"].split(".")[:-1], match["file"]]), parse_number(match["line"])
    return "", 0


def describe_thrown(detail: str) -> str:
    """Return what was thrown on one line: its class without package, its message, and the last cause."""
    lines = []
    for line in detail[:_JVM_SPAN].split("\n")[: _JVM_LINES + 1]:
        if re.match(r"\s*at |\s*Caused by: |\s*\.\.\. \d", line):
            break
        lines.append(line)
    causes = _CAUSE.findall(shorten_lines(detail[:_JVM_SPAN]))
    cause = f" (caused by {_drop_package(causes[-1])})" if causes else ""
    return _drop_package(join_lines("\n".join(lines)))[:300] + cause


def _drop_package(thrown: str) -> str:
    return _THROWN.sub(lambda match: match["class"], thrown, count=1)


_GO_SAID = compile_re(
    r"^ *(?P<file>[^\s:][^:\n]*\.go):(?P<line>\d+): ?(?P<said>[^\n]*)(?P<more>(?:\n {8,}[^\n]*){0,60})", re.M
)
_GO_PANIC = compile_re(r"^(?:panic|fatal error): (?P<said>[^\n]+)$", re.M)
_GO_FRAME = compile_re(r"^\s+(?P<file>\S+\.go):(?P<line>\d+)(?: \+0x[0-9a-f]+)?$", re.M)
_GO_EXAMPLE = compile_re(r"^got:\n(?P<got>.*?)\nwant:\n(?P<want>.*?)\n?\Z", re.M | re.S)
_GO_ASSERTED = compile_re(r"\bError: +\t?(?P<said>.*?)(?=\n *\t(?:Test|Messages|Error Trace): |\Z)", re.S)
_GO_RECOVERED = compile_re(r" \[recovered(?:, repanicked)?\]$")
_GO_LIBRARY = compile_re(
    r"/src/(?:testing|runtime|internal|reflect|time|os|sync|net)/|/pkg/mod/|/vendor/|^_testmain\.go$"
)
_GO_RACE = "WARNING: DATA RACE"
_GO_SPAN = 40_000
"""Characters of a test's output that are read, half of them from its end."""
_GO_NOISE = compile_re(r"^(?:(?:FAIL|PASS|ok|exit status|coverage:|testing: warning:)\b|#)")


def describe_package(name: str, output: str) -> Problem:
    """Return why a package ended by itself: in TestMain, in an init, by os.Exit."""
    message, file, line = explain_go_failure(output)
    words = [text.strip() for text in output.split("\n") if text.strip() and not _GO_NOISE.match(text)]
    otherwise = words[-1] if words else "it failed, and none of its tests did"
    return make_problem(message or otherwise, file, line, test=name)


def explain_go_failure(output: str, errors: Iterable[str] = ()) -> tuple[str, str, int]:
    """Return message, file and line of a panic, a race, a `x_test.go:12: message` or an example; '' if nothing says.

    `errors` are the lines that Go itself marks as errors (from 1.25 on): what a test only logs looks the same.
    """
    output = output if len(output) <= _GO_SPAN else f"{output[: _GO_SPAN // 2]}\n{output[-_GO_SPAN // 2 :]}"
    if panic := _GO_PANIC.search(output):
        return _GO_RECOVERED.sub("", panic["said"]), *_find_own_frame(output[panic.end() :])
    marked = _GO_SAID.search("".join(errors))
    if matches := [marked] if marked else list(_GO_SAID.finditer(output)):
        match = matches[-1]
        asserted = _GO_ASSERTED.search(said := f"{match['said']}{match['more']}")
        message = join_lines(asserted["said"] if asserted else said)  # of testify's table only its error
        # A race is reported by the testing package; the detector's report says where it is.
        if match["file"].rpartition("/")[2] == "testing.go" and _GO_RACE in output:
            return message, *_find_own_frame(output[output.index(_GO_RACE) :])
        return message or "failed", match["file"], parse_number(match["line"])
    if example := _GO_EXAMPLE.search(output):
        got, want = (" ".join(example[name].split())[:200] for name in ("got", "want"))
        return f"got: {got} want: {want}", "", 0
    return "", "", 0


def _find_own_frame(stack: str) -> Place:
    """Return the first frame of the project. Go names files by absolute paths, the project's come without."""
    return find_own_place(match for match in _GO_FRAME.finditer(stack) if not _GO_LIBRARY.search(match["file"]))
