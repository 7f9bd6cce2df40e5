"""What an arena is about to do, from flags, configuration and what the machine has left."""

from collections.abc import Sequence
from pathlib import Path

from aigon.arena.outcome import Plan, places
from aigon.config.loading import load_configuration, open_work_tree
from aigon.job.options import Options, max_cost, max_time
from aigon.model.candidates import Candidate
from aigon.process.capacity import count_slots, measure_free_memory


def planned(root: Path, options: Options, candidates: Sequence[Candidate], parallel: int | None) -> Plan:
    """The plan for these candidates of one feature. Raises AigonError (exit 2) for a malformed configuration."""
    config, first, count = load_configuration(open_work_tree(root)), candidates[0], len(candidates)
    at_a_time = places(
        count, wanted=parallel, configured=config.arena.parallel, cores=count_slots(), memory=measure_free_memory()
    )
    cost, time = max_cost(config, options), max_time(config, options)
    return Plan(first.feature, first.slug, count, at_a_time, cost, time)
