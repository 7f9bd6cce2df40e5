"""The file of an evaluation: written whole and committed, where that is safe."""

from dataclasses import dataclass

from aigon.compare.rules.evaluation import Evaluation
from aigon.compare.views.page import page
from aigon.errors import AigonError
from aigon.files.atomic import write_atomic
from aigon.git.path_commits import commit_paths
from aigon.git.person import Checkout
from aigon.job.bookkeeping import open_own_git
from aigon.job.seat import hold_checkout


@dataclass(frozen=True, slots=True)
class Kept:
    """`path` is the file, relative to the main checkout, "" where none was written; `commit` is the one that was made,
    "" where the file held the same already. `why` says what kept it from being written."""

    path: str = ""
    commit: str = ""
    why: str = ""


def keep(main: Checkout, found: Evaluation) -> Kept:
    """Write the evaluation and commit it on the branch that the main checkout is on.

    Where it has changed only: the same facts make no second commit. What else a person has changed stays as it is.
    """
    try:
        with hold_checkout(main):
            why = _unsafe(main, found)
            return Kept(why=why) if why else _committed(main, found)
    except AigonError as error:  # the comparison is worth printing all the same
        return Kept(why=str(error))


def said(kept: Kept) -> str:
    """What became of the file, for people."""
    if kept.why:
        return f"Not written: {kept.why}"
    return f"Written: {kept.path} ({f'commit {kept.commit[:12]}' if kept.commit else 'as it was'})"


def _committed(main: Checkout, found: Evaluation) -> Kept:
    path, before = found.subject.path, main.head
    file, text = main.root / path, page(found).encode("utf-8", "replace")
    if not file.is_file() or file.read_bytes() != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, text)
    made = commit_paths(open_own_git(main), [path], f"docs(feature-{found.subject.feature}): evaluation of the arena\n")
    return Kept(path, made if made != before else "")


def _unsafe(main: Checkout, found: Evaluation) -> str:
    """Why nothing can be committed here and now; "" where it can."""
    if doing := main.under_way():
        return f"a {doing} is under way in the main checkout"
    if main.branch is None:
        return "the main checkout is on no branch"
    if main.branch in [entry.branch for entry in found.entries]:
        return f"{main.branch} is checked out, and a commit there would be one that nobody has proven"
    if found.subject.path in main.changed() and page(found) != (main.root / found.subject.path).read_text():
        return f"{found.subject.path} has changes that are not committed"
    return ""
