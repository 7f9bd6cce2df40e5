"""A GitHub issue, as `gh issue view --json` prints it."""

import json
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from aigon.model.imported import ImportedSpec
from aigon.spec.importers.markdown import read_markdown

TITLE = "GitHub issue"
FIELDS = ("number", "title", "body", "labels", "url", "state")
"""What is asked of `gh`."""


def find(_paths: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield nothing: an issue is in no file."""
    yield from ()


def read(texts: Mapping[str, str]) -> Iterator[ImportedSpec]:
    """Yield the issue as a feature."""
    ((_, text),) = texts.items()
    issue = json.loads(text)
    if not isinstance(issue, dict) or not all(isinstance(issue.get(key), str) for key in ("title", "body", "url")):
        raise ValueError("gh printed no issue with a title, a body and an address")
    read_issue = read_markdown(issue["body"], {f"issue {issue.get('number')}": issue["body"]})
    labels = [str(label.get("name", "")) for label in issue.get("labels") or () if isinstance(label, dict)]
    left = {**read_issue.left, **({f"labels ({', '.join(labels)})": len(labels)} if labels else {})}
    left |= {"state closed": 1} if issue.get("state") == "CLOSED" else {}
    yield replace(read_issue, title=issue["title"], source=issue["url"], left=left)
