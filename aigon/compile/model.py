"""Ask the judge's model for proposals in one call. What is malformed in its answer falls back to plain rules."""

import json
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, ValidationError, convert

from aigon.compile.proposals import Confidence, Proposal, Surroundings
from aigon.compile.safety import LONGEST, find_edit, find_flaw
from aigon.files.resources import read_prompt
from aigon.judge.backends import ask_redacted
from aigon.judge.question import make_question
from aigon.judge.reply import StrictModel
from aigon.model.criteria import Criterion, CriterionKind, find_bound_checks
from aigon.model.judging import JudgeAnswer, JudgeQuestion
from aigon.run.prepare import Prepared
from aigon.spec.expectation import read_expectation
from aigon.text.quoting import code_block, fold

_LONGEST_REASON = 300
"""Characters of a reason that are kept."""
_MOST_FILES = 300
_LONGEST_SPEC = 20_000


class ModelProposal(StrictModel, frozen=True):
    """A model's proposal for one criterion; `command` is empty for a judge and a person."""

    criterion: int
    kind: CriterionKind
    command: str
    reason: str
    confidence: Confidence


class ModelReply(StrictModel, frozen=True):
    """The reply that is asked for."""

    proposals: list[ModelProposal]


class ModelProposals(Struct, frozen=True):
    """The usable part of a model's answer, who was asked, and why the rest is unusable; `answer` says what it cost."""

    backend: str
    name: str
    answer: JudgeAnswer
    proposals: Mapping[int, Proposal]
    wrong: Mapping[int, str]


def ask_model(
    prepared: Prepared,
    criteria: Sequence[Criterion],
    plain: Mapping[int, Proposal],
    around: Surroundings,
    say: Callable[[str], None],
) -> ModelProposals | None:
    """Ask the configured judge; None without one. A failure is in the answer and never raised."""
    settings = prepared.judge
    if settings is None:
        return None
    say(f"Asking {settings.backend} ({settings.model}) for proposals ...")
    spec = prepared.spec.raw.decode("utf-8", "replace")
    answer = ask_redacted(build_question(spec, criteria, plain, around), settings, prepared.env)
    proposals, wrong = ({}, {}) if answer.failure else read_answer(answer.text, criteria, around)
    return ModelProposals(settings.backend, settings.model, answer, proposals, wrong)


def build_question(
    spec: str, criteria: Sequence[Criterion], plain: Mapping[int, Proposal], around: Surroundings
) -> JudgeQuestion:
    """Return one question about all of these criteria. `plain` is what the rules propose, to be bettered."""
    checks = [f"{name} ({role}): {around.shown.get(name, '')}" for name, role in around.checks.items()]
    files = list(around.files[:_MOST_FILES])
    shared = (
        "The spec:",
        code_block(spec[:_LONGEST_SPEC], "markdown"),
        "The project's checks:",
        code_block("\n".join(checks) or "none"),
        f"Its files ({len(files)} of {len(around.files)}):",
        code_block("\n".join(files)),
    )
    ruled = {number: f"{p.kind}: {p.command}" if p.command else p.kind for number, p in plain.items()}
    listed = [f"{c.number}. {fold(c.text, 1000)}\n   plain rules: {ruled[c.number]}" for c in criteria]
    (rules,) = read_prompt("propose", LONGEST=LONGEST)
    data = {
        "spec": spec[:_LONGEST_SPEC],
        "criteria": [{"number": c.number, "text": c.text, "plain": ruled[c.number]} for c in criteria],
        "checks": dict(around.shown),
        "files": files,
    }
    task = "Propose for each of these criteria, by its number:\n\n" + code_block("\n".join(listed))
    return make_question("propose", rules, "\n\n".join(shared), task, ModelReply, data)


def read_answer(
    text: str, criteria: Sequence[Criterion], around: Surroundings
) -> tuple[dict[int, Proposal], dict[int, str]]:
    """Return the proposals by criterion, and for each of `criteria` without a usable one the reason why."""
    numbers = {criterion.number for criterion in criteria}
    try:
        items = json.loads(text)["proposals"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return {}, dict.fromkeys(numbers, "the model's answer is not in the format that was asked for")
    proposals: dict[int, Proposal] = {}
    wrong: dict[int, str] = {}
    for item in items if isinstance(items, list) else ():
        number = item.get("criterion") if isinstance(item, dict) else None
        if type(number) is not int or number not in numbers:
            continue
        if number in proposals or number in wrong:
            proposals.pop(number, None)
            wrong[number] = "the model proposed more than one thing"
        elif isinstance(proposal := _read_proposal(item, around), str):
            wrong[number] = proposal
        else:
            proposals[number] = proposal
    left_out = numbers - proposals.keys() - wrong.keys()
    return proposals, {**wrong, **dict.fromkeys(left_out, "the model proposed nothing usable")}


def _read_proposal(item: Mapping[str, object], around: Surroundings) -> Proposal | str:
    """Return the proposal, or why it cannot be one."""
    try:
        said = convert({key: item.get(key) for key in ModelProposal.__struct_fields__}, ModelProposal)
    except ValidationError:
        return "the model's proposal is malformed"
    command = "" if said.kind in ("judge", "human") else said.command.strip()
    reason = fold(said.reason, _LONGEST_REASON) or "the model gave no reason"
    if said.kind not in ("judge", "human") and (why := _find_fault(said.kind, command, around)):
        return f"the model proposed `{fold(command, 100)}`, and {why}"
    return Proposal(said.kind, command or None, reason, said.confidence, "judge")


def _find_fault(kind: CriterionKind, command: str, around: Surroundings) -> str:
    if flaw := find_flaw(command):
        return flaw
    if kind == "check":
        return "" if find_bound_checks(command, around.checks) else "this project has no check of that name"
    try:
        expected = read_expectation(kind, command)
    except ValueError as error:
        return f"it {error}"
    edit = find_edit(expected.script) if expected else ""
    return f"it edits: {edit}" if edit else ""
