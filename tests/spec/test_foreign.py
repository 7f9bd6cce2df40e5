"""Annotations in text from outside: taken out wherever a parser would find them, and put back byte for byte."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aigon.errors import AigonError
from aigon.spec.document import parse_spec
from aigon.spec.foreign import accept_proposals, disarm_annotations, list_proposals

HEAD = b"# Title\n\n## Acceptance Criteria\n\n"
PARTS = st.sampled_from([
    "- [ ] one", "- [x] two", "1. [ ] three", "> - [ ] quoted", "  - [ ] nested", "- a detail", "plain text",
    " <!-- verify: make -->", " <!--- metric: wc -l x <= 3 --->", " <!-- human -->", " <!-- judge -->",
    " <!-- verfy: typo -->", " <!-- verify make -->", " <!-- check: lint -->", " <!-- a note -->", " <!--", " -->",
    " verify: late", "\n  <!-- seconds: ./run < 2 -->", "\n\n  <!-- prints: ./say ==\n-->", "`<!-- verify: code -->`",
    "\n", "\r\n", "\n\n", "## Validation\n\n", "## Acceptance Criteria\n\n", "```sh\nmake\n```\n", "~~~\nls\n", "    ",
    "\t", "\\<!-- verify: no -->", "# Other\n", "\ufeff", "é",
])  # fmt: skip


def armed(raw: bytes) -> list[str]:
    """What a spec would run."""
    spec = parse_spec(raw)
    return [str(each.command) for each in spec.criteria if each.command] + [s for s in [spec.validation] if s]


def test_each_kind_of_annotation_becomes_a_proposal_in_its_place() -> None:
    raw = HEAD + (
        b"- [ ] a <!-- verify: make -->\r\n- [x] b <!-- human -->\n- [ ] c\n  <!--- check: lint --->\n"
        b"- [ ] d <!-- verfy: typo -->\n\n## Validation\n\n```bash\nrm x\n```\n"
    )
    disarmed = disarm_annotations(raw)
    assert disarmed == HEAD + (
        b"- [ ] a <!-- proposed: verify: make -->\r\n- [ ] b <!-- human -->\n- [ ] c\n"
        b"  <!-- proposed:- check: lint --->\n- [ ] d <!-- proposed: verfy: typo -->\n\n## Validation\n\n"
        b"```proposed bash\nrm x\n```\n"
    )
    kinds = [each.kind for each in parse_spec(disarmed).criteria]
    assert not armed(disarmed) and kinds == ["judge", "human", "judge", "judge"]
    assert [(each.number, each.text, each.annotation) for each in list_proposals(disarmed)] == [
        (1, "a", "verify: make"),
        (2, "c", "check: lint"),
        (3, "d", "verfy: typo"),
        (4, "", "rm x"),
    ]
    assert armed(accept_proposals(disarmed, {1, 2, 4})) == ["make", "lint", "rm x"]
    with pytest.raises(AigonError, match="nearest is `verify`"):
        accept_proposals(disarmed, {3})


def test_boxes_of_a_spec_without_criteria_become_some_when_accepted() -> None:
    raw = b"# T\n\nDo it.\n\n- [ ] x <!-- verify: a -->\n- [ ] y\n"
    disarmed = disarm_annotations(raw)
    assert [(each.text, each.annotation) for each in list_proposals(disarmed)] == [("x", "verify: a"), ("y", "")]
    accepted = accept_proposals(disarmed, {1})
    assert accepted == raw.replace(b"- [ ] x", b"## Acceptance Criteria\n\n- [ ] x")
    assert [each.text for each in parse_spec(accepted).criteria] == ["x", "y"] and not list_proposals(accepted)


@example("- [ ] one <!-- human --> <!-- human -->")
@example("## Validation\n\n- [ ] one <!-- verify: make --> <!-- verify: make -->")
@example("## Validation\n\n- [ ] one\n\n  <!-- prints: ./say ==\n-->")
@settings(max_examples=60)
@given(st.lists(PARTS, max_size=12).map("".join))
def test_no_text_from_outside_decides_or_runs_anything(text: str) -> None:
    raw = HEAD + text.encode()
    try:
        disarmed = disarm_annotations(raw)
    except AigonError as error:  # it is refused, not taken in
        assert "cannot be taken out" in error.what or "has two annotations" in error.what
        return
    assert not armed(disarmed) and not any(each.checked for each in parse_spec(disarmed).criteria)
    assert disarm_annotations(disarmed) == disarmed
    try:
        before = armed(raw)
    except AigonError:  # a malformed annotation: it is a proposal that cannot be accepted
        return
    numbers = {each.number for each in list_proposals(disarmed)}
    try:
        accepted = accept_proposals(disarmed, numbers)
    except AigonError as error:  # boxes that were no criteria before would be some
        assert error.what.endswith(("has two annotations", "is never closed")) and not parse_spec(raw).criteria
        return
    assert armed(accepted) == before or not parse_spec(raw).criteria
