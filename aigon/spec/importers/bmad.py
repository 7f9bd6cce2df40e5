"""BMAD: a Markdown file per story, `docs/stories/1.2.name.md`."""

import re
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from aigon.model.imported import ImportedSpec
from aigon.spec.importers.markdown import read_markdown
from aigon.text.patterns import compile_re

TITLE = "BMAD"
FILES = compile_re(r"(?:.*/)?(?:stories/\d[^/]*|[^/]*\.story|implementation-artifacts/\d+-\d+-[^/]*)\.md")
_HEAD = compile_re(r"(?:User )?Story\s+[\d.]+\s*[:–—-]\s*", re.IGNORECASE)


def read(texts: Mapping[str, str]) -> Iterator[ImportedSpec]:
    """Yield the story as a feature: its tasks are left to the agent."""
    ((_, text),) = texts.items()
    story = read_markdown(text, texts, "story", "user story")
    yield replace(story, title=_HEAD.sub("", story.title))
