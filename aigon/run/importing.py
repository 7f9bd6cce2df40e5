"""Bring specs of other tools in: find them, read them, and write a feature for each, or for a table of tasks."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from aigon.errors import AigonError, Exit, usage
from aigon.files import atomic
from aigon.git import forge
from aigon.git.person import Checkout
from aigon.job.bookkeeping import Committing
from aigon.model.criteria import ImportedSpec
from aigon.run.feature_stages import create_feature, make_feature, write_features
from aigon.spec.document import parse_spec, tick_boxes
from aigon.spec.features import LARGEST, TOO_MUCH, Feature, slugify
from aigon.spec.foreign import disarm_annotations, list_proposals
from aigon.spec.importers import GENERIC, Format, find_specs, load_importers
from aigon.spec.importers.pages import ISSUE_FIELDS, github
from aigon.spec.prd import LARGEST_TABLE, Prd, PrdTask, group_by_dependencies, read_table
from aigon.spec.writing import compose_imported_spec
from aigon.text.patterns import compile_re
from aigon.text.quoting import fold, list_item

_ISSUE = compile_re(rf"gh:(?:(?P<repository>[\w.-]+/[\w.-]+)#)?(?P<id>\d+)|(?P<address>{forge.ISSUE.pattern})/?")
_SUFFIXES = (".md", ".markdown", ".json", ".toon")
_HIDDEN = (".kiro", ".taskmaster")
"""Hidden folders that tools keep specs in."""
_VENDORED = ("node_modules", "vendor")
_MOST = 20_000
"""Files of a folder: more are no folder of specs."""
_BESIDE = 3
"""How deep below a file's folder the files may lie that belong to it."""
MAX_TITLE_CHARS, MAX_DESCRIPTION_CHARS = 300, 2_000


class ImportRequest(Struct, frozen=True):
    """`source` is an issue, or a path seen from `start`; `title` and `slug` name the one feature that it brings."""

    source: str
    start: Path
    title: str = ""
    slug: str = ""
    priority: str = ""


class FoundSpec(Struct, frozen=True):
    """A spec of another tool: the name of the format, its address, and what was read."""

    format: str
    source: str
    spec: ImportedSpec


class ImportedFeature(Struct, frozen=True):
    """A feature that was written; `proposals` counts the annotations that a person may accept."""

    feature: Feature
    found: FoundSpec
    proposals: int


class ImportResult(Struct, frozen=True):
    """Specs that were written, and by source why something was not."""

    features: tuple[ImportedFeature, ...]
    skipped: tuple[tuple[str, str], ...]


def import_features(checkout: Checkout, request: ImportRequest, how: Committing) -> ImportResult:
    """Write a feature for each spec at the source.

    Raises AigonError: 2 if there is nothing to import, 7 if it cannot be committed here or gh refuses.
    """
    skipped: list[tuple[str, str]] = []
    source, title = request.source, request.title
    found = _find_specs(checkout, request, skipped)
    if (title or request.slug) and len(found) > 1:
        hint = "Leave the title and --slug out, or name one of them"
        raise usage(f"{len(found)} specs were found, and a title names one", where=source, hint=hint)
    specs: dict[Feature, bytes] = {}
    made: list[ImportedFeature] = []
    for each in found:
        named = replace(each, spec=replace(each.spec, title=title)) if title else each
        try:
            data = compose_imported_spec(named.spec, named.source, request.priority)
            feature = make_feature(checkout, named.spec.title, request.slug or _choose_name(named, specs))
        except AigonError as error:
            if len(found) == 1:
                raise
            skipped.append((each.source, f"{error.what}: {error.where}"))
            continue
        specs[feature] = data
        made.append(ImportedFeature(feature, named, len(list_proposals(data))))
    if not specs:
        raise _explain_nothing(source, skipped)
    write_features(checkout, specs, how)
    return ImportResult(tuple(made), tuple(skipped))


def _find_specs(checkout: Checkout, request: ImportRequest, skipped: list[tuple[str, str]]) -> list[FoundSpec]:
    if issue := _ISSUE.fullmatch(request.source):
        return [_read_issue(checkout, issue)]
    path = request.start / request.source
    if not path.exists():
        hint = "Name a file, a folder, gh:123 or the address of an issue"
        raise usage("There is nothing of that name", where=request.source, hint=hint)
    return list(_read_path(checkout.root, path, skipped))


