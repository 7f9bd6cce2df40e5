"""Run the loop through real coding agents against a scripted server on loopback, and write down which did what.

    python -m tests.real_agents [--prefix DIR] [--case NAME ...] [--table FILE] [AGENT ...]

Nothing is asked of any real model: every program gets a home of its own, a key of no worth and a server of ours.
"""

import argparse
import json
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from tests.lab import Lab, Ran
from tests.real_agents import scripted_server
from tests.real_agents.cases import CASES, Case, drive
from tests.real_agents.programs import KEY, PROGRAMS, QUIET, Program, install, node22

PREFIX = Path(os.environ.get("AIGON_REAL_AGENTS", Path.home() / ".cache" / "aigon-real-agents"))

PRICES = """\
as_of: 2026-11-20
groups:
  - source: made up, for models that have none
    models:
      scripted: {input: 1, output: 5}
      gpt-4o: {input: 2.5, output: 10}
"""


def main() -> int:
    """How many cases did not come out as they have to."""
    asked = _arguments()
    os.environ["AIGON_FRESH_PROCESSES"] = "1"  # real processes from their very start, as people have them
    results: dict[str, dict[str, str]] = {}
    for name in asked.agents or PROGRAMS:
        program = PROGRAMS[name]
        path = os.pathsep.join(
            [str(install(program, asked.prefix)), *([str(node22(asked.prefix))] if program.node22 else [])]
        )
        results[name] = {case: _tried(program, CASES[case], path, asked.keep) for case in asked.case or CASES}
    if asked.table:
        asked.table.write_text(_table(results))
    return sum(not _fine(result) for row in results.values() for result in row.values())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.real_agents", description=__doc__.partition("\n")[0])
    parser.add_argument("agents", nargs="*", metavar="AGENT", choices=[[], *PROGRAMS], help=", ".join(PROGRAMS))
    parser.add_argument("--prefix", type=Path, default=PREFIX, help="where the programs are installed")
    parser.add_argument("--case", action="append", choices=list(CASES), help="only this case (again for more)")
    parser.add_argument("--table", type=Path, help="write the results there as a Markdown table")
    parser.add_argument("--keep", action="store_true", help="keep the folders of cases that went wrong")
    return parser.parse_args()


def _fine(result: str) -> bool:
    return result in ("ok", "-")


def _tried(program: Program, case: Case, path: str, keep: bool) -> str:
    """`ok`, `-` where the case is none for this program, or what went wrong."""
    turns = case.turns(program)
    begun = time.monotonic()
    if turns is None:
        return "-"
    folder = Path(tempfile.mkdtemp(prefix=f"real-{program.kind}-"))
    try:
        result = _ran(program, case, turns, path, folder) or "ok"
    except Exception as error:
        result = f"{type(error).__name__}: {error}"
    print(f"{program.kind:9} {case.name:12} {time.monotonic() - begun:5.1f} s  {result}", flush=True)
    if keep and not _fine(result):
        print(f"{'':9} {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return result


def _ran(program: Program, case: Case, turns: list[dict[str, Any]], path: str, folder: Path) -> str:
    mark = uuid.uuid4().hex
    log = folder / "requests.ndjson"
    with serve_script(turns, folder / "repo", log) as server:
        lab = _lab(program, case, _url(server, case), path, folder, mark)
        ran: Ran = drive(lab, case, program, lambda: server.script.state()["served"] > 0)
        wrong = case.check(lab, ran)
        return wrong or _survivors(mark)


def _url(server: Any, case: Case) -> str:
    """Where the server listens, or where nobody does."""
    if not case.unreachable:
        return f"http://127.0.0.1:{server.server_address[1]}"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


@contextmanager
def serve_script(turns: list[dict[str, Any]], cwd: Path, log: Path) -> Iterator[Any]:
    """A server on loopback that plays a model by this script; it writes each request to `log`."""
    server = scripted_server.make_server(
        {"turns": turns, "on_exhausted": {"text": "Done."}}, log=str(log), cwd=str(cwd)
    )
    server.handle_error = lambda *_: None  # programs that are killed leave their connections
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()


def _lab(program: Program, case: Case, url: str, path: str, folder: Path, mark: str) -> Lab:
    """A repository with one open feature, and a home in which the program is pointed at the server."""
    pointed = program.point(url)
    pointed = program.subscribed(pointed) if case.name == "usage limit" else pointed
    pointed = program.restricted(pointed) if case.restricted and program.restricted else pointed
    lab = Lab(folder).init()
    lab.env |= {**QUIET, **pointed.env, "AIGON_MARK": mark, "PATH": f"{path}:{lab.env['PATH']}", "TERM": "dumb"}
    lab.env["AIGON_SANDBOX"] = "auto"
    for name, text in pointed.files.items():
        (lab.home / name).parent.mkdir(parents=True, exist_ok=True)
        (lab.home / name).write_text(text)
    model = {} if case.own_model and program.kind in ("codex", "gemini") else {"model": pointed.model}
    agent = {"adapter": program.kind, "args": list(pointed.args), **model}
    other = {"command": ["false"]}
    lab.config(
        agents={"real": agent, "other": other}, defaultAgent="other", proof="in-place", judge={"backend": "none"}
    )
    lab.write(".aigon/prices.yaml", PRICES)
    lab.spec(case.criterion)
    assert KEY in json.dumps(lab.env), "a key of no worth is in the environment"
    return lab


def _survivors(mark: str) -> str:
    """Processes that carry the mark in their environment, after a moment in which the dying may die."""
    limit = time.monotonic() + 8
    while left := [process for process in psutil.process_iter() if _marked(process, mark)]:
        if time.monotonic() > limit:
            return "left running: " + "; ".join(" ".join(process.cmdline())[:80] for process in left)
        time.sleep(0.2)
    return ""


def _marked(process: psutil.Process, mark: str) -> bool:
    try:
        return process.environ().get("AIGON_MARK") == mark
    except (psutil.Error, OSError):
        return False


def _table(results: dict[str, dict[str, str]]) -> str:
    names = list(next(iter(results.values())))
    rows = [f"| `{agent}` | {_package(PROGRAMS[agent])} | " + " | ".join(_mark(row[name]) for name in names) + " |"
            for agent, row in results.items()]  # fmt: skip
    head = f"| agent | package | {' | '.join(names)} |\n|{'---|' * (len(names) + 2)}"
    return "\n".join([head, *rows]) + "\n"


def _package(program: Program) -> str:
    """Its name and its version."""
    name, _, version = program.package.replace("==", "@").rpartition("@")
    return f"{name} {version}"


def _mark(result: str) -> str:
    return {"ok": "✅", "-": "–"}.get(result, "❌")


if __name__ == "__main__":
    sys.exit(min(main(), 100))
