"""Sessions of the built-in agent in the tests' own process, against a scripted server."""

import io
import json
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.model_server import ModelServer, Request, Script

if TYPE_CHECKING:  # else every test process would import the model's library to collect tests: a second each
    from aigon.agents.api_agent.reply import Ending


@dataclass(frozen=True)
class Session:
    """A session that ended: how, what it wrote down, and what the server was asked."""

    ending: "Ending"
    records: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    requests: list[Request]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The records of one kind."""
        return [record for record in self.records if record["type"] == kind]

    def answers(self, request: int = -1) -> list[str]:
        """What the tools of one reply said, as the model got it."""
        content = self.requests[request].body["messages"][-1]["content"]
        return [block["content"] for block in content if block["type"] == "tool_result"]


class Desk:
    """A workspace with a run folder beside it."""

    def __init__(self, folder: Path) -> None:
        self.workspace, self.run, self.scratch = (folder / name for name in ("work", "run", "scratch"))
        for made in (self.workspace, self.run, self.scratch):
            made.mkdir(parents=True)

    def ask(self, *script: Script, url: str = "", **settings: Any) -> Session:
        """One session against this script, without waiting long for anything."""
        import anthropic

        from aigon.agents.api_agent import session
        from aigon.agents.api_agent.settings import SessionLog, Settings

        quick = {"first_wait": 0.01, "patience": 60.0, "command_timeout": 60.0}
        given = Settings(self.workspace, self.workspace, self.run, **{**quick, **settings})
        out = io.StringIO()
        with ModelServer(*script) as server, ExitStack() as stack:
            client = anthropic.Anthropic(api_key="test-key-of-nobody", base_url=url or server.url, max_retries=0)
            stack.enter_context(client)
            ended = session.run_session(
                session.open_session(
                    given, client.with_options(timeout=given.patience), SessionLog(out, self.run), self.scratch, stack
                ),
                "Do it",
            )
            requests = [*server.requests]
        file = self.run / "tools.jsonl"
        tools = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        return Session(ended, [json.loads(line) for line in out.getvalue().splitlines()], tools, requests)
