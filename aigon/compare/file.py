"""The files of an evaluation: its Markdown page, and the proposal with the commits that it is about."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from aigon.compare.order import judge_gates
from aigon.compare.proposal import Evaluation
from aigon.compare.table import (
    build_gate_rows,
    build_measure_rows,
    describe_dominance,
    describe_order,
    describe_proposal,
    format_cross_check,
    list_unknown,
)
from aigon.errors import AigonError
from aigon.files.atomic import write_atomic
from aigon.files.resources import find_resource
from aigon.git.commits import commit_paths
from aigon.git.person import Checkout
from aigon.job.bookkeeping import open_own_git
from aigon.job.job import hold_checkout
from aigon.journal.account import Recommendation
from aigon.model.changes import quote_path
from aigon.text.patterns import compile_re
from aigon.text.quoting import code_span, fold

_MARKUP = compile_re(r"([\\`*\[\]<>|&~])")
NAMED = 20
"""Names of tests or files that are listed; the others are counted."""


class EvaluationFile(Struct, frozen=True):
    """`path` is relative to the main checkout, and `commit` is "" if the file held the same already.

    `why` says what kept it from being written.
    """

    path: str = ""
    commit: str = ""
    why: str = ""

    def __str__(self) -> str:
        if self.why:
            return f"Not written: {self.why}"
        return f"Written: {self.path} ({f'commit {self.commit[:12]}' if self.commit else 'as it was'})"


def write_evaluation(main: Checkout, found: Evaluation) -> EvaluationFile:
    """Write the evaluation and commit it on the branch that the main checkout is on.

    The same facts make no second commit. What else a person has changed stays as it is.
    """
    path = found.subject.path
    file, page = main.root / path, render_page(found)
    try:
        with hold_checkout(main):
            if why := _explain_unsafe(main, found, page):
                return EvaluationFile(why=why)
            before, data = main.head, page.encode("utf-8", "replace")
            if not file.is_file() or file.read_bytes() != data:
                file.parent.mkdir(parents=True, exist_ok=True)
                write_atomic(file, data)
            message = f"docs(feature-{found.subject.feature}): evaluation of the arena\n"
            commit = commit_paths(open_own_git(main), [path], message)
            return EvaluationFile(path, commit if commit != before else "")
    except AigonError as error:  # the comparison is worth printing all the same
        return EvaluationFile(why=str(error))


def _explain_unsafe(main: Checkout, found: Evaluation, page: str) -> str:
    """Return why nothing can be committed now; "" if it can."""
    path = found.subject.path
    if operation := main.under_way():
        return f"a {operation} is under way in the main checkout"
    if main.branch is None:
        return "the main checkout is on no branch"
    if main.branch in [entry.branch for entry in found.entries]:
        return f"{main.branch} is checked out, and a commit there would be one that is not proven"
    if path in main.list_changed() and page != (main.root / path).read_text():
        return f"{path} has changes that are not committed"
    return ""


def render_page(found: Evaluation) -> str:
    """Return the evaluation as Markdown. The same facts make the same bytes."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    def show_text(value: object, limit: int = 400) -> str:
        """Text of others makes no line, link, tag or table of its own."""
        return value if isinstance(value, Markup) else _MARKUP.sub(r"\\\1", fold(str(value), limit))

    def show_names(names: Sequence[str]) -> str:
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        return Markup(", ".join(code_span(quote_path(name)) for name in names[:NAMED]) + more or "none")

    environment = Environment(trim_blocks=True, undefined=StrictUndefined, finalize=show_text)
    environment.filters |= {
        "text": lambda value, limit: Markup(show_text(value, limit)),
        "code": lambda value: Markup(code_span(value)),
        "names": show_names,
    }
    source = find_resource("templates", "report", "evaluation.md").read_text(encoding="utf-8")
    page = environment.from_string(source).render(
        found=found,
        labels=[entry.label for entry in found.entries],
        proposal=describe_proposal(found),
        compared=describe_order(),
        gate_rows=build_gate_rows(found),
        measure_rows=build_measure_rows(found),
        crossed={(check.tests_of, check.against): format_cross_check(check) for check in found.cross_checks},
        unknown=list_unknown(found),
        judge_gates=judge_gates,
        describe_dominance=describe_dominance,
    )
    return page.strip("\n") + "\n"


def remember_proposal(home: Path, found: Evaluation) -> None:
    """Keep the proposal, with the commit of each candidate."""
    file = _find_proposal(home, found.subject.feature)
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
        document = json.loads(_find_proposal(home, feature).read_bytes())
        if document["tips"] != dict(tips) or document["so_far"]:
            return None
        return Recommendation(document["kind"], str(document["label"]), tuple(map(str, document["reasons"])))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _find_proposal(home: Path, feature: str) -> Path:
    return home / "evaluations" / f"{feature}.json"
