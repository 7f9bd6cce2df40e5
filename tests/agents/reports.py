"""Programs that leave a file beside what they print: captured ones, and stand-ins that leave it again."""

import os
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from aigon.agents.adapters import find_adapter
from aigon.model.turns import Agent, Launch, ProgramExit, Turn, TurnReport, TurnRequest, Usage
from tests.agents.captured import FOLDER, NOW
from tests.agents.turns import Place, play, program

__all__ = ["NOW", "Given", "TurnReport", "Usage", "exited", "play_stand_in"]


def kept(name: str) -> bytes:
    """A captured file; nothing where there is none of this name."""
    file = FOLDER / name
    return file.read_bytes() if file.exists() else b""


def exited(name: str, code: int = 0, *, report: bool = True) -> ProgramExit:
    """What is left of a captured program: NAME.txt or NAME.jsonl, NAME.stderr, and its file NAME.report."""
    stdout = kept(f"{name}.txt") or kept(f"{name}.jsonl")
    left = kept(f"{name}.report") if report else b""
    return ProgramExit(code, stdout, kept(f"{name}.stderr"), duration=3.0, report=left, ended=NOW)


@dataclass(frozen=True, slots=True)
class Given:
    """A turn of a stand-in, what it was given, and its place."""

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
        "--chat-history-file "*|"--session "*|"--output "/*) cp '{capture}.report' "$word" ;;
        "--output-dir "*) mkdir -p "$word"; cp '{capture}.report' "$word/export.json" ;;
    esac
    before=$word
done
cat '{capture}.txt' '{capture}.jsonl' 2> /dev/null
exit {code}
"""


def play_stand_in(there: Place, agent: Agent, name: str, code: int = 0, *, prompt: str = "", **env: str) -> Given:
    """A stand-in for the kind's program really runs, and leaves what was captured where it is told to."""
    known = find_adapter(agent.adapter)
    bin_folder = there.checkout / "bin"
    bin_folder.mkdir(exist_ok=True)
    script = _SCRIPT.format(notes=there.checkout, capture=FOLDER / name, code=code)
    program(bin_folder / known.kind.program, script)
    ask = replace(there.ask(), output_file=str(there.checkout / "agent-output.json"))
    Path(ask.prompt_file).write_text(prompt or "Make the tests pass.\n")
    path = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
    made = play(_Reading(agent), agent, ask, {"HOME": str(there.checkout), "PATH": path, **env})
    noted = (there.checkout / "env.txt").read_text().splitlines()
    variables = dict(line.split("=", 1) for line in noted if "=" in line)
    args = tuple((there.checkout / "args.txt").read_text().split("\n")[:-1])
    return Given(made, args, (there.checkout / "stdin.txt").read_text(), variables, ask)


@dataclass(frozen=True, slots=True)
class _Reading:
    """The adapter of an agent, whose turns have the file that the program left, as a run gives it to them."""

    of: Agent

    def build_launch(self, agent: Agent, ask: TurnRequest) -> Launch:
        return find_adapter(self.of.adapter).build_launch(agent, ask)

    def read_turn(self, agent: Agent, ask: TurnRequest, exited: ProgramExit) -> Turn:
        file = Path(ask.output_file)
        report = file.read_bytes() if file.is_file() else b""
        return find_adapter(self.of.adapter).read_turn(agent, ask, replace(exited, report=report))
