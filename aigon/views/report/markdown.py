"""The report as Markdown for a pull request. Text of others stays text in it, links to nothing and calls nobody."""

import re
from collections.abc import Iterable

from aigon.journal.account import CriterionItem, FeatureAccount, WorkAccount
from aigon.text.patterns import compile_re
from aigon.text.quoting import code_span, fold
from aigon.views.proving import list_accepted
from aigon.views.report import words

_SPECIAL = compile_re(r"([\\`*_\[\]<>#|~&$!])")
_CALLS = compile_re(r"(?<=@)|(?<=:)(?=//)|(?<=\bwww)(?=\.)|(?<=\bGH)(?=-)", re.I)
_CODE = compile_re(r"`([^`\n]+)`")
NOTHING = "<!-- -->"
"""An invisible separator: a forge makes no link and no mention of what is on its two sides."""
_CRITERIA = 200
_FILES = 40


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
    first = account.shown_first
    several = len(account.works) > 1
    of_agent = f" of {escape_line(first.name, 60)}" if several else ""
    concerns = first.last.look.concerns if first.last else ()
    listed = "\n".join(f"- {c.level}, {code_span(c.rule)}: {escape_line(c.what)}" for c in concerns)
    title = escape_line(account.title or account.feature.slug, 200)
    facts = words.list_facts(first)
    accepted = "\n".join(f"- {escape_line(each, 600)}" for each in list_accepted(account.acceptance))
    base = _format_commit(account, account.base) or "unknown"
    parts = [
        f"## Feature {escape_line(account.feature.name_for_people, 80)}: {title}",
        _render_outcome(account),
        _render_agents(account)
        if several
        else _render_table((name for name, _ in facts), [[escape_cell(value) for _, value in facts]]),
        f"### Criteria{of_agent}: {words.format_score(first)}",
        "\n".join(f"> {escape_line(each, 400)}" for each in words.list_vacuous(first)),
        "\n".join(_render_criterion(account, first, item) for item in first.items[:_CRITERIA]),
        f"### Tests written before the work\n\n{accepted}" if accepted else "",
        f"### Integrity\n\n{listed or 'No findings.'}",
        _render_changes(first),
        f"<sub>By aigon, from its own journals; the base is {base}.</sub>",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _render_outcome(account: FeatureAccount) -> str:
    sign, word = words.STANDINGS[account.shown_first.standing]
    outcome = f"**{sign} {word}.** {escape_line(words.describe_outcomes(account), 700)}"
    advice, work, command = words.recommend(account)
    if not command:
        return outcome
    branch = f" {code_span(work.branch)}" if work and work.branch else ""
    at = f" at {_format_commit(account, work.commit)}" if work and work.commit else ""
    reasons = "".join(f"\n- {escape_line(each, 400)}" for each in words.list_reasons(account))
    return f"{outcome}\n\n{advice}{branch}{at} ({code_span(command)})" + (f"\n{reasons}" if reasons else "")


def _render_table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = list(heads)
    return "\n".join(f"| {' | '.join(row)} |" for row in [names, ["---"] * len(names), *rows])


def _render_agents(account: FeatureAccount) -> str:
    heads = ["Agent", "Outcome", *(name for name, _ in words.list_facts(account.works[0])), "Branch"]
    rows = (
        [
            escape_cell(work.name, 60),
            " ".join(words.STANDINGS[work.standing]),
            *(escape_cell(value) for _, value in words.list_facts(work)),
            escape_cell(work.branch),
        ]
        for work in account.works
    )
    return _render_table(heads, rows)


def _render_criterion(account: FeatureAccount, work: WorkAccount, item: CriterionItem) -> str:
    """Return a box as the loop would tick it, how it was decided, and the evidence or the reason."""
    verdict, since = work.verdict(item.number), work.since(item.number)
    passed = verdict is not None and verdict.status == "met"
    word = "" if passed else f"**{words.VERDICTS[verdict.status][1] if verdict else words.NOT_ASSESSED}** "
    commit = _format_commit(account, since.look.checkpoint) if since else ""
    why = (verdict.evidence if passed else verdict.reason or verdict.evidence) if verdict else ""
    decided = escape_line(words.describe_method(verdict), 120)
    decided += (f": {code_span(why, 240)}" if why else "") + (f", in {commit}" if commit else "")
    decided += f"\n  <br>on the base it read {code_span(item.reads, 240)}" if item.reads else ""
    return f"- [{'x' if passed else ' '}] {word}{escape_line(item.text)}\n  <br>{decided}"


def _render_changes(work: WorkAccount) -> str:
    if not work.changes:
        return ""
    rows = (
        [code_span(change.path).replace("|", "\\|"), words.format_lines(change.added, change.removed)]
        for change in work.changes[:_FILES]
    )
    left = len(work.changes) - _FILES
    table = _render_table(("File", "Lines"), rows) + (f"\n\nand {left} more" if left > 0 else "")
    return f"<details><summary>Changed files ({len(work.changes)})</summary>\n\n{table}\n\n</details>"


def _format_commit(account: FeatureAccount, commit: str) -> str:
    short = commit[:8]
    return f"[{short}]({account.forge.commit(commit)})" if account.forge and commit else short
