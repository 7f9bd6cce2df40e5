"""The page of `aigon report` in a real browser: themes, widths, hostile text, no script, no network."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from aigon.journal.account import FeatureAccount
from aigon.views.report.pages import render_page
from tests.views.report.accounts import empty, hostile, long, one, three

ATTACK = "<script>document.title='taken'</script>\"'><img src=https://example.invalid/x onerror=document.title='taken'>"
ACCOUNTS: dict[str, Callable[[], FeatureAccount]] = {
    "one": one,
    "three": three,
    "long": long,
    "empty": empty,
    "hostile": lambda: hostile(lambda field: f"{ATTACK} {field} {'w' * 300}"),
}


@contextmanager
def shown(
    browser: Any, folder: Path, account: FeatureAccount, **how: Any
) -> Iterator[tuple[Any, list[str], list[str]]]:
    """The page in a window of its own, what the console said, and which addresses were asked for."""
    file = folder / "report.html"
    file.write_text(render_page(account), encoding="utf-8")
    context = browser.new_context(**how)
    window, said, asked = context.new_page(), [], []
    window.on("console", lambda message: said.append(message.text))
    window.on("pageerror", lambda error: said.append(str(error)))
    window.on("request", lambda request: asked.append(request.url))
    window.goto(file.as_uri())
    yield window, said, [url for url in asked if url != file.as_uri()]
    context.close()


@pytest.mark.parametrize("name", ACCOUNTS)
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_fits_its_window_says_nothing_and_asks_for_nothing(
    browser: Any, tmp_path: Path, name: str, width: int, scheme: str
) -> None:
    how = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme}
    with shown(browser, tmp_path, ACCOUNTS[name](), **how) as (window, said, asked):
        window.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        assert window.evaluate("document.documentElement.scrollWidth") <= width
        assert (said, asked) == ([], [])
        if folder := os.environ.get("SHOTS"):
            window.reload()
            window.screenshot(path=str(Path(folder) / f"{name}-{scheme}-{width}.png"), full_page=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_what_is_behind_it(browser: Any, tmp_path: Path, scheme: str) -> None:
    with shown(browser, tmp_path, three(), color_scheme=scheme) as (window, _, _):
        window.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        weak = window.evaluate(CONTRAST)
    assert weak == []


def test_what_an_agent_wrote_stays_text(browser: Any, tmp_path: Path) -> None:
    with shown(browser, tmp_path, ACCOUNTS["hostile"]()) as (window, said, asked):
        title = window.title()
        assert title.startswith("Feature 42: ") and title != "taken"
        assert window.evaluate("document.querySelectorAll('script, img, iframe, object, [onerror]').length") == 0
        assert window.evaluate(
            "[...document.links].every(a => /^(#|https:\\/\\/github.com\\/ada\\/tea\\/)/.test(a.getAttribute('href')))"
        )
        assert "<script>document.title='taken'</script>" in window.inner_text("body")
        assert (said, asked) == ([], [])


def test_the_page_can_be_read_and_its_charts_turned_without_javascript(browser: Any, tmp_path: Path) -> None:
    with shown(browser, tmp_path, three(), java_script_enabled=False) as (window, _, _):
        text = window.inner_text("body")
        for words in ("1 of 3 agents proved every criterion: cc", "feature-42-cc-dark-mode", "turns the page dark"):
            assert words in text
        assert window.locator(".over-iterations:visible").count() == 4
        window.get_by_text("Over time").click()
        assert window.locator(".over-iterations:visible").count() == 0
        assert window.locator(".over-time:visible").count() == 4
        window.get_by_text("The numbers").first.click()
        assert window.locator("table.numbers:visible").count() == 1


def test_no_label_of_a_chart_lies_over_another_or_outside_of_it(browser: Any, tmp_path: Path) -> None:
    with shown(browser, tmp_path, three(), viewport={"width": 360, "height": 800}) as (window, _, _):
        for axis in ("by-iteration", "by-time"):
            window.check(f"#{axis}", force=True)
            assert window.evaluate(OVERLAPS) == []


FOREIGN = r"""() => [...document.links].map(link => link.getAttribute('href'))
.filter(address => !/^(#|https:\/\/github\.com\/ada\/tea\/)/.test(address))"""

OVERLAPS = """() => [...document.querySelectorAll('figure svg')].filter(each => each.getBoundingClientRect().width)
.flatMap(svg => {
  const all = [...svg.querySelectorAll('text')], box = svg.getBoundingClientRect(), found = [];
  const boxes = all.map(text => text.getBoundingClientRect());
  boxes.forEach((a, i) => {
    if (a.left < box.left - 1 || a.right > box.right + 2) found.push('outside: ' + all[i].textContent);
    boxes.slice(i + 1).forEach((b, j) => {
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 1 && down > 3) found.push(all[i].textContent + ' over ' + all[i + 1 + j].textContent);
    });
  });
  return found;
})"""

# WCAG's contrast of each text with the nearest background that is painted; 4.5 is its level AA.
CONTRAST = """() => {
  const parts = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = node => {
    for (let at = node; at; at = at.parentElement) {
      const colour = parts(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const weak = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !node.getClientRects().length) continue;
    if (['TITLE', 'DESC'].includes(node.tagName.toUpperCase())) continue;
    const style = getComputedStyle(node), colour = node.closest('svg') ? style.fill : style.color;
    const [a, b] = [light(parts(colour)), light(behind(node))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) weak.push(node.tagName + ': ' + walker.currentNode.textContent.slice(0, 40));
  }
  return weak;
}"""
