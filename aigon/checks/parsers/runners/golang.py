"""The text of `go test`, and why its tests failed. Without -v it tells only of failed tests, so it counts none."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from aigon.checks.parsers.matchers import load_matcher
from aigon.checks.parsers.output import count_noun, has_gap, join_lines, parse_number
from aigon.checks.parsers.readings import keep_distinct, make_problem, summarize_tests
from aigon.model.checks import ParsedOutput, Problem, TestCounts

_PACKAGE = re.compile(
    r"^(?:(?P<ok>ok  )|(?P<fail>FAIL)|(?P<none>\?   ))\t(?P<package>\S+)(?:\t| )"
    r"(?P<rest>(?:\[[^\]\n]+\]|\(cached\)|[\d.]+s)[^\n]*)$",
    re.M,
)
_RUN = re.compile(r"^=== (?P<word>RUN|NAME|CONT|PAUSE) +(?P<test>\S+)$")
_END = re.compile(r"^.*?--- (?P<word>PASS|FAIL|SKIP): (?P<test>\S+) \([\d.]+s\)$")
"""Behind what a test printed without ending its line."""
_LAST = re.compile(r"^(?:FAIL|PASS|exit status \d+|coverage: .*|testing: warning: .*)$")

_SAID = re.compile(
    r"^ *(?P<file>[^\s:][^:\n]*\.go):(?P<line>\d+): ?(?P<said>[^\n]*)(?P<more>(?:\n {8,}[^\n]*){0,60})", re.M
)
_PANIC = re.compile(r"^(?:panic|fatal error): (?P<said>[^\n]+)$", re.M)
_FRAME = re.compile(r"^\s+(?P<file>\S+\.go):(?P<line>\d+)(?: \+0x[0-9a-f]+)?$", re.M)
_EXAMPLE = re.compile(r"^got:\n(?P<got>.*?)\nwant:\n(?P<want>.*?)\n?\Z", re.M | re.S)
_ASSERTED = re.compile(r"\bError: +\t?(?P<said>.*?)(?=\n *\t(?:Test|Messages|Error Trace): |\Z)", re.S)
_RECOVERED = re.compile(r" \[recovered(?:, repanicked)?\]$")
_LIBRARY = re.compile(r"/src/(?:testing|runtime|internal|reflect|time|os|sync|net)/|/pkg/mod/|/vendor/|^_testmain\.go$")
_RACE = "WARNING: DATA RACE"
_SPAN = 40_000
"""Characters of a test's output that are read, half of them from its end."""
_NOISE = re.compile("FAIL|exit status|#")
_UNEXPLAINED = "it failed, and none of its tests did"


@dataclass(slots=True)
class GoPackage:
    """What was printed up to a package's own line. `ends` are results by test; `below` is printed below a failure."""

    name: str = ""
    result: str = ""
    rest: str = ""
    runs: set[str] = field(default_factory=set)
    ends: dict[str, str] = field(default_factory=dict)
    below: dict[str, list[str]] = field(default_factory=dict)
    other: list[str] = field(default_factory=list)

    @property
    def unended(self) -> set[str]:
        """Tests that began and did not end."""
        return self.runs - self.ends.keys()

    @property
    def is_empty(self) -> bool:
        """Return whether it has no test that was to run."""
        return self.result == "?" or "[no tests to run]" in self.rest or "[no test files]" in self.rest

    def read_line(self, test: str, line: str) -> str:
        """Take a line that may be of `test`; return the test that the next ones are of."""
        if run := _RUN.match(line):
            if run["word"] == "RUN":
                self.runs.add(run["test"])
            return run["test"]
        end = _END.match(line)
        # With -v only what was announced is a result.
        if end and (not self.runs or end["test"] in self.runs):
            self.ends.setdefault(end["test"], end["word"])
            return end["test"]
        if _LAST.match(line):
            return ""
        (self.below.setdefault(test, []) if test else self.other).append(line)
        return test


def read_go_text(lines: str) -> ParsedOutput | None:
    """Return what the text says; None if it has no line on any package."""
    packages = list(_read_packages(lines))
    if not packages:
        return None
    failures = (problem for package in packages for problem in _find_problems(package))
    problems = keep_distinct((*load_matcher("gobuild").find_problems(lines, fallback=False), *failures))
    if all(package.is_empty for package in packages):
        return summarize_tests(TestCounts())
    # If every test was announced, and only then, they can be counted.
    announced = all(package.runs or package.result != "ok" or package.is_empty for package in packages)
    if announced and any(package.runs for package in packages) and not has_gap(lines):
        return summarize_tests(_count_results(packages), problems)
    failed = sum(package.result == "FAIL" for package in packages)
    ran = sum(not package.is_empty for package in packages)
    summary = f"{count_noun(failed, 'package')} failed" if failed else f"{count_noun(ran, 'package')} passed"
    return ParsedOutput(summary, None, problems)


