"""Plain rules: what a careful engineer would write behind a criterion, from its words and from what the project has.

A rule only counts in full where its phrase is all that the criterion says. What is said beside it would go unproven, so
then it is no more than a guess.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from aigon.compile.proposals import CONFIDENCES, Proposal, Surroundings
from aigon.compile.rules import of_files, of_programs, of_python, of_tests
from aigon.compile.rules.command import edits, flaw
from aigon.compile.rules.phrases import ENDPOINT, FEELING, PAGES, PHRASES, TIMING
from aigon.compile.rules.wording import Wording, wording

Rule = Callable[[Wording, re.Match[str], Surroundings], Proposal | None]
_RULES: Mapping[str, Rule] = {
    "statement": of_python.statement,
    "listed": of_python.listed,
    "lists": of_python.listed,
    "help": of_programs.in_help,
    "in_help": of_programs.in_help,
    "the_help": of_programs.in_help,
    "coverage": of_programs.coverage,
    "covered": of_programs.coverage,
    "size": of_files.size,
    "exists": of_files.exists,
    "there_is": of_files.exists,
    "absent": of_files.absent,
    "no_file": of_files.absent,
    "exported": of_python.exported,
    "exports": of_python.exported,
    "docstring": of_python.docstring,
    "example": of_python.example,
    "raises": of_python.raises,
    "attribute": of_python.attribute,
    "exits": of_programs.exits,
    "prints": of_programs.prints,
    "tool": of_tests.tool,
    "works": of_programs.works,
    "unbroken": of_tests.unbroken,
    "tested": of_tests.tested,
    "says": of_files.says,
    "said": of_files.says,
    "says_not": of_files.says_not,
    "none_left": of_files.says_not,
    "unused": of_files.says_not,
}
"""By the name of their phrase, in the order in which they are tried."""
_IN_PART = "only a part of what is said is covered"
_LEAD = re.compile(r"(?:(?:that|ensure|make sure|verify|check|please|then|also) )*")
_LONGEST = 500
"""Characters of a criterion that phrases are looked for in; longer ones say more than one thing."""


def bound_check(text: str, around: Surroundings) -> str | None:
    """Return the check that decides a criterion with this text: it says that its command passes, or that nothing broke.

    None if the text says anything else, or if the project has no such check.
    """
    if len(text) > _LONGEST:
        return None
    said = wording(text)
    made = _exactly(said, around, ("tool",))
    if made and made.confidence != "sure":
        return None  # the project runs another command, whose result says nothing about this one
    made = made or _exactly(said, around, ("unbroken",))
    return made.command if made and made.kind == "check" else None


def propose(text: str, around: Surroundings) -> Proposal:
    """How a criterion with this text could be decided in that project."""
    made = _by_words(text, around)
    if made.command and (why := flaw(made.command)):
        return Proposal(
            "judge", None, f"the command that its words ask for cannot be written behind it: {why}", "guess"
        )
    if made.kind in ("verify", "metric") and (edit := edits(made.script)):
        return Proposal("judge", None, f"the command that its words name edits something: {edit}", "likely")
    return made


def _by_words(text: str, around: Surroundings) -> Proposal:
    said = wording(text[: _LONGEST + 1])
    if len(text) > _LONGEST:
        return Proposal("judge", None, "it says more than a rule can read", "guess")
    whole = _exactly(said, around) or _joined(said, around)
    if whole:
        return _rather_tests(whole, said, around) if whole.confidence == "guess" else whole
    if FEELING.search(said.skeleton):
        return Proposal("human", None, "it asks for what a person sees or feels", "likely")
    return _in_part(said, around)


def _rather_tests(made: Proposal, said: Wording, around: Surroundings) -> Proposal:
    """Tests that are there already instead of a guess."""
    tests = of_tests.behaviour(said, around)
    return tests if tests and tests.kind == "verify" and tests.confidence != "guess" else made


def _exactly(said: Wording, around: Surroundings, names: Iterable[str] = ()) -> Proposal | None:
    skeleton = _LEAD.sub("", said.skeleton, count=1)
    for name, rule in _RULES.items():
        if names and name not in names:
            continue
        found = PHRASES[name].fullmatch(skeleton)
        if found and (made := rule(said, found, around)):
            return made
    return None


def _joined(said: Wording, around: Surroundings) -> Proposal | None:
    """One command for two claims, where each of them has one; a claim without one would go unproven."""
    clauses = said.clauses()
    made = [_exactly(clause, around) for clause in clauses]
    if len(clauses) < 2 or not all(each and each.kind == "verify" for each in made):
        return None
    parts = [each for each in made if each]
    command = " && ".join(f"({p.command})" if "$?" in (p.command or "") else p.command or "" for p in parts)
    reasons = "; ".join(dict.fromkeys(part.reason for part in parts))
    return Proposal("verify", command, reasons, max((p.confidence for p in parts), key=CONFIDENCES.index))


def _in_part(said: Wording, around: Surroundings) -> Proposal:
    """What covers a part, tests that speak of it, or nothing that a command could decide."""
    tests = None if PAGES.search(said.skeleton) else of_tests.behaviour(said, around)
    if tests and tests.kind == "verify" and tests.confidence != "guess":
        return tests
    if ENDPOINT.search(said.skeleton) or any(each.kind == "verb" for each in said.literals):
        why = "a server would have to run for it, and there is no check for that yet"
        return tests if tests and tests.kind == "verify" else Proposal("judge", None, why, "guess")
    if TIMING.search(said.skeleton):
        why = "time has to be measured: with a script that prints the number it would be a metric"
        return Proposal("human", None, why, "guess")
    part = _partly(said, around)
    return part or tests or Proposal("judge", None, "no command could be derived from the wording", "likely")


def _partly(said: Wording, around: Surroundings) -> Proposal | None:
    """The first clause that a rule covers, for want of one that covers all."""
    made = (_exactly(clause, around) for clause in said.clauses())
    found = next((each for each in made if each and each.kind in ("verify", "metric", "check")), None)
    return found.weaker(_IN_PART) if found else None
