"""Patterns and words of the integrity rules, by rule, from `templates/integrity.yaml`."""

import re
from collections.abc import Mapping
from functools import cache

from aigon.files.resources import read_shipped
from aigon.text.documents import DocumentNode, parse_yaml
from aigon.text.patterns import compile_re


@cache
def _read_rule(rule: str) -> Mapping[str, DocumentNode]:
    return parse_yaml(read_shipped("templates", "integrity.yaml"), "integrity.yaml").pairs()[rule].pairs()


def expand(pattern: str, names: Mapping[str, str]) -> str:
    """Return a pattern with `%name%` replaced by what it stands for."""
    while found := re.search(r"%(\w+)%", pattern):
        pattern = pattern.replace(found[0], names[found[1]])
    return pattern


def list_words(rule: str, name: str) -> frozenset[str]:
    """Return the words that a rule knows by a name."""
    return frozenset(_read_rule(rule)[name].text().split())


@cache
def list_patterns(rule: str, name: str) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of the list `name` of a rule, one by one."""
    return tuple(map(compile_re, _list_texts(rule, name)))


@cache
def find_pattern(rule: str, name: str, flags: int = 0) -> re.Pattern[str]:
    """Return the pattern `name` of a rule; for a list, one that matches what any of them matches."""
    return compile_re("|".join(_list_texts(rule, name)), flags)


def _list_texts(rule: str, name: str) -> list[str]:
    entries = _read_rule(rule)
    texts = {key: node.text() for key, node in entries.items() if isinstance(node.value, str)}
    written = [texts[name]] if name in texts else [each.text() for each in entries[name].items()]
    return [expand(each, texts) for each in written]
