"""A kept scanner for secrets, where one is installed: gitleaks, or betterleaks by the same people.

Their interface (v8.19 and later, and v1): `dir PATH --report-format json --report-path FILE --exit-code 0`, which is a
list of objects with `File`, `StartLine`, `RuleID`, `Description` and `Secret`. The files are written into a folder of
their own, so that neither the configuration nor the ignore files that an agent could leave beside them count; nor do
comments in the files (`gitleaks:allow`).
"""

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from aigon.git.secret_files import Known
from aigon.model.turns import ProgramExit
from aigon.process import run
from aigon.secrets.leaks import Leak

NAMES = ("betterleaks", "gitleaks")
SECONDS = 120.0
"""The longest that one look may take."""
_NEEDED = frozenset({"File", "StartLine", "RuleID", "Secret"})
RULES = (".betterleaks.toml", ".gitleaks.toml")


@dataclass(slots=True)
class Scanner:
    """`program` is the absolute path of one, "" for none; `env` what it sees; `rules` the project's own, as its base
    has them.

    One that fails is not asked again; `troubles` are sentences for people, each of which is said once.
    """

    program: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    rules: bytes = b""
    troubles: list[str] = field(default_factory=list)

    @property
    def chosen(self) -> bool:
        """Whether the person's environment says which rules count."""
        places = (f"{name}_CONFIG{form}" for name in ("GITLEAKS", "BETTERLEAKS") for form in ("", "_TOML"))
        return any(self.env.get(place) for place in places)

    def leaks(self, files: Sequence[tuple[str, bytes]], known: Known) -> tuple[Leak, ...]:
        """What it finds in these files, given by path and content, that is not in the base and not allowed."""
        if not self.program or not files:
            return ()
        try:
            return tuple(self._leaks(files, known))
        except (OSError, ValueError, TypeError, KeyError, IndexError) as error:
            self._give_up(str(error) or type(error).__name__)
            return ()

    def said(self) -> Iterator[str]:
        """What is to be said of it, once."""
        while self.troubles:
            yield self.troubles.pop(0)

    def _leaks(self, files: Sequence[tuple[str, bytes]], known: Known) -> Iterator[Leak]:
        with tempfile.TemporaryDirectory(prefix="aigon-scan-", ignore_cleanup_errors=True) as name:
            found = self._found(Path(name), files)
        for each in found:
            path = files[int(PurePosixPath(str(each["File"])).parts[0])][0]
            secret = str(each["Secret"]).encode("utf-8", "surrogateescape")
            if secret and not known.allowed(path) and not any(known.held(line) for line in secret.splitlines()):
                why = " ".join(str(each.get("Description") or "").split())[:120]
                yield Leak(path, f"{Path(self.program).name} found {each['RuleID']} ({why})", int(each["StartLine"]))

    def _found(self, folder: Path, files: Sequence[tuple[str, bytes]]) -> list[dict[str, Any]]:
        """The findings, with `File` relative to the folder in which every file lies under its number."""
        place, report = folder / "files", folder / "report.json"
        for number, (path, data) in enumerate(files):
            file = place / str(number) / _safe(path)
            file.parent.mkdir(parents=True)
            file.write_bytes(data)
        exited = run.run(self._command(folder, place, report))
        if exited.exit_code != 0:
            raise ValueError(_why(exited))
        document = json.loads(report.read_bytes() or b"[]") or []
        if not isinstance(document, list) or not all(
            isinstance(each, dict) and {*each} >= _NEEDED for each in document
        ):
            raise ValueError("its report is not in the form that is known")
        return [{**each, "File": str(each["File"]).removeprefix(f"{place}/").removeprefix("./")} for each in document]

    def _command(self, folder: Path, place: Path, report: Path) -> run.Command:
        words = ["dir", ".", "--report-format", "json", "--report-path", str(report), "--exit-code", "0"]
        words += ["--no-banner", "--no-color", "--log-level", "error", "--ignore-gitleaks-allow"]
        if self.rules:
            rules = folder / "rules.toml"
            rules.write_bytes(self.rules)
            words += ["--config", str(rules)]
        return run.Command((self.program, *words), place, self.env, deadline=SECONDS)

    def _give_up(self, why: str) -> None:
        name = Path(self.program).name
        self.program = ""
        self.troubles.append(f"{name} is no longer asked; aigon keeps looking for known token shapes: {why}")


def _safe(path: str) -> str:
    """A path without what leads out of a folder, and without the names by which a scanner would be told what to do."""
    name = PurePosixPath(path)
    plain = "/".join(part for part in name.parts if part not in ("/", "..", "."))
    return f"{plain}.txt" if name.name.startswith((".gitleaks", ".betterleaks")) else plain or "file"


def _why(exited: ProgramExit) -> str:
    if exited.timed_out:
        return f"it took longer than {SECONDS:g} s"
    lines = (exited.start_error or exited.stdout.decode("utf-8", "replace")).strip().splitlines()
    return lines[-1][:300] if lines else f"it exited with {exited.exit_code}"


def found(wanted: str, env: Mapping[str, str], root: Path) -> Scanner:
    """The scanner that a configuration wants (`auto`: the first there is), looked up now, before any agent.

    One inside of `root` is none: it would be an agent's to change.
    """
    if wanted == "none":
        return Scanner()
    names = NAMES if wanted == "auto" else (wanted,)
    programs = (shutil.which(name, path=env.get("PATH")) for name in names)
    program = next((place for place in programs if place and not _inside(place, root)), "")
    if program or wanted == "auto":
        return Scanner(program, env)
    return Scanner(troubles=[f"{wanted} is not on PATH (secrets.scanner): aigon's own list of token shapes decides"])


def _inside(place: str, root: Path) -> bool:
    return Path(place).resolve().is_relative_to(root.resolve())
