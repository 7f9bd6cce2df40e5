"""Write a spec from its parts, and change parts of one: every other byte stays."""

import json
import re
from collections.abc import Mapping
from itertools import pairwise

from msgspec import Struct

from aigon.errors import AigonError, usage
from aigon.model.criteria import parse_promises
from aigon.spec.document import parse_spec, require_size
from aigon.spec.features import PREFIX, strip_prefix
from aigon.spec.foreign import accept_proposals, disarm_annotations, list_decisions, list_proposals
from aigon.spec.markdown import parse_page
from aigon.text.patterns import compile_re

LONGEST_TITLE = 200
_ENTRY = compile_re(r"[\"']?([\w-]+)[\"']?\s*:")
_FRONT = compile_re(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)(.*)", re.DOTALL | re.MULTILINE)
_NO_LINES = "The frontmatter cannot be edited: a key in it is not on a line of its own"

SettingValues = Mapping[str, str | int | None]
"""Keys of the frontmatter with their values; None takes a key out."""


class SpecParts(Struct, frozen=True):
    """The texts that make up a spec: what is above the heading, the heading with its `title`, and what is below."""

    head: str
    heading: str
    title: str
    body: str


def split_spec(raw: bytes) -> SpecParts:
    """Return the parts of a spec; of one without a heading all text but the frontmatter is below."""
    page = parse_page(raw)
    lines = [raw[start:end].decode("utf-8", "replace") for start, end in pairwise([*page.starts, len(raw)])]
    title, start, end = "", 0, 0
    for index, token in enumerate(page.tokens):
        if token.type == "front_matter" and token.map:
            start = end = token.map[1]
        if token.type == "heading_open" and token.level == 0 and token.map:
            title = strip_prefix(" ".join(page.tokens[index + 1].content.split()))
            start, end = token.map
            break
    return SpecParts("".join(lines[:start]), "".join(lines[start:end]), title, "".join(lines[end:]))


def compose_spec(title: str, description: str, settings: SettingValues) -> bytes:
    """Return a new spec whose description comes from outside: annotations in it are proposals.

    Raises AigonError (exit 2) for a title, a description or a setting that no spec can have.
    """
    return edit_spec(b"", title, description, settings)


def edit_spec(raw: bytes, title: str | None, description: str | None, settings: SettingValues) -> bytes:
    """Return the spec with what is not None changed. What was in force and is in the new description again stays so.

    Raises AigonError (exit 2) as `compose_spec` does, and for frontmatter in which no line holds a key alone.
    """
    old = split_spec(raw)
    heading = old.heading if title is None else f"# {PREFIX}{_check_title(title)}\n"
    body = old.body if description is None else f"\n{description.strip()}\n" if description.strip() else ""
    new = f"{_set_keys(old.head, settings)}{heading}{body}".encode("utf-8", "replace")
    require_size(new)
    before = parse_spec(raw)
    if description is not None:
        known = list_decisions(before)
        new = disarm_annotations(new)
        kept = {each.number for each in list_proposals(new) if (each.text, each.annotation) in known}
        new = accept_proposals(new, kept) if kept else new
    _require_settings(new, before.frontmatter, settings)
    return new


def _check_title(title: str) -> str:
    words = " ".join(title.split())
    if not words.isprintable() or not 0 < len(words) <= LONGEST_TITLE:
        hint = f"Give a few words in one line, up to {LONGEST_TITLE} characters"
        raise usage("A title cannot be empty, longer than a line, or have characters that cannot be seen", hint=hint)
    return words


def _set_keys(head: str, settings: SettingValues) -> str:
    """Return the frontmatter with these keys set, and without it if no key is left."""
    if not settings:
        return head
    inside, after = found.groups() if (found := _FRONT.fullmatch(head)) else ("", head)
    entries: list[list[str]] = [[]]
    for line in inside.splitlines(keepends=True):
        if _ENTRY.match(line):
            entries.append([])
        entries[-1].append(line if line.endswith("\n") else f"{line}\n")
    if any(line.strip() and not line.startswith("#") for line in entries[0]):
        raise usage(_NO_LINES, where="frontmatter", hint="Edit it by hand")
    kept = [entry for entry in entries if not (entry and (key := _ENTRY.match(entry[0])) and key[1] in settings)]
    kept += [[f"{key}: {_render(value)}\n"] for key, value in settings.items() if value is not None]
    text = "".join(line for entry in kept for line in entry)
    return f"---\n{text}---\n{after}" if text else after


def _render(value: str | int) -> str:
    """Return a value as YAML: a JSON string, if it is more than a word, is one."""
    return str(value) if isinstance(value, int) or re.fullmatch(r"[A-Za-z]\w*", value) else json.dumps(value)


def _require_settings(raw: bytes, old: Mapping[str, object], settings: SettingValues) -> None:
    """Raise AigonError (exit 2) unless the spec is read with these settings, and with the `old` keys beside them."""
    if isinstance(promise := settings.get("promise"), str):
        try:
            parse_promises((promise,))
        except AigonError as error:
            error.where = "promise"
            raise
    wanted = {key: value for key, value in old.items() if key not in settings}
    wanted |= {key: str(value) for key, value in settings.items() if value is not None}
    if parse_spec(raw).frontmatter != wanted:
        raise usage(_NO_LINES, where="frontmatter", hint="Edit it by hand")
