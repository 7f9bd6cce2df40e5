"""What a report is made from: journals, the spec and the log as the branch has them, what commands printed."""

from collections.abc import Sequence
from pathlib import Path

from aigon.errors import AigonError
from aigon.git.person import Checkout
from aigon.journal.account import CriterionItem
from aigon.journal.events import Event
from aigon.journal.history import History, IterationRecord
from aigon.journal.replay import read_events
from aigon.model.changes import FileChange
from aigon.spec.document import parse_spec

OUTPUT = 4000
"""Bytes of the end of what a command printed."""
RUNS = ".aigon/runs"


def journals(paths: Sequence[Path]) -> tuple[list[Sequence[Event]], list[str]]:
    """The events of each journal, and which of them tell nothing and why."""
    read: list[Sequence[Event]] = []
    unread = []
    for path in paths:
        try:
            read.append(read_events(path))
        except (AigonError, OSError) as error:
            unread.append(f"{path.name}: {error.what if isinstance(error, AigonError) else error.strerror}")
    return read, unread


def text_at(checkout: Checkout, commit: str, path: str) -> str | None:
    """A file as a commit has it; None where it has none, or the commit is gone."""
    return checkout.ask("cat-file", "blob", f"{commit}:{path}") if commit and path else None


def tip(checkout: Checkout, branch: str) -> str:
    """The commit at the end of a branch; empty where it is gone."""
    return (checkout.commit_of(f"refs/heads/{branch}") or "") if branch else ""


def spec(raw: str | None) -> tuple[str, tuple[CriterionItem, ...]]:
    """The title and the criteria of a spec; nothing for one that cannot be read."""
    try:
        parsed = parse_spec((raw or "").encode("utf-8", "surrogateescape"))
    except AigonError:
        return "", ()
    items = tuple(CriterionItem(c.number, c.text, c.kind, c.command or "") for c in parsed.criteria)
    return parsed.title.removeprefix("Feature:").strip(), items


def judged(history: History) -> tuple[CriterionItem, ...]:
    """The criteria as they were judged, for where the spec is not to be had."""
    return tuple(CriterionItem(number, text) for number, text in sorted(history.texts.items()))


def outputs(root: Path, step: IterationRecord | None) -> dict[str, str]:
    """The end of what each green check and command of a look printed, from its log in the main checkout at `root`."""
    runs = (root / RUNS).resolve()
    found = (*step.look.findings, *step.asked) if step else ()
    quiet = [each for each in found if each.status == "pass" and not each.excerpt and each.log]
    return {each.check: text for each in quiet if (text := _end(Path(each.log), runs))}


def _end(log: Path, runs: Path) -> str:
    """Nothing but a plain file among the logs of runs is read: the name is a record's, the place anybody's."""
    try:
        place = log.resolve(strict=True)
        if not place.is_relative_to(runs) or not place.is_file():
            return ""
        with place.open("rb") as file:
            file.seek(max(0, place.stat().st_size - OUTPUT))
            return file.read(OUTPUT).decode("utf-8", "replace").strip()
    except (OSError, ValueError):
        return ""


def changes(checkout: Checkout, base: str, commit: str, without: Sequence[str]) -> tuple[FileChange, ...]:
    """The files in which a commit differs from the base, with lines; none where one of the two is gone."""
    how = ("-r", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--raw", "--numstat")
    fields = iter((checkout.ask("diff-tree", *how, base, commit) or "").split("\0"))
    statuses: dict[str, str] = {}
    found = []
    for field in fields:
        if field.startswith(":"):
            statuses[next(fields, "")] = field[-1]
        elif field.count("\t") >= 2:
            added, removed, path = field.split("\t", 2)
            found.append(FileChange(path, _lines(added), _lines(removed), statuses.get(path, "M")))
    return tuple(change for change in found if change.path not in without)


def _lines(number: str) -> int:
    """-1 where git counts none."""
    return int(number) if number.isdecimal() else -1


def is_pushed(checkout: Checkout, commit: str) -> bool:
    """Whether a branch of `origin` is known to hold a commit."""
    asked = ("for-each-ref", "--count=1", "--format=%(refname)", f"--contains={commit}", "refs/remotes/origin")
    return bool(commit and checkout.ask(*asked))
