"""How much of everything a page shows, so that it stays a page."""

from dataclasses import dataclass

LARGEST = 480_000
"""Bytes of a page."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Characters of texts, and how many things of a kind. `full` are iterations shown with what they were about."""

    text: int = 600
    excerpt: int = 2_000
    log: int = 40_000
    said: int = 800
    full: int = 12
    columns: int = 60
    criteria: int = 300
    files: int = 120
    problems: int = 6


STAGES = (
    Bounds(),
    Bounds(text=400, excerpt=800, log=15_000, said=400, full=6, columns=40, criteria=150, files=60, problems=3),
    Bounds(text=200, excerpt=200, log=4_000, said=150, full=2, columns=20, criteria=60, files=20, problems=1),
    Bounds(text=100, excerpt=0, log=0, said=0, full=0, columns=8, criteria=30, files=5, problems=0),
)
"""From what a page usually shows to what always fits."""
