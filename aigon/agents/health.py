"""Examine every agent: installed, in which version, able to work here, and if not, what to do."""

import json
import re
import shutil
import signal
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from itertools import zip_longest
from pathlib import Path

from msgspec import Struct

from aigon.agents.adapters._program import describe_exit
from aigon.agents.credentials import describe_withheld, list_withheld_secrets
from aigon.agents.obstacles import NEVER_CHOSEN, Obstacles, find_obstacles, is_root
from aigon.checks.project import find_node
from aigon.errors import AigonError
from aigon.files import atomic
from aigon.model.agents import AgentType
from aigon.model.outcomes import AgentHealth
from aigon.model.turns import Agent
from aigon.process import run
from aigon.process.run import Command, EndingSteps
from aigon.process.stop import Stop
from aigon.text.patterns import compile_re
from aigon.text.quoting import strip_escapes

LONGEST_ANSWER = 60.0
"""Seconds that a program may take to say its version. The slowest of the agents that were measured takes 3.3 s, many
times that on a busy machine, and one may unpack itself at its first start: ended in the middle, it would begin anew."""
_OVER: EndingSteps = ((signal.SIGTERM, 1.0), (signal.SIGKILL, 2.0))
_QUIET = {"NO_COLOR": "1", "NO_UPDATE_NOTIFIER": "1", "DISABLE_AUTOUPDATER": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}
"""A question for the version is no reason to update anything."""
_VERSION = compile_re(r"(?<![\w.])v?(\d+(?:\.\d+)+(?:[-+.][0-9A-Za-z.+-]*[0-9A-Za-z])?)(?![\w])")
_OFFER = compile_re(r"(?i)\b(?:updates?|upgrades?|available|deprecat\w*|warn\w*)\b")
"""What programs print next to their own version about other versions."""
_SHOWN = 40
_FARTHEST = 5
"""Folders above a program in which its package.json is looked for."""
_LARGEST = 1024 * 1024
_PLAIN = {"--version", "-version", "-V", "-v", "version"}
"""The questions that a type which came with the repository may put to a program: it is not to run what it likes."""


class VersionReply(Struct, frozen=True):
    """The version of a program, "" if it is not known; `problem` is why it cannot work, `remark` what is unknown."""

    version: str = ""
    problem: str = ""
    remark: str = ""


VersionQuestion = tuple[str, ...]
"""A command line that prints a version."""


def ask_versions(
    questions: Sequence[VersionQuestion], cwd: Path, env: Mapping[str, str], longest: float = LONGEST_ANSWER
) -> dict[VersionQuestion, VersionReply]:
    """Return what each command line said of its version, within `longest` seconds. Only that is taken from its output.

    Raises SystemExit (130, 143) when aigon is told to end meanwhile; what was started has ended then.
    """
    each = list(dict.fromkeys(questions))
    if not each:
        return {}
    with closing(Stop()) as stop, stop.handling(), ThreadPoolExecutor(len(each)) as pool:
        replies = [pool.submit(_ask_version, question, cwd, {**_QUIET, **env}, stop, longest) for question in each]
        while wait(replies, timeout=0.2).not_done:
            if stop.asked:
                stop.halt()
    if stop.reason:
        raise SystemExit(int(stop.exit_code))
    return {question: reply.result() for question, reply in zip(each, replies, strict=True)}


def _ask_version(argv: VersionQuestion, cwd: Path, env: Mapping[str, str], stop: Stop, longest: float) -> VersionReply:
    exited = run.run(Command(argv, cwd, env, deadline=longest, ladder=_OVER, merge=False), stop)
    asked = " ".join((Path(argv[0]).name, *argv[1:]))
    if exited.timed_out:
        return VersionReply(remark=f"its version is not known: `{asked}` did not answer within {longest:g} s")
    if exited.exit_code is None:
        return VersionReply(problem=f"it does not start: {exited.start_error.partition(':')[0].lower()}")
    if exited.exit_code:
        how = describe_exit(exited.exit_code).replace("exited", "exits").replace("ended", "ends")
        return VersionReply(problem=f"`{asked}` {how}")
    return VersionReply(find_version(exited.stdout) or find_version(exited.stderr))


def find_version(output: bytes) -> str:
    """Return the first thing in an output that looks like a version: numbers with dots between them."""
    lines = strip_escapes(output[:100_000].decode("utf-8", "replace")).splitlines()
    for line in sorted(lines, key=lambda line: bool(_OFFER.search(line))):
        if found := _VERSION.search(line):
            return found[1][:_SHOWN]
    return ""


def find_installed_version(program: str) -> str:
    """Return the version that npm or pip recorded for a program; empty if neither installed it. Nothing is started."""
    try:
        place = Path(program).resolve()
        return _read_npm_version(place, Path(program).name) or _read_pip_version(place)
    except (OSError, RuntimeError):
        return ""


def _read_npm_version(place: Path, name: str) -> str:
    """Return the version in the `package.json` that has the program among its own."""
    for folder in list(place.parents)[:_FARTHEST]:
        try:
            package = json.loads(atomic.read_bounded(folder / "package.json", _LARGEST, "A package.json", hint=""))
        except (OSError, AigonError, ValueError, RecursionError):
            continue
        programs = package.get("bin") if isinstance(package, dict) else None
        if name in programs if isinstance(programs, dict) else bool(programs):
            return str(package.get("version", ""))[:_SHOWN]
    return ""


