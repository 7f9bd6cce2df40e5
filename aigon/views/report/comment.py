"""Post the report on a feature as a comment on the issue that its spec was imported from."""

from aigon.errors import usage
from aigon.git import forge
from aigon.git.person import Checkout
from aigon.job.spec_locations import locate_spec
from aigon.run.authority import require_outside_a_run
from aigon.spec.document import parse_spec
from aigon.views.report.gather import write_report

_LONGEST = 65_000
"""Characters: GitHub takes 65,536."""
_CUT = "\n\n… The report is longer than a comment may be."


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
