"""A whole session: tasks created, changed, started, waited for, read and stopped; and who reaches the server."""

import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client

from tests.lab import Lab
from tests.mcp.clients import BODY, TOKEN, call, in_process, over_http, over_stdio, project_id, refusal, serving_http

Open = Callable[[Lab], AbstractAsyncContextManager[Client]]
AGENT = """
while [ ! -e {go} ]; do sleep 0.05; done
echo done > done.txt
"""


def prepared(lab: Lab) -> Lab:
    lab.agent(AGENT.format(go=lab.home / "go"))
    lab.config(judge={"backend": "none"}, proof="in-place", guards={"allowUnknownCost": True})
    lab.commit("config")
    return lab


TRANSPORTS = [pytest.param(each, marks=pytest.mark.slow) for each in (over_stdio, over_http)]


@pytest.mark.parametrize("open_client", [in_process, *TRANSPORTS])
def test_a_client_takes_a_task_from_its_title_to_its_proof(home: Lab, open_client: Open) -> None:
    lab = prepared(home)

    async def session() -> None:
        async with open_client(lab) as client:
            await _write(client, await project_id(client))
            accepted = lab.aigon("spec-compile", "dark-mode", "--accept", "--yes")
            assert accepted.code == 0, accepted.err
            lab.git("commit", "-qam", "accept")
            run = await _start(client)
        async with open_client(lab) as client:  # the run outlived its first client, and the server
            await _see_to_its_end(client, lab, run)

    anyio.run(session)


async def _write(client: Client, project: str) -> None:
    made = await call(client, "create_task", project_id=project, title="Dark mode", description=BODY)
    assert made == {
        "task_id": "dark-mode",
        "path": "docs/specs/features/01-inbox/feature-dark-mode.md",
        "stage": "inbox",
        "criteria": 1,
        "next": made["next"],
    }
    assert "aigon spec-compile dark-mode --accept" in made["next"]
    task = await call(client, "get_task", task_id="dark-mode")
    proposed = BODY.replace("verify", "proposed: verify")
    fields = {"title": "Dark mode", "description": proposed, "use_ralph_wiggum": False,
              "ralph_max_iterations": 10, "ralph_completion_promise": "COMPLETE"}  # fmt: skip
    assert fields.items() <= task.items() and task["status"] == "todo" and not task["runs"]
    changes: dict[str, Any] = {"title": "Darker", "use_ralph_wiggum": True, "ralph_max_iterations": 3,
                               "ralph_completion_promise": "All DONE", "description": ""}  # fmt: skip
    for name, value in changes.items():
        await call(client, "update_task", task_id="dark-mode", **{name: value})
        fields[name] = value
        assert fields.items() <= (await call(client, "get_task", task_id="dark-mode")).items(), name
    assert (await call(client, "update_task", task_id="dark-mode", description=BODY))["criteria"] == 1
    for status in ("cancelled", "todo"):
        await call(client, "update_task", task_id="dark-mode", status=status)
        listed = await call(client, "list_tasks", project_id=project, status=status, limit=5)
        assert [task["task_id"] for task in listed["tasks"]] == ["dark-mode"] and listed["total"] == 1
    assert (await call(client, "list_tasks", project_id=project, status="done")) == {"tasks": [], "total": 0}


async def _start(client: Client) -> str:
    """Start the task and go away in the middle of a wait; return the run."""
    started = await call(client, "start_task", task_id="dark-mode", agent="mine", max_cost=2)
    assert started["task_id"] == "01" and started["agent"] == "mine"
    assert "being worked on already" in await refusal(client, "start_task", task_id="dark-mode", max_cost=2)
    assert "has begun" in await refusal(client, "update_task", task_id="01", title="Other")
    with anyio.move_on_after(0.5):
        await client.call_tool("wait_task", {"task_id": "01", "timeout": 60})
        raise AssertionError("the wait was not cancelled")
    return str(started["run_id"])


async def _see_to_its_end(client: Client, lab: Lab, run_id: str) -> None:
    waiting = await call(client, "wait_task", task_id="01", timeout=0.1)
    assert waiting["running"] and waiting["criteria_total"] == 1
    assert (await call(client, "stop_task", task_id="01"))["asked"] == [run_id]
    heard: list[tuple[float, float | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        assert message
        heard.append((progress, total))
        (lab.home / "go").touch()

    ended = await client.call_tool("wait_task", {"task_id": "01", "timeout": 60}, progress_callback=hear)
    assert heard[0] == (0, 1)
    assert ended.structured_content and ended.structured_content["status"] == "met"  # its iteration was the last anyway
    log = await call(client, "task_log", task_id="01")
    assert "started: mine" in log["lines"][0] and "exit code 0" in log["lines"][-1] and not log["more"]
    assert (await call(client, "task_log", task_id="01", after=log["after"]))["lines"] == []
    task = await call(client, "get_task", task_id="dark-mode")
    assert task["status"] == "inprogress" and task["criteria"][0]["verdict"] == "passed"
    (run,) = task["runs"]
    assert (run["run_id"], run["criteria_passed"], run["running"]) == (run_id, 1, False)
    assert [each["passed"] for each in run["iterations"]] == [0, 1]
    assert "No loop runs" in await refusal(client, "stop_task", task_id="01")


INSIDE = """
import sys
import anyio, httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

async def main():
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {sys.argv[2]}"}, timeout=60) as http,
        Client(streamable_http_client(sys.argv[1], http_client=http)) as client,
    ):
        print((await client.call_tool("create_task", {"project_id": "x", "title": "x", "description": ""})).content)
        print((await client.call_tool("list_projects", {})).content)

anyio.run(main)
"""


def test_a_client_that_starts_the_server_is_served(lab: Lab) -> None:
    async def session() -> str:
        async with over_stdio(lab) as client:
            return await project_id(client)

    assert anyio.run(session)


def test_http_serves_who_has_the_token_and_asks_for_this_host_and_reads_to_a_loop(lab: Lab) -> None:
    async def session() -> str:
        async with serving_http(lab) as url, httpx2.AsyncClient(timeout=60) as http:
            bearer = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json, text/event-stream"}
            for headers, status in (
                ({}, 401),
                ({"Authorization": f"Bearer {TOKEN}x"}, 401),
                ({**bearer, "Host": "evil.example:80"}, 421),
                ({**bearer, "Origin": "https://evil.example"}, 403),
            ):
                answer = await http.post(url, headers=headers, json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
                assert answer.status_code == status, headers
            line = [sys.executable, "-c", INSIDE, url, TOKEN]
            ran = await anyio.run_process(line, env={**lab.env, "AIGON_RUN": "20261123-080000-abcdef"})
            return ran.stdout.decode()

    refused, served = anyio.run(session).splitlines()
    assert "inside a run of the loop" in refused and "has AIGON_RUN" in refused and str(lab.root) in served


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--http", "0.0.0.0:0"), 2, "can be reached from other machines"),
        (("--http", "8765"), 2, "is not a host and a port"),
        (("--http", "127.0.0.1:99999"), 2, "is not a host and a port"),
        (("/nonexistent",), 7, "not a git repository"),
    ],
)
def test_a_server_that_cannot_be_says_why(lab: Lab, arguments: tuple[str, ...], code: int, said: str) -> None:
    ran = lab.aigon("mcp", *arguments)
    assert ran.code == code and said in ran.err


def test_a_short_token_is_refused(lab: Lab) -> None:
    ran = lab.aigon("mcp", "--http", "127.0.0.1:0", env={"AIGON_MCP_TOKEN": "short"})
    assert ran.code == 2 and "AIGON_MCP_TOKEN" in ran.err
