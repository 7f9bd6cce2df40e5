"""The result of compiling a spec, for people and for programs."""

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from aigon.compile.model import ModelProposals
from aigon.compile.proposals import Proposal
from aigon.journal.spending import format_cost
from aigon.model.criteria import Criterion, Spec
from aigon.spec.document import render_comment
from aigon.spec.features import Feature
from aigon.text.quoting import clean, fold

TrialStatus = Literal["red", "green", "error", "not run"]
VACUOUS = "passes already, so it cannot show that the feature was built"
_LONGEST_TEXT = 160
"""Characters of a criterion that are shown: the spec is at hand."""


class TrialResult(Struct, frozen=True):
    """The result of a proof before the feature is built: `base` as `--json` has it, `detail` in words."""

    base: TrialStatus = "not run"
    detail: str = ""


class CompiledCriterion(Struct, frozen=True):
    """One criterion: how it is decided now, what is proposed (None if it is annotated), and what that shows now."""

    criterion: Criterion
    proposal: Proposal | None
    trial: TrialResult = TrialResult()
    note: str = ""

    @property
    def vacuous(self) -> bool:
        """True if its proof passes before anything is built: it cannot show that the feature was."""
        return self.trial.base == "green"

    @property
    def writable(self) -> bool:
        """True if there is something to write: a judge needs no annotation, and what does not run proves nothing."""
        return self.proposal is not None and self.proposal.kind != "judge" and self.trial.base != "error"

    def taken_by_yes(self, named: Sequence[int]) -> bool:
        """Return whether `--yes` takes it; a guess only if the person named its number."""
        if not self.writable or self.vacuous or self.proposal is None:
            return False
        ran = self.proposal.kind == "human" or self.trial.base == "red"
        return ran and (self.proposal.confidence != "guess" or self.criterion.number in named)


class Compilation(Struct, frozen=True):
    """All that was asked for. `model` is None if no judge's model was asked."""

    feature: Feature
    spec: Spec
    rows: tuple[CompiledCriterion, ...]
    model: ModelProposals | None


def encode_compilation(compilation: Compilation, written: Sequence[int]) -> dict[str, object]:
    """Return everything as data."""
    model = compilation.model
    return {
        "feature_id": compilation.feature.id,
        "spec": compilation.feature.path,
        "model": model
        and {
            "judge": model.backend,
            "model": model.name,
            "cost_usd": model.answer.cost,
            "cost_status": model.answer.cost_status,
            "failure": model.answer.failure,
        },
        "criteria": [_encode_criterion(row) for row in compilation.rows],
        "written": list(written),
    }


def _encode_criterion(row: CompiledCriterion) -> dict[str, object]:
    proposal = row.proposal
    return {
        "number": row.criterion.number,
        "text": row.criterion.text,
        "kind": row.criterion.kind,
        "command": row.criterion.command,
        "proposal": {"kind": proposal.kind, "command": proposal.command} if proposal else None,
        "reason": proposal.reason if proposal else "",
        "confidence": proposal.confidence if proposal else None,
        "by": proposal.by if proposal else None,
        "base": row.trial.base,
        "detail": row.trial.detail,
        "vacuous": row.vacuous,
        "note": row.note,
    }


def render_compilation(compilation: Compilation) -> str:
    """Return a paragraph for each criterion: its text, what is proposed and why, and what that shows now."""
    head = f"{fold(compilation.spec.title) or compilation.feature.name_for_people}  ({compilation.feature.path})"
    rows = [line for row in compilation.rows for line in ("", *_render_criterion(row))]
    source, model = "Proposed by plain rules: no judge's model was asked.", compilation.model
    if model:
        asked = f"{model.backend} ({model.name}), cost {format_cost(model.answer.cost, model.answer.cost_status)}"
        source = f"Proposed by {asked}; by plain rules where it says so."
        if failure := fold(model.answer.failure):
            source = f"Proposed by plain rules, because {asked}, gave no proposals: {failure}"
    return "\n".join([head, source, *rows])


def render_question(row: CompiledCriterion) -> str:
    """Return the criterion and what would be written behind it, for a question."""
    return "\n".join(["", *_render_proposal(row)])


def _render_criterion(row: CompiledCriterion) -> Iterator[str]:
    yield from _render_proposal(row)
    if row.proposal and row.proposal.kind != "judge":
        by = ", by plain rules" if row.note and row.proposal.by == "rules" else ""
        yield f"     why: {row.proposal.confidence}{by}: {clean(row.proposal.reason)}"
    if row.note and row.note not in (row.proposal.reason if row.proposal else ""):
        yield f"     note: {clean(row.note)}"


def _render_proposal(row: CompiledCriterion) -> Iterator[str]:
    criterion, proposal, trial = row.criterion, row.proposal, row.trial
    yield f"{criterion.number:3}. {fold(criterion.text, _LONGEST_TEXT)}"
    if proposal is None:
        yield f"     as it is: {criterion.kind}{f': {criterion.command}' if criterion.command else ''}"
    elif proposal.kind == "judge":
        yield f"     Keep as judge: {clean(proposal.reason)}."
    else:
        yield f"     propose: {render_comment(proposal.annotation)}"
    if trial.base != "not run" or trial.detail:
        detail = fold(trial.detail)
        words = {"green": VACUOUS, "red": "fails now, so it can show the feature", "error": "it does not run"}
        yield f"     now: {f'{words[trial.base]} ({detail})' if trial.base in words else f'not run: {detail}'}"
