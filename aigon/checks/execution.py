"""Run one check: its command line, its reports, its finding."""

import os
import posixpath
import re
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import dropwhile
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from aigon.checks import reports
from aigon.checks.endpoints.plan import BROKEN
from aigon.checks.evidence import Evidence, has_run, weigh_hidden_reports, weigh_own_report, weigh_placed_reports
from aigon.config.loading import build_tool_path
from aigon.files.folders import TemporaryFolder
from aigon.isolation.check_sandbox import CheckSandbox
from aigon.isolation.enclosure import find_system_shell
from aigon.job.results import Measurement, Result
from aigon.job.world import Attendant, CheckStart, TreeUse, World
from aigon.model.checks import Check, CheckStatus, Finding
from aigon.model.turns import ProgramExit
from aigon.process import run as process
from aigon.process.orphans import is_zombie, list_descendants
from aigon.secrets.redaction import redact_value
from aigon.text import quoting
from aigon.text.amounts import spell_duration
from aigon.text.patterns import compile_re

CRITERION = "spec"
"""The source of a criterion's own command: what it prints on standard error is in the log, but is no measurement."""
SETUP = "setup"
"""The source of a command that makes a dependency folder, which every check finds."""
_EXCERPT_LINES, _EXCERPT_CHARACTERS = 30, 3000
_ENDPOINTS = "endpoints"
"""The parser of aigon's own program for endpoints, whose command line is not what a person would type."""
_RUNNER = compile_re(
    r"(?:g?make(?:\[\d+\])?|npm|error: Recipe|task): |npm (?:ERR!|error)|\s*ELIFECYCLE\b|error Command failed\b"
    r"|Node\.js v\d|\s+at .*[:(]"
)
"""What make, npm, pnpm, yarn, just, Task and Node add below what a command of theirs printed; frames of a stack."""
_ASSIGNED = compile_re(r"\w+=")
_PLACES = ("{report}", "{scratch}")
_NOT_FOUND = (126, 127)
"""What a shell exits with if a command is not executable or not found (POSIX)."""


def run_check(world: World, check: Check, folder: Path) -> Result:
    """Run `check` where the world's checks run; its whole output goes to `<folder>/<name>.log`."""
    if check.missing:
        return Result(make_error(check, f"{check.missing} is not installed. {check.hint}".strip()))
    log, prepared = locate_log(check, folder), world.find(PreparedCheck)
    scratch = (prepared.take(check.name) if prepared else None) or TemporaryFolder("check")
    try:
        execution = _Execution(world, check, scratch.path, log)
        exited, evidence, measured = execution.measure() if check.quantity else (*execution.run(), None)
    finally:
        world.aside.submit(scratch.close)  # nobody waits for it
    whole = replace(exited, stdout=exited.stdout + exited.stderr)
    # Redacted once more: reports spell texts in their own way.
    finding = redact_value(make_finding(check, whole, evidence, str(log)), world.redact)
    return Result(finding, exited.stdout, evidence.tests, evidence.reported, measured)


class PreparedCheck(Struct, Attendant):
    """The check whose sandbox is being made, and the folder that it may write."""

    name: str = ""
    scratch: TemporaryFolder | None = None

    def take(self, name: str) -> TemporaryFolder | None:
        """Return the folder if it was made for the check of this name."""
        if self.name != name:
            return None
        self.name, scratch, self.scratch = "", self.scratch, None
        return scratch

    def close(self) -> None:
        """Remove a folder that no check used."""
        if self.scratch:
            self.scratch.close()


def prepare_check(world: World, checks: Sequence[Check]) -> None:
    """Let the sandbox of one of these checks be made while aigon does other things.

    No program of an agent or a check may be running.
    """
    box = world.find(CheckSandbox)
    if box is None or box.mechanism != "namespaces" or world.place:
        return
    plain = (check for check in checks if box.confines(check.name) and not (check.remember or check.writes))
    if check := next(plain, None):
        prepared = world.get(PreparedCheck)
        with suppress(OSError):  # the start says what is wrong
            prepared.scratch = prepared.scratch or TemporaryFolder("check")
            prepared.name = check.name
            execution = _Execution(world, check, prepared.scratch.path, Path(os.devnull))
            process.prepare(box.prepare(world.workspace.root / check.cwd, execution.start))


