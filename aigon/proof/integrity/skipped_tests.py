"""Tests that are told not to run, or not to count.

`review` where the test was there before: it guarded something. (The deciding run with the base's test files finds out
whether it still holds; this says so in words.) `note` where the test is new, since it never guarded anything, and where
a whole new file is left out. `.only` counts as skipping all others.
"""

import re
from collections.abc import Iterable, Iterator

from aigon.model.changes import Concern, Edit, Edits
from aigon.proof.analysis.examples import ExampleCase, cases
from aigon.proof.analysis.languages import extension, is_javascript, is_python, of
from aigon.proof.analysis.python import read
from aigon.proof.analysis.sightings import Sighting, fresh, reported
from aigon.proof.analysis.text import line_of, without_comments

RULE = "skipped-tests"
_WHY = (
    "A test that does not run proves nothing. "
    "Let it run and make it pass, or delete what it tests if the feature says so."
)
_TEST = r"(?<![\w.$])(?:it|test|describe|context|suite|specify|bench|Deno\.test)"
_SIGNS: dict[str, re.Pattern[str]] = {
    "py": re.compile(
        r"@(?:\w+\.)*(?:skip|skipif|skipIf|skipUnless|xfail|expectedFailure)\b|\bmark\.(?:skip|skipif|xfail)\b"
        r"|\bpytest\.(?:skip|xfail|importorskip|exit)\s*\(|\bimportorskip\s*\(|\.skipTest\s*\(|\bSkipTest\b"
        r"|__test__\s*=\s*False|\bcollect_ignore(?:_glob)?\s*(?:\+?=|\.)|^\s*if\s+(?:False|0|not\s+True)\s*:"
        r"|\bparametrize\([^\n]{1,200},\s*(?:\[\]|\(\)|\{\})"
    ),
    "js": re.compile(
        rf"{_TEST}(?:\.\w+)*\.(?:only|skip|todo|fails|failing|fixme)\b|(?<![\w.$])(?:xit|xtest|xdescribe|xcontext)\s*\("
        r"|(?<![\w.$])(?:fit|fdescribe|ftest|pending)\s*\(|\bthis\.skip\s*\(|\b[tc]tx?\.(?:skip|todo)\s*\("
        r"|\b(?:skip|todo|only)\s*:\s*(?:true|['\"`])|\bif\s*\(\s*(?:false|0)\s*\)"
    ),
    "go": re.compile(
        r"\bt\.Skip(?:f|Now)?\s*\(|^//go:build\s+(?:ignore|never)|^// \+build\s+ignore|\bos\.Exit\s*\(\s*0"
    ),
    "rs": re.compile(r"#\[ignore|#\[cfg\((?:any\(\)|never|FALSE)"),
    "rb": re.compile(
        r"^\s*(?:xit|xdescribe|xcontext|skip|pending|fit|fdescribe)\b|,\s*(?:skip|pending|focus):"
        r"|,\s*:(?:skip|pending|focus)\b"
    ),
    "php": re.compile(r"markTestSkipped|markTestIncomplete|#\[Requires"),
    "java": re.compile(
        r"@(?:Disabled|Ignore|DisabledIf\w*|DisabledOn\w*|EnabledIf\w*)\b|\[(?:Ignore|Explicit)|Skip\s*=\s*\""
        r"|\bassumeTrue\s*\(|\bAssume\."
    ),
}
_NAMES_A_MARK = re.compile(r"^(?!pytestmark\b)\w+\s*(?::[^=\n]{1,80})?=\s*(?:\w+\.)*mark\.(?:skip|skipif|xfail)\b")
_LEAVES_OUT = re.compile(r"(^|\.)(skip|skipif|skipIf|skipUnless|xfail|expectedFailure|importorskip|SkipTest)(\(\))?$")
_LIKE = {"kt": "java", "scala": "java", "groovy": "java", "cs": "java"}


def look(edits: Edits) -> Iterator[Concern]:
    """Every test file that leaves out more than before."""
    for edit in of(edits.files, "tests", "config"):
        if edit.after:
            known = {case.name for case in cases(edit.path, edit.before or edits.tests.get(edit.path, ""))}
            found = [(edit, [_judged(each, edit, known) for each in new]) for _, new in fresh([edit], _see)]
            yield from reported(RULE, found, _WHY)


def _see(path: str, text: str) -> Iterable[Sighting]:
    renamed = _renamed(text) if is_python(path) else None
    end = "js" if is_javascript(path) else "py" if is_python(path) else extension(path)
    pattern = _SIGNS.get(_LIKE.get(end, end))
    if pattern is None:
        return
    for number, line in enumerate(without_comments(text, path).split("\n"), 1):
        told_in_comment = end == "go" and line_of(text, number).startswith("//")
        if renamed and renamed.search(line[:2000]):
            yield Sighting(number, line_of(text, number), "leaves tests out")
        elif _NAMES_A_MARK.search(line[:2000]):
            yield Sighting(number, line_of(text, number), "names a mark that leaves tests out", "note")
        elif pattern.search(line[:2000]) or (told_in_comment and pattern.search(line_of(text, number))):
            yield Sighting(number, line_of(text, number), "leaves tests out")


def _renamed(text: str) -> re.Pattern[str] | None:
    """Where a test is marked by, or calls, what leaves it out under another name."""
    module = read(text)
    names = [re.escape(name) for name, dotted in module.aliases.items() if _LEAVES_OUT.search(dotted)] if module else []
    return re.compile(rf"^\s*@(?:{'|'.join(names[:50])})\b|\b(?:{'|'.join(names[:50])})\s*\(") if names else None


def _judged(sighting: Sighting, edit: Edit, known: set[str]) -> Sighting:
    """A note where all that it can be about is new."""
    if sighting.level == "note":
        return sighting
    around = [case for case in cases(edit.path, edit.after or "") if case.start <= sighting.line <= case.end]
    old = edit.before is not None if not around else _innermost(around).name in known or _focuses(sighting, edit)
    return sighting if old else Sighting(sighting.line, sighting.text, sighting.says, "note")


def _innermost(around: list[ExampleCase]) -> ExampleCase:
    return max(around, key=lambda case: case.start)


def _focuses(sighting: Sighting, edit: Edit) -> bool:
    """Whether it leaves out everything else in a file that had tests before."""
    return (
        edit.before is not None and re.search(r"\.only\b|\bf(it|describe|test)\s*\(|:focus", sighting.text) is not None
    )
