"""The whole page: one file that loads nothing, runs nothing and can be read without either."""

from functools import cache

from aigon.files.resources import find_resource
from aigon.journal.account import FeatureAccount, WorkAccount
from aigon.text.amounts import format_timestamp
from aigon.views.report import remains, words
from aigon.views.report.charts import plots
from aigon.views.report.criteria import criteria, matrix, strip
from aigon.views.report.head import anchor, badge, head
from aigon.views.report.iterations import iterations
from aigon.views.report.markup import LARGEST, STAGES, Bounds, Links, Markup, joined, tag

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""What a browser may do with the page: show it."""


def page(account: FeatureAccount) -> str:
    """The page, with as much of everything as fits into `LARGEST` bytes."""
    for bounds in STAGES:
        made = _page(account, bounds)
        if len(made.encode()) <= LARGEST:
            break
    return made


def _page(account: FeatureAccount, bounds: Bounds) -> str:
    title = f"Feature {account.feature.name_for_people}: {account.title or account.feature.slug}"
    meta = (
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
    )
    body = tag("body", _main(account, bounds), _foot(account))
    document = tag("html", tag("head", *meta, tag("title", title[:200]), tag("style", _style())), body, lang="en")
    return f"<!doctype html>\n{document}\n"


@cache
def _style() -> Markup:
    return Markup(find_resource("templates", "report", "page.css").read_text(encoding="utf-8"))


def _main(account: FeatureAccount, bounds: Bounds) -> Markup:
    sections = joined(_sections(account, bounds))
    return tag("main", head(account), _contents(account, sections), sections)


def _contents(account: FeatureAccount, sections: Markup) -> Markup:
    """Links to those parts of the page that are there."""
    several = len(account.works) > 1
    places = [("criteria", "Criteria"), ("progress", "Progress")]
    places += [(anchor(work), work.name) for work in account.works] if several else _parts(account.works[0])
    there = [tag("a", name, href=f"#{place}") for place, name in places if f' id="{place}"' in sections]
    return tag("nav", *there, aria_label="On this page")


def _parts(work: WorkAccount) -> list[tuple[str, str]]:
    parts = (("checks", "Checks"), ("integrity", "Integrity"), ("iterations", "Iterations"), ("changes", "Changes"))
    return [(anchor(work, part), name) for part, name in parts]


def _sections(account: FeatureAccount, bounds: Bounds) -> list[Markup | None]:
    if len(account.works) == 1:
        work = account.works[0]
        first = tag("section", tag("h2", "Criteria"), criteria(account, work, bounds), id="criteria")
        return [first, plots(account), *_of_work(account, work, bounds, "h2")]
    first = tag("section", tag("h2", "Criteria"), matrix(account, bounds), id="criteria")
    return [first, plots(account), *(_agent(account, work, bounds) for work in account.works)]


def _agent(account: FeatureAccount, work: WorkAccount, bounds: Bounds) -> Markup:
    """Everything about one agent of several."""
    commit = joined([" at ", Links(account, work).commit(work.commit)]) if work.commit else None
    return tag(
        "section",
        tag("h2", work.name, " ", badge(work.standing)),
        tag("p", tag("code", work.branch or "no branch yet"), commit, class_="how"),
        tag("p", words.of_one(work)) if work.history.runs else None,
        tag("h3", "Criteria"),
        criteria(account, work, bounds),
        *_of_work(account, work, bounds, "h3"),
        id=anchor(work),
        class_="agent",
    )


def _of_work(account: FeatureAccount, work: WorkAccount, bounds: Bounds, level: str) -> list[Markup | None]:
    """The parts about one work, each under its heading; those that have nothing to say are left out."""
    parts: list[tuple[str, str, Markup | None]] = [
        ("checks", "Checks", strip(work, bounds)),
        ("integrity", "Integrity", remains.integrity(account, work, bounds)),
        ("iterations", "Iterations", iterations(account, work, bounds) if work.steps else None),
        ("changes", "Changes", remains.changes(account, work, bounds)),
        ("runs", "Runs", remains.runs(work)),
        ("said", "Warnings and parked work", remains.said(work, bounds)),
        ("log", "Log", remains.log(work, bounds)),
    ]
    return [tag("section", tag(level, name), inside, id=anchor(work, key)) for key, name, inside in parts if inside]


def _foot(account: FeatureAccount) -> Markup:
    """Where the facts are from."""
    base = Links(account, account.works[0]).commit(account.base) if account.base else "unknown"
    unpushed = account.forge and not all(work.pushed for work in account.works if work.steps)
    links = " Links to commits work once the branch is pushed." if unpushed else ""
    return tag(
        "footer",
        tag(
            "p",
            f"Written by aigon at {format_timestamp(account.written)} UTC from its own journals. Base: ",
            base,
            f".{links}",
        ),
    )
