"""The one error a user can cause, and the documented exit codes."""

from enum import IntEnum


class Exit(IntEnum):
    """Process exit codes. Documented in docs/exit-codes.md; scripts rely on them."""

    MET = 0
    INTERNAL = 1
    USAGE = 2
    STOPPED = 3
    NEEDS_HUMAN = 4
    SPENT = 5
    UNAVAILABLE = 6
    ENVIRONMENT = 7
    INTERRUPTED = 130
    TERMINATED = 143


class AigonError(Exception):
    """Something a person can put right: what is wrong, where, and what to do about it.

    `what` is one sentence without a full stop, `where` a file, line or object, `hint` the next step
    (a command wherever there is one).
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "", code: Exit = Exit.USAGE) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint
        self.code = code

    def __str__(self) -> str:
        return f"{self.what} ({self.where})" if self.where else self.what


def explain_error(error: AigonError) -> str:
    """Return what is wrong, where, and what to do, on a line each. It quotes files: escape it for a terminal."""
    from aigon.text.quoting import clean

    where = f"\n  where: {error.where}" if error.where else ""
    hint = f"\n  do:    {error.hint}" if error.hint else ""
    return clean(f"{error.what}.{where}{hint}")


def as_document(error: AigonError) -> dict[str, object]:
    """The same as data."""
    return {"what": error.what, "where": error.where, "hint": error.hint, "exit_code": int(error.code)}


def usage(what: str, *, where: str = "", hint: str = "") -> AigonError:
    """A usage, configuration or spec error: exit 2."""
    return AigonError(what, where=where, hint=hint, code=Exit.USAGE)


def environment(what: str, *, where: str = "", hint: str = "") -> AigonError:
    """The repository or the machine is not in a state to run: exit 7."""
    return AigonError(what, where=where, hint=hint, code=Exit.ENVIRONMENT)


def unavailable(what: str, *, where: str = "", hint: str = "") -> AigonError:
    """An agent or judge cannot run: exit 6."""
    return AigonError(what, where=where, hint=hint, code=Exit.UNAVAILABLE)
