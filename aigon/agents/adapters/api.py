"""The built-in agent: what its records say of a turn. The program itself is the package `_api`, a process of its own.

`anthropic` takes more than a second to import, so nothing here imports it.
"""

import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import cast, get_args

from aigon.agents.adapters import _program
from aigon.agents.adapters._program import LAST_WORDS, parse_dollars
from aigon.agents.adapters._records import Record, count_at, parse_records, text_at, value_at
from aigon.model.turns import Agent, FindProgram, Launch, ProgramExit, TurnEnd, TurnReport, TurnRequest, Usage

PROGRAM = Path(__file__).parents[1] / "api_agent" / "__main__.py"
OF_THE_PROJECT = (".mcp.json", "mcp_endpoints.json", ".aigon/mcp_endpoints.json", ".aigon/prices.yaml")
"""What it reads in the main checkout, also when it works in a worktree."""
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")


def explain_unready(agent: Agent, _find: FindProgram, env: Mapping[str, str]) -> str:
    """Return what is missing: a key, or the package. Whether the key is good shows only in a turn."""
    if not any({**env, **agent.env}.get(key, "").strip() for key in KEYS):
        return (
            f"The agent {agent.name} needs an API key of Anthropic, and neither {KEYS[0]} nor {KEYS[1]} is set."
            f" Make one at https://console.anthropic.com and run: export {KEYS[0]}=..."
        )
    if find_spec("anthropic") is None:
        return f"The agent {agent.name} needs the package anthropic. Install it with: pip install anthropic"
    return ""


def build_launch(agent: Agent, ask: TurnRequest) -> Launch:
    """This very interpreter, isolated from what the workspace may hold; `agent.args` come last, so that they win."""
    from aigon.agents.adapters import find_type

    base = _program.build_launch(agent.kind or find_type("api"), agent, ask)
    places = ("--workspace", ask.workspace, "--checkout", ask.checkout, "--folder", os.path.dirname(ask.prompt_file))  # noqa: PTH120
    reads = tuple(f"{ask.checkout}/{name}" for name in OF_THE_PROJECT)
    return Launch((sys.executable, "-I", str(PROGRAM), *places, *base.argv[1:]), env=base.env, reads=reads)


def read_output(exited: ProgramExit) -> TurnReport:
    """Return the turn by its records: what was spent also where the last one is missing."""
    told = parse_records(exited.stdout)
    calls = [record for record in told if record.get("type") == "call"]
    result: Record = next((record for record in told[::-1] if record.get("type") == "result"), {})
    texts = [text_at(record, "text") for record in told if record.get("type") == "text"]
    end = text_at(result, "end")
    cost = _cost(calls, bool(result))
    return TurnReport(
        end=cast(TurnEnd, end) if end in get_args(TurnEnd) else None,
        detail=text_at(result, "detail"),
        said=(text_at(result, "said") or next(iter(texts[::-1]), ""))[-LAST_WORDS:],
        model=next((text_at(record, "model") for record in told if record.get("type") == "start"), ""),
        usage=_usage(calls),
        cost=cost,
        cost_status="unknown" if cost is None else "estimated",
        tools=tuple(text_at(record, "line") for record in told if record.get("type") == "tool"),
        resets_at=parse_dollars(value_at(result, "resets_at")),
    )


def _usage(calls: list[Record]) -> Usage | None:
    if not calls:
        return None
    fresh = sum(count_at(call, "input") + count_at(call, "cache_write") for call in calls)
    return Usage(fresh, *(sum(count_at(call, key) for call in calls) for key in ("output", "cache_read")))


def _cost(calls: list[Record], ended: bool) -> float | None:
    """Return the cost by list prices; None if a reply has none, or nothing is known of the only one."""
    costs = [parse_dollars(call.get("cost")) for call in calls]
    return None if None in costs or not (calls or ended) else sum(cost for cost in costs if cost is not None)
