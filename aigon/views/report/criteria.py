"""The criteria one by one: what was decided, how, and on what evidence."""

from aigon.journal.account import CriterionItem, FeatureAccount, WorkAccount
from aigon.model.checks import Finding
from aigon.model.criteria import Verdict
from aigon.text.amounts import format_count
from aigon.views.report.bounds import Bounds
from aigon.views.report.head import anchor
from aigon.views.report.links import Links
from aigon.views.report.markup import Markup, block, folding, joined, line, tag, text
from aigon.views.report.words import VERDICTS, command_of, decided, passing, title_of


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
