"""Every reader of what others wrote, given anything: see `targets`; `python -m tests.fuzz` is the long run."""
