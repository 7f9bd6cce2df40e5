"""A configuration as single values, each under the keys that lead to it; and which of them somebody set."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

Keys = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value under its keys. `free`: the last key is a name of the person's choice, of a variable for one."""

    keys: Keys
    value: object
    free: bool = False


def leaves(section: BaseModel, at: Keys = ()) -> Iterator[Leaf]:
    """Every value in the order of the model. Lists and what is empty are values themselves."""
    for name, field in type(section).model_fields.items():
        yield from _below(getattr(section, name), (*at, field.alias or name), free=False)


def _below(value: object, at: Keys, *, free: bool) -> Iterator[Leaf]:
    if isinstance(value, BaseModel):
        yield from leaves(value, at)
    elif isinstance(value, Mapping) and value:
        for key, each in value.items():
            yield from _below(each, (*at, str(key)), free=True)
    else:
        yield Leaf(at, plain(value), free)


def plain(value: object) -> object:
    """A value as JSON has it; of the objects in a list what they say."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def is_set(section: object, keys: Keys) -> bool:
    """Whether a configuration says something about the value under `keys`, whatever it says."""
    here: Any = section
    for key in keys:
        if isinstance(here, BaseModel):
            names = {field.alias or name: name for name, field in type(here).model_fields.items()}
            if names.get(key) not in here.model_fields_set:
                return False
            here = getattr(here, names[key])
        elif isinstance(here, Mapping) and key in here:
            here = here[key]
        else:
            return False
    return True


def dotted(keys: Keys) -> str:
    """`ralph.maxIterations`; a key that has something else than letters, digits, `_`, `-` or `$` in it is quoted."""
    return ".".join(key if key.replace("_", "").replace("-", "").lstrip("$").isalnum() else f'"{key}"' for key in keys)
