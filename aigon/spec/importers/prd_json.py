"""`prd.json` of loops such as Ralph: `userStories[]` with `acceptanceCriteria[]`."""

from collections import Counter
from collections.abc import Iterator, Mapping

from aigon.model.imported import ImportedCriterion, ImportedSpec
from aigon.spec.importers._reading import count_unused_keys, read_json, read_text
from aigon.text.patterns import compile_re

TITLE = "prd.json"
FILES = compile_re(r"(?:.*/)?prd[^/]*\.json")
_STORIES = ("userStories", "user_stories", "stories")
_CARRIED = {"id", "title", "name", "description", "acceptanceCriteria", "acceptance_criteria"}
_COMMANDS = ("testCommand", "verifyCommand", "command")


def read(texts: Mapping[str, str]) -> Iterator[ImportedSpec]:
    """Yield one feature: a loop proves all stories together, each below its own heading."""
    ((_, text),) = texts.items()
    document = read_json(text)
    document = document if isinstance(document, dict) else {"userStories": document}
    stories = next((value for key in _STORIES if isinstance(value := document.get(key), list)), [])
    if not stories or not all(isinstance(story, dict) for story in stories):
        raise ValueError(f"it has no list `{_STORIES[0]}` of objects")
    left: Counter[str] = Counter()
    criteria: list[ImportedCriterion] = []
    for story in stories:
        left += count_unused_keys(story, _CARRIED)
        criteria += _read_story(story)
    left["commands that fit no comment"] = sum("\n" in each.annotation or "-->" in each.annotation for each in criteria)
    left += count_unused_keys(document, {*_STORIES, "project", "name", "title", "description"})
    title = read_text(document, "title", "name", "project")
    yield ImportedSpec(title, tuple(criteria), texts, read_text(document, "description"), left=+left)


def _read_story(story: Mapping[str, object]) -> Iterator[ImportedCriterion]:
    """Yield the criteria of a story; the story itself if it has none."""
    name = ": ".join(filter(None, (read_text(story, "id"), read_text(story, "title", "name"))))
    listed = story.get("acceptanceCriteria") or story.get("acceptance_criteria") or [read_text(story, "description")]
    for item in listed if isinstance(listed, list) else [listed]:
        if isinstance(item, dict):
            command = read_text(item, *_COMMANDS)
            text = read_text(item, "text", "description", "criterion", "title")
            yield ImportedCriterion(text, name, f"verify: {command}" if command else "")
        else:
            yield ImportedCriterion(str(item or name), name)
