"""Strict reading of YAML documents.

Every key is known, every value has its type, and every error names its place.
"""

import marshal
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from msgspec import Struct
from msgspec.structs import FieldInfo, fields

from aigon.errors import AigonError, usage
from aigon.text import amounts
from aigon.text.amounts import MIB, size_error
from aigon.text.untrusted import AbsurdDocument, load_yaml

T = TypeVar("T")
Word = TypeVar("Word", bound=str)
LONGEST_TIME = 24 * 3600.0
"""Seconds that a time limit may be at most."""


def suggest(word: str, known: Iterable[str], unlisted: Iterable[str] = ()) -> str:
    """Return a hint: `Did you mean 'x'?` if a known or an unlisted word is close, then all known words."""
    from difflib import get_close_matches

    words = sorted(known)
    close = get_close_matches(word, [*words, *unlisted], n=1)
    return (f"Did you mean {close[0]!r}? " if close else "") + f"Known: {', '.join(words) or 'none'}"


class DocumentNode(Struct, frozen=True):
    """A value in a document: `file` as people know it, `path` the keys that lead to it, joined with dots.

    `is_shipped` says that it comes with aigon, whose tests have compiled its patterns.
    Every method raises AigonError (usage) if the value is not what the method's name says.
    """

    value: object
    file: str
    path: str = ""
    is_shipped: bool = False

    def wrong(self, what: str, hint: str = "") -> AigonError:
        """Return an error about this value: `what` continues the sentence that begins with its key."""
        return usage(f"{self.path or 'The document'} {what}", where=self.file, hint=hint)

    def pairs(self) -> dict[str, "DocumentNode"]:
        """A mapping with any keys."""
        if not isinstance(self.value, dict):
            raise self.wrong(f"must be a mapping, not {self.value!r:.60}")
        return {str(key): self._child(str(key), value) for key, value in self.value.items()}

    def fields(self, known: Iterable[str], required: Iterable[str] = ()) -> dict[str, "DocumentNode"]:
        """A mapping with only `known` keys, all of the `required` ones among them."""
        pairs, known = self.pairs(), tuple(known)
        for key in pairs:
            if key not in known:
                raise usage(f"Unknown key {pairs[key].path!r}", where=self.file, hint=suggest(key, known))
        for key in required:
            if key not in pairs:
                raise self.wrong(f"needs the key {key!r}")
        return pairs

    def read(
        self, readers: Mapping[str, Callable[["DocumentNode"], Any]], required: Iterable[str] = ()
    ) -> dict[str, Any]:
        """Return what each of the `readers` makes of the value under its key; a key that is not there is left out."""
        return {key: readers[key](child) for key, child in self.fields(readers, required).items()}

    def items(self) -> tuple["DocumentNode", ...]:
        """A list."""
        if not isinstance(self.value, list):
            raise self.wrong(f"must be a list, not {self.value!r:.60}")
        return tuple(self._child(str(number), value) for number, value in enumerate(self.value))

    def text(self) -> str:
        """A text, on one line or more; it may be empty."""
        if not isinstance(self.value, str):
            raise self.wrong(f"must be a text, not {self.value!r:.60}", "Put it in quotes")
        return self.value

    def texts(self) -> tuple[str, ...]:
        """A list of texts; one text alone is read as a list of one."""
        return (self.value,) if isinstance(self.value, str) else tuple(item.text() for item in self.items())

    def inside(self) -> str:
        """A path inside the project: relative, without `..`."""
        path = self.text()
        if not path or path.startswith(("/", "~")) or ".." in path.split("/"):
            raise self.wrong(f"must be a path inside the project, not {path!r}")
        return path

    def pattern(self) -> str:
        """A regular expression."""
        try:
            if not self.is_shipped:
                re.compile(self.text())
        except re.error as error:
            raise self.wrong(f"is not a regular expression: {error}") from None
        return self.text()

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            raise self.wrong(f"must be true or false, not {self.value!r:.60}")
        return self.value

    def whole(self) -> int:
        """A whole number, 0 or more."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or self.value < 0:
            raise self.wrong(f"must be a whole number, not {self.value!r:.60}")
        return self.value

    def seconds(self) -> float:
        """A time above 0 and up to 24 hours: a number of seconds, or a text such as `90s`, `20m`, `1h30m`."""
        wrong = self.wrong(f"must be a time, not {self.value!r:.60}", "Seconds (600), or a text: 90s, 20m, 1h30m")
        if isinstance(self.value, bool) or not isinstance(self.value, int | float | str):
            raise wrong
        try:
            seconds = amounts.parse_duration(self.value)
        except ValueError:
            raise wrong from None
        if seconds > LONGEST_TIME:
            raise wrong
        return seconds

    def choice(self, known: Sequence[Word]) -> Word:
        """One of the `known` words."""
        for word in known:
            if word == self.value:
                return word
        raise self.wrong(f"cannot be {self.value!r:.60}", suggest(str(self.value), known))

    def build(self, kind: type[T], **given: object) -> T:
        """A mapping as a struct: its fields are the keys, its types say what each may be, `given` are no keys."""
        shape: Any = kind  # of a struct, which no type variable can be bound to
        known = {each.encode_name: each for each in _list_fields(shape) if each.name not in given}
        nodes = self.fields(known, [key for key, each in known.items() if each.required])
        return kind(**given, **{known[key].name: node._convert(known[key].type) for key, node in nodes.items()})

    def _convert(self, wanted: Any) -> Any:
        """The value as a field of this type, or as what an annotation of the type makes of it."""
        origin, arguments = get_origin(wanted), get_args(wanted)
        if origin is Annotated:
            return wanted.__metadata__[0](self)
        if wanted in _PLAIN_TYPES:
            return _PLAIN_TYPES[wanted](self)
        if origin is Literal:
            return self.choice(arguments)
        if origin is UnionType:  # of a type and None
            return self._convert(arguments[0])
        if origin is tuple:
            return tuple(item._convert(arguments[0]) for item in self.items())
        if origin is Mapping:
            return {key: value._convert(arguments[1]) for key, value in self.pairs().items()}
        return self.build(wanted)

    def _child(self, key: str, value: object) -> "DocumentNode":
        return DocumentNode(value, self.file, f"{self.path}.{key}" if self.path else key, self.is_shipped)


_PLAIN_TYPES: Mapping[Any, Callable[[DocumentNode], object]] = {
    str: DocumentNode.text,
    int: DocumentNode.whole,
    bool: DocumentNode.flag,
    tuple[str, ...]: DocumentNode.texts,
}


@cache
def _list_fields(kind: Any) -> tuple[FieldInfo, ...]:
    return fields(kind)


FIX = "Fix that line or the one above it: check brackets, quotes and indentation"
LARGEST_DOCUMENT = MIB
"""Bytes of a document: the largest that ships has 40 kB, and it is read by every command."""


_shipped: dict[bytes, bytes] = {}
"""Values of documents that ship with aigon, in Python's own format, by their content: a command needs few of them."""


