"""What is kept of an evaluation: the Markdown file, and the proposal with the commits that it is about."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from aigon.compare.page import render_page
from aigon.compare.rules.evaluation import Evaluation
from aigon.errors import AigonError
from aigon.files.atomic import write_atomic
from aigon.git.path_commits import commit_paths
from aigon.git.person import Checkout
from aigon.job.bookkeeping import open_own_git
from aigon.job.seat import hold_checkout
from aigon.journal.account import Recommendation


@dataclass(frozen=True, slots=True)
class EvaluationFile:
    """`path` is the file, relative to the main checkout, "" where none was written; `commit` is the one that was made,
    "" where the file held the same already. `why` says what kept it from being written."""

    path: str = ""
    commit: str = ""
    why: str = ""


def write_evaluation(main: Checkout, found: Evaluation) -> EvaluationFile:
    """Write the evaluation and commit it on the branch that the main checkout is on.

    Where it has changed only: the same facts make no second commit. What else a person has changed stays as it is.
    """
    try:
        with hold_checkout(main):
            why = _explain_unsafe(main, found)
            return EvaluationFile(why=why) if why else _commit_page(main, found)
    except AigonError as error:  # the comparison is worth printing all the same
        return EvaluationFile(why=str(error))


def describe_file(kept: EvaluationFile) -> str:
    """Return what became of the file, for people."""
    if kept.why:
        return f"Not written: {kept.why}"
    return f"Written: {kept.path} ({f'commit {kept.commit[:12]}' if kept.commit else 'as it was'})"


def _commit_page(main: Checkout, found: Evaluation) -> EvaluationFile:
    path, before = found.subject.path, main.head
    file, text = main.root / path, render_page(found).encode("utf-8", "replace")
    if not file.is_file() or file.read_bytes() != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, text)
    made = commit_paths(open_own_git(main), [path], f"docs(feature-{found.subject.feature}): evaluation of the arena\n")
    return EvaluationFile(path, made if made != before else "")


def _explain_unsafe(main: Checkout, found: Evaluation) -> str:
    """Return why nothing can be committed now; "" if it can."""
    if doing := main.under_way():
        return f"a {doing} is under way in the main checkout"
    if main.branch is None:
        return "the main checkout is on no branch"
    if main.branch in [entry.branch for entry in found.entries]:
        return f"{main.branch} is checked out, and a commit there would be one that nobody has proven"
    if found.subject.path in main.changed() and render_page(found) != (main.root / found.subject.path).read_text():
        return f"{found.subject.path} has changes that are not committed"
    return ""


def remember_proposal(home: Path, found: Evaluation) -> None:
    """Keep the proposal, with the commit of each candidate."""
    file = _proposal_file(home, found.subject.feature)
    file.parent.mkdir(parents=True, exist_ok=True)
    made = found.proposal
    document = {
        "kind": made.kind,
        "label": made.winner,
        "reasons": made.reasons,
        "so_far": made.so_far,
        "tips": {entry.label: entry.tip for entry in found.entries},
    }
    write_atomic(file, json.dumps(document).encode() + b"\n")


def recall_proposal(home: Path | None, feature: str, tips: Mapping[str, str]) -> Recommendation | None:
    """Return the proposal if it is about these very commits, else None."""
    if home is None:
        return None
    try:
        document = json.loads(_proposal_file(home, feature).read_bytes())
        if document["tips"] != dict(tips) or document["so_far"]:
            return None
        return Recommendation(document["kind"], str(document["label"]), tuple(map(str, document["reasons"])))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _proposal_file(home: Path, feature: str) -> Path:
    return home / "evaluations" / f"{feature}.json"
