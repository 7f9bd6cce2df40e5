"""The picture in README.md: the live view in the middle of a real `aigon demo`, and the summary that it ends with.

    python -m benchmarks.picture [FOLDER]      writes docs/pictures/demo.svg; FOLDER is that of an earlier demo

The frame is drawn by the code that draws it on a terminal, from the journal of the run.
"""

import io
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from rich.console import Console, Group
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from aigon.api import open_project
from aigon.journal.events import Event, IterationFinished, RunFinished
from aigon.spec.document import parse_spec
from aigon.views.terminal.frame import Page, draw_run
from aigon.views.terminal.scene import Scene

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "demo.svg"
WIDTH = 104
SHOWN = 2
"""The iteration whose end is shown: one criterion is still open then."""
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""Fonts from elsewhere: a picture on a page loads none, and the reader's own do as well."""
_THEME = TerminalTheme(
    (24, 26, 31),
    (220, 223, 228),
    [(24, 26, 31), (240, 113, 120), (152, 195, 121), (229, 192, 123),
     (97, 175, 239), (198, 120, 221), (86, 182, 194), (220, 223, 228)],
    [(120, 125, 135)] * 8,
)  # fmt: skip


def main(folder: str | None) -> None:
    """Draw the demo in `folder`, or a new one."""
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(folder or Path(temporary, "demo"))
        if not folder:
            subprocess.run([sys.executable, "-m", "aigon", "demo", "--dir", str(root)], check=True)
        project = open_project(root)
        (run,) = project.runs()
        events = list(project.follow(run))
        (feature,) = project.features()
        picture = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, highlight=False)
        picture.print(
            Text("$ aigon demo", style="bold"), Text(), draw_frame(events, (root / feature.spec).read_bytes()), sep="\n"
        )
        picture.print(Text(), Text("  ...", style="dim"), Text(), *draw_end(events), sep="\n")
    svg = picture.export_svg(title="aigon demo", theme=_THEME, unique_id="demo")
    PICTURE.write_text(_FONTS.sub("", svg), encoding="utf-8")


def draw_frame(events: Sequence[Event], spec: bytes) -> Group:
    """Return the live view when iteration SHOWN has been assessed."""
    times = [datetime.fromisoformat(event.at).timestamp() for event in events]
    scene = Scene("feature 01: durations", parse_spec(spec).criteria, began=times[0], phase_began=times[0])
    for event, now in zip(events, times, strict=True):
        scene = scene.apply(event, now)
        if isinstance(event, IterationFinished) and event.number == SHOWN:
            return draw_run(scene, Page(WIDTH, 40), now)
    raise SystemExit(f"The demo had no iteration {SHOWN}")


def draw_end(events: Sequence[Event]) -> list[Text]:
    """Return the commits of the run, as its summary lists them, and the next command."""
    (end,) = [event for event in events if isinstance(event, RunFinished)]
    lines = end.summary.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("Commits"))
    shown = [Text(lines[0], style="green"), Text(lines[1]), *map(Text, lines[at : at + 4]), Text(lines[-1])]
    for line in shown:
        line.truncate(WIDTH, overflow="ellipsis")
    return shown


if __name__ == "__main__":
    main(next(iter(sys.argv[1:]), None))
