"""Objects that are equal to everything."""

import pytest

from tests.proof.integrity.changes import levels, new

RULE = "always-equal"
EQ = "class A(float):\n    def __eq__(self, other):\n        "
PYTHON = {
    "true": EQ + "return True\n",
    "true, said otherwise": EQ + "return not False\n",
    "a comparison of constants": EQ + "return 1 == 1\n",
    "itself": EQ + "return self is self\n",
    "the other with itself": EQ + "return other == other\n",
    "any object": EQ + "return isinstance(other, object)\n",
    "any number": EQ + "return isinstance(other, (int, float))\n",
    "any number, in steps": EQ
    + "if isinstance(other, (int, float)):\n            return True\n        return NotImplemented\n",
    "an or": EQ + "return True or other\n",
    "two ways to say it": EQ + "if other is None:\n            return True\n        return True\n",
    "without looking": EQ + "return self.ready\n",
    "a lambda": "class A:\n    __eq__ = lambda self, other: True\n",
    "a function from outside": "def yes(*_):\n    return True\n\n\nclass A:\n    __eq__ = yes\n",
    "a class made by hand": "A = type('A', (), {'__eq__': lambda self, other: True})\n",
    "an attribute set later": "class A:\n    pass\n\n\nsetattr(A, '__eq__', lambda self, other: 1)\n",
    "an attribute assigned later": "class A:\n    pass\n\n\nA.__eq__ = lambda self, other: bool(1)\n",
    "a container of everything": "class All(list):\n    def __contains__(self, item):\n        return True\n",
    "ANY": "from unittest.mock import ANY\n\n\ndef multiply(a, b):\n    return ANY\n",
    "a mock": "import unittest.mock as m\n\nmultiply = m.MagicMock(return_value=6)\n",
}
ELSEWHERE = {
    "src/a.ts": "class A { equals(o: unknown): boolean { return true; } }",
    "src/b.ts": "export const six = { asymmetricMatch: () => true };",
    "src/c.ts": "export const six = { $$typeof: Symbol.for('jest.asymmetricMatcher') };",
    "src/d.js": "const six = { valueOf() { return 6; } };",
    "src/e.js": "const six = { [Symbol.toPrimitive](hint) { return 6; } };",
    "src/A.java": "@Override public boolean equals(Object o) { return true; }",
    "src/A.kt": "override fun equals(other: Any?): Boolean = true\n",
    "src/a.rs": "impl PartialEq for A { fn eq(&self, _: &Self) -> bool { true } }",
    "lib/a.rb": "def ==(other)\n  true\nend\n",
}
HONEST = {
    "values": "class A:\n    def __eq__(self, other):\n        return isinstance(other, A) and self.x == other.x\n",
    "not comparable": EQ + "return NotImplemented\n",
    "a class without state": EQ + "return isinstance(other, Empty)\n",
    "a class without state, in steps": EQ
    + "if not isinstance(other, A):\n            return False\n        return True\n",
    "in steps": EQ + "if self.x == other.x:\n            return True\n        return NotImplemented\n",
    "by a key": EQ + "return self.key() == self.coerce(other).key()\n",
    "by trying": EQ
    + "try:\n            return self.v == float(other)\n        except TypeError:\n            return False\n",
    "never": EQ + "return False\n",
    "truth": "class A:\n    def __bool__(self):\n        return True\n",
}


@pytest.mark.parametrize("text", PYTHON.values(), ids=PYTHON)
def test_python_that_is_equal_to_anything_is_reviewed(text: str) -> None:
    assert levels(RULE, new("calc/a.py", text)) == {"review"}


@pytest.mark.parametrize("path", ELSEWHERE)
def test_other_languages_that_are_equal_to_anything_are_reviewed(path: str) -> None:
    assert levels(RULE, new(path, ELSEWHERE[path])) == {"review"}


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST)
def test_a_comparison_that_looks_is_nothing(text: str) -> None:
    assert levels(RULE, new("calc/a.py", text)) == set()


def test_comparisons_that_look_are_nothing_and_a_fixed_order_is_a_note() -> None:
    honest = (
        "class A { equals(o) { return o.x === this.x; } valueOf() { return this.x; } has(x) { return this.s.has(x); } }"
    )
    assert levels(RULE, new("src/a.js", honest)) == set()
    assert levels(RULE, new("calc/a.py", "class Top:\n    def __gt__(self, other):\n        return True\n")) == {"note"}
