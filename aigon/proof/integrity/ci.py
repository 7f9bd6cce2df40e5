"""Changed configuration of continuous integration. A `note`: it does not decide here, but it does elsewhere."""

from collections.abc import Iterator

from aigon.model.changes import Concern, Edits
from aigon.proof.analysis.sightings import report_file
from aigon.text.globs import is_match
from aigon.text.quoting import fold

RULE = "ci"
_PATHS = (
    ".github/{workflows,actions}/**",
    "**/{.gitlab-ci.yml,.gitlab-ci.yaml,.travis.yml,azure-pipelines.yml,bitbucket-pipelines.yml,appveyor.yml,.drone.yml}",
    "{.gitlab,.circleci,.buildkite}/**",
    "**/{Jenkinsfile,.woodpecker.yml,cloudbuild.yaml,buildspec.yml,.cirrus.yml}",
    "{.woodpecker,.gitea/workflows,.forgejo/workflows,.teamcity,.ci}/**",
)


def look(edits: Edits) -> Iterator[Concern]:
    """Report each such file."""
    for edit in edits.files:
        if any(is_match(pattern, edit.path) for pattern in _PATHS):
            what = f"{fold(edit.path)} changed, which says what runs before this is merged. See that it still does."
            yield report_file(RULE, "note", what, edit)
