"""Find what a person cannot review: programs, compiled code, very long lines, text that is unpacked and run.

`review` if product code could be run from it: compiled code that Python or the system loads, a source file that is
longer than the rules read, or has a line of more than 50,000 characters for the first time, code that decodes a text
and runs it. Lines of more than 5,000 characters (hardly any source has one) and other new programs are a `note`.
"""

import re
from collections.abc import Iterator

from aigon.model.changes import Concern, ConcernLevel, Edit, Edits
from aigon.proof.analysis.languages import LONGEST, extension, is_code, line_at, line_of, list_product, without_comments
from aigon.proof.analysis.sightings import Sighting, find_new, find_pattern, list_words, report, report_file
from aigon.text.quoting import fold

RULE = "executables"
_LONG, _ENDLESS = 5_000, 50_000
"""Characters of a line. Judgements: source that people wrote stays far below both."""
_COMPILED, _LOADED = list_words(RULE, "compiled"), list_words(RULE, "loaded")
_UNPACKED = find_pattern(RULE, "unpacked")
_WHY = "Nobody can see what it does. Put source there that can be read, or build it where it is needed."


def look(edits: Edits) -> Iterator[Concern]:
    """Report each file that is new in this, and each that unpacks what it runs."""
    for edit in edits.files:
        if verdict := _judge(edit):
            yield report_file(RULE, verdict[1], f"{fold(edit.path)} {verdict[0]}. {_WHY}", edit)
    yield from report(RULE, find_new([e for e in list_product(edits) if is_code(e.path)], _see_unpacked), _WHY)


def _judge(edit: Edit) -> tuple[str, ConcernLevel] | None:
    if edit.after is None or edit.mode in ("120000", "160000"):
        return None
    if extension(edit.path) in _COMPILED or (edit.after.startswith(("\x7fELF", "MZ")) and "\0" in edit.after):
        loaded = extension(edit.path) in _LOADED and edit.part == "product"
        return "is compiled code", "review" if loaded else "note"
    if is_code(edit.path) or edit.part == "product":
        before, longest = edit.before or "", max(map(len, edit.after.split("\n")))
        longest_before = max(map(len, before.split("\n")))
        code = is_code(edit.path) and edit.part in ("product", "other")
        if code and len(edit.after) > max(LONGEST, len(before)):
            return f"is source code of {len(edit.after):,} characters", "review"
        if longest > max(_LONG, longest_before):
            endless = code and longest > _ENDLESS and longest_before <= _LONG
            return f"has a line of {longest:,} characters", "review" if endless else "note"
    return ("is a new program", "note") if edit.mode == "100755" and edit.before is None else None


def _see_unpacked(path: str, text: str) -> Iterator[Sighting]:
    plain = re.sub(r"[^\n]{4000,}", lambda m: m[0][:4000].ljust(len(m[0])), without_comments(text, path))
    for match in _UNPACKED.finditer(plain):
        line = line_at(text, match.start())
        yield Sighting(line, line_of(text, line), "unpacks a text and runs it")
