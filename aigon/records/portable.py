"""One record that travels: gathered from what is here, or read from a commit and checked.

It holds what the branch bears out: a turn whose work was not committed is left out, so that it runs again elsewhere.
People's decisions stay where they were made, and so do copies of files and fingerprints of this machine.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from aigon import __version__
from aigon.errors import AigonError, environment
from aigon.files.checksums import dump_with_sum, load_with_sum, parse_lines
from aigon.journal.events import Event, RunStarted
from aigon.journal.records import Origin, Records
from aigon.journal.replay import decode
from aigon.journal.state import State
from aigon.model.agents import Candidate
from aigon.text.patterns import compile_re

VERSION = 1
MANIFEST, JOURNAL, FROZEN = "manifest.json", "journal.jsonl", "frozen.json"
LARGEST = 64 << 20
"""Bytes of a record that is fetched."""
HEAD = TAIL = 8192
"""Bytes of the beginning and the end of a log that travel."""
MOST_LOGS = 1 << 20
"""Bytes of all logs together; the newest iterations come first."""
_NAME = compile_re(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_-])?")
_RUN = r"[A-Za-z0-9][A-Za-z0-9-]*"
_PATHS = compile_re(
    rf"journal\.jsonl|journal-{_RUN}\.jsonl|frozen\.json|logs/\d{{3,}}/(?:\w[\w.@+-]*/){{0,2}}\w[\w.@+-]*"
)


class Manifest(Struct, frozen=True):
    """The feature and run of a record, the `commit` of its branch, and the SHA-256 of each of its files.

    `path` of the candidate is "" and its slot means nothing; it is None in solo mode.
    """

    aigon: str
    feature: str
    slug: str
    label: str
    branch: str
    commit: str
    run: str
    origin: Origin
    candidate: Candidate | None
    files: Mapping[str, str]
    schema_version: int = VERSION

    @property
    def name(self) -> str:
        """The name of the record's ref."""
        return format_name(self.feature, self.label)


class PortableRecord(Struct, frozen=True):
    """A record as it travels: the files by path, and the manifest that names them."""

    manifest: Manifest
    files: Mapping[str, bytes]

    def encode(self) -> dict[str, bytes]:
        return {**self.files, MANIFEST: dump_with_sum(json.loads(json.dumps(to_builtins(self.manifest))))}

    def continues(self, other: "PortableRecord") -> bool:
        """Return whether everything that the journal of `other` says is in here as well."""
        begun = other.files.get(JOURNAL, b"")
        archived = self.files.get(f"journal-{other.manifest.run}.jsonl", b"")
        return self.files.get(JOURNAL, b"").startswith(begun) or archived.startswith(begun)


def format_name(feature: str, label: str) -> str:
    return f"{feature}--{label}"


def gather_record(records: Records, candidate: Candidate | None, runs: Path) -> PortableRecord:
    """Return the record as it is now, whether a loop works on it or not. Raises AigonError (exit 7) if it is damaged.

    `runs` is the folder with the folders of runs.
    """
    data, state = settle_journal(records)
    origin = records.origin()
    if origin is None or (state.started is None and candidate is None):
        raise environment("There are no records to push", where=str(records.folder), hint="Has this feature run?")
    manifest = Manifest(__version__, records.name, "", "", "", origin.commit, "", origin, None, {})
    files: dict[str, bytes] = {}
    if started := state.started:
        manifest = replace(
            manifest, run=started.run_id, branch=started.branch, slug=started.slug, commit=state.checkpoint
        )
        files = {JOURNAL: data, FROZEN: _strip_frozen_job(records), **_gather_logs(runs / started.run_id)}
    if candidate:
        bare = replace(candidate, path="", slot=0, ready="")
        manifest = replace(
            manifest, label=candidate.label, branch=candidate.branch, slug=candidate.slug, candidate=bare
        )
    for each in records.journals():
        earlier = each.read_bytes()
        if each != records.journal and not [*_check_journal(each.name, earlier, manifest)]:
            files[each.name] = earlier
    sums = {path: hashlib.sha256(content).hexdigest() for path, content in sorted(files.items())}
    return PortableRecord(replace(manifest, files=sums), files)


def settle_journal(records: Records) -> tuple[bytes, State]:
    """Return the journal up to the last event after which no turn is open, and the state then."""
    events, settled, size = list(records.each()), 0, 0
    data = records.journal.read_bytes() if events else b""
    state = kept = State()
    lines = data.splitlines(keepends=True)
    for line, event in zip(lines, events, strict=False):
        state, size = state.apply(event), size + len(line)
        if state.iteration <= state.finished and state.intended is None:
            settled, kept = size, state
    return data[:settled], kept


