"""Functions that the importers of JSON and TOON share."""

import json
from collections import Counter
from collections.abc import Container, Mapping


def read_json(text: str) -> object:
    """Return the document. Raises ValueError with what is wrong and where."""
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error.msg} in line {error.lineno}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_text(item: Mapping[str, object], *keys: str) -> str:
    """Return the first of these values that is a text or a number, and not empty."""
    values = (item.get(key) for key in keys)
    found = (str(value).strip() for value in values if isinstance(value, str | int | float) and value is not True)
    return next(filter(None, found), "")


def count_unused_keys(item: Mapping[str, object], carried: Container[str]) -> Counter[str]:
    """Count the keys with a value that are not in `carried`."""
    return Counter(str(key) for key, value in item.items() if value and key not in carried)
