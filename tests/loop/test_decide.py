"""The only place where a run may end: what is a proof, which guard speaks first, and who waits for whom."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from aigon.errors import Exit
from aigon.job.assessment import ACCEPTED, IN_PLACE, Demand, find_proof, require_support
from aigon.job.escalation import AgentStep
from aigon.job.options import Limits
from aigon.journal.events import IterationFinished
from aigon.journal.spending import Paid, Spend
from aigon.journal.state import State
from aigon.loop.decide import decide
from aigon.model.changes import Concern, PutBack
from aigon.model.checks import CheckStatus, Finding, Problem, Role
from aigon.model.criteria import Criterion, Verdict, VerdictStatus
from aigon.model.outcomes import Interrupted, Met, NeedsHuman, Outcome, Stopped, Unavailable, get_exit_code
from aigon.model.requests import JUDGE_UNAVAILABLE
from aigon.model.resources import Probe, Volume
from aigon.model.turns import Agent, Turn, TurnEnd

NO_LIMITS = Limits(iterations=20, repeated_error=0, stall=0)


def criterion(number: int) -> Criterion:
    return Criterion(number, number, f"criterion {number}", False, "verify", "true", 0)


def finding(status: CheckStatus = "pass", check: str = "tests", role: Role = "tests") -> Finding:
    return Finding(check, role, check.title(), status, "summary")


def verdict(status: VerdictStatus = "met", number: int = 1, method: str = "verify", reason: str = "") -> Verdict:
    return Verdict(number, status, method, "evidence", reason)


def demand(criteria: int = 1, known: tuple[str, ...] = (), skip: bool = False) -> Demand:
    return Demand(tuple(criterion(n + 1) for n in range(criteria)), known, skip)


PROVED = Finding("proof", "proof", "Clean-room proof", "pass", "summary")


def look(
    findings: tuple[Finding, ...], verdicts: tuple[Verdict, ...], number: int = 1, proof: Finding | None = PROVED
) -> IterationFinished:
    all_findings = findings if proof is None else (*findings, proof)
    return IterationFinished("", number, "", "", all_findings, verdicts, (), "", (), "")


def turn(end: TurnEnd, number: int = 1, detail: str = "") -> Turn:
    return Turn(number, "mine", "", end, detail=detail)


OPEN = State(last=look((finding(),), (verdict("unmet"),)), iteration=1, finished=1, used=1)
PROVEN = replace(OPEN, last=look((finding(),), (verdict(),)))
UNCLEAR = replace(OPEN, last=look((finding(),), (verdict("unclear", method="judge", reason="looks odd"),)))


def ended(state: State, limits: Limits = NO_LIMITS, probe: Probe | None = None, wanted: Demand | None = None) -> str:
    """The outcome in a word: the guard's name, the kind, or `on` when the run goes on."""
    match decide(wanted or demand(), limits, state, probe or Probe()):
        case None:
            return "on"
        case Stopped(guard=guard):
            return guard
        case other:
            return type(other).__name__


# What was built

PASSED = replace(look((finding(),), (verdict(),), 0), passed_at_base=(1,), adds_nothing=True)
BASE = State(last=PASSED, base=PASSED)
REFACTORING = replace(demand(), accept_passing=True)


@pytest.mark.parametrize("limits", [NO_LIMITS, replace(NO_LIMITS, iterations=1, single=True)])
def test_what_passed_at_the_base_and_changed_nothing_is_for_a_person(limits: Limits) -> None:
    outcome = decide(demand(), limits, BASE, Probe())
    assert isinstance(outcome, NeedsHuman) and outcome.nothing_built and outcome.criteria == (1,)
    after = replace(BASE, last=replace(PASSED, number=1), iteration=1, finished=1, used=1, turn=turn("finished"))
    assert decide(demand(), limits, after, Probe()) == outcome
    assert ended(BASE, probe=Probe(interrupt="SIGINT")) == "Interrupted"


def test_without_a_proof_nothing_is_proven() -> None:
    unproved = replace(PROVEN, last=look((finding(),), (verdict(),), proof=None))
    assert ended(unproved) != "Met"
    assert ended(unproved, wanted=replace(demand(), in_place=True)) == "Met"


