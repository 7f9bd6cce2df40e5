"""Judge backends: one file each, and the file name is the registry.

A module here whose name has no leading underscore is a backend; what a backend is stands in `aigon.model.judging`.
"""

import importlib
import pkgutil
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Protocol, cast

from aigon.errors import usage
from aigon.model.judging import JudgeAnswer, JudgeQuestion, JudgeSettings


class Backend(Protocol):
    """The two functions of a backend module."""

    def explain_unready(self, settings: JudgeSettings, env: Mapping[str, str], /) -> str:
        """Empty when the judge can be asked, else what is missing and how to get it."""

    def ask(self, question: JudgeQuestion, settings: JudgeSettings, /) -> JudgeAnswer:
        """One call. What went wrong is the answer's `failure`, never an exception."""


def list_backends() -> tuple[str, ...]:
    """The backends there are, sorted."""
    return tuple(sorted(found.name for found in pkgutil.iter_modules(__path__) if not found.name.startswith("_")))


def find_backend(name: str) -> Backend:
    """The backend called `name`. Raises a usage error that lists the known ones."""
    known = list_backends()
    if name not in known:
        near = get_close_matches(name, known, n=1)
        meant = f"Did you mean {near[0]}? " if near else ""
        hint = f"{meant}Known: {', '.join(known)}; or none, to leave such criteria to a person"
        raise usage(f"There is no judge backend called {name!r}", hint=hint)
    return cast("Backend", importlib.import_module(f"{__name__}.{name}"))
