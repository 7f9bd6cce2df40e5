"""Install what real projects need, run all kinds, and print what was seen.

    python -m tests.real_projects [--prefix DIR] [--no-install] [--table FILE] [KIND ...]

npm packages, pnpm and a Go tool chain go into the person's cache folder, never into the machine. Exit code 1 if a kind
failed or could not run.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path

from tests.lab import Lab
from tests.real_projects import tools
from tests.real_projects.kind import Kind, every
from tests.real_projects.proof import show


@dataclass(frozen=True, slots=True)
class Row:
    """What one kind came to. `cpu` is in seconds."""

    title: str
    tools: str
    green: str
    red: str
    cpu: float
    good: bool


def main() -> int:
    """The command."""
    asked = _asked()
    os.environ["AIGON_FRESH_PROCESSES"] = "1"  # what a process of the warm interpreter costs is not seen from here
    if asked.prefix:
        os.environ["AIGON_REAL_PROJECTS"] = str(asked.prefix.resolve())
    rows = [_row(name, every()[name], install=not asked.no_install) for name in asked.kind or every()]
    table = _table(rows)
    print(f"\n{table}")
    if asked.table:
        asked.table.write_text(f"{table}\n")
    return 0 if all(row.good for row in rows) else 1


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.real_projects", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--prefix", type=Path, help=f"where tools are installed; {tools.prefix()} without it")
    parser.add_argument("--no-install", action="store_true", help="run only what is there")
    parser.add_argument("--table", type=Path, help="write the table to this file, too")
    parser.add_argument("kind", nargs="*", choices=[*every(), []], help="only these")
    return parser.parse_args()


def _row(name: str, kind: Kind, *, install: bool) -> Row:
    print(f"== {kind.title}", flush=True)
    before = _cpu()
    try:
        if install:
            tools.install(kind)
            before = _cpu()
        if lacking := tools.missing(kind):
            return Row(kind.title, "", f"did not run: {lacking}", "", 0.0, False)
        with tempfile.TemporaryDirectory(prefix=f"real-{name}-") as folder:
            green, red = show(kind, Lab(Path(folder)).init())
        return Row(kind.title, _tools(kind), green, red, _cpu() - before, True)
    except (AssertionError, OSError, subprocess.SubprocessError) as error:
        traceback.print_exc()
        said = (str(error).strip() or type(error).__name__).split("\n")[0]
        return Row(kind.title, _tools(kind), f"FAILED: {said[:200]}", "", _cpu() - before, False)


def _tools(kind: Kind) -> str:
    return ", ".join(f"{name} {version}" for name, version in tools.versions(kind).items())


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _table(rows: list[Row]) -> str:
    head = "| kind | tools and versions | green | red | CPU |\n|---|---|---|---|---|"
    lines = [f"| {r.title} | {r.tools} | {r.green} | {r.red} | {r.cpu:.1f} s |".replace("\n", " ") for r in rows]
    return "\n".join([head, *lines])


if __name__ == "__main__":
    sys.exit(main())
