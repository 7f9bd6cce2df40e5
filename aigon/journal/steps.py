"""`step_01.md`, `step_02.md`, ... in the run folder: each turn of an agent in short, for people.

What the agent said is a quotation. Nothing reads the files back, and a run goes on without them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

from aigon.files.atomic import write_view
from aigon.journal.events import Event, IterationStarted, TurnEnded
from aigon.journal.memory import describe_worker
from aigon.journal.spending import format_cost
from aigon.model.turns import Turn
from aigon.text.amounts import CHARS_PER_TOKEN, format_duration, format_timestamp
from aigon.text.patterns import compile_re
from aigon.text.quoting import clip, code_block, code_span

MAX_SAID_CHARS = 20_000
"""Characters that are shown of what an agent said; the whole of it is in its output."""
MAX_LISTED = 200
"""Tools, headings and denied permissions that are listed."""
MAX_PROMPT_BYTES = 4_000_000
"""Bytes of a prompt that are read for its headings."""
_FENCED = compile_re(r"(?ms)^(`{3,})[^`\n]*$.*?^\1`*[ \t]*$")
_HEADING = compile_re(r"(?m)^(#{1,3}) +(\S.*)$")


def extract_headings(prompt: str) -> tuple[str, ...]:
    """Return the headings of a prompt, indented by their level.

    A prompt is aigon's own page, in which foreign text is fenced or on a line that aigon began: a Markdown parser
    would find no more, and takes half a millisecond.
    """
    return tuple("  " * (len(marks) - 1) + text for marks, text in _HEADING.findall(_FENCED.sub("", prompt)))


def render_turn_start(started: IterationStarted, headings: Sequence[str], prompt_file: str, *, again: bool) -> str:
    """Return what is known when a turn begins. `headings` are those of the prompt in `prompt_file`."""
    mark = "##" if again else "#"
    chars, tokens = started.prompt_chars, round(started.prompt_chars / CHARS_PER_TOKEN)
    lines = [
        f"{mark} {'Again, step' if again else 'Step'} {started.number}: {describe_worker(started)}",
        "",
        f"Begun: {format_timestamp(started.at)}",
        "",
        f"{mark}# Prompt",
        "",
        f"About {tokens:,} tokens ({chars:,} characters); the whole is in {_link(prompt_file)}."
        + (" Its headings:" if headings else ""),
        "",
        *([code_block("\n".join(headings[:MAX_LISTED])), ""] if headings else []),
    ]
    return "\n".join(lines)


def render_turn_end(turn: Turn, at: str, output_file: str, *, again: bool) -> str:
    """Return what a turn was. `output_file` has its whole output, if any."""
    mark = "###" if again else "##"
    parts = [
        f"{mark} What it said",
        "A claim, shown to people. It is not evidence, and no other turn sees it.",
        code_block(clip(turn.said, MAX_SAID_CHARS)) if turn.said.strip() else "Nothing.",
        f"{mark} Tools it used",
        *_list_tools(turn.tools),
        f"{mark} How it ended",
        "\n".join(_describe_end(turn, at, output_file)),
    ]
    return "\n" + "\n\n".join(parts) + "\n"


def _list_tools(tools: Sequence[str]) -> Iterator[str]:
    if not tools:
        yield "None that its output tells of."
        return
    names = Counter(tool.partition(":")[0].strip() for tool in tools)
    yield f"{len(tools)}: {', '.join(f'{code_span(name, 40)} {number}' for name, number in names.most_common(20))}"
    more = [f"- and {len(tools) - MAX_LISTED} more"] if len(tools) > MAX_LISTED else []
    yield "\n".join([*(f"- {code_span(tool) or 'a tool'}" for tool in tools[:MAX_LISTED]), *more])


def _describe_end(turn: Turn, at: str, output_file: str) -> Iterator[str]:
    ending = turn.end.replace("_", " ") + (f" (exit code {turn.exit_code})" if turn.exit_code is not None else "")
    yield f"- Ended: {ending} after {format_duration(turn.duration)}, at {format_timestamp(at)}"
    if turn.detail:
        yield f"- Reason: {code_span(turn.detail, 500)}"
    yield f"- Model: {code_span(turn.model, 80) or 'not said'}"
    yield f"- Cost: {format_cost(turn.cost, turn.cost_status)}"
    tokens = "unknown"
    if usage := turn.usage:
        tokens = f"{usage.input:,} in, {usage.cached:,} from a cache, {usage.output:,} out"
    yield f"- Tokens: {tokens}"
    if turn.session:
        yield f"- Session: {code_span(turn.session, 120)}"
    denied = ", ".join(code_span(each, 200) for each in turn.denied[:MAX_LISTED] if each.strip())
    yield f"- Denied permissions: {denied or 'none'}"
    yield f"- Whole output: {_link(output_file) if output_file else 'none'}"


def _link(path: str) -> str:
    return f"[{path}]({path})"


class StepSink:
    """Writes the file of a turn at its beginning and its end, or once for both.

    A turn that is repeated under its number goes below. The file is written whole each time, so that no edit of an
    agent stays.
    """

    def __init__(self, folder: Path, past: Iterable[Event] = ()) -> None:
        self._folder = folder
        self._number, self._text, self._tries, self._open = 0, "", 0, False
        self._due = False
        turns = [event for event in past if isinstance(event, (IterationStarted, TurnEnded))]
        last = _get_start(turns[-1]).number if turns else 0
        for event in [*takewhile(lambda each: _get_start(each).number == last, reversed(turns))][::-1]:
            self._add(event)

    def __call__(self, event: Event) -> None:
        """Raises OSError if the file cannot be written."""
        if isinstance(event, (IterationStarted, TurnEnded)):
            if _get_start(event).number != self._number:
                self.settle()
            self._add(event)
            self._due = True

    def settle(self) -> None:
        """Write what is not written yet. Raises OSError if the file cannot be written."""
        if self._due:
            self._due = False
            write_view(self._folder / _name_file(self._number), self._text)

    close = settle

    def render(self, events: Iterable[Event]) -> Iterator[tuple[str, str]]:
        """Yield the files of all turns of these events, with their names."""
        for event in events:
            if isinstance(event, (IterationStarted, TurnEnded)):
                if self._text and _get_start(event).number != self._number:
                    yield _name_file(self._number), self._text
                self._add(event)
        if self._text:
            yield _name_file(self._number), self._text

    def _add(self, event: IterationStarted | TurnEnded) -> None:
        start = _get_start(event)
        if start.number != self._number:
            self._number, self._text, self._tries, self._open = start.number, "", 0, False
        if start is event or not self._open:
            self._tries += 1
            file = f"{start.number:03d}/prompt.md"
            headings = extract_headings(_read_prompt(self._folder / file))
            text = render_turn_start(start, headings, file, again=self._tries > 1)
            self._text += f"\n{text}" if self._text else text
        if isinstance(event, TurnEnded):
            self._text += render_turn_end(event.turn, event.at, self._find_output(), again=self._tries > 1)
        self._open = start is event

    def _find_output(self) -> str:
        """Return the log of this try: each has its own, unless its program never started."""
        names = [
            f"{self._number:03d}/agent{f'-{count}' if count > 1 else ''}.log" for count in range(1, self._tries + 1)
        ]
        return next((name for name in reversed(names) if (self._folder / name).exists()), "")


def _name_file(number: int) -> str:
    return f"step_{number:02d}.md"


def _get_start(event: IterationStarted | TurnEnded) -> IterationStarted:
    """Return the beginning of a turn; one is made up for a turn of which only the end is known."""
    if isinstance(event, IterationStarted):
        return event
    return IterationStarted(event.at, event.turn.number, event.turn.agent, event.turn.model, 0, 1, 0)


def _read_prompt(file: Path) -> str:
    with suppress(OSError), file.open("rb") as opened:
        return opened.read(MAX_PROMPT_BYTES).decode("utf-8", "replace")
    return ""
