import pytest
from hypothesis import given
from markdown_it import MarkdownIt

from aigon.text.quoting import clean, clip, code_block, code_span, fold, list_item
from tests.proof.hostile import EXAMPLES, TEXT


def test_escape_sequences_controls_and_hidden_characters_are_gone() -> None:
    assert clean("\x1b[31mred\x1b[0m\x00\x07 a\u202eb \ufeffc\U000e0041") == "red ab c"


def test_every_kind_of_line_break_becomes_a_newline() -> None:
    assert clean("a\r\nb\rc\u2028d\x85e\x0bf\tg") == "a\nb\nc\nd\ne\nf\tg"


def test_half_a_surrogate_pair_can_be_written_to_a_file() -> None:
    assert clean("caf\udce9.py").encode() == "caf\ufffd.py".encode()


def test_folding_puts_everything_on_one_line_and_says_what_it_cut() -> None:
    assert fold(" a\n\n# b\tc ") == "a # b c"
    assert fold("x" * 50, 10) == "x" * 9 + "…"
    assert clip("abc", 3) == "abc"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# heading", "\\# heading"),
        ("- point", "point"),
        ("12. twelfth", "12\\. twelfth"),
        ("> quote", "\\> quote"),
        ("---", "\\---"),
        ("<!-- note", "\\<!-- note"),
        ("```sh", "\\```sh"),
        ("plain 1. text", "plain 1. text"),
        ("\x00", "(empty)"),
    ],
)
def test_an_item_begins_no_block_of_its_own(text: str, shown: str) -> None:
    assert list_item(text) == shown


@pytest.mark.parametrize(("text", "shown"), [("a", "`a`"), ("`a`", "`` `a` ``"), ("a``b", "```a``b```"), (" ", "")])
def test_a_code_span_has_more_backticks_than_its_text(text: str, shown: str) -> None:
    assert code_span(text) == shown


def test_a_fence_is_longer_than_any_run_inside() -> None:
    assert code_block("```\nx\n````", "sh") == "`````sh\n```\nx\n````\n`````"
    assert code_block("x") == "```text\nx\n```"


@EXAMPLES
@given(TEXT)
def test_no_text_gets_out_of_its_fence(text: str) -> None:
    tokens = MarkdownIt().parse(code_block(text))
    assert [t.type for t in tokens] == ["fence"]


@EXAMPLES
@given(TEXT)
def test_no_text_gets_out_of_its_list_item(text: str) -> None:
    kinds = [t.type for t in MarkdownIt().parse(f"- {list_item(text)}\n- next\n")]
    assert kinds.count("list_item_open") == 2
    assert not {"heading_open", "hr", "fence", "html_block", "blockquote_open", "code_block"} & set(kinds)