def test_a_change_or_one_criterion_that_failed_at_the_base_makes_it_proven() -> None:
    committed = replace(PASSED, adds_nothing=False)
    assert ended(replace(BASE, last=committed, used=1)) == "Met"
    assert ended(replace(BASE, last=committed)) == "NeedsHuman", "only people have committed, to whatever end"
    assert ended(replace(BASE, last=committed), wanted=REFACTORING) == "Met"
    assert ended(replace(BASE, last=replace(PASSED, passed_at_base=()))) == "Met"


def test_accepted_criteria_give_the_agent_turns_until_one_ends_well() -> None:
    assert ended(BASE, wanted=REFACTORING) == "on"
    worked = replace(BASE, last=replace(PASSED, number=1), iteration=1, finished=1, used=1)
    assert ended(replace(worked, turn=turn("failed")), wanted=REFACTORING) == "on"
    assert ended(replace(worked, turn=turn("finished")), wanted=REFACTORING) == "NeedsHuman"
    built = replace(worked, last=replace(PASSED, number=1, adds_nothing=False), turn=turn("finished"))
    assert decide(REFACTORING, NO_LIMITS, built, Probe()) == Met((ACCEPTED,))


# What is proven


def test_every_criterion_met_and_every_check_green_is_met() -> None:
    assert find_proof(demand(2), (finding(),), (verdict(), verdict(number=2))) == Met()


@pytest.mark.parametrize("status", ["fail", "error", "skipped"])
def test_a_check_that_did_not_pass_is_never_green(status: CheckStatus) -> None:
    assert find_proof(demand(), (finding(), finding(status, "lint", "lint")), (verdict(),)) is None


@pytest.mark.parametrize("status", ["unmet", "unclear"])
def test_a_criterion_that_is_not_met_is_never_proven(status: VerdictStatus) -> None:
    assert find_proof(demand(2), (finding(),), (verdict(), verdict(status, 2))) is None


def test_a_criterion_without_a_verdict_is_not_proven() -> None:
    assert find_proof(demand(2), (finding(),), (verdict(),)) is None
    assert find_proof(demand(2), (finding(),), (verdict(), verdict())) is None


def test_without_criteria_nothing_can_be_proven() -> None:
    assert find_proof(demand(0), (finding(),), ()) is None


@pytest.mark.parametrize("method", ["verify", "metric", "approval"])
def test_without_any_check_a_command_a_number_or_a_person_is_proof(method: str) -> None:
    assert find_proof(demand(), (), (verdict(method=method),)) == Met()


@pytest.mark.parametrize("method", ["judge", "human", "check:tests"])
def test_without_any_check_nothing_else_is_proof(method: str) -> None:
    assert find_proof(demand(2), (), (verdict(), verdict(number=2, method=method))) is None


def test_the_git_check_alone_is_no_check_of_the_project() -> None:
    git = finding(check="git", role="git")
    assert find_proof(demand(), (git,), (verdict(method="judge"),)) is None
    assert find_proof(demand(), (git, finding()), (verdict(method="judge"),)) == Met()


def test_a_known_failure_may_stay_red_and_is_said() -> None:
    outcome = find_proof(demand(known=("lint",)), (finding(), finding("fail", "lint", "lint")), (verdict(),))
    assert outcome == Met(("known failure: Lint (summary)",))


def test_a_known_failure_excuses_no_other_check() -> None:
    assert find_proof(demand(known=("lint",)), (finding("fail"), finding("fail", "lint", "lint")), (verdict(),)) is None


@pytest.mark.parametrize("status", ["fail", "error", "skipped"])
def test_a_known_failure_that_did_not_pass_supports_no_judge(status: CheckStatus) -> None:
    red = (finding(status, "lint", "lint"),)
    assert find_proof(demand(known=("lint",)), red, (verdict(method="judge"),)) is None
    assert find_proof(demand(known=("lint",)), red, (verdict(),)) is not None
    assert find_proof(demand(known=("lint",)), (finding(), *red), (verdict(method="judge"),)) is not None


def test_what_git_could_not_commit_is_never_a_known_failure() -> None:
    git = finding("fail", "git", "git")
    assert find_proof(demand(known=("git",)), (finding(), git), (verdict(),)) is None
    state = replace(UNCLEAR, last=look((finding(), git), (verdict("unclear"),)))
    assert ended(state, wanted=demand(known=("git",))) == "on"


