"""Find in the words of a criterion what nobody can decide, and how many claims it makes. Its rules are data."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from aigon.text.patterns import compile_re

_LEFT_OUT = compile_re(r"`+[^`]*`+|\"[^\"]*\"|“[^”]*”|\[[^\]]*\]\([^)]*\)|https?://\S+|(?<!\w)'[^']*'")
_LABEL = compile_re(r"\W*(?:[A-Z]{1,5}-?\d[\w.-]*|\d+(?:\.\d+)*)[\])*:.]*\s")
_BRACKETS = compile_re(r"\([^()]*\)")
_SENTENCE_END = compile_re(r"[.;!?]\s+")
_BEGINNING = 8
"""Words of a clause in which its verb has to be."""


class WordingRules(Struct, frozen=True):
    """The patterns of templates/spec_check.yaml; each of `vague` has the word as its group, and what to write."""

    vague: tuple[tuple[re.Pattern[str], str], ...]
    explained: re.Pattern[str]
    demand_boundary: re.Pattern[str]
    demands: re.Pattern[str]
    verbs: re.Pattern[str]
    tests: re.Pattern[str]
    most_criteria: int


class VagueWord(Struct, frozen=True):
    """A word that nobody can decide, where it is in the text, and what to write instead."""

    offset: int
    word: str
    instead: str


def build_rules(document: Mapping[str, Any]) -> WordingRules:
    """Return the rules in a YAML document."""

    def make_pattern(pattern: str) -> re.Pattern[str]:
        return re.compile(pattern, re.IGNORECASE)

    vague: Sequence[Mapping[str, str]] = document["vague"]
    demands = document["demands"]
    return WordingRules(
        vague=tuple((make_pattern(row["words"]), row["instead"]) for row in vague),
        explained=make_pattern(document["explained"]),
        demand_boundary=make_pattern(rf"(?<=\w)[.;]\s+|,?\s+and\s+(?=(?:\w+\s+){{0,4}}{demands})"),
        demands=make_pattern(demands),
        verbs=make_pattern(document["verbs"]),
        tests=make_pattern(document["tests"]),
        most_criteria=document["most_criteria"],
    )


def find_vague_words(text: str, rules: WordingRules) -> Iterator[VagueWord]:
    """Yield the first undecidable word of each rule, unless its sentence says what it means."""
    start = label.end() if (label := _LABEL.match(text)) else 0
    blanked = " " * start + _blank(text, _LEFT_OUT)[start:]
    ends = [0, *(match.end() for match in _SENTENCE_END.finditer(blanked)), len(blanked)]
    for pattern, instead in rules.vague:
        for match in pattern.finditer(blanked):
            begin = max(end for end in ends if end <= match.start())
            sentence = blanked[begin : min(end for end in ends if end > match.start())]
            if not rules.explained.search(sentence):
                yield VagueWord(match.start(1), match[1], instead)
                break


def count_claims(text: str, rules: WordingRules) -> int:
    """Return how many claims a criterion makes: clauses that each demand something, or that a semicolon parts."""
    plain = _blank(_blank(text, _LEFT_OUT), _BRACKETS)
    demands = sum(bool(rules.demands.search(clause)) for clause in rules.demand_boundary.split(plain))
    clauses = re.split(r";\s+", plain)
    said = sum(bool(rules.verbs.search(" ".join(clause.split()[:_BEGINNING]))) for clause in clauses)
    return max(1, demands, said if len(clauses) > 1 else 0)


def _blank(text: str, pattern: re.Pattern[str]) -> str:
    """Return `text` with underscores in place of what matches: every offset stays."""
    return pattern.sub(lambda match: "_" * len(match[0]), text)
