"""What can be quoted: the change as far as it was shown, and what aigon captured of the checks."""

import re
from dataclasses import dataclass, field

from aigon.judge.case import Observed
from aigon.model.changes import FileDiff
from aigon.text.fingerprints import plain


@dataclass(frozen=True, slots=True)
class Evidence:
    """What can be quoted: the files as far as they were shown, and what aigon captured of the checks."""

    files: tuple[FileDiff, ...]
    observed: tuple[Observed, ...]
    _by_name: dict[str, FileDiff] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._by_name.update({name: diff for diff in self.files for name in (diff.path, diff.name)})

    def file(self, path: str) -> FileDiff | None:
        """The file of that name, which may have the prefix of a diff."""
        plain_path = path.strip()
        tries = (path, plain_path, plain_path.removeprefix("./"), re.sub(r"^[ab]/", "", plain_path))
        return next((self._by_name[name] for name in tries if name in self._by_name), None)

    def output(self, source: str) -> str | None:
        """All that is known of the check of that name or title; None where there is none."""
        wanted = source.strip().casefold().removeprefix("check ")
        found = [o for o in self.observed if wanted in (o.finding.check.casefold(), o.finding.title.casefold())]
        texts = [text for o in found for text in (o.output, o.finding.excerpt, o.finding.summary)]
        return plain("\n".join(texts)) if found else None
