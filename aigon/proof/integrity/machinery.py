"""Code that reaches into what runs the tests: the runner, its reports, Python's builtins, the import system.

`review` in product code and in new files beside it, since none of it belongs to what a product does: patching a test
library or builtins, hooks and plugins of a runner, import hooks, counterfeit modules, arguments and variables of the
runner, looking for other people's objects through the garbage collector. Projects that were test plugins before are
left alone, and so is `builtins._`, as gettext installs it. Files that a runner or Python loads by their name
(`sitecustomize.py`, a `pytest.py` at the root) are `review` as well. In tests and conftest files, hooks are ordinary;
those that change a result are `review`.
"""

import posixpath
import re
from collections.abc import Iterator

from aigon.model.changes import Concern, ConcernLevel, Edit, Edits
from aigon.profiles.protection import is_shadowing
from aigon.proof.analysis import meddling
from aigon.proof.analysis.languages import is_javascript, is_python, of, product
from aigon.proof.analysis.sightings import Look, Sighting, fresh, key, reported

RULE = "test-machinery"
_WHY = (
    "With it the tests can be made to pass without the code being right. "
    "Leave the runner, its reports and Python itself alone; what is under test takes what it needs as arguments."
)
_LOADED_BY_NAME = re.compile(
    r"(^|/)(sitecustomize|usercustomize)(\.py|/__init__\.py)$|\.pth$|\.egg-link$"
    r"|^(src/|lib/|tests?/)?(_?pytest|pluggy|unittest|nose2?|coverage|iniconfig|hypothesis|doctest"
    r"|xdist|pytest_\w+)(\.py$|/)"
    r"|(^|/)(\.?venv|env|virtualenv)/(bin|Scripts|lib)/|(^|/)node_modules/(\.bin/|jest|vitest|mocha"
    r"|chai|ava|@jest/|@vitest/)"
)


def look(edits: Edits) -> Iterator[Concern]:
    """Every file that reaches for it."""
    yield from reported(RULE, fresh(product(edits), _in_product(_is_plugin(edits))), _WHY)
    yield from reported(RULE, fresh(of(edits.files, "tests", "config"), _in_tests), _WHY)
    if not _is_plugin(edits):
        yield from reported(RULE, fresh(edits.files, meddling.entry_points), _WHY)
    yield from (_loaded(edit) for edit in edits.files if edit.before is None and _by_name(edit))


def _is_plugin(edits: Edits) -> bool:
    """Whether the project was a plugin of a test runner before."""
    befores = [edit.before or "" for edit in edits.files]
    return any(re.search(r"pytest11|^def pytest_\w+\(", text, re.MULTILINE) for text in befores)


def _in_product(plugin: bool) -> Look:
    def see(path: str, text: str) -> Iterator[Sighting]:
        if is_python(path):
            yield from meddling.find_python_meddling(text, plugin)
        elif is_javascript(path):
            yield from meddling.find_meddling(path, text)

    return see


def _in_tests(path: str, text: str) -> Iterator[Sighting]:
    if is_python(path):
        yield from meddling.results(text)


def _by_name(edit: Edit) -> bool:
    return edit.after is not None and (_LOADED_BY_NAME.search(edit.path) is not None or is_shadowing(edit.path))


def _loaded(edit: Edit) -> Concern:
    name = posixpath.basename(edit.path)
    what = (
        f"{edit.path} is new, and Python or the test runner loads it in place of its own because of its name ({name})."
    )
    level: ConcernLevel = "review" if _LOADED_BY_NAME.search(edit.path) else "note"
    return Concern(RULE, level, f"{what} {_WHY}", (edit.path,), key(RULE, edit))
