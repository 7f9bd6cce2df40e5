"""Settings in a spec: keys of its frontmatter that say how its feature is run, and `mode: ralph` in its text.

A setting that is nearly right is an error, never ignored: a limit that was misspelt would be paid for.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, get_args

from aigon.errors import AigonError, usage
from aigon.model.criteria import (
    MAX_ITERATIONS,
    Priority,
    SpecMode,
    SpecSettings,
    SpecStage,
    SpecWarning,
    parse_promises,
)
from aigon.spec.markdown import MarkdownPage, line_of, raise_together
from aigon.text.amounts import join_words, parse_duration
from aigon.text.documents import DocumentNode, suggest
from aigon.text.patterns import compile_re
from aigon.text.quoting import fold

OTHER_KEYS = ("allow", "known_failures", "paths", "source")
"""Keys of the frontmatter that aigon reads elsewhere."""
# 0.92 takes a letter too many or too few in a long word (`max_iteration`), and no key of another tool (`stage`).
_NEAR = 0.92
_SIMILAR = 0.85
"""Of a key that is asked about: `alow` is, `tags` is not."""
_CONFIGURED_MODE = compile_re(r"[`*]*mode[`*]*:[`*]*\s*[`*]*([\w-]+)[`*]*", re.IGNORECASE)
_KIND = compile_re(r"[a-z][a-z0-9_-]{0,39}")


def parse_settings(page: MarkdownPage, frontmatter: Mapping[str, object], criteria: int) -> SpecSettings:
    """Return the settings of a spec with so many criteria. Raises one usage error that names all bad ones."""
    errors: list[AigonError] = []
    values: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for key, value in frontmatter.items():
        line = find_key_line(page, key)
        node = DocumentNode(value, f"line {line}", key)
        try:
            if key in _READERS and value not in ("", []):
                name, read = _READERS[key]
                values[name], lines[key] = read(node), line
            elif key not in (*_READERS, *OTHER_KEYS) and (meant := _find_meant(key)):
                raise node.wrong("is no setting", f"Did you mean `{meant}`?")
        except AigonError as error:
            errors.append(error)
    for number in (each for stage in values.get("stages", ()) for each in stage.criteria):
        if not 1 <= number <= criteria:
            what, hint = f"stages names criterion {number}", suggest(str(number), map(str, range(1, criteria + 1)))
            errors.append(usage(f"{what}, which does not exist", where=f"line {lines['stages']}", hint=hint))
    raise_together(errors, "settings")
    for line, mode in _list_configured_modes(page):
        if mode in get_args(SpecMode) and "mode" not in lines:
            values["mode"], lines["mode"] = mode, line
    return SpecSettings(**values, lines=lines)


def find_ignored_settings(page: MarkdownPage, frontmatter: Mapping[str, object]) -> Iterator[SpecWarning]:
    """Yield a warning for keys that aigon does not read (other tools have keys of their own), and for a lost mode."""
    for line, mode in _list_configured_modes(page):
        if mode not in get_args(SpecMode) and _find_near(mode, get_args(SpecMode)):
            yield SpecWarning(line, f"`mode: {fold(mode, 40)}` is ignored. Did you mean `mode: ralph`?")
    unknown = [key for key in frontmatter if key not in (*OTHER_KEYS, *_READERS)]
    known = sorted((*OTHER_KEYS, *_READERS))
    near = {key: found for key in unknown if (found := _find_near(key, known, _SIMILAR))}
    for key, guess in near.items():
        yield SpecWarning(find_key_line(page, key), f"The frontmatter key `{key}` is ignored. Did you mean `{guess}`?")
    if foreign := [key for key in unknown if key not in near]:
        which = f"key{'s' if len(foreign) > 1 else ''} {join_words([f'`{fold(key, 40)}`' for key in foreign])}"
        listed = join_words([f"`{key}`" for key in known])
        message = f"The frontmatter {which} {'are' if len(foreign) > 1 else 'is'} ignored. aigon reads {listed}."
        yield SpecWarning(find_key_line(page, foreign[0]), message)


def find_key_line(page: MarkdownPage, key: str) -> int:
    """Return the 1-based line of a key of the frontmatter; 1 if it is written in an unusual way."""
    found = re.search(rb"^[\"']?" + re.escape(key.encode()) + rb"[\"']?\s*:", page.raw, re.MULTILINE)
    return page.line_at(found.start()) if found else 1


def _find_meant(key: str) -> str:
    """Return the setting that a key nearly is, as `max-iterations` and `dependsOn` are; "" for any other."""
    plain = {each.replace("_", ""): each for each in _READERS}
    return plain.get(_find_near(re.sub(r"[_\s-]", "", key.casefold()), plain, _NEAR), "")


def _find_near(word: str, words: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the one of the `words` that is most like `word`; "" if none is."""
    from difflib import get_close_matches  # a spec without a slip needs none

    return next(iter(get_close_matches(word, [*words], 1, cutoff)), "")


