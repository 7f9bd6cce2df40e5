"""Bind a criterion to the check that its words name: "`make test` passes", "pytest is green", "No regressions".

Everything that is meant literally (code, options, quotes) is taken out first, so that phrases are short:
"`ruff check` passes" is matched as `§0 passes`.
"""

import re
from collections.abc import Mapping

from msgspec import Struct

from aigon.model.criteria import find_bound_checks
from aigon.text.patterns import compile_re

LONGEST = 500
"""Characters of a criterion in which phrases are looked for. A longer one says more than one thing."""
MODAL = r"(?:(?:must|should|shall|will|can|now|also|still|correctly|successfully|always) )*"
_IS = r"(?:is|are|was|were|has been|have been|gets|be)"
HOLDS = (
    rf"{MODAL}(?:passes|pass|succeeds?|works?|{_IS} (?:still )?(?:clean|green|happy|successful)|stays? (?:green|clean)"
    r"|exits with (?:code |status )?0|(?:reports?|finds?|has|shows?|prints?) (?:nothing|(?:no|zero|0) (?:new )?"
    r"(?:errors?|issues?|problems?|warnings?|violations?|complaints?|findings?)))"
    r"(?: (?:without|with no) (?:any )?(?:errors?|warnings?|issues?|problems?|complaints?))?(?: in strict mode)?"
)
"""That a command ends well."""
_TOOL = compile_re(
    r"(?:the )?(?P<tool>§\d+|mypy|ruff|eslint|tsc|pyright|pytest|flake8|pylint|jest|vitest|cargo test|go test|go vet"
    rf"|npm (?:run )?test|biome|mocha|unittest)(?: check| run)? {HOLDS}"
)
_UNBROKEN = compile_re(
    r"(?:there (?:are|is) )?no regressions?(?: in (?:the )?(?:existing )?(?:tests?|behaviou?r|functionality))?"
    r"|(?:(?:all|the|of|our) )*(?:existing|old|previous|current|other) (?:unit )?"
    r"(?:tests?|behaviou?rs?|functionality|features?|commands|functions) "
    r"(?:(?:still|all|keeps?|continues? to|must|should) )*(?:pass(?:es|ing)?|work(?:s|ing)?"
    r"|(?:is|are|stays?|remains?) (?:unchanged|unaffected|intact|green|the same|as (?:it was|they were)))"
    r"|nothing (?:that worked (?:before )?|else )?(?:is broken|breaks|broke|has broken)"
    r"|(?:does not|doesn't) break (?:any )?(?:existing|other) (?:tests?|behaviou?r|functionality|features?)"
    r"|(?:the )?(?:full |whole |entire )?test suite (?:is green|passes|stays green|succeeds)(?: (?:in|on) (?:the )?ci)?"
)
_LABEL = compile_re(r"\s*(?:\[?[A-Za-z]{1,6}[ -]?\d+(?:\.\d+)*\]?\s*[:.)–—]\s*|[-–—]\s+)")
_LITERAL = compile_re(
    r"(?<!`)(?P<ticks>`++)(?P<code>.{1,300}?)(?<!`)(?P=ticks)(?!`)"
    r"|\"(?P<double>[^\"]{1,200})\"|“(?P<curly>[^”]{1,200})”|(?<!\w)'(?P<single>[^']{1,200})'(?!\w)"
    r"|(?P<option>(?<![\w-])--[A-Za-z][\w-]*)"
)
_MARKUP = compile_re(r"[*~]+|(?<!\w)_+|_+(?!\w)")
_LEAD = compile_re(r"(?:(?:that|ensure|make sure|verify|check|please|then|also) )*")


class Wording(Struct, frozen=True):
    """`skeleton` is the text in lower case with `§0`, `§1`, ... in place of its `literals`."""

    skeleton: str
    literals: tuple[str, ...]

    def literal(self, mark: str) -> str:
        """Return the literal behind `§N`; any other text is returned as it is."""
        return self.literals[int(mark[1:])] if mark.startswith("§") else mark


def read_wording(text: str) -> Wording:
    """Return the wording of a criterion without its label ("AC-1:") and words such as "ensure that"."""
    if (label := _LABEL.match(text)) and label.end() < len(text):
        text = text[label.end() :]
    literals: list[str] = []

    def take(match: re.Match[str]) -> str:
        literals.append(next(filter(None, match.group("code", "double", "curly", "single", "option"))).strip())
        return f"§{len(literals) - 1}"

    skeleton = _MARKUP.sub("", _LITERAL.sub(take, text.replace("§", " "))).casefold()
    return Wording(_LEAD.sub("", " ".join(skeleton.split()).rstrip(" .!;,"), count=1), tuple(literals))


def find_tool(wording: Wording) -> str:
    """Return the command or tool of which the text says that it ends well, in one spelling; empty if it says more."""
    match = _TOOL.fullmatch(wording.skeleton)
    return _spell(" ".join(wording.literal(match["tool"]).split())) if match else ""


def find_running(tool: str, roles: Mapping[str, str], commands: Mapping[str, str]) -> str:
    """Return the check that runs `tool`, or the role of all checks that do; empty if none or several roles fit."""
    wanted = re.compile(rf"(?<![\w-]){re.escape(tool)}(?![\w-])")
    names = [name for name, command in commands.items() if wanted.search(_spell(command))]
    matches = names if len(names) == 1 else list({roles[name] for name in names})
    return matches[0] if len(matches) == 1 else ""


def says_unbroken(wording: Wording) -> bool:
    """Return whether the text says that nothing broke, and nothing else."""
    return _UNBROKEN.fullmatch(wording.skeleton) is not None


def bind_to_check(text: str, roles: Mapping[str, str], commands: Mapping[str, str]) -> str:
    """Return the check or role that decides a criterion with this text; empty if its words name none.

    `roles` and `commands` are those of the project's checks, by name.
    """
    if len(text) > LONGEST:
        return ""
    wording = read_wording(text)
    if tool := find_tool(wording):
        # If the project runs another command, its result says nothing about this one.
        return find_running(tool, roles, commands)
    return "tests" if says_unbroken(wording) and find_bound_checks("tests", roles) else ""


def _spell(command: str) -> str:
    return command.replace("npm run test", "npm test").replace("python -m ", "python3 -m ")
