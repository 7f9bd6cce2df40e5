"""Kiro: `.kiro/specs/name/requirements.md` with numbered EARS sentences, `design.md` and `tasks.md` beside it."""

from collections.abc import Iterator, Mapping, Sequence

from aigon.model.imported import ImportedCriterion, ImportedSpec
from aigon.spec.importers._reading import count_steps, count_unused, find_summary, join_item, read_outline
from aigon.text.patterns import compile_re

TITLE = "Kiro"
_MAIN = compile_re(r"(?:.*/)?(?<!checklists/)requirements\.md")
_BESIDE = ("design.md", "tasks.md")
_REQUIREMENT = compile_re(r"\D*(\d+(?:\.\d+)*)\b.*")


def find(paths: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield each `requirements.md` with its design and its tasks."""
    known = set(paths)
    for path in filter(_MAIN.fullmatch, paths):
        folder = path.removesuffix("requirements.md")
        beside = [folder + name for name in _BESIDE if folder + name in known]
        if beside or ".kiro/" in path:
            yield path, *beside


def read(texts: Mapping[str, str]) -> Iterator[ImportedSpec]:
    """Yield the feature: each numbered sentence below a numbered requirement is a criterion, in whatever language."""
    main, *others = texts
    blocks = read_outline(texts[main])
    chosen: dict[int, ImportedCriterion] = {}
    for index, block in enumerate(blocks):
        if block.kind != "item" or not block.number or block.depth != 1:
            continue
        for title in reversed(block.above):
            if match := _REQUIREMENT.fullmatch(title):
                number = f"{match[1]}.{block.number}"
                chosen[index] = ImportedCriterion(f"{number} {join_item(blocks, index)}", title)
                break
    left = count_unused(blocks, chosen)
    for path in others:
        left[path.rpartition("/")[2]] = count_steps(texts[path])
    folder = main.rpartition("/")[0].rpartition("/")[2]
    summary = find_summary(blocks, "introduction", "overview")
    yield ImportedSpec(folder.replace("-", " ").capitalize(), tuple(chosen.values()), texts, summary, left=left)
