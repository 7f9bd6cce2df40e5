"""What was proposed, for people and for programs."""

from collections.abc import Iterator, Sequence

from aigon.compile.compiled import Compilation, Row
from aigon.compile.model_call import Model
from aigon.compile.proposals import Proposal
from aigon.journal.spending import format_cost
from aigon.model.criteria import Criterion
from aigon.spec.document import render_comment
from aigon.text.quoting import clean, fold

VACUOUS = "passes already, so it cannot show that the feature was built"
_TEXT = 160
"""Characters of a criterion that are shown: the spec is at hand."""


def document(compilation: Compilation, written: Sequence[int]) -> dict[str, object]:
    """Everything as data."""
    return {
        "feature_id": compilation.feature.id,
        "spec": compilation.feature.path,
        "model": _model(compilation.model),
        "criteria": [_criterion(row) for row in compilation.rows],
        "written": list(written),
    }


def _model(model: Model | None) -> dict[str, object] | None:
    if model is None:
        return None
    answer = model.answer
    return {
        "judge": model.backend,
        "model": model.name,
        "cost_usd": answer.cost,
        "cost_status": answer.cost_status,
        "failure": answer.failure,
    }


def _criterion(row: Row) -> dict[str, object]:
    made = row.proposal
    return {
        "number": row.criterion.number,
        "text": row.criterion.text,
        "kind": row.criterion.kind,
        "command": row.criterion.command,
        "proposal": {"kind": made.kind, "command": made.command} if made else None,
        "reason": made.reason if made else "",
        "confidence": made.confidence if made else None,
        "by": made.by if made else None,
        "base": row.standing.base,
        "detail": row.standing.detail,
        "vacuous": row.vacuous,
        "note": row.note,
    }


def text(compilation: Compilation) -> str:
    """A paragraph for each criterion: what it says, what is proposed, how that stands now, and why it is proposed."""
    head = f"{fold(compilation.spec.title) or compilation.feature.name_for_people}  ({compilation.feature.path})"
    rows = [line for row in compilation.rows for line in ("", *_row(row))]
    return "\n".join([head, _source(compilation), *rows])


def asked_about(row: Row) -> str:
    """The criterion and what would be written behind it, for a question."""
    return "\n".join(["", _title(row.criterion), *_proposed(row)])


def _source(compilation: Compilation) -> str:
    model = compilation.model
    if model is None:
        return "Proposed by plain rules: no judge's model was asked."
    cost = format_cost(model.answer.cost, model.answer.cost_status)
    asked = f"{model.backend} ({model.name}), cost {cost}"
    if model.answer.failure:
        return f"Proposed by plain rules, because {asked}, gave no proposals: {fold(model.answer.failure)}"
    return f"Proposed by {asked}; by plain rules where it says so."


def _row(row: Row) -> Iterator[str]:
    yield _title(row.criterion)
    yield from _proposed(row)
    if row.proposal and row.proposal.kind != "judge":
        by = ", by plain rules" if row.note and row.proposal.by == "rules" else ""
        yield f"     why: {row.proposal.confidence}{by}: {clean(row.proposal.reason)}"
    if row.note and row.note not in (row.proposal.reason if row.proposal else ""):
        yield f"     note: {clean(row.note)}"


def _proposed(row: Row) -> Iterator[str]:
    yield f"     {_how(row.proposal, row.criterion)}"
    if row.standing.base != "not run" or row.standing.detail:
        yield f"     now: {_now(row)}"


def _title(criterion: Criterion) -> str:
    return f"{criterion.number:3}. {fold(criterion.text, _TEXT)}"


def _how(made: Proposal | None, criterion: Criterion) -> str:
    if made is None:
        now = f"{criterion.kind}: {criterion.command}" if criterion.command else criterion.kind
        return f"as it is: {now}"
    if made.kind == "judge":
        return f"Keep as judge: {clean(made.reason)}."
    return f"propose: {render_comment(made.annotation)}"


def _now(row: Row) -> str:
    detail = fold(row.standing.detail)
    match row.standing.base:
        case "green":
            return f"{VACUOUS} ({detail})"
        case "red":
            return f"red, so it can show the feature ({detail})"
        case "error":
            return f"it does not run ({detail})"
        case "not run":
            return f"not run: {detail}"
