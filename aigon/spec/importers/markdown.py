"""A Markdown file with acceptance criteria or boxes."""

from collections.abc import Iterator, Mapping

from aigon.model.imported import ImportedCriterion, ImportedSpec
from aigon.spec.importers._reading import (
    ACCEPTANCE,
    Block,
    count_unused,
    find_accepted,
    find_summary,
    find_title,
    join_item,
    read_outline,
)
from aigon.text.patterns import compile_re

TITLE = "Markdown"
FILES = compile_re(r".*\.(?:md|markdown)")


def read(texts: Mapping[str, str]) -> Iterator[ImportedSpec]:
    """Yield the file as one feature."""
    ((_, text),) = texts.items()
    yield read_markdown(text, texts)


def read_markdown(text: str, original: Mapping[str, str], *summary: str) -> ImportedSpec:
    """Return the items below "Acceptance criteria", or every box if there is no such place, as criteria.

    `summary` are headings below which the summary may stand.
    """
    blocks = read_outline(text)
    chosen = find_accepted(blocks)
    joined = {index: join_item(blocks, index) for index in chosen}
    joined = joined or {index: block.text for index, block in enumerate(blocks) if block.is_box}
    title = find_title(blocks)
    criteria = [ImportedCriterion(item, _find_group(blocks[index], title)) for index, item in joined.items()]
    left = count_unused(blocks, joined)
    return ImportedSpec(title, tuple(criteria), original, find_summary(blocks, *summary), left=left)


def _find_group(block: Block, title: str) -> str:
    """Return the heading over an item, unless it says no more than that these are criteria."""
    return "" if block.section == title or ACCEPTANCE.match(block.section) else block.section
