"""Names taken out of what a judge compares, so that it cannot tell whose work it sees.

Each name becomes another word, the same one wherever it stands, in both changes and in the specification: code that
uses it as a word of its own stays as good as it was.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from aigon.model.changes import FileDiff, Hunk

Plain = Callable[[str], str]
SHORTEST = 2
"""Characters of the shortest name that is looked for."""


def nameless(names: Iterable[str]) -> Plain:
    """A function that puts `name_1` and so on in the place of these names, where they stand as whole words."""
    known = sorted({name.strip().casefold() for name in names if len(name.strip()) >= SHORTEST})
    if not known:
        return str
    words = {name: f"name_{number}" for number, name in enumerate(known, 1)}
    listed = "|".join(re.escape(name) for name in sorted(known, key=len, reverse=True))
    whole = re.compile(rf"(?<![^\W_])(?:{listed})(?![^\W_])", re.IGNORECASE)
    return lambda text: whole.sub(lambda found: words.get(found[0].casefold(), "name_0"), text)


def anonymous(diff: FileDiff, plain: Plain) -> FileDiff:
    """A file's change with `plain` words in its path and in every line."""
    hunks = tuple(_hunk(hunk, plain) for hunk in diff.hunks)
    content = "\n".join(map(plain, diff.content.split("\n")))
    return replace(diff, path=plain(diff.path), hunks=hunks, content=content)


def _hunk(hunk: Hunk, plain: Plain) -> Hunk:
    return Hunk(plain(hunk.heading), tuple(replace(line, text=plain(line.text)) for line in hunk.lines))
