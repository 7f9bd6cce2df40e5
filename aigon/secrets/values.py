"""Values such as events and findings without the secrets that a text in them may hold."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

T = TypeVar("T")
Redact = Callable[[bytes], bytes]
AIGONS_OWN = frozenset(
    {
        "at", "event", "run_id", "feature_id", "slug", "label", "agent", "mode", "branch", "base_commit", "head",
        "host", "spec_path", "spec_sha", "human_ticks", "checkpoint", "checkpoints", "commit", "old", "ref", "tree",
        "content", "status", "fingerprint", "fingerprints", "check", "role", "rule", "level", "key", "method", "log",
        "started_at", "end", "choices",
    }
)  # fmt: skip
"""Fields of names, hashes and words that aigon itself chose and reads back: taking anything out would break a resume.
None of them holds what an agent, a check or a judge said."""


def cleaned(value: T, redact: Redact) -> T:
    """`value` (a dataclass, of dataclasses, texts, numbers) with all texts redacted; mostly that is itself."""
    together = "\n".join(_texts(value)).encode("utf-8", "replace")
    return value if redact(together) == together else _cleaned(value, redact)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield str(name)
            yield from _texts(item)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _texts(item)
    elif is_dataclass(value):
        for field in fields(value):
            if field.name not in AIGONS_OWN:
                yield from _texts(getattr(value, field.name))


def _cleaned(value: Any, redact: Redact) -> Any:
    if isinstance(value, str):
        return redact(value.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")
    if isinstance(value, Mapping):
        return {_cleaned(name, redact): _cleaned(item, redact) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(_cleaned(item, redact) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        names = (field.name for field in fields(value) if field.name not in AIGONS_OWN)
        old = {name: getattr(value, name) for name in names}
        return replace(value, **{name: new for name in old if (new := _cleaned(old[name], redact)) != old[name]})
    return value
