"""Specs in Markdown: what spec-kit, Kiro, OpenSpec and BMAD write, a GitHub issue, and any other page with criteria."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from aigon.model.criteria import ImportedCriterion, ImportedSpec
from aigon.spec.importers import (
    ACCEPTANCE,
    Block,
    Format,
    count_steps,
    count_unused,
    find_accepted,
    find_summary,
    find_title,
    join_item,
    read_outline,
)
from aigon.text.patterns import compile_re

ISSUE_FIELDS = ("number", "title", "body", "labels", "url", "state")
"""What is asked of `gh`."""
_STORY = compile_re(r"(?:User )?Story\s+[\d.]+\s*[:–—-]\s*", re.IGNORECASE)
_KIRO = compile_re(r"(?:.*/)?(?<!checklists/)requirements\.md")
_KIRO_BESIDE = ("design.md", "tasks.md")
_NUMBERED = compile_re(r"\D*(\d+(?:\.\d+)*)\b.*")
_PROPOSAL = "proposal.md"
_OPENSPEC_BESIDE = compile_re(r"tasks\.md|design\.md|specs/(?:.*/)?spec\.md")
_CHANGE = compile_re(r"(?:Change|Proposal)(?: Proposal)?\s*:\s*", re.IGNORECASE)
_REQUIREMENT = compile_re(r"Requirement\s*:\s*(.*)", re.IGNORECASE)
_SCENARIO = compile_re(r"Scenario\s*:\s*(.*)", re.IGNORECASE)
_REMOVED = compile_re(r"REMOVED\b")
_DEMAND = compile_re(r"\[?[A-Z]{2,5}-\d+[a-z]?\b|Given\b")
_FEATURE = compile_re(r"Feature (?:Specification|Spec)\s*:\s*", re.IGNORECASE)
_INPUT = compile_re(r".*?User description:\s*")
_OPEN = compile_re(r"\[NEEDS CLARIFICATION:?\s*([^\]]*)\]")


def _read_page(texts: Mapping[str, str]) -> Iterator[ImportedSpec]:
    """Yield the file as one feature."""
    ((_, text),) = texts.items()
    yield read_markdown(text, texts)


def read_markdown(text: str, original: Mapping[str, str], *summary: str) -> ImportedSpec:
    """Return the items below "Acceptance criteria", or every box if there is no such place, as criteria.

    `summary` are headings that the summary may follow.
    """
    blocks = read_outline(text)
    chosen = find_accepted(blocks)
    joined = {index: join_item(blocks, index) for index in chosen}
    joined = joined or {index: block.text for index, block in enumerate(blocks) if block.is_box}
    title = find_title(blocks)
    above = {index: blocks[index].section for index in joined}  # "Acceptance criteria" says no more than that
    groups = {index: "" if text == title or ACCEPTANCE.match(text) else text for index, text in above.items()}
    criteria = [ImportedCriterion(item, groups[index]) for index, item in joined.items()]
    left = count_unused(blocks, joined)
    return ImportedSpec(title, tuple(criteria), original, find_summary(blocks, *summary), left=left)


def _read_story(texts: Mapping[str, str]) -> Iterator[ImportedSpec]:
    """Yield the story as a feature: its tasks are left to the agent."""
    ((_, text),) = texts.items()
    story = read_markdown(text, texts, "story", "user story")
    yield replace(story, title=_STORY.sub("", story.title))


def _read_issue(texts: Mapping[str, str]) -> Iterator[ImportedSpec]:
    """Yield the issue as a feature."""
    ((_, text),) = texts.items()
    issue = json.loads(text)
    if not isinstance(issue, dict) or not all(isinstance(issue.get(key), str) for key in ("title", "body", "url")):
        raise ValueError("gh printed no issue with a title, a body and an address")
    page = read_markdown(issue["body"], {f"issue {issue.get('number')}": issue["body"]})
    labels = [str(label.get("name", "")) for label in issue.get("labels") or () if isinstance(label, dict)]
    left = {**page.left, **({f"labels ({', '.join(labels)})": len(labels)} if labels else {})}
    left |= {"state closed": 1} if issue.get("state") == "CLOSED" else {}
    yield replace(page, title=issue["title"], source=issue["url"], left=left)


def _find_kiro(paths: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield each `requirements.md` with its design and its tasks."""
    known = set(paths)
    for path in filter(_KIRO.fullmatch, paths):
        folder = path.removesuffix("requirements.md")
        beside = [folder + name for name in _KIRO_BESIDE if folder + name in known]
        if beside or ".kiro/" in path:
            yield path, *beside


def _read_kiro(texts: Mapping[str, str]) -> Iterator[ImportedSpec]:
    """Yield the feature: each numbered sentence below a numbered requirement is a criterion, in whatever language."""
    main, *others = texts
    blocks = read_outline(texts[main])
    chosen: dict[int, ImportedCriterion] = {}
    for index, block in enumerate(blocks):
        if block.kind != "item" or not block.number or block.depth != 1:
            continue
        for title in reversed(block.above):
            if match := _NUMBERED.fullmatch(title):
                number = f"{match[1]}.{block.number}"
                chosen[index] = ImportedCriterion(f"{number} {join_item(blocks, index)}", title)
                break
    left = count_unused(blocks, chosen) | _count_tasks(texts, others)
    folder = main.rpartition("/")[0].rpartition("/")[2]
    summary = find_summary(blocks, "introduction", "overview")
    yield ImportedSpec(_name_folder(folder), tuple(chosen.values()), texts, summary, left=left)


