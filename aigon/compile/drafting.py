"""Have a model draft a spec from an idea in one call. What it writes is a stranger's text until a person says yes."""

import difflib
import json
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, get_args

from msgspec import Meta, Struct

from aigon.checks.project import ProjectOnDisk
from aigon.checks.project_checks import resolve_checks
from aigon.compile.compile import rewrite_spec
from aigon.compile.model import find_related_files, look_around
from aigon.compile.proposals import Surroundings, find_flaw
from aigon.config.loading import build_tool_path, load_configuration, open_work_tree
from aigon.config.models import JudgeConfig
from aigon.errors import AigonError, unavailable
from aigon.files.resources import read_prompt
from aigon.git.person import Checkout
from aigon.job.bookkeeping import Committing
from aigon.job.job import hold_checkout, open_main_checkout
from aigon.job.options import Options
from aigon.job.spec_locations import SpecLocation, find_feature_here
from aigon.judge.backends import ask_redacted, choose_judge
from aigon.judge.question import make_question
from aigon.judge.reply import StrictModel
from aigon.model.checks import Check
from aigon.model.criteria import CriterionKind, ImportedCriterion, ImportedSpec
from aigon.model.requests import JudgeAnswer, JudgeQuestion
from aigon.run.actors import find_judge
from aigon.run.feature_stages import make_feature, write_features
from aigon.spec.criteria import find_deciding_role
from aigon.spec.document import parse_spec
from aigon.spec.features import Feature
from aigon.spec.files import refuse_closed
from aigon.spec.foreign import list_decisions
from aigon.spec.writing import compose_imported_spec, merge_spec
from aigon.text.amounts import MIB
from aigon.text.quoting import clean, code_block, fold

_MOST_CRITERIA, _MOST_QUESTIONS = 20, 10
_LONGEST_TEXT, _LONGEST_SUMMARY = 500, 1_500
_LONGEST_README, _LONGEST_SPEC, _MOST_FILES = 6_000, 20_000, 300
_KINDS: tuple[CriterionKind, ...] = get_args(CriterionKind)


class DraftedCriterion(StrictModel, frozen=True):
    """A model's draft of one criterion; `command` is empty for a judge and a person."""

    text: str
    kind: Annotated[str, Meta(extra_json_schema={"enum": list(_KINDS)})]
    command: str


class DraftReply(StrictModel, frozen=True):
    """The reply that is asked for."""

    summary: str
    criteria: list[DraftedCriterion]
    questions: list[str]


Say = Callable[[str], None]


class SpecDraft(Struct, frozen=True):
    """The file of a feature before (empty for a new one) and after, and the call that it cost."""

    feature: Feature
    before: bytes
    after: bytes
    parts: ImportedSpec
    answer: JudgeAnswer

    def render_diff(self) -> str:
        """Return what would change, for a terminal."""
        old, new = (clean(raw.decode("utf-8", "replace")).splitlines() for raw in (self.before, self.after))
        return "\n".join(difflib.unified_diff(old, new, "before", "after", lineterm="", n=1))


def draft_feature(checkout: Checkout, title: str, slug: str, priority: str, agent: str, say: Say) -> SpecDraft:
    """Return a draft for a new feature. Raises AigonError: 2 if it exists, 6 if no agent can draft it or none did."""
    feature = make_feature(checkout, title, slug)
    parts, answer = _ask(checkout, title, "", agent, say)
    return SpecDraft(feature, b"", compose_imported_spec(parts, "", priority), parts, answer)


def draft_spec(checkout: Checkout, wanted: str, agent: str, say: Say) -> SpecDraft:
    """Return a draft for the spec of a feature: what is in it stays. Raises AigonError as `draft_feature` does."""
    feature = find_feature_here(checkout.root, checkout.common_dir, wanted)
    refuse_closed(feature)
    before = SpecLocation(feature, checkout.root).read()
    spec = parse_spec(before)
    parts, answer = _ask(checkout, spec.title, before.decode("utf-8", "replace"), agent, say)
    after = merge_spec(before, compose_imported_spec(parts, ""))
    changed = list_decisions(parse_spec(after)) ^ list_decisions(spec)
    if any(not decision.startswith("check: ") for _, decision in changed):  # "All tests pass" needs no annotation
        hint = "Its heading `## Acceptance Criteria` may be in a place that hides it"
        raise unavailable("The draft cannot be written into the spec as it is", where=feature.path, hint=hint)
    return SpecDraft(feature, before, after, parts, answer)


def write_draft(checkout: Checkout, draft: SpecDraft, how: Committing) -> None:
    """Write a draft: a new feature is committed, another one waits for the next run.

    Raises AigonError (exit 7) if the file was changed meanwhile or another aigon uses this checkout.
    """
    if draft.before:
        rewrite_spec(checkout, draft.feature.path, draft.before, draft.after)
        return
    with hold_checkout(checkout):
        write_features(checkout, {draft.feature: draft.after}, how)


