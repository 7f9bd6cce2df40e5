"""Annotations, bounds, and the items that need none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aigon.errors import AigonError, Exit
from aigon.model.checks import Role
from aigon.model.criteria import Criterion
from aigon.spec.annotation import (
    Expectation,
    find_comments,
    parse_annotation,
    read_bound,
    read_limit,
    read_text,
    strip_trailing_comments,
    write_text,
)
from aigon.spec.criteria import _PHRASES, _STEMS, find_deciding_role
from aigon.spec.document import parse_spec


def only(item: str) -> Criterion:
    """The criterion of a spec with this one item."""
    (criterion,) = parse_spec(f"## Acceptance Criteria\n\n{item}\n".encode()).criteria
    return criterion


def refusal(item: str) -> AigonError:
    """The error that a spec with this item causes."""
    with pytest.raises(AigonError) as caught:
        parse_spec(f"# Feature\n\n## Acceptance Criteria\n\n{item}\n".encode())
    return caught.value


@pytest.mark.parametrize(
    ("comment", "kind", "command"),
    [
        ("<!-- verify: pytest tests/test_multiply.py -->", "verify", "pytest tests/test_multiply.py"),
        ("<!-- metric: ./score.sh >= 8 -->", "metric", "./score.sh >= 8"),
        ("<!-- check: tests -->", "check", "tests"),
        ("<!-- judge -->", "judge", None),
        ("<!-- human -->", "human", None),
        ("<!-- human: Ada looks at the colours -->", "human", None),
        ("<!--verify:true-->", "verify", "true"),
        ("<!-- Verify : true -->", "verify", "true"),
        ("<!--- verify: true --->", "verify", "true"),
        ("<!--\n  verify: true\n  -->", "verify", "true"),
        ("<!-- verify: cat - -->", "verify", "cat -"),
        ("<!-- verify: echo `date` -->", "verify", "echo `date`"),
        ("<!-- verify: grep '<!--' page.html -->", "verify", "grep '<!--' page.html"),
        (r"<!-- verify: sed 's/\(a\)/$& \\1/' f | grep -c ':' -->", "verify", r"sed 's/\(a\)/$& \\1/' f | grep -c ':'"),
    ],
)
def test_a_trailing_comment_says_how_a_criterion_is_decided(comment: str, kind: str, command: str | None) -> None:
    criterion = only(f"- [ ] It multiplies {comment}")
    assert (criterion.text, criterion.kind, criterion.command) == ("It multiplies", kind, command)


@pytest.mark.parametrize("gap", ["\n  ", "\n\n  ", "\n  more words\n  "])
def test_a_comment_on_a_line_of_its_own_inside_the_item_counts(gap: str) -> None:
    criterion = only(f"- [ ] It multiplies{gap}<!-- verify: true -->")
    assert (criterion.kind, criterion.command) == ("verify", "true")


def test_a_comment_on_its_own_line_belongs_to_the_item_that_it_is_indented_under() -> None:
    text = (
        b"# Acceptance Criteria\n- [ ] a\n  - [ ] b\n    <!-- verify: b -->\n  - [ ] c\n- [ ] d\n  <!-- verify: d -->\n"
    )
    assert [(c.text, c.command) for c in parse_spec(text).criteria] == [
        ("a", None),
        ("b", "b"),
        ("c", None),
        ("d", "d"),
    ]


@pytest.mark.parametrize(
    ("argument", "script", "wanted"),
    [
        ("./greet Ada == Hello, Ada!", "./greet Ada", "Hello, Ada!"),
        ("python3 -c 'print(1 == 1)' == True", "python3 -c 'print(1 == 1)'", "True"),
        ('./greet == "a == b"', "./greet", "a == b"),
        (r'./greet == "a\tb\n\"c\""', "./greet", 'a\tb\n"c"'),
        (r"./greet == 'a\n b'", "./greet", r"a\n b"),
        ('./greet == ""', "./greet", ""),
        ('test "$x" == y && ./greet == {"a": 1}', 'test "$x" == y && ./greet', '{"a": 1}'),
    ],
)
def test_a_text_follows_the_last_comparison_outside_of_quotes(argument: str, script: str, wanted: str) -> None:
    assert read_text(argument) == Expectation(script, "==", wanted)
    assert read_text(write_text(script, wanted)) == Expectation(script, "==", wanted)


def test_a_text_of_several_lines_stands_in_a_fenced_block_of_the_item() -> None:
    criterion = only("- [ ] It prints a table <!-- prints: ./table == -->\n\n  ```text\n  a b\n\n   c\n  ```\n")
    assert (criterion.kind, criterion.text) == ("prints", "It prints a table")
    assert read_text(criterion.command or "") == Expectation("./table", "==", "a b\n\n c")
    other = only("- [ ] It prints a table <!-- prints: ./table == x -->\n\n  ```text\n  a b\n  ```\n")
    assert read_text(other.command or "").wanted == "x", "a text that is there already is not replaced"


def test_a_limit_on_seconds_is_read() -> None:
    assert only("- [ ] fast <!-- seconds: ./build a b <= 2.5 -->").kind == "seconds"
    assert read_limit("./build < 1e-1") == Expectation("./build", "<", "1e-1")


@pytest.mark.parametrize("comment", ["points: 3", "sprint: 12", "second: check this"])
def test_ordinary_words_of_notes_are_no_slips(comment: str) -> None:
    assert only(f"- [ ] It multiplies <!-- {comment} -->").kind == "judge"


def test_other_trailing_comments_are_just_comments() -> None:
    assert only("- [ ] It multiplies <!-- see issue 7 -->").text == "It multiplies"
    assert only("- [ ] It multiplies <!-- note: verify by hand -->").kind == "judge"
    criterion = only("- [ ] It multiplies <!-- new --> <!-- verify: true --> <!-- reviewed by Ada -->")
    assert (criterion.text, criterion.command) == ("It multiplies", "true")


def test_an_annotation_alone_is_a_criterion_named_by_its_command() -> None:
    criterion = only("- [ ] <!-- verify: make smoke -->")
    assert (criterion.text, criterion.kind, criterion.command) == ("make smoke", "verify", "make smoke")


def test_a_comment_in_a_code_span_is_text() -> None:
    criterion = only("- [ ] The page explains `<!-- verify: true -->`")
    assert (criterion.text, criterion.kind) == ("The page explains `<!-- verify: true -->`", "judge")
    assert only("- [ ] It explains `<!--` <!-- verify: true -->").command == "true"
    assert only(r"- [ ] It explains \<!-- and \` <!-- verify: true -->").command == "true"


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("<!-- verify: -->", "verify"),
        ("<!-- verify -->", "verify"),
        ("<!-- check: -->", "check"),
        ("<!-- metric: ./score.sh -->", "metric"),
        ("<!-- metric: >= 8 -->", "metric"),
        ("<!-- metric: ./score.sh >= eight -->", "metric"),
        ("<!-- prints: ./greet -->", "no == and text"),
        ("<!-- prints: ./greet == -->", "nothing after its =="),
        ("<!-- prints: == x -->", "no == and text"),
        ("<!-- prints: ./greet == 'a' b -->", "in quotes"),
        ('<!-- prints: ./greet == "a\\qb" -->', "cannot be read"),
        ('<!-- prints: ./greet == "\\ud800" -->', "cannot be read"),
        ("<!-- seconds: ./build -->", "comparator"),
        ("<!-- seconds: ./build >= 2 -->", "<= or <"),
        ("<!-- seconds: ./build <= 0 -->", "above 0"),
        ("<!-- verify: cd web\n  npm test -->", "more than one line"),
        ("<!-- verify: true", "never closed"),
        ("<!-- verify: a --> <!-- verify: b -->", "two annotations"),
        ("<!-- human -->\n  <!-- verify: b -->", "two annotations"),
    ],
)
def test_a_malformed_annotation_is_an_error_with_its_line(comment: str, said: str) -> None:
    error = refusal(f"- [ ] fine\n- [ ] It multiplies {comment}")
    assert error.code == Exit.USAGE
    assert said in error.what
    assert error.where == "line 6"
    assert error.hint


@pytest.mark.parametrize(
    ("written", "meant"),
    [("verfiy: x", "verify"), ("metrci: x >= 1", "metric"), ("chekc: tests", "check"), ("jugde", "judge")],
)
def test_a_misspelt_annotation_is_an_error_that_names_the_nearest(written: str, meant: str) -> None:
    error = refusal(f"- [ ] It multiplies\n  <!-- {written} -->")
    assert f"`{meant}`" in error.what
    assert error.where == "line 6"
    assert f"<!-- {meant}" in error.hint


def test_comments_are_found_with_their_place_and_the_trailing_ones_cut() -> None:
    text = "a <!-- b --> c `<!-- d -->` <!----> <!-- e -->"
    assert [(text[c.start : c.end], c.inner) for c in find_comments(text)] == [
        ("<!-- b -->", " b "),
        ("<!---->", ""),
        ("<!-- e -->", " e "),
    ]
    assert strip_trailing_comments(text) == "a <!-- b --> c `<!-- d -->`"


def test_a_plain_comment_is_no_annotation() -> None:
    (comment,) = find_comments("<!-- verified by hand: yes -->")
    assert parse_annotation(comment, 1) is None


@pytest.mark.parametrize(
    ("argument", "parts"),
    [
        ("./score.sh >= 8", ("./score.sh", ">=", "8")),
        ("./score.sh<=0.5", ("./score.sh", "<=", "0.5")),
        ("./score.sh > -1e3", ("./score.sh", ">", "-1e3")),
        ("./score.sh < .5", ("./score.sh", "<", ".5")),
        ("./score.sh == 8.", ("./score.sh", "==", "8.")),
        ("./score.sh != +8", ("./score.sh", "!=", "+8")),
        ("test 1 < 2 && ./score.sh 2>&1 >= 8", ("test 1 < 2 && ./score.sh 2>&1", ">=", "8")),
        ("awk '$1 >= 3' f | wc -l > 4", ("awk '$1 >= 3' f | wc -l", ">", "4")),
    ],
)
def test_the_last_comparator_that_only_a_number_follows_decides(argument: str, parts: tuple[str, str, str]) -> None:
    assert read_bound(argument) == Expectation(*parts)


@pytest.mark.parametrize(
    "argument",
    [
        "",
        "./score.sh",
        ">= 8",
        "./score.sh >=",
        "./score.sh >= 8%",
        "./score.sh >= nan",
        "./score.sh >= 1e999",
        "./score.sh = 8",
        "./score.sh => 8",
        "./score.sh >> 8",
        "./score.sh === 8",
        "./score.sh >= 8 points",
        "x >= ٣",
    ],
)
def test_a_metric_without_command_comparator_and_number_is_refused(argument: str) -> None:
    with pytest.raises(ValueError, match="comparator"):
        read_bound(argument)


@pytest.mark.parametrize(
    ("role", "texts"),
    [
        (
            "tests",
            "All tests pass|tests pass|All existing tests pass|the test suite is green|Unit tests pass"
            "|All tests are passing|All tests must still pass|Every test passes|No failing tests"
            "|The test suite passes successfully.|ALL TESTS PASS!"
            "|AC1: All tests pass|**AC1**: All tests pass|**AC-1.2:** tests pass|[AC1] All tests pass",
        ),
        (
            "lint",
            "Lint is clean|no lint errors|No lint warnings|no lint errors/warnings|linter passes|Linting passes."
            "|The linter reports no errors|Lint passes without errors|No linting errors or warnings"
            "|The code passes lint",
        ),
        (
            "build",
            "It builds|the build succeeds|The build passes|project builds without errors|Build is green|It compiles"
            "|The project builds successfully|The app should still build|No build errors",
        ),
        (
            "types",
            "type check passes|Type check is clean|no type errors|Type checking passes|The typecheck is green"
            "|Type-check passes without errors|No TypeScript errors|Types check",
        ),
    ],
)
def test_a_plainly_objective_item_binds_to_the_check_of_its_role(role: str, texts: str) -> None:
    assert {text: find_deciding_role(text) for text in texts.split("|")} == dict.fromkeys(texts.split("|"), role)
    assert (only(f"- [ ] {texts.split('|')[0]}").kind, only(f"- [ ] {texts.split('|')[0]}").command) == ("check", role)


@pytest.mark.parametrize("role", _PHRASES)
def test_every_phrase_of_a_role_contains_one_of_its_stems(role: Role) -> None:
    @given(st.from_regex(_PHRASES[role], fullmatch=True))
    def contains_stem(phrase: str) -> None:
        assert any(stem in phrase for stem in _STEMS[role])

    contains_stem()


@pytest.mark.parametrize(
    "text",
    [
        "All tests pass and the page loads fast",
        "the tests for multiply pass",
        "Not all tests pass",
        "The test passes",
        "Tests",
        "Add tests that pass",
        "All tests pass in CI",
        "All tests and lint pass",
        "Integration tests pass",
        "Lint",
        "Build",
        "Lint the code",
        "It builds on Windows",
        "The build is fast",
        "Builds a table",
        "The build button is green",
        "No type errors in api.py",
        "All tests pass, lint is clean",
        "Tests are written",
        "It compiles the template",
        "AC1:",
        "All tests pass: see below",
    ],
)
def test_an_item_that_says_more_stays_with_the_judge(text: str) -> None:
    assert find_deciding_role(text) is None


def test_an_annotation_outdoes_what_an_item_says() -> None:
    assert only("- [ ] All tests pass <!-- judge -->").kind == "judge"
    assert only("- [ ] All tests pass <!-- verify: make -->").command == "make"
    assert only("- [ ] All tests pass <!-- added later -->").command == "tests"