def locate_log(check: Check, folder: Path) -> Path:
    """Return where the whole output of a check goes."""
    return folder / f"{re.sub(r'[^A-Za-z0-9._-]', '_', check.name)}.log"


class _Execution:
    """One run of a check with an empty folder `scratch` of its own."""

    def __init__(self, world: World, check: Check, scratch: Path, log: Path) -> None:
        self._world, self._check, self._scratch, self._log = world, check, scratch, log
        tree: TreeUse = "shared" if check.source == SETUP else "build" if check.makes_products else "own"
        self.start = CheckStart(check.name, scratch, tree=tree)

    def run(self) -> tuple[ProgramExit, Evidence]:
        """Run the check in the way in which its reports can be had."""
        check = self._check
        if any("{report}" in part for part in (*check.argv, *check.env.values())):
            exited = self._run({name: self._fill(value) for name, value in check.env.items()})
            content = reports.read_report(self._scratch / "report")
            return exited, weigh_own_report(check, self._read_output(exited), content, self._clean)
        return self._run_placing() if check.reports else self._run_watched()

    def measure(self) -> tuple[ProgramExit, Evidence, Measurement | None]:
        """Run the check as often as it takes to measure it; the last run counts."""
        check = self._check
        nothing = replace(check, argv=(*check.argv[:-1], ":"))
        idle = _Execution(self._world, nothing, self._scratch, Path(os.devnull))
        exited, measured = measure_seconds(
            lambda: self._run(check.env), lambda: idle._run(check.env), check.enough, check.runs
        )
        output, green = self._read_output(exited), exited.exit_code == 0
        return exited, weigh_hidden_reports(check, output, (), self._clean, green=green), measured

    def _run_placing(self) -> tuple[ProgramExit, Evidence]:
        """Run a check that places its reports itself, somewhere in its folder."""
        check, place = self._check, self._world.checks_run_in
        folder = place.find_files(self.start) / check.cwd
        with reports.set_reports_aside(folder, check.reports, self._scratch):
            exited = self._run(check.env)
            contents = list(reports.read_placed(folder, check.reports))
        output, green = self._read_output(exited), exited.exit_code == 0
        return exited, weigh_placed_reports(check, output, contents, self._clean, green=green)

    def _run_watched(self) -> tuple[ProgramExit, Evidence]:
        """Run a check that may start pytest somewhere inside."""
        hidden = reports.HiddenReports(self._scratch)
        exited = self._run(self._check.env, hidden)
        hidden.move_away()
        if hidden.were_refused(exited.stdout + exited.stderr):
            exited = self._run(self._check.env)
        out, err = (hidden.strip_notice(text) for text in (exited.stdout, exited.stderr))
        exited = replace(exited, stdout=out, stderr=err)
        output, green = self._read_output(exited), exited.exit_code == 0
        return exited, weigh_hidden_reports(self._check, output, hidden.read(), self._clean, green=green)

    def _run(self, check_env: Mapping[str, str], hidden: reports.HiddenReports | None = None) -> ProgramExit:
        check, place = self._check, self._world.checks_run_in
        folder = place.root / check.cwd
        env = {**place.env, **check_env}
        if check.cwd != ".":  # a project in a folder has its own tools; lent ones lie at the same path
            env["PATH"] = build_tool_path(folder, env.get("PATH", ""))
        argv = [self._fill(part) for part in check.argv]
        # Words of a shell are read by the system's own: one that an agent put on PATH says yes to everything.
        shell = find_system_shell(argv[0]) if argv and argv[0] in ("bash", "sh") else None
        command = process.Command(
            place.wrap_command([shell, *argv[1:]] if shell else argv, folder, self.start),
            cwd=place.start_in or folder,
            env=hidden.env(env) if hidden else env,
            deadline=check.timeout,
            log=self._log,
            merge=check.source != CRITERION,
            redact=self._world.redact,
            started=self._world.guardian.record_start,
            slowed=check.slowed,
            tick=(reports.PAUSE, hidden.move_away) if hidden else None,
        )
        return process.run(command, self._world.stop)

    def _fill(self, text: str) -> str:
        report = str(self._scratch / "report")
        return text.replace("{report}", report).replace("{scratch}", str(self._scratch))

    def _read_output(self, exited: ProgramExit) -> bytes:
        return self._relativize(exited.stdout + exited.stderr)

    def _clean(self, text: bytes) -> bytes:
        return self._world.redact(self._relativize(text))

    def _relativize(self, text: bytes) -> bytes:
        """Return `text` with paths as seen from the check's folder, under whichever name the tool saw the project."""
        root, folder = self._world.checks_run_in.root, "" if self._check.cwd == "." else f"{self._check.cwd}/"
        up = "../" * folder.count("/")
        for name in {f"{root}/", f"{os.path.realpath(root)}/"}:
            if folder:
                text = text.replace(f"{name}{folder}".encode(), b"")
            text = text.replace(name.encode(), up.encode())
        return text


