"""Whether a shell script can fail at all, as far as reading tells: `true`, `make || true` and `echo done` cannot."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise
from typing import Protocol

from aigon.model.criteria import Criterion, Spec, SpecWarning, Verdict
from aigon.spec.annotation import split_metric
from aigon.text.amounts import join_words, list_criteria
from aigon.text.quoting import code_span
from aigon.text.shell import BRANCHING, ListedCommand, SimpleCommand, parse_script, split_commands

_Statuses = frozenset[bool]
"""The results that are possible: True for exit code 0."""
_PASS, _FAIL, _EITHER = frozenset({True}), frozenset({False}), frozenset({True, False})

_CONSTANT_STATUS = {":": _PASS, "true": _PASS, "echo": _PASS, "printf": _PASS, "false": _FAIL}
"""Commands whose result does not depend on anything, whatever their arguments."""
_FILTERS = frozenset(("cat", "tee", "sort", "uniq", "head", "tail", "wc", "tr", "cut", "nl", "fold", "column"))
"""Programs that exit with 0 whatever they read. As the last of a pipeline they hide the result of all others."""
_SHELL_PROGRAMS = frozenset(("bash", "sh", "dash", "zsh", "ksh"))


def can_fail(script: str) -> bool:
    """Whether `script` may exit with another code than 0. True for whatever cannot be read with certainty."""
    return False in _results(script)


def _results(script: str) -> _Statuses:
    try:
        commands = parse_script(script)
    except ValueError:
        return _EITHER
    words = {command.words[0] for command in commands}
    if (
        words & (BRANCHING - {"exit"})
        or "set" in words
        or any("(" in c.before + c.after or ")" in c.after for c in commands)
    ):
        return _EITHER
    result, ended = _PASS, frozenset[bool]()
    for operator, pipeline in _pipelines(commands):
        reached = {"&&": True in result, "||": False in result}.get(operator, True)
        if not reached:
            continue
        last = pipeline[-1]
        if last.words[0] == "exit" and len(pipeline) == 1:
            ended |= _exit(last.words)
            skipped = {"&&": result - {True}, "||": result - {False}}.get(operator, frozenset[bool]())
            if not skipped:
                return ended
            result = skipped
            continue
        found = _of_pipeline(pipeline)
        result = {"&&": found | (result - {True}), "||": found | (result - {False})}.get(operator, found)
    return result | ended


def _pipelines(commands: Sequence[ListedCommand]) -> Iterator[tuple[str, list[ListedCommand]]]:
    """Yield each pipeline with the operator before it: `&&`, `||`, or one that ends what stands before it."""
    pipeline: list[ListedCommand] = []
    operator = ""
    for before, command in pairwise((None, *commands)):
        assert command is not None
        if before is not None and before.after not in ("|", "|&"):
            yield operator, pipeline
            pipeline, operator = [], before.after
        pipeline.append(command)
    if pipeline:
        yield operator, pipeline


def _of_pipeline(pipeline: Sequence[ListedCommand]) -> _Statuses:
    last, negated = list(pipeline[-1].words), pipeline[0].words[0] == "!"
    if negated and len(pipeline) == 1:
        last = last[1:]
    found = _PASS if pipeline[-1].after == "&" else _of_words(last, piped=len(pipeline) > 1)
    return frozenset(not each for each in found) if negated else found


def _of_words(words: Sequence[str], *, piped: bool) -> _Statuses:
    rest = [word for word in words if "=" not in word] if words and "=" in words[0] else list(words)
    if not rest or any("$(" in word or "`" in word for word in words[:1]):
        return _EITHER
    if rest[0] in _SHELL_PROGRAMS and len(rest) > 2 and rest[1] == "-c":
        return _results(rest[2])
    if piped and rest[0] in _FILTERS and all(word.startswith("-") or word.isdigit() for word in rest[1:]):
        return _PASS
    return _CONSTANT_STATUS.get(rest[0], _EITHER)


def _exit(words: Sequence[str]) -> _Statuses:
    return _PASS if words[1:] == ("0",) else _FAIL if len(words) == 2 and words[1].isdigit() else _EITHER


class Decided(Protocol):
    """A criterion as far as its command is concerned."""

    @property
    def number(self) -> int:
        """Its number in the spec."""

    @property
    def kind(self) -> str:
        """`verify`, `metric`, `check`, `judge` or `human`."""

    @property
    def command(self) -> str | None:
        """What follows the kind in its annotation."""


_COMMANDS = ("verify", "metric")
_PASSING = {"check": "checks", "verify": "runs", "metric": "measures"}
"""The kinds of criteria that the base alone can satisfy, and the verb for each."""
_NAMED = 3
"""Commands that one warning spells out."""
_CONSTANT = re.compile(r"(?:echo|printf) [^$`|;&\n]*")
_SCRIPT = re.compile(r"[\w@%+.,/ -]+\.(?:py|sh|bash|zsh|js|mjs|cjs|ts|mts|cts|tsx|jsx|rb|pl|php|lua|R|bats)")
_NODE_ID = re.compile(r"::.*|:\d+$", re.DOTALL)
_INTERPRETER = re.compile(
    r"(?:python|pypy)[\d.]*|bash|sh|zsh|dash|ksh|node|deno|bun|tsx|ts-node|ruby|perl|php|lua|Rscript"
)
_RUNNER = re.compile(
    r"pytest|py\.test|unittest|nose2|jest|vitest|mocha|ava|tap|jasmine|playwright|cypress|rspec|phpunit|bats|behave"
)
_PASS_ON = re.compile(r"npx|env|timeout|nice|uv|poetry|pnpm|npm|yarn|run|exec|xvfb-run|coverage|nohup|sudo|\d+[smhd]?")
_TAKES_VALUE = re.compile(r"-[a-zA-KM-Z]|--(?:ignore|deselect|rootdir|config|grep|testNamePattern|project|cov|tb|env)")
_FLAG = re.compile(r"-[qvxsli]")
_SHELLS = ("bash", "sh", "zsh", "dash", "ksh")
_INLINE = ("-c", "-e", "-p", "--eval", "--print")


def criterion_key(criterion: Criterion) -> str:
    """Return a name for what decides a criterion: it stays the same when the spec is renumbered or reworded."""
    return f"{criterion.kind}: {criterion.command or criterion.text}"


def results_of(criteria: Sequence[Criterion], verdicts: Sequence[Verdict]) -> dict[str, bool]:
    """Return by key which criteria passed and which failed. What is unclear is left out."""
    status = {verdict.criterion: verdict.status for verdict in verdicts}
    known = [c for c in criteria if status.get(c.number) in ("met", "unmet")]
    return {criterion_key(c): status[c.number] == "met" for c in known}


def describe_passing(criteria: Sequence[Decided], passed_at_base: Collection[int]) -> tuple[str, ...]:
    """Return a warning for each kind of criterion whose command or check passed at the base commit already.

    What a person or a judge decides is left out: their answer is about the change, not about the base.
    """
    passed = [criterion for criterion in criteria if criterion.number in passed_at_base]
    return tuple(
        _describe(verb, chosen)
        for kind, verb in _PASSING.items()
        if (chosen := [criterion for criterion in passed if criterion.kind == kind])
    )


def _describe(verb: str, criteria: Sequence[Decided]) -> str:
    commands = tuple(dict.fromkeys(code_span(c.command or "", 60) for c in criteria))
    which = list_criteria([c.number for c in criteria]).capitalize()
    named = join_words(commands) if len(commands) <= _NAMED else f"{len(commands)} commands"
    if len(criteria) > 1:
        verb = verb.removesuffix("s")
    state = "passes" if len(commands) == 1 else "pass"
    subject = "It" if len(criteria) == 1 else "They"
    return f"{which} only {verb} {named}, which already {state}. {subject} cannot show that the feature was built."


def describe_unfailing(criteria: Sequence[Criterion]) -> Iterator[SpecWarning]:
    """Yield a warning for each criterion whose command passes, or prints the same, whatever the project holds."""
    for criterion in criteria:
        command = _command(criterion)
        if criterion.kind == "verify" and not can_fail(command):
            message = f"Criterion {criterion.number} cannot fail: {code_span(command, 80)} always exits with 0."
            yield SpecWarning(criterion.line, message)
        if criterion.kind == "metric" and _CONSTANT.fullmatch(command):
            message = f"Criterion {criterion.number} measures nothing: {code_span(command, 80)} always prints the same."
            yield SpecWarning(criterion.line, message)


def own_proof(criteria: Sequence[Criterion], exists: Callable[[str], bool]) -> tuple[str, ...]:
    """Sentences on commands that run a script or test file which is not there: the agent would write its own proof.

    `exists` is asked about paths as the commands name them, seen from the root of the project.
    """
    return tuple(
        f"criterion {criterion.number} is decided by {path}, which is not there yet: "
        "the agent would write its own proof"
        for criterion in criteria
        if criterion.kind in _COMMANDS
        for path in absent_files(_command(criterion), exists)
    )


def absent_files(command: str, exists: Callable[[str], bool]) -> tuple[str, ...]:
    """The scripts and test files that `command` runs and that do not exist, in order; none of what it only looks at."""
    try:
        named = [path for each in _placed(split_commands(command)) for path in each]
    except ValueError:
        return ()
    return tuple(dict.fromkeys(path for path in named if not exists(path)))


def _command(criterion: Criterion) -> str:
    return split_metric(criterion.command or "")[0] if criterion.kind == "metric" else criterion.command or ""


def _placed(commands: Sequence[SimpleCommand]) -> Iterator[Iterator[str]]:
    """The files of each command, seen from where the line starts: `cd web && jest a.test.js` is web/a.test.js."""
    folder = ""
    for simple in commands:
        if simple.program == "cd" and len(simple.words) == 2:
            folder = _joined(folder, simple.words[1])
        else:
            yield (_joined(folder, path) for path in _files(simple.words))


def _joined(folder: str, path: str) -> str:
    parts: list[str] = []
    whole = path if path.startswith("/") else f"{folder}/{path}" if folder else path
    for part in whole.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _files(words: Sequence[str]) -> Iterator[str]:
    """What is run: the program itself where it is a path, an interpreter's script, a test runner's files."""
    for index, word in enumerate(words):
        name = word.rpartition("/")[2]
        rest = words[index + 1 :]
        if _INTERPRETER.fullmatch(name):
            yield from _interpreted(name, rest)
            return
        if _RUNNER.fullmatch(name) and "/" not in word:
            yield from _tests(rest)
            return
        if name in ("source", "."):
            yield from _first(rest)
            return
        if not (_PASS_ON.fullmatch(name) or word.startswith("-") or "=" in word):
            if _is_path(word) and ("/" in word or _SCRIPT.fullmatch(word)):
                yield word
            return


def _interpreted(name: str, rest: Sequence[str]) -> Iterator[str]:
    """What comes behind `python`, `bash`, `node` and the like: a module, a line of code, or a script."""
    module = rest.index("-m") if "-m" in rest else len(rest)
    if module < len(rest) and not any(_SCRIPT.fullmatch(word) for word in rest[:module]):
        yield from _files(rest[module + 1 :])
    elif rest[:1] == ("--test",):
        yield from _tests(rest[1:])
    elif name in _SHELLS and "-c" in rest[:-1]:
        for each in _placed(split_commands(rest[rest.index("-c") + 1])):
            yield from each
    elif not any(option in rest for option in _INLINE):
        yield from _first(rest)


def _first(words: Sequence[str]) -> Iterator[str]:
    """The first word that is no option, where it is a path of its own."""
    found = next((word for word in words if not word.startswith("-") and not _PASS_ON.fullmatch(word)), "")
    if _is_path(found) and ("/" in found or "." in found):
        yield found


def _tests(words: Sequence[str]) -> Iterator[str]:
    """The files and folders among a test runner's words, without `::test_name`; an option's own value is none."""
    for before, word in pairwise(("", *words)):
        path = _NODE_ID.sub("", word)
        taken = _TAKES_VALUE.fullmatch(before) and not _FLAG.fullmatch(before)
        if (
            not taken
            and not word.startswith("-")
            and _is_path(path)
            and ("/" in path.rstrip("/") or _SCRIPT.fullmatch(path))
        ):
            yield path


def _is_path(word: str) -> bool:
    """Not a pattern, a variable, an address or a place outside of the project."""
    return bool(word) and not re.search(r"[*?\[\]{}$`\"'<>|=]|://", word) and not word.startswith(("/", "~", ".."))


def list_warnings(spec: Spec) -> tuple[SpecWarning, ...]:
    """Return what is odd about the file, and which criteria cannot fail, by line."""
    return tuple(sorted([*spec.warnings, *describe_unfailing(spec.criteria)], key=lambda warning: warning.line))
