"""Whether a shell script can fail at all, as far as reading tells: `true`, `make || true` and `echo done` cannot."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from aigon.text.shell import BRANCHING, ListedCommand, parse_script

_Statuses = frozenset[bool]
"""The results that are possible: True for exit code 0."""
_PASS, _FAIL, _EITHER = frozenset({True}), frozenset({False}), frozenset({True, False})

_CONSTANT = {":": _PASS, "true": _PASS, "echo": _PASS, "printf": _PASS, "false": _FAIL}
"""Commands whose result does not depend on anything, whatever their arguments."""
_FILTERS = frozenset(("cat", "tee", "sort", "uniq", "head", "tail", "wc", "tr", "cut", "nl", "fold", "column"))
"""Programs that exit with 0 whatever they read. As the last of a pipeline they hide the result of all others."""
_SHELLS = frozenset(("bash", "sh", "dash", "zsh", "ksh"))


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
    if rest[0] in _SHELLS and len(rest) > 2 and rest[1] == "-c":
        return _results(rest[2])
    if piped and rest[0] in _FILTERS and all(word.startswith("-") or word.isdigit() for word in rest[1:]):
        return _PASS
    return _CONSTANT.get(rest[0], _EITHER)


def _exit(words: Sequence[str]) -> _Statuses:
    return _PASS if words[1:] == ("0",) else _FAIL if len(words) == 2 and words[1].isdigit() else _EITHER
