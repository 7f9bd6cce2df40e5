"""What this program was started to do: its arguments, the plan, and the environment that the server gets."""

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aigon.checks.endpoints.plan import VARIABLE, Plan, unpacked
from aigon.process import tcp


@dataclass(frozen=True, slots=True)
class Order:
    """`server` is the command line, `{port}` not filled in yet; `scratch` an empty folder; `env` without the plan.

    `port_base` is the first of the ports that are this agent's own, None where it has none.
    """

    plan: Plan
    server: tuple[str, ...]
    report: Path
    scratch: Path
    env: Mapping[str, str]
    schemathesis: str = ""
    port_base: int | None = None


def read(arguments: Sequence[str], environ: "os._Environ[str]") -> Order:
    """The order in `arguments` and `environ`; the plan is taken out of the latter."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--schemathesis", default="")
    at = list(arguments).index("--")  # the server's own words may hold another one
    given = parser.parse_args(arguments[:at])
    if VARIABLE not in environ:
        raise SystemExit(f"{VARIABLE} is not set: variables for the server stand under endpoints.env")
    plan = unpacked(environ.pop(VARIABLE))
    base = tcp.base_of(environ)
    return Order(plan, tuple(arguments[at + 1 :]), given.report, given.scratch, dict(environ), given.schemathesis, base)


def command(order: Order, port: int) -> list[str]:
    """The command line of the server."""
    return [_filled(part, order, port) for part in order.server]


def environment(order: Order, port: int, cwd: Path) -> dict[str, str]:
    """The server's environment: the checks', its port, the project's programs before PATH, its own variables."""
    folders = [str(cwd / name) for name in order.plan.programs if (cwd / name).is_dir()]
    path = os.pathsep.join([*folders, *filter(None, [order.env.get("PATH", os.defpath)])])
    own = {name: _filled(value, order, port) for name, value in order.plan.env.items()}
    # What Python holds back in a buffer would be lost with a server that is killed.
    return {
        "PYTHONUNBUFFERED": "1",
        **order.env,
        "PATH": path,
        "PORT": str(port),
        "AIGON_PORT": str(port),
        **own,
    }


def _filled(text: str, order: Order, port: int) -> str:
    return text.replace("{port}", str(port)).replace("{scratch}", str(order.scratch))
