"""Import `wishes.md`: a title, and a criterion on each line below it."""

from collections.abc import Iterator, Mapping, Sequence

from aigon.model.criteria import ImportedCriterion, ImportedSpec

TITLE = "wishes"


def find(paths: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the paths of each spec among `paths`."""
    yield from ((path,) for path in paths if path.endswith("/wishes.md"))


def read(texts: Mapping[str, str]) -> Iterator[ImportedSpec]:
    """Yield the features in the files of one spec. Raise ValueError for a text that is malformed."""
    ((_, text),) = texts.items()
    title, *wishes = text.splitlines()
    yield ImportedSpec(title, tuple(ImportedCriterion(wish) for wish in wishes), texts)
