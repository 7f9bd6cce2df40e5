"""Real agent programs as clients of `aigon mcp`: they list the tools, then create, start, wait for and read a task.

    python -m tests.real_agents.clients [--prefix DIR] [--keep] [AGENT ...]

The scripted server on loopback plays their model; each reads aigon's entry where `install-commands --mcp` wrote it.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aigon.mcp.server import READS, WRITES
from tests.lab import DONE_WHEN, Lab
from tests.real_agents.__main__ import PREFIX, serve_script
from tests.real_agents.programs import PROGRAMS, QUIET, Pointed, install, node22

SPEC = f"## Acceptance Criteria\n\n- [ ] done <!-- verify: {DONE_WHEN} -->"


@dataclass(frozen=True, slots=True)
class McpClient:
    """How a program is run without a person, what it calls a tool of the server, and files by which it trusts it."""

    argv: Callable[[Pointed], list[str]]
    name: str
    trust: Callable[[Lab], Mapping[str, str]]


CLIENTS = {
    "claude": McpClient(
        lambda pointed: ["claude", "-p", "Go on.", "--model", pointed.model, "--allowedTools", "mcp__aigon"],
        "mcp__aigon__{tool}",
        lambda _lab: {".claude/settings.json": json.dumps({"enableAllProjectMcpServers": True})},
    ),
    "codex": McpClient(
        lambda pointed: ["codex", "exec", "--skip-git-repo-check", "-m", pointed.model,
                         "--dangerously-bypass-approvals-and-sandbox", "-c", "analytics.enabled=false",
                         *pointed.args, "Go on."],
        "{tool}",
        lambda lab: {".codex/config.toml": f'[projects."{lab.root}"]\ntrust_level = "trusted"\n'},
    ),
    "gemini": McpClient(
        lambda pointed: ["gemini", "-p", "Go on.", "-m", pointed.model, "--skip-trust", "--yolo"],
        "mcp_aigon_{tool}",
        lambda lab: {".gemini/trustedFolders.json": json.dumps({str(lab.root): "TRUST_FOLDER"})},
    ),
}  # fmt: skip


def main() -> int:
    """How many programs did not come through."""
    parser = argparse.ArgumentParser(prog="python -m tests.real_agents.clients")
    parser.add_argument("agents", nargs="*", metavar="AGENT", choices=[[], *CLIENTS], help=", ".join(CLIENTS))
    parser.add_argument("--prefix", type=Path, default=PREFIX, help="where the programs are installed")
    parser.add_argument("--keep", action="store_true", help="keep the folders")
    asked = parser.parse_args()
    failed = 0
    for name in asked.agents or CLIENTS:
        folder = Path(tempfile.mkdtemp(prefix=f"client-{name}-"))
        wrong = try_client(name, asked.prefix, folder)
        failed += bool(wrong)
        print(f"{name:8} {PROGRAMS[name].package}  {wrong or 'ok'}", flush=True)
        if asked.keep:
            print(f"         {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return failed


def try_client(name: str, prefix: Path, folder: Path) -> str:
    """What went wrong; "" if the program did it all."""
    client, program = CLIENTS[name], PROGRAMS[name]
    path = f"{install(program, prefix)}:{node22(prefix)}"
    lab = Lab(folder).init()
    lab.agent("echo done > done.txt")
    lab.config(judge={"backend": "none"}, proof="in-place", guards={"allowUnknownCost": True})
    log = folder / "requests.ndjson"
    with serve_script(_script(client, lab), lab.root, log) as server:
        pointed = program.point(f"http://127.0.0.1:{server.server_address[1]}")
        lab.env |= {**QUIET, **pointed.env, "PATH": f"{path}:{lab.env['PATH']}", "TERM": "dumb"}
        for file, text in {**pointed.files, **client.trust(lab)}.items():
            (lab.home / file).parent.mkdir(parents=True, exist_ok=True)
            (lab.home / file).write_text(text)
        installed = lab.aigon("install-commands", "--mcp", name)
        lab.commit("set up")
        ran = subprocess.run(client.argv(pointed), cwd=lab.root, env=lab.env, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, timeout=300)  # fmt: skip
    return _find_wrong(lab, log, f"{installed.err}{ran.stdout[-800:]}{ran.stderr[-800:]}")


def _script(client: McpClient, lab: Lab) -> list[dict[str, Any]]:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("list_projects", {}),
        ("create_task", {"project_id": str(lab.root), "title": "Dark mode", "description": SPEC}),
        ("start_task", {"task_id": "dark-mode", "max_cost": 1, "agent": "mine"}),
        ("wait_task", {"task_id": "dark-mode", "timeout": 40}),
        ("get_task", {"task_id": "dark-mode"}),
    ]
    turns: list[dict[str, Any]] = [
        {"text": "Next.", "tools": [{"name": client.name.format(tool=tool), "input": arguments}]}
        for tool, arguments in calls
    ]
    slow = {"text": "First I look around.", "do": [{"bash": "sleep 8"}]}  # Codex does not wait for its servers
    return [slow, *turns, {"text": "All done."}]


def _find_wrong(lab: Lab, log: Path, words: str) -> str:
    requests = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    offered = json.dumps([request.get("body") for request in requests])
    if missing := [tool for tool in (*READS, *WRITES) if tool not in offered]:
        return f"not listed: {missing}: {words}"
    states = list(lab.root.glob(".aigon/loop-state-*.json"))
    if not states:
        return f"nothing was started: {words}"
    if json.loads(states[0].read_text())["status"] != "needs_human":  # its annotation is a proposal: nobody decided
        return f"it ended otherwise: {states[0].read_text()[:300]}"
    return "" if any("needs_human" in str(request.get("last")) for request in requests) else f"not read: {words}"


if __name__ == "__main__":
    sys.exit(main())
