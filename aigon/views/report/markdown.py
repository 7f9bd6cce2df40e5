"""The report as Markdown for a pull request, and as a comment on the issue that its spec was imported from.

Text of others stays text in it, links to nothing and notifies no one.
"""

import re

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from aigon.errors import usage
from aigon.files.resources import find_resource
from aigon.git import forge
from aigon.git.person import Checkout
from aigon.job.spec_locations import locate_spec
from aigon.journal.account import FeatureAccount, WorkAccount
from aigon.run.invocations import require_outside_a_run
from aigon.spec.document import parse_spec
from aigon.text.patterns import compile_re
from aigon.text.quoting import code_span, fold
from aigon.views.proving import list_accepted
from aigon.views.report import words
from aigon.views.report.gather import write_report

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
