"""What a spec's bytes say: criteria, title, frontmatter, validation script, warnings."""

import time

import pytest

from aigon.errors import AigonError, Exit
from aigon.files.resources import find_resource
from aigon.proof.vacuity import list_warnings
from aigon.spec.document import parse_spec, read_known_failures, require_criteria

HEAD = "# Multiply\n\n## Acceptance Criteria\n\n"


def texts(markdown: str) -> list[str]:
    """The texts of all criteria."""
    return [criterion.text for criterion in parse_spec(markdown.encode()).criteria]


def warned(markdown: str) -> list[int]:
    """The lines with a warning."""
    return [warning.line for warning in parse_spec(markdown.encode()).warnings]


def refusal(markdown: str | bytes) -> AigonError:
    """The error that parsing causes."""
    with pytest.raises(AigonError) as caught:
        parse_spec(markdown if isinstance(markdown, bytes) else markdown.encode())
    return caught.value


def test_a_criterion_has_number_line_text_state_and_the_byte_of_its_box() -> None:
    raw = (HEAD + "- [ ] first\n- [x] zweitens: ü\n- [X] third\n").encode()
    spec = parse_spec(raw)
    assert [(c.number, c.line, c.text, c.checked) for c in spec.criteria] == [
        (1, 5, "first", False),
        (2, 6, "zweitens: ü", True),
        (3, 7, "third", True),
    ]
    assert [raw[c.box - 1 : c.box + 2] for c in spec.criteria] == [b"[ ]", b"[x]", b"[X]"]
    assert (spec.raw, spec.title, spec.warnings) == (raw, "Multiply", ())


@pytest.mark.parametrize("marker", ["-", "*", "+", "1.", "1)", "42.", "> -", "- -", "> > 1.", "- >\t*", "-\t", "   -"])
def test_any_list_marker_makes_a_criterion(marker: str) -> None:
    raw = f"{HEAD}{marker} [ ] text\n".encode()
    (criterion,) = parse_spec(raw).criteria
    assert (criterion.text, criterion.box) == ("text", raw.index(b"[ ]") + 1)


def test_nested_items_are_criteria_of_their_own() -> None:
    nested = "- [ ] a\n  - [ ] b\n    1. [x] c\n\n       > * [ ] d\n- plain\n  - [ ] e\n"
    assert texts(HEAD + nested) == ["a", "b", "c", "d", "e"]


def test_loose_lists_count() -> None:
    assert texts(HEAD + "- [ ] a\n\n  more about a\n\n- [ ] b\n\n\n- [ ] c\n") == ["a", "b", "c"]


def test_continuation_lines_are_joined_by_one_space() -> None:
    assert texts(HEAD + "- [ ] one\n  two\n      three  \nfour\n\n  another paragraph\n") == ["one two three four"]
    assert texts(HEAD + "> - [ ] one\n>   two\n") == ["one two"]
    assert texts(HEAD + "- [ ]\n  on the next line\n") == ["on the next line"]
    assert texts(HEAD + "-\n  [ ] under its marker\n") == ["under its marker"]


def test_duplicates_are_separate_criteria() -> None:
    assert [(c.number, c.line) for c in parse_spec((HEAD + "- [ ] same\n- [ ] same\n").encode()).criteria] == [
        (1, 5),
        (2, 6),
    ]


def test_dollars_ampersands_and_backslashes_stay_in_the_text() -> None:
    assert texts(HEAD + r"- [ ] replaces `$&` and \1 with C:\new $1" + "\n") == [r"replaces `$&` and \1 with C:\new $1"]


@pytest.mark.parametrize(
    "hidden",
    [
        "```\n- [ ] no\n```",
        "~~~ md\n- [ ] no\n~~~",
        "- plain\n\n  ```\n  - [ ] no\n  ```",
        "text\n\n    - [ ] no",
        "<!--\n- [ ] no\n\n- [ ] no\n-->",
        "<div>\n- [ ] no\n</div>",
        "- [ ](https://example.org)",
        "- [x]: no",
        r"- \[ ] no",
        "- `[ ]` no",
        "[ ] no",
    ],
)
def test_what_is_no_task_list_item_does_not_count(hidden: str) -> None:
    assert texts(f"{HEAD}- [ ] before\n\n{hidden}\n\n# Acceptance criteria again\n* [ ] after\n") == ["before", "after"]