def make_finding(check: Check, exited: ProgramExit, evidence: Evidence, log: str) -> Finding:
    """Return the finding of a check that was run. `exited.stdout` is all that it printed."""
    reading = evidence.reading
    status, summary = _decide_status(check, exited, evidence)
    has_passed = status == "pass"

    def locate(file: str) -> str:
        """Return a file as the project calls it: tools name it from the folder that they run in."""
        if check.cwd == "." or not file or file.startswith("/") or ":" in file:
            return file
        path = posixpath.normpath(f"{check.cwd}/{file}")
        return file if path.startswith("../") else path

    # Lines of a passing run that look like errors are none.
    shown = (problem for problem in reading.problems if not has_passed or problem.severity == "warning")
    problems = tuple(replace(problem, file=locate(problem.file)) for problem in shown)
    printed = quoting.strip_escapes(exited.stdout[-4 * _EXCERPT_CHARACTERS :].decode(errors="replace"))
    excerpt = "\n".join(printed.strip().splitlines()[-_EXCERPT_LINES:])[-_EXCERPT_CHARACTERS:]
    errors = [problem for problem in problems if problem.severity == "error"]
    names = [quoting.fingerprint(check.name, p.test or p.file, p.rule, p.message) for p in errors]
    names = names or [quoting.fingerprint(check.name, summary, excerpt)]
    return Finding(
        check=check.name,
        role=check.role,
        title=check.title,
        status=status,
        summary=summary,
        command=render_command(check),
        exit_code=exited.exit_code,
        duration=exited.duration,
        counts=reading.counts,
        problems=problems,
        fingerprints=() if has_passed else tuple(dict.fromkeys(names)),
        excerpt="" if has_passed else excerpt,
        log=log,
    )


def _decide_status(check: Check, exited: ProgramExit, evidence: Evidence) -> tuple[CheckStatus, str]:
    """Return the status and the summary. The exit code decides; a pass also needs reports to bear it out."""
    reading, code = evidence.reading, exited.exit_code
    if exited.start_error:
        return "error", f"It did not start: {exited.start_error}"
    if exited.killed:
        return "error", "stopped before it ended"
    if exited.timed_out:
        return "error", f"timed out after {spell_duration(check.timeout)}"
    if code == 0:
        return evidence.doubt or ("pass", reading.summary or "passed")
    last = _find_last_line(exited.stdout)
    if check.parser == _ENDPOINTS and (code == BROKEN or not reading.understood):
        # The server did not come up, or ended: nothing is known of what it would have answered.
        lost = f"it ended without a report (exit {code}): {last or 'no output'}"
        return "error", reading.summary if reading.understood else lost
    if code in _NOT_FOUND and not reading.understood:
        return "error", f"a command {'was not found' if code == 127 else 'could not be run'} (exit {code}): {last}"
    if reading.counts is not None and not has_run(reading.counts):
        return "fail", reading.summary or "no tests collected"
    if reading.summary and (reading.problems or reading.counts):
        return "fail", reading.summary
    return "fail", f"exit {code}: {last or 'no output'}"