def _strip_frozen_job(records: Records) -> bytes:
    """Return the frozen job without copies of files, which the branch has, and without what holds here alone."""
    document = load_with_sum(records.frozen.read_bytes())
    return dump_with_sum({**document, "guarded": {}, "folders": {}, "root": ""})


def _gather_logs(folder: Path) -> dict[str, bytes]:
    """Return what agents and checks printed, each by head and tail, up to MOST_LOGS bytes."""
    logs: dict[str, bytes] = {}
    room = MOST_LOGS
    for iteration in sorted(folder.glob("[0-9]*/"), reverse=True):
        for file in sorted(iteration.rglob("*")):
            path = f"logs/{file.relative_to(folder).as_posix()}"
            if not file.is_file() or file.is_symlink() or not _PATHS.fullmatch(path):
                continue
            content = _read_bounded(file)
            if len(content) > room:
                return logs
            logs[path], room = content, room - len(content)
    return logs


def _read_bounded(file: Path) -> bytes:
    with file.open("rb") as opened:
        size = opened.seek(0, 2)
        opened.seek(0)
        if size <= HEAD + TAIL:
            return opened.read(HEAD + TAIL)
        head = opened.read(HEAD)
        opened.seek(size - TAIL)
        return head + b"\n[... %d bytes left out ...]\n" % (size - HEAD - TAIL) + opened.read(TAIL)


def read_record(name: str, files: Mapping[str, bytes], where: str) -> PortableRecord:
    """Return a record that was pushed as `name`. Raises AigonError (exit 7) for one that is cut or altered.

    What holds together may still be made up: `feature-done` proves the result again.
    """
    try:
        manifest = _read_manifest(files)
        for wrong in _find_faults(name, manifest, files):
            raise ValueError(wrong)
    except AigonError:
        raise
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        hint = "Nothing was taken over. Push it again from where it is whole: aigon records push"
        raise environment(f"The record {name} is refused: {error}", where=where, hint=hint) from None
    return PortableRecord(manifest, {path: data for path, data in files.items() if path != MANIFEST})


def _read_manifest(files: Mapping[str, bytes]) -> Manifest:
    if MANIFEST not in files:
        raise ValueError(f"it has no {MANIFEST}")
    document = load_with_sum(files[MANIFEST])
    version = document.get("schema_version")
    if isinstance(version, int) and version > VERSION:
        raise environment("The record is from a newer aigon", where=str(document.get("aigon")), hint="Update aigon")
    return convert(document, Manifest)


def _find_faults(name: str, manifest: Manifest, files: Mapping[str, bytes]) -> Iterator[str]:
    if manifest.name != name:
        yield f"it is of {manifest.name}"
    if not all(map(_NAME.fullmatch, filter(None, (manifest.feature, manifest.label, manifest.slug, manifest.run)))):
        yield "its name is not valid"
    candidate = manifest.candidate
    if (candidate.label if candidate else "") != manifest.label:
        yield "it is of another agent than it says"
    if candidate and (candidate.feature, candidate.branch) != (manifest.feature, manifest.branch):
        yield "its worktree is another feature's"
    if not manifest.feature or not manifest.branch.startswith("feature-") or ".." in manifest.branch:
        yield f"{manifest.branch} is no branch of a feature"
    for path in sorted({*files, *manifest.files} - {MANIFEST}):
        if not _PATHS.fullmatch(path):
            yield f"no file of a record is called {path!r}"
        if path not in files:
            yield f"{path} is missing"
        elif manifest.files.get(path) != hashlib.sha256(files[path]).hexdigest():
            yield f"{path} was altered"
    if manifest.run and not {JOURNAL, FROZEN} <= set(files):
        yield "its journal or its frozen job is missing"
    for path, data in files.items():
        if path.startswith("journal"):
            yield from _check_journal(path, data, manifest)
    if FROZEN in files and load_with_sum(files[FROZEN]).get("guarded"):
        yield f"{FROZEN} has files in it"


def _check_journal(path: str, data: bytes, manifest: Manifest) -> Iterator[str]:
    first: RunStarted | None = None
    if data and not data.endswith(b"\n"):
        yield f"{path} is cut"
    for number, document in enumerate(parse_lines(data), 1):
        if document is None:
            yield f"{path}:{number} is damaged"
            return
        try:
            event: Event = decode(document)
        except ValueError as error:
            yield f"{path}:{number}: {error}"
            return
        first = first or (event if isinstance(event, RunStarted) else None)
        if first is None:
            yield f"{path} does not begin with its run"
            return
        whose = (first.feature_id, first.label, first.branch)
        if isinstance(event, RunStarted) and (event.feature_id, event.label, event.branch) != whose:
            yield f"{path}:{number} is of another run"
    if first and whose != (manifest.feature, manifest.label, manifest.branch):
        yield f"{path} is of another run"
    if path == JOURNAL and (first.run_id if first else "") != manifest.run:
        yield f"{path} is of another run"