def _count_tasks(texts: Mapping[str, str], paths: Sequence[str]) -> dict[str, int]:
    """Return how many tasks each file has that only says how to build it."""
    return {path.rpartition("/")[2]: count_steps(texts[path]) for path in paths}


def _name_folder(folder: str) -> str:
    return folder.replace("-", " ").capitalize()


def _find_openspec(paths: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield each change. Archived ones are built already: they count only if their own folder is imported."""
    changes = [path.removesuffix(_PROPOSAL) for path in paths if path.rpartition("/")[2] == _PROPOSAL]
    is_archive = all("/archive/" in f"/{folder}" for folder in changes)
    for folder in changes:
        if is_archive or "/archive/" not in f"/{folder}":
            below = (path for path in paths if path.startswith(folder))
            yield folder + _PROPOSAL, *(path for path in below if _OPENSPEC_BESIDE.fullmatch(path[len(folder) :]))


def _read_openspec(texts: Mapping[str, str]) -> Iterator[ImportedSpec]:
    """Yield the change as a feature: each scenario is a criterion, and each requirement without one."""
    main, *others = texts
    blocks = read_outline(texts[main])
    left = count_unused(blocks, ())
    criteria: list[ImportedCriterion] = []
    for path in others:
        if path.endswith("/spec.md"):
            outline = read_outline(texts[path])
            criteria += _read_requirements(outline)
            left += count_unused(outline, [i for i, b in enumerate(outline) if _SCENARIO.match(b.section)])
        else:
            left.update(_count_tasks(texts, [path]))
    title = _CHANGE.sub("", find_title(blocks))
    if title.casefold() in ("", "why", "summary", "proposal"):
        title = _name_folder(main.removesuffix(f"/{_PROPOSAL}").rpartition("/")[2])
    yield ImportedSpec(title, tuple(criteria), texts, find_summary(blocks, "why", "summary"), left=left)


def _read_requirements(blocks: Sequence[Block]) -> Iterator[ImportedCriterion]:
    """Yield the criteria of one capability, grouped by requirement."""
    for index, block in enumerate(blocks):
        if block.kind != "heading":
            continue
        below = _list_below(blocks, index)
        if scenario := _SCENARIO.match(block.text):
            steps, above = "; ".join(below), _REQUIREMENT.match(block.section)
            group = above[1] if above else block.section
            yield ImportedCriterion(f"{scenario[1]}: {steps}" if steps else scenario[1], group)
        elif requirement := _REQUIREMENT.match(block.text):
            following = next((b for b in blocks[index + 1 :] if b.kind == "heading"), None)
            if any(map(_REMOVED.match, block.above)):
                yield ImportedCriterion(f"Removed: {requirement[1]}", requirement[1])
            elif not (following and _SCENARIO.match(following.text)):
                yield ImportedCriterion(" ".join(below) or requirement[1], requirement[1])


def _list_below(blocks: Sequence[Block], index: int) -> list[str]:
    """Return the text below a heading, up to the next."""
    texts = []
    for at in range(index + 1, len(blocks)):
        if blocks[at].kind == "heading":
            break
        if blocks[at].depth < 2 and not (blocks[at].kind == "text" and blocks[at].depth):
            texts.append(join_item(blocks, at) if blocks[at].kind == "item" else blocks[at].text)
    return texts


def _read_speckit(texts: Mapping[str, str]) -> Iterator[ImportedSpec]:
    """Yield the feature: requirements, success criteria and acceptance scenarios are its criteria."""
    main, *others = texts
    blocks = read_outline(texts[main])
    accepted = set(find_accepted(blocks))
    items = ((index, block) for index, block in enumerate(blocks) if (block.kind, block.depth) == ("item", 1))
    chosen = [index for index, block in items if index in accepted or _DEMAND.match(block.text)]
    criteria = [ImportedCriterion(join_item(blocks, index), blocks[index].section) for index in chosen]
    left = count_unused(blocks, chosen) | _count_tasks(texts, others)
    summary = _INPUT.sub("", find_summary(blocks, "summary", "overview"), count=1).strip('"')
    title = _FEATURE.sub("", find_title(blocks))
    yield ImportedSpec(title, tuple(criteria), texts, summary, tuple(_OPEN.findall(texts[main])), left)


markdown = Format("Markdown", _read_page, compile_re(r".*\.(?:md|markdown)"))
bmad = Format(
    "BMAD",
    _read_story,
    compile_re(r"(?:.*/)?(?:stories/\d[^/]*|[^/]*\.story|implementation-artifacts/\d+-\d+-[^/]*)\.md"),
)
github = Format("GitHub issue", _read_issue)  # an issue is in no file
kiro = Format("Kiro", _read_kiro, find=_find_kiro)
openspec = Format("OpenSpec", _read_openspec, find=_find_openspec)
speckit = Format(
    "spec-kit", _read_speckit, compile_re(r"(?!.*openspec/)(?:.*/)?spec\.md"), BESIDE=("plan.md", "tasks.md")
)