def _find_last_line(output: bytes) -> str:
    lines = quoting.strip_escapes(output[-4000:].decode(errors="replace")).strip().splitlines()
    own = [line for line in lines if line.strip() and not _RUNNER.match(line)] or lines
    return own[-1].strip()[:200] if own else ""


def render_command(check: Check) -> str:
    """Return the command as a person would type it: a script itself, a program by its name, no report options."""
    argv = check.argv

    def is_report_option(number: int) -> bool:
        """Return whether an argument holds the place of a report, or is the option whose value that is."""
        following = argv[number + 1] if number + 1 < len(argv) else ""
        holds = any(place in argv[number] for place in _PLACES)
        is_value = not following.startswith("-") and any(place in following for place in _PLACES)
        return holds or (argv[number].startswith("-") and is_value)

    if check.shown:
        return check.shown
    if argv and Path(argv[0]).name == "bash":
        if argv[-2:-1] == ("-c",):
            return argv[-1]
        if argv[1:2] == ("-c",) and len(argv) > 3:
            return argv[3]  # a script with arguments has a name, which says more
    if check.parser == _ENDPOINTS and "--" in argv:
        return render_command(replace(check, parser=None, argv=argv[argv.index("--") + 1 :]))
    parts = [part for number, part in enumerate(argv) if not is_report_option(number)]
    if parts[:1] and Path(parts[0]).name == "env":
        parts = list(dropwhile(_ASSIGNED.match, parts[1:]))
    return shlex.join([Path(parts[0]).name, *parts[1:]]) if parts else ""


def make_error(check: Check, why: str) -> Finding:
    """Return the finding of a check that could not run."""
    names = (quoting.fingerprint(check.name, why),)
    return Finding(check.name, check.role, check.title, "error", why, render_command(check), fingerprints=names)


def make_skipped(check: Check, why: str) -> Finding:
    """Return the finding of a check that was not run: it is not a pass."""
    return Finding(check.name, check.role, check.title, "skipped", f"skipped: {why}", render_command(check))


RUNS = 5
"""How often a command is run at most; the quickest run counts, since other programs can only make one slower."""
LONGEST = 60.0
"""Seconds after which no further run begins: other programs hardly slow down what takes that long."""
HOPELESS = 10
"""How many times longer than it may a command takes if no further run can help."""
PAUSE = 0.002
"""Seconds between two looks at what a command left running."""

Run = Callable[[], ProgramExit]


def measure_seconds(run: Run, run_nothing: Run, enough: float, most: int) -> tuple[ProgramExit, Measurement | None]:
    """Return the last run, and the seconds of the quickest without those that an empty script takes there.

    No other follows once one took at most `enough`, or `most` are made. A run that fails is what counts: then nothing
    was measured.
    """
    began, best, idle, runs = time.monotonic(), float("inf"), float("inf"), 0
    while runs < most and enough < best and (not runs or best <= HOPELESS * enough):
        if time.monotonic() - began > LONGEST:
            break
        idle = min(idle, run_nothing().duration)
        ended = _run_to_the_end(run, enough + idle)
        if ended.exit_code != 0:
            return ended, None
        best, runs = min(best, max(0.0, ended.duration - idle)), runs + 1
    return replace(ended, duration=time.monotonic() - began), Measurement(best, runs)


def _run_to_the_end(run: Run, enough: float) -> ProgramExit:
    """Run a command; its time ends with the last process that it started, even one that left it.

    That is not waited for once the time is more than `enough`. On Linux such a process falls to aigon, which adopts
    orphans.
    """
    before = frozenset(list_descendants())
    ended, exited, late = run(), time.monotonic(), 0.0
    while ended.duration + late <= enough:
        if all(pid in before or is_zombie(pid) for pid in list_descendants()):
            break
        time.sleep(PAUSE)
        late = time.monotonic() - exited
    return replace(ended, duration=ended.duration + late)
