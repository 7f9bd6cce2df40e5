"""The prompt of one iteration: what to build, what is open, how it is decided, what went wrong, and the rules."""

import re
import shlex
from collections.abc import Mapping, Sequence

from aigon.errors import usage
from aigon.model.checks import Check
from aigon.model.criteria import VERDICT_WORDS, Criterion, Spec, Verdict, find_bound_checks
from aigon.text.quoting import code_block, code_span, fold

_PLACEHOLDER = re.compile(r"(?m)^\{\{(\w+)\}\}(\n{1,2}|\Z)|\{\{(\w+)\}\}")
_BOUND = re.compile(r"(.+?)\s*(>=|<=|==|!=|>|<)\s*(\S+)", re.DOTALL)
_A_JUDGE = "it reads the changes and what the checks found"


def fill_template(
    template: str,
    *,
    spec: Spec,
    spec_path: str,
    number: int,
    limit: int,
    verdicts: Sequence[Verdict],
    checks: Sequence[Check],
    digest: str,
    logs: str,
    validation_skipped: bool = False,
    judge: str = _A_JUDGE,
    approach: str = "",
    memory: str = "",
    promises: Sequence[str] = (),
) -> str:
    """`template` with its placeholders filled in, each once: what a value holds is never read as a placeholder.

    `limit` is the number of the last iteration that this invocation may reach, `digest` empty when there was no
    iteration before, `approach` and `memory` sections about turns before, `promises` the phrases with which an agent
    may claim to be done, `logs` the folder of the last look's whole output. Raises a usage error that names an unknown
    placeholder.
    """
    values = {
        "NUMBER": str(number),
        "LIMIT": str(limit),
        "SPEC": code_block(spec.raw.decode("utf-8", "replace"), "markdown"),
        "SPEC_PATH": code_span(spec_path, 1000),
        "CRITERIA": _criteria(spec.criteria, verdicts, () if validation_skipped else checks, judge),
        "CHECKS": _checks(checks, validation_skipped),
        "APPROACH": approach.strip(),
        "MEMORY": memory.strip(),
        "PROMISE": _completion(promises, limit),
        "DIGEST": f"## What the last look found\n\n{digest.strip()}" if digest.strip() else "",
        "LOGS": f"The whole output of the last look is in {code_span(logs, 1000)}."
        if logs and logs not in digest
        else "",
    }
    return _filled(template, values).rstrip("\n") + "\n"


def _completion(phrases: Sequence[str], limit: int) -> str:
    """Return how an agent says that it is done. Executors parse these lines: their wording is a contract."""
    lines = ["IMPORTANT COMPLETION CRITERIA:", f"- Maximum iterations allowed: {limit}"]
    for phrase in phrases:
        reached = "you have seen every criterion hold" if len(phrases) == 1 else f"the stage {phrase} is reached"
        lines.append(f"- When {reached}, and only then, output exactly: <promise>{phrase}</promise>")
    if phrases:
        lines.append("- That is a claim: aigon runs everything again either way, and records it as kept or broken.")
    return "\n".join(lines)


def describe_decision(criterion: Criterion, checks: Sequence[Check], judge: str) -> str:
    """What decides a criterion, in a phrase for people. `judge` names the judge; empty or `none` is none."""
    command = fold(criterion.command or "", 500)
    match criterion.kind:
        case "verify":
            return f"runs {code_span(command, 500)}, must exit 0"
        case "metric":
            return _metric(command)
        case "check":
            return _bound_to(command, checks)
        case "judge" if judge not in ("", "none"):
            return f"judge: {judge}"
        case "judge":
            return "a person (`aigon approve`), because there is no judge"
        case "human":
            return "a person (`aigon approve`)"


def _metric(command: str) -> str:
    bound = _BOUND.fullmatch(command)
    if bound is None:
        return f"runs {code_span(command, 500)}, its number decides"
    return f"runs {code_span(bound[1], 500)}, its number must be {bound[2]} {bound[3]}"


def _bound_to(name: str, checks: Sequence[Check]) -> str:
    found = find_bound_checks(name, {c.name: c.role for c in checks})
    if not found:
        return "no such check; unclear"
    return f"check{'s' if len(found) > 1 else ''} {', '.join(code_span(n, 80) for n in found)} must be green"


def _filled(template: str, values: Mapping[str, str]) -> str:
    """A line that holds only a placeholder goes, with the empty line after it, when there is nothing to say."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[3]
        if name not in values:
            known = ", ".join(f"{{{{{known}}}}}" for known in values)
            raise usage(
                f"The prompt template has an unknown placeholder {match[0].strip()}", hint=f"Known are {known}."
            )
        return values[name] + (match[2] or "") if values[name] else ""

    return _PLACEHOLDER.sub(value, template)


def _criteria(criteria: Sequence[Criterion], verdicts: Sequence[Verdict], checks: Sequence[Check], judge: str) -> str:
    standing = {v.criterion: VERDICT_WORDS[v.status] for v in verdicts}
    lines = [
        f"{c.number}. [{standing.get(c.number, 'not assessed')}] {fold(c.text, 1000)}\n"
        f"   decided by: {describe_decision(c, checks, judge)}"
        for c in criteria
    ]
    return code_block("\n".join(lines))


def _checks(checks: Sequence[Check], skipped: bool) -> str:
    if skipped:
        return "Validation is skipped in this run: none runs but the commands of the criteria. Run the project's own."
    if not checks:
        return "None that aigon knows of: the criteria alone decide."
    return code_block("\n".join(_check(c) for c in checks))


def _check(check: Check) -> str:
    facts = [f"in {check.cwd}"] if check.cwd != "." else []
    facts += ["at the end only"] if check.when == "final" else []
    facts += [f"cannot run: {check.missing} is missing"] if check.missing else []
    return f"{fold(check.title, 80)}: {_command(check.argv)}" + (f" ({fold(', '.join(facts))})" if facts else "")


def _command(argv: Sequence[str]) -> str:
    """The command as a person would type it: without the report that only aigon reads."""
    kept: list[str] = []
    for word in argv:
        if "{report}" not in word:
            kept.append(word)
        elif word == "{report}" and kept and kept[-1].startswith("-"):
            kept.pop()
    return fold(shlex.join(kept), 500)
