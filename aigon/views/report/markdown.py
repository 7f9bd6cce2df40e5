"""Text of others within Markdown: it stays text, links to nothing and calls nobody."""

import re
from collections.abc import Iterable

from aigon.journal.account import CriterionItem, FeatureAccount, WorkAccount
from aigon.text.quoting import code_span, fold
from aigon.views.report.head import facts
from aigon.views.report.words import STANDINGS, VERDICTS, decided, lead, passing, reasons, score, taking

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&$!])")
_CALLS = re.compile(r"(?<=@)|(?<=:)(?=//)|(?<=\bwww)(?=\.)|(?<=\bGH)(?=-)", re.I)
_CODE = re.compile(r"`([^`\n]+)`")
NOTHING = "<!-- -->"
"""What a reader does not see, and what keeps a forge from making a link or a mention of the two sides."""


def plain(text: str, limit: int = 300) -> str:
    """`text` on one line, every mark of Markdown escaped; what stands in backticks stays code."""
    parts = _CODE.split(fold(text, limit))
    return "".join(_code(part) if at % 2 else _escaped(part) for at, part in enumerate(parts))


def cell(text: str, limit: int = 300) -> str:
    """The same for a cell of a table, where a bar ends a cell even within code."""
    return _escaped(fold(text, limit))


def _escaped(text: str) -> str:
    return _CALLS.sub(NOTHING, _SPECIAL.sub(r"\\\1", text).replace("\\#", f"\\#{NOTHING}"))


def _code(text: str) -> str:
    return f"`{text}`" if text.strip() else _escaped(f"`{text}`")


_CRITERIA = 200
_FILES = 40
_SHORT = 8


def markdown(account: FeatureAccount) -> str:
    """Outcome, numbers, criteria with their evidence, integrity findings and changed files."""
    name = account.feature.name_for_people
    several = len(account.works) > 1
    first = account.shown_first
    parts = [
        f"## Feature {plain(name, 80)}: {plain(account.title or account.feature.slug, 200)}",
        _lead(account),
        _agents(account) if several else _facts(first),
        *_of_work(account, first),
        f"<sub>By aigon, from its own journals; the base is {_commit(account, account.base) or 'unknown'}.</sub>",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _lead(account: FeatureAccount) -> str:
    sign, word = STANDINGS[account.shown_first.standing]
    what, work, command = taking(account)
    branch = f" {code_span(work.branch)}" if work and work.branch else ""
    at = f" at {_commit(account, work.commit)}" if work and work.commit else ""
    why = "".join(f"\n- {plain(each, 400)}" for each in reasons(account))
    next_ = f"\n\n{what}{branch}{at} ({code_span(command)})" + (f"\n{why}" if why else "") if command else ""
    return f"**{sign} {word}.** {plain(lead(account), 700)}{next_}"


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = list(heads)
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(each)} |" for each in lines)


def _facts(work: WorkAccount) -> str:
    pairs = facts(work)
    return _table((name for name, _ in pairs), [[cell(value) for _, value in pairs]])


def _agents(account: FeatureAccount) -> str:
    heads = ["Agent", "Outcome", *(name for name, _ in facts(account.works[0])), "Branch"]
    rows = (
        [cell(work.name, 60), " ".join(STANDINGS[work.standing]), *(cell(v) for _, v in facts(work)), cell(work.branch)]
        for work in account.works
    )
    return _table(heads, rows)


def _of_work(account: FeatureAccount, work: WorkAccount) -> list[str]:
    several = f" of {plain(work.name, 60)}" if len(account.works) > 1 else ""
    warnings = "\n".join(f"> {plain(each, 400)}" for each in passing(work))
    items = "\n".join(_criterion(account, work, item) for item in _items(work))
    criteria = [f"### Criteria{several}: {score(work)}", warnings, items]
    concerns = work.last.look.concerns if work.last else ()
    found = "\n".join(f"- {c.level}, {code_span(c.rule)}: {plain(c.what)}" for c in concerns)
    return [*criteria, f"### Integrity\n\n{found or 'No findings.'}", _changes(work)]


def _items(work: WorkAccount) -> tuple[CriterionItem, ...]:
    return work.items[:_CRITERIA]


def _criterion(account: FeatureAccount, work: WorkAccount, item: CriterionItem) -> str:
    """A box as the loop would tick it, how it was decided, and the evidence or the reason."""
    verdict = work.verdict(item.number)
    met = verdict is not None and verdict.status == "met"
    word = "" if met else f"**{VERDICTS[verdict.status][1] if verdict else 'not looked at'}** "
    since = work.since(item.number)
    commit = _commit(account, since.look.checkpoint) if since else ""
    why = (verdict.evidence if met else verdict.reason or verdict.evidence) if verdict else ""
    lines = [f"- [{'x' if met else ' '}] {word}{plain(item.text)}", f"  <br>{plain(decided(verdict), 120)}"]
    lines[1] += (f": {code_span(why, 240)}" if why else "") + (f", in {commit}" if commit else "")
    return "\n".join(lines)


def _changes(work: WorkAccount) -> str:
    if not work.changes:
        return ""
    rows = ([code_span(c.path).replace("|", "\\|"), _lines(c.added, c.removed)] for c in work.changes[:_FILES])
    left = len(work.changes) - _FILES
    table = _table(("File", "Lines"), rows) + (f"\n\nand {left} more" if left > 0 else "")
    return f"<details><summary>Changed files ({len(work.changes)})</summary>\n\n{table}\n\n</details>"


def _lines(added: int, removed: int) -> str:
    return "binary" if added < 0 or removed < 0 else f"+{added:,} −{removed:,}"


def _commit(account: FeatureAccount, commit: str) -> str:
    short = commit[:_SHORT]
    return f"[{short}]({account.forge.commit(commit)})" if account.forge and commit else short
