"""A full disk, a read-only one, and files that may not grow: at every phase of a run."""
