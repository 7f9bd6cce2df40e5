"""The report as a page that loads and runs nothing, and as Markdown for a pull request or a comment on an issue.

In Markdown, text of others stays text, links to nothing and notifies no one.
"""

import re
from functools import cache

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup
from msgspec import Struct

from aigon.errors import usage
from aigon.files.resources import find_resource
from aigon.git import forge
from aigon.git.person import Checkout
from aigon.job.spec_locations import locate_spec
from aigon.journal.account import FeatureAccount, WorkAccount, count_changed_lines, count_tests
from aigon.journal.history import IterationRecord
from aigon.journal.spending import format_cost
from aigon.model.changes import Concern, FileChange
from aigon.model.failures import group_problems, has_failed, select_errors
from aigon.run.invocations import require_outside_a_run
from aigon.spec.document import parse_spec
from aigon.text.amounts import format_count, format_duration, format_timestamp
from aigon.text.patterns import compile_re
from aigon.text.quoting import code_span, fold
from aigon.views.report import words
from aigon.views.report.charts import build_figures
from aigon.views.report.gather import write_report
from aigon.views.report.words import list_accepted, make_environment

LARGEST = 480_000
"""Bytes of a page."""
_LONGEST_LINK = 400
"""Characters of a path that is linked."""
_BAR = 80
"""Pixels of the bar of the largest change."""


class Bounds(Struct, frozen=True):
    """Characters of texts, and how many things of a kind. `full` are the iterations that are shown in full."""

    text: int = 600
    excerpt: int = 2_000
    log: int = 40_000
    said: int = 800
    full: int = 12
    columns: int = 60
    criteria: int = 300
    files: int = 120
    problems: int = 6


STAGES = (
    Bounds(),
    Bounds(text=400, excerpt=800, log=15_000, said=400, full=6, columns=40, criteria=150, files=60, problems=3),
    Bounds(text=200, excerpt=200, log=4_000, said=150, full=2, columns=20, criteria=60, files=20, problems=1),
    Bounds(text=100, excerpt=0, log=0, said=0, full=0, columns=8, criteria=30, files=5, problems=0),
)
"""From what a page usually shows to what always fits."""


def render_page(account: FeatureAccount) -> str:
    """Return the page, with as much of everything as fits into `LARGEST` bytes."""
    figures, several = build_figures(account), len(account.works) > 1
    for bounds in STAGES:
        page = _load_template().render(account=account, bounds=bounds, figures=figures, several=several).lstrip()
        if len(page.encode()) <= LARGEST:
            break
    return page


@cache
def _load_template() -> Template:
    environment = make_environment()
    environment.globals |= {
        "style": Markup(find_resource("templates", "report", "page.css").read_text(encoding="utf-8")),
        "words": words,
        "anchor": _name_anchor,
        "file_url": _find_url,
        "first_line": lambda message: next((line for line in message.splitlines() if line.strip()), "no message"),
        "list_checks": lambda steps: {each.check: each.title for step in steps for each in step.look.findings},
        "list_concerns": _list_concerns,
        "list_notices": _list_notices,
        "list_places": _list_places,
        "rank_changes": _rank_changes,
    }
    shared = (
        count_changed_lines, count_tests, format_cost, format_count, format_duration, format_timestamp, group_problems,
        has_failed, list_accepted, select_errors,
    )  # fmt: skip
    environment.globals |= {function.__name__: function for function in shared}
    return environment.from_string(find_resource("templates", "report", "page.html").read_text(encoding="utf-8"))


def _name_anchor(work: WorkAccount, part: str = "") -> str:
    """Return the id of the element about a work, or about a part of it."""
    return "-".join(filter(None, ("work", work.label or "solo", part)))


def _find_url(account: FeatureAccount, work: WorkAccount, path: str, line: int, commit: str) -> str:
    """Return where the forge shows a file as `commit` has it, else the last one of the work; "" for nowhere."""
    commit = commit or work.commit
    if not account.forge or not commit or len(path) > _LONGEST_LINK or path.startswith("/") or ".." in path.split("/"):
        return ""
    return account.forge.file(commit, path, line)


def _list_places(account: FeatureAccount) -> list[tuple[str, str]]:
    """Return the id and the title of every part that the page may have."""
    places = [("criteria", "Criteria"), ("progress", "Progress")]
    if len(account.works) > 1:
        return [*places, *((_name_anchor(work), work.name) for work in account.works)]
    titles = ("Checks", "Integrity", "Iterations", "Changes")
    return [*places, *((_name_anchor(account.works[0], title.lower()), title) for title in titles)]


def _list_concerns(work: WorkAccount) -> list[tuple[Concern, IterationRecord, bool]]:
    """Return the concerns of all iterations, where each was last seen, and whether it is gone since."""
    latest = {(c.rule, c.key) for c in work.last.look.concerns} if work.last else set()
    seen = {(c.rule, c.key): (c, step) for step in work.steps for c in step.look.concerns}
    return [(concern, step, key not in latest) for key, (concern, step) in seen.items()]


