"""Strict reading of YAML, TOML, JSON and INI documents.

Every key is known, every value has its type, and every error names its place. YAML is composed into nodes first, so
that absurd documents (nested without end, aliases of aliases) are refused before they fill the stack or the memory.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from types import UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from msgspec import Struct

from aigon.errors import AigonError, usage
from aigon.text import amounts
from aigon.text.amounts import MIB, size_error

T = TypeVar("T")
Word = TypeVar("Word", bound=str)
LONGEST_TIME = 24 * 3600.0
"""Seconds that a time limit may be at most."""


def suggest(word: str, known: Iterable[str]) -> str:
    """Return a hint: `Did you mean 'x'?` if a known word is close, then all known words."""
    from difflib import get_close_matches

    words = sorted(known)
    close = get_close_matches(word, words, n=1)
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
        """A list of texts; one text alone stands for a list of one."""
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
        types = {name: hint for name, hint in _read_types(shape).items() if name not in given}
        optional = shape.__struct_fields__[len(shape.__struct_fields__) - len(shape.__struct_defaults__) :]
        nodes = self.fields(types, [name for name in types if name not in optional])
        return kind(**given, **{name: node._convert(types[name]) for name, node in nodes.items()})

    def _convert(self, wanted: Any) -> Any:
        """The value as a field of this type."""
        origin, arguments = get_origin(wanted), get_args(wanted)
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
def _read_types(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


FIX = "Fix that line or the one above it: check brackets, quotes and indentation"
LARGEST_DOCUMENT = MIB
"""Bytes of a document: the largest that ships has 40 kB, and it is read by every command."""


_shipped: dict[bytes, object] = {}
"""Values of documents that ship with aigon, by their content."""


def remember_shipped(values: Mapping[bytes, object]) -> None:
    """Let `parse_yaml` return these values for documents with exactly this content."""
    _shipped.update(values)


def is_remembered(document: bytes) -> bool:
    return document in _shipped


def parse_yaml(document: bytes, file: str) -> DocumentNode:
    """Return the document. Raises AigonError (usage) with file and line if it is not valid YAML."""
    if document in _shipped:
        return DocumentNode(_shipped[document], file, is_shipped=True)
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


DEEPEST = 50
"""Levels of lists and mappings; the deepest document that ships has 8."""
MOST = 100_000
"""Values that a document may stand for, each alias counted as what it names; the largest that ships has 1,500."""
LONGEST_NUMBER = 100
"""Characters of a number: beyond 4,300 digits Python itself refuses to read or to show one."""
_HARMLESS = 1500
"""Brackets of a document, and columns of a line, up to which no nesting can do harm."""


class AbsurdDocument(ValueError):
    """A document that nobody means; `line` is where, from 1, or 0 if unknown."""

    def __init__(self, what: str, line: int = 0) -> None:
        super().__init__(what)
        self.line = line


def load_yaml(
    document: bytes | str, loader: Any, look: Callable[[Any], None] = lambda _root: None, most: int = MOST
) -> Any:
    """Return the value of a document as `loader` makes it, None for nothing. Raises yaml's errors, and AbsurdDocument.

    `look` sees the root node first (yaml's constructors change it), `most` is how many values it may stand for.
    """
    _refuse_deep(document, loader)
    reader = loader(document)
    try:
        root = reader.get_single_node()
        if root is None:
            return None
        _size(root, {}, 0, most)
        look(root)
        try:
            return reader.construct_document(root)
        except (ValueError, KeyError, IndexError, AttributeError, TypeError, OverflowError) as error:
            # The 31st of February, `!!int x`, `!!bool maybe`: yaml's constructors let Python's own errors through.
            raise AbsurdDocument(f"a value is not of its type ({str(error)[:80] or type(error).__name__})") from None
    finally:
        reader.dispose()


def _refuse_deep(document: bytes | str, loader: Any) -> None:
    """Count levels by events, which need no stack, if the document could be nested at all."""
    import yaml

    raw = document if isinstance(document, bytes) else document.encode("utf-8", "replace")
    if raw.count(b"[") + raw.count(b"{") <= _HARMLESS and max(map(len, raw.split(b"\n"))) <= _HARMLESS:
        return
    depth = 0
    for event in yaml.parse(document, Loader=loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise _too_deep(event)


def _too_deep(at: Any) -> AbsurdDocument:
    return AbsurdDocument(f"it is nested more than {DEEPEST} levels deep", at.start_mark.line + 1)


def _size(node: Any, known: dict[int, int], depth: int, most: int) -> int:
    """Count the values that a node stands for. A node within itself has 0 in `known` while it is visited."""
    if depth > DEEPEST:
        raise _too_deep(node)
    if isinstance(node.value, str):
        if node.tag.endswith((":int", ":float")) and len(node.value) > LONGEST_NUMBER:
            raise AbsurdDocument(f"a number has {len(node.value):,} characters", node.start_mark.line + 1)
        return 1
    if id(node) in known:
        if not known[id(node)]:
            raise AbsurdDocument("a value holds itself", node.start_mark.line + 1)
        return known[id(node)]
    known[id(node)] = 0
    children = (each for child in node.value for each in (child if isinstance(child, tuple) else (child,)))
    total = 1
    for child in children:
        total += _size(child, known, depth + 1, most)
        if total > most:
            raise AbsurdDocument(f"its aliases expand to more than {most:,} values", child.start_mark.line + 1)
    known[id(node)] = total
    return total


Format = Literal["toml", "json", "ini"]


def find_values(kind: Format, raw: bytes, keys: tuple[str, ...]) -> list[object]:
    """Return every value that `keys` lead to in the document; `*` is any key. Raises ValueError for a broken one."""
    values = [_parse_cached(kind, raw)]
    for key in keys:
        mappings = [value for value in values if isinstance(value, dict)]
        values = [child for each in mappings for name, child in each.items() if key in ("*", name)]
    return values


@lru_cache(maxsize=16)
def _parse_cached(kind: Format, raw: bytes) -> object:
    """Parse the document. Every parser's own error is a ValueError."""
    text = raw.decode("utf-8-sig")
    try:
        if kind == "json":
            import json

            return json.loads(text)
        if kind == "toml":
            import tomllib

            return tomllib.loads(text)
        from configparser import Error, RawConfigParser

        parser = RawConfigParser(strict=False, allow_no_value=True)
        try:
            parser.read_string(text)
        except Error as error:
            raise ValueError(str(error)) from None
        return {section: dict(parser.items(section)) for section in parser.sections()}
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
