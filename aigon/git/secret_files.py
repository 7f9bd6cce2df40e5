"""Secrets among changed files, by aigon's own list of shapes and by an installed scanner."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import Struct, field

from aigon.files.atomic import open_plain
from aigon.files.folders import TemporaryFolder
from aigon.git.listings import RawChange
from aigon.git.objects import read_beginnings
from aigon.git.trusted import TrustedGit
from aigon.model.turns import ProgramExit
from aigon.process import run
from aigon.secrets.leaks import Leak, find_leak

LARGEST = 32 << 20
"""Bytes of a file that are searched: files with secrets are smaller."""
Allowed = Callable[[str], bool]


class LeakPolicy(Struct, frozen=True):
    """The policy on whether something that looks like a secret may be committed.

    `tracked`: the base has the path; `held`: it holds the credential in any file; `allowed`: a person lets the path
    through. `values` are the person's secrets by name.
    """

    tracked: Callable[[str], bool]
    held: Callable[[bytes], bool]
    allowed: Allowed
    values: Mapping[bytes, str] = field(default_factory=dict)

    def leak(self, path: str, data: bytes) -> Leak | None:
        """Return why a file with this name and content must not be committed, if it must not."""
        if find_leak(path, data, values=self.values) is None or self.allowed(path):
            return None
        return find_leak(path, data, tracked=self.tracked(path), known=self.held, values=self.values)


def find_leaks(
    root: Path, changed: Iterable[str], tracked: Callable[[str], bool], known: Callable[[bytes], bool], allowed: Allowed
) -> tuple[Leak, ...]:
    """Return which of the `changed` paths below `root` must not be committed. Links are not followed."""
    policy = LeakPolicy(tracked, known, allowed)
    contents = ((path, data) for path in changed if (data := read_from_disk(root, path)) is not None)
    return tuple(leak for path, data in contents if (leak := policy.leak(path, data)))


def read_staged(git: TrustedGit, root: Path, changes: Iterable[RawChange]) -> Iterator[tuple[str, bytes]]:
    """Yield path and beginning of every plain file among these changes of the private index.

    The file of the work tree is read, unless git converted it or it changed since: then what git has. So nothing gets
    into a commit by an exchange while checks run.
    """
    rest: dict[str, list[str]] = {}
    for change in changes:
        if not change.modes[1].startswith("100"):
            continue
        path, name = change.path, change.objects[1]
        data = read_from_disk(root, path)
        if data is not None and _is_blob(name, data):
            yield path, data
        else:
            rest.setdefault(name, []).append(path)
    for name, data in read_beginnings(git, rest, LARGEST) if rest else ():
        yield from ((path, data) for path in rest[name])


def _is_blob(name: str, data: bytes) -> bool:
    blob = hashlib.new("sha1" if len(name) == 40 else "sha256", b"blob %d\0" % len(data), usedforsecurity=False)
    blob.update(data)
    return blob.hexdigest() == name


def read_from_disk(root: Path, path: str) -> bytes | None:
    """Return the beginning of a plain file; None for anything else. A pipe does not block."""
    with suppress(OSError), open_plain(f"{root}/{path}") as file:
        return file.read(min(LARGEST, os.fstat(file.fileno()).st_size + 1))
    return None


def make_tracked_check(git: TrustedGit, commit: str) -> Callable[[str], bool]:
    """Return a function that tells whether `commit` has a path."""
    return lambda path: git.attempt("cat-file", "-e", f"{commit}:{path}")[0] == 0


def make_content_check(git: TrustedGit, commit: str) -> Callable[[bytes], bool]:
    """Return a function that tells whether a line of `commit` has these bytes, which no command line shows."""
    return lambda value: git.attempt("grep", "-q", "-a", "-F", "-f", "-", commit, stdin=value + b"\n")[0] == 0


def unstage(git: TrustedGit, parent: str, paths: Sequence[str]) -> None:
    """Reset `paths` in aigon's private index to the commit `parent` (a full hash); the work tree stays as it is."""
    listed = git.run("ls-tree", "-z", "--full-tree", parent, "--", *paths).split(b"\0")
    gone = [b"0 " + b"0" * len(parent) + b"\t" + os.fsencode(path) for path in paths]
    back = [entry for entry in listed if entry and not entry.startswith(b"040000")]
    git.run("update-index", "-z", "--index-info", stdin=b"".join(line + b"\0" for line in (*gone, *back)))


SCANNER_NAMES = ("betterleaks", "gitleaks")
SCAN_SECONDS = 120.0
"""The longest that one look may take."""
_NEEDED = frozenset({"File", "StartLine", "RuleID", "Secret"})
RULES = (".betterleaks.toml", ".gitleaks.toml")


