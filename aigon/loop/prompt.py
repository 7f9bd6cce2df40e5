"""The prompt of one iteration: what to build, what is open, how it is decided, what went wrong, and the rules."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence

from aigon.errors import usage
from aigon.job.assessment import is_hollow
from aigon.job.job import Job
from aigon.job.world import World
from aigon.journal.memory import render_memory, render_setbacks
from aigon.journal.state import State
from aigon.journal.tasks import MOST_IN_PROGRESS
from aigon.model.checks import Check
from aigon.model.criteria import VERDICT_WORDS, Criterion, Verdict, find_bound_checks, narrow_to_stage
from aigon.spec.annotation import DECISION_RULES, read_expectation
from aigon.spec.document import leave_out_criteria
from aigon.text.patterns import compile_re
from aigon.text.quoting import code_block, code_span, fold

ACCEPTED_TASK = (
    "Every criterion passes already, and has to keep passing: the spec asks for a change that the criteria do not "
    "show, such as a refactoring. Make the change that the spec describes. A turn that changes no file ends the run."
)
MEMORY_TOKENS = 1_500
"""Estimated tokens of what a prompt says of earlier turns."""
_PLACEHOLDER = compile_re(r"(?m)^\{\{(\w+)\}\}(\n{1,2}|\Z)|\{\{(\w+)\}\}")


def render_prompt(job: Job, world: World, state: State, number: int) -> str:
    """Return what the agent of iteration `number` is told."""
    look = state.last
    digest = look.feedback if look else ""
    if look and job.demand.accept_passing and is_hollow(job.demand, look, worked=True):
        digest = f"{ACCEPTED_TASK}\n\n{digest}"  # the feedback alone would say that there is nothing to do
    memory = render_memory(state.tried.all, MEMORY_TOKENS, job.earlier)
    return fill_template(
        job,
        number,
        find_last_number(job, state, number),
        verdicts=look.verdicts if look else (),
        digest=digest,
        logs=str(world.iteration_folder(look.number) if look else world.folder),
        approach="\n\n".join(filter(None, (render_setbacks(state, number), _render_skips(state)))),
        memory=f"## What was tried\n\n{memory}" if memory else "",
    )


def _render_skips(state: State) -> str:
    """Return a section on the criteria that agents left to a person, as far as they are open; "" for none."""
    remaining = {v.criterion for v in state.last.verdicts if v.status != "met"} if state.last else set()
    lines = [
        f"- Criterion {number}: {code_span(reason, 200) or 'no reason given'}"
        for number, reason in sorted(state.requests.skips.items())
        if number in remaining
    ]
    what = "A turn before yours left these criteria to a person. Work on the others first."
    return "\n".join(["## Left to a person", "", what, "", *lines]) if lines else ""


def list_first_criteria(job: Job, state: State) -> tuple[int, ...]:
    """Return the first open criteria of the current stage: what the agent of the next turn is taken to work on.

    Those that were left to a person come last.
    """
    verdicts = state.last.verdicts if state.last else ()
    passed = {verdict.criterion for verdict in verdicts if verdict.status == "met"}
    stage = [c.number for c in narrow_to_stage(job.spec, verdicts)[0].criteria if c.number not in passed]
    return tuple(sorted(stage, key=lambda number: number in state.requests.skips)[:MOST_IN_PROGRESS])


def find_last_number(job: Job, state: State, number: int) -> int:
    """Return the number of the last iteration that this invocation may reach; `number` is that of the next one."""
    return number - 1 - state.used + job.limits.iterations


def fill_template(
    job: Job,
    number: int,
    limit: int,
    *,
    verdicts: Sequence[Verdict] = (),
    digest: str = "",
    logs: str = "",
    approach: str = "",
    memory: str = "",
) -> str:
    """Return the job's template with its placeholders filled in, each once: a value never holds a placeholder.

    `limit` is the number of the last iteration that this invocation may reach, `logs` the folder with the whole output
    of the last assessment; `approach` and `memory` are sections about earlier turns. Raises a usage error that names an
    unknown placeholder.
    """
    spec, phrase = narrow_to_stage(job.spec, verdicts)
    stages = {stage.promise for stage in spec.settings.stages}
    final = tuple(phrase for phrase in job.promises if phrase not in stages)
    whole = spec.raw if spec == job.spec else leave_out_criteria(job.spec, {c.number for c in spec.criteria})
    skipped, judge = job.demand.skip_validation, job.judge.backend if job.judge else "none"
    results = {v.criterion: VERDICT_WORDS[v.status] for v in verdicts}
    criteria = [
        f"{c.number}. [{results.get(c.number, 'not assessed')}] {fold(c.text, 1000)}"
        + ("" if job.scope else f"\n   decided by: {describe_decision(c, () if skipped else job.checks, judge)}")
        for c in spec.criteria
    ]
    values = {
        "NUMBER": str(number),
        "LIMIT": str(limit),
        "SPEC": code_block(whole.decode("utf-8", "replace"), "markdown"),
        "SPEC_PATH": code_span(job.spec_path, 1000),
        "CRITERIA": code_block("\n".join(criteria)),
        "SCOPE": job.scope,
        "CHECKS": _list_checks(job.checks, skipped=skipped),
        "APPROACH": approach.strip(),
        "MEMORY": memory.strip(),
        "PROMISE": _render_completion((phrase,) if phrase else final, limit, stage=bool(phrase)),
        "DIGEST": f"## What the last assessment found\n\n{digest.strip()}" if digest.strip() else "",
        "LOGS": f"The whole output of the last assessment is in {code_span(logs, 1000)}."
        if logs and logs not in digest
        else "",
    }
    return _replace_placeholders(job.template, values).rstrip("\n") + "\n"


def _render_completion(phrases: Sequence[str], limit: int, *, stage: bool) -> str:
    """Return how an agent says that it is done. Executors parse these lines: their wording is a contract."""
    lines = ["IMPORTANT COMPLETION CRITERIA:", f"- Maximum iterations allowed: {limit}"]
    whole = len(phrases) == 1 and not stage
    for phrase in phrases:
        reached = "you have seen every criterion hold" if whole else f"the stage {phrase} is reached"
        lines.append(f"- When {reached}, and only then, output exactly: <promise>{phrase}</promise>")
    if phrases:
        lines.append("- That is a claim: aigon runs everything again either way, and records it as kept or broken.")
    return "\n".join(lines)


def describe_decision(criterion: Criterion, checks: Sequence[Check], judge: str) -> str:
    """Return what decides a criterion, in a phrase for people. `judge` is its name; empty or `none` for no judge."""
    command = fold(criterion.command or "", 500)
    if expected := read_expectation(criterion.kind, criterion.command):
        rule = DECISION_RULES[criterion.kind]
        wanted = expected.wanted
        if criterion.kind == "prints":
            wanted = code_span(json.dumps(wanted, ensure_ascii=False) if "\n" in wanted else wanted, 500) or "nothing"
        return f"runs {code_span(expected.script, 500)}, {rule.demand.format(symbol=expected.symbol, wanted=wanted)}"
    match criterion.kind:
        case "check":
            names = find_bound_checks(command, {check.name: check.role for check in checks})
            if not names:
                return "no such check; unclear"
            return f"check{'s' if len(names) > 1 else ''} {', '.join(code_span(n, 80) for n in names)} must pass"
        case "hidden":
            return "a test that you do not see"
        case "judge" if judge not in ("", "none"):
            return f"judge: {judge}"
        case "judge":
            return "a person (`aigon approve`), because there is no judge"
        case _:
            return "a person (`aigon approve`)"


def _replace_placeholders(template: str, values: Mapping[str, str]) -> str:
    """Replace them. A line that holds only a placeholder without a value goes, with the empty line after it."""

    def get_value(match: re.Match[str]) -> str:
        name = match[1] or match[3]
        if name not in values:
            known = ", ".join(f"{{{{{known}}}}}" for known in values)
            what = f"The prompt template has an unknown placeholder {match[0].strip()}"
            raise usage(what, hint=f"Known are {known}.")
        return values[name] + (match[2] or "") if values[name] else ""

    return _PLACEHOLDER.sub(get_value, template)


def _list_checks(checks: Sequence[Check], *, skipped: bool) -> str:
    if skipped:
        return "Validation is skipped in this run: none runs but the commands of the criteria. Run the project's own."
    if not checks:
        return "None that aigon knows of: the criteria alone decide."
    return code_block("\n".join(_describe_check(check) for check in checks))


def _describe_check(check: Check) -> str:
    facts = [f"in {check.cwd}"] if check.cwd != "." else []
    facts += ["at the end only"] if check.when == "final" else []
    facts += [f"cannot run: {check.missing} is missing"] if check.missing else []
    words: list[str] = []  # as a person would type them: without the report that only aigon reads
    for word in check.argv:
        if "{report}" not in word:
            words.append(word)
        elif word == "{report}" and words and words[-1].startswith("-"):
            words.pop()
    command = fold(shlex.join(words), 500)
    return f"{fold(check.title, 80)}: {command}" + (f" ({fold(', '.join(facts))})" if facts else "")