def _ask(checkout: Checkout, title: str, spec: str, agent: str, say: Say) -> tuple[ImportedSpec, JudgeAnswer]:
    """Return the draft. Raises AigonError: 2 for the configuration, 6 without an agent or a draft."""
    config, env = load_configuration(open_work_tree(checkout.root)), dict(os.environ)
    own = config.judge or JudgeConfig()
    if agent:
        config = config.update(judge=own.update(agent=agent))
    chosen = "agent" if agent else choose_judge(own, os.environ.get("AIGON_JUDGE"))
    with open_main_checkout(checkout) as (main, _):
        settings = None if chosen == "none" else find_judge(config, chosen, (), env, main.root)
    if settings is None:
        hint = "Name an agent (--with claude), or set up a judge: docs/judges.md"
        raise unavailable("No agent can draft it", where="--with", hint=hint)
    checks: tuple[Check, ...] = ()
    with suppress(AigonError):
        checks = resolve_checks(checkout.root, config, None, Options(""), env).checks
    path = build_tool_path(checkout.root, env.get("PATH", ""))
    around = look_around(ProjectOnDisk(checkout.root, env), checks, path, [title])
    say(f"Asking {settings.backend} ({settings.model}) for a draft ...")
    answer = ask_redacted(_build_question(checkout, title, spec, around), settings, os.environ)
    if answer.failure:
        raise unavailable("There is no draft", where=settings.backend, hint=fold(answer.failure))
    return _read_draft(answer.text, title), answer


def _build_question(checkout: Checkout, title: str, spec: str, around: Surroundings) -> JudgeQuestion:
    readme = next((path for path in around.files if path.casefold() in ("readme.md", "readme.rst", "readme")), "")
    text = (open_work_tree(checkout.root)(readme) or b"") if readme else b""
    files = list(around.files[:_MOST_FILES])
    checks = [f"{name} ({role}): {around.shown[name]}" for name, role in around.checks.items()]
    related = find_related_files(checkout, title)
    (rules,) = read_prompt("draft", CRITERIA=_MOST_CRITERIA, QUESTIONS=_MOST_QUESTIONS)
    data = {
        "title": title,
        "spec": spec[:_LONGEST_SPEC],
        "readme": text.decode("utf-8", "replace")[:_LONGEST_README],
        "checks": checks,
        "files": files,
        "programs": dict(around.entries),
        "related": related,
    }
    shared = [
        ("The project's README:", data["readme"] or "none"),
        ("Its checks:", "\n".join(checks) or "none"),
        ("What starts its programs:", "\n".join(around.entries.values()) or "none"),
        (f"Its files ({len(files)} of {len(around.files)}):", "\n".join(files)),
        *((f"The beginning of {path}:", text) for path, text in related.items()),
    ]
    task = f"Draft the spec of this feature:\n\n{code_block(title)}"
    if spec:
        task += f"\n\nIts spec so far, which stays: add what is missing.\n\n{code_block(spec[:_LONGEST_SPEC])}"
    listed = "\n\n".join(f"{head}\n\n{code_block(str(body))}" for head, body in shared)
    return make_question("draft", rules, listed, task, DraftReply, data)


def _read_draft(text: str, title: str) -> ImportedSpec:
    """Return the parts of a draft within bounds. Raises AigonError (exit 6) for one that cannot be used."""
    criteria: list[ImportedCriterion] = []
    try:
        document = json.loads(text if len(text) <= MIB else "")
        for item in document["criteria"][:_MOST_CRITERIA]:
            kind, command = str(item.get("kind", "")), str(item.get("command") or "").strip()
            says = fold(str(item["text"]), _LONGEST_TEXT)
            is_usable = kind == "human" or (kind in _KINDS and kind != "judge" and not find_flaw(command))
            is_usable = is_usable and not find_deciding_role(says)  # "All tests pass" says it already
            annotation = (kind if kind == "human" else f"{kind}: {command}") if is_usable else ""
            criteria += [ImportedCriterion(says, annotation=annotation)] if says else []
        questions = [fold(each, _LONGEST_TEXT) for each in document["questions"] if isinstance(each, str)]
        summary = document["summary"] if isinstance(document["summary"], str) else ""
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        criteria = []
    if not criteria:
        what, hint = "The draft cannot be used: it has no criteria in the form that was asked for", "Run it again"
        raise unavailable(what, where=fold(text, 100), hint=hint)
    asked = tuple(filter(None, questions))[:_MOST_QUESTIONS]
    return ImportedSpec(title, tuple(criteria), {}, fold(summary, _LONGEST_SUMMARY), asked)