def _explain_nothing(source: str, skipped: list[tuple[str, str]]) -> AigonError:
    formats = ", ".join(importer.TITLE for importer in load_importers().values())
    if not skipped:
        return usage("There is no spec to import", where=source, hint=f"Known are {formats}: docs/imports.md")
    listed = "\n".join(f"{path}: {why}" for path, why in skipped[:10])
    return usage("None of the specs there can be imported", where=source, hint=listed)


def _choose_name(found: FoundSpec, taken: Mapping[Feature, bytes]) -> str:
    """Return a name for the feature: its title, or its source if that has no Latin letter; numbered if it is taken."""
    try:
        name = slugify(fold(found.spec.title))
    except AigonError:
        name = slugify(f"import {found.source}"[-50:])
    slugs = {feature.slug for feature in taken}
    numbers = (f"{name}-{number}" for number in range(2, len(slugs) + 3))
    return next(each for each in (name, *numbers) if each not in slugs)


def _read_issue(checkout: Checkout, issue: re.Match[str]) -> FoundSpec:
    """Return a GitHub issue. Raises AigonError (exit 7) with gh's own words."""
    repository, number, address = issue["repository"], issue["id"], issue["address"]
    which = (address,) if address else (number, "--repo", repository) if repository else (number,)
    text = forge.run_gh(checkout.root, "issue", "view", *which, "--json", ",".join(ISSUE_FIELDS), where=issue[0])
    try:
        (spec,) = github.read({issue[0]: text})
    except ValueError as error:
        raise AigonError(f"The issue cannot be read: {error}", where=issue[0], code=Exit.ENVIRONMENT) from error
    return FoundSpec(github.TITLE, spec.source, spec)


def _read_path(root: Path, path: Path, skipped: list[tuple[str, str]]) -> Iterator[FoundSpec]:
    """Yield the specs in a file or a folder; in a folder, those without criteria and malformed ones are `skipped`."""
    path = path.resolve()
    is_folder = path.is_dir()
    paths = sorted(_list_files(path) if is_folder else {*_list_files(path.parent, _BESIDE), path.as_posix()})
    for importer, group in _group_files(paths, "" if is_folder else path.as_posix()):
        base = root if path.is_relative_to(root) else Path(group[0]).parent.parent
        where = Path(group[0]).relative_to(base).as_posix()
        try:
            texts = {Path(each).relative_to(base).as_posix(): _read(each) for each in group}
            specs = [_name_spec(spec, group[0]) for spec in importer.read(texts)]
        except (ValueError, AigonError) as error:
            if not is_folder:
                raise usage(f"It cannot be read as {importer.TITLE}: {error}", where=where) from error
            skipped.append((where, str(error)))
            continue
        for spec in specs:
            if is_folder and not spec.criteria:
                skipped.append((where, f"there are no criteria in {spec.title!r}"))
            else:
                yield FoundSpec(importer.TITLE, spec.source or where, spec)


def _group_files(paths: Sequence[str], wanted: str) -> list[tuple[Format, tuple[str, ...]]]:
    """Return the groups of files that are specs, or those with the file `wanted`, with what reads them.

    The generic importer takes part only where no other knows anything.
    """
    found: list[tuple[Format, tuple[str, ...]]] = []
    for name, importer in load_importers().items():
        if not (found and name == GENERIC):
            found += [(importer, group) for group in find_specs(importer, paths) if not wanted or wanted in group]
    return found


def _list_files(folder: Path, depth: int = 99) -> Iterator[str]:
    """Yield the files below a folder that may hold specs. Links are left out: they may lead to a person's secrets."""
    count = 0
    for place, folders, files in os.walk(folder):
        below = len(Path(place).relative_to(folder).parts)
        folders[:] = [
            name
            for name in sorted(folders)
            if below < depth and name not in _VENDORED and (not name.startswith(".") or name in _HIDDEN)
        ]
        count += len(files)
        if count > _MOST:
            raise usage(f"The folder has more than {_MOST:,} files", where=str(folder), hint="Name the folder of specs")
        for name in files:
            file = Path(place, name)
            if name.endswith(_SUFFIXES) and file.is_file() and not file.is_symlink():
                yield file.as_posix()


