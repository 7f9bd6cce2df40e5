"""The parts of the pages that change while they are open, and the board: a status for each card, and its moves."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from aigon.api import AigonError
from aigon.errors import explain_error
from aigon.job.spec_locations import SpecLocation
from aigon.model.changes import FileDiff
from aigon.model.criteria import Criterion, Verdict
from aigon.run.approvals import ApprovalCase
from aigon.spec.document import parse_spec
from aigon.spec.foreign import ForeignAnnotation, list_proposals
from aigon.spec.writing import split_spec
from aigon.text.patterns import compile_re
from aigon.ui.feed import Feed, Fragment
from aigon.ui.guard import Access
from aigon.ui.lane import Lane
from aigon.ui.pages import render
from aigon.views.board_cards import Card, RunEnd

MOVES: Mapping[str, Mapping[str, str]] = {
    "inbox": {"backlog": "prioritise", "in-progress": "setup", "cancelled": "cancel"},
    "backlog": {"in-progress": "setup", "cancelled": "cancel"},
    "in-progress": {"done": "merge", "cancelled": "cancel"},
    "in-evaluation": {"done": "merge", "cancelled": "cancel"},
    "done": {"backlog": "reopen"},
    "cancelled": {"backlog": "reopen"},
}
"""The verb that takes a feature from a stage to another."""
URGENT = ("needs_human", "decided", "problem", "broken_off", "refused", "unavailable", "stopped")
"""Ends of a run that a person has to know of, the most urgent first."""


class CardView(Struct, frozen=True):
    """A card and the runs on it that go on now. `status` is that of its run, or the most urgent one of several."""

    card: Card
    status: str
    reason: str
    lanes: tuple[Lane, ...]
    moves: Mapping[str, str]

    @property
    def name(self) -> str:
        """The name that a person types."""
        return self.card.feature.name_for_people

    @property
    def passed(self) -> int:
        """Criteria that passed at the last look, of the run that is furthest."""
        return max([self.card.proven or 0, *(lane.scene.met for lane in self.lanes)])

    @property
    def total(self) -> int:
        return max([self.card.total or self.card.boxes, *(lane.scene.total for lane in self.lanes)])

    @property
    def key(self) -> object:
        """The values that decide whether it is drawn again."""
        return (self.card, self.status, tuple((lane.label, lane.changes, lane.running) for lane in self.lanes))


def _build_view(feed: Feed, card: Card) -> CardView:
    name = card.feature.name_for_people
    lanes = [feed.find_lane(name, loop.label) for loop in card.working]
    lanes += [lane for lane in feed.list_lanes(name) if lane.cell and lane.running]
    status, reason = ("running", "") if any(lane and lane.cell for lane in lanes) else _find_status(card)
    if status == "needs_human" and name not in [case.feature for case in feed.list_cases()]:
        status, reason = "decided", "All is decided. Resume it to go on"
    moves = dict(MOVES.get(card.feature.stage, {}))
    if card.working:
        moves = {}
    elif len(card.lanes) > 1:
        moves.pop("done", None)  # which agent's work is merged is chosen on the feature's page
    return CardView(card, status, reason, tuple(lane for lane in lanes if lane), moves)


def _find_status(card: Card) -> tuple[str, str]:
    if card.working:
        return "running", ""
    if card.feature.stage in ("done", "cancelled"):
        return card.feature.stage, ""
    if card.problem:
        return "problem", card.problem
    ends: Sequence[RunEnd] = [lane.ended for lane in card.lanes if lane.ended] or ([card.ended] if card.ended else [])
    if any(end.status == "met" for end in ends):
        return "met", ""
    worst = min(ends, key=lambda end: _rank(end.status), default=None)
    return (worst.status, worst.reason) if worst else ("not_started", "")


def _rank(status: str) -> int:
    order = (*URGENT[:3], "running", "met", *URGENT[3:])
    return order.index(status) if status in order else len(order)


COLUMNS = 24
"""Iterations that a table of checks shows."""
DIFFS = 32
"""Diffs that are remembered."""
_COMMENT = compile_re(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HEADING = compile_re(r"(?im)^#{1,6}[ \t]+(?:\W*)acceptance criteria\b.*$")


class SpecView(Struct, frozen=True):
    """A spec as a page shows it; `problem` says why it cannot be read. `summary` is its Markdown above the criteria."""

    title: str
    stage: str
    path: str
    summary: str = ""
    criteria: tuple[Criterion, ...] = ()
    problem: str = ""
    proposals: tuple[ForeignAnnotation, ...] = ()


class CriterionView(Struct, frozen=True):
    """A criterion, what decides it, and what the last assessment says about it."""

    number: int
    text: str
    kind: str
    command: str
    verdict: Verdict | None
    excerpt: str
    is_running: bool


class Question(Struct, frozen=True):
    """A case that waits for a person: the title of its feature, the criteria by number, and what the run changed."""

    case: ApprovalCase
    title: str
    texts: Mapping[str, str]
    files: Sequence[FileDiff]


class Parts:
    """Makes the fragments of every page that changes."""

    def __init__(self, access: Access, defaults: Callable[[], Mapping[str, Any]]) -> None:
        self._access, self._defaults = access, defaults
        self._cards: dict[str, tuple[object, str]] = {}
        self._kept: dict[str, Fragment] = {}
        self._specs: dict[str, tuple[SpecLocation, SpecView]] = {}
        self._features: dict[tuple[str, str | None], tuple[object, list[Fragment]]] = {}
        self._diffs: dict[tuple[str, str], tuple[FileDiff, ...]] = {}

    def render(self, name: str, **values: Any) -> str:
        return render(f"parts/{name}.html", access=self._access, **values)

    def board(self, feed: Feed) -> Iterator[Fragment]:
        """The board: what needs a person, and a card for each feature; the most urgent first."""
        columns = {column.stage: column for column in feed.columns}
        views = {stage: [_build_view(feed, card) for card in column.cards] for stage, column in columns.items()}
        for stage in views.keys() - {"done", "cancelled"}:
            views[stage].sort(key=lambda view: _rank(view.status))
        every = [view for each in views.values() for view in each]
        cards = {view.name: self._render_card(view) for view in every}
        waiting = sorted((view for view in every if view.status in URGENT), key=lambda view: URGENT.index(view.status))
        running, proven = ([view for view in every if view.status == status] for status in ("running", "met"))
        tally = tuple((view.name, view.status, view.reason, view.card) for view in (*waiting, *running, *proven))
        yield self._keep("overview", tally, feed, waiting=waiting, running=running, proven=proven)
        structure = tuple((stage, columns[stage].left_out, *(card.name for card in views[stage])) for stage in views)
        shown = {name: html for name, (_, html) in cards.items()}
        yield self._keep("board", structure, feed, views=views, cards_html=shown, columns=columns)
        for name, (ident, html) in cards.items():
            yield Fragment(f"card-{name}", html, ident)

    def _keep(self, name: str, key: object, feed: Feed, **values: Any) -> Fragment:
        """Return a part that is made anew for a whole page, and otherwise once its key changed."""
        known = self._kept.get(name)
        if known is None or known.key != key or feed.opens:
            known = self._kept[name] = Fragment(name, self.render(name, **values), key)
        return known

    def _render_card(self, view: CardView) -> tuple[object, str]:
        known = self._cards.get(view.name)
        if known is None or known[0] != view.key:
            known = self._cards[view.name] = view.key, self.render("card", view=view)
        return known

    def feature(self, feed: Feed, feature: str, label: str | None, agents: str = "") -> list[Fragment]:
        """A feature: the run of one agent, or several side by side. `agents` fill the form that starts a run."""
        lanes, spec = feed.list_lanes(feature), self._read_spec(feed, feature)
        key = (spec, tuple((each.label, each.changes, each.running, each.problem) for each in lanes))
        known = self._features.get((feature, label))
        if known is None or known[0] != key or feed.opens or agents:
            made = list(self._render_feature(feature, label, lanes, spec, agents))
            known = self._features[feature, label] = key, made
            while len(self._features) > DIFFS:
                self._features.pop(next(iter(self._features)))
        return known[1]

    def _read_spec(self, feed: Feed, feature: str) -> SpecView:
        """Return the spec as it was when the feed last looked around, unless a whole page is wanted."""
        place = feed.find_spec(feature)
        known = self._specs.get(feature)
        if known is None or known[0] is not place or feed.opens:
            known = self._specs[feature] = place, read_spec(feed, feature)
        return known[1]

    def _render_feature(
        self, feature: str, label: str | None, lanes: Sequence[Lane], spec: SpecView, agents: str
    ) -> Iterator[Fragment]:
        lane, several = choose_lane(lanes, label), len(lanes) > 1 and label is None
        ordered = sorted(lanes, key=lambda each: (each.status != "met", -each.scene.met, each.label))
        is_open = spec.stage not in ("done", "cancelled") and not any(each.running for each in lanes)
        shown = is_open and not self._access.read_only
        values = {
            "feature": feature,
            "spec": spec,
            "lanes": ordered,
            "lane": lane,
            "several": several,
            "rows": build_criteria(spec, ordered[0] if several else lane),
            "columns": COLUMNS,
            "defaults": self._defaults() if shown else None,
            "agents": agents,
        }
        names = ("lanes", "matrix") if several else ("now", "criteria", "checks", "iterations")
        html = {name: self.render(name, **values) for name in ("head", "start", *names)}
        yield Fragment("page", self.render("page", html=html, spec=spec, lane=lane), (several, lane is None))
        yield from (Fragment(name, part) for name, part in html.items())

    def approvals(self, feed: Feed) -> Iterator[Fragment]:
        """Everything that waits for a person's decision, each with what it is about."""
        questions = [self._ask(feed, case) for case in feed.list_cases()]
        yield Fragment("questions", self.render("questions", questions=questions))

    def _ask(self, feed: Feed, case: ApprovalCase) -> Question:
        try:
            spec = read_spec(feed, case.feature) if case.feature else None
        except AigonError:  # its branch or worktree is gone; the case says what is left
            spec = None
        texts = {str(criterion.number): criterion.text for criterion in spec.criteria} if spec else {}
        files = self.find_diff(feed, case.base, case.commit) if case.commit else ()
        return Question(case, spec.title if spec else case.original_file, texts, files)

    def find_diff(self, feed: Feed, base: str, commit: str) -> Sequence[FileDiff]:
        """Return what changed between two commits; nothing if they are gone."""
        if (base, commit) not in self._diffs:
            try:
                self._diffs[base, commit] = feed.project.diff(base, commit)
            except AigonError:
                return ()
            while len(self._diffs) > DIFFS:
                self._diffs.pop(next(iter(self._diffs)))
        return self._diffs[base, commit]


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
        return SpecView(place.title, *about, problem=explain_error(error))
    except OSError as error:
        return SpecView(place.title, *about, problem=f"The spec cannot be read: {error.strerror}")
    parts = split_spec(raw)
    above = _COMMENT.sub("", _HEADING.split(parts.body.replace("\r\n", "\n"), maxsplit=1)[0]).strip()
    return SpecView(parts.title or place.feature.slug, *about, above, spec.criteria, proposals=list_proposals(raw))


def build_criteria(spec: SpecView, lane: Lane | None) -> tuple[CriterionView, ...]:
    """Return the criteria of a feature, as the run has them once it judged them."""
    known = {criterion.number: criterion for criterion in spec.criteria}
    texts, answers = (lane.texts, lane.answers) if lane else ({}, {})
    rows = []
    for number in sorted({*known, *texts}):
        criterion, answer = known.get(number), answers.get(number)
        row = CriterionView(
            number,
            criterion.text if criterion else texts[number],
            criterion.kind if criterion else "",
            (criterion.command or "") if criterion else "",
            lane.scene.verdicts.get(number) if lane else None,
            answer.excerpt if answer else "",
            bool(lane and lane.running and number in lane.scene.proving),
        )
        rows.append(row)
    return tuple(rows)
