"""The parts of the pages that change while they are open."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from aigon.api import AigonError
from aigon.errors import explained
from aigon.model.changes import Concern, FileDiff
from aigon.model.criteria import Criterion, Verdict
from aigon.spec.document import parse_spec
from aigon.ui.board import CardView, build_views, list_of_status, list_waiting
from aigon.ui.feed import Feed, Fragment
from aigon.ui.guard import Access
from aigon.ui.lane import Lane
from aigon.ui.rendering import render

COLUMNS = 24
"""Iterations that a table of checks shows."""
DIFFS = 32
"""Diffs that are remembered."""
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HEADING = re.compile(r"(?im)^#{1,6}[ \t]+(?:\W*)acceptance criteria\b.*$")
_TITLE = re.compile(r"\A(?:---\n.*?\n---\n)?\s*#[^\n]*\n", re.DOTALL)


class SpecView(Struct, frozen=True):
    """A spec as a page shows it; `problem` says why it cannot be read. `summary` is its Markdown above the criteria."""

    title: str
    stage: str
    path: str
    summary: str = ""
    criteria: tuple[Criterion, ...] = ()
    problem: str = ""


class CriterionView(Struct, frozen=True):
    """A criterion, what decides it, and what the last assessment says about it."""

    number: int
    text: str
    kind: str
    command: str
    verdict: Verdict | None
    excerpt: str
    is_running: bool

    @property
    def has_passed(self) -> bool:
        return self.verdict is not None and self.verdict.status == "met"


class Question(Struct, frozen=True):
    """What one run leaves to a person: criteria that only a person decides, and integrity findings by rule."""

    feature: str
    title: str
    lane: Lane
    criteria: tuple[CriterionView, ...]
    concerns: tuple[Concern, ...]


class Parts:
    """Makes the fragments of every page that changes."""

    def __init__(self, access: Access, defaults: Callable[[], Mapping[str, Any]]) -> None:
        self._access, self._defaults = access, defaults
        self._cards: dict[str, tuple[object, str]] = {}
        self._diffs: dict[tuple[str, str], tuple[FileDiff, ...]] = {}

    def render(self, name: str, **values: Any) -> str:
        return render(f"parts/{name}.html", access=self._access, **values)

    def board(self, feed: Feed) -> Iterator[Fragment]:
        """The board: what needs a person, and a card for each feature."""
        views = build_views(feed)
        cards = {view.name: self._render_card(view) for each in views.values() for view in each}
        groups = (list_waiting(views), list_of_status(views, "running"), list_of_status(views, "met"))
        yield Fragment("overview", self.render("overview", waiting=groups[0], running=groups[1], proven=groups[2]))
        columns = {column.stage: column for column in feed.list_columns()}
        structure = tuple((stage, columns[stage].left_out, *(card.name for card in views[stage])) for stage in views)
        shown = {name: html for name, (_, html) in cards.items()}
        yield Fragment("board", self.render("board", views=views, cards_html=shown, columns=columns), structure)
        for name, (ident, html) in cards.items():
            yield Fragment(f"card-{name}", html, ident)

    def _render_card(self, view: CardView) -> tuple[object, str]:
        known = self._cards.get(view.name)
        if known is None or known[0] != view.key:
            known = self._cards[view.name] = view.key, self.render("card", view=view)
        return known

    def feature(self, feed: Feed, feature: str, label: str | None) -> Iterator[Fragment]:
        """A feature: the run of one agent, or several agents side by side."""
        lanes, spec = feed.list_lanes(feature), read_spec(feed, feature)
        lane = choose_lane(lanes, label)
        several = len(lanes) > 1 and label is None
        shared = {"feature": feature, "spec": spec, "card": feed.find_card(feature), "lanes": lanes, "lane": lane}
        yield Fragment("head", self.render("head", several=several, **shared))
        is_open = spec.stage not in ("done", "cancelled") and not any(each.running for each in lanes)
        shown = is_open and not self._access.read_only
        yield Fragment("start", self.render("start", shown=shown, defaults=self._defaults(), **shared))
        if several:
            ordered = sorted(lanes, key=lambda each: (each.status != "met", -each.scene.met, each.label))
            shared |= {"lanes": ordered, "rows": build_criteria(spec, ordered[0])}
            yield Fragment("lanes", self.render("lanes", **shared))
            yield Fragment("matrix", self.render("matrix", **shared))
            return
        yield Fragment("now", self.render("now", **shared))
        yield Fragment("criteria", self.render("criteria", criteria=build_criteria(spec, lane), **shared))
        yield Fragment("checks", self.render("checks", columns=COLUMNS, **shared))
        yield Fragment("iterations", self.render("iterations", **shared))

    def approvals(self, feed: Feed) -> Iterator[Fragment]:
        """Everything that waits for a person's decision, each with what it is about."""
        questions = list(list_questions(feed))
        diffs = {id(each): self.find_diff(feed, each.lane) for each in questions}
        html = self.render("questions", questions=questions, diff=lambda question: diffs[id(question)])
        yield Fragment("questions", html)

    def find_diff(self, feed: Feed, lane: Lane, before: str = "", commit: str = "") -> Sequence[FileDiff]:
        """Return what a run changed, or what changed between two commits of it; nothing if they are gone."""
        assert lane.started
        key = (before or lane.started.base_commit, commit or lane.commit)
        if key not in self._diffs:
            try:
                self._diffs[key] = feed.project.diff(*key)
            except AigonError:
                return ()
            while len(self._diffs) > DIFFS:
                self._diffs.pop(next(iter(self._diffs)))
        return self._diffs[key]