def _read(path: str) -> str:
    try:
        raw = atomic.read_bounded(Path(path), LARGEST, "The file", hint=TOO_MUCH)
    except OSError as error:
        raise usage(f"The file cannot be read: {error.strerror}", where=path) from error
    return raw.decode("utf-8-sig", "replace")


def _name_spec(spec: ImportedSpec, path: str) -> ImportedSpec:
    """Return the spec with a title: that of its folder or its file if it has none."""
    file = Path(path)
    name = file.parent.name if file.stem in ("spec", "requirements", "proposal", "README", "index") else file.stem
    return spec if spec.title.strip() else replace(spec, title=name.replace("-", " ").replace("_", " ").capitalize())


class ConvertedTable(Struct, frozen=True):
    """The feature that was written: how many `criteria`, of which `claimed` are said to be done, and `skipped` tasks.

    `proposed` annotations came with the table and run nothing until a person accepts them.
    """

    feature: Feature
    criteria: int
    claimed: int
    skipped: int
    proposed: int


def convert_table(checkout: Checkout, path: Path, title: str, slug: str, how: Committing) -> ConvertedTable:
    """Write the spec of the tasks in a file into the inbox. Raises AigonError (exit 2) for a file that is malformed."""
    try:
        raw = atomic.read_bounded(path, LARGEST_TABLE, "The file", hint="Split it into several features")
    except OSError as error:
        raise usage(f"The file cannot be read: {error.strerror}", where=str(path), hint="Name another one") from error
    prd = read_table(raw, str(path))
    title = title or fold(prd.project, 100) or path.stem.replace("-", " ").replace("_", " ")
    content = render_spec(prd, title, path.name)
    feature = create_feature(checkout, title, slug, how, content=content)
    spec = parse_spec(content)
    claimed, skipped = sum(each.checked for each in spec.criteria), sum(t.status == "skipped" for t in prd.tasks)
    return ConvertedTable(feature, len(spec.criteria), claimed, skipped, len(list_proposals(content)))


def render_spec(prd: Prd, title: str, source: str) -> bytes:
    """Return the spec. Annotations in the table are kept as proposals; a task that is done is a ticked box, a claim.

    Tasks that depend on others come in a later stage.
    """
    wanted = tuple(task for task in prd.tasks if task.status != "skipped")
    groups = group_by_dependencies(wanted)
    ordered = [task for group in groups for task in group]
    lines = [*_render_stages(groups), f"# Feature: {fold(title, 100)}", "", f"The tasks of `{fold(source, 100)}`.", ""]
    lines += ["## Acceptance Criteria", "", *(line for task in ordered for line in _render_task(task))]
    if skipped := [task for task in prd.tasks if task.status == "skipped"]:
        lines += ["", "## Skipped", "", *(f"- {_render_label(task)}" for task in skipped)]
    spec = parse_spec(disarm_annotations("\n".join([*lines, ""]).encode("utf-8", "replace")))
    # A tick on a `human` item would be a person's approval, which nobody gave.
    done = {c.number: True for c, task in zip(spec.criteria, ordered, strict=True)
            if task.status == "done" and c.kind != "human"}  # fmt: skip
    return tick_boxes(spec, done)


def _render_stages(groups: list[list[PrdTask]]) -> Iterator[str]:
    if len(groups) < 2:
        return
    yield from ("---", "stages:")
    number = 1
    for group in groups:
        yield f"  - criteria: [{', '.join(str(number + at) for at in range(len(group)))}]"
        number += len(group)
    yield "---"


def _render_task(task: PrdTask) -> Iterator[str]:
    yield f"- [ ] {_render_label(task)}"
    notes = [fold(task.description, MAX_DESCRIPTION_CHARS)] if task.description else []
    for name, listed in (("Depends on", task.depends_on), ("Creates", task.files_to_create),
                         ("Changes", task.files_to_modify)):  # fmt: skip
        notes += [f"{name}: {fold(', '.join(listed), MAX_DESCRIPTION_CHARS)}"] if listed else []
    for note in notes:
        yield from ("", f"  {list_item(note, MAX_DESCRIPTION_CHARS)}")
    if notes:
        yield ""


def _render_label(task: PrdTask) -> str:
    return fold(f"{task.id}: {task.title}", MAX_TITLE_CHARS)
