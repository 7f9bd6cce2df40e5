"""What nobody can review: programs, compiled code, very long lines, text that is unpacked and run.

`review` where product code could be run from it: compiled code that Python or the system loads, a source file that is
longer than the rules read, or has a line of more than 50,000 characters for the first time, code that decodes a text
and runs it. Lines of more than 5,000 characters (hardly any source has one) and other new programs are a `note`.
"""

import re
from collections.abc import Iterator

from aigon.model.changes import Concern, ConcernLevel, Edit, Edits
from aigon.proof.analysis.languages import LONGEST, extension, is_code, product, words
from aigon.proof.analysis.sightings import Sighting, fresh, key, reported
from aigon.proof.analysis.text import line_at, line_of, without_comments
from aigon.text.quoting import fold

RULE = "executables"
_LONG, _ENDLESS = 5_000, 50_000
"""Characters of a line. Judgements: source that people wrote stays far below both."""
_COMPILED = words("pyc pyo pyd so dylib dll node wasm class jar o a lib exe egg whl bin com msi apk dex elc beam")
_LOADED = words("pyc pyo pyd so dylib dll node")
_SHELL = (
    r"\b(?:base64\s+(?:-d|-D|--decode)|xxd\s+-r|openssl\s+enc[^\n|]{0,60}-d)[^\n|]{0,80}"
    r"\|\s*(?:\w+\s*\|\s*)?(?:sh|bash|zsh|python\d?|node)\b"
)
_UNPACKS = (
    r"(?:b64decode|b32decode|b85decode|a85decode|unhexlify|fromhex|decompress|rot_?13|marshal\.loads"
    r"|pickle\.loads"
    r"|codecs\.decode|atob|Buffer\.from|fromCharCode|unescape|inflateSync|gunzipSync|base64_decode"
    r"|gzinflate|Base64\.decode64)"
)
_RUNS = (
    r"(?:\bexec|\beval|\bcompile|\bnew\s+Function|\bFunction|\bvm\.run\w*|\brunInThisContext"
    r"|\bFunctionType|\bassert_?eval)"
)
_UNPACKED = re.compile(
    rf"{_RUNS}\s*\([^\n]{{0,200}}?{_UNPACKS}\b|{_UNPACKS}\s*\([^\n]{{0,200}}\)[^\n]{{0,80}}\|\s*(?:sh"
    rf"|bash|python\d?)\b"
    rf"|{_SHELL}"
)
_WHY = "Nobody can see what it does. Put source there that can be read, or build it where it is needed."


def look(edits: Edits) -> Iterator[Concern]:
    """One concern for each file that is new in this, and each that unpacks what it runs."""
    for edit in edits.files:
        seen = _seen(edit)
        if seen:
            yield Concern(RULE, seen[1], f"{fold(edit.path)} {seen[0]}. {_WHY}", (edit.path,), key(RULE, edit))
    yield from reported(RULE, fresh([e for e in product(edits) if is_code(e.path)], _unpacked), _WHY)


def _seen(edit: Edit) -> tuple[str, ConcernLevel] | None:
    if edit.after is None or edit.mode in ("120000", "160000"):
        return None
    if extension(edit.path) in _COMPILED or (edit.after.startswith(("\x7fELF", "MZ")) and "\0" in edit.after):
        loaded = extension(edit.path) in _LOADED and edit.part == "product"
        return "is compiled code", "review" if loaded else "note"
    if is_code(edit.path) or edit.part == "product":
        long = _length(edit)
        if long:
            return long
    if edit.mode == "100755" and edit.before is None:
        return "is a new program", "note"
    return None


def _length(edit: Edit) -> tuple[str, ConcernLevel] | None:
    after, before = edit.after or "", edit.before or ""
    longest, longest_before = (max(map(len, text.split("\n"))) for text in (after, before))
    code = is_code(edit.path) and edit.part in ("product", "other")
    if code and len(after) > max(LONGEST, len(before)):
        return f"is source code of {len(after):,} characters", "review"
    if longest > max(_LONG, longest_before):
        level: ConcernLevel = "review" if code and longest > _ENDLESS and longest_before <= _LONG else "note"
        return f"has a line of {longest:,} characters", level
    return None


def _unpacked(path: str, text: str) -> Iterator[Sighting]:
    plain = without_comments(text, path)
    for match in _UNPACKED.finditer(re.sub(r"[^\n]{4000,}", lambda m: m[0][:4000].ljust(len(m[0])), plain)):
        line = line_at(plain, match.start())
        yield Sighting(line, line_of(text, line), "unpacks a text and runs it")