class SecretScanner(Struct):
    """A secret scanner: gitleaks (v8.19 or later), or betterleaks by the same people.

    The files are copied to a folder of their own, so that neither configuration nor ignore files count that an agent
    could leave near them; comments in them (`gitleaks:allow`) do not count either. `program` is an absolute path, ""
    for none; `env` its environment; `rules` those of the project's base. A scanner that fails is not asked again;
    `troubles` are sentences for people, each of which is said once.
    """

    program: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    rules: bytes = b""
    troubles: list[str] = field(default_factory=list)

    @property
    def chosen(self) -> bool:
        """True if the person's environment names the rules."""
        places = (f"{name}_CONFIG{form}" for name in ("GITLEAKS", "BETTERLEAKS") for form in ("", "_TOML"))
        return any(self.env.get(place) for place in places)

    def leaks(self, files: Sequence[tuple[str, bytes]], known: LeakPolicy) -> tuple[Leak, ...]:
        """Return what it finds in these files (path and content) that is neither in the base nor allowed."""
        if not self.program or not files:
            return ()
        try:
            return tuple(self._leaks(files, known))
        except (OSError, ValueError, TypeError, KeyError, IndexError) as error:
            name, self.program = Path(self.program).name, ""
            why = str(error) or type(error).__name__
            self.troubles.append(f"{name} is no longer asked; aigon keeps looking for known token shapes: {why}")
            return ()

    def take_troubles(self) -> Iterator[str]:
        """Yield each trouble once."""
        while self.troubles:
            yield self.troubles.pop(0)

    def _leaks(self, files: Sequence[tuple[str, bytes]], known: LeakPolicy) -> Iterator[Leak]:
        with TemporaryFolder("scan") as folder:
            findings = self._scan(folder, files)
        for finding in findings:
            path = files[int(PurePosixPath(str(finding["File"])).parts[0])][0]
            secret = str(finding["Secret"]).encode("utf-8", "surrogateescape")
            if secret and not known.allowed(path) and not any(known.held(line) for line in secret.splitlines()):
                why = " ".join(str(finding.get("Description") or "").split())[:120]
                rule, line = finding["RuleID"], int(finding["StartLine"])
                yield Leak(path, f"{Path(self.program).name} found {rule} ({why})", line)

    def _scan(self, folder: Path, files: Sequence[tuple[str, bytes]]) -> list[dict[str, Any]]:
        """Return the findings, with `File` relative to the folder that holds every file under its number."""
        place, report = folder / "files", folder / "report.json"
        for number, (path, data) in enumerate(files):
            file = place / str(number) / _make_safe_path(path)
            file.parent.mkdir(parents=True)
            file.write_bytes(data)
        words = ["dir", ".", "--report-format", "json", "--report-path", str(report), "--exit-code", "0"]
        words += ["--no-banner", "--no-color", "--log-level", "error", "--ignore-gitleaks-allow"]
        if self.rules:
            (folder / "rules.toml").write_bytes(self.rules)
            words += ["--config", str(folder / "rules.toml")]
        exited = run.run(run.Command((self.program, *words), place, self.env, deadline=SCAN_SECONDS))
        if exited.exit_code != 0:
            raise ValueError(_describe_exit(exited))
        document = json.loads(report.read_bytes() or b"[]") or []
        if not isinstance(document, list) or not all(isinstance(row, dict) and {*row} >= _NEEDED for row in document):
            raise ValueError("its report is not in the form that is known")
        return [{**row, "File": str(row["File"]).removeprefix(f"{place}/").removeprefix("./")} for row in document]


def _make_safe_path(path: str) -> str:
    """Return a path that stays in its folder and does not have a name by which a scanner takes orders."""
    name = PurePosixPath(path)
    plain = "/".join(part for part in name.parts if part not in ("/", "..", "."))
    return f"{plain}.txt" if name.name.startswith((".gitleaks", ".betterleaks")) else plain or "file"


def _describe_exit(exited: ProgramExit) -> str:
    if exited.timed_out:
        return f"it took longer than {SCAN_SECONDS:g} s"
    lines = (exited.start_error or exited.stdout.decode("utf-8", "replace")).strip().splitlines()
    return lines[-1][:300] if lines else f"it exited with {exited.exit_code}"


def find_scanner(wanted: str, env: Mapping[str, str], root: Path) -> SecretScanner:
    """Find the scanner that a configuration wants (`auto`: the first on PATH), before any agent works.

    One inside of `root` is ignored, as an agent could change it.
    """
    if wanted == "none":
        return SecretScanner()
    names = SCANNER_NAMES if wanted == "auto" else (wanted,)
    programs = (shutil.which(name, path=env.get("PATH")) for name in names)
    inside = root.resolve()
    program = next((p for p in programs if p and not Path(p).resolve().is_relative_to(inside)), "")
    if program or wanted == "auto":
        return SecretScanner(program, env)
    return SecretScanner(
        troubles=[f"{wanted} is not on PATH (secrets.scanner): aigon's own list of token shapes decides"]
    )