def choose_lane(lanes: Sequence[Lane], label: str | None) -> Lane | None:
    """Return the run under a label; without one the run that goes on, or that was heard of last."""
    if label is not None:
        return next((lane for lane in lanes if lane.label == label), None)
    return max(lanes, key=lambda lane: (lane.running, lane.last.at if lane.last else ""), default=None)


def read_spec(feed: Feed, feature: str) -> SpecView:
    """Return the spec of a feature. Raises AigonError (exit 2) if there is no such feature."""
    place = feed.find_spec(feature)
    about = (place.feature.stage, place.feature.path)
    try:
        raw = place.read()
        spec = parse_spec(raw)
    except AigonError as error:
        return SpecView(place.title, *about, problem=explained(error))
    except OSError as error:
        return SpecView(place.title, *about, problem=f"The spec cannot be read: {error.strerror}")
    text = _TITLE.sub("", raw.decode("utf-8", "replace").replace("\r\n", "\n"), count=1)
    above = _HEADING.split(text, maxsplit=1)[0]
    title = spec.title.removeprefix("Feature:").strip() or place.feature.slug
    return SpecView(title, *about, _COMMENT.sub("", above).strip(), spec.criteria)


def build_criteria(spec: SpecView, lane: Lane | None) -> tuple[CriterionView, ...]:
    """Return the criteria of a feature, as the run has them once it judged them."""
    known = {criterion.number: criterion for criterion in spec.criteria}
    numbers = sorted({*known, *(lane.texts if lane else ())})
    return tuple(_build_criterion(known.get(number), number, lane) for number in numbers)


def _build_criterion(criterion: Criterion | None, number: int, lane: Lane | None) -> CriterionView:
    verdict = lane.scene.verdicts.get(number) if lane else None
    answer = lane.answers.get(number) if lane else None
    return CriterionView(
        number,
        criterion.text if criterion else lane.texts[number] if lane else "",
        criterion.kind if criterion else "",
        (criterion.command or "") if criterion else "",
        verdict,
        answer.excerpt if answer else "",
        bool(lane and lane.running and number in lane.scene.proving),
    )


def list_questions(feed: Feed) -> Iterator[Question]:
    """Yield what waits for a person over all features and agents."""
    for view in list_waiting(build_views(feed)):
        if view.status != "needs_human":
            continue
        for lane in feed.list_lanes(view.name):
            if lane.status == "needs_human" and lane.last:
                rows = build_criteria(read_spec(feed, view.name), lane)
                waiting = tuple(row for row in rows if row.kind in ("human", "judge", "") and not row.has_passed)
                concerns = {each.rule: each for each in lane.last.concerns if each.level == "review"}
                yield Question(view.name, view.card.title, lane, waiting, tuple(concerns.values()))
