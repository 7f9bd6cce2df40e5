"""Transcripts in Markdown: what was typed and what came back, read from a page, run again, written anew.

A transcript is a fenced `console` block. A command begins with `$ `, its further lines with `> `; everything else is
what came back.
"""

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"(?ms)^```console\n(.*?)^```$")
_SCRIPT = re.compile(r"(?ms)^```sh\n(.*?)^```$")
_CHECK = re.compile(r"TIME (?:✅|❌|⚠️|.*: running$)")
_CHANGING = (
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "TIME"),
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "DATE"),
    (re.compile(r"\b(?:\d+h |\d+m )?\d+(?:\.\d+)?[ms]\b"), "DURATION"),
    (re.compile(r"\b[0-9a-f]{7,40}\b"), "HASH"),
    (re.compile(r"~[\d,]+ prompt tokens\b"), "~N prompt tokens"),
    (re.compile(r"\(kept apart by [^)]*\)"), "(KEPT APART)"),
    (re.compile(r"(?<=clean export )\((?:namespaces|bubblewrap|landlock)\)"), "(KEPT APART)"),
)


@dataclass(frozen=True)
class Step:
    """A command as it was typed, and its output."""

    command: str
    output: str

    def __str__(self) -> str:
        first, *more = self.command.split("\n")
        typed = "".join(f"{line}\n" for line in (f"$ {first}", *(f"> {line}".rstrip() for line in more)))
        return typed + self.output


def section(page: str, heading: str) -> str:
    """What stands below `## heading`, up to the next heading of that level."""
    found = re.search(rf"(?ms)^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", page)
    assert found, f"there is no section '{heading}'"
    return found[1]


def steps(text: str) -> list[Step]:
    """The commands of all transcripts in `text`, in order."""
    return [step for block in _BLOCK.findall(text) for step in _steps(block)]


def scripts(text: str) -> list[str]:
    """The fenced `sh` blocks of `text`: for pasting, nothing comes back."""
    return _SCRIPT.findall(text)


def rewritten(text: str, anew: Sequence[Step]) -> str:
    """`text` with its transcripts told by `anew`, which has as many steps."""
    left = iter(anew)

    def block(found: re.Match[str]) -> str:
        return "```console\n" + "".join(str(next(left)) for _ in _steps(found[1])) + "```"

    return _BLOCK.sub(block, text)


def run(told: Sequence[Step], cwd: Path, env: Mapping[str, str]) -> list[Step]:
    """The same commands with what comes back now; each has to succeed."""
    return [Step(step.command, _output(step.command, cwd, env)) for step in told]


def normalised(text: str) -> list[str]:
    """The lines of `text` without what differs from run to run: times, hashes, and which check came first."""
    for pattern, name in _CHANGING:
        text = pattern.sub(name, text)
    text = re.sub(r"(?<=\S) {2,}", "  ", text)  # columns are as wide as what changes
    lines, ordered, waiting = text.splitlines(), [], []
    for line in lines:
        if _CHECK.match(line):  # checks run side by side and end in any order
            waiting.append(line)
            continue
        ordered += [*sorted(waiting), line]
        waiting = []
    return ordered + sorted(waiting)


def missing_lines(excerpt: str, output: str) -> list[str]:
    """The lines of an excerpt that the output does not have in that order; `...` stands for lines left out."""
    left = iter(normalised(output))
    return [line for line in normalised(excerpt) if line != "..." and line not in left]


def _steps(block: str) -> Iterator[Step]:
    for part in re.split(r"(?m)^(?=\$ )", block):
        if not part.startswith("$ "):
            assert not part.strip(), f"a transcript begins with a command, not with {part!r}"
            continue
        lines = part.removeprefix("$ ").splitlines(keepends=True)
        end = next((i for i, line in enumerate(lines) if i and not line.startswith(">")), len(lines))
        command = lines[0] + "".join(re.sub(r"^> ?", "", line) for line in lines[1:end])
        yield Step(command.rstrip("\n"), "".join(lines[end:]))


def _output(command: str, cwd: Path, env: Mapping[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, f"$ {command}\n{done.stdout}\nexit code {done.returncode}"
    return done.stdout
