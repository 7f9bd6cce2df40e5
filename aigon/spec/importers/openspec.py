"""OpenSpec: a change below `openspec/changes/`, with a proposal and, per capability, requirements with scenarios."""

import re
from collections.abc import Iterator, Mapping, Sequence

from aigon.model.imported import ImportedCriterion, ImportedSpec
from aigon.spec.importers._reading import (
    Block,
    count_steps,
    count_unused,
    find_summary,
    find_title,
    join_item,
    read_outline,
)
from aigon.text.patterns import compile_re

TITLE = "OpenSpec"
_PROPOSAL = "proposal.md"
_BESIDE = compile_re(r"tasks\.md|design\.md|specs/(?:.*/)?spec\.md")
_HEAD = compile_re(r"(?:Change|Proposal)(?: Proposal)?\s*:\s*", re.IGNORECASE)
_REQUIREMENT = compile_re(r"Requirement\s*:\s*(.*)", re.IGNORECASE)
_SCENARIO = compile_re(r"Scenario\s*:\s*(.*)", re.IGNORECASE)
_REMOVED = compile_re(r"REMOVED\b")


def find(paths: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield each change. Archived ones are built already: they count only if their own folder is imported."""
    changes = [path.removesuffix(_PROPOSAL) for path in paths if path.rpartition("/")[2] == _PROPOSAL]
    is_archive = all("/archive/" in f"/{folder}" for folder in changes)
    for folder in changes:
        if is_archive or "/archive/" not in f"/{folder}":
            beside = (path for path in paths if path.startswith(folder) and _BESIDE.fullmatch(path[len(folder) :]))
            yield folder + _PROPOSAL, *beside


def read(texts: Mapping[str, str]) -> Iterator[ImportedSpec]:
    """Yield the change as a feature: each scenario is a criterion, and each requirement without one."""
    main, *others = texts
    blocks = read_outline(texts[main])
    left = count_unused(blocks, ())
    criteria: list[ImportedCriterion] = []
    for path in others:
        if path.endswith("/spec.md"):
            outline = read_outline(texts[path])
            criteria += _read_requirements(outline)
            left += count_unused(outline, [i for i, b in enumerate(outline) if _SCENARIO.match(b.section)])
        else:
            left[path.rpartition("/")[2]] = count_steps(texts[path])
    title = _HEAD.sub("", find_title(blocks))
    if title.casefold() in ("", "why", "summary", "proposal"):
        title = main.removesuffix(f"/{_PROPOSAL}").rpartition("/")[2].replace("-", " ").capitalize()
    yield ImportedSpec(title, tuple(criteria), texts, find_summary(blocks, "why", "summary"), left=left)


def _read_requirements(blocks: Sequence[Block]) -> Iterator[ImportedCriterion]:
    """Yield the criteria of one capability, grouped by requirement."""
    for index, block in enumerate(blocks):
        if block.kind != "heading":
            continue
        below = _list_below(blocks, index)
        if scenario := _SCENARIO.match(block.text):
            steps = "; ".join(below)
            yield ImportedCriterion(f"{scenario[1]}: {steps}" if steps else scenario[1], _name(block.section))
        elif requirement := _REQUIREMENT.match(block.text):
            following = next((b for b in blocks[index + 1 :] if b.kind == "heading"), None)
            if any(map(_REMOVED.match, block.above)):
                yield ImportedCriterion(f"Removed: {requirement[1]}", requirement[1])
            elif not (following and _SCENARIO.match(following.text)):
                yield ImportedCriterion(" ".join(below) or requirement[1], requirement[1])


def _list_below(blocks: Sequence[Block], index: int) -> list[str]:
    """Return what stands below a heading, up to the next."""
    texts = []
    for at in range(index + 1, len(blocks)):
        if blocks[at].kind == "heading":
            break
        if blocks[at].depth < 2 and not (blocks[at].kind == "text" and blocks[at].depth):
            texts.append(join_item(blocks, at) if blocks[at].kind == "item" else blocks[at].text)
    return texts


def _name(heading: str) -> str:
    match = _REQUIREMENT.match(heading)
    return match[1] if match else heading
