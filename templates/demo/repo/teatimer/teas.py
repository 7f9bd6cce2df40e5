"""The teas on the shelf and how long each one steeps."""

SECONDS = {
    "green": 120,
    "oolong": 210,
    "black": 240,
    "cold brew": 28800,
}


def steep(tea: str) -> int:
    """The seconds `tea` steeps. Raises `LookupError` for one that is not there."""
    try:
        return SECONDS[tea]
    except KeyError:
        raise LookupError(f"no such tea: {tea}") from None
