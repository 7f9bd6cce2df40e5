"""What the server refuses and how it says so, and what it tells those who listen."""

import json
import shutil
import sys
from pathlib import Path

import anyio
import pytest
from mcp import MCPError
from mcp.shared.subscriptions import ResourceUpdated

from aigon.mcp.server import READS, WRITES
from tests.lab import SPEC, Lab
from tests.mcp.clients import BODY, call, in_process, journal, project_id, refusal

INBOX = "docs/specs/features/01-inbox/feature-light-mode.md"
CREATE = {"title": "Light mode", "description": BODY}


BAD_INPUT: list[tuple[str, dict[str, object], str]] = [
    ("create_task", {**CREATE, "project_id": "no-such"}, "There is no project 'no-such'"),
    ("create_task", {**CREATE, "ralph_max_iterations": 0}, "ralph_max_iterations: Input should be greater"),
    ("create_task", {**CREATE, "ralph_max_iterations": 21}, "ralph_max_iterations: Input should be less"),
    ("create_task", {**CREATE, "ralph_completion_promise": ""}, "ralph_completion_promise: String should have"),
    ("create_task", {**CREATE, "ralph_completion_promise": "x" * 10_000}, "ralph_completion_promise: String"),
    ("create_task", {**CREATE, "ralph_completion_promise": "a\tb\u202e"}, "A promise cannot be"),
    ("create_task", {**CREATE, "description": "x" * 5_000_000}, "description: String should have at most"),
    ("create_task", {**CREATE, "title": "!!! 123"}, "has no letter"),
    ("create_task", {**CREATE, "title": "Light   Mode!"}, "exists already"),
    ("create_task", {**CREATE, "titel": "x"}, "Did you mean title?"),
    ("create_task", {"title": "x"}, "description: Field required"),
    ("get_task", {"task_id": "99"}, "There is no feature '99'"),
    ("update_task", {"task_id": "99", "title": "x"}, "There is no feature '99'"),
    ("update_task", {"task_id": "42", "title": "x"}, "Work on feature 42 has begun"),
    ("update_task", {"task_id": "light-mode", "status": "done"}, "aigon feature-done"),
    ("update_task", {"task_id": "light-mode", "title": "x", "status": "inreview"}, "cannot become inreview"),
    ("update_task", {"task_id": "light-mode", "status": "inprogress"}, "start_task starts it"),
    ("update_task", {"task_id": "light-mode", "title": ""}, "title: String should have at least 1"),
    ("start_task", {"task_id": "99", "max_cost": 1}, "There is no feature '99'"),
    ("start_task", {"task_id": "42"}, "max_cost, guards.maxCost"),
    ("start_task", {"task_id": "42", "max_cost": 0}, "max_cost: Input should be greater than 0"),
    ("start_task", {"task_id": "42", "max_cost": 1, "agent": "no-such"}, "There is no agent called 'no-such'"),
    ("start_task", {"task_id": "42", "max_cost": 1, "agent": "gone"}, "The agent gone cannot start"),
    ("start_task", {"task_id": "naked", "max_cost": 1}, "Proposals:\n1. x: verify: a\n2. y: judge"),
    ("stop_task", {"task_id": "42"}, "No loop runs on feature 42"),
    ("task_log", {"task_id": "42"}, "Task 42 has not run"),
    ("wait_task", {"task_id": "42", "timeout": 4000}, "timeout: Input should be less"),
    ("approve_task", {"task_id": "42"}, "There is no tool 'approve_task'"),
]


def test_bad_input_is_explained_and_changes_nothing(begun: Lab) -> None:
    async def session() -> None:
        async with in_process(begun) as client:
            for tool, arguments, said in BAD_INPUT:
                wants_project = tool == "create_task" and "project_id" not in arguments
                own = {"project_id": str(begun.root)} if wants_project else {}
                words = await refusal(client, tool, **own, **arguments)
                assert said in words and "\n  do:    " in words and "Traceback" not in words, (tool, said, words)

    before = begun.fingerprint()
    anyio.run(session)
    assert begun.fingerprint() == before


