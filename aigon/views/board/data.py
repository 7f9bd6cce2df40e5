"""The board: features by stage, what of each is proven, and who works on it. As data; the picture is `board_text`."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from aigon.spec.features import FOLDERS, Feature

STAGES = tuple(FOLDERS)
"""The columns, in the order of a feature's way. A folder that is no stage comes after them."""


@dataclass(frozen=True, slots=True)
class Working:
    """A loop whose process is there. `since` is when this invocation began, ISO 8601; `iteration` 0 looks at the base.

    `waiting_for` names an agent that is held up, `waiting_until` is in seconds since the epoch.
    """

    agent: str
    iteration: int
    max_iterations: int
    since: str
    branch: str = ""
    run_id: str = ""
    waiting_for: str = ""
    waiting_until: float | None = None
    label: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """How the last run ended: its status, or `broken_off` where its process is gone without having said so, or
    `elsewhere` where it runs, or did, on another machine; `at` is the last it was heard of."""

    status: str
    reason: str
    at: str
    agent: str
    iteration: int


@dataclass(frozen=True, slots=True)
class Lane:
    """An agent of several, by its `label`: what its last look proved, and its loop or how that ended."""

    label: str
    agent: str
    proven: int
    total: int
    working: Working | None = None
    ended: Ended | None = None


@dataclass(frozen=True, slots=True)
class Card:
    """One feature. `proven` of `total` is what the last look at it proved; None where no run has looked at it yet.

    `ticked` of `boxes` is what the spec itself says: claims. `problem` says what could not be read. Where agents have
    worktrees of their own, each has a lane, and `proven` is what the one has that is furthest.
    """

    feature: Feature
    title: str
    boxes: int
    ticked: int
    proven: int | None = None
    total: int | None = None
    working: tuple[Working, ...] = ()
    ended: Ended | None = None
    problem: str = ""
    lanes: tuple[Lane, ...] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """A stage and its cards; `left_out` are those that there was no room for."""

    stage: str
    cards: tuple[Card, ...]
    left_out: int = 0


def document(columns: Sequence[Column]) -> dict[str, object]:
    """All columns as data, those without a feature too."""
    return {"stages": [{"stage": each.stage, "features": [_card(card) for card in each.cards]} for each in columns]}


def _card(card: Card) -> dict[str, object]:
    feature = card.feature
    return {
        "id": feature.id or None,
        "slug": feature.slug,
        "title": card.title,
        "stage": feature.stage,
        "spec": feature.path,
        "criteria": {
            "total": card.boxes if card.total is None else card.total,
            "proven": card.proven,
            "ticked": card.ticked,
        },
        "running": bool(card.working),
        "loops": [asdict(loop) for loop in card.working],
        "last": asdict(card.ended) if card.ended else None,
        "candidates": [asdict(lane) for lane in card.lanes],
        "problem": card.problem or None,
    }
