"""Events survive the way through JSON, and what this version does not know is said."""

import json
import math
import subprocess
import sys
from timeit import repeat
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import fields

from aigon.errors import Exit
from aigon.journal import replay as codec
from aigon.journal.events import CheckFinished, CheckStarted, Event, MoneySpent, Notice, RunFinished
from aigon.model.checks import Finding, Problem, TestCounts
from aigon.model.outcomes import Interrupted, Met, Outcome, Stopped, get_status

LEAVES: dict[object, st.SearchStrategy[Any]] = {
    str: st.text(max_size=20),
    int: st.integers(),
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
    NoneType: st.none(),
    Exit: st.sampled_from(Exit),
}


def of(hint: Any) -> st.SearchStrategy[Any]:
    """Every value that a field annotated with `hint` can hold."""
    if hint in LEAVES:
        return LEAVES[hint]
    if isinstance(hint, type) and issubclass(hint, Struct):
        hints = get_type_hints(hint)
        return st.builds(hint, **{field.name: of(hints[field.name]) for field in fields(hint)})
    return composed(get_origin(hint), get_args(hint))


def composed(origin: object, parts: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    """Literals, unions and tuples of any length."""
    if origin is Literal:
        return st.sampled_from(parts)
    if origin is tuple:
        return st.lists(of(parts[0]), max_size=3).map(tuple)
    assert origin is UnionType or str(origin) == "typing.Union", origin
    return st.one_of([of(part) for part in parts])


EVENTS = of(Event)


def there_and_back(event: Event) -> Event:
    return codec.decode(json.loads(codec.dumps(event)))


def small() -> Event:
    counts = TestCounts(total=15, passed=13, failed=2)
    problem = Problem("AssertionError: 6 != 5", file="tests/test_multiply.py", line=12, test="test_six")
    finding = Finding("tests", "tests", "Tests", "fail", "13/15 passed", counts=counts, problems=(problem,))
    return CheckFinished(at="2026-11-20T10:16:02+00:00", number=1, finding=finding)


@given(EVENTS)
def test_every_event_comes_back_as_it_was(event: Event) -> None:
    assert there_and_back(event) == event


@given(EVENTS)
def test_every_event_is_one_ascii_line_that_names_itself(event: Event) -> None:
    line = codec.dumps(event)
    assert line.isascii() and line.splitlines() == [line]
    assert json.loads(line)["event"] == event.event


@given(st.text(st.characters(categories=["Cs", "Ll", "So"]), min_size=1))
def test_a_lone_surrogate_becomes_a_question_mark(text: str) -> None:
    document = json.loads(codec.dumps(Notice(at="", text=text)))
    assert document["text"] == "".join("?" if "\ud800" <= char <= "\udfff" else char for char in text)


@pytest.mark.parametrize("cost", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_cannot_hold_are_kept_as_text(cost: float) -> None:
    event = MoneySpent(at="", number=1, what="judge", cost=cost, status="reported")
    back = there_and_back(event)
    assert isinstance(back, MoneySpent) and repr(back.cost) == repr(cost)


def test_an_outcome_is_tagged_with_its_status_word() -> None:
    for kind in get_args(Outcome):
        event = RunFinished("", some(kind), "", 0, "", "")
        document = codec.encode(event)["outcome"]
        assert isinstance(document, dict) and document["kind"] == get_status(event.outcome)


def some(kind: type[Outcome]) -> Outcome:
    """An instance of an outcome, its texts empty."""
    defaults: dict[str, Any] = {"criteria": (), "signal": "SIGINT"}
    needed = [field.name for field in fields(kind) if field.name not in ("caveats", "code")]
    return kind(**{name: defaults.get(name, "") for name in needed})


def test_an_exit_code_is_a_number_in_the_document_and_the_same_code_after_it() -> None:
    event = RunFinished("", Stopped("cost", "spent", Exit.SPENT), "stopped", 5, "", "")
    assert '"code":5' in codec.dumps(event)
    back = there_and_back(event)
    assert isinstance(back, RunFinished) and isinstance(back.outcome, Stopped) and back.outcome.code is Exit.SPENT


def test_equal_fields_do_not_mix_up_two_outcomes() -> None:
    interrupted = RunFinished("", Interrupted("SIGHUP"), "interrupted", 143, "", "")
    met = RunFinished("", Met(), "met", 0, "", "")
    assert there_and_back(interrupted) == interrupted
    assert there_and_back(met) == met


def test_an_unknown_event_is_named_with_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"the event 'turn_paused' is not known here; perhaps a newer aigon"):
        codec.decode({"event": "turn_paused", "at": ""})


def test_an_unknown_field_is_named_with_its_place() -> None:
    document = json.loads(codec.dumps(small()))
    document["finding"]["counts"]["flaky"] = 2
    with pytest.raises(ValueError, match=r"'check_finished' has a field `finding.counts.flaky` that is not known here"):
        codec.decode(document)


def test_an_unknown_outcome_and_its_unknown_fields_are_named() -> None:
    document = codec.encode(RunFinished("", Met(), "met", 0, "", ""))
    with pytest.raises(ValueError, match=r"the outcome 'postponed' is not known here"):
        codec.decode({**document, "outcome": {"kind": "postponed"}})
    with pytest.raises(ValueError, match=r"'run_finished' has a field `outcome.stars` that is not known here"):
        codec.decode({**document, "outcome": {"kind": "met", "caveats": [], "stars": 5}})


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"at": "now"}, "it has no field `event`"),
        ({"event": "notice", "at": "now", "text": None}, "'notice' is malformed at `text`"),
        ({"event": "run_finished", "outcome": "met"}, "'run_finished' is malformed at"),
        ({"event": 7}, "the event 7"),
        ([], "an event is a JSON object, not list"),
    ],
)
def test_a_malformed_document_is_explained(document: Any, text: str) -> None:
    with pytest.raises(ValueError) as error:
        codec.decode(document)
    assert text in str(error.value) and "\n" not in str(error.value)


def test_a_document_of_an_older_version_lacks_fields_that_have_defaults() -> None:
    assert codec.decode({"event": "notice", "at": "now", "text": "hello"}) == Notice("now", "hello")
    assert codec.decode({"event": "check_started", "at": "", "number": 1, "check": "tests", "title": "Tests"}) == (
        CheckStarted("", 1, "tests", "Tests")
    )


def test_encoding_a_small_event_costs_a_few_times_what_its_json_does() -> None:
    event = small()
    document = codec.encode(event)
    encoding, dumping = (
        min(repeat(function, number=200, repeat=20))
        for function in (lambda: codec.encode(event), lambda: json.dumps(document))
    )
    assert encoding < 8 * dumping


def test_encoding_does_not_import_pydantic() -> None:
    program = (
        "import sys; from aigon.journal import replay as codec, events;"
        "codec.dumps(events.Notice('', '')); sys.exit('pydantic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