@pytest.mark.parametrize(
    "heading",
    [
        "# Acceptance Criteria",
        "###### acceptance criteria",
        "## ACCEPTANCE CRITERIA (must) ##",
        "Acceptance criteria\n===",
        "Acceptance Criteria\n---",
        "## **Acceptance Criteria**",
        "## Acceptance Criteria: backend",
        "  ## Acceptance  criteria",
    ],
)
def test_any_heading_that_begins_with_acceptance_criteria_opens_a_section(heading: str) -> None:
    assert texts(f"{heading}\n\n- [ ] a\n") == ["a"]


def test_a_section_ends_at_the_next_heading_of_its_level_or_higher() -> None:
    text = """# Multiply
## User stories
- [ ] story
## Acceptance Criteria
- [ ] a
### Group
- [ ] b
#### Acceptance criteria of a detail
- [ ] c
### Another group
- [ ] d
> # a heading in a quote ends nothing
- [ ] e

Notes
---
- [ ] note
## Acceptance criteria, part 2
- [ ] f
# Appendix
- [ ] appendix
"""
    assert texts(text) == ["a", "b", "c", "d", "e", "f"]


def test_a_heading_inside_a_quote_or_an_item_opens_no_section() -> None:
    assert texts("> ## Acceptance Criteria\n> - [ ] a\n\n- ## Acceptance Criteria\n\n- [ ] b\n") == []


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_line_endings_and_a_byte_order_mark_shift_nothing(newline: str, bom: bytes) -> None:
    raw = bom + (f"---{newline}a: b{newline}---{newline}" + HEAD.replace("\n", newline)).encode()
    raw += f"- [ ] a{newline}  b{newline}- [x] c{newline}".encode()
    spec = parse_spec(raw)
    assert [(c.line, c.text) for c in spec.criteria] == [(8, "a b"), (10, "c")]
    assert [raw[c.box : c.box + 3] for c in spec.criteria] == [b" ] ", b"x] "]
    assert (spec.title, spec.frontmatter) == ("Multiply", {"a": "b"})


def test_bytes_that_are_not_utf8_and_rare_line_breaks_shift_nothing() -> None:
    raw = (
        HEAD.encode()
        + b"caf\xe9 \x00\xff\xf0\x9f\n\n\x0b\x0c\xc2\x85\xe2\x80\xa8\xe2\x80\xa9\x1c\n\n- [ ] caf\xe9\x00 a\n"
    )
    spec = parse_spec(raw)
    (criterion,) = spec.criteria
    assert (criterion.line, criterion.text) == (9, "caf\ufffd\ufffd a")
    assert raw[criterion.box - 1 : criterion.box + 2] == b"[ ]"
    assert [(warning.line, warning.message) for warning in spec.warnings] == [
        (5, "This line is not UTF-8. Save the file as UTF-8.")
    ]


def test_a_deep_list_is_read_to_its_end_and_an_absurd_one_refused() -> None:
    nested = "".join(f"{'  ' * depth}- [ ] {depth}\n" for depth in range(40))
    assert texts(HEAD + nested + "- [ ] last\n")[-2:] == ["39", "last"]
    assert "levels deep" in refusal(HEAD + "> " * 200 + "- [ ] a\n").what


@pytest.mark.parametrize("box", ["- [ ]", "- [x]", "* [ ]   ", "- []", "1. [] text", "- [ ] <!-- human -->"])
def test_an_empty_box_is_a_warning_with_its_line(box: str) -> None:
    spec = parse_spec(f"{HEAD}- [ ] a\n{box}\n- [ ] b\n\n# Else\n{box}\n".encode())
    assert [c.text for c in spec.criteria] == ["a", "b"]
    assert [warning.line for warning in spec.warnings] == [6]


@pytest.mark.parametrize(
    "slip",
    [
        "-[ ] text",
        "- [ ]text",
        "- [  ] text",
        "*[x] text",
        "- text <!-- verify: true -->",
        "<!-- verify: true -->",
        "<!-- check: tests --> text",
        "- [ ] a <!-- verify: true --> text",
        "- [ ] a <!-- verify by hand -->",
    ],
)
def test_a_slip_that_would_lose_a_criterion_or_an_annotation_is_a_warning(slip: str) -> None:
    assert warned(f"{HEAD}- [ ] a\n\n# Acceptance criteria\n\n{slip}\n") == [9]


def test_a_box_swallowed_by_the_paragraph_above_is_a_warning() -> None:
    assert warned(HEAD + "- [ ] a\n          - [ ] b\n- [ ] c\n") == [6]


