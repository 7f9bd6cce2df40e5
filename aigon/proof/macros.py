"""Macros that a change brings in headers of C, and that would make a test program say something else.

In the run with the base's versions a test program reads as it is written: what it includes may not rename its `main`,
nor stand for a function that it calls.
"""

import re
from collections.abc import Iterable

from aigon.text.patterns import compile_re

INCLUDED = (".h", ".hpp", ".hh", ".hxx", ".inc", ".c", ".cc", ".cpp")
PROGRAMS = (".c", ".cc", ".cpp", ".cxx")
_DEFINED = compile_re(r"(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)")
_INCLUDE = compile_re(r"(?m)^[ \t]*#[ \t]*include\b.*$")


def list_new_macros(before: str | None, after: str | None) -> frozenset[str]:
    """Return the names that a file defines now and did not before."""
    return frozenset(_DEFINED.findall(after or "")) - frozenset(_DEFINED.findall(before or ""))


def undefine(program: str, macros: Iterable[str]) -> str | None:
    """Return the text of a program that drops these macros after its last `#include`; None if it uses none of them."""
    words = frozenset(re.findall(r"\w+", program))
    used = sorted(words.intersection(macros) - frozenset(_DEFINED.findall(program)))
    includes = list(_INCLUDE.finditer(program))
    if not used or not includes:
        return None
    end = includes[-1].end()
    return program[:end] + "".join(f"\n#undef {name}" for name in used) + program[end:]
