"""What of a file is words about the code."""

from itertools import zip_longest

import pytest

from aigon.judge.quotes import find_code, is_prose


def words(path: str, text: str) -> list[str]:
    """The parts of each line that are comment or docstring, without blanks: these look the same."""
    rows = zip(text.split("\n"), find_code(path, text).split("\n"), strict=True)
    kept = ("".join(c for c, left in zip_longest(line, code) if c != left).replace(" ", "") for line, code in rows)
    return [part for part in kept if part]


PYTHON = '''\
#!/usr/bin/env python
"""Module."""
import os  # why
QUERY = """
SELECT 1
"""
class A: "on the line"
def f(a: "kind", b="x"):
    'single'
    "in" "parts"
    y = g(
        """
        argument
        """,
        "list",
    )
    "x".join(y)
    if False:
        """bare"""; z = 1
    f"bare {y} too"
    return "done"
names = {
    "a": "b",
}
x = \\
    "value"
"the end"'''


def test_in_python_a_string_that_is_a_statement_is_words_and_any_other_is_code() -> None:
    assert words("a.py", PYTHON) == [
        part.replace(" ", "")
        for part in [
            '"""Module."""',
            "# why",
            '"on the line"',
            "'single'",
            '"in""parts"',
            '"""bare"""',
            'f"bare {y} too"',
            '"the end"',
        ]
    ]


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        (
            "a.js",
            "// c\nconst a = 1 /* in */ + 2;\n/** doc\n * more */\n",
            ["// c", "/* in */", "/** doc", "* more */"],
        ),
        ("a.tsx", "const a = <A/>; // c\n", ["// c"]),
        ("a.c", "#include <a.h>\n#if 0\nint x;\n#endif\nint y;\n", ["#if 0", "int x;", "#endif"]),
        ("a.go", "// c\nfunc X() {}\n", ["// c"]),
        ("a.rs", "/// doc\nfn x() {}\n", ["/// doc"]),
        ("a.rb", "=begin\nx\n=end\ndef x; end # c\n", ["=begin", "x", "=end", "# c"]),
        ("run.sh", "#!/bin/sh\n# c\necho hi # d\n", ["# c", "# d"]),
        ("a.yaml", "a: 1 # c\n", ["# c"]),
        ("a.html", "<!-- c --><p>x</p>\n", ["<!-- c -->"]),
        ("a.sql", "-- c\nSELECT 1;\n", ["-- c"]),
        ("a.php", "<?php\n// c\n$x = 1;\n", ["// c"]),
        ("Dockerfile", "# c\nRUN x\n", ["# c"]),
        ("a.unheard-of", "# c\n// d\nvalue = 1\nAll of this does what was asked.\n", None),
    ],
)
def test_other_languages_are_known_by_the_files_name(path: str, text: str, found: list[str] | None) -> None:
    found = found or ["# c", "// d", "All of this does what was asked."]
    assert words(path, text) == [part.replace(" ", "") for part in found]


def test_prose_is_known_by_its_name() -> None:
    assert all(map(is_prose, ("README", "docs/a.md", "a.rst", "notes.TXT", "CHANGELOG", "LICENSE")))
    assert not any(map(is_prose, ("requirements.txt", "CMakeLists.txt", "robots.txt", "a.py", "readme.py", "install")))


def test_line_ends_and_empty_beginnings_do_not_move_the_marks() -> None:
    assert words("a.py", "\n\n\t\n# c\nx = 1\n") == ["#c"]