def test_a_comment_or_code_block_without_an_end_is_a_warning() -> None:
    assert warned("# A\n<!-- hidden\n\n## Acceptance Criteria\n- [ ] a\n") == [2]
    assert warned("# A\n\n```sh\nls\n\n## Acceptance Criteria\n- [ ] a\n") == [3]
    assert warned("# A\n\n````sh\n```\nls\n  `````  \n> ```\n> a\n> ```\n\n~~~\n~~~\n") == []


def test_the_title_is_the_text_of_the_first_heading() -> None:
    assert parse_spec(b"intro\n\nDark\nmode\n===\n\n# Other\n").title == "Dark mode"
    assert parse_spec(b"no heading\n").title == ""
    assert parse_spec(b"").criteria == ()


def test_plain_scalars_of_the_frontmatter_stay_strings() -> None:
    spec = parse_spec(b"---\non: NO\nversion: 1.10\nempty:\nlist: [1, yes]\n---\n# A\n")
    assert spec.frontmatter == {"on": "NO", "version": "1.10", "empty": "", "list": ["1", "yes"]}
    assert parse_spec(b"---\n# only a comment\n---\n").frontmatter == {}
    assert parse_spec(b"# A\n\n---\na: b\n---\n").frontmatter == {}


@pytest.mark.parametrize(
    ("frontmatter", "line"),
    [
        ("a: b\nc: [d\n", 3),
        ("a: b\n\u2028\nc: d: e\n", 4),
        ("- a\n- b\n", 2),
        ("just text\n", 2),
        ("a: 1\nb: \x07\n", 3),
        ('a: "\\UFFFFFFFF"\n', 2),
        ("a: &b [*b]\n", 2),
        ("? [a]\n: b\n", 2),
        ("a: " + "[" * 500 + "\n", 2),
    ],
)
def test_frontmatter_that_is_no_yaml_mapping_is_an_error_with_its_line(frontmatter: str, line: int) -> None:
    error = refusal(f"---\n{frontmatter}---\n# A\n")
    assert (error.code, error.where) == (Exit.USAGE, f"line {line}")
    assert "frontmatter" in error.what
    assert error.hint


@pytest.mark.parametrize(
    ("written", "expected"),
    [("", ()), ("tests", ("tests",)), ("[tests, no]", ("tests", "no")), ("\n  - 1.10\n  - on", ("1.10", "on"))],
)
def test_known_failures_is_a_list_of_strings(written: str, expected: tuple[str, ...]) -> None:
    assert read_known_failures(parse_spec(f"---\nknown_failures: {written}\n---\n".encode())) == expected
    assert read_known_failures(parse_spec(b"# A\n")) == ()


@pytest.mark.parametrize("written", ["{a: b}", "[[a]]", "[{a: b}]", '[""]', "git", "[tests, git]"])
def test_known_failures_of_another_kind_is_an_error(written: str) -> None:
    spec = parse_spec(f"---\nknown_failures: {written}\n---\n".encode())
    with pytest.raises(AigonError, match="known_failures"):
        read_known_failures(spec)


def test_the_shell_blocks_under_validation_are_one_script() -> None:
    text = """# A
## Validation
Run `this`: not a command.
- [ ] nor this
<!-- nor this -->
```bash
cd web
npm test
```
~~~
echo $& \\\\
~~~
- first

  ```SH title="x"
    indented
  ```
### Details
```{.zsh}
zsh
```
## Validation of something else
```sh
no
```
# VALIDATION
```shell
last
```
"""
    expected = "cd web\nnpm test\necho $& \\\\\n  indented\nzsh\nlast"
    assert parse_spec(text.encode()).validation == expected
    assert parse_spec(text.replace("\n", "\r\n").encode()).validation == expected


@pytest.mark.parametrize(
    "block", ["", "prose", "    indented", "```sh\n```", "```\n\n# only a comment\n```", "- [ ] a"]
)
def test_without_a_command_there_is_no_validation_script(block: str) -> None:
    assert parse_spec(f"## Validation\n\n{block}\n".encode()).validation is None


def test_a_validation_block_in_another_language_is_a_warning() -> None:
    spec = parse_spec(b"## Validation\n\n```python\nprint()\n```\n\n```console\n$ ls\n```\n```sh\nls\n```\n")
    assert [(w.line, "not run" in w.message) for w in spec.warnings] == [(3, True), (7, True)]
    assert spec.validation == "ls"


TEMPLATE = find_resource("templates", "specs", "feature.md").read_text()
HEADING = "# A\n\n## Acceptance Criteria\n\n"


