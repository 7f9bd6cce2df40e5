"""Write a spec from its parts or from what another tool wrote, and change parts of one: every other byte stays.

Nothing that strangers or agents wrote decides or runs anything in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import groupby, pairwise

from msgspec import Struct

from aigon.errors import AigonError, usage
from aigon.model.criteria import ImportedSpec, parse_promises
from aigon.spec.criteria import TEMPLATE, is_criteria_heading
from aigon.spec.document import parse_spec, require_size
from aigon.spec.features import LARGEST, PREFIX, TOO_MUCH, strip_prefix
from aigon.spec.foreign import accept_proposals, disarm_annotations, list_decisions, list_proposals
from aigon.spec.markdown import line_of, one_line, parse_page
from aigon.text.amounts import size_error
from aigon.text.patterns import compile_re
from aigon.text.quoting import code_block, code_span, fold, list_item

LONGEST_TITLE = 200
_ENTRY = compile_re(r"[\"']?([\w-]+)[\"']?\s*:")
_FRONT = compile_re(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)(.*)", re.DOTALL | re.MULTILINE)
_NO_LINES = "The frontmatter cannot be edited: a key in it is not on a line of its own"

SettingValues = Mapping[str, str | int | None]
"""Keys of the frontmatter with their values; None takes a key out."""
SUMMARY, SOURCE = "Summary", "Source"
_COMMENT = compile_re(rb"<!--.*?-->", re.DOTALL)
_LONGEST = 4_000
"""Characters of one criterion, question or summary that are kept."""
NO_CRITERIA = "<!-- Your criteria go here: one `- [ ] ...` for each thing that has to be true. -->"


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


def edit_spec(raw: bytes, title: str | None, description: str | None, settings: SettingValues) -> bytes:
    """Return the spec with what is not None changed; of no bytes a new one.

    The description comes from outside: its annotations are proposals, unless they were in force before. Raises
    AigonError (exit 2) for what no spec can have, and for frontmatter in which no line holds a key alone.
    """
    old, words = split_spec(raw), " ".join((title or "").split())
    if title is not None and (not words.isprintable() or not 0 < len(words) <= LONGEST_TITLE):
        hint = f"Give a few words in one line, up to {LONGEST_TITLE} characters"
        raise usage("A title cannot be empty, longer than a line, or have characters that cannot be seen", hint=hint)
    heading = old.heading if title is None else f"# {PREFIX}{words}\n"
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
    """Raise AigonError (exit 2) unless the spec is read with these settings, and with the `old` keys added."""
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


def compose_imported_spec(spec: ImportedSpec, source: str, priority: str = "") -> bytes:
    """Return the file of a feature. Annotations are proposals in it, and the original is one fenced block per text.

    Raises a usage error above the size of a spec.
    """
    keys = {"source": json.dumps(fold(source, _LONGEST), ensure_ascii=False) if source else "", "priority": priority}
    given = [f"{key}: {value}" for key, value in keys.items() if value]
    head = ["---", *given, "---", ""] if given else []
    lines = [*head, f"# Feature: {fold(spec.title)}", ""]
    if spec.summary:
        lines += [f"## {SUMMARY}", "", f"> {list_item(spec.summary, _LONGEST)}", ""]
    lines += ["## Acceptance Criteria", "", *_render_criteria(spec), ""]
    if spec.questions:
        lines += ["## Open questions", "", *(f"- {list_item(each, _LONGEST)}" for each in spec.questions), ""]
    if spec.original:
        lines += [f"## {SOURCE}", ""]
    for name, text in spec.original.items():
        # No heading of its own: below one that reads "Validation" a block would be run.
        lines += [f"{code_span(name)}:", "", code_block(text), ""]
    raw = disarm_annotations("\n".join(lines).rstrip("\n").encode("utf-8", "replace") + b"\n")
    if len(raw) > LARGEST:
        raise size_error("The spec with its source", len(raw), LARGEST, where=source, hint=TOO_MUCH)
    return raw


def _render_criteria(spec: ImportedSpec) -> Iterator[str]:
    """Yield a box for each criterion below its heading, with what its author would run as a comment behind it."""
    if not spec.criteria:
        yield NO_CRITERIA
    for index, (group, members) in enumerate(groupby(spec.criteria, key=lambda criterion: criterion.group)):
        yield from [""] * (index > 0)
        if group or index:
            yield from (f"### {fold(group, 200) or 'More'}", "")
        for criterion in members:
            annotation = criterion.annotation
            # Joined to one line, a command would be another one.
            fits = annotation and "-->" not in annotation and fold(annotation, _LONGEST) == annotation
            comment = f" <!-- {annotation} -->" if fits else ""
            yield f"- [ ] {fold(criterion.text, _LONGEST)}{comment}"


class _Section(Struct, frozen=True):
    """A part of a file below a heading of the second level: its title, and the offsets of heading, body and end."""

    title: str
    start: int
    body: int
    end: int


def merge_spec(raw: bytes, addition: bytes) -> bytes:
    """Return the spec `raw` with the sections of a composed one added to its own of the same name.

    A section that holds only comments is filled, criteria and questions are appended, and a summary that a person wrote
    stays. Nothing else changes.
    """
    for new in _list_sections(addition):
        body = addition[new.body : new.end].strip(b"\n")
        own = next((each for each in _list_sections(raw) if _is_same(each.title, new.title)), None)
        if own is None:
            sections = _list_sections(raw)
            at = next((each.start for each in sections if each.title == SOURCE), len(raw))
            raw = raw[:at].rstrip(b"\n") + b"\n\n## " + new.title.encode() + b"\n\n" + body + b"\n\n" + raw[at:]
        elif TEMPLATE.search(raw, own.body, own.end) or not _COMMENT.sub(b"", raw[own.body : own.end]).strip():
            raw = raw[: own.body] + b"\n" + body + b"\n\n" + raw[own.end :]
        elif new.title != SUMMARY:
            kept = raw[: own.end].rstrip(b"\n")
            raw = kept + b"\n" + body + b"\n\n" + raw[own.end :]
    return raw.rstrip(b"\n") + b"\n"


def _list_sections(raw: bytes) -> list[_Section]:
    page = parse_page(raw)
    heads = [(index, token) for index, token in enumerate(page.tokens) if token.type == "heading_open"]
    tops = [(index, token) for index, token in heads if token.level == 0 and token.tag in ("h1", "h2")]
    ends = [page.starts[line_of(token) - 1] for _, token in tops[1:]] + [len(raw)]
    starts = [*page.starts, len(raw)]
    return [
        _Section(
            one_line(page.tokens[index + 1].content),
            page.starts[line_of(token) - 1],
            starts[(token.map or (0, 0))[1]],
            end,
        )
        for (index, token), end in zip(tops, ends, strict=False)
        if token.tag == "h2"
    ]


def _is_same(one: str, other: str) -> bool:
    return one.casefold() == other.casefold() or (is_criteria_heading(one) and is_criteria_heading(other))
