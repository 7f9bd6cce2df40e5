"""Every kind of project, with its real tools."""

import pytest

from tests.lab import Lab
from tests.real_projects import tools
from tests.real_projects.kind import every
from tests.real_projects.proof import show

pytestmark = pytest.mark.long


def _all() -> list[object]:
    """Those that need more than what is here already are asked for by `-m slow`, or by the command."""
    return [pytest.param(name, marks=pytest.mark.slow if tools.long(kind) else ()) for name, kind in every().items()]


@pytest.mark.parametrize("name", _all())
def test_a_project_of_this_kind_is_known_and_its_green_and_red_trees_are_told_apart(name: str, lab: Lab) -> None:
    kind = every()[name]
    if lacking := tools.missing(kind):
        pytest.skip(f"{kind.title}: {lacking}")
    show(kind, lab)
