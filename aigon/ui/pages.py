"""Pages: their templates with what these show values by, and their forms, each of which runs a verb of aigon."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup
from msgspec import Struct

from aigon.api import AigonError, Project
from aigon.errors import Exit, usage
from aigon.files.resources import find_resource
from aigon.journal.spending import format_cost, format_spend
from aigon.journal.statistics import GROUPINGS
from aigon.model.changes import FileDiff
from aigon.model.criteria import DEFAULT_PROMISE, MAX_ITERATIONS
from aigon.model.outcomes import describe_outcome
from aigon.spec.annotation import DECISION_RULES
from aigon.spec.features import ROOT
from aigon.text.amounts import format_count, format_dollars, format_duration
from aigon.views import figures
from aigon.views.board_cards import TITLES
from aigon.views.report import words
from aigon.views.report.words import make_environment
from aigon.views.terminal.events import describe_spent

if TYPE_CHECKING:
    from aigon.config.models import Config
    from aigon.spec.writing import SettingValues


LINES = 400
"""Lines of one file's diff that are shown."""
FILES = 60
"""Files of a diff that are shown."""


@cache
def load_templates() -> Environment:
    """Return the templates of the pages."""
    folder = find_resource("templates", "ui")
    environment = make_environment(FileSystemLoader(folder))
    environment.globals |= {
        "TITLES": TITLES,
        "words": words,
        "stats_words": figures,
        "GROUPINGS": GROUPINGS,
        "STATUSES": words.CHIPS,
        "DECISION_RULES": DECISION_RULES,
        "asset": _find_asset,
        "iso": _format_iso,
        "cut_diff": _cut_diff,
        "LINES": LINES,
        "FILES": FILES,
    }
    shared = (
        describe_outcome, describe_spent, format_cost, format_spend, format_count, format_dollars, format_duration,
    )  # fmt: skip
    environment.globals |= {function.__name__: function for function in shared}
    environment.filters |= {"markdown": show_markdown, "slug": _make_id}
    environment.tests |= {"in_own": lambda path: path.startswith((f"{ROOT}/", ".aigon/"))}
    return environment


def render(name: str, **values: Any) -> Markup:
    """Return a template with these values."""
    return Markup(load_templates().get_template(name).render(**values))


@cache
def _find_asset(name: str) -> str:
    """Return the address of a static file, another one for each content."""
    data = find_resource("templates", "ui", "static", name).read_bytes()
    return f"/static/{name}?{sha256(data).hexdigest()[:12]}"


def _make_id(text: str) -> str:
    """Return `text` as a part of an element's id, different for different texts."""
    plain = re.sub(r"[^a-zA-Z0-9-]", "", text)
    return plain if plain == text else f"{plain}-{sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _format_iso(at: str | float) -> str:
    """Return a time, ISO 8601 or in seconds since the epoch, in UTC as a browser reads it; "" for any other text."""
    try:
        moment = datetime.fromtimestamp(at, UTC) if isinstance(at, int | float) else datetime.fromisoformat(at)
        return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return ""


def _cut_diff(diff: FileDiff) -> list[tuple[str, list[Any]]]:
    """Return the hunks of a file with their headings, at most `LINES` lines of it."""
    remaining, shown = LINES, []
    for hunk in diff.hunks:
        if remaining > 0:
            shown.append((hunk.heading, list(hunk.lines[:remaining])))
            remaining -= len(hunk.lines)
    return shown