@pytest.mark.parametrize(
    ("text", "what", "line", "hint"),
    [
        ("", "The spec is empty", "", "## Acceptance Criteria"),
        (" \n\n", "The spec is empty", "", "## Acceptance Criteria"),
        ("# A\n\nIt works.\n", "The spec has no section 'Acceptance Criteria'", "", "## Acceptance Criteria"),
        (f"{HEADING}## Notes\n\n- a\n", "The section 'Acceptance Criteria' is empty", ":3", "- [ ] All tests"),
        (f"{HEADING}It works.\n", "The section 'Acceptance Criteria' has no list of criteria", ":3", "- [ ] All tests"),
        (f"{HEADING}- [ ]\n", "The section 'Acceptance Criteria' has only empty boxes", ":3", "Line 5: An empty box"),
        (f"{HEADING}- one\n- b\n", "2 list items under 'Acceptance Criteria' have no box", ":5", "`- [ ] one`"),
        (f"{HEADING}### Part\n\n- b\n", "1 list item under 'Acceptance Criteria' has no box", ":7", "`- [ ] b`"),
        (f"{HEADING}- [] it works\n", "1 list item under 'Acceptance Criteria' has no box", ":5", "`- [ ] it works`"),
        ("# A\n\n## Done when\n\n- [ ] a\n- [x] b\n", "2 boxes under 'Done when', which is not read as criteria", ":3",
         "line 3: `## Acceptance Criteria`"),
        ("# A\n\n- [ ] a\n", "1 box under 'A', which is not read as criteria", ":1", "above line 3: `## Acceptance Cr"),
        (TEMPLATE, "The spec is still the template: it has no acceptance criteria yet", ":7", "Replace line "),
    ],
)  # fmt: skip
def test_each_way_to_have_no_criteria_has_its_message(text: str, what: str, line: str, hint: str) -> None:
    with pytest.raises(AigonError) as caught:
        require_criteria(parse_spec(text.encode()), "a.md")
    assert (caught.value.code, caught.value.what, caught.value.where) == (Exit.USAGE, what, f"a.md{line}")
    assert hint in caught.value.hint
    if "## Acceptance Criteria\n" in caught.value.hint:
        assert len(parse_spec(caught.value.hint.encode()).criteria) == 3


def test_all_malformed_annotations_are_named_at_once() -> None:
    items = "- [ ] a <!-- verfy: x -->\n- [ ] b <!-- metric: x -->\n- [ ] fine\n- [ ] c <!-- check: -->\n"
    with pytest.raises(AigonError) as caught:
        parse_spec((HEADING + items).encode())
    assert (caught.value.what, caught.value.where) == ("3 annotations are malformed", "lines 5, 6 and 8")
    first, second, third = caught.value.hint.splitlines()
    assert "line 5: Unknown annotation `verfy`; the nearest is `verify`" in first
    assert "line 6: The `metric`" in second and "line 8: The `check`" in third


def test_keys_of_the_frontmatter_that_aigon_does_not_read_are_named() -> None:
    spec = parse_spec(b"---\ntitle: A\nallw: x\nknown_failures: lint\ntags: [a]\n---\n# A\n")
    assert [(warning.line, warning.message) for warning in spec.warnings] == [
        (
            2,
            "The frontmatter keys `title` and `tags` are ignored. aigon reads `allow`, `depends_on`, `kind`,"
            " `known_failures`, `max_iterations`, `max_time`, `mode`, `paths`, `priority`, `promise`, `source`"
            " and `stages`.",
        ),
        (3, "The frontmatter key `allw` is ignored. Did you mean `allow`?"),
    ]


def test_criteria_that_cannot_fail_are_named() -> None:
    items = (
        "- [ ] a <!-- verify: make || true -->\n- [ ] b <!-- metric: echo 9 >= 8 -->\n- [ ] c <!-- verify: make -->\n"
    )
    assert [(warning.line, warning.message) for warning in list_warnings(parse_spec((HEADING + items).encode()))] == [
        (5, "Criterion 1 cannot fail: `make || true` always exits with 0."),
        (6, "Criterion 2 measures nothing: `echo 9` always prints the same."),
    ]


def test_thousands_of_lines_take_time_in_proportion() -> None:
    block = "- [ ] item with a text <!-- verify: true -->\n  - [x] nested\n\nprose of some length\n\n"

    def parse(blocks: int) -> float:
        start = time.process_time()
        assert len(parse_spec((HEAD + block * blocks).encode()).criteria) == 2 * blocks
        return time.process_time() - start

    parse(1)  # the parser's own import is not what is measured
    few, many = (min(parse(blocks) for _ in range(2)) for blocks in (250, 1000))
    assert many < 9 * few, "linear is 4 times, quadratic 16 times"