def _list_configured_modes(page: MarkdownPage) -> Iterator[tuple[int, str]]:
    """Yield line and value of each `mode: ...` below a heading "Configuration", with or without box, list or quotes."""
    for index in page.under(lambda heading: heading == "configuration"):
        token = page.tokens[index]
        for offset, text in enumerate(token.content.split("\n") if token.type == "inline" else ()):
            if match := _CONFIGURED_MODE.fullmatch(text.strip()):
                yield line_of(token) + offset, match[1].lower()


def _read_kind(node: DocumentNode) -> str:
    """Return the name of a kind: whether it exists, the configuration says."""
    if not _KIND.fullmatch(node.text()):
        raise node.wrong(f"cannot be {node.text()!r:.60}", "Write a word in lower case, such as research, build or gtm")
    return node.text()


def _read_iterations(node: DocumentNode) -> int:
    limit = _read_number(node)
    if not 1 <= limit <= MAX_ITERATIONS:
        raise node.wrong(f"is {limit}", f"Give 1 to {MAX_ITERATIONS}: a person looks before more is spent")
    return limit


def _read_number(node: DocumentNode) -> int:
    text = node.text()
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise node.wrong(f"must be a whole number, not {text!r:.60}")
    return int(text)


def _read_time(node: DocumentNode) -> float:
    try:
        return parse_duration(node.text())
    except ValueError as error:
        raise node.wrong(f"must be a time: {error}"[:200], "Write 90s, 30m or 1h30m") from None


def _read_promises(node: DocumentNode) -> tuple[str, ...]:
    try:
        return parse_promises(node.texts())
    except AigonError as error:
        error.where = node.file
        raise


def _read_features(node: DocumentNode) -> tuple[str, ...]:
    """Return the features that are named: by an ID or a slug."""
    names = tuple(dict.fromkeys(name.strip() for name in node.texts()))
    if not all(names):
        raise node.wrong("has an empty name", "Write the IDs of features, such as `depends_on: [12]`")
    return names


def _read_stages(node: DocumentNode) -> tuple[SpecStage, ...]:
    stages = tuple(_read_stage(item) for item in node.items())
    numbers = [number for stage in stages for number in stage.criteria]
    if twice := sorted({number for number in numbers if numbers.count(number) > 1}):
        raise node.wrong(f"names criterion {twice[0]} twice", "A criterion belongs to one stage")
    return stages


def _read_stage(node: DocumentNode) -> SpecStage:
    keys = node.fields(("promise", "criteria"), required=("criteria",))
    value = keys["criteria"].value
    one = DocumentNode([value] if isinstance(value, str) else value, node.file, keys["criteria"].path)
    numbers = tuple(dict.fromkeys(_read_number(item) for item in one.items()))
    if not numbers:
        raise one.wrong("is empty", "Write the numbers of the stage's criteria, such as `criteria: [1, 2]`")
    promise = _read_promises(keys["promise"]) if "promise" in keys else ("",)
    if len(promise) > 1:
        raise keys["promise"].wrong("has more than one phrase", "A stage ends with one")
    return SpecStage(numbers, promise[0])


_READERS: Mapping[str, tuple[str, Callable[[DocumentNode], object]]] = {
    "mode": ("mode", lambda node: node.choice(get_args(SpecMode))),
    "kind": ("kind", _read_kind),
    "max_iterations": ("max_iterations", _read_iterations),
    "max_time": ("max_time", _read_time),
    "promise": ("promises", _read_promises),
    "priority": ("priority", lambda node: node.choice(get_args(Priority))),
    "depends_on": ("depends_on", _read_features),
    "stages": ("stages", _read_stages),
}
"""Every setting: its field in `SpecSettings`, and what reads its value."""
