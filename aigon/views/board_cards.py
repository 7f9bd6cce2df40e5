"""The board as data: features by stage, what of each is proven, and who works on it. It writes nothing."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from aigon.errors import AigonError, explain_error
from aigon.files.home import find_home
from aigon.git.repository import RepositoryFolders, find_repository
from aigon.job.spec_locations import SpecLocation, list_spec_locations
from aigon.journal.state_document import StateDict, StateFile, read_state_files
from aigon.model.criteria import Spec
from aigon.process.running import is_loop_alive
from aigon.spec import files
from aigon.spec.features import FOLDERS, ROOT, Feature
from aigon.text.quoting import fold

TITLES = {stage: stage.replace("-", " ").capitalize() for stage in FOLDERS} | {"elsewhere": "Specs kept elsewhere"}
STAGES = tuple(FOLDERS)
"""The columns, in the order of a feature's way. A folder that is no stage comes after them."""


class RunningLoop(Struct, frozen=True):
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


class RunEnd(Struct, frozen=True):
    """The end of the last run: its status, or `broken_off` if its process is gone without having said so, or
    `elsewhere` where it runs, or did, on another machine; `at` is the last it was heard of."""

    status: str
    reason: str
    at: str
    agent: str
    iteration: int


class CardLane(Struct, frozen=True):
    """An agent of several, by its `label`: what its last look proved, and its loop or how that ended."""

    label: str
    agent: str
    proven: int
    total: int
    working: RunningLoop | None = None
    ended: RunEnd | None = None


class Card(Struct, frozen=True):
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
    working: tuple[RunningLoop, ...] = ()
    ended: RunEnd | None = None
    problem: str = ""
    lanes: tuple[CardLane, ...] = ()


class Column(Struct, frozen=True):
    """A stage and its cards; `left_out` are those that there was no room for."""

    stage: str
    cards: tuple[Card, ...]
    left_out: int = 0


def build_board_document(columns: Sequence[Column]) -> dict[str, object]:
    """Return all columns as data, empty ones too."""
    stages = []
    for column in columns:
        features = [
            {
                "id": card.feature.id or None,
                "slug": card.feature.slug,
                "title": card.title,
                "stage": card.feature.stage,
                "spec": card.feature.path,
                "criteria": {
                    "total": card.boxes if card.total is None else card.total,
                    "proven": card.proven,
                    "ticked": card.ticked,
                },
                "running": bool(card.working),
                "loops": to_builtins(card.working),
                "last": to_builtins(card.ended),
                "candidates": to_builtins(card.lanes),
                "problem": card.problem or None,
            }
            for card in column.cards
        ]
        stages.append({"stage": column.stage, "features": features})
    return {"stages": stages}


NEWEST_DONE = 6
"""Features that are done and still shown: a board is about what is under way."""


def gather_board(start: Path, *, everything: bool) -> tuple[Column, ...]:
    """Return the columns of the repository around `start`; of what is done, only the newest without `everything`.

    In a linked worktree, they are those of the main checkout. Raises AigonError (exit 7) outside of a repository.
    """
    repository = find_repository(start)
    told, home = read_state_files(repository), find_home(repository.common_dir)
    running = [each for each in told if is_loop_alive(each.state, home)]
    placed = _place_features(repository, told, running)
    columns = []
    for stage in (*STAGES, *sorted({each.feature.stage for each in placed} - set(STAGES))):
        of_stage = [each for each in placed if each.feature.stage == stage]
        of_stage.sort(key=lambda each: (int(each.feature.id or 0), each.feature.slug), reverse=stage == "done")
        shown = of_stage if everything or stage != "done" else of_stage[:NEWEST_DONE]
        cards = tuple(_gather_card(place, told, running) for place in shown)
        columns.append(Column(stage, cards, len(of_stage) - len(shown)))
    return tuple(columns)


def _place_features(
    repository: RepositoryFolders, told: Sequence[StateFile], running: Sequence[StateFile]
) -> list[SpecLocation]:
    """Return every feature once: where a loop works on it, or by the branch that it is worked on.

    A spec that its owner keeps elsewhere is known by what its runs left.
    """
    listed = list_spec_locations(repository.root, repository.common_dir)
    here = {each.feature.path: replace(each, feature=_find_stage(each.feature.path)) for each in listed}
    for each in told:
        path = str(each.state.get("spec") or "")
        known = [place for place, other in here.items() if other.feature.name_for_people == each.feature]
        if path in known or not path:
            continue
        if (each in running or not known) and (each.root / path).is_file():
            for place in known if each in running else ():
                del here[place]
            here[path] = SpecLocation(_find_stage(path), each.root)
    return list(here.values())


