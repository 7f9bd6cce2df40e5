"""Test programs that fail once they have run to their end: code that ends the process before never comes there."""

import re
from collections.abc import Sequence

from aigon.text.patterns import compile_re

C_PROGRAMS = (".c", ".cc", ".cpp", ".cxx")
_MAIN = compile_re(rb"\bmain\s*\([^;{}]*\)[^;{}]*\{")
_BRACES = compile_re(rb"(?s)\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|//[^\n]*|/\*.*?\*/|[{}]")
_ENDS: Sequence[tuple[tuple[str, ...], bytes, re.Pattern[bytes]]] = (
    (C_PROGRAMS, b"return 97;", compile_re(rb"\breturn\b[^;]*;")),
    ((".java",), b"System.exit(97);", compile_re(rb"\breturn\s*;")),
)
"""How `main` ends in languages with braces: the statement that fails, and the one that it is put in place of."""
_LEAVES = compile_re(rb"\b(_?exit\s*\()[^;{}]*(\)\s*;)")
_LEAVES_SHELL = compile_re(rb"(?m)((?:^|[;&|{(]|\b(?:then|do|else))[ \t]*exit\b)[^\n;&|})]*")


def fail_at_end(path: str, data: bytes) -> bytes:
    """Return a test program that fails once it has run to its end; b"" of a language where that cannot be written."""
    if path.endswith((".sh", ".bash")):
        lines = data.rstrip().rsplit(b"\n", 1)
        return b"" if lines[-1].startswith(b"exec ") else _LEAVES_SHELL.sub(rb"\1 97", data) + b"\nexit 97\n"
    if path.endswith((".pl", ".t")):
        code, mark, rest = data.partition(b"\n__END__")
        return _LEAVES.sub(rb"\g<1>97\2", code) + b"\nexit(97);\n" + mark + rest
    for ends, failing, returns in _ENDS:
        if path.endswith(ends) and (main := _MAIN.search(data)) and (end := _find_end(data, main.end())):
            body = returns.sub(failing, data[main.end() : end])
            return _LEAVES.sub(rb"\g<1>97\2", b"".join((data[: main.end()], body, b" ", failing, b" ", data[end:])))
    return b""


def _find_end(data: bytes, start: int) -> int:
    """Return where the brace that was opened before `start` is closed; 0 if it is not."""
    depth = 1
    for token in _BRACES.finditer(data, start):
        depth += (token[0] == b"{") - (token[0] == b"}")
        if not depth:
            return token.start()
    return 0
