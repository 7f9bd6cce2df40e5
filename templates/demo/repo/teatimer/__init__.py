"""How long to steep a tea."""

from teatimer.teas import steep

__all__ = ["steep"]
