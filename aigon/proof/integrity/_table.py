"""A table of answers, wherever a file has it."""

from dataclasses import dataclass, field
from typing import Any

from aigon.proof.integrity._atoms import Atoms, atoms
from aigon.proof.integrity._fold_calls import UNKNOWN


@dataclass(slots=True)
class Table:
    """Input and answer, one after the other, for every row. `line` is where it begins."""

    line: int
    text: str
    rows: set[Atoms] = field(default_factory=set)
    size: int = 0

    def add(self, *values: Any) -> None:
        """One row; what is not known from the text counts towards the size alone."""
        self.size += 1
        if not any(value is UNKNOWN for value in values):
            self.rows.add(tuple(part for value in values for part in atoms(value)))
