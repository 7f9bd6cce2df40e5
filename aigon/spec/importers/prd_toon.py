"""`prd.toon`: a table of tasks in TOON, which `aigon run convert` reads, too."""

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec import to_builtins

from aigon.model.imported import ImportedCriterion, ImportedSpec
from aigon.spec.importers._reading import count_unused_keys
from aigon.spec.prd import PrdTask, parse_prd
from aigon.text.patterns import compile_re

TITLE = "prd.toon"
FILES = compile_re(r".*\.toon")
_CARRIED = ("id", "title", "description")


def read(texts: Mapping[str, str]) -> Iterator[ImportedSpec]:
    """Yield one feature: each task is a criterion."""
    ((path, text),) = texts.items()
    prd = parse_prd(text.encode(), path)
    left: Counter[str] = Counter()
    for task in prd.tasks:
        left += count_unused_keys(to_builtins(task), _CARRIED)
    yield ImportedSpec(prd.project, tuple(map(_read_task, prd.tasks)), texts, left=left)


def _read_task(task: PrdTask) -> ImportedCriterion:
    more = f" ({task.description})" if task.description else ""
    return ImportedCriterion(f"{task.id}: {task.title}{more}")
