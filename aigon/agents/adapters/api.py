"""The built-in agent: what its records say of a turn. The program itself is `aigon.agents.api_agent`, a process.

`anthropic` takes more than a second to import, so nothing here imports it.
"""

import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import cast, get_args

from aigon.agents.adapters import _program
from aigon.agents.adapters._records import parse_dollars, parse_records, sum_usage
from aigon.agents.credentials import API_KEYS, has_api_key
from aigon.model.turns import Agent, FindProgram, Launch, ProgramExit, TurnEnd, TurnReport, TurnRequest
from aigon.text.untrusted import text_at, value_at

PROGRAM = Path(__file__).parents[1] / "api_agent" / "__main__.py"
OF_THE_PROJECT = (".mcp.json", "mcp_endpoints.json", ".aigon/mcp_endpoints.json", ".aigon/prices.yaml")
"""What it reads in the main checkout, also when it works in a worktree."""


def explain_unready(agent: Agent, _find: FindProgram, env: Mapping[str, str]) -> str:
    """Return what is missing: a key, or the package. Whether the key is good shows only in a turn."""
    if not has_api_key({**env, **agent.env}):
        return (
            f"The agent {agent.name} needs an API key of Anthropic, and neither {API_KEYS[0]} nor {API_KEYS[1]} is set."
            f" Make one at https://console.anthropic.com and run: export {API_KEYS[0]}=..."
        )
    if find_spec("anthropic") is None:
        return f"The agent {agent.name} needs the package anthropic. Install it with: pip install anthropic"
    return ""


def build_launch(agent: Agent, ask: TurnRequest) -> Launch:
    """Return aigon's own interpreter, isolated from the workspace; `agent.args` come last, so that they win."""
    from aigon.agents.adapters import find_type

    base = _program.build_launch(agent.kind or find_type("api"), agent, ask)
    places = ("--workspace", ask.workspace, "--checkout", ask.checkout, "--folder", os.path.dirname(ask.prompt_file))  # noqa: PTH120
    reads = tuple(f"{ask.checkout}/{name}" for name in OF_THE_PROJECT)
    return Launch((sys.executable, "-I", str(PROGRAM), *places, *base.argv[1:]), env=base.env, reads=reads)


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn by its records: what was spent also if the last one is missing."""
    records = parse_records(exited.stdout)
    calls, result = records.of("call"), records.last("result")
    end = text_at(result, "end")
    costs = [parse_dollars(call.get("cost")) for call in calls]
    # Unknown if a reply has no list price, or if nothing is known of the only one.
    cost = None if None in costs or not (calls or result) else sum(cost for cost in costs if cost is not None)
    return TurnReport(
        end=cast(TurnEnd, end) if end in get_args(TurnEnd) else None,
        detail=text_at(result, "detail"),
        said=text_at(result, "said") or records.of("text").last_text("text"),
        model=records.of("start").first_text("model"),
        usage=sum_usage(calls, "input cache_write", "output", "cache_read", input_holds_cached=False),
        cost=cost,
        cost_status="estimated",
        tools=tuple(text_at(record, "line") for record in records.of("tool")),
        resets_at=parse_dollars(value_at(result, "resets_at")),
    )