def remember_shipped(values: Mapping[bytes, bytes]) -> None:
    """Let `parse_yaml` return these values for documents with exactly this content."""
    _shipped.update(values)


def is_remembered(document: bytes) -> bool:
    return document in _shipped


def parse_yaml(document: bytes, file: str) -> DocumentNode:
    """Return the document. Raises AigonError (usage) with file and line if it is not valid YAML."""
    if document in _shipped:
        return DocumentNode(marshal.loads(_shipped[document]), file, is_shipped=True)
    import yaml

    if len(document) > LARGEST_DOCUMENT:
        raise size_error(
            "The document", len(document), LARGEST_DOCUMENT, where=file, hint="Keep in it what aigon reads"
        )
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        found = load_yaml(document, loader, lambda root: _no_key_twice(root, file, set()))
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise usage(f"Not valid YAML: {error.problem or error}", where=file + line, hint=FIX) from None
    except AbsurdDocument as error:
        where = f"{file}:{error.line}" if error.line else file
        raise usage(f"Not valid YAML: {error}", where=where, hint="Write it plainly, with fewer levels") from None
    except yaml.YAMLError as error:
        raise usage(f"Not valid YAML: {error}".splitlines()[0], where=file, hint=FIX) from None
    if found is None:
        raise usage("The file is empty", where=file, hint="Write a description and roles, or remove the file")
    return DocumentNode(found, file)


def _no_key_twice(node: Any, file: str, seen: set[int]) -> None:
    """Refuse equal keys: YAML silently takes the last."""
    if node is None or isinstance(node.value, str) or id(node) in seen:
        return
    seen.add(id(node))
    keys: set[str] = set()
    for child in node.value:
        for each in child if isinstance(child, tuple) else (child,):
            _no_key_twice(each, file, seen)
        if isinstance(child, tuple):
            key = str(child[0].value)
            if key in keys:
                where = f"{file}:{child[0].start_mark.line + 1}"
                raise usage(f"The key {key!r} occurs twice", where=where, hint="Keep one of the two")
            keys.add(key)