def _find_stage(path: str) -> Feature:
    """Return the feature of a spec. A folder next to the stages is a column of its own; all other folders share one."""
    feature = files.feature_for_path(path)
    if feature.stage in STAGES and path.startswith(f"{ROOT}/"):
        return feature
    folder = path.removeprefix(f"{ROOT}/").rpartition("/")[0] if path.startswith(f"{ROOT}/") else "elsewhere"
    return replace(feature, stage=folder)


def _gather_card(place: SpecLocation, told: Sequence[StateFile], running: Iterable[StateFile]) -> Card:
    feature, (spec, problem) = place.feature, _parse_spec(place)
    mine = sorted((each for each in told if each.feature == feature.name_for_people), key=_find_last_heard)
    loops = tuple(_describe_running(each.state) for each in running if each in mine)
    lanes, last = _gather_lanes(mine, running), max(mine, key=_find_last_heard, default=None)
    if feature.stage == "done":  # the one that is furthest was merged
        lanes, last = (), max(mine, key=lambda each: (_count_proven(each), _find_last_heard(each)), default=None)
    furthest = max(mine, key=_count_proven, default=None) if lanes else last
    looked = bool(furthest and furthest.state.get("criteria"))
    criteria = spec.criteria if spec else ()
    return Card(
        feature,
        fold(spec.title if spec else "") or feature.slug,
        len(criteria),
        sum(criterion.checked for criterion in criteria),
        proven=furthest.state["criteria_met"] if furthest and looked else None,
        total=furthest.state["criteria_total"] if furthest and looked else None,
        working=loops,
        ended=_describe_end(last.state) if last and last.state and not loops else None,
        problem=" ".join(filter(None, (problem, *(each.problem for each in mine if each.label or each is last)))),
        lanes=lanes,
    )


def _gather_lanes(mine: Iterable[StateFile], running: Iterable[StateFile]) -> tuple[CardLane, ...]:
    """Return a lane for each agent with a worktree, by label."""
    told = sorted((each for each in mine if each.label and each.state), key=lambda each: each.label)
    working = {each.label: _describe_running(each.state) for each in told if each in running}
    return tuple(
        CardLane(
            each.label,
            each.state["agent"],
            each.state["criteria_met"],
            each.state["criteria_total"],
            working=working.get(each.label),
            ended=None if each.label in working else _describe_end(each.state),
        )
        for each in told
    )


def _count_proven(told: StateFile) -> int:
    return int(told.state.get("criteria_met", 0))


def _find_last_heard(told: StateFile) -> str:
    return str(told.state.get("updated_at", ""))


def _parse_spec(place: SpecLocation) -> tuple[Spec | None, str]:
    """Return the spec, or why it cannot be read."""
    from aigon.spec.document import parse_spec

    try:
        return parse_spec(place.read()), ""
    except AigonError as error:
        return None, explain_error(error).splitlines()[0] + (f" ({error.where})" if error.where else "")
    except OSError as error:
        return None, f"the spec cannot be read: {error.strerror}"


def _describe_running(state: StateDict) -> RunningLoop:
    waiting = state.get("waiting") or {}
    return RunningLoop(
        state["agent"],
        state["iteration"],
        state["max_iterations"],
        state["started_at"],
        str(state.get("branch") or ""),
        str(state.get("run_id") or ""),
        str(waiting.get("agent") or ""),
        waiting.get("until"),
        str(state.get("label") or ""),
    )


def _describe_end(state: StateDict) -> RunEnd:
    """Return the end of a run that does not continue here, whatever its state file says."""
    status, reason = state["status"], str(state.get("stop_reason") or "")
    if status == "running":
        host = str(state.get("host") or "")
        status, reason = ("broken_off", "") if host == os.uname().nodename else ("elsewhere", f"on {host or '?'}")
    return RunEnd(status, reason, state["updated_at"], state["agent"], state["iteration"])
