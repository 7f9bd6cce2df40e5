"""`step_01.md`, `step_02.md`, ... in the run folder: each turn of an agent in short, for people.

What the agent said is a quotation. Nothing reads the files back, and a run goes on without them.
"""

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from aigon.files.atomic import write_view
from aigon.journal.events import Event, IterationStarted, TurnEnded
from aigon.journal.spending import format_cost
from aigon.model.turns import Turn
from aigon.text.amounts import CHARS_PER_TOKEN, format_duration, format_timestamp
from aigon.text.quoting import clip, code_block, code_span

SAID = 20_000
"""Characters that are shown of what an agent said; the whole of it is in its output."""
LISTED = 200
"""Tools, headings and denied permissions that are listed."""
_FENCED = re.compile(r"(?ms)^(`{3,})[^`\n]*$.*?^\1`*[ \t]*$")
_HEADING = re.compile(r"(?m)^(#{1,3}) +(\S.*)$")


def extract_headings(prompt: str) -> tuple[str, ...]:
    """Return the headings of a prompt, indented by their level.

    A prompt is aigon's own page, in which foreign text is fenced or on a line that aigon began: a Markdown parser
    would find no more, and takes half a millisecond.
    """
    return tuple("  " * (len(marks) - 1) + text for marks, text in _HEADING.findall(_FENCED.sub("", prompt)))


def render_turn_start(started: IterationStarted, prompt: Sequence[str], prompt_file: str, *, again: bool) -> str:
    """Return what is known when a turn begins. `prompt` are the headings of the prompt in `prompt_file`."""
    mark = "##" if again else "#"
    lines = [
        f"{mark} {'Again, step' if again else 'Step'} {started.number}: {_who(started)}",
        "",
        f"Begun: {format_timestamp(started.at)}",
        "",
        f"{mark}# Prompt",
        "",
        f"About {_tokens(started.prompt_chars)} tokens ({started.prompt_chars:,} characters); the whole is in "
        f"{_link(prompt_file)}." + (" Its headings:" if prompt else ""),
        "",
        *([code_block("\n".join(prompt[:LISTED])), ""] if prompt else []),
    ]
    return "\n".join(lines)


def render_turn_end(turn: Turn, at: str, output_file: str, *, again: bool) -> str:
    """Return what a turn was. `output_file` has its whole output, if any."""
    mark = "###" if again else "##"
    said = code_block(clip(turn.said, SAID)) if turn.said.strip() else "Nothing."
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
    how = [code_span(started.model, 80)] if started.model else []
    how += [f"effort {code_span(started.effort, 20)}"] if started.effort else []
    how += [f"rung {started.rung + 1} of {started.rungs}"] if started.rungs > 1 else []
    return (code_span(started.agent, 80) or "an agent") + (f" ({', '.join(how)})" if how else "")


def _tokens(chars: int) -> str:
    return f"{round(chars / CHARS_PER_TOKEN):,}"


def _tools(tools: Sequence[str]) -> Iterator[str]:
    if not tools:
        yield "None that its output tells of."
        return
    kinds = Counter(tool.partition(":")[0].strip() for tool in tools)
    yield f"{len(tools)}: {', '.join(f'{code_span(kind, 40)} {number}' for kind, number in kinds.most_common(20))}"
    more = [f"- and {len(tools) - LISTED} more"] if len(tools) > LISTED else []
    yield "\n".join([*(f"- {code_span(tool) or 'a tool'}" for tool in tools[:LISTED]), *more])


def _end(turn: Turn, at: str, output_file: str) -> Iterator[str]:
    exited = f" (exit code {turn.exit_code})" if turn.exit_code is not None else ""
    yield (
        f"- Ended: {turn.end.replace('_', ' ')}{exited} after {format_duration(turn.duration)}, "
        f"at {format_timestamp(at)}"
    )
    if turn.detail:
        yield f"- Reason: {code_span(turn.detail, 500)}"
    yield f"- Model: {code_span(turn.model, 80) or 'not said'}"
    yield f"- Cost: {format_cost(turn.cost, turn.cost_status)}"
    yield f"- Tokens: {_usage(turn)}"
    if turn.session:
        yield f"- Session: {code_span(turn.session, 120)}"
    denied = ", ".join(code_span(each, 200) for each in turn.denied[:LISTED] if each.strip())
    yield f"- Denied permissions: {denied or 'none'}"
    yield f"- Whole output: {_link(output_file) if output_file else 'none'}"


