"""Tests inside product files: the base's are laid over a changed version, and the rest of the file stays as it is."""

import textwrap

import pytest

from aigon.proof.inline_tests import restore_inline_tests

RUST = """
    /// Adds.
    ///
    /// ```
    /// assert_eq!(calc::add(2, 3), 5);
    /// ```
    pub fn add(a: i64, b: i64) -> i64 { a + b }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn adds() { assert_eq!(add(2, 3), 5); }
    }
"""
PYTHON = '''
    """Sums."""


    def add(a, b):
        """Add.

        >>> add(2, 3)
        5
        """
        return a + b


    if __name__ == "__main__":
        assert add(1, 1) == 2
'''
VITEST = """
    export const add = (a, b) => a + b

    if (import.meta.vitest) {
      const { it, expect } = import.meta.vitest
      it('adds', () => expect(add(2, 3)).toBe(5))
    }
"""
SESSION = """
    # Use

        >>> add(2, 3)
        5

    More words.
"""


def restored(path: str, before: str, after: str) -> str | None:
    return restore_inline_tests(path, textwrap.dedent(before).lstrip(), textwrap.dedent(after).lstrip())


@pytest.mark.parametrize(
    ("path", "before", "old", "new"),
    [
        ("src/lib.rs", RUST, "fn adds() { assert_eq!(add(2, 3), 5); }", "fn adds() {}"),
        ("src/lib.rs", RUST, "/// assert_eq!(calc::add(2, 3), 5);", "/// calc::add(2, 3);"),
        ("calc.py", PYTHON, "    5\n", "    6\n"),
        ("calc.py", PYTHON, "assert add(1, 1) == 2", "assert True"),
        ("calc.ts", VITEST, "toBe(5)", "toBe(6)"),
        ("README.md", SESSION, "    5\n", "    6\n"),
    ],
)
def test_a_weakened_inline_test_is_put_back(path: str, before: str, old: str, new: str) -> None:
    assert old in before
    after = before.replace(old, new) + "\n    // one more line\n".replace("//", "#" if path.endswith("py") else "//")
    found = restored(path, before, after)
    assert found is not None and old.strip() in found and found.count(old.strip()) == before.count(old.strip())
    assert "one more line" in found


@pytest.mark.parametrize(
    ("path", "before", "start", "kept"),
    [
        ("src/lib.rs", RUST, "    #[cfg(test)]", "assert_eq!(add(2, 3), 5); }"),
        ("calc.py", PYTHON, '    if __name__ == "__main__"', "assert add(1, 1) == 2"),
        ("calc.ts", VITEST, "    if (import.meta.vitest)", "toBe(5)"),
    ],
)
def test_a_lost_inline_test_comes_back(path: str, before: str, start: str, kept: str) -> None:
    found = restored(path, before, before[: before.index(start)])
    assert found is not None and kept in found


def test_a_lost_docstring_comes_back_to_its_function() -> None:
    after = 'def add(a, b):\n    return a + b\n\n\nif __name__ == "__main__":\n    assert add(1, 1) == 2\n'
    found = restored("calc.py", PYTHON, after)
    assert found is not None
    compile(found, "calc.py", "exec")
    assert ">>> add(2, 3)\n    5" in found


def test_code_that_is_there_only_for_tests_is_taken_out() -> None:
    after = RUST + "\n    #[cfg(test)]\n    pub fn multiply(_: i64, _: i64) -> i64 { 63 }\n"
    found = restored("src/lib.rs", RUST, after)
    assert found is not None and "63" not in found
    assert "mod more" in str(restored("src/lib.rs", RUST, after + "    #[cfg(test)]\n    mod more { fn x() {} }\n"))


@pytest.mark.parametrize(
    ("path", "before", "old", "new"),
    [
        ("src/lib.rs", RUST, "a + b }", "b + a }"),
        ("calc.py", PYTHON, "return a + b", "return b + a"),
        ("calc.py", "def main():\n    print(1)\n\nif __name__ == '__main__':\n    main()\n", "main()\n", "main(2)\n"),
        ("calc.ts", VITEST, "a + b", "b + a"),
        ("README.md", SESSION, "More", "Other"),
        ("data.json", '{"a": 1}', "1", "2"),
    ],
)
def test_nothing_is_put_back_where_the_tests_are_the_same(path: str, before: str, old: str, new: str) -> None:
    assert restored(path, before, before.replace(old, new)) is None


def test_a_version_that_is_too_laborious_to_read_is_put_back_as_a_whole() -> None:
    assert restored("calc.ts", VITEST, "export const a = 1\n" + "->" * 4096) == textwrap.dedent(VITEST).lstrip()


def test_a_new_inline_test_may_stay() -> None:
    after = PYTHON.replace('"""Sums."""', '"""Sums.\n\n    >>> 1 + 1\n    2\n    """')
    assert restored("calc.py", PYTHON, after) is None
    assert restored("calc.py", PYTHON + "\n\n    def test_new():\n        assert True\n", PYTHON) is not None


def test_new_tests_in_a_module_or_block_of_tests_stay_beside_those_of_the_base() -> None:
    new = "#[test]\n    fn multiplies() { assert_eq!(multiply(2, 3), 6); }\n\n    #[test]\n    fn adds()"
    after = restored(
        "src/lib.rs",
        RUST,
        RUST.replace("#[test]\n        fn adds()", new).replace("3), 5); }\n    }", "3), 6); }\n    }"),
    )
    assert after and after.count("mod tests {") == 1 and after.count("fn adds()") == 2
    base, beside = after.split("mod beside_tests {")
    assert "assert_eq!(add(2, 3), 5)" in base and "multiplies" not in base and "fn multiplies()" in beside
    assert beside.count("{") + 1 == beside.count("}") and "#[cfg(test)]" in base.rpartition("}")[2]
    block = restored("calc.ts", VITEST, VITEST.replace("it('adds'", "it('is new', () => {})\n      it('adds'"))
    assert block and block.count("import.meta.vitest) {") == 2 and block.index("toBe(5)") < block.index("is new")