@pytest.fixture
def begun(home: Lab) -> Lab:
    """A repository with a feature to start, one in the inbox, and one without criteria."""
    home.agent("true")
    home.config(judge={"backend": "none"}, agents={"gone": {"command": ["/nonexistent/x"]}})
    home.spec("done <!-- verify: test -f done.txt -->")
    home.spec("done", name=INBOX)
    home.write("docs/specs/features/01-inbox/feature-naked.md",
               "# Naked\n\n- [ ] x <!-- proposed: verify: a -->\n- [ ] y\n")  # fmt: skip
    home.commit("specs")
    return home


def test_no_tool_starts_above_a_limit_that_a_person_set(begun: Lab) -> None:
    begun.config(guards={"maxCost": 2})
    begun.commit("limit")

    async def session() -> str:
        async with in_process(begun) as client:
            return await refusal(client, "start_task", task_id="42", max_cost=3)

    assert "above the limit of 2 that is in force" in anyio.run(session)


def test_a_repository_that_is_bare_or_gone_is_an_error_and_no_crash(home: Lab, tmp_path: Path) -> None:
    async def session() -> None:
        async with in_process(home) as client:
            home.git("config", "core.bare", "true")
            words = await refusal(client, "create_task", project_id=str(home.root), title="x", description="")
            assert "bare" in words
            shutil.rmtree(home.root)
            assert (await call(client, "list_projects")) == {"projects": []}
            assert "not a git repository" in await refusal(client, "list_tasks", project_id=str(home.root))
            assert "not a git repository" in await refusal(client, "get_task", task_id="1")
        async with in_process() as client:
            assert "serves no repository" in await refusal(client, "list_tasks", project_id=str(tmp_path))

    anyio.run(session)


def test_a_spec_with_uncommitted_changes_is_not_overwritten(begun: Lab) -> None:
    begun.write(INBOX, begun.read(INBOX) + "mine\n")

    async def session() -> str:
        async with in_process(begun) as client:
            return await refusal(client, "update_task", task_id="light-mode", title="Other")

    before = begun.fingerprint()
    assert "changes that are not committed" in anyio.run(session) and begun.fingerprint() == before


def test_several_projects_have_tasks_of_their_own(begun: Lab, tmp_path: Path) -> None:
    other = Lab(tmp_path / "other").init()

    async def session() -> None:
        async with in_process(begun, other) as client:
            first, second = (each["project_id"] for each in (await call(client, "list_projects"))["projects"])
            made = await call(client, "create_task", project_id=second, **CREATE)
            assert made["task_id"] == f"{second}:light-mode"
            assert "2 projects have a task 'light-mode'" in await refusal(client, "get_task", task_id="light-mode")
            assert (await call(client, "get_task", task_id="42"))["task_id"] == f"{first}:42"
            assert (await call(client, "get_task", task_id=made["task_id"]))["project_id"] == second

    anyio.run(session)


def test_inside_a_loop_only_reads_are_served(begun: Lab) -> None:
    async def session() -> None:
        async with in_process(begun, loop="a loop started this") as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == set(READS)
            for name in WRITES:
                words = await refusal(client, name)
                assert "inside a run of the loop" in words and "a loop started this" in words
            assert (await call(client, "get_task", task_id="42"))["status"] == "inprogress"
        async with in_process(begun) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(tools) == {*READS, *WRITES} and all(tool.output_schema for tool in tools.values())
            assert {name for name, t in tools.items() if t.annotations and t.annotations.read_only_hint} == set(READS)

    anyio.run(session)


