"""The page as text: what stands first, how evidence is shown, and that nothing of others becomes markup."""

import re
from html.parser import HTMLParser

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from aigon.journal.account import CriterionItem
from aigon.journal.events import CheckFinished, RolledBack
from aigon.model.checks import Finding
from aigon.model.outcomes import Met
from aigon.views.report.pages import LARGEST, render_markdown, render_page
from tests.journal.tried import GREEN, at, begun, looked, turned
from tests.views.report.accounts import account, commit, empty, hostile, iterations, long, one, three, work


class Seen(HTMLParser):
    """The elements of a page, its links and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.said: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.open.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [str(value) for name, value in attrs if name in ("href", "src")]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        self.said.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.said).split())


def test_the_first_screen_says_how_it_ended_what_to_take_and_what_it_cost() -> None:
    text = Seen(render_page(one())).text
    first = text[: text.index("Criteria Progress Checks")]
    for words in (
        "Feature 42 Dark mode",
        "✓ Proven Every criterion is proven and the checks pass, after 2 iterations.",
        "Take this branch, to merge it into main: feature-42-dark-mode at 02020202 aigon feature-done 42",
        "Criteria 2 of 2 passed Checks 2 of 2 passed Cost $0.40 (reported) Time 30m 00s Iterations 2 of at most 5",
        "Changes +20 −2 in 2 files",
    ):
        assert words in first


def test_of_several_agents_each_has_its_outcome_and_the_proven_one_is_named() -> None:
    text = Seen(render_page(three())).text
    assert "1 of 3 agents proved every criterion: cc." in text and "aigon feature-done 42 cc" in text
    for words in ("cc ✓ Proven", "cx ■ Stopped short", "gg-pro ! Broken off"):
        assert words in text
    assert re.search(r"2\. The README explains it ✓ passed ✗ failed ✗ failed", text)


def test_two_that_proved_it_are_to_be_compared() -> None:
    both = [work(iterations([0, 2]), label=label, outcome=Met()) for label in ("cc", "cx")]
    text = Seen(render_page(account(*both))).text
    assert "2 of 2 agents proved every criterion: cc, cx." in text and "aigon feature-eval 42" in text


def test_a_criterion_has_how_it_was_decided_its_command_output_and_commit() -> None:
    shown = one()
    made = render_page(account(replace(shown.works[0], outputs={"criterion-1": "1 passed in 0.1s"})))
    text = Seen(made).text
    assert "✓ passed 1. toggle() turns the page dark Decided by its command, which has to exit with 0" in text
    assert "passed since iteration 1 01010101" in text
    assert "pytest -q tests/test_toggle.py 1 passed 1 passed in 0.1s" in text
    assert f'href="https://github.com/ada/tea/commit/{commit(1)}"' in made


def test_a_number_that_is_out_of_bounds_is_not_said_to_have_passed() -> None:
    metric = CriterionItem(1, "There are enough tests", "metric", "grep -c def tests.py >= 9")
    ran = CheckFinished(at(1), 1, Finding("criterion-1", "script", "c", "pass", "passed", "grep -c def tests.py"))
    last = looked(1, GREEN, met=0, checkpoint=commit(1))
    done = work([looked(0, GREEN, met=0, checkpoint=""), begun(1), turned(1), ran, last])
    text = Seen(render_page(account(replace(done, items=(metric,))))).text
    assert "grep -c def tests.py exit code 0" in text and "grep -c def tests.py passed" not in text


def test_criteria_that_passed_at_the_base_are_named_in_page_and_markdown() -> None:
    look = replace(looked(0, GREEN, met=1, checkpoint=""), passed_at_base=(1,))
    built = replace(looked(1, GREEN, met=2, checkpoint=commit(1)), passed_at_base=(1,))
    shown = account(work([look, begun(1), turned(1), built], outcome=Met()))
    assert "which already passes. It cannot show that the feature was built." in Seen(render_page(shown)).text
    assert "> Criterion 1 only runs `pytest -q tests/test_toggle.py`, which already passes." in render_markdown(shown)


def test_without_a_known_forge_there_are_no_links_but_within_the_page() -> None:
    made = render_page(replace(one(), forge=None))
    assert all(link.startswith("#") for link in Seen(made).links) and f'title="commit {commit(2)}"' in made


def test_every_link_within_the_page_leads_somewhere() -> None:
    for shown in (one(), three(), empty()):
        made = render_page(shown)
        ids = re.findall(r' id="([^"]+)"', made)
        assert len(ids) == len(set(ids))
        assert {link[1:] for link in Seen(made).links if link.startswith("#")} <= set(ids)


def test_a_run_that_has_looked_at_nothing_yet_has_a_page() -> None:
    text = Seen(render_page(empty())).text
    assert "… Running A loop has started and is assessing the baseline." in text and "None are known yet." in text


def test_iterations_that_were_undone_are_shown_and_count_for_nothing() -> None:
    back = RolledBack(at(9), 1, commit(1), commit(2), "refs/aigon/parked/x", "more is proven there")
    text = Seen(render_page(account(work([*iterations([0, 1, 0]), back])))).text
    assert "rolled back" in text and "1 of 2 passed" in text and "feature-42-dark-mode at 01010101" in text


def test_twenty_iterations_with_large_logs_stay_a_page_and_the_newest_are_whole() -> None:
    made = render_page(long(20))
    assert len(made.encode()) < LARGEST
    assert "characters before this are left out" in made and 'id="work-solo-iteration-20"' in made
    assert 'id="work-solo-iteration-3"' not in made and "<b>Iteration 3</b>" in made


def test_however_much_there_is_the_page_has_an_end() -> None:
    flood = "<&>" * 4_000
    works = [replace(work_, label=f"a{n}") for n in range(3) for work_ in hostile(lambda _field: flood).works]
    assert len(render_page(account(*works, title=flood)).encode()) < LARGEST


def test_the_policy_allows_styles_within_the_page_and_nothing_else() -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', render_page(one()))
    assert policy and policy[1].startswith("default-src 'none'; style-src 'unsafe-inline'; img-src")


PLAIN = Seen(render_page(hostile(lambda field: field)))
MARKUP = st.sampled_from(
    [
        "<script>x()</script>", "</pre>", "</style>", "</details>", "<!--", "-->", "]]>", '" onload="x', "'", "`a`",
        "&lt;b&gt;", "\x1b[31m", "\x00", "\u202e", "\ud800", "<svg/onload=x>", "https://e.example/", "javascript:x()",
        "\n# x\n", "%s", "{}",
    ]
)  # fmt: skip


@settings(max_examples=25)
@given(st.lists(st.one_of(MARKUP, st.text(max_size=8)), min_size=1, max_size=6))
def test_whatever_stands_in_any_field_the_page_is_made_of_the_same_elements(parts: list[str]) -> None:
    word = "".join(parts)
    made = render_page(hostile(lambda field: f"{word} {field}"))
    seen = Seen(made)
    made.encode()
    assert seen.tags <= PLAIN.tags | {"code", "blockquote"} and seen.attributes <= PLAIN.attributes
    assert all(re.match(r"#|https://github\.com/ada/tea/", link) for link in seen.links)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\ud800-\udfff]", made)


def test_text_of_others_is_shown_as_it_was_written() -> None:
    text = Seen(render_page(hostile(lambda field: f"<b>{field}</b> & co"))).text
    for field in ("said", "reason", "message", "what", "notice", "summary", "changed", "stopped", "detail", "promise"):
        assert f"<b>{field}</b> & co" in text
