"""Tell whether a criterion's command can show anything: it can fail, failed at the base, and its script is there.

`true`, `make || true` and `echo done` cannot fail, as far as reading tells.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from aigon.model.criteria import Criterion, Spec, SpecWarning, Verdict
from aigon.spec.annotation import DECISION_RULES, find_script
from aigon.text.amounts import join_words, list_criteria
from aigon.text.patterns import compile_re
from aigon.text.quoting import code_span
from aigon.text.shell import BRANCHING, SimpleCommand, parse_script, split_commands

if TYPE_CHECKING:
    from aigon.journal.account import CriterionItem

_STATUS = {":": True, "true": True, "echo": True, "printf": True, "false": False}
"""Commands whose result does not depend on anything, by whether they pass."""
_FILTERS = frozenset(("cat", "tee", "sort", "uniq", "head", "tail", "wc", "tr", "cut", "nl", "fold", "column"))
"""Programs that exit with 0 whatever they read. As the last of a pipeline they hide the result of all others."""
_SHELLS = ("bash", "sh", "dash", "zsh", "ksh")


def can_fail(script: str) -> bool:
    """Return whether `script` may exit with another code than 0. True for whatever cannot be read with certainty."""
    try:
        commands = list(parse_script(script))
    except ValueError:
        return True
    words = {command.words[0] for command in commands}
    grouped = any("(" in c.before + c.after or ")" in c.after for c in commands)
    exits_before = any(c.words[0] == "exit" and c.words[1:] != ("0",) for c in commands[:-1])
    if words & (BRANCHING - {"exit"}) or "set" in words or grouped or exits_before:
        return True
    while commands:
        last = commands.pop()
        before, negated = last.before, last.words[0] == "!"
        while before in ("|", "|&"):
            earlier = commands.pop()
            before, negated = earlier.before, earlier.words[0] == "!"
        passes = last.after == "&" or _find_status(last.words, piped=last.before in ("|", "|&"))
        if passes is None or passes is negated:
            return True
        if before != "&&":
            return False  # whatever comes before it
    return False


def _find_status(words: Sequence[str], *, piped: bool) -> bool | None:
    """Return whether a command passes; None if that depends on something."""
    rest = list(words[1:] if words[0] == "!" else words)
    if rest and "=" in rest[0]:
        rest = [word for word in rest if "=" not in word]
    if not rest or "$(" in words[0] or "`" in words[0]:
        return None
    if rest[0] in _SHELLS and len(rest) > 2 and rest[1] == "-c":
        return None if can_fail(rest[2]) else True
    if piped and rest[0] in _FILTERS and all(word.startswith("-") or word.isdigit() for word in rest[1:]):
        return True
    return rest == ["exit", "0"] or None if rest[0] == "exit" else _STATUS.get(rest[0])


_PASSING = {"check": "checks", **{kind: rule.verb for kind, rule in DECISION_RULES.items()}}
"""The kinds of criteria that the base alone can satisfy, and the verb for each."""
_NAMED = 3
"""Commands that one warning spells out."""


def criterion_key(criterion: Criterion) -> str:
    """Return a name for what decides a criterion: it stays the same when the spec is renumbered or reworded."""
    return f"{criterion.kind}: {criterion.command or criterion.text}"


def results_of(criteria: Sequence[Criterion], verdicts: Sequence[Verdict]) -> dict[str, bool]:
    """Return by key which criteria passed and which failed. What is unclear or waived is left out."""
    status = {verdict.criterion: verdict.status for verdict in verdicts if not verdict.is_waived}
    known = [c for c in criteria if status.get(c.number) in ("met", "unmet")]
    return {criterion_key(c): status[c.number] == "met" for c in known}


def describe_passing(criteria: Sequence[Criterion | CriterionItem], passed_at_base: Collection[int]) -> tuple[str, ...]:
    """Return a warning for each kind of criterion whose command or check passed at the base commit already.

    What a person or a judge decides is left out: their answer is about the change, not about the base.
    """
    warnings = []
    for kind, verb in _PASSING.items():
        passed = [c for c in criteria if c.kind == kind and c.number in passed_at_base]
        if not passed:
            continue
        commands = tuple(dict.fromkeys(code_span(c.command or "", 60) for c in passed))
        which = list_criteria([c.number for c in passed]).capitalize()
        named = join_words(commands) if len(commands) <= _NAMED else f"{len(commands)} commands"
        state = "passes" if len(commands) == 1 else "pass"
        subject = "It" if len(passed) == 1 else "They"
        action = verb if len(passed) == 1 else verb.removesuffix("s")
        warnings.append(
            f"{which} only {action} {named}, which already {state}. {subject} cannot show that the feature was built."
        )
    return tuple(warnings)


_CONSTANT = compile_re(r"(?:echo|printf) [^$`|;&\n]*")


def list_warnings(spec: Spec) -> tuple[SpecWarning, ...]:
    """Return what is odd about the file, and which criteria cannot fail, by line."""
    warnings = list(spec.warnings)
    for criterion in spec.criteria:
        script = find_script(criterion.kind, criterion.command)
        if criterion.kind == "verify" and not can_fail(script):
            message = f"Criterion {criterion.number} cannot fail: {code_span(script, 80)} always exits with 0."
            warnings.append(SpecWarning(criterion.line, message))
        if criterion.kind in ("metric", "prints") and _CONSTANT.fullmatch(script):
            verb = DECISION_RULES[criterion.kind].verb
            message = f"Criterion {criterion.number} {verb} nothing: {code_span(script, 80)} always prints the same."
            warnings.append(SpecWarning(criterion.line, message))
    return tuple(sorted(warnings, key=lambda warning: warning.line))


# Scripts and test files that a command runs.

_SCRIPT = compile_re(r"[\w@%+.,/ -]+\.(?:py|sh|bash|zsh|js|mjs|cjs|ts|mts|cts|tsx|jsx|rb|pl|php|lua|R|bats)")
_NODE_ID = compile_re(r"::.*|:\d+$", re.DOTALL)
_INTERPRETER = compile_re(
    r"(?:python|pypy)[\d.]*|bash|sh|zsh|dash|ksh|node|deno|bun|tsx|ts-node|ruby|perl|php|lua|Rscript"
)
_RUNNER = compile_re(
    r"pytest|py\.test|unittest|nose2|jest|vitest|mocha|ava|tap|jasmine|playwright|cypress|rspec|phpunit|bats|behave"
)
_PASS_ON = compile_re(r"npx|env|timeout|nice|uv|poetry|pnpm|npm|yarn|run|exec|xvfb-run|coverage|nohup|sudo|\d+[smhd]?")
_TAKES_VALUE = compile_re(r"-[a-zA-KM-Z]|--(?:ignore|deselect|rootdir|config|grep|testNamePattern|project|cov|tb|env)")
_FLAG = compile_re(r"-[qvxsli]")
_INLINE = ("-c", "-e", "-p", "--eval", "--print")


def own_proof(criteria: Sequence[Criterion], exists: Callable[[str], bool]) -> tuple[str, ...]:
    """Return a sentence for each command that runs a script or test file which is not there.

    `exists` is asked about paths as the commands name them, seen from the root of the project.
    """
    return tuple(
        f"criterion {criterion.number} is decided by {path}, which does not exist yet: "
        "the agent would write its own proof"
        for criterion in criteria
        for path in absent_files(find_script(criterion.kind, criterion.command), exists)
    )


def absent_files(command: str, exists: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the scripts and test files that `command` runs and that do not exist, in order."""
    try:
        named = list(_list_files(split_commands(command)))
    except ValueError:
        return ()
    return tuple(dict.fromkeys(path for path in named if not exists(path)))


