"""Judge backends: one module each, and those of plug-ins. `aigon.model.judging` describes a backend."""

from collections.abc import Mapping
from typing import Protocol, cast

from aigon.errors import usage
from aigon.files.registry import Registry
from aigon.model.judging import JudgeAnswer, JudgeQuestion, JudgeSettings

BACKENDS = Registry("aigon.judges", __name__, "judge backend")


class Backend(Protocol):
    """The two functions of a backend module."""

    def explain_unready(self, settings: JudgeSettings, env: Mapping[str, str], /) -> str:
        """Return what is missing and how to get it; empty if the judge can be asked."""

    def ask(self, question: JudgeQuestion, settings: JudgeSettings, /) -> JudgeAnswer:
        """Make one call. What went wrong is the answer's `failure`, never an exception."""


def find_backend(name: str) -> Backend:
    """Return the backend called `name`. Raises a usage error that lists the known ones."""
    if name not in BACKENDS.builtins() and name not in BACKENDS.plugins():
        hint = f"{BACKENDS.suggest(name)}; or none, to leave such criteria to a person"
        raise usage(f"There is no judge backend called {name!r}", hint=hint)
    return cast("Backend", BACKENDS.load(name))
