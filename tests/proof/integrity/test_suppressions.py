"""Comments that silence checkers."""

import pytest

from tests.proof.integrity.changes import changed, levels, new, seen

RULE = "suppressions"
WHOLE = {
    "calc/a.py": "# ruff: noqa\nimport os\n",
    "calc/b.py": "# mypy: ignore-errors\nimport os\n",
    "calc/c.py": '"""Doc."""\n# pylint: skip-file\nx = 1\n',
    "calc/d.py": "# type: ignore\nimport os\n",
    "src/a.js": "/* eslint-disable */\nlet a;\n",
    "src/b.ts": "// @ts-nocheck\nlet a;\n",
    "src/c.js": "/* istanbul ignore file */\nlet a;\n",
    "src/lib.rs": "#![allow(warnings)]\nfn f() {}\n",
    "src/A.java": '@SuppressWarnings("all")\nclass A {}\n',
    "lib/a.rb": "# rubocop:disable all\nx = 1\n",
}
ONE = {
    "calc/a.py": "import os  # noqa: F401\n",
    "calc/b.py": "x: int = f()  # type: ignore[assignment]\n",
    "calc/c.py": "def f():  # pragma: no cover\n    pass\n",
    "calc/d.py": "eval(x)  # nosec B307\n",
    "calc/e.py": "x = f()  # pyright: ignore[reportAny]\n",
    "src/a.js": "// eslint-disable-next-line no-console\nconsole.log(1);\n",
    "src/b.ts": "// @ts-expect-error: not typed\nf();\n",
    "src/lib.rs": "#[allow(dead_code)]\nfn f() {}\n",
    "main.go": "x := f() //nolint:errcheck\n",
    "src/A.java": '@SuppressWarnings("unchecked")\nclass A {}\n',
    "run.sh": "# shellcheck disable=SC2086\necho $x\n",
}


@pytest.mark.parametrize("path", WHOLE)
def test_silencing_a_whole_file_is_reviewed(path: str) -> None:
    assert levels(RULE, new(path, WHOLE[path])) == {"review"}
    assert levels(RULE, new(f"tests/{path}", WHOLE[path], "tests")) == {"note"}


@pytest.mark.parametrize("path", ONE)
def test_silencing_one_line_is_a_note_and_four_are_reviewed(path: str) -> None:
    assert levels(RULE, new(path, ONE[path])) == {"note"}
    assert levels(RULE, *(new(f"{n}/{path}", ONE[path]) for n in range(4))) == {"review"}


def test_what_moves_or_only_changes_its_line_is_nothing() -> None:
    old = "import os  # noqa: F401\nx = f(1)  # type: ignore\n"
    assert levels(RULE, changed("calc/a.py", old, None), new("calc/b.py", old)) == set()
    assert levels(RULE, changed("calc/a.py", old, old.replace("f(1)", "f(2)"))) == set()
    assert levels(RULE, changed("calc/a.py", old, "import os\n")) == set()
    fewer = (changed("calc/a.py", old, "import os\n"), new("calc/b.py", "y = 1  # noqa: E501\n"))
    assert levels(RULE, *fewer) == set()


def test_words_in_texts_and_prose_are_nothing() -> None:
    text = 'HINT = "# noqa"\nMORE = """\n# type: ignore\n/* eslint-disable */\n"""\n'
    assert levels(RULE, new("calc/a.py", text)) == set()
    assert levels(RULE, new("src/a.js", "const hint = '// @ts-nocheck'; const b = `/* eslint-disable */`;")) == set()
    assert levels(RULE, new("docs/a.md", "Use `# noqa` and `// eslint-disable`.\n", "other")) == set()


def test_the_concern_counts_and_shows_them() -> None:
    (concern,) = seen(RULE, new("calc/a.py", "a  # noqa: F821\nb  # noqa: F821\n"))
    assert "in 2 more places" in concern.what
    assert "calc/a.py:2" in concern.what
