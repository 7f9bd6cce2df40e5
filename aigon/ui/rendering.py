"""Templates of the pages, and what they need to show values."""

import re
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from aigon.files.resources import find_resource
from aigon.journal.spending import format_cost, format_spend
from aigon.journal.statistics import GROUPINGS
from aigon.model.changes import FileDiff
from aigon.model.outcomes import describe_outcome
from aigon.spec.annotation import DECISION_RULES
from aigon.spec.features import ROOT
from aigon.text.amounts import format_count, format_dollars, format_duration
from aigon.views import figures
from aigon.views.board_cards import TITLES
from aigon.views.report import words
from aigon.views.report.words import make_environment
from aigon.views.terminal.events import describe_spent

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
