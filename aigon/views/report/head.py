"""The first screen: which feature, how it ended, what to take, and the numbers that count."""

from aigon.journal.account import FeatureAccount, WorkAccount, count_changed_lines
from aigon.text.amounts import format_count, format_duration
from aigon.views.report import words
from aigon.views.report.markup import Links, Markup, joined, line, tag


def head(account: FeatureAccount) -> Markup:
    """Everything above the first heading."""
    name = account.feature.name_for_people
    several = len(account.works) > 1
    first = account.shown_first
    standing = "running" if several and any(work.running for work in account.works) else first.standing
    return tag(
        "header",
        tag("p", f"Feature {name}", class_="above"),
        tag("h1", line(account.title or account.feature.slug, 200)),
        tag("p", badge(standing), " ", line(words.lead(account), 700), class_="lead"),
        _taking(account),
        tag("div", *(_card(account, work) for work in account.works), class_="cards") if several else _facts(first),
    )


def badge(standing: str) -> Markup:
    """How something stands: a sign and a word in its colour."""
    sign, word = words.STANDINGS[standing]
    return tag("span", tag("b", sign), f" {word}", class_=f"badge {standing}")


def _taking(account: FeatureAccount) -> Markup:
    """Which branch to take, or what else to do."""
    what, work, command = words.taking(account)
    commit = Links(account, work).commit(work.commit) if work and work.commit else None
    branch = joined([" ", tag("code", work.branch, class_="branch")]) if work and work.branch else None
    at = joined([" at ", commit]) if commit else None
    compared = account.evaluation and len(account.works) > 1
    page = (
        tag("p", "The comparison: ", Links(account, account.shown_first).file(account.evaluation)) if compared else None
    )
    run = tag("pre", command, class_="command", tabindex="0") if command else None
    said = words.reasons(account)
    why = tag("ul", *(tag("li", line(each, 400)) for each in said)) if said else None
    return tag("div", tag("p", tag("b", what), branch, at), why, run, page, class_="take")


def facts(work: WorkAccount) -> list[tuple[str, str]]:
    """The numbers that count, by name."""
    added, removed = count_changed_lines(work.changes)
    files = format_count(len(work.changes), "file")
    return [
        ("Criteria", f"{words.score(work)} proven"),
        ("Checks", words.checks(work)),
        ("Cost", words.cost(work)),
        ("Time", format_duration(work.seconds)),
        ("Iterations", _used(work)),
        ("Changes", f"+{added:,} −{removed:,} in {files}" if work.changes else "none"),
    ]


def _used(work: WorkAccount) -> str:
    """Iterations, and out of how many where one run has done them all: a resume counts anew."""
    used, runs = words.iterations(work), work.history.runs
    limit = runs[0].started.max_iterations if len(runs) == 1 else 0
    return f"{used} of at most {limit}" if limit and used <= limit else str(used)


def _facts(work: WorkAccount) -> Markup:
    pairs = (tag("div", tag("dt", name), tag("dd", value)) for name, value in facts(work))
    return tag("dl", *pairs, class_="facts")


def _card(account: FeatureAccount, work: WorkAccount) -> Markup:
    """One agent of several: its outcome and its numbers."""
    taken = words.taking(account)[1] is work and work.met
    rows = (tag("div", tag("dt", name), tag("dd", value)) for name, value in facts(work))
    return tag(
        "article",
        tag("h2", tag("a", work.name, href=f"#{anchor(work)}"), " ", badge(work.standing)),
        tag("p", tag("code", work.branch or "no branch yet"), class_="branch-line"),
        tag("dl", *rows),
        class_=f"card{' taken' if taken else ''}",
        aria_label=f"Agent {work.name}",
    )


def anchor(work: WorkAccount, part: str = "") -> str:
    """Where on the page a work, or a part of it, is."""
    return "-".join(filter(None, ("work", work.label or "solo", part)))
