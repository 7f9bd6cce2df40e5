"""Guards of the machine: disk and memory for another turn."""

from aigon.errors import Exit
from aigon.job.options import Limits
from aigon.journal.state import State
from aigon.model.outcomes import Outcome, Stopped
from aigon.model.resources import Probe, describe_disk_shortage, describe_file_size_shortage, describe_memory_shortage


def disk(limits: Limits, state: State, probe: Probe) -> Outcome | None:
    """Not enough room on disk for another turn, or none that can be written to."""
    said = describe_disk_shortage(probe.volumes, limits.disk_free, state.greed if limits.by_history else {})
    said = said or describe_file_size_shortage(probe.longest_file)
    return Stopped("disk", said, Exit.ENVIRONMENT) if said else None


def memory(limits: Limits, state: State, probe: Probe) -> Outcome | None:
    """Not enough memory for another turn."""
    greed = state.greed if limits.by_history else {}
    said = describe_memory_shortage(probe.memory_free, probe.memory_limit, limits.memory_free, greed)
    return Stopped("memory", said, Exit.ENVIRONMENT) if said else None


GUARDS = {20: disk, 30: memory}
