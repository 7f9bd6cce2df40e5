"""Product code that ends the process, so that a test run stops before anything failed and reports success.

`review` for what ends a process past every handler (`os._exit`, the C library's exit, `process.reallyExit`) wherever
it stands, and for an ordinary exit with success on import: whoever imports a product does not want to stop.
A failing status can fool nobody and is nothing. Programs end themselves honestly: `if __name__ == "__main__":
sys.exit(main())`, `__main__.py`, functions, shutdown handlers are nothing, a script's exit on its top level and a
forked child's `os._exit` are a `note`.
"""

from collections.abc import Iterator

from aigon.model.changes import Concern, Edits
from aigon.proof.analysis import exits
from aigon.proof.analysis.languages import is_code, is_python, product
from aigon.proof.analysis.python import read
from aigon.proof.analysis.sightings import Sighting, fresh, reported
from aigon.proof.analysis.text import line_at, line_of, without_comments

RULE = "early-exit"
_WHY = (
    "A process that ends like this takes the test run with it, with a status that says success. "
    "Return or raise instead, and leave the program's exit to its entry point."
)


def look(edits: Edits) -> Iterator[Concern]:
    """Every product file that ends the process."""
    yield from reported(RULE, fresh(product(edits), _see), _WHY)


def _see(path: str, text: str) -> Iterator[Sighting]:
    if is_python(path) and read(text) is not None:
        seen = {each.line: each for each in exits.find_python_exits(path, text)}
        yield from seen.values()
    elif is_python(path):
        yield from _unread(path, text)
    elif is_code(path):
        yield from exits.find_exits(path, text)


def _unread(path: str, text: str) -> Iterator[Sighting]:
    """A file that this Python cannot read."""
    plain = without_comments(text, path)
    at = plain.find("_exit(")
    if at >= 0:
        line = line_at(plain, at)
        yield Sighting(line, line_of(text, line), "ends the process past every handler")
