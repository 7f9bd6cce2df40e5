"""What real programs printed, trimmed to what a reader needs of it, and stand-ins that print it again."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from aigon.agents.adapters import Adapter, find_adapter
from aigon.model.turns import Agent, Launch, ProgramExit, Turn, TurnRequest
from tests.agents.turns import PROMPT, Place, play, program

FOLDER = Path(__file__).parent / "captures"
NOW = 1_795_170_000.0
"""2026-11-20 10:20 UTC: when the captured programs are taken to have ended."""


def exited(name: str, code: int = 0, *, report: bool = True) -> ProgramExit:
    """What is left of the program whose output is kept as `captures/NAME.*`, with its file NAME.report."""
    left = _kept(name, ".report") if report else b""
    output, errors = _kept(name, ".txt", ".jsonl", ".json"), _kept(name, ".stderr")
    return ProgramExit(code, output, errors, duration=3.0, report=left, ended=NOW)


def _kept(name: str, *suffixes: str) -> bytes:
    return b"".join(file.read_bytes() for suffix in suffixes if (file := FOLDER / f"{name}{suffix}").exists())


def events(*records: Mapping[str, object]) -> bytes:
    """These records, one per line."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def turn_of(kind: str, name: str, code: int = 0) -> Turn:
    """The turn that this capture was, by an agent of this kind that has no model of its own."""
    return turn_after(kind, exited(name, code))


def turn_after(kind: str, ended: ProgramExit) -> Turn:
    """The turn of such an agent whose program ended so."""
    nowhere = TurnRequest(1, "42", "run", "/w", "/c", "/w/spec.md", "/c/prompt.md")
    return find_adapter(kind).read_turn(Agent(kind, kind), nowhere, ended)


def turn(kind: str, **fields: object) -> Turn:
    """A good turn of such an agent but for `fields`."""
    good: dict[str, object] = {
        "number": 1,
        "agent": kind,
        "model": "",
        "end": "finished",
        "exit_code": 0,
        "duration": 3.0,
    }
    return Turn(**good | fields)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Played:
    """A turn of a stand-in, what the stand-in was given, and what was asked of it."""

    turn: Turn
    args: tuple[str, ...]
    stdin: str
    env: dict[str, str]
    ask: TurnRequest


_SCRIPT = """cd '{notes}'
printf '%s\\n' "$@" > args.txt; cat > stdin.txt; env > env.txt
before=
for word in "$@"; do
    case "$before $word" in
        "--chat-history-file "*|"--session "*|"--output "/*|"--usage-output-file "*) cp '{capture}.report' "$word" ;;
        "--output-dir "*) mkdir -p "$word"; cp '{capture}.report' "$word/export.json" ;;
    esac
    before=$word
done
cat '{capture}.txt' '{capture}.jsonl' '{capture}.json' 2> /dev/null
cat '{capture}.stderr' >&2 2> /dev/null
exit {code}
"""


def played(there: Place, agent: Agent, name: str, code: int = 0, *, prompt: str = PROMPT, **env: str) -> Played:
    """A stand-in for the kind's program really runs, notes what it gets, and leaves what was captured."""
    known = find_adapter(agent.adapter)
    bin_folder = there.checkout / "bin"
    bin_folder.mkdir(exist_ok=True)
    script = _SCRIPT.format(notes=there.checkout, capture=FOLDER / name, code=code)
    program(bin_folder / known.kind.program, script)
    ask = replace(there.ask(), output_file=str(there.checkout / "agent-output.json"))
    Path(ask.prompt_file).write_text(prompt)
    path = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
    made = play(_Reporting(known), agent, ask, {"HOME": str(there.checkout), "PATH": path, **env})
    args = (there.checkout / "args.txt").read_text().split("\n")[:-1]
    noted = (there.checkout / "env.txt").read_text().splitlines()
    variables = dict(line.split("=", 1) for line in noted if "=" in line)
    return Played(made, tuple(args), (there.checkout / "stdin.txt").read_text(), variables, ask)


@dataclass(frozen=True, slots=True)
class _Reporting:
    """An adapter whose turns have the file that the program left, as a run gives it to them."""

    known: Adapter

    def build_launch(self, agent: Agent, ask: TurnRequest) -> Launch:
        return self.known.build_launch(agent, ask)

    def read_turn(self, agent: Agent, ask: TurnRequest, exited: ProgramExit) -> Turn:
        file = Path(ask.output_file)
        report = file.read_bytes() if file.is_file() else b""
        return self.known.read_turn(agent, ask, replace(exited, report=report, ended=NOW))
