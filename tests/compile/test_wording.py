"""Words that nobody can decide, and claims in one box: what is found, and what is left alone."""

import pytest

from aigon.compile.review import count_claims, find_vague_words, load_rules

RULES = load_rules()


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("The list is fast", "fast"),
        ("The page loads very quickly on a phone", "quickly"),
        ("The parser is robust", "robust"),
        ("Clean code", "Clean"),
        ("The layout is clean", "clean"),
        ("Errors are handled gracefully", "gracefully"),
        ("The picker works correctly for `feature-start`", "correctly"),
        ("It falls over. The message is shown as appropriate", "as appropriate"),
        ("Saved to the appropriate file", "appropriate"),
        ("It is easy to use", "easy"),
        ("FR-002: Greeting is fast", "fast"),
        ("1.2 THE list is fast", "fast"),
    ],
)
def test_a_word_that_nobody_can_decide_is_found_where_it_is(text: str, word: str) -> None:
    (found,) = list(find_vague_words(text, RULES))[:1]
    assert found.word == word.removeprefix("as ") or found.word == word
    assert text[found.offset :].startswith(found.word)


@pytest.mark.parametrize(
    "text",
    [
        "The list is fast: 100 rows in 50 ms",
        "The list loads within 2 s and is fast",
        "The option `--fast` is documented",
        'The label reads "robust"',
        "A fast-forward merge is made",
        "Lint is clean",
        "The working tree is clean",
        "Errors are handled gracefully (exit 2, nothing written)",
        "It fails fast",
        "Each card shows stage-appropriate buttons",
        "The appropriate action is chosen based on the stage",
        "It works correctly: the total is 42",
        "The hook gracefully no-ops",
    ],
)
def test_a_word_that_is_explained_or_means_something_else_is_left_alone(text: str) -> None:
    assert list(find_vague_words(text, RULES)) == []


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("The button is red; the label is blue", 2),
        ("It must exit with 2. It must not write a file", 2),
        ("The list must be sorted and the total must be shown", 2),
        ("`npm test` passes; `node -c x.js` passes; nothing is written", 3),
        ("The button is red and large", 1),
        ("It must be red. This keeps the page readable", 1),
        ("It shows names; see the wireframe", 1),
        ("`a; b is c; d is e` is printed", 1),
        ("It is sorted (by name; the date is second)", 1),
        ("", 1),
    ],
)
def test_claims_are_counted(text: str, claims: int) -> None:
    assert count_claims(text, RULES) == claims


def test_long_lines_take_no_long_time() -> None:
    text = "and must be " * 20_000 + "is very " * 20_000
    assert count_claims(text, RULES) > 1
    assert list(find_vague_words(text, RULES)) == []
