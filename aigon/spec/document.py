"""A feature spec: from its bytes to criteria, and from verdicts back to ticks.

Everything is read from a CommonMark parse, never by matching lines, so that what counts is what people see rendered.
What could be lost without anybody noticing (a box that is no task-list item, an annotation outside an item, a comment
that is never closed) is a warning with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from aigon.errors import usage
from aigon.model.criteria import Criterion, Spec, SpecWarning
from aigon.proof.vacuity import describe_unfailing
from aigon.spec import frontmatter, markdown, missing_criteria, task_list
from aigon.spec.annotation import metric_parts
from aigon.spec.markdown import Page, line_of, one_line
from aigon.text.counting import join_words
from aigon.text.quoting import folded
from aigon.text.size_limit import MIB, too_large

if TYPE_CHECKING:
    from markdown_it.token import Token

__all__ = ["known_failures", "metric_parts", "parse", "require_criteria", "tick", "warnings_of"]

LARGEST = MIB
"""Bytes of a spec: some 200,000 words. It goes into every prompt, and no model takes in half of that."""
TOO_MUCH = "Keep what has to be true, and link to the rest; a file of another kind may stand under the spec's name"
"""What to do about a larger one."""
_LANGUAGE = re.compile(r"[\s{.]*([^\s{}:,=]*)")
_SHELLS = ("", "bash", "sh", "shell", "zsh")
KEYS = ("allow", "known_failures", "paths")
"""Keys of the frontmatter that aigon reads."""


def parse(raw: bytes) -> Spec:
    """The spec in `raw`, whatever its bytes, line endings and encoding.

    Raises a usage error for frontmatter that is not a YAML mapping, for malformed annotations, which it names all, and
    for more than `LARGEST`.
    """
    if len(raw) > LARGEST:
        raise too_large("The spec", len(raw), LARGEST, where="the whole file", hint=TOO_MUCH)
    read = markdown.read(raw)
    found = list(task_list.items(read))
    warnings = [item for item in found if isinstance(item, SpecWarning)] + [*_not_run(read), *markdown.unclosed(read)]
    criteria, keys = tuple(item for item in found if isinstance(item, Criterion)), _frontmatter(read)
    warnings += _unknown_keys(read, keys)
    return Spec(
        raw=raw,
        title=_title(read),
        frontmatter=keys,
        criteria=criteria,
        validation=_validation(read),
        warnings=tuple(sorted(warnings, key=lambda warning: warning.line)),
    )


def require_criteria(spec: Spec, where: str) -> None:
    """Raise a usage error that says what is there instead and what to write, if `spec`, the file `where`, has none."""
    if not spec.criteria:
        raise missing_criteria.explain(markdown.read(spec.raw), spec.warnings, where)


def warnings_of(spec: Spec) -> tuple[SpecWarning, ...]:
    """Return what is odd about the file, and which criteria cannot fail, by line."""
    return tuple(sorted([*spec.warnings, *describe_unfailing(spec.criteria)], key=lambda warning: warning.line))


def tick(spec: Spec, met: Mapping[int, bool]) -> bytes:
    """The file with the boxes of the numbers in `met` ticked or cleared: one byte per box, no other byte changes."""
    raw = bytearray(spec.raw)
    for criterion in spec.criteria:
        wanted = met.get(criterion.number, criterion.checked)
        if wanted != criterion.checked:
            raw[criterion.box] = ord("x" if wanted else " ")
    return bytes(raw)


def known_failures(spec: Spec) -> tuple[str, ...]:
    """What the frontmatter lists as failing already. Raises a usage error for anything but strings, and for `git`."""
    names = frontmatter.strings(spec.frontmatter, "known_failures")
    if "git" in names:
        what = "`known_failures` cannot list git: what git did not take is in no commit"
        raise usage(what, where="frontmatter", hint="Take `git` out of the list, and fix what the git check names")
    return names


def _title(read: Page) -> str:
    headings = (read.tokens[i + 1].content for i, token in enumerate(read.tokens) if token.type == "heading_open")
    return one_line(next(headings, ""))


def _frontmatter(read: Page) -> Mapping[str, object]:
    top = read.tokens[0] if read.tokens else None
    return frontmatter.read(top.content) if top and top.type == "front_matter" else {}


def _unknown_keys(read: Page, keys: Mapping[str, object]) -> Iterator[SpecWarning]:
    """Yield a warning for keys that aigon does not read. They are no error: other tools have keys of their own."""
    from difflib import get_close_matches

    unknown = [key for key in keys if key not in KEYS]
    near = {key: found[0] for key in unknown if (found := get_close_matches(key, KEYS, n=1))}
    for key, guess in near.items():
        yield SpecWarning(_line_of_key(read, key), f"The frontmatter key `{key}` is ignored. Did you mean `{guess}`?")
    if foreign := [key for key in unknown if key not in near]:
        which = f"key{'s' if len(foreign) > 1 else ''} {join_words([f'`{folded(key, 40)}`' for key in foreign])}"
        known = join_words([f"`{key}`" for key in KEYS])
        message = f"The frontmatter {which} {'are' if len(foreign) > 1 else 'is'} ignored. aigon reads {known}."
        yield SpecWarning(_line_of_key(read, foreign[0]), message)


def _line_of_key(read: Page, key: str) -> int:
    """Return the 1-based line on which a key of the frontmatter stands; 1 if it is written in an unusual way."""
    found = re.search(rb"^[\"']?" + re.escape(key.encode()) + rb"[\"']?\s*:", read.raw, re.MULTILINE)
    return read.line_at(found.start()) if found else 1


def _validation(read: Page) -> str | None:
    """The shell blocks as one script; None when no line of theirs is a command, for that would pass without a test."""
    script = "\n".join(block.content.removesuffix("\n") for block in _blocks(read) if _language(block) in _SHELLS)
    lines = (line.strip() for line in script.split("\n"))
    return script if any(line and not line.startswith("#") for line in lines) else None


def _not_run(read: Page) -> Iterator[SpecWarning]:
    for block in _blocks(read):
        if (language := _language(block)) not in _SHELLS:
            message = f"A `{language}` block is not run: only bash, sh, shell and zsh blocks are"
            yield SpecWarning(line_of(block), message)


def _blocks(read: Page) -> Iterator[Token]:
    """The fenced blocks below a heading that is exactly "Validation"."""
    below = (read.tokens[index] for index in read.under(lambda heading: heading == "validation"))
    return (token for token in below if token.type == "fence")


def _language(block: Token) -> str:
    found = _LANGUAGE.match(block.info)
    return found[1].lower() if found else ""