def has_package_sums(lines: str) -> bool:
    """Return whether a line of its own sums up a package that was run: in a stream of events there is none."""
    return any(not _is_unbuilt(match["rest"]) for match in _PACKAGE.finditer(lines))


def _is_unbuilt(rest: str) -> bool:
    return rest.startswith(("[build failed]", "[setup failed]"))


def _read_packages(lines: str) -> Iterator[GoPackage]:
    package, test = GoPackage(), ""
    for line in lines.split("\n"):
        end = _PACKAGE.match(line)
        # A package of which a test failed or still runs is not `ok`: then a test printed this line.
        if end and not (end["ok"] and ("FAIL" in package.ends.values() or package.unended)):
            result = "ok" if end["ok"] else "FAIL" if end["fail"] else "?"
            package.name, package.result, package.rest = end["package"], result, end["rest"]
            yield package
            package, test = GoPackage(), ""
        else:
            test = package.read_line(test, line)


def _count_results(packages: list[GoPackage]) -> TestCounts:
    words = [word for package in packages for word in package.ends.values()]
    unended = sum(len(package.unended) for package in packages)
    alone = sum(
        package.result == "FAIL" and "FAIL" not in package.ends.values() and not package.unended for package in packages
    )
    return TestCounts(0, words.count("PASS"), words.count("FAIL"), words.count("SKIP"), unended + alone)


def _find_problems(package: GoPackage) -> Iterator[Problem]:
    broken = [test for test, word in package.ends.items() if word == "FAIL"] if package.result == "FAIL" else []
    parents = {test.rpartition("/")[0] for test in broken}
    for test in (*broken, *sorted(package.unended)):
        output = "\n".join(package.below.get(test, []))
        if "race detected during execution of test" in output:  # what the detector found stands before the test's line
            output = "\n".join([*package.other, output])
        message, file, line = explain_go_failure(output)
        if message or test not in parents:
            message = message or ("it did not end" if test in package.unended else "failed")
            yield make_problem(message, file, line, test=f"{package.name}::{test}")
    if package.result == "FAIL" and not broken and not package.unended and not _is_unbuilt(package.rest):
        yield describe_package(package.name, "\n".join(package.other), _NOISE)


def describe_package(name: str, output: str, noise: re.Pattern[str]) -> Problem:
    """Return why a package ended by itself: in TestMain, in an init, by os.Exit. `noise` begins lines to leave out."""
    message, file, line = explain_go_failure(output)
    words = [text.strip() for text in output.split("\n") if text.strip() and not noise.match(text)]
    return make_problem(message or (words[-1] if words else _UNEXPLAINED), file, line, test=name)


def explain_go_failure(output: str, errors: Iterable[str] = ()) -> tuple[str, str, int]:
    """Return message, file and line of a panic, a race, a `x_test.go:12: message` or an example; '' if nothing says.

    `errors` are the lines that Go itself marks as errors (from 1.25 on): what a test only logs looks the same.
    """
    output = output if len(output) <= _SPAN else f"{output[: _SPAN // 2]}\n{output[-_SPAN // 2 :]}"
    if panic := _PANIC.search(output):
        return _RECOVERED.sub("", panic["said"]), *_find_own_frame(output[panic.end() :])
    marked = _SAID.search("".join(errors))
    if matches := [marked] if marked else list(_SAID.finditer(output)):
        match = matches[-1]
        asserted = _ASSERTED.search(said := f"{match['said']}{match['more']}")
        message = join_lines(asserted["said"] if asserted else said)  # of testify's table only its error
        # A race is reported by the testing package; the detector's report says where it is.
        if match["file"].rpartition("/")[2] == "testing.go" and _RACE in output:
            return message, *_find_own_frame(output[output.index(_RACE) :])
        return message or "failed", match["file"], parse_number(match["line"])
    if example := _EXAMPLE.search(output):
        got, want = (" ".join(example[name].split())[:200] for name in ("got", "want"))
        return f"got: {got} want: {want}", "", 0
    return "", "", 0


def _find_own_frame(stack: str) -> tuple[str, int]:
    """Return the first frame of the project. Go names files by absolute paths, the project's come without."""
    frames = [match for match in _FRAME.finditer(stack) if not _LIBRARY.search(match["file"])]
    own = [match for match in frames if not match["file"].startswith("/")] or frames
    return (own[0]["file"], parse_number(own[0]["line"])) if own else ("", 0)
