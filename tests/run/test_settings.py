"""Settings of a spec beside the other sources of an option: flag, variable, resumed run, mode, kind, configuration."""

from datetime import datetime
from typing import Any

import pytest

from aigon.config.loading import parse_configuration
from aigon.errors import AigonError
from aigon.job.options import Limits, Options, get_limit
from aigon.model.criteria import Spec
from aigon.run.choices import TaskKind, apply_settings, find_kind, limit_by_kind
from aigon.spec.document import parse_spec

CONFIG = parse_configuration([("c", b'{"ralph": {"maxIterations": 7}, "kinds": {"build": {"iterations": 12}}}')])
NOW = datetime.fromisoformat("2026-11-20T12:00:00+00:00")


def spec(frontmatter: str) -> Spec:
    return parse_spec(f"---\n{frontmatter}\n---\n# X\n\n## Acceptance Criteria\n\n- [ ] a\n".encode())


def settled(frontmatter: str, **given: Any) -> Options:
    parsed = spec(frontmatter)
    return apply_settings(Options("1", **given), parsed.settings, find_kind(CONFIG, parsed, "s.md"))


@pytest.mark.parametrize(
    ("frontmatter", "given", "limit"),
    [
        ("max_iterations: 3\nmode: ralph\nkind: build", {"max_iterations": 9}, 9),
        ("max_iterations: 3\nmode: ralph\nkind: build", {}, 3),
        ("mode: ralph\nkind: build", {}, 15),
        ("kind: build", {}, 12),
        ("priority: high", {}, 7),
    ],
)
def test_the_nearest_source_sets_the_limit(frontmatter: str, given: dict[str, Any], limit: int) -> None:
    assert get_limit(CONFIG, settled(frontmatter, **given), "max_iterations") == limit


def test_a_mode_loops_and_a_kind_limits_the_time() -> None:
    ralph, research = settled("mode: ralph"), settled("kind: research")
    assert (ralph.loop, ralph.max_time, ralph.is_flag("max_iterations")) == (True, 7200.0, False)
    assert (research.loop, research.max_time, research.max_iterations) == (False, 14400.0, 5)
    assert settled("promise: [A, B]").promises == ("A", "B")
    assert settled("promise: A", promises=("C",)).promises == ("C",)


def test_an_unknown_kind_is_named_with_its_line() -> None:
    with pytest.raises(AigonError) as caught:
        settled("mode: ralph\nkind: reserch")
    assert (caught.value.code, caught.value.where) == (2, "s.md: line 3")
    assert "Did you mean 'research'?" in caught.value.hint and "build" in caught.value.hint


def limited(frontmatter: str, used: int, *times: str, **given: Any) -> Limits:
    parsed = spec(frontmatter)
    kind: TaskKind | None = find_kind(CONFIG, parsed, "s.md")
    options = apply_settings(Options("1", loop=True, **given), parsed.settings, kind)
    iterations = get_limit(CONFIG, options, "max_iterations")
    return limit_by_kind(Limits(iterations=iterations), options, kind, used, times, NOW)


def test_a_task_counts_the_iterations_of_all_its_runs() -> None:
    assert limited("kind: build", 4).iterations == 8
    spent = limited("kind: build", 20)
    assert (spent.iterations, spent.all_used) == (
        0,
        "12 of 12 iterations of this build task are used; --max-iterations N goes on",
    )
    assert limited("kind: build", 20, max_iterations=3).iterations == 3
    assert limited("kind: build\nmax_iterations: 4", 20).iterations == 4


def test_research_counts_the_iterations_of_the_last_four_hours() -> None:
    hours = ("2026-11-20T07:00:00+00:00", "2026-11-20T09:00:00+00:00", "2026-11-20T13:00:00+00:00")
    found = limited("kind: research", 9, *hours)  # the clock was set back: the last one counts as well
    assert found.iterations == 3
    assert found.all_used == "5 of 5 iterations of this research task in 4h are used; --max-iterations N goes on"
