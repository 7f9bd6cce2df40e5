"""What several verbs share: their options and how they answer."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from aigon.commands.completers import complete_judges, complete_profiles
from aigon.commands.help import F, option, setting
from aigon.text import amounts

if TYPE_CHECKING:
    from aigon.git.person import Checkout
    from aigon.job.bookkeeping import Committing
    from aigon.job.options import Source

json_option = option("--json", "as_json", is_flag=True, group="Output", help="Print one JSON document.")
verify_option = option("--no-verify", "verify", is_flag=True, flag_value=False, default=True, group="Safety",
                       help="Skip those of your git hooks that can refuse.")  # fmt: skip
commit_option = option("--no-commit", "commit", is_flag=True, flag_value=False, default=True, group="Safety",
                       help="Write the files, and leave the commit to you.")  # fmt: skip
profile_option = setting(
    "--profile",
    metavar="NAME",
    shell_complete=complete_profiles,
    help="Name the profile if detection does not find it.",
)
sandbox_option = setting(
    "--sandbox", type=click.Choice(["auto", "bwrap", "namespaces", "landlock", "none"]), metavar="MODE", group="Safety",
    help="Isolate agents from the rest of your files: auto, bwrap, namespaces, landlock, none.  [default: auto]",
)  # fmt: skip
yes_option = option("--yes", "-y", is_flag=True, group="Safety", help="Answer every question with yes.")


def judge_option(text: str, **attributes: Any) -> Callable[[F], F]:
    """Return the option that names a judge; `text` says what for."""
    return setting("--judge", metavar="NAME", shell_complete=complete_judges, help=text, **attributes)


class Duration(click.ParamType[float]):
    """Seconds, written as 90s, 30m or 1h30m; with `zero`, 0 is one too."""

    name = "duration"

    def __init__(self, *, zero: bool = False) -> None:
        self._zero = zero

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds."""
        if self._zero and value in (0, "0"):
            return 0.0
        try:
            return amounts.parse_duration(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Dollars(click.ParamType[float]):
    """An amount above zero, in US dollars."""

    name = "amount in dollars"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 - click's signature
        """Return how the help names the value."""
        return "USD"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Dollars."""
        try:
            dollars = float(value)
        except ValueError:
            self.fail(f"{value!r} is not a valid {self.name}", param, ctx)
        if not 0 < dollars < float("inf"):
            self.fail(f"{value!r} is not above zero", param, ctx)
        return dollars


@contextmanager
def here() -> Iterator["Checkout"]:
    """The checkout around the current folder, after a look for what a killed aigon left running there."""
    from aigon.commands.leftovers import offer_to_end
    from aigon.git.person import Checkout, forget_inherited_repository

    forget_inherited_repository()
    with Checkout.open(Path.cwd()) as checkout:
        offer_to_end(checkout.root, checkout.common_dir)
        yield checkout


def answer(document: Mapping[str, object], text: str, as_json: bool) -> None:
    """Data on standard output as JSON, or text for people."""
    if as_json:
        print(json.dumps({"schema_version": 1, **document}, ensure_ascii=False))
    else:
        print(text)


def from_environment() -> "dict[str, Source]":
    """The options of the current command that variables set, by name."""
    context = click.get_current_context()
    set_by = ((name, context.get_parameter_source(name)) for name in context.params)
    return {name: "environment" for name, source in set_by if source is ParameterSource.ENVIRONMENT}


def committing(*, commit: bool, verify: bool, as_json: bool) -> "Committing":
    """Return how a verb commits; what it says of that goes to standard error where the answer is JSON."""
    from aigon.job.bookkeeping import Committing

    return Committing(lambda text: print(text, file=sys.stderr if as_json else sys.stdout, flush=True), commit, verify)


def ask(question: str) -> bool | None:
    """Ask a person, who says yes by pressing Enter; None without a terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    return click.confirm(question, default=True, err=True)


def confirm(question: str) -> bool:
    """Ask a person; without a terminal the answer is no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    return click.confirm(question, err=True)


def open_in_browser(address: str) -> str:
    """Show a page to a person who can see it; return what became of that."""
    import os
    import webbrowser

    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform == "darwin"
    if not (screen and sys.stdout.isatty()):
        return "Not opened: there is no display or terminal here. Open it yourself"
    return "Opened in a browser" if webbrowser.open(address) else "Not opened: no browser was found"
