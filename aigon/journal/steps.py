"""step_01.md: one turn of an agent as it went, for people. What the agent said stands in it as a quotation only."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from aigon.journal.amounts import CHARS_PER_TOKEN, cost, duration
from aigon.journal.events import IterationStarted
from aigon.model.turns import Turn
from aigon.text.quoting import clipped, code, fenced
from aigon.text.timestamps import moment

SAID = 20_000
"""Characters that are shown of what an agent said; the whole of it is in its output."""
LISTED = 200
"""Tools, headings and denied permissions that are listed."""
_FENCED = re.compile(r"(?ms)^(`{3,})[^`\n]*$.*?^\1`*[ \t]*$")
_HEADING = re.compile(r"(?m)^(#{1,3}) +(\S.*)$")


def headings(prompt: str) -> tuple[str, ...]:
    """The headings of a prompt, indented by their level.

    A prompt is aigon's own page, in which whatever comes from others is fenced or on a line that aigon began: a parser
    of all of Markdown would find no more, and takes half a millisecond.
    """
    return tuple("  " * (len(marks) - 1) + text for marks, text in _HEADING.findall(_FENCED.sub("", prompt)))


def begun(started: IterationStarted, prompt: Sequence[str], prompt_file: str, *, again: bool) -> str:
    """What is known when a turn begins. `prompt` are the headings of the prompt, `prompt_file` is where it is."""
    mark = "##" if again else "#"
    lines = [
        f"{mark} {'Again, step' if again else 'Step'} {started.number}: {_who(started)}",
        "",
        f"Begun: {moment(started.at)}",
        "",
        f"{mark}# Prompt",
        "",
        f"About {_tokens(started.prompt_chars)} tokens ({started.prompt_chars:,} characters); the whole is in "
        f"{_link(prompt_file)}." + (" Its headings:" if prompt else ""),
        "",
        *([fenced("\n".join(prompt[:LISTED])), ""] if prompt else []),
    ]
    return "\n".join(lines)


def ended(turn: Turn, at: str, output_file: str, *, again: bool) -> str:
    """What a turn was. `output_file` is where its whole output is, empty for none."""
    mark = "###" if again else "##"
    said = fenced(clipped(turn.said, SAID)) if turn.said.strip() else "Nothing."
    parts = [
        (
            f"{mark} What it said",
            "A claim, shown for people. It is no evidence, and no other turn is told of it.",
            said,
        ),
        (f"{mark} Tools it used", *_tools(turn.tools)),
        (f"{mark} How it ended", "\n".join(_end(turn, at, output_file))),
    ]
    return "\n" + "\n\n".join(line for part in parts for line in part) + "\n"


def _who(started: IterationStarted) -> str:
    how = [code(started.model, 80)] if started.model else []
    how += [f"effort {code(started.effort, 20)}"] if started.effort else []
    how += [f"rung {started.rung + 1} of {started.rungs}"] if started.rungs > 1 else []
    return (code(started.agent, 80) or "an agent") + (f" ({', '.join(how)})" if how else "")


def _tokens(chars: int) -> str:
    return f"{round(chars / CHARS_PER_TOKEN):,}"


def _tools(tools: Sequence[str]) -> Iterator[str]:
    if not tools:
        yield "None that its output tells of."
        return
    kinds = Counter(tool.partition(":")[0].strip() for tool in tools)
    yield f"{len(tools)}: {', '.join(f'{code(kind, 40)} {number}' for kind, number in kinds.most_common(20))}"
    more = [f"- and {len(tools) - LISTED} more"] if len(tools) > LISTED else []
    yield "\n".join([*(f"- {code(tool) or 'a tool'}" for tool in tools[:LISTED]), *more])


def _end(turn: Turn, at: str, output_file: str) -> Iterator[str]:
    exited = f" (exit code {turn.exit_code})" if turn.exit_code is not None else ""
    yield f"- Ended: {turn.end.replace('_', ' ')}{exited} after {duration(turn.duration)}, at {moment(at)}"
    if turn.detail:
        yield f"- Reason: {code(turn.detail, 500)}"
    yield f"- Model: {code(turn.model, 80) or 'not said'}"
    yield f"- Cost: {cost(turn.cost, turn.cost_status)}"
    yield f"- Tokens: {_usage(turn)}"
    if turn.session:
        yield f"- Session: {code(turn.session, 120)}"
    denied = ", ".join(code(each, 200) for each in turn.denied[:LISTED] if each.strip())
    yield f"- Denied permissions: {denied or 'none'}"
    yield f"- Whole output: {_link(output_file) if output_file else 'none'}"


def _usage(turn: Turn) -> str:
    if turn.usage is None:
        return "unknown"
    return f"{turn.usage.input:,} in, {turn.usage.cached:,} from a cache, {turn.usage.output:,} out"


def _link(path: str) -> str:
    return f"[{path}]({path})"
