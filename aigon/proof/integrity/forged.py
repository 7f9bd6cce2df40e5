"""Find forgeries of aigon's own marks: trailers of its commits, specs, iteration logs and state files.

aigon reads none of these from the agent's commits, but people read them and believe them. `review` for a trailer in a
commit message of the agent, and for a log or state file that claims results; a file that only has such a name is a
`note`. New specs are ordinary if a feature writes one for the inbox.
"""

import re
from collections.abc import Iterator

from aigon.model.changes import Concern, ConcernLevel, Edit, Edits, hash_change
from aigon.proof.analysis.sightings import find_pattern, report_file
from aigon.spec.features import ROOT
from aigon.text.quoting import code_span, fold

RULE = "forged"
_TRAILER = find_pattern(RULE, "trailer", re.MULTILINE | re.IGNORECASE)
_LOG, _SPEC = find_pattern(RULE, "log"), find_pattern(RULE, "spec")
_RESULTS = find_pattern(RULE, "results", re.MULTILINE)
_TICKED, _CRITERIA = find_pattern(RULE, "ticked", re.MULTILINE), find_pattern(RULE, "criteria", re.MULTILINE)
_WHY = "Only aigon says what was proven, from its own journal. Take it out."


def look(edits: Edits) -> Iterator[Concern]:
    """Report each message and each file."""
    for message in edits.messages:
        if trailer := _TRAILER.search(message):
            what = f"A commit of the agent has one of aigon's trailers: {code_span(trailer[0].strip(), 120)}. {_WHY}"
            yield Concern(RULE, "review", what, (), hash_change([RULE, message]))
    for edit in edits.files:
        if level := _choose_level(edit):
            yield report_file(RULE, level, f"{fold(edit.path)} looks like a record that aigon keeps. {_WHY}", edit)


def _choose_level(edit: Edit) -> ConcernLevel | None:
    if edit.after is None or edit.after == edit.before:
        return None
    if _LOG.search(edit.path):
        return "review" if _RESULTS.search(edit.after) else "note"
    if edit.before is None and _SPEC.search(edit.path) and not edit.path.startswith(f"{ROOT}/"):
        return "review" if _TICKED.search(edit.after) and _CRITERIA.search(edit.after) else "note"
    return None
