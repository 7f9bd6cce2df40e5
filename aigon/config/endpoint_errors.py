"""What is wrong with a value of the configuration."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic_core import PydanticCustomError


def wrong(what: str) -> "PydanticCustomError":
    """An error to raise in a validator: `what` is said as it stands, without pydantic's own words before it."""
    from pydantic_core import PydanticCustomError

    return PydanticCustomError("endpoints", "{what}", {"what": what})
