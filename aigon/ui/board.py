"""The board as a page shows it: a status for each card, what waits for a person, and which verb each move is."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from aigon.ui.feed import Feed
from aigon.ui.lane import Lane
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


def build_views(feed: Feed) -> dict[str, list[CardView]]:
    """Return the cards of every stage, the most urgent first."""
    views = {column.stage: [_build_view(feed, card) for card in column.cards] for column in feed.list_columns()}
    for stage, cards in views.items():
        if stage not in ("done", "cancelled"):
            cards.sort(key=lambda view: _rank(view.status))
    return views


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


def group_views(views: Mapping[str, Sequence[CardView]]) -> tuple[list[CardView], list[CardView], list[CardView]]:
    """Return what needs a person, the most urgent first, what runs, and what is proven."""
    every = [view for cards in views.values() for view in cards]
    waiting = sorted((view for view in every if view.status in URGENT), key=lambda view: URGENT.index(view.status))
    running, proven = ([view for view in every if view.status == status] for status in ("running", "met"))
    return waiting, running, proven