def _usage(turn: Turn) -> str:
    if turn.usage is None:
        return "unknown"
    return f"{turn.usage.input:,} in, {turn.usage.cached:,} from a cache, {turn.usage.output:,} out"


def _link(path: str) -> str:
    return f"[{path}]({path})"


APART = 1.0
"""Seconds after one writing in which the beginning of a turn is not written: its end will be, soon enough."""
LARGEST = 4_000_000
"""Bytes of a prompt that are read for its headings."""


class StepSink:
    """Writes the file of a turn at its end, and at its beginning unless the last write was just before.

    A turn that is repeated under its number goes below. The file is written whole each time, so that no edit of an
    agent stays.
    """

    def __init__(self, folder: Path, past: Iterable[Event] = ()) -> None:
        self._folder = folder
        self._number, self._text, self._tries, self._open = 0, "", 0, False
        self._due, self._written = False, -APART
        for event in collect_turns(past).last:
            self._take(event)

    def __call__(self, event: Event) -> None:
        """Raises OSError if the file cannot be written."""
        if isinstance(event, (IterationStarted, TurnEnded)):
            self._take(event)
            self._due = True
            if isinstance(event, TurnEnded) or time.monotonic() - self._written >= APART:
                self._write()

    def close(self) -> None:
        """Write what is not written yet."""
        if self._due:
            self._write()

    def _write(self) -> None:
        self._due, self._written = False, time.monotonic()
        write_view(self._folder / self._name, self._text)

    @property
    def _name(self) -> str:
        return _file(self._number)

    def rendered(self, events: Iterable[Event]) -> Iterator[tuple[str, str]]:
        """Yield the files of all turns of these events, with their names."""
        for event in events:
            if isinstance(event, (IterationStarted, TurnEnded)):
                if self._text and _number(event) != self._number:
                    yield self._name, self._text
                self._take(event)
        if self._text:
            yield self._name, self._text

    def _take(self, event: IterationStarted | TurnEnded) -> None:
        if _number(event) != self._number:
            self._number, self._text, self._tries, self._open = _number(event), "", 0, False
        if isinstance(event, IterationStarted):
            self._begin(event)
            return
        if not self._open:
            self._begin(_beginning(event.turn, event.at))
        self._text += render_turn_end(event.turn, event.at, self._output(), again=self._tries > 1)
        self._open = False

    def _begin(self, event: IterationStarted) -> None:
        self._tries, self._open = self._tries + 1, True
        file = f"{event.number:03d}/prompt.md"
        shown = render_turn_start(event, extract_headings(_prompt(self._folder / file)), file, again=self._tries > 1)
        self._text += f"\n{shown}" if self._text else shown

    def _output(self) -> str:
        """Return the log of this try: each has its own, unless its program never started."""
        names = [f"{self._number:03d}/agent{f'-{at}' if at > 1 else ''}.log" for at in range(1, self._tries + 1)]
        return next((name for name in reversed(names) if (self._folder / name).exists()), "")


@dataclass(slots=True)
class TurnHistory:
    """The events of the last turn, and the first line of each turn's file."""

    last: list[IterationStarted | TurnEnded] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        if not isinstance(event, (IterationStarted, TurnEnded)):
            return
        if self.last and _number(self.last[0]) == _number(event):
            self.last.append(event)
            return
        self.last = [event]
        first = event if isinstance(event, IterationStarted) else _beginning(event.turn, event.at)
        self.titles[_file(first.number)] = render_turn_start(first, (), "", again=False).partition("\n")[0]


def collect_turns(events: Iterable[Event]) -> TurnHistory:
    """Return the turns of these events."""
    turns = TurnHistory()
    for event in events:
        turns.take(event)
    return turns


def _file(number: int) -> str:
    return f"step_{number:02d}.md"


def _number(event: IterationStarted | TurnEnded) -> int:
    return event.number if isinstance(event, IterationStarted) else event.turn.number


def _beginning(turn: Turn, at: str) -> IterationStarted:
    """Make the beginning of a turn of which only the end is known."""
    return IterationStarted(at, turn.number, turn.agent, turn.model, 0, 1, 0)


def _prompt(file: Path) -> str:
    """Return the text of a prompt; "" if it is missing."""
    with suppress(OSError), file.open("rb") as opened:
        return opened.read(LARGEST).decode("utf-8", "replace")
    return ""