def _read_pip_version(place: Path) -> str:
    """Return the version of the distribution in the same environment that has a command of this name."""
    command = re.compile(rf"^{re.escape(place.name)}\s*=", re.MULTILINE)
    for file in sorted(place.parent.parent.glob("lib/python3*/site-packages/*.dist-info/entry_points.txt")):
        if command.search(file.read_text("utf-8", "replace")):
            return file.parent.name.removesuffix(".dist-info").rpartition("-")[2][:_SHOWN]
    return ""


def parse_version(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version, to compare it. `2.36.1-rc1` is (2, 36, 1)."""
    release = re.match(r"\d+(?:\.\d+)*", version.removeprefix("v"))
    return tuple(int(number) for number in release[0].split(".")) if release else ()


def compare_versions(version: str, tested: str) -> str:
    """Return a remark on a version that differs from the tested one; empty without one."""
    here, there = parse_version(version), parse_version(tested)
    differences = (a - b for a, b in zip_longest(here, there, fillvalue=0) if a != b)
    difference = next(differences, 0) if here and there else 0
    return f"{'older' if difference < 0 else 'newer'} than {tested}, which aigon was tried with" if difference else ""


class AgentToExamine(Struct, frozen=True):
    """An agent to examine; `foreign` for one whose type came with the repository, not from aigon or the person."""

    agent: Agent
    kind: AgentType
    configured: bool = False
    foreign: bool = False


class _Examined(Struct, frozen=True):
    """An agent, what keeps it from working, its version if that is `known` without asking, and what to ask."""

    patient: AgentToExamine
    at: Obstacles
    known: str = ""
    version: VersionQuestion = ()
    node: VersionQuestion = ()


def examine_agents(patients: Iterable[AgentToExamine], root: Path, env: Mapping[str, str]) -> tuple[AgentHealth, ...]:
    """Return the health of every agent. All programs are asked for their versions at the same time."""
    examined = [_examine(patient, root, env) for patient in patients]
    replies = ask_versions([q for one in examined for q in (one.version, one.node) if q], root, env)
    return tuple(_build_health(one, replies, env) for one in examined)


def _examine(patient: AgentToExamine, root: Path, env: Mapping[str, str]) -> _Examined:
    at = find_obstacles(patient.agent, root, env)
    if not at.path:
        return _Examined(patient, at)
    kind = patient.kind
    allowed = not patient.foreign or ({*kind.version} <= _PLAIN and not Path(at.path).is_relative_to(root))
    node = find_node(at.path) if kind.needs.get("node") else None
    place = shutil.which(node, path={**env, **patient.agent.env}.get("PATH")) if node else None
    known = find_installed_version(at.path)
    version = (at.path, *kind.version) if kind.version and allowed and not known else ()
    return _Examined(patient, at, known, version, (place, "--version") if place else ())


def _build_health(
    one: _Examined, replies: Mapping[VersionQuestion, VersionReply], env: Mapping[str, str]
) -> AgentHealth:
    agent, kind, at = one.patient.agent, one.patient.kind, one.at
    version = replies.get(one.version, VersionReply(one.known))
    unfit = (version.problem, _explain_node(one, replies.get(one.node, VersionReply())))
    problems = (*(problem for problem in unfit if problem), *at.problems)
    there = bool(at.path) or not kind.program
    return AgentHealth(
        name=agent.name,
        title=kind.title,
        kind=kind.name,
        state="not installed" if not there else "not ready" if problems else "ready",
        configured=one.patient.configured,
        program=kind.program or (agent.command[0] if agent.command else ""),
        path=at.path,
        version=version.version,
        tested=kind.tested,
        source=kind.source,
        problems=problems,
        remarks=tuple(filter(None, _list_remarks(one, version, env))) if there else (),
        seen=at.seen,
        install=kind.install,
        login=kind.login,
        as_root=kind.as_root,
    )


def _explain_node(one: _Examined, node: VersionReply) -> str:
    """Return what is wrong with the Node that the program would start."""
    wanted = one.patient.kind.needs.get("node", "")
    if node.problem:
        return f"it needs Node {wanted} or newer: {node.problem}"
    if not node.version or parse_version(node.version) >= parse_version(wanted):
        return ""
    return f"it needs Node {wanted} or newer; {one.node[0]} is {node.version}"


def _list_remarks(one: _Examined, version: VersionReply, env: Mapping[str, str]) -> tuple[str, ...]:
    agent, kind = one.patient.agent, one.patient.kind
    unknown = bool(one.version) and not version.version and not version.problem
    works_as_root = is_root({**env, **agent.env}) and kind.as_root.lower().startswith("works")
    # A person whose program finds no key has to learn why.
    kept = list_withheld_secrets(env, agent, kind) if kind.name == "command" else ()
    return (
        compare_versions(version.version, kind.tested),
        version.remark or ("its version is not known" if unknown else ""),
        "known from its documentation alone, never run by aigon's tests" if kind.source == "docs" else "",
        f"as root: {kind.as_root}" if works_as_root and kind.as_root.lower() != "works" else "",
        kind.note if kind.name not in NEVER_CHOSEN else "",
        describe_withheld(agent, kept) if kept else "",
    )