def _list_files(commands: Sequence[SimpleCommand]) -> Iterator[str]:
    """Yield the files of each command, seen from the root: `cd web && jest a.test.js` runs web/a.test.js."""
    folder = ""
    for simple in commands:
        if simple.program == "cd" and len(simple.words) == 2:
            folder = _join(folder, simple.words[1])
        else:
            yield from (_join(folder, path) for path in _list_run(simple.words))


def _join(folder: str, path: str) -> str:
    joined = posixpath.normpath(posixpath.join(folder, path))
    return joined + "/" if path.endswith("/") and joined != "/" else joined


def _list_run(words: Sequence[str]) -> Iterator[str]:
    """Yield what is run: the program itself if it is a path, an interpreter's script, a test runner's files."""
    for index, word in enumerate(words):
        name = word.rpartition("/")[2]
        rest = words[index + 1 :]
        if _INTERPRETER.fullmatch(name):
            yield from _list_interpreted(name, rest)
        elif _RUNNER.fullmatch(name) and "/" not in word:
            yield from _list_tests(rest)
        elif name in ("source", "."):
            yield from _list_first(rest)
        elif _PASS_ON.fullmatch(name) or word.startswith("-") or "=" in word:
            continue
        elif _is_path(word) and ("/" in word or _SCRIPT.fullmatch(word)):
            yield word
        return


def _list_interpreted(name: str, rest: Sequence[str]) -> Iterator[str]:
    """Yield what is behind `python`, `bash`, `node` and the like: a module, a line of code, or a script."""
    module = rest.index("-m") if "-m" in rest else len(rest)
    if module < len(rest) and not any(_SCRIPT.fullmatch(word) for word in rest[:module]):
        yield from _list_run(rest[module + 1 :])
    elif rest[:1] == ("--test",):
        yield from _list_tests(rest[1:])
    elif name in _SHELLS and "-c" in rest[:-1]:
        yield from _list_files(split_commands(rest[rest.index("-c") + 1]))
    elif not any(option in rest for option in _INLINE):
        yield from _list_first(rest)


def _list_first(words: Sequence[str]) -> Iterator[str]:
    """Yield the first word that is no option, if it is a path of its own."""
    first = next((word for word in words if not word.startswith("-") and not _PASS_ON.fullmatch(word)), "")
    if _is_path(first) and ("/" in first or "." in first):
        yield first


def _list_tests(words: Sequence[str]) -> Iterator[str]:
    """Yield the files and folders among a test runner's words, without `::test_name`; not the value of an option."""
    for before, word in pairwise(("", *words)):
        path = _NODE_ID.sub("", word)
        is_value = _TAKES_VALUE.fullmatch(before) and not _FLAG.fullmatch(before)
        is_file = _is_path(path) and ("/" in path.rstrip("/") or _SCRIPT.fullmatch(path))
        if is_file and not is_value and not word.startswith("-"):
            yield path


def _is_path(word: str) -> bool:
    """Return whether it is not a pattern, a variable, an address or a place outside of the project."""
    return bool(word) and not re.search(r"[*?\[\]{}$`\"'<>|=]|://", word) and not word.startswith(("/", "~", ".."))
