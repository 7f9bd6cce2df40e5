"""Options that several verbs share, and how verbs answer."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
from click.core import ParameterSource

from aigon.commands.completers import complete_judges, complete_profiles
from aigon.commands.root import F, option, setting
from aigon.text import amounts

if TYPE_CHECKING:
    from aigon.git.person import Checkout
    from aigon.job.bookkeeping import Committing
    from aigon.job.options import Options, Source


json_option = option("--json", "as_json", is_flag=True, group="Output", help="Print one JSON document.")
json_events_option = option("--json", "as_json", is_flag=True, group="Output", help="Print one JSON event per line.")
verify_option = option("--no-verify", "verify", is_flag=True, flag_value=False, default=True, group="Safety",
                       help="Skip git hooks that can reject the commit.")  # fmt: skip
commit_option = option("--no-commit", "commit", is_flag=True, flag_value=False, default=True, group="Safety",
                       help="Write the files, but do not commit them.")  # fmt: skip
sandbox_option = setting(
    "--sandbox", type=click.Choice(["auto", "bwrap", "namespaces", "landlock", "none"]), metavar="MODE", group="Safety",
    help="Isolate agents from your other files: auto, bwrap, namespaces, landlock, none.  [default: auto]",
)  # fmt: skip
yes_option = option("--yes", "-y", is_flag=True, group="Safety", help="Answer every question with yes.")


def profile_option(**attributes: Any) -> Callable[[F], F]:
    """Return the option that names a profile."""
    text = "Use this profile if detection finds none or the wrong one."
    return setting("--profile", metavar="NAME", shell_complete=complete_profiles, help=text, **attributes)


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
    from aigon.git.person import Checkout, forget_inherited_repository

    forget_inherited_repository()
    with Checkout.open(Path.cwd()) as checkout:
        offer_to_end(checkout.root, checkout.common_dir)
        yield checkout


@contextmanager
def open_main() -> Iterator["Checkout"]:
    """The main checkout of the repository around the current folder, which may be a candidate's worktree."""
    from aigon.job.job import open_main_checkout

    with here() as checkout, open_main_checkout(checkout) as (main, _):
        yield main


def answer(document: Mapping[str, object], text: str, as_json: bool) -> None:
    """Data on standard output as JSON, or text for people."""
    if as_json:
        import json

        print(json.dumps({"schema_version": 1, **document}, ensure_ascii=False))
    else:
        print(text)


def find_env_options() -> "dict[str, Source]":
    """The options of the current command that variables set, by name."""
    context = click.get_current_context()
    set_by = ((name, context.get_parameter_source(name)) for name in context.params)
    return {name: "environment" for name, source in set_by if source is ParameterSource.ENVIRONMENT}


def build_committing(*, commit: bool, verify: bool, as_json: bool) -> "Committing":
    """Return how a verb commits; what it says of that goes to standard error where the answer is JSON."""
    from aigon.job.bookkeeping import Committing

    return Committing(lambda text: print(text, file=sys.stderr if as_json else sys.stdout, flush=True), commit, verify)


def commits(command: F) -> F:
    """Add --no-commit, --no-verify and --json to a command that gets `how` it commits, and `as_json`."""

    @commit_option
    @verify_option
    @json_option
    @wraps(command)
    def call(*arguments: Any, commit: bool, verify: bool, as_json: bool, **given: Any) -> Any:
        how = build_committing(commit=commit, verify=verify, as_json=as_json)
        return command(*arguments, how=how, as_json=as_json, **given)

    return cast("F", call)


def confirm(question: str, *, default: bool = False) -> bool:
    """Ask a person, who takes the default by pressing Enter; without a terminal the answer is no."""
    return sys.stdin.isatty() and sys.stderr.isatty() and click.confirm(question, default=default, err=True)


def require_consent(options: "Options") -> None:
    """Raise AigonError (exit 4) if the spec as it is now is accepted and that is not a person's word."""
    if options.accept_spec:
        from aigon.run.invocations import require_person

        require_person("--accept-spec", options.yes)


def open_in_browser(address: str) -> str:
    """Show a page to a person who can see it; return what became of that."""
    import webbrowser

    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform == "darwin"
    if not (screen and sys.stdout.isatty()):
        return "Not opened: there is no display or terminal here. Open it yourself"
    return "Opened in a browser" if webbrowser.open(address) else "Not opened: no browser was found"


def offer_to_end(root: Path, common_dir: Path) -> None:
    """Ask whether to end what is left, on a terminal; without one, or for --json, say how it is ended.

    It costs a listing of one folder where no aigon was killed. Below a loop nothing is said: what runs there belongs to
    it.
    """
    from aigon.files.home import find_home
    from aigon.process.running import list_notes

    home = None if os.environ.get("AIGON_RUN") else find_home(common_dir)
    if home is None or not list_notes(home):
        return
    from aigon.run import invocations

    context = click.get_current_context(silent=True)
    given = context.params if context else {}
    asks = not given.get("as_json") and sys.stdin.isatty() and sys.stderr.isatty()
    invocations.offer_to_end(
        home,
        confirm if asks else None,
        partial(print, "aigon:", file=sys.stderr),
        beside=_name_own_feature(context, root),
    )


def offer_around(start: Path) -> None:
    """The same for a command that needs no repository, or opens none: it looks for one around a folder."""
    from aigon.errors import AigonError
    from aigon.git.repository import find_repository

    try:
        repository = find_repository(start)
    except AigonError:
        return
    offer_to_end(repository.root, repository.common_dir)


def _name_own_feature(context: click.Context | None, root: Path) -> str:
    """The feature whose own leftovers a run ends by itself; "" where none is about to begin."""
    if context is None or context.info_name not in ("feature-implement", "arena"):
        return ""
    from aigon.errors import AigonError
    from aigon.spec.files import locate_feature

    try:
        return locate_feature(root, str(context.params.get("feature"))).name_for_people
    except AigonError:
        return ""