AGENT = f"""#!{sys.executable}
import json, os
import anyio
from mcp import Client, StdioServerParameters

async def main():
    entry = json.load(open(".mcp.json"))["mcpServers"]["aigon"]
    found = {{}}
    async with Client(StdioServerParameters(env=dict(os.environ), **entry)) as client:
        found["tools"] = [tool.name for tool in (await client.list_tools()).tools]
        for name, arguments in {{
            "get_task": {{"task_id": "42"}}, "update_task": {{"task_id": "42", "ralph_max_iterations": 20}},
            "create_task": {{"project_id": os.getcwd(), "title": "More", "description": ""}},
            "start_task": {{"task_id": "42", "max_cost": 1000}}, "stop_task": {{"task_id": "42"}},
        }}.items():
            result = await client.call_tool(name, arguments)
            found[name] = "refused" if result.is_error and "inside a run" in result.content[0].text else "served"
    json.dump(found, open("found.json", "w"), sort_keys=True)

anyio.run(main)
"""
FOUND = {
    "create_task": "refused", "get_task": "served", "start_task": "refused", "stop_task": "refused",
    "tools": list(READS), "update_task": "refused",
}  # fmt: skip


@pytest.mark.slow  # the rule itself is tested above, and by a client of HTTP that is inside a loop
def test_an_agent_that_finds_the_server_inside_a_loop_reads_only(lab: Lab) -> None:
    file = lab.home / "curious"
    file.write_text(AGENT)
    file.chmod(0o755)
    lab.config(agents={"curious": {"adapter": "command", "command": [str(file)]}}, defaultAgent="curious",
               judge={"backend": "none"}, proof="in-place")  # fmt: skip
    entry = {"command": sys.executable, "args": ["-m", "aigon", "mcp"]}
    lab.write(".mcp.json", json.dumps({"mcpServers": {"aigon": entry}}))
    lab.spec(f"it reads only <!-- prints: cat found.json == {json.dumps(FOUND, sort_keys=True)} -->")
    lab.commit("specs")
    ran = lab.aigon("feature-implement", "42", "--loop", "--skip-validation", "--max-iterations", "1", timeout=100)
    assert ran.code == 0, ran.out + ran.err
    events = journal(lab)
    (verdict,) = [e["verdicts"][0] for e in events if e["event"] == "iteration_finished" and e["number"] == 1]
    assert verdict["status"] == "met" and verdict["method"] == "prints", verdict
    assert lab.git("ls-files", "docs/specs/features/0*") == SPEC


def test_resources_show_a_feature_and_tell_of_changes(begun: Lab) -> None:
    async def session() -> None:
        async with in_process(begun) as client:
            listed = await client.read_resource("aigon://features")
            assert "light-mode" in getattr(listed.contents[0], "text", "")
            status = json.loads(getattr((await client.read_resource("aigon://features/42")).contents[0], "text", ""))
            assert (status["task_id"], status["criteria"][0]["number"]) == ("42", 1)
            for uri in ("aigon://features/99", "aigon://features/42/journal", "aigon://features/42/report"):
                with pytest.raises(MCPError) as refused:
                    await client.read_resource(uri)
                assert "do:    " in str(refused.value)
            templates = (await client.list_resource_templates()).resource_templates
            assert {each.mime_type for each in templates} == {
                "application/json", "text/markdown", "application/x-ndjson",
            }  # fmt: skip
            with anyio.fail_after(30):
                async with client.listen(resource_subscriptions=["aigon://features"]) as changes:
                    await anyio.sleep(1.5)
                    begun.spec("more", name="docs/specs/features/01-inbox/feature-more.md")
                    async for change in changes:
                        assert change == ResourceUpdated(uri="aigon://features")
                        return

    anyio.run(session)


def test_the_prompt_names_the_task(begun: Lab) -> None:
    async def session() -> None:
        async with in_process(begun) as client:
            assert (await client.list_prompts()).prompts[0].name == "implement-feature"
            prompt = await client.get_prompt("implement-feature", {"task_id": "42"})
            assert "aigon feature-done 42" in str(prompt.messages[0].content)
            assert await project_id(client)

    anyio.run(session)
