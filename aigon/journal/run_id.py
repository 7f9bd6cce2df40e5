"""Names of runs."""

import secrets
from datetime import datetime


def new_run_id() -> str:
    """A name that sorts by time and is nobody else's: `20261120-101523-a1b2c3`."""
    return f"{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
