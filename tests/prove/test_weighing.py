"""What is said of tests by what their runs came to."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

from aigon.job.results import Result
from aigon.model.checks import Check, CheckStatus, Finding
from aigon.model.criteria import Criterion
from aigon.proof.bench import ProofBench
from aigon.prove.weighing import _Scale

ASKED = [Criterion(number, number, f"text {number}", False, "verify", f"./{number}.sh", 0) for number in (1, 2)]


class Bench:
    """Answers each run with the statuses that a test gave."""

    def __init__(self, *runs: Sequence[CheckStatus]) -> None:
        self.left = list(runs)
        self.job = SimpleNamespace(base_commit="base")
        self.world = SimpleNamespace(find=lambda _kind: True)
        self.names: list[str] = []

    def run(self, _tree: str, checks: Sequence[Check], name: str, **_more: Any) -> Mapping[str, Result]:
        self.names.append(name)
        statuses = self.left.pop(0)
        return {
            check.name: Result(
                Finding(check.name, "script", "t", status, "exit 1: no", exit_code=int(status != "pass"))
            )
            for check, status in zip(checks, statuses, strict=True)
        }


def weigh(bench: Bench) -> dict[int, str]:
    scale = _Scale(cast(ProofBench, bench), "tree", ASKED, frozenset())
    return {number: test.fault for number, test in scale.weigh(None, is_final=False).items()}


def test_what_comes_out_differently_is_worth_nothing() -> None:
    bench = Bench(("fail", "fail"), ("fail", "pass"), ("fail", "fail"))
    assert weigh(bench) == {1: "", 2: "it comes out differently each time: assertion, then green"}


def test_what_is_green_at_once_is_not_run_again() -> None:
    bench = Bench(("pass", "fail"), ("fail",), ("fail",))
    assert weigh(bench) == {1: "it passes before anything is built, so it shows nothing", 2: ""}
    assert bench.names == ["red-1", "red-2", "red-3"]
