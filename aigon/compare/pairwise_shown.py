"""What a judge is shown of two candidates: their changes and what was asked for, nothing about who they are."""

import secrets
from collections.abc import Sequence
from dataclasses import replace

from aigon.compare.new_tests_bench import Bench
from aigon.files.resources import find_resource
from aigon.git.diff import diff_trees
from aigon.judge import selection
from aigon.judge.pairwise import Anonymizer, Pair, anonymize_diff
from aigon.judge.selection import ShownChange, select_shown
from aigon.model.changes import FileDiff
from aigon.model.criteria import Spec
from aigon.spec.features import ROOT

OWN = (f"{ROOT}/", ".aigon/")
"""Specs, logs and aigon's own files: nobody's work, and full of names."""


def change(bench: Bench, base: str, tip: str) -> tuple[FileDiff, ...]:
    """What a candidate's commit changes, without aigon's own files. Raises AigonError (exit 7) with git's words."""
    found = diff_trees(bench.git, base, tip, frozenset(), selection.is_hidden_by_name)
    return tuple(diff for diff in found if not diff.path.startswith(OWN))


def view(files: Sequence[FileDiff], plain: Anonymizer, spec: Spec) -> ShownChange:
    """A change as it is shown, which is no basis for a comparison where it is not whole."""
    return select_shown([anonymize_diff(diff, plain) for diff in files], spec.criteria)


def pair_of(spec: Spec, plain: Anonymizer, first: ShownChange, second: ShownChange) -> Pair:
    """What is compared, in this order, with delimiters that nobody could foresee."""
    text = _without_frontmatter(spec.raw.decode("utf-8", "replace"))
    criteria = tuple(replace(criterion, text=plain(criterion.text)) for criterion in spec.criteria)
    template = find_resource("templates", "prompts", "pairwise.md").read_text(encoding="utf-8")
    return Pair("\n".join(map(plain, text.split("\n"))), criteria, (first, second), new_mark(), template)


def new_mark() -> str:
    """What goes into the delimiters of one call."""
    return secrets.token_hex(8)


def _without_frontmatter(text: str) -> str:
    """Settings of the feature, agents and models among them, are no part of what was asked for."""
    lines = text.split("\n")
    if lines[0].strip() != "---":
        return text
    end = next((number for number, line in enumerate(lines[1:], 1) if line.strip() == "---"), 0)
    return "\n".join(lines[end + 1 :]) if end else text