def show_markdown(text: str) -> Markup:
    """Return Markdown as HTML: of markup in it only the text stays, and nothing leads or loads from elsewhere."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False})
    return Markup(reader.disable(["image", "link", "autolink", "html_block", "html_inline"]).render(text))


Form = Mapping[str, str]
RALPH_ITERATIONS = 10
"""What Max Iterations begins with."""
PATIENCE = 600.0
"""Seconds that a verb may take: a merge runs the proof anew."""


class Verb(Struct, frozen=True):
    """A command of aigon. `says` is what happened, for people; `decides`: it takes a person at a terminal."""

    command: str
    says: str
    decides: bool = False


VERBS: Mapping[str, Verb] = {
    "prioritise": Verb("feature-prioritise", "Feature {feature} is in the backlog."),
    "setup": Verb("feature-setup", "Feature {feature} is in progress, on a branch of its own."),
    "merge": Verb("feature-done", "Feature {feature} is merged.", decides=True),
    "cancel": Verb("cancel", "Feature {feature} is put away. Its branches and records stay.", decides=True),
    "reopen": Verb("reopen", "Feature {feature} is taken up again.", decides=True),
    "stop": Verb("stop", "Asked feature {feature} to stop after its iteration."),
    "stop-now": Verb("stop", "Asked feature {feature} to stop at once."),
    "start": Verb("feature-implement", "The run of feature {feature} has started."),
    "resume": Verb("feature-implement", "The run of feature {feature} goes on."),
    "approve": Verb("approve", "Approved for feature {feature}: {what}.", decides=True),
    "reject": Verb("reject", "Rejected for feature {feature}: {what}.", decides=True),
    "accept": Verb("spec-compile", "What decides feature {feature} is in force.", decides=True),
    "compare": Verb("feature-eval", "The agents on feature {feature} are compared."),
}


def run_form(project: Project, name: str, form: Form, decides: bool) -> str:
    """Run the verb of a form and return what happened. Raises AigonError as the command does."""
    verb, feature, agent = VERBS[name], form.get("feature", ""), form.get("agent", "")
    if verb.decides and not decides:
        what = "This server decides nothing: no person started it from a terminal"
        raise AigonError(what, hint=f"aigon {verb.command} {feature}", code=Exit.NEEDS_HUMAN)
    if not feature or feature.startswith("-"):
        raise usage("The form does not name a feature", where=name)
    if name in ("start", "resume"):
        options = read_run_options(project, form, resume=name == "resume")
        project.start(feature, **options)
        return verb.says.format(feature=feature)
    arguments, items = [agent] if agent and name in ("stop", "stop-now", "merge") else [], form.get("what", "").split()
    options = {"now": True} if name == "stop-now" else {"accept": True, "yes": True} if name == "accept" else {}
    if name in ("approve", "reject"):
        arguments, options = items, {"why": form.get("why", ""), "agent": agent or None, "yes": True}
    project.run_verb(verb.command, feature, *arguments, timeout=PATIENCE, **options)
    return verb.says.format(feature=feature, what=", ".join(items))


def read_run_options(project: Project, form: Form, *, resume: bool) -> dict[str, Any]:
    """Return the options of a run as a form gives them. Raises AigonError (exit 2) without a limit on its cost."""
    cost = _read_number(form, "max_cost", "The cost limit")
    if cost is None and load_config(project).guards.max_cost is None:
        raise usage(
            "A run that is started here needs a limit on its cost",
            where="Cost limit",
            hint='Give an amount in US dollars, or set {"guards": {"maxCost": 5}} in .aigon/config.json',
        )
    agents = tuple(each for each in form.get("agents", form.get("agent", "")).replace(",", " ").split() if each)
    options: dict[str, Any] = {"resume": True} if resume else {"worktree": form.get("worktree") == "on" or None}
    return options | {"agents": agents or None, "max_cost": cost, "max_iterations": _read_iterations(form)}


def save_feature(project: Project, form: Form, feature: str = "") -> str:
    """Write the spec that a form describes, or change that of `feature`; return the feature's name.

    Raises AigonError as `Project.create_feature` and `Project.update_feature` do.
    """
    title, description = form.get("title", ""), form.get("description", "").replace("\r\n", "\n")
    if feature:
        settings = _read_settings(form, was_ralph=project.spec(feature).settings.mode == "ralph")
        info = project.update_feature(feature, title=title, description=description, settings=settings)
    else:
        lines = [line.strip() for line in form.get("criteria", "").splitlines() if line.strip()]
        items = "\n".join(line if line.startswith("- [") else f"- [ ] {line.removeprefix('- ')}" for line in lines)
        text = f"{description.strip()}\n\n## Acceptance Criteria\n\n{items}\n".lstrip()
        info = project.create_feature(title, text, _read_settings(form, was_ralph=False))
    return info.feature.id or info.feature.slug


def _read_settings(form: Form, *, was_ralph: bool) -> "SettingValues":
    """Return the keys of the frontmatter that the toggle sets; without it they go if they were its."""
    if form.get("ralph") != "on":
        return dict.fromkeys(("mode", "max_iterations", "promise")) if was_ralph else {}
    iterations = _read_iterations(form)
    promise = form.get("promise", "").strip()
    return {"mode": "ralph", "max_iterations": iterations or RALPH_ITERATIONS, "promise": promise or DEFAULT_PROMISE}


def _read_iterations(form: Form) -> int | None:
    count = _read_number(form, "max_iterations", "Max Iterations")
    if count is not None and not (count == int(count) and 1 <= count <= MAX_ITERATIONS):
        raise usage(f"Max Iterations is {count:g}", where="Max Iterations", hint=f"Give 1 to {MAX_ITERATIONS}")
    return None if count is None else int(count)


def _read_number(form: Form, name: str, title: str) -> float | None:
    text = form.get(name, "").strip().lstrip("$")
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise usage(f"{title} is {text[:40]!r}", where=title, hint="Give a number above zero")
    return number


def load_config(project: Project) -> "Config":
    """Return the configuration of the project. Raises AigonError (exit 2) if it is malformed."""
    from aigon.config.loading import load_configuration, open_work_tree

    return load_configuration(open_work_tree(project.root))
