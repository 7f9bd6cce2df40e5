"""A spec that another tool wrote, as an importer reads it. Every text in it is a stranger's."""

from collections.abc import Mapping

from msgspec import Struct, field


class ImportedCriterion(Struct, frozen=True):
    """One criterion: the heading that it belongs under, and what its author would run (`verify: make`), if anything."""

    text: str
    group: str = ""
    annotation: str = ""


class ImportedSpec(Struct, frozen=True):
    """One feature. `original` has the texts that it was read from, by name.

    `questions` are those that the text itself leaves open, `left` counts by name what became no criterion. `source` is
    its address, "" for the path that was imported.
    """

    title: str
    criteria: tuple[ImportedCriterion, ...]
    original: Mapping[str, str]
    summary: str = ""
    questions: tuple[str, ...] = ()
    left: Mapping[str, int] = field(default_factory=dict)
    source: str = ""
