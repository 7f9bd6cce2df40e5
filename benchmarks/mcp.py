"""What `aigon mcp` costs beside a bare server of the same SDK, and a long run beside a short one.

    python -m benchmarks.mcp [--rounds 7]

Both servers answer `initialize` and `tools/list` over standard input and output, in turns within one run, so that a
busy machine slows both. `get_task` is asked in one process about a run of 10 and of 1,000 iterations, in turns.
Printed: the medians, their ratio, and the bound.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters

START_BOUND = 1.5
LENGTH_BOUND = 3.0
BARE = """
from mcp.server import MCPServer
server = MCPServer("bare")
for name in "abcdefghi":
    @server.tool(name)
    def tool(text: str, number: int = 1) -> dict[str, str]:
        "A tool."
        return {}
server.run("stdio")
"""


def main() -> int:
    """How many bounds were missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mcp")
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        root = make_repository(Path(folder))
        os.environ["AIGON_STATE_HOME"] = str(Path(folder) / "state")
        missed = compare_starts(root, rounds)
        return missed + compare_lengths(root, rounds)


def make_repository(folder: Path) -> Path:
    """A repository with one feature."""
    root = folder / "repo"
    spec = root / "docs/specs/features/03-in-progress/feature-1-cost.md"
    spec.parent.mkdir(parents=True)
    spec.write_text("# Feature: Cost\n\n## Acceptance Criteria\n\n- [ ] never <!-- verify: false -->\n")
    identity = ["-c", "user.name=Bench", "-c", "user.email=bench@example.invalid"]
    for arguments in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "base"]):
        subprocess.run(["git", *arguments], cwd=root, check=True)
    return root


def compare_starts(root: Path, rounds: int) -> int:
    """1 if start, `initialize` and `tools/list` take too long beside a bare server."""
    env = dict(os.environ)
    servers = {
        "bare": StdioServerParameters(command=sys.executable, args=["-c", BARE], cwd=root, env=env),
        "aigon": StdioServerParameters(command=sys.executable, args=["-m", "aigon", "mcp"], cwd=root, env=env),
    }

    async def ask(server: StdioServerParameters) -> float:
        begun = time.perf_counter()
        async with Client(server) as client:
            assert len((await client.list_tools()).tools) == 9
            return time.perf_counter() - begun

    times: dict[str, list[float]] = {name: [] for name in servers}
    for _ in range(rounds):
        for name, server in servers.items():
            times[name].append(anyio.run(ask, server))
    return compare("start, initialize and tools/list", times["bare"], times["aigon"], START_BOUND)


def compare_lengths(root: Path, rounds: int) -> int:
    """1 if `get_task` on 1,000 iterations takes too long beside the same call on 10."""
    from aigon.mcp.server import ServedProjects, build_server

    server = build_server(ServedProjects((root,)), lambda _context: "")
    times: dict[int, list[float]] = {10: [], 1000: []}

    async def ask() -> None:
        async with Client(server) as client:
            for _ in range(rounds + 1):
                for iterations, found in times.items():
                    write_state(root, iterations)
                    begun = time.perf_counter()
                    result = await client.call_tool("get_task", {"task_id": "1"})
                    found.append(time.perf_counter() - begun)
                    assert not result.is_error, result

    anyio.run(ask)
    return compare("get_task, 10 and 1,000 iterations", times[10][1:], times[1000][1:], LENGTH_BOUND)


def write_state(root: Path, iterations: int) -> None:
    """The state file of a run that did so many iterations."""
    verdicts = [{"number": 1, "verdict": "unmet", "method": "verify", "evidence": "false", "reason": "exit 1"}]
    row = {"agent": "mine", "turn": "finished", "ended_at": "2026-11-23T08:00:00+00:00", "checkpoint": "0" * 40,
           "criteria": verdicts, "checks": [], "feedback": "1. never: exit 1\n" * 20}  # fmt: skip
    state = {"schema_version": 1, "feature_id": "1", "slug": "cost", "run_id": "r", "agent": "mine", "branch": "b",
             "status": "stopped", "iteration": iterations, "max_iterations": 5, "criteria_met": 0, "criteria_total": 1,
             "criteria": verdicts, "checks": [], "started_at": "", "updated_at": "", "label": "",
             "iterations": [{"number": number, **row} for number in range(iterations)]}  # fmt: skip
    file = root / ".aigon/loop-state-1.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(state))


def compare(what: str, base: list[float], own: list[float], bound: float) -> int:
    """Print both medians, their ratio and the bound; 1 if it was missed."""
    shorter, longer = statistics.median(base) * 1000, statistics.median(own) * 1000
    ratio = longer / shorter
    print(f"{what}: {shorter:.1f} ms, {longer:.1f} ms, ratio {ratio:.2f}  bound {bound}  {_judge(ratio <= bound)}")
    return int(ratio > bound)


_judge: Callable[[bool], str] = {True: "ok", False: "MISSED"}.__getitem__


if __name__ == "__main__":
    sys.exit(main())
