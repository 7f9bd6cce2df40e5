"""Product code that is fetched from outside of the repository: a temporary folder, somebody's home, another checkout.

`review`: a clean room hides the workspace, not the rest of the disk, so code that lies in `/tmp` passes there and
exists nowhere else. Told by two things that the change brought into one file: something that loads code (`sys.path`,
`importlib`, `exec`, `require`, a library by its path) and a place outside. Either alone is ordinary.
"""

import re
from collections.abc import Iterable, Iterator

from aigon.model.changes import Concern, Edits
from aigon.proof.analysis.languages import is_code, list_product
from aigon.proof.analysis.sightings import Sighting, find_new, report
from aigon.proof.analysis.text import without_comments

RULE = "outside"
_LOADS = re.compile(
    r"\bsys\s*\.\s*path\b|\b_?sys\s*,?.{0,20}\bpath\b|\bsite\s*\.\s*addsitedir|\bimportlib\b|\b__import__\b|\b__path__\b|"
    r"\bspec_from_file_location\b|\bSourceFileLoader\b|\brunpy\b|\bexec(?:file)?\s*\(|\beval\s*\(|\bcompile\s*\(|"
    r"\brequire\s*\(|\bimport\s*\(|\bPYTHONPATH\b|\bNODE_PATH\b|\bLD_PRELOAD\b|\bCDLL\b|\bdlopen\b|\bload_module\b|"
    r"\bload_library\b|\bunpickle|\bpickle\s*\.\s*loads?\b|\bmarshal\s*\.\s*loads?\b"
)
_PLACE = re.compile(
    r"[\"'`](?:file://)?(?:/tmp|/var/tmp|/dev/shm|/private/tmp|/home|/root|/Users|/opt|/srv|/mnt|/run|/usr/local)\b|"
    r"[\"'`]~/|\bexpanduser\b|\bgettempdir\b|\bmkdtemp\b|\btmpdir\s*\(|\bhomedir\s*\(|\bPath\s*\.\s*home\b|"
    r"[\"'](?:HOME|TMPDIR|TEMP|TMP|XDG_\w+)[\"']|\benv\s*\.\s*(?:HOME|TMPDIR|TEMP)\b"
)
_SIGNS = {"loads code": _LOADS, "names a place outside of the repository": _PLACE}
_WHY = (
    "Code outside of the repository is in no commit, so nobody else has it. Put it into the repository, or make it a "
    "dependency that the project declares."
)


def look(edits: Edits) -> Iterator[Concern]:
    """Report each file that loads code and names such a place, both of them new."""
    new = find_new([edit for edit in list_product(edits) if is_code(edit.path)], _see)
    yield from report(RULE, (each for each in new if len({sighting.says for sighting in each[1]}) > 1), _WHY)


def _see(path: str, text: str) -> Iterable[Sighting]:
    for number, line in enumerate(without_comments(text, path).split("\n"), 1):
        for says, pattern in _SIGNS.items():
            if pattern.search(line[:2000]):
                yield Sighting(number, line.strip()[:200], says)
