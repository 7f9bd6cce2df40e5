"""Checks per iteration as a grid: a row for each check, a column for each look, a sign and a word in each cell."""

from aigon.journal.account import CriterionItem, FeatureAccount, WorkAccount
from aigon.journal.history import IterationRecord
from aigon.model.checks import Finding
from aigon.model.criteria import Verdict
from aigon.text.amounts import format_count
from aigon.views.report.head import anchor
from aigon.views.report.markup import Bounds, Links, Markup, block, folding, joined, line, tag, text
from aigon.views.report.words import CHECKS, VERDICTS, command_of, decided, passing, title_of


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
    return tag("tr", tag("th", title, scope="row"), *(_strip_cell(_found(step, check)) for step in steps))


def _found(step: IterationRecord, check: str) -> Finding | None:
    return next((found for found in step.look.findings if found.check == check), None)


def _strip_cell(found: Finding | None) -> Markup:
    """The sign and, where tests were counted, how many passed."""
    if found is None:
        return tag("td", tag("span", "·", aria_hidden="true"), tag("span", "not run", class_="unseen"), class_="none")
    sign, word = CHECKS[found.status]
    said = f"{found.counts.passed}/{found.counts.total}" if found.counts and found.status != "skipped" else word
    hidden = tag("span", f" {word}", class_="unseen") if said != word else None
    return tag(
        "td", tag("b", sign), f" {said}", hidden, class_=found.status, title=f"{found.title}: {found.summary}"[:200]
    )


def criteria(account: FeatureAccount, work: WorkAccount, bounds: Bounds) -> Markup:
    """Every criterion of one work with its evidence."""
    if not work.items:
        return tag("p", "None are known yet.", class_="none")
    shown = work.items[: bounds.criteria]
    left = len(work.items) - len(shown)
    more = tag("p", f"{format_count(left, 'more criterion')} not shown.")
    warnings = [tag("li", line(each, bounds.text)) for each in passing(work)]
    return joined(
        [
            tag("ul", *warnings, class_="warnings") if warnings else None,
            tag("ol", *(_criterion(account, work, item, bounds) for item in shown), class_="criteria"),
            more if left else None,
        ]
    )


def matrix(account: FeatureAccount, bounds: Bounds) -> Markup:
    """All agents side by side: a row for each criterion, a column for each agent."""
    heads = (tag("th", tag("a", work.name, href=f"#{anchor(work)}"), scope="col") for work in account.works)
    rows = (
        tag("tr", tag("th", f"{item.number}. ", line(item.text, 160), scope="row"),
            *(_cell(work, item.number) for work in account.works))
        for item in account.items[: bounds.criteria]
    )  # fmt: skip
    head = tag("thead", tag("tr", tag("th", "Criterion", scope="col"), *heads))
    table = tag("table", head, tag("tbody", *rows), class_="matrix")
    return tag("div", table, class_="scroll", tabindex="0", role="group", aria_label="Criteria by agent")


def _cell(work: WorkAccount, number: int) -> Markup:
    verdict = work.verdict(number)
    if verdict is None:
        return tag("td", "– not looked at", class_="none")
    sign, word = VERDICTS[verdict.status]
    return tag("td", tag("b", sign), tag("span", f" {word}", class_="word"), class_=verdict.status)


def _criterion(account: FeatureAccount, work: WorkAccount, item: CriterionItem, bounds: Bounds) -> Markup:
    verdict = work.verdict(item.number)
    status = verdict.status if verdict else "unclear"
    sign, word = VERDICTS[status] if verdict else ("–", "not looked at")
    about = tag("p", f"{item.number}. ", line(item.text, bounds.text), class_="text")
    how = _how(account, work, item, verdict)
    return tag(
        "li",
        tag("p", tag("b", sign), f" {word}", class_=f"sign {status}"),
        tag("div", about, how, _said(item, verdict, bounds), _ran(work, item, verdict, bounds)),
        id=anchor(work, f"criterion-{item.number}"),
    )


def _how(account: FeatureAccount, work: WorkAccount, item: CriterionItem, verdict: Verdict | None) -> Markup:
    """How it was decided, and since which commit it is proven."""
    since = work.since(item.number)
    where: Markup | str | None = None
    if since:
        commit = since.look.checkpoint or account.base
        found = Links(account, work).commit(commit) if commit else ""
        where = joined([f"; proven since {title_of(since).lower()}", *([" ", found] if found else [])])
    sure = "Decided " if verdict else ""
    return tag("p", f"{sure}{decided(verdict)}", where, class_="how")


def _said(item: CriterionItem, verdict: Verdict | None, bounds: Bounds) -> Markup | None:
    """The evidence, as a quotation, and the reason where it is not proven. What is said below is not said here."""
    if verdict is None:
        return None
    repeated = verdict.method.startswith("check:") or verdict.evidence.removeprefix("exit 0: ") == item.command
    quote = "" if repeated else verdict.evidence.strip()
    return joined(
        [
            tag("blockquote", text(quote, bounds.text)) if quote else None,
            tag("p", line(verdict.reason, bounds.text), class_="reason") if verdict.reason else None,
        ]
    )


def _ran(work: WorkAccount, item: CriterionItem, verdict: Verdict | None, bounds: Bounds) -> Markup | None:
    """The command that decided it, and what it printed."""
    found = command_of(work, item.number, verdict)
    if found:
        return output(work, found, bounds)
    command = item.command if item.kind in ("verify", "metric") else ""
    return tag("p", tag("code", line(command, bounds.text)), class_="how") if command else None


_SHORT = 160
"""Characters of a command that stand in the line above its output; a longer one is whole below that line."""


def output(work: WorkAccount, found: Finding, bounds: Bounds) -> Markup:
    """A command and what it came to; folded away below that, the end of what it printed."""
    exited = f", exit code {found.exit_code}" if found.exit_code else ""
    code = tag("code", text(" ".join(found.command.split()), _SHORT)) if found.command else None
    # "passed" would say that the criterion did, which for a number is not up to the exit code.
    own = found.check.startswith("criterion-") and found.summary == "passed"
    result = "exit code 0" if own else f"{found.summary or found.status}{exited}"
    title = joined([code, " " if code else None, line(result, 200)])
    printed = found.excerpt or work.outputs.get(found.check, "")
    long = len(found.command) > _SHORT or "\n" in found.command
    whole = tag("pre", text(found.command, bounds.text), tabindex="0") if long else None
    shown = block(printed, bounds.excerpt) if printed.strip() and bounds.excerpt else None
    return folding(title, whole, shown, class_="ran") if whole or shown else tag("p", title, class_="how ran")
