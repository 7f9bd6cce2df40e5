"""spec-kit: `specs/001-name/spec.md` with `FR-001` and `SC-001`, `plan.md` and `tasks.md` beside it."""

import re
from collections.abc import Iterator, Mapping

from aigon.model.imported import ImportedCriterion, ImportedSpec
from aigon.spec.importers._reading import (
    count_steps,
    count_unused,
    find_accepted,
    find_summary,
    find_title,
    join_item,
    read_outline,
)
from aigon.text.patterns import compile_re

TITLE = "spec-kit"
FILES = compile_re(r"(?!.*openspec/)(?:.*/)?spec\.md")
BESIDE = ("plan.md", "tasks.md")
_DEMAND = compile_re(r"\[?[A-Z]{2,5}-\d+[a-z]?\b|Given\b")
_HEAD = compile_re(r"Feature (?:Specification|Spec)\s*:\s*", re.IGNORECASE)
_INPUT = compile_re(r".*?User description:\s*")
_OPEN = compile_re(r"\[NEEDS CLARIFICATION:?\s*([^\]]*)\]")


def read(texts: Mapping[str, str]) -> Iterator[ImportedSpec]:
    """Yield the feature: requirements, success criteria and acceptance scenarios are its criteria."""
    main, *others = texts
    blocks = read_outline(texts[main])
    accepted = set(find_accepted(blocks))
    chosen = [
        index
        for index, block in enumerate(blocks)
        if block.kind == "item" and block.depth == 1 and (index in accepted or _DEMAND.match(block.text))
    ]
    criteria = [ImportedCriterion(join_item(blocks, index), blocks[index].section) for index in chosen]
    left = count_unused(blocks, chosen) | {path.rpartition("/")[2]: count_steps(texts[path]) for path in others}
    summary = _INPUT.sub("", find_summary(blocks, "summary", "overview"), count=1).strip('"')
    title = _HEAD.sub("", find_title(blocks))
    yield ImportedSpec(title, tuple(criteria), texts, summary, tuple(_OPEN.findall(texts[main])), left)
