"""aigon's runtime files: what a run leaves in the work tree that nobody commits."""

STOP_FILES = (".aigon/STOP", "EMERGENCY_STOP_RALPH")
"""In the main checkout they stop every loop of the repository."""

_SAMPLES = {
    # Without an end: a temporary file that a kill left beside a state file has the same beginning.
    ".aigon/loop-state-*": ".aigon/loop-state-0.json",
    ".aigon/runs/": ".aigon/runs/x",
    **{name: name for name in STOP_FILES},
}

IGNORED_LINES = tuple(_SAMPLES)
"""The lines of a .gitignore that keep them out: `aigon init` writes them, and every snapshot is taken with them."""

SAMPLES = tuple(_SAMPLES.values())
"""A path that each of the lines is to cover, in their order."""


def is_runtime(path: str) -> bool:
    """Whether a path of the work tree is such a file."""
    return path.startswith((".aigon/runs/", ".aigon/loop-state-")) or path in STOP_FILES
