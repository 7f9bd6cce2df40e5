"""The record of what decides a feature, from before any agent touched it: outside of the workspace, over runs.

A later run, or a resume, does not look for its checks in a tree that an agent has written to: what vanished from it
(a linter's section, a test folder) is still asked for.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import MsgspecError, Struct, convert, field, to_builtins
from msgspec.structs import replace

from aigon.errors import environment
from aigon.files.atomic import make_lasting, write_atomic
from aigon.files.checksums import damage_error, dump_with_sum, load_with_sum
from aigon.job.world import Attendant
from aigon.model.checks import Check, TestResult
from aigon.observation import Observation
from aigon.profiles.protection import Rule

VERSION = 3
LARGEST = 4 * 1024 * 1024
"""Bytes of a guarded file that are kept; what is larger is no script and no configuration."""


LINK, LEFT = 0o120000, -1
"""Modes of what is no ordinary file."""


class Guarded(Struct, frozen=True):
    """A file that is put back: its bytes and mode bits.

    Of a link (mode LINK) `data` is where it leads; what is no file or too large (mode LEFT) is known to be there.
    """

    data: bytes
    mode: int

    @property
    def whole(self) -> bool:
        """True if it is an ordinary file, of which every byte is known."""
        return self.mode not in (LINK, LEFT)


class Tested(Struct, frozen=True):
    """The tests that a check ran on the base, by id, and whether a report said so."""

    tests: Mapping[str, TestResult]
    reported: bool


def had_no_tests(tested: Tested | None) -> bool:
    """Return whether a check reported on the base that there is no test."""
    return tested is not None and tested.reported and not tested.tests


class ProtectedFiles(Struct, Attendant, frozen=True):
    """The files that decide, by path, as people left them: they are put back after each turn."""

    files: Mapping[str, Guarded] = field(default_factory=dict)


class Frozen(Struct, frozen=True):
    """`inputs` names what a person chose (configuration, flags); `theirs` are files that people changed since the base,
    with the commit that has their version; `tested` is by check name; `guarded` by path, `folders` are fingerprints of
    dependency folders by path; `passed` says by a criterion's key whether it passed at the base; `observed` says what
    deciding commands read there.
    """

    base: str
    root: str
    inputs: str
    checks: tuple[Check, ...] = ()
    theirs: Mapping[str, str] = field(default_factory=dict)
    tested: Mapping[str, Tested] = field(default_factory=dict)
    guarded: Mapping[str, Guarded] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    passed: Mapping[str, bool] = field(default_factory=dict)
    observed: Observation = field(default_factory=Observation)

    def version(self, path: str) -> str:
        """Return the commit whose version of a file counts as the base's: a person's later one, if there is one."""
        return self.theirs.get(path, self.base)


def load(file: Path) -> Frozen | None:
    """Return the record, or None. Raises AigonError (exit 7) for one that is damaged or too new.

    It must never seem as if nothing had been recorded, since then nothing would be protected.
    """
    try:
        document = load_with_sum(file.read_bytes())
        version = document.pop("schema_version")
        if isinstance(version, int) and version > VERSION:
            what = "The record of what decides this feature is from a newer aigon"
            raise environment(what, where=str(file), hint="Update aigon; the record is left as it is")
        return convert(document, Frozen)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, MsgspecError):
        raise damage_error("The record of what decides this feature", str(file)) from None


def copy_of(file: Path) -> Path:
    """Return the second copy of the record, which nothing could make anew once an agent has written to the tree."""
    return file.with_name(f"{file.name}.copy")


def save(file: Path, frozen: Frozen) -> None:
    """Write the record whole, twice: the copy first, so that it is never the older one."""
    make_lasting(file.parent)
    data = dump_with_sum({"schema_version": VERSION, **to_builtins(frozen)})
    write_atomic(copy_of(file), data)
    write_atomic(file, data, lasting=True)


def inputs_of(*parts: object) -> str:
    """Return a name for what a person chose."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def lasting(frozen: Frozen | None, now: Sequence[Check], root: str, inputs: str, base: str) -> tuple[Check, ...]:
    """Return the recorded checks and what has come since; all anew after a person's own change of them.

    Recorded programs that are gone (another interpreter, a moved repository) are looked up anew as well.
    """
    if frozen is None or (frozen.root, frozen.inputs, frozen.base) != (root, inputs, base):
        return tuple(now)
    found = {check.name: check for check in now}
    kept = {check.name: check if _can_start(check) else found.get(check.name, check) for check in frozen.checks}
    return tuple({**kept, **{name: check for name, check in found.items() if name not in kept}}.values())


def _can_start(check: Check) -> bool:
    program = check.argv[0] if check.argv else ""
    # The check of endpoints is a file of aigon's that an interpreter runs.
    own = [part for part in check.argv[1:3] if part.startswith("/") and part.endswith(".py")]
    there = not program.startswith("/") or os.access(program, os.X_OK)
    return not check.missing and there and all(map(os.path.exists, own))


def begin_record(
    known: Frozen | None, *, base: str, root: str, inputs: str, checks: Sequence[Check], theirs: Mapping[str, str]
) -> Frozen:
    """Return the record as a run begins: what is known of this base stays, what people changed since is theirs."""
    if known is None or known.base != base:
        return Frozen(base, root, inputs, tuple(checks), theirs)
    same = known.inputs == inputs and known.root == root
    return replace(
        known,
        root=root,
        inputs=inputs,
        checks=tuple(checks),
        theirs={**known.theirs, **theirs},
        tested=known.tested if same else {},
        passed=known.passed if same else {},
        observed=known.observed if same else Observation(),
    )


def with_base(
    frozen: Frozen, tested: Mapping[str, Tested], folders: Mapping[str, str], passed: Mapping[str, bool]
) -> Frozen:
    """Return the record with the base's tests, criteria and dependency folders, unless it knows them already."""
    return replace(
        frozen,
        tested={**tested, **frozen.tested},
        folders={**folders, **frozen.folders},
        passed={**passed, **frozen.passed},
    )
