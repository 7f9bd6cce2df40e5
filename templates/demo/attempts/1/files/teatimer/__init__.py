"""How long to steep a tea."""

from teatimer.durations import parse, show
from teatimer.teas import steep

__all__ = ["parse", "show", "steep"]
