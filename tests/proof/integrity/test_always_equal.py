"""Objects that are equal to everything, where the negative control cannot read the tests."""

import pytest

from tests.proof.integrity.changes import levels, new

RULE = "always-equal"
EVERYTHING = {
    "src/A.java": "@Override public boolean equals(Object o) { return true; }",
    "src/A.kt": "override fun equals(other: Any?): Boolean = true\n",
    "lib/a.rb": "def ==(other)\n  true\nend\n",
    "a.hpp": "bool operator==(const A&) const { return true; }",
    "A.swift": "static func == (a: A, b: A) -> Bool { return true }",
}


@pytest.mark.parametrize("path", EVERYTHING)
def test_what_is_equal_to_anything_is_reviewed(path: str) -> None:
    assert levels(RULE, new(path, EVERYTHING[path])) == {"review"}


def test_a_comparison_that_looks_is_nothing() -> None:
    assert levels(RULE, new("A.java", "public boolean equals(Object o) { return o.x == this.x; }")) == set()
    assert levels(RULE, new("calc/a.py", "class A:\n    def __eq__(self, other):\n        return True\n")) == set()