def test_a_green_check_among_the_known_failures_is_no_caveat() -> None:
    assert find_proof(demand(known=("tests",)), (finding(),), (verdict(),)) == Met()


def test_skipped_validation_is_a_caveat_of_the_proof() -> None:
    assert find_proof(demand(skip=True), (), (verdict(),)) == Met(("validation skipped",))


STATUSES = st.sampled_from(["pass", "fail", "error", "skipped"])
NAMES = st.sampled_from(["tests", "lint", "types", "git"])
FINDINGS = st.lists(st.builds(lambda s, n: finding(s, n, n), STATUSES, NAMES), max_size=5).map(tuple)
VERDICTS = st.lists(
    st.builds(
        verdict,
        st.sampled_from(["met", "unmet", "unclear"]),
        st.integers(1, 3),
        st.sampled_from(["verify", "metric", "check:tests", "judge", "approval", "human"]),
    ),
    max_size=5,
    unique_by=lambda v: v.criterion,
).map(tuple)
DEMANDS = st.builds(demand, st.integers(0, 3), st.lists(NAMES, max_size=2, unique=True).map(tuple), st.booleans())
PROBES = st.builds(Probe, interrupt=st.sampled_from(["", "SIGINT", "SIGTERM", "SIGHUP", "stop-file"]))


@given(DEMANDS, FINDINGS, VERDICTS, PROBES, st.booleans())
def test_met_is_never_said_with_anything_open_or_red(
    wanted: Demand, findings: tuple[Finding, ...], verdicts: tuple[Verdict, ...], probe: Probe, single: bool
) -> None:
    state = replace(OPEN, last=look(findings, verdicts))
    outcome = decide(wanted, replace(NO_LIMITS, single=single), state, probe)
    if isinstance(outcome, Met):
        proven = {v.criterion for v in verdicts if v.status == "met"}
        assert wanted.criteria and {c.number for c in wanted.criteria} <= proven
        red = [f for f in findings if f.status != "pass"]
        assert all(f.check in wanted.known_failures and f.role != "git" for f in red)
        assert any(f.role != "git" and f.status == "pass" for f in findings) or all(
            v.method in ("verify", "metric", "approval") for v in verdicts
        )


# Each guard alone

MANY = 1_000_000_000


def disk(free: int | None, *, problem: str = "", scratch: bool = False) -> Volume:
    """A file system with so many bytes free."""
    return Volume("/work", "the workspace", "/", free, None, problem, scratch)


@pytest.mark.parametrize(
    ("limits", "state", "probe", "guard", "code"),
    [
        (Limits(disk_free=MANY), OPEN, Probe(volumes=(disk(MANY - 1),)), "disk", 7),
        (Limits(), OPEN, Probe(volumes=(disk(MANY, problem="it is read-only"),)), "disk", 7),
        (Limits(), OPEN, Probe(longest_file=1_000_000), "disk", 7),
        (Limits(memory_free=10), OPEN, Probe(memory_free=9), "memory", 7),
        (Limits(run_time=2.0), OPEN, Probe(elapsed=2.0), "run-time", 5),
        (Limits(max_cost=1.0), replace(OPEN, spend=Spend(1.0)), Probe(), "cost", 5),
        (Limits(consecutive_failures=2), replace(OPEN, failed_turns=2), Probe(), "consecutive-failures", 3),
        (Limits(repeated_error=3), replace(OPEN, repeats=3), Probe(), "repeated-error", 3),
        (Limits(stall=4), replace(OPEN, stalled=4), Probe(), "stall", 3),
        (Limits(iterations=5), replace(OPEN, used=5), Probe(), "iterations", 3),
        (Limits(), OPEN, Probe(interrupt="stop-file"), "stop-file", 3),
    ],
)
def test_a_guard_stops_the_run_at_its_limit(limits: Limits, state: State, probe: Probe, guard: str, code: int) -> None:
    outcome = decide(demand(), limits, state, probe)
    assert isinstance(outcome, Stopped) and outcome.guard == guard and outcome.reason
    assert get_exit_code(outcome) == code


