"""What came of compiling a spec: for each criterion a proposal, and how its proof stands now."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from aigon.compile.model_call import Model
from aigon.compile.proposals import Proposal
from aigon.compile.standing import Standing
from aigon.model.criteria import Criterion, Spec
from aigon.spec.features import Feature


@dataclass(frozen=True, slots=True)
class Row:
    """One criterion: how it is decided now, what is proposed (None where it has an annotation), how that stands."""

    criterion: Criterion
    proposal: Proposal | None
    standing: Standing = field(default_factory=Standing)
    note: str = ""

    @property
    def vacuous(self) -> bool:
        """Its proof is green before anything is built: it cannot show that the feature was."""
        return self.standing.base == "green"

    @property
    def writable(self) -> bool:
        """There is something to write: the judge decides without an annotation too, and errors prove nothing."""
        return self.proposal is not None and self.proposal.kind != "judge" and self.standing.base != "error"

    def taken_by_yes(self, named: Sequence[int]) -> bool:
        """Whether `--yes` takes it; a guess only where the person named its number."""
        if not self.writable or self.vacuous or self.proposal is None:
            return False
        ran = self.proposal.kind == "human" or self.standing.base == "red"
        return ran and (self.proposal.confidence != "guess" or self.criterion.number in named)


@dataclass(frozen=True, slots=True)
class Compilation:
    """What was found. `source` says who proposed, `cost` what it cost; `notes` are for people."""

    feature: Feature
    spec: Spec
    rows: tuple[Row, ...]
    model: Model | None
    notes: tuple[str, ...] = ()

    def row(self, number: int) -> Row:
        """The row of a criterion."""
        return next(row for row in self.rows if row.criterion.number == number)
