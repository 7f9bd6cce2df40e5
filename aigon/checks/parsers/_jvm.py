"""Stack traces of the JVM: which frame is the project's own, and what was thrown."""

import re

from aigon.checks.parsers._problems import number
from aigon.checks.parsers._text import shortened

_FRAME = re.compile(
    r"^[ \t]*at (?:[^\s()/]{0,100}/){0,2}(?P<class>[^\s()/]{1,400})\.[^.()/\n]{1,300}"
    r"\((?P<file>[\w$-]{1,200}\.(?:java|kts?|groovy|scala|clj)):(?P<line>\d{1,9})\)",
    re.M,
)
_THROWN = re.compile(r"^(?P<package>(?:[\w$]+\.)+)(?P<class>[\w$]+)(?=:|$)")
_CAUSE = re.compile(r"^[ \t]*Caused by: (?P<said>[^\n]+)$", re.M)
_FOREIGN = (
    "java.", "javax.", "jdk.", "sun.", "com.sun.", "kotlin.", "kotlinx.", "scala.", "groovy.", "org.codehaus.groovy.",
    "org.apache.groovy.", "org.junit.", "junit.", "org.opentest4j.", "org.assertj.", "org.hamcrest.", "org.mockito.",
    "io.mockk.", "org.testng.", "io.kotest.", "org.scalatest.", "org.spockframework.", "spock.", "org.gradle.",
    "org.apache.maven.", "com.google.common.truth.", "org.robolectric.", "android.", "androidx.", "com.android.",
    "org.springframework.", "worker.org.gradle.",
)  # fmt: skip
"""Packages of the platform, of test libraries and of build tools, where no project's own code stands."""
_SPAN = 100_000
_LINES = 5
"""Lines of an exception's message that are kept: AssertJ and others put the values on lines of their own."""


def is_trace(detail: str) -> bool:
    """Whether frames of the JVM stand in it."""
    return _FRAME.search(shortened(detail[:_SPAN])) is not None


def place(detail: str, owner: str) -> tuple[str, int]:
    """File and line of the innermost frame of the project, in the trace of a failed test of the class `owner`.

    A frame names a class and a file without a folder: `demo/CalcTest.java` is that file by its package, below
    whichever source folder it lies in. Frames in the first two parts of the owner's package come before others.
    """
    thrown = _CAUSE.split(shortened(detail[:_SPAN]), maxsplit=1)[0]
    foreign = tuple(package for package in _FOREIGN if not owner.startswith(package))
    own = [m for m in _FRAME.finditer(thrown) if not m["class"].startswith(foreign)]
    family = ".".join(owner.split(".")[: min(2, owner.count("."))])
    near = [m for m in own if family and m["class"].startswith(f"{family}.")]
    for match in (near or own)[:1]:
        return _file(match["class"], match["file"]), number(match["line"])
    return "", 0


def thrown(detail: str) -> str:
    """What was thrown, by its class without package, its message on one line, and the last cause."""
    lines = []
    for line in detail[:_SPAN].split("\n")[: _LINES + 1]:
        if re.match(r"\s*at |\s*Caused by: |\s*\.\.\. \d", line):
            break
        lines.append(line.strip())
    said = " ".join(filter(None, lines))
    causes = _CAUSE.findall(shortened(detail[:_SPAN]))
    cause = f" (caused by {_less_package(causes[-1])})" if causes else ""
    return _less_package(said)[:300] + cause


def _less_package(said: str) -> str:
    return _THROWN.sub(lambda m: m["class"], said, count=1)


def _file(name: str, file: str) -> str:
    return "/".join([*name.split(".")[:-1], file])
