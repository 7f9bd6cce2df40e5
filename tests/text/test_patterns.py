"""Patterns that are compiled when they are first used."""

import copy
import importlib
import pkgutil
import re

import pytest

import aigon
from aigon.text.patterns import _LazyPattern, compile_re


def test_a_pattern_is_one_of_re_from_its_first_use_on() -> None:
    pattern = compile_re(r"(?P<word>\w+)-(\d+)", re.IGNORECASE)
    assert not {"match", "sub"} & set(vars(pattern))
    found = pattern.fullmatch("Ab-12")
    assert found and found["word"] == "Ab"
    assert [each[2] for each in pattern.finditer("a-1 b-2")] == ["1", "2"]
    assert pattern.sub(r"\2", "a-1") == "1"
    assert (pattern.groups, pattern.pattern) == (2, r"(?P<word>\w+)-(\d+)")
    assert copy.copy(pattern).search("x-1")
    with pytest.raises(AttributeError):
        pattern.nothing  # type: ignore[attr-defined] # noqa: B018


def test_every_pattern_of_aigon_compiles() -> None:
    found = pkgutil.walk_packages(aigon.__path__, "aigon.", onerror=lambda _: None)
    modules = [module.name for module in found if not module.name.endswith("__main__")]
    patterns: list[_LazyPattern] = []
    for name in modules:
        try:
            module = importlib.import_module(name)
        except ImportError:  # of an extra that is not installed, or a program of its own
            continue
        patterns += [value for value in vars(module).values() if isinstance(value, _LazyPattern)]
    assert len(patterns) > 400
    for pattern in patterns:
        re.compile(*pattern._given)
