"""What real programs printed, trimmed to what a reader needs of it, and stand-ins that print it again."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from aigon.agents.adapters import Adapter, find_adapter
from aigon.model.turns import Agent, Launch, ProgramExit, Turn, TurnRequest
from tests.agents.turns import Place, play, program

FOLDER = Path(__file__).parent / "captures"
NOW = 1_795_170_000.0
"""2026-11-20 10:20 UTC: when the captured programs are taken to have ended."""


def exited(name: str, code: int = 0) -> ProgramExit:
    """What is left of the program whose output is kept as `captures/NAME.*`."""
    output, errors = _kept(name, ".jsonl", ".json"), _kept(name, ".stderr")
    return ProgramExit(code, output, errors, duration=3.0, report=_kept(name, ".usage.json"), ended=NOW)


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
    """A turn of a stand-in, and what the stand-in was given."""

    turn: Turn
    args: tuple[str, ...]
    stdin: str
    env: dict[str, str]


def played(there: Place, agent: Agent, name: str, code: int = 0, **env: str) -> Played:
    """A stand-in for the kind's program really runs: it notes what it gets, prints a capture and leaves its report."""
    known = find_adapter(agent.adapter)
    bin_folder = there.checkout / "bin"
    bin_folder.mkdir()
    program(bin_folder / known.kind.program, _script(there.checkout, name, code))
    ask = replace(there.ask(), output_file=str(there.checkout / "report.json"))
    path = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
    made = play(_Reporting(known), agent, ask, {"HOME": str(there.checkout), "PATH": path, **env})
    args = (there.checkout / "args.txt").read_text().split("\n")[:-1]
    noted = (there.checkout / "env.txt").read_text().splitlines()
    variables = dict(line.split("=", 1) for line in noted if "=" in line)
    return Played(made, tuple(args), (there.checkout / "stdin.txt").read_text(), variables)


def _script(folder: Path, name: str, code: int) -> str:
    notes = f"cd '{folder}'; printf '%s\\n' \"$@\" > args.txt; cat > stdin.txt; env > env.txt"
    outputs = [f"cat '{FOLDER}/{name}{suffix}'{to}" for suffix, to in
               ((".jsonl", ""), (".json", ""), (".stderr", " >&2"), (".usage.json", " > report.json"))
               if (FOLDER / f"{name}{suffix}").exists()]  # fmt: skip
    return "\n".join([notes, *outputs, f"exit {code}"])


@dataclass(frozen=True, slots=True)
class _Reporting:
    """An adapter whose turns have the file that the program left, as a run gives it to them."""

    known: Adapter

    def build_launch(self, agent: Agent, ask: TurnRequest) -> Launch:
        return self.known.build_launch(agent, ask)

    def read_turn(self, agent: Agent, ask: TurnRequest, exited: ProgramExit) -> Turn:
        file = Path(ask.output_file)
        report = file.read_bytes() if file.exists() else b""
        return self.known.read_turn(agent, ask, replace(exited, report=report, ended=NOW))