@pytest.mark.parametrize(
    ("limits", "state", "probe"),
    [
        (Limits(disk_free=MANY), OPEN, Probe(volumes=(disk(MANY),))),
        (Limits(disk_free=MANY), OPEN, Probe(volumes=(disk(None),))),
        (Limits(disk_free=MANY), OPEN, Probe(volumes=(disk(MANY // 2, scratch=True),))),
        (Limits(), OPEN, Probe(longest_file=MANY)),
        (Limits(memory_free=10), OPEN, Probe(memory_free=10)),
        (Limits(memory_free=10), OPEN, Probe(memory_free=None)),
        (Limits(run_time=2.0), OPEN, Probe(elapsed=1.9)),
        (Limits(run_time=None), OPEN, Probe(elapsed=1e9)),
        (Limits(max_cost=1.0), replace(OPEN, spend=Spend(0.99, unknown=5)), Probe()),
        (Limits(max_cost=None), replace(OPEN, spend=Spend(1e6)), Probe()),
        (Limits(consecutive_failures=2), replace(OPEN, failed_turns=1), Probe()),
        (Limits(repeated_error=3), replace(OPEN, repeats=2), Probe()),
        (Limits(repeated_error=0), replace(OPEN, repeats=99), Probe()),
        (Limits(stall=4), replace(OPEN, stalled=3), Probe()),
        (Limits(stall=0), replace(OPEN, stalled=99), Probe()),
        (Limits(iterations=5), replace(OPEN, used=4), Probe()),
        (Limits(iterations=5), replace(OPEN, used=4, iteration=104, finished=104), Probe()),
    ],
)
def test_a_guard_lets_the_run_go_on_below_its_limit(limits: Limits, state: State, probe: Probe) -> None:
    assert ended(state, limits, probe) == "on"


@pytest.mark.parametrize(("signal", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 143)])
def test_a_signal_is_an_interruption_with_its_exit_code(signal: str, code: int) -> None:
    outcome = decide(demand(), NO_LIMITS, OPEN, Probe(interrupt=signal))  # type: ignore[arg-type]
    assert isinstance(outcome, Interrupted) and get_exit_code(outcome) == code


def test_an_agent_that_says_it_cannot_work_ends_the_run() -> None:
    state = replace(OPEN, turn=turn("unavailable", detail="usage limit"))
    assert decide(demand(), NO_LIMITS, state, Probe(given_up=True)) == Unavailable("mine", "usage limit")
    assert decide(demand(), NO_LIMITS, state, Probe()) is None, "somebody will come back"


def test_a_turn_of_an_earlier_iteration_does_not_end_the_run() -> None:
    assert ended(replace(OPEN, turn=turn("unavailable"), iteration=2)) == "on"


def test_on_a_lower_rung_a_repeated_error_does_not_stop_the_run() -> None:
    repeated = replace(OPEN, repeats=3, climbs=0, rungs=2)
    assert ended(repeated, Limits(repeated_error=3)) == "on"
    assert ended(replace(repeated, climbs=1), Limits(repeated_error=3)) == "repeated-error"


def test_a_first_look_without_anything_found_goes_on() -> None:
    assert ended(State()) == "on"


# Who waits for a person


def test_only_unclear_criteria_after_a_turn_wait_for_a_person() -> None:
    outcome = decide(demand(), NO_LIMITS, replace(UNCLEAR, told=("criterion 1",)), Probe())
    assert outcome == NeedsHuman((1,), "criterion 1 waits for a person: looks odd")


def test_a_judge_s_doubt_goes_back_to_the_agent_once() -> None:
    assert ended(UNCLEAR) == "on"
    assert ended(replace(UNCLEAR, told=("criterion 2",))) == "on"
    by_hand = look((finding(),), (verdict("unclear", method="human"),))
    assert ended(replace(OPEN, last=by_hand)) == "NeedsHuman"


def test_a_doubt_that_is_left_when_the_iterations_are_used_up_is_a_person_s() -> None:
    assert ended(UNCLEAR, Limits(iterations=1)) == "NeedsHuman"


REVIEW = Concern("special-cases", "review", "it answers what the tests ask", ("calc.py",), "k1")
REVIEWED = replace(
    OPEN,
    last=replace(
        look((finding(), finding("fail", "integrity", "integrity")), (verdict(),)),
        concerns=(REVIEW, Concern("lockfile", "note", "uv.lock", (), "k2")),
    ),
)


def test_an_open_review_keeps_a_feature_from_being_met_and_is_told_once() -> None:
    assert ended(REVIEWED) == "on"
    assert ended(REVIEWED, wanted=demand(known=("integrity",))) == "on"
    assert ended(replace(REVIEWED, told=("special-cases k1",))) == "NeedsHuman"
    assert ended(REVIEWED, Limits(iterations=1)) == "NeedsHuman"
    assert ended(REVIEWED, Limits(iterations=1, single=True)) == "iterations"


def test_a_review_of_another_change_has_not_been_heard_of() -> None:
    assert ended(replace(REVIEWED, told=("special-cases k0",))) == "on"


def test_a_red_check_beside_a_review_goes_back_to_the_agent() -> None:
    assert REVIEWED.last is not None
    last = replace(REVIEWED.last, findings=(*REVIEWED.last.findings, finding("fail")))
    assert ended(replace(REVIEWED, last=last, told=("special-cases k1",))) == "on"


def test_a_failing_proof_is_the_agents_and_an_impossible_one_a_persons() -> None:
    def proof(status: CheckStatus) -> State:
        return replace(OPEN, last=look((finding(), finding(status, "proof", "proof")), (verdict(),)))

    assert ended(proof("fail")) == "on"
    assert ended(proof("error")) == "NeedsHuman"
    assert ended(proof("error"), wanted=demand(known=("proof",))) == "NeedsHuman"
    assert ended(proof("pass")) == "Met"


def test_a_proof_that_was_not_isolated_or_in_place_is_met_and_says_so() -> None:
    weak = replace(finding(check="proof", role="proof"), problems=(Problem("not isolated", severity="warning"),))
    state = replace(OPEN, last=look((finding(), weak), (verdict(),)))
    assert decide(demand(), NO_LIMITS, state, Probe()) == Met(("not isolated",))
    assert decide(replace(demand(), in_place=True), NO_LIMITS, PROVEN, Probe()) == Met((IN_PLACE,))


def test_a_pass_of_aigon_s_own_is_no_check_of_the_project_s() -> None:
    own = (finding(check="proof", role="proof"), finding(check="integrity", role="integrity"))
    judged = look(own, (verdict(method="judge"),))
    assert ended(replace(OPEN, last=judged)) == "on"


def test_before_any_turn_nobody_is_asked() -> None:
    assert ended(replace(UNCLEAR, finished=0)) == "on"


def test_an_unmet_criterion_beside_the_unclear_one_goes_back_to_the_agent() -> None:
    mixed = look((finding(),), (verdict("unclear"), verdict("unmet", 2)))
    assert ended(replace(OPEN, last=mixed), wanted=demand(2)) == "on"


@pytest.mark.parametrize("status", ["fail", "error", "skipped"])
def test_a_red_check_goes_back_to_the_agent_before_a_person_is_asked(status: CheckStatus) -> None:
    red = look((finding(status),), (verdict("unclear"),))
    assert ended(replace(OPEN, last=red)) == "on"
    assert ended(replace(OPEN, last=red), wanted=demand(known=("tests",))) == "NeedsHuman"


def test_a_single_iteration_that_is_not_met_is_exit_3_even_for_unclear_criteria() -> None:
    assert ended(UNCLEAR, Limits(iterations=1, single=True)) == "iterations"


@pytest.mark.parametrize("findings", [(), (finding(check="git", role="git"),), (finding("fail"),)])
def test_where_no_check_passed_a_judges_word_waits_for_a_person(findings: tuple[Finding, ...]) -> None:
    said = (verdict(), verdict(number=2, method="judge", reason="it is short"), verdict("unmet", 3, "judge"))
    plain, judged, unmet = require_support(findings, said)
    assert (plain, unmet) == (said[0], said[2])
    assert (judged.status, judged.method) == ("unclear", "human")
    assert "no check passed" in judged.reason and "it is short" in judged.reason
    last = look(findings, (plain, judged))
    outcome = decide(demand(2, known=("tests",), skip=True), NO_LIMITS, replace(OPEN, last=last), Probe())
    assert isinstance(outcome, NeedsHuman) and outcome.criteria == (2,)
    assert "no check passed" in outcome.reason


def test_beside_a_check_that_passed_a_judges_word_counts() -> None:
    said = (verdict(method="judge"), verdict(number=2, method="approval"))
    assert require_support((finding(), finding("fail", "lint", "lint")), said) == said


def _claiming(said: str, number: int = 1) -> State:
    state = State(iteration=1, finished=1, used=1, turn=replace(turn("finished", number), said=said))
    return replace(state, last=look((finding("fail"),), (verdict("unmet"),)))


def test_an_agent_that_says_it_is_impossible_leaves_it_to_a_person() -> None:
    outcome = decide(demand(), NO_LIMITS, _claiming("I tried.\n<impossible>1 contradicts\n2</impossible>"), Probe())
    assert outcome == NeedsHuman((1,), "the agent says it is impossible: 1 contradicts 2")


def test_giving_up_is_for_the_turn_that_said_so_and_never_for_a_single_iteration() -> None:
    said = "<impossible>no way</impossible>"
    assert decide(demand(), NO_LIMITS, _claiming("impossible"), Probe()) is None
    assert decide(demand(), NO_LIMITS, _claiming(said, number=7), Probe()) is None
    assert decide(demand(), replace(NO_LIMITS, single=True), _claiming(said), Probe()) is None


def test_what_is_proven_is_met_whatever_the_agent_says() -> None:
    state = replace(_claiming("<impossible>no</impossible>"), last=look((finding(),), (verdict(),)))
    assert decide(demand(), NO_LIMITS, state, Probe()) == Met()


def test_a_judge_that_cannot_be_asked_ends_the_run_when_nothing_else_is_open() -> None:
    lost = look((finding(),), (verdict("unclear", method=JUDGE_UNAVAILABLE, reason="401 invalid key"),))
    outcome = decide(demand(), NO_LIMITS, replace(OPEN, last=lost, finished=0), Probe())
    assert outcome == Unavailable("the judge", "401 invalid key")


def test_a_judge_that_cannot_be_asked_does_not_keep_the_agent_from_other_criteria() -> None:
    lost = look((finding(),), (verdict("unclear", method=JUDGE_UNAVAILABLE), verdict("unmet", 2)))
    assert ended(replace(OPEN, last=lost), wanted=demand(2)) == "on"


# The precedence of exits: 0, 130/143, 7, 6, 5, 4, 3


def _precedence() -> list[tuple[Exit, State, Limits, Probe]]:
    """From the lowest to the highest: each row adds a reason to end to those before it."""
    state, limits, probe = replace(UNCLEAR, used=5), Limits(iterations=5), Probe()
    single = (Exit.STOPPED, state, replace(limits, single=True), probe)
    human = (Exit.NEEDS_HUMAN, state, limits, probe)
    limits = replace(limits, run_time=1.0, max_cost=1.0)
    probe, state = replace(probe, elapsed=2.0), replace(state, spend=Spend(2.0))
    spent = (Exit.SPENT, state, limits, probe)
    state, probe = replace(state, turn=turn("unavailable")), replace(probe, given_up=True)
    unavailable = (Exit.UNAVAILABLE, state, limits, probe)
    limits, probe = replace(limits, memory_free=10), replace(probe, volumes=(disk(1),), memory_free=1)
    environment = (Exit.ENVIRONMENT, state, limits, probe)
    probe = replace(probe, interrupt="SIGTERM")
    terminated = (Exit.TERMINATED, state, limits, probe)
    proven = (Exit.MET, replace(state, last=PROVEN.last), limits, replace(probe, interrupt="SIGINT"))
    return [single, human, spent, unavailable, environment, terminated, proven]


@pytest.mark.parametrize(("code", "state", "limits", "probe"), _precedence())
def test_of_several_reasons_to_end_the_documented_one_wins(
    code: Exit, state: State, limits: Limits, probe: Probe
) -> None:
    outcome: Outcome | None = decide(demand(), limits, state, probe)
    assert outcome is not None and get_exit_code(outcome) == code


def test_a_last_iteration_that_proves_everything_is_met_and_not_a_limit() -> None:
    assert ended(replace(PROVEN, used=5), Limits(iterations=5)) == "Met"


ARENA = Limits(iterations=20, repeated_error=0, stall=0, max_cost=5.0)


@pytest.mark.parametrize(
    ("spent", "probe", "said"),
    [
        (1.0, Probe(elsewhere=3.0, reckoned=1.0), ""),
        (1.0, Probe(elsewhere=3.0, reckoned=1.01), "$4.00 of $5.00 is spent by all agents of the arena together, and "),
        (1.2, Probe(elsewhere=3.8), "$5.00 of $5.00 is spent by all agents of the arena together"),
        (
            1.2,
            Probe(elsewhere=3.5, set_aside=0.5, reckoned=1.0),
            "$4.20 of $5.00 is spent by all agents of the arena together ($0.50 more are set aside for turns ",
        ),
        (4.5, Probe(reckoned=1.0), "$4.50 of $5.00 is spent, and the next turn is estimated at $1.00"),
        (0.0, Probe(elsewhere=10 / 3, set_aside=10 / 3, reckoned=5 / 3), ""),
    ],
)
def test_what_all_agents_of_an_arena_spend_counts_against_the_limit(spent: float, probe: Probe, said: str) -> None:
    outcome = decide(demand(), ARENA, replace(OPEN, spend=Spend(spent)), probe)
    if not said:
        assert outcome is None
    else:
        assert isinstance(outcome, Stopped) and (outcome.guard, outcome.code) == ("cost", Exit.SPENT)
        assert outcome.reason.startswith(said)


def test_the_usual_cost_of_ones_own_turns_comes_before_what_others_turns_cost() -> None:
    ladder = (AgentStep(Agent("mine", "command")),)
    state = replace(OPEN, spend=Spend(1.0), paid=(Paid("mine", "", 0.5),))
    assert decide(demand(), replace(ARENA, ladder=ladder), state, Probe(elsewhere=3.5, reckoned=2.0)) is None
    dear = decide(demand(), replace(ARENA, ladder=ladder), state, Probe(elsewhere=3.6, reckoned=0.1))
    assert isinstance(dear, Stopped) and dear.reason.endswith("and such a turn costs about $0.50")


def test_what_others_spend_does_not_undo_a_proof() -> None:
    assert isinstance(decide(demand(), ARENA, PROVEN, Probe(elsewhere=50.0)), Met)


# What the agent may not change


def put_back(*paths: PutBack, times: int = 1, stalled: int = 0) -> State:
    last = replace(look((finding(),), (verdict("unmet"),)), put_back=paths)
    return replace(OPEN, last=last, put_back={each.path: times for each in paths}, stalled=stalled)


def test_what_is_put_back_although_the_spec_asks_for_it_is_a_question_at_once() -> None:
    asked = put_back(PutBack("package.json", asked=True), PutBack(".aigon/config.json"))
    for limits in (NO_LIMITS, replace(NO_LIMITS, iterations=1, single=True)):
        outcome = decide(demand(), limits, asked, Probe())
        assert isinstance(outcome, NeedsHuman) and outcome.allow == ("package.json",) and outcome.criteria == (1,)
        assert "package.json" in outcome.reason and get_exit_code(outcome) == Exit.NEEDS_HUMAN
    built = replace(look((finding(),), (verdict(),)), put_back=(PutBack("package.json", asked=True),))
    assert ended(replace(asked, last=built)) == "Met"  # the change was not needed after all


def test_one_that_is_put_back_again_is_a_question_where_nothing_else_helps() -> None:
    once, twice = put_back(PutBack("package.json")), put_back(PutBack("package.json"), times=2)
    assert ended(once) == ended(twice) == "on"
    assert ended(replace(twice, stalled=1)) == "NeedsHuman"
    last_turn = replace(NO_LIMITS, iterations=1)
    assert (ended(once, last_turn), ended(twice, last_turn)) == ("iterations", "NeedsHuman")


def test_a_review_that_no_agent_can_mend_is_a_question_at_once() -> None:
    mendable = Concern("base-tests", "review", "tests changed", ("tests/test_a.py",), "1")
    found = finding("fail", "integrity", "integrity")
    state = replace(OPEN, last=replace(look((finding(), found), (verdict(),)), concerns=(mendable,)))
    assert ended(state) == "on"
    asked = replace(mendable, mendable=False)
    assert state.last and ended(replace(state, last=replace(state.last, concerns=(asked,)))) == "NeedsHuman"
