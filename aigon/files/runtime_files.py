"""aigon's runtime files: what a run leaves in the work tree that nobody commits."""

STOP_FILES = (".aigon/STOP", "EMERGENCY_STOP_RALPH")
"""In the main checkout they stop every loop of the repository."""

# Without an end: a temporary file that a kill left beside a state file has the same beginning.
IGNORED_LINES = (".aigon/loop-state-*", ".aigon/runs/", ".aigon/reports/", *STOP_FILES)
"""The lines of a .gitignore that keep them out: `aigon init` writes them, and every snapshot is taken with them."""


def is_runtime(path: str) -> bool:
    """Whether a path of the work tree is such a file."""
    return path.startswith((".aigon/runs/", ".aigon/reports/", ".aigon/loop-state-")) or path in STOP_FILES
