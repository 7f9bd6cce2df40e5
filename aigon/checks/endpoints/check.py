"""The check `endpoints` of a project: what its configuration asks of a server, frozen into one command."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from aigon.checks.endpoints import program as endpoints
from aigon.checks.endpoints.plan import LARGEST, VARIABLE, packed
from aigon.checks.endpoints.plan_files import plan_of
from aigon.errors import usage
from aigon.model.checks import Check, Project
from aigon.profiles.profile import CONFIG
from aigon.profiles.resolution import absolute, arguments, unfound
from aigon.text.shell_words import simple_commands

if TYPE_CHECKING:
    from aigon.config import endpoints as given

_WORD = re.compile(r"[\w.+-]+", re.ASCII)
_BUILT_IN = frozenset(
    ("!", ".", "[[", "alias", "builtin", "cd", "command", "coproc", "declare", "eval", "exec", "export", "let", "local")
) | {"pushd", "read", "readonly", "set", "shopt", "source", "time", "trap", "type", "ulimit", "umask", "unset", "wait"}
"""First words that bash itself knows."""


def endpoint_check(config: "given.Endpoints", root: Path, folder: str, project: Project) -> Check:
    """The check in `folder`, relative to `root`; `project` says where the server's program is.

    Files that the requests refer to are read now, so that an agent cannot change what is expected. A pass stands for
    the next run on the same tree, as one of tests does: both start the project's code anew, and what they may meet
    outside of the tree is the same. Raises AigonError (exit 2) for what cannot be meant.
    """
    where = "endpoints" if folder in ("", ".") else f"paths.{folder}.endpoints"
    word = packed(plan_of(config, root, folder, where))
    if len(word) > LARGEST:
        hint = 'Ask for fewer things, name smaller schemas, or give the document as a path on the server ("path")'
        raise usage(
            "The requests and their documents are too large to hand on", where=f"{where} in {CONFIG}", hint=hint
        )
    template = ("bash", "-c", config.command) if isinstance(config.command, str) else tuple(config.command)
    argv = absolute(arguments(template, project, {}), project)
    missing, hint = _missing(config, template, argv, project, where)
    tool = ("--schemathesis", project.tool("schemathesis") or "schemathesis") if config.openapi else ()
    program = (sys.executable, "-I", str(endpoints.PROGRAM), "--report", "{report}", "--scratch", "{scratch}")
    return Check(
        "endpoints",
        "endpoints",
        (*program, *tool, "--", *argv),
        parser="endpoints",
        timeout=config.timeout,
        # Only one at a time can have a port that is not free to choose.
        exclusive=config.port is not None,
        cwd=folder or ".",
        env={VARIABLE: word},
        source=CONFIG,
        missing=missing,
        hint=hint,
    )


def _missing(
    config: "given.Endpoints", template: tuple[str, ...], argv: tuple[str, ...], project: Project, where: str
) -> tuple[str, str]:
    """What is not installed, the server's program or schemathesis, and how to get it; two empty texts for nothing."""
    started = _first_word(config.command) if isinstance(config.command, str) else ""
    lacking = [*unfound(argv, template, project), *([started] if started and not project.tool(started) else [])]
    if lacking:
        return lacking[0], f"Install {lacking[0]} and put it on PATH, or change {where}.command"
    if config.openapi and not project.tool("schemathesis"):
        return "schemathesis", "pip install schemathesis (https://schemathesis.io)"
    return "", ""


def _first_word(line: str) -> str:
    """The program of a line that is nothing but one plain command; empty where that cannot be told by reading."""
    commands = simple_commands(line)
    word = commands[0].words[0] if len(commands) == 1 else ""
    return word if _WORD.fullmatch(word) and word not in _BUILT_IN else ""
