"""Make man pages of the commands, for wheels and source distributions: `python hatch_build.py FOLDER` writes them."""

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))

from aigon import __version__
from aigon.cli import ABOUT, SECTIONS, VERBS
from aigon.commands.root import FEWEST_FOR_GROUPS, GROUPS, Option, root


class ManualPages(BuildHookInterface[Any]):
    """Adds the pages to a wheel, whose installer puts them into share/man, and to a source distribution."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the pages; an editable installation, which follows the sources, gets none."""
        if version == "editable":
            return
        self.folder = Path(tempfile.mkdtemp(prefix="aigon-man-"))
        kind, place = (
            ("shared_data", "share/man/man1") if self.target_name == "wheel" else ("force_include", "man/man1")
        )
        build_data[kind] |= {str(page): f"{place}/{page.name}" for page in write_pages(self.folder)}

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove the pages: they are in the artifact."""
        if version != "editable":
            shutil.rmtree(self.folder)


def write_pages(folder: Path) -> list[Path]:
    """Write aigon.1 and a page for each command into `folder`; return them."""
    folder.mkdir(parents=True, exist_ok=True)
    top = click.Context(root, info_name="aigon")
    pages = {"aigon": _render_overview()}
    for verb, (_, about) in VERBS.items():
        command = root.get_command(top, verb)
        assert command is not None, verb
        pages[f"aigon-{verb}"] = _render_command(command, click.Context(command, top, info_name=verb), about)
    for name, lines in pages.items():
        (folder / f"{name}.1").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [folder / f"{name}.1" for name in pages]


def _render_overview() -> Iterator[str]:
    yield from _head("aigon", "prove that a feature is done", "aigon COMMAND [OPTIONS]")
    yield ".SH DESCRIPTION"
    for paragraph in ABOUT:
        yield from (".PP", _escape(paragraph))
    yield ".SH COMMANDS"
    for title, verbs in SECTIONS.items():
        yield f".SS {_escape(title)}"
        for verb, (_, about) in verbs.items():
            yield from (".TP", f".BR aigon\\-{_escape(verb)} (1)", _escape(about))
    yield ".SH FILES"
    yield from (".TP", ".I .aigon/config.json", "The configuration of a project; see")
    yield ".BR aigon\\-config (1)."


def _render_command(command: click.Command, ctx: click.Context, about: str) -> Iterator[str]:
    usage = " ".join([ctx.command_path, *command.collect_usage_pieces(ctx)])
    yield from _head(ctx.command_path.replace(" ", "-"), about.rstrip("."), usage)
    yield ".SH DESCRIPTION"
    yield from _render_text(command.help or "")
    yield ".SH OPTIONS"
    yield from _render_options(command, ctx)
    for name in command.list_commands(ctx) if isinstance(command, click.Group) else ():
        inner = command.get_command(ctx, name)
        assert inner is not None, "a group lists its own commands"
        below = click.Context(inner, ctx, info_name=name)
        yield f".SH {_escape(' '.join([below.command_path, *inner.collect_usage_pieces(below)]))}"
        yield from _render_text(inner.help or "")
        yield from _render_options(inner, below)
    variables = [option for option in command.params if isinstance(option, click.Option) and option.envvar]
    if variables:
        yield ".SH ENVIRONMENT"
        for option in variables:
            yield from (".TP", f".B {_escape(str(option.envvar))}", f"Stands for {_escape(option.opts[0])}.")
    yield from (".SH SEE ALSO", ".BR aigon (1)")


def _head(name: str, about: str, usage: str) -> Iterator[str]:
    yield f'.TH {_escape(name.upper())} 1 "" "aigon {__version__}" "aigon"'
    yield from (".SH NAME", f"{_escape(name)} \\- {_escape(about)}")
    yield from (".SH SYNOPSIS", f".B {_escape(usage)}")


def _render_text(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text; one that begins with `\\b` keeps its lines."""
    for paragraph in re.split(r"\n\n+", text):
        if paragraph.startswith("\b"):
            yield from (".PP", ".nf", *map(_escape, paragraph.splitlines()[1:]), ".fi")
        else:
            yield from (".PP", _escape(" ".join(paragraph.split())))


def _render_options(command: click.Command, ctx: click.Context) -> Iterator[str]:
    """Yield all options by group, the rare ones too."""
    groups: dict[str, list[tuple[str, str]]] = {name: [] for name in GROUPS}
    for option in command.get_params(ctx):
        record = None if isinstance(option, click.Argument) else option.get_help_record(ctx)
        if record and "--help-all" not in option.opts:
            groups[option.group if isinstance(option, Option) else GROUPS[-1]].append(record)
    has_groups = sum(map(len, groups.values())) >= FEWEST_FOR_GROUPS
    for group, records in groups.items():
        if records and has_groups:
            yield f".SS {group}"
        for names, about in records:
            yield from (".TP", f".B {_escape(names)}", _escape(" ".join(about.split())))


def _escape(text: str) -> str:
    """Return text that troff shows as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("'", "\\(aq")
    return f"\\&{text}" if text.startswith(".") else text


if __name__ == "__main__":
    for page in write_pages(Path(sys.argv[1])):
        print(page)
