"""Checks per iteration as a grid: a row for each check, a column for each look, a sign and a word in each cell."""

from aigon.journal.account import WorkAccount
from aigon.journal.history import IterationRecord
from aigon.model.checks import Finding
from aigon.views.report.bounds import Bounds
from aigon.views.report.markup import Markup, joined, tag
from aigon.views.report.words import CHECKS


def strip(work: WorkAccount, bounds: Bounds) -> Markup | None:
    """The grid of the last looks there is room for; nothing where no check ran."""
    steps = work.steps[-bounds.columns :]
    titles = {found.check: found.title for step in steps for found in step.look.findings}
    if not titles:
        return None
    left = len(work.steps) - len(steps)
    return tag(
        "div",
        tag(
            "table",
            tag("caption", f"Checks per iteration{f'; the first {left} are left out' if left else ''}"),
            tag("thead", tag("tr", tag("th", "Check", scope="col"), *(_column(step) for step in steps))),
            tag("tbody", _criteria(work, steps), *(_row(check, titles[check], steps) for check in titles)),
            class_="strip",
        ),
        class_="scroll",
        tabindex="0",
        role="group",
        aria_label=f"Checks per iteration of {work.name}",
    )


def _column(step: IterationRecord) -> Markup:
    return tag("th", str(step.number) if step.number else "base", scope="col")


def _criteria(work: WorkAccount, steps: tuple[IterationRecord, ...]) -> Markup:
    cells = (
        tag("td", f"{step.proven}/{work.total}", class_="pass" if step.proven == work.total else "some")
        for step in steps
    )
    return tag("tr", tag("th", "Criteria proven", scope="row"), joined(cells))


def _row(check: str, title: str, steps: tuple[IterationRecord, ...]) -> Markup:
    return tag("tr", tag("th", title, scope="row"), *(_cell(_found(step, check)) for step in steps))


def _found(step: IterationRecord, check: str) -> Finding | None:
    return next((found for found in step.look.findings if found.check == check), None)


def _cell(found: Finding | None) -> Markup:
    """The sign and, where tests were counted, how many passed."""
    if found is None:
        return tag("td", tag("span", "·", aria_hidden="true"), tag("span", "not run", class_="unseen"), class_="none")
    sign, word = CHECKS[found.status]
    said = f"{found.counts.passed}/{found.counts.total}" if found.counts and found.status != "skipped" else word
    hidden = tag("span", f" {word}", class_="unseen") if said != word else None
    return tag(
        "td", tag("b", sign), f" {said}", hidden, class_=found.status, title=f"{found.title}: {found.summary}"[:200]
    )