def _list_notices(work: WorkAccount) -> list[tuple[str, str]]:
    """Return warnings, what was saved aside and what could not be read, each with the ref that holds it."""
    vacuous = words.list_vacuous(work)
    warnings = dict.fromkeys(notice.text for notice in work.history.notices if notice.level == "warning")
    return [
        *((text, "") for text in warnings if text not in vacuous),
        *((f"Saved aside: {parked.what}", parked.ref) for parked in work.history.parked),
        *((f"Not read: {text}", "") for text in work.unread),
    ]


def _rank_changes(work: WorkAccount) -> list[tuple[FileChange, float, float]]:
    """Return the changed files, the largest change first, each with the two lengths of its bar."""
    sizes = [(change, max(change.added, 0), max(change.removed, 0)) for change in work.changes]
    sizes.sort(key=lambda size: -(size[1] + size[2]))
    most = max((added + removed for _, added, removed in sizes), default=0) or 1
    return [(change, round(_BAR * a / most, 1), round(_BAR * r / most, 1)) for change, a, r in sizes]


_SPECIAL = compile_re(r"([\\`*_\[\]<>#|~&$!])")
_CALLS = compile_re(r"(?<=@)|(?<=:)(?=//)|(?<=\bwww)(?=\.)|(?<=\bGH)(?=-)", re.I)
_CODE = compile_re(r"`([^`\n]+)`")
NOTHING = "<!-- -->"
"""An invisible separator: a forge makes no link and no mention of what is on its two sides."""
_GAPS = compile_re(r"\n{3,}")
_CRITERIA = 200
_FILES = 40
_LONGEST = 65_000
"""Characters: GitHub takes 65,536."""
_CUT = "\n\n… The report is longer than a comment may be."


def escape_line(text: str, limit: int = 300) -> str:
    """Return `text` on one line, every mark of Markdown escaped; what is in backticks stays code."""
    parts = _CODE.split(fold(text, limit))
    return "".join(
        f"`{part}`" if at % 2 and part.strip() else _escape(f"`{part}`" if at % 2 else part)
        for at, part in enumerate(parts)
    )


def escape_cell(text: str, limit: int = 300) -> str:
    """Return `text` for a cell of a table, where a bar ends the cell even within code."""
    return _escape(fold(text, limit))


def _escape(text: str) -> str:
    return _CALLS.sub(NOTHING, _SPECIAL.sub(r"\\\1", text).replace("\\#", f"\\#{NOTHING}"))


def render_markdown(account: FeatureAccount) -> str:
    """Return the outcome, the numbers, the criteria with their evidence, integrity findings and changed files."""
    environment = Environment(
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup) else _show_line(value),
    )

    def show_commit(commit: str) -> Markup:
        link = account.forge.commit(commit) if account.forge and commit else ""
        return Markup(f"[{commit[:8]}]({link})" if link else commit[:8])

    environment.filters |= {
        "line": _show_line,
        "cell": escape_cell,
        "code": lambda text, limit=200: Markup(code_span(text, limit)),
        "commit": show_commit,
    }
    template = find_resource("templates", "report", "report.md").read_text(encoding="utf-8")
    text = environment.from_string(template).render(
        account=account,
        words=words,
        agents=[_list_cells(work) for work in account.works],
        list_accepted=list_accepted,
        CRITERIA=_CRITERIA,
        FILES=_FILES,
    )
    return _GAPS.sub("\n\n", text).strip("\n") + "\n"


def _show_line(value: object, limit: int = 300) -> Markup:
    return Markup("" if value is None else escape_line(str(value), limit))


def _list_cells(work: WorkAccount) -> list[str]:
    facts = (escape_cell(value) for _, value in words.list_facts(work))
    return [escape_cell(work.name, 60), " ".join(words.STANDINGS[work.standing]), *facts, escape_cell(work.branch)]


def post_report(checkout: Checkout, wanted: str) -> str:
    """Post the report and return the address of the comment.

    Raises AigonError: 2 for a feature without an issue or without a run, 4 inside a loop, 7 with gh's own words.
    """
    require_outside_a_run("report --comment")
    place = locate_spec(checkout.root, checkout.common_dir, wanted)
    source = str(parse_spec(place.read()).frontmatter.get("source", ""))
    if not forge.ISSUE.fullmatch(source):
        hint = "Only a spec that `aigon feature-create --from` made of an issue has one: `source:` in its frontmatter"
        raise usage("The feature comes from no issue", where=place.where, hint=hint)
    text = write_report(checkout, wanted, "md", None).text
    text = text if len(text) <= _LONGEST else text[:_LONGEST].rpartition("\n")[0] + _CUT
    said = forge.run_gh(checkout.root, "issue", "comment", source, "--body-file", "-", stdin=text, where="--comment")
    return said.splitlines()[-1] if said else source
