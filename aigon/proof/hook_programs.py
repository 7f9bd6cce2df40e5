"""Which files of the work tree a command starts: where that is a hook, they are not an agent's to change."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from aigon.text.shell import split_commands

_LAUNCHER = re.compile(
    r"(?:ba|da|z|k|fi)?sh|python[\d.]*|node|deno|bun|tsx|ts-node|ruby|perl|php|pwsh|uv|npx|env|sudo|nice|timeout|exec"
)
"""Programs that run what a file says which they are given."""


def started(root: Path, command: Sequence[str] | str) -> tuple[str, ...]:
    """The files of the work tree that `command` starts, by path: a list of words, or a line for bash.

    What such a file starts in turn is not followed, and a line that cannot be read starts nothing that is known.
    """
    return tuple(dict.fromkeys(path for words in _commands(command) for path in _started(root, words)))


def path_of(root: Path, word: str) -> str:
    """A word as a file of the work tree, relative to it; empty for anything else."""
    path = root / Path(word).expanduser() if word else root
    inside = ".." not in path.parts and path.is_relative_to(root) and path.is_file()
    return path.relative_to(root).as_posix() if inside else ""


def _commands(command: Sequence[str] | str) -> list[tuple[str, ...]]:
    if not isinstance(command, str):
        return [tuple(command)]
    try:
        return [each.words for each in split_commands(command)]
    except ValueError:
        return []


def _started(root: Path, words: Sequence[str]) -> Iterator[str]:
    """The program itself; where that is one that runs others, the first file that it is given."""
    if not words:
        return
    if "/" in words[0] and (path := path_of(root, words[0])):
        yield path
    elif words[0] in (".", "source") or _LAUNCHER.fullmatch(words[0].rpartition("/")[2]):
        yield from [path for word in words[1:] if (path := path_of(root, word))][:1]
