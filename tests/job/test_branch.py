"""What aigon does to a checkout besides its branch."""

import pytest

from aigon.git.person import Checkout
from aigon.job import branch
from tests.lab import Lab


def test_a_write_that_fails_leaves_what_people_exclude(lab: Lab) -> None:
    file = lab.write(".git/info/exclude", "mine/\n")
    with Checkout.open(lab.root) as checkout:
        with pytest.raises(UnicodeEncodeError):
            branch.exclude_from_git(checkout, ["\ud800"], "aigon's")
        assert file.read_text() == "mine/\n"
        branch.exclude_from_git(checkout, ["its/"], "aigon's")
        assert file.read_text() == "mine/\n# aigon's\nits/\n"
