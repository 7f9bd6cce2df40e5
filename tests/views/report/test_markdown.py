"""The report for a pull request: short, and nothing in it calls anybody or links anywhere."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from aigon.views.report.pages import escape_line, render_markdown
from tests.views.report.accounts import hostile, one, three

ONE = """\
## Feature 42: Dark mode

**✓ Proven.** Every criterion is proven and the checks pass, after 2 iterations.

Take this branch, to merge it into main: `feature-42-dark-mode` at \
[02020202](https://github.com/ada/tea/commit/0202020202020202020202020202020202020202) (`aigon feature-done 42`)

| Criteria | Checks | Cost | Time | Iterations | Changes |
| --- | --- | --- | --- | --- | --- |
| 2 of 2 passed | 2 of 2 passed | \\$0.40 (reported) | 30m 00s | 2 of at most 5 | +20 −2 in 2 files |
"""


def test_it_begins_with_the_outcome_what_to_take_and_the_numbers() -> None:
    assert render_markdown(one()).startswith(ONE)


def test_of_several_agents_there_is_a_row_each() -> None:
    text = render_markdown(three())
    assert "| cc | ✓ Proven | 2 of 2 passed |" in text and "| cx | ■ Stopped short | 1 of 2 passed |" in text


def test_nobody_is_mentioned_and_nothing_is_linked() -> None:
    said = escape_line("thanks @ada see https://evil.example www.evil.example #12 GH-3 [x](y) <b> a_b_ a@b.example")
    assert not re.search(r"@\w|://|www\.|(?<!\\)#|#\d|GH-|(?<!\\)[\[<](?!!--)|(?<!\\)_", said)


WORDS = st.sampled_from(
    ["[a](b)", "<b>", "</details>", "| x |", "`", "``", "# x", "![i](u)", "<http://e.example>", "\n", "*b*", "\\"]
)  # fmt: skip


@settings(max_examples=40)
@given(st.lists(st.one_of(WORDS, st.text(max_size=6)), min_size=1, max_size=6))
def test_whatever_stands_in_any_field_no_element_and_no_link_comes_of_it(parts: list[str]) -> None:
    word = "".join(parts)
    tokens = MarkdownIt("commonmark").enable("table").parse(render_markdown(hostile(lambda field: f"{word} {field}")))
    inline = [child for token in tokens for child in token.children or ()]
    links = [str(child.attrs["href"]) for child in inline if child.type == "link_open"]
    assert all(link.startswith("https://github.com/ada/tea/") for link in links)
    html = {child.content for child in [*inline, *tokens] if child.type in ("html_inline", "html_block")}
    allowed = r"<!-- -->|<br>|</?sub>|</?details>|</?summary>|\s|<details><summary>Changed files \(\d+\)</summary>"
    assert all(re.fullmatch(f"(?:{allowed})*", each) for each in html), html
    assert not any(child.type == "image" for child in inline)
