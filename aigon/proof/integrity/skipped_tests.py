"""Tests that are told not to run, or not to count.

`review` if the test was there before: it guarded something. (The deciding run with the base's test files finds out
whether it still holds; this says so in words.) `note` if the test is new, since it never guarded anything, and if a
whole new file is left out. `.only` counts as skipping all others.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from aigon.model.changes import Concern, Edit, Edits
from aigon.proof.analysis.cases import list_cases
from aigon.proof.analysis.languages import dialect, list_parts
from aigon.proof.analysis.python import read_module
from aigon.proof.analysis.sightings import Sighting, find_new, report
from aigon.proof.analysis.text import line_of, without_comments

RULE = "skipped-tests"
_WHY = (
    "A test that does not run proves nothing. "
    "Let it run and make it pass, or delete what it tests if the feature says so."
)
_TEST = r"(?<![\w.$])(?:it|test|describe|context|suite|specify|bench|Deno\.test)"
_SIGNS = {
    "py": r"@(?:\w+\.)*(?:skip|skipif|skipIf|skipUnless|xfail|expectedFailure)\b|\bmark\.(?:skip|skipif|xfail)\b"
    r"|\bpytest\.(?:skip|xfail|importorskip|exit)\s*\(|\bimportorskip\s*\(|\.skipTest\s*\(|\bSkipTest\b"
    r"|__test__\s*=\s*False|\bcollect_ignore(?:_glob)?\s*(?:\+?=|\.)|^\s*if\s+(?:False|0|not\s+True)\s*:"
    r"|\bparametrize\([^\n]{1,200},\s*(?:\[\]|\(\)|\{\})",
    "js": rf"{_TEST}(?:\.\w+)*\.(?:only|skip|todo|fails|failing|fixme)\b"
    r"|(?<![\w.$])(?:xit|xtest|xdescribe|xcontext)\s*\("
    r"|(?<![\w.$])(?:fit|fdescribe|ftest|pending)\s*\(|\bthis\.skip\s*\(|\b[tc]tx?\.(?:skip|todo)\s*\("
    r"|\b(?:skip|todo|only)\s*:\s*(?:true|['\"`])|\bif\s*\(\s*(?:false|0)\s*\)",
    "go": r"\bt\.Skip(?:f|Now)?\s*\(|^//go:build\s+(?:ignore|never)|^// \+build\s+ignore|\bos\.Exit\s*\(\s*0",
    "rs": r"#\[ignore|#\[cfg\((?:any\(\)|never|FALSE)",
    "rb": r"^\s*(?:xit|xdescribe|xcontext|skip|pending|fit|fdescribe)\b|,\s*(?:skip|pending|focus):"
    r"|,\s*:(?:skip|pending|focus)\b",
    "php": r"markTestSkipped|markTestIncomplete|#\[Requires",
    "java": r"@(?:Disabled|Ignore|DisabledIf\w*|DisabledOn\w*|EnabledIf\w*)\b|\[(?:Ignore|Explicit)|Skip\s*=\s*\""
    r"|\bassumeTrue\s*\(|\bAssume\.",
}
_NAMES_A_MARK = re.compile(r"^(?!pytestmark\b)\w+\s*(?::[^=\n]{1,80})?=\s*(?:\w+\.)*mark\.(?:skip|skipif|xfail)\b")
_LEAVES_OUT = re.compile(r"(^|\.)(skip|skipif|skipIf|skipUnless|xfail|expectedFailure|importorskip|SkipTest)(\(\))?$")
_FOCUSES = re.compile(r"\.only\b|\bf(it|describe|test)\s*\(|:focus")


def look(edits: Edits) -> Iterator[Concern]:
    """Report every test file that leaves out more than before."""
    for edit in list_parts(edits, "tests", "config"):
        if edit.after:
            known = {case.name for case in list_cases(edit.path, edit.before or edits.tests.get(edit.path, ""))}
            found = [(edit, [_grade(each, edit, known) for each in new]) for _, new in find_new([edit], _see)]
            yield from report(RULE, found, _WHY)


def _see(path: str, text: str) -> Iterable[Sighting]:
    language = dialect(path)
    if language not in _SIGNS:
        return
    pattern = _SIGNS[language]
    if language == "py" and (names := _list_other_names(text)):
        pattern = rf"^\s*@(?:{names})\b|\b(?:{names})\s*\(|{pattern}"
    for number, line in enumerate(without_comments(text, path).split("\n"), 1):
        whole = line_of(text, number)
        in_comment = language == "go" and whole.startswith("//") and re.search(pattern, whole)
        if _NAMES_A_MARK.search(line[:2000]):
            yield Sighting(number, whole, "names a mark that leaves tests out", "note")
        elif in_comment or re.search(pattern, line[:2000]):
            yield Sighting(number, whole, "leaves tests out")


def _list_other_names(text: str) -> str:
    """Return, as alternatives of a pattern, other names for what leaves a test out."""
    module = read_module(text)
    names = [re.escape(name) for name, dotted in module.aliases.items() if _LEAVES_OUT.search(dotted)] if module else []
    return "|".join(names[:50])


def _grade(sighting: Sighting, edit: Edit, known: set[str]) -> Sighting:
    """Return a note if all that it can be about is new."""
    around = [case for case in list_cases(edit.path, edit.after or "") if case.start <= sighting.line <= case.end]
    is_old = edit.before is not None
    if around:  # a focus leaves out everything else in the file
        focuses = is_old and _FOCUSES.search(sighting.text) is not None
        is_old = max(around, key=lambda case: case.start).name in known or focuses
    return sighting if is_old else replace(sighting, level="note")
