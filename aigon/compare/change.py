"""What a candidate's branch holds beyond the base, read by aigon's own git as text."""

from collections.abc import Iterable, Mapping

from aigon.compare.rules.changed import Changed, changed
from aigon.git import objects
from aigon.git.diff import diff_trees
from aigon.git.objects import TreeEntry as File
from aigon.git.trusted import TrustedGit
from aigon.journal.decisions import HumanDecision
from aigon.model.changes import Concern, Edit, Edits
from aigon.profiles.protection import Protection
from aigon.proof.findings import settled
from aigon.proof.integrity import concerns
from aigon.spec.features import FOLDERS, ROOT, Feature


def change_of(
    git: TrustedGit, base: str, tip: str, own: frozenset[str], protection: Protection, expected: tuple[str, ...]
) -> tuple[Changed, Edits]:
    """The measures of a change and the change as text. `own` are aigon's files, which are nobody's work.

    Raises AigonError (exit 7) with git's words.
    """
    diffs = diff_trees(git, base, tip, own)
    edits = _edits(git, base, tip, [diff.path for diff in diffs], protection)
    return changed(diffs, edits, expected), edits


def own_files(feature: Feature, label: str) -> frozenset[str]:
    """The spec, in whatever stage, and the log: aigon writes them into every checkpoint."""
    specs = {f"{ROOT}/{folder}/{feature.name}.md" for folder in FOLDERS.values()}
    return frozenset({*specs, feature.path, feature.log(label)})


def seen(edits: Edits, decisions: Iterable[HumanDecision]) -> tuple[Concern, ...]:
    """What the integrity rules see in a change, less what a person approved of."""
    return settled(concerns(edits), tuple(decisions))


def _edits(git: TrustedGit, base: str, tip: str, paths: list[str], protection: Protection) -> Edits:
    before, after = objects.list_entries(git, base, paths), objects.list_entries(git, tip, paths)
    if not paths:
        return Edits(())
    files = [file for file in (*before.values(), *after.values()) if file.mode != "160000"]
    texts = objects.read_blobs(git, [file.sha for file in files])
    return Edits(tuple(_edit(path, before.get(path), after.get(path), texts, protection) for path in paths))


def _edit(path: str, before: File | None, after: File | None, texts: Mapping[str, bytes], rules: Protection) -> Edit:
    modes = (after.mode if after else "", before.mode if before else "")
    return Edit(path, _text(before, texts), _text(after, texts), rules.part(path), *modes)


def _text(file: File | None, texts: Mapping[str, bytes]) -> str | None:
    """A submodule's content is the name of its commit."""
    if file is None:
        return None
    data = texts.get(file.sha, b"")
    return file.sha if file.mode == "160000" else "" if b"\0" in data[:8000] else data.decode("utf-8", "replace")
