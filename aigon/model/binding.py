"""Which checks a `check` criterion is bound to: one rule for the verdict, the prompt and what is said before a run."""

from collections.abc import Mapping

from aigon.model.values import ROLES


def bound(wanted: str, checks: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the checks that `wanted` means, which all have to be green; `checks` are their roles by name.

    A role is bound to every check that has it or is named so, else to the script that stands in; any other word to
    the check of that name.
    """
    if wanted not in ROLES:
        return (wanted,) if wanted in checks else ()
    own = tuple(name for name, role in checks.items() if wanted in (name, role))
    return own or tuple(name for name, role in checks.items() if role == "script")
