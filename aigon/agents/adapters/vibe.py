"""What Mistral Vibe leaves: `export.json` in its output folder, and on its screen one record per entry of the session.

Written against version 3.0.2. The export has the outcome, tokens and cost of the run; without it, as after a kill, the
exit code and what stands on standard error tell how it ended. Cached tokens are among its input.
"""

import re
from dataclasses import replace
from pathlib import Path

from aigon.agents.adapters import _program
from aigon.agents.adapters._ending import SAID
from aigon.agents.adapters._records import Record, at, last_document, list_at, of_type, records, text_at
from aigon.agents.adapters._tools import tool
from aigon.agents.adapters._vibe_export import exported, of_error, of_export
from aigon.model.turns import Agent, ProgramExit, Turn, TurnReport, TurnRequest
from aigon.text.fingerprints import plain

_ERROR = re.compile(r"^Error: (?P<message>.*)", re.M | re.S)


def turn(agent: Agent, ask: TurnRequest, exited: ProgramExit) -> Turn:
    """The turn, with the export read from its folder: Vibe takes no name of a file."""
    report = exited.report or exported(Path(f"{ask.output_file}.d"), exited)
    return _program.turn(agent, ask, exited, seen(replace(exited, report=report)))


def seen(exited: ProgramExit) -> TurnReport:
    """The turn by its export, and by its records."""
    entries = list({text_at(one, "id") or repr(one): one for one in records(exited.stdout)}.values())
    said = [_text(one) for one in of_type(entries, "message") if one.get("role") == "assistant"]
    effects = of_type(entries, "effect")
    export = last_document(exited.report)
    told = of_export(export, exited) if export.get("outcome") else _by_exit(exited, bool(said))
    return replace(
        told,
        said=next((text for text in said[::-1] if text), "")[-SAID:],
        session=told.session or next((text_at(one, "sessionId") for one in entries), ""),
        denied=tuple(_used(one) for one in effects if _skipped(one)),
        tools=tuple(_used(one) for one in effects),
    )


def _by_exit(exited: ProgramExit, answered: bool) -> TurnReport:
    """Without an export. What is on standard error is Vibe's own."""
    error = _ERROR.search(plain(exited.stderr.decode("utf-8", "replace")))
    if exited.exit_code == 0 and answered:
        return TurnReport(end="finished")
    if error and (exited.exit_code or 0) > 0:
        return of_error(error["message"].strip(), 0, exited.ended)
    return TurnReport()


def _text(entry: Record) -> str:
    return "\n".join(filter(None, (text_at(part, "text") for part in list_at(entry, "content")))).strip()


def _used(effect: Record) -> str:
    """`bash: npm test`; the names of its own tools begin with `file_system.`."""
    return tool(text_at(effect, "detail", "toolName").removeprefix("file_system."), at(effect, "detail", "input"))


def _skipped(effect: Record) -> bool:
    return text_at(effect, "state", "error", "code") == "tool_denied"
