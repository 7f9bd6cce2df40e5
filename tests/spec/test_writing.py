"""Specs made of parts and edited: what is not meant to change stays, byte for byte."""

import pytest

from aigon.errors import AigonError
from aigon.spec.document import parse_spec
from aigon.spec.foreign import accept_proposals
from aigon.spec.writing import LONGEST_TITLE, edit_spec, split_spec

BODY = "## Acceptance Criteria\n\n- [ ] a <!-- verify: x -->"


def test_a_spec_is_composed_and_split_again() -> None:
    raw = edit_spec(b"", " Dark\n mode ", BODY, {"mode": "ralph", "max_iterations": 7, "promise": "It's DONE"})
    parts, spec = split_spec(raw), parse_spec(raw)
    assert (parts.title, parts.heading) == ("Dark mode", "# Feature: Dark mode\n")
    assert parts.body.strip() == BODY.replace("verify", "proposed: verify")
    assert (spec.settings.mode, spec.settings.max_iterations, spec.settings.promises) == ("ralph", 7, ("It's DONE",))
    assert edit_spec(b"", "x", "", {}) == b"# Feature: x\n"


@pytest.mark.parametrize(
    "raw",
    [
        b"---\nallow:\n  - a\n  - b\n# note\nmax_iterations: 3\n---\n# Feature: T\n\nBody \xc3\xa9\n",
        b"---\r\nallow: [a, b]\r\nmax_iterations: 3\r\n---\r\nT\r\n===\r\n\r\nBody\r\n",
        b"\xef\xbb\xbf---\nmax_iterations: 3\nallow: [a,\n  b]\n---\n\nNo heading\n",
        b"# Feature: T\n\nBody\n",
    ],
)
def test_settings_change_and_the_rest_stays(raw: bytes) -> None:
    before, changed = parse_spec(raw), edit_spec(raw, None, None, {"max_iterations": 9, "promise": "GO"})
    after = parse_spec(changed)
    assert (after.settings.max_iterations, after.settings.promises) == (9, ("GO",))
    assert after.frontmatter.get("allow") == before.frontmatter.get("allow")
    assert split_spec(changed).body == split_spec(raw).body and after.title == before.title
    back = parse_spec(edit_spec(changed, None, None, {"max_iterations": None, "promise": None}))
    assert set(back.frontmatter) == set(before.frontmatter) - {"max_iterations"}


def test_what_was_accepted_stays_in_force_in_a_new_description() -> None:
    raw = accept_proposals(edit_spec(b"", "T", BODY, {}), {1})
    assert parse_spec(edit_spec(raw, "New", None, {})).criteria[0].command == "x"
    longer = edit_spec(raw, None, f"{BODY}\n- [ ] b <!-- verify: y -->\n- [ ] c <!-- verify: x -->", {})
    assert [each.command for each in parse_spec(longer).criteria] == ["x", None, None]
    assert edit_spec(raw, None, "", {}) == b"# Feature: T\n"


@pytest.mark.parametrize(
    ("title", "description", "settings", "said"),
    [
        (" ", "", {}, "title"),
        ("x" * (LONGEST_TITLE + 1), "", {}, "title"),
        ("a\u202eb", "", {}, "title"),
        ("x", "y" * 5_000_000, {}, "too large"),
        ("x", "", {"max_iterations": 21}, "max_iterations is 21"),
        ("x", "", {"max_iterations": 0}, "max_iterations is 0"),
        ("x", "", {"promise": ""}, "promise cannot be ''"),
        ("x", "", {"promise": "y" * 10_000}, "promise cannot be"),
        ("x", "> " * 200 + "deep", {}, "nested"),
    ],
)
def test_what_no_spec_can_have_is_refused(
    title: str, description: str, settings: dict[str, str | int | None], said: str
) -> None:
    with pytest.raises(AigonError) as refused:
        edit_spec(b"", title, description, settings)
    assert said in refused.value.what and refused.value.hint


def test_frontmatter_that_has_no_lines_of_its_own_is_left_alone() -> None:
    with pytest.raises(AigonError, match="cannot be edited"):
        edit_spec(b"---\n{allow: [a], max_iterations: 3}\n---\n# T\n", None, None, {"max_iterations": 4})
