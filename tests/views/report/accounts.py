"""Accounts by hand: one agent, three, a long history, none, and one in which every text is hostile."""

from collections.abc import Callable
from typing import Literal

from msgspec.structs import replace

from aigon.git.forge import Forge
from aigon.journal.account import CriterionItem, FeatureAccount, WorkAccount
from aigon.journal.events import CheckFinished, Event, Notice, RunFinished, RunStarted, SavedAside
from aigon.journal.history import build_history
from aigon.model.changes import Concern, FileChange
from aigon.model.checks import Finding, Problem
from aigon.model.criteria import Promise, Verdict
from aigon.model.outcomes import Met, Outcome, Stopped, get_status
from aigon.spec.features import Feature
from tests.journal.tried import GREEN, at, begun, looked, red, turned
from tests.views.story import run_started

FEATURE = Feature("42", "dark-mode", "docs/specs/features/03-in-progress/feature-42-dark-mode.md", "in-progress")
ITEMS = (
    CriterionItem(1, "`toggle()` turns the page dark", "verify", "pytest -q tests/test_toggle.py"),
    CriterionItem(2, "The README explains it", "judge"),
)
FORGE = Forge("github", "https://github.com/ada/tea")
Word = Callable[[str], str]
"""Makes the text of a field: the field's name is all that is known of it."""


def commit(number: int) -> str:
    """The checkpoint of an iteration."""
    return f"{number:x}".rjust(2, "0") * 20


def started(label: str = "", agent: str = "claude") -> RunStarted:
    """A run under a label begins."""
    mode: Literal["solo", "arena"] = "arena" if label else "solo"
    branch = f"feature-42-{label}-dark-mode" if label else "feature-42-dark-mode"
    return replace(
        run_started(), at=at(0), label=label, agent=agent, mode=mode, branch=branch, criteria_total=2, slug="dark-mode"
    )


def ended(outcome: Outcome, minute: int) -> RunFinished:
    """A run ends."""
    word = get_status(outcome)
    return RunFinished(at(minute), outcome, word, 0 if word == "met" else 3, "", commit(1))


def iterations(met: list[int], *, cost: float = 0.2, said: str = "Done!") -> list[Event]:
    """A base that has `met[0]` criteria passed, and an iteration for each further number."""
    events: list[Event] = [looked(0, red("test_a", "test_b"), GREEN, met=met[0], checkpoint="")]
    for number, proven in enumerate(met[1:], 1):
        found = red("test_a") if proven < 2 else replace(red(), status="pass", summary="15 passed")
        own = CheckFinished(
            at(number), number, Finding("criterion-1", "script", "c", "pass", "1 passed", ITEMS[0].command)
        )
        events += [begun(number), turned(number, said=said, cost=cost), own]
        events.append(looked(number, found, GREEN, met=proven, checkpoint=commit(number)))
    return events


def work(events: list[Event], *, label: str = "", agent: str = "claude", outcome: Outcome | None = None) -> WorkAccount:
    """What the events left under a label."""
    known = build_history([[started(label, agent), *events, *([ended(outcome, 30)] if outcome else [])]])
    diffs = {
        step.look.checkpoint: (FileChange("src/dark.py", 10 * step.number, 2, "A"), FileChange("logo.png", -1, -1))
        for step in known.steps
        if step.look.checkpoint
    }
    made = WorkAccount(
        label, agent, "arena" if label else "solo", known.runs[0].started.branch, ITEMS, known, diffs=diffs
    )
    return replace(made, tip=made.commit, log_path=FEATURE.log(label), log="# Iteration log\n\n## Iteration 1\n")


def account(*works: WorkAccount, title: str = "Dark mode") -> FeatureAccount:
    """The account of the feature."""
    return FeatureAccount(FEATURE, title, at(31), works, target="main", base="b" * 40, forge=FORGE)


def one() -> FeatureAccount:
    """One agent that proves it in two iterations."""
    return account(work(iterations([0, 1, 2]), outcome=Met()))


def three() -> FeatureAccount:
    """Three agents, of which one proves it."""
    stopped = Stopped("max-iterations", "5 iterations are used up")
    works = (
        work(iterations([0, 1, 2]), label="cc", agent="claude", outcome=Met()),
        work(iterations([0, 0, 1, 1, 1, 1], cost=0.5), label="cx", agent="codex", outcome=stopped),
        work(iterations([0, 1, 1], cost=0.05), label="gg-pro", agent="gemini:pro"),
    )
    return account(*works)


def long(count: int = 20) -> FeatureAccount:
    """One agent that goes on and on, with large outputs."""
    flood = "a line that a tool printed, again and again\n" * 4000
    loud = replace(red("test_a"), excerpt=flood, command="pytest -q " + "x" * 500)
    events: list[Event] = [looked(0, loud, checkpoint="")]
    for number in range(1, count + 1):
        events += [begun(number), turned(number, said=flood), looked(number, loud, GREEN, checkpoint=commit(number))]
    made = work(events, outcome=Stopped("max-iterations", "20 iterations are used up"))
    return account(replace(made, log=flood, outputs={"lint": flood}))


def empty() -> FeatureAccount:
    """A run that has begun and looked at nothing yet."""
    return account(replace(work([]), running=True, items=()))


def hostile(word: Word) -> FeatureAccount:
    """Every text that agents, specs, tools or repositories choose is `word` of the field's name."""
    problem = Problem(word("message"), word("file"), 7, word("rule"), test=word("test"))
    loud = Finding(
        word("check"), "tests", word("title"), "fail", word("summary"), word("command"), 1, problems=(problem,),
        excerpt=word("excerpt"),
    )  # fmt: skip
    own = CheckFinished(at(1), 1, replace(loud, check="criterion-1"))
    turn = turned(1, "failed", said=word("said"), detail=word("detail"), model=word("model"), agent=word("agent"))
    verdicts = (
        Verdict(1, "unmet", "verify", word("evidence"), word("reason")),
        Verdict(2, "met", word("method"), word("evidence"), word("reason")),
    )
    look = looked(
        1, loud, checkpoint=commit(1), verdicts=verdicts, changes=(FileChange(word("changed"), 1, 1),),
        concerns=(Concern(word("rule"), "review", word("what"), (word("path"),), "k"),),
        promises=(Promise(word("promise"), False, word("why")),),
    )  # fmt: skip
    noted = Notice(at(1), word("notice"), "warning")
    parked = SavedAside(at(1), 1, word("ref"), commit(1), word("parked"))
    base = looked(0, loud, checkpoint="")
    made = work([base, begun(1), turn, own, noted, parked, look], outcome=Stopped(word("guard"), word("stopped")))
    made = replace(
        made, agent=word("agent"), branch=word("branch"), log=word("log"), log_path=word("log_path"),
        items=(CriterionItem(1, word("text"), "verify", word("command")), CriterionItem(2, word("text"), "judge")),
        outputs={"criterion-1": word("output")}, unread=(word("unread"),),
        diffs={commit(1): (FileChange(word("changed"), 1, 1), FileChange(word("gone"), 1, 1, "D"))},
    )  # fmt: skip
    both = (made, replace(made, label="two", agent=word("agent")))
    return replace(account(*both, title=word("feature")), target=word("target"), evaluation=word("evaluation"))
