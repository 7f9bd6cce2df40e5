"""Ask the judge's model for proposals in one call, with what the project has on disk: files, modules, programs.

Nothing of the project is run. What is malformed in the answer falls back to plain rules.
"""

import json
import re
import shlex
import shutil
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct, ValidationError, convert

from aigon.checks.execution import render_command
from aigon.compile.proposals import LONGEST_COMMAND, Confidence, Proposal, Surroundings, find_edit, find_flaw
from aigon.config.loading import open_work_tree
from aigon.files.resources import read_prompt
from aigon.git.person import Checkout
from aigon.judge.backends import ask_redacted
from aigon.judge.question import make_question
from aigon.judge.reply import StrictModel
from aigon.model.checks import Check, ProjectReader
from aigon.model.criteria import Criterion, CriterionKind, find_bound_checks
from aigon.model.requests import JudgeAnswer, JudgeQuestion
from aigon.run.prepare import Prepared
from aigon.spec.annotation import read_expectation
from aigon.text.patterns import compile_re
from aigon.text.quoting import code_block, fold

_MODULE = compile_re(r"(?P<src>src/)?(?P<path>(?:[A-Za-z_]\w*/)*[A-Za-z_]\w*)\.py")
_NOT_OWN = compile_re(
    r"(?:^|/)(?:tests?|docs|examples|scripts|benchmarks|setup|conftest|noxfile|test_\w+|\w+_test)(?:[/.]|$)"
)
_MOST_WORDS, _MOST_RELATED, _LONGEST_EXCERPT = 20, 5, 3_000


def look_around(project: ProjectReader, checks: Sequence[Check], path: str, texts: Iterable[str]) -> Surroundings:
    """Return what `project` has; `path` is the PATH that its commands will get, `texts` those of the criteria."""
    # Specs and their logs hold the words of the criteria, and prove none of them.
    files = [file for file in project.glob("**") if not file.startswith("docs/specs/")]
    python = next((name for name in ("python", "python3") if shutil.which(name, path=path)), "")
    modules = {match["path"]: match["src"] or "" for file in files if (match := _MODULE.fullmatch(file))}
    own = {name: src for name, src in modules.items() if not _NOT_OWN.search(name)}
    spans = (part for text in texts for found in re.findall(r"`([^`]+)`|(\S+ --?h\w*)", text) for part in found)
    words = {span.split()[0] for span in spans if span.strip()}
    return Surroundings(
        checks={check.name: check.role for check in checks},
        shown={check.name: render_command(check) for check in checks},
        files=tuple(files),
        entries={**(_find_python_entries(project, own, python) if python else {}), **_find_node_entries(project)},
        programs=frozenset(w for w in words if re.fullmatch(r"[\w.+-]+", w) and shutil.which(w, path=path)),
        python=python,
    )


def _find_python_entries(project: ProjectReader, own: dict[str, str], python: str) -> dict[str, str]:
    """Return the command line that starts each of the project's Python programs without installing it, by name."""

    def start(path: str, src: str) -> str:
        return f"{'PYTHONPATH=src ' if src else ''}{python} -m {path.replace('/', '.')}"

    packages = {path.removesuffix("/__main__"): src for path, src in own.items() if path.endswith("/__main__")}
    entries = {path.replace("/", "."): start(path, src) for path, src in packages.items()}
    try:
        document = tomllib.loads((project.read("pyproject.toml") or b"").decode("utf-8", "replace"))
        scripts = dict(document.get("project", {}).get("scripts", {}))
    except (ValueError, TypeError, AttributeError, RecursionError):
        scripts = {}
    for name, target in scripts.items():
        path = str(target).partition(":")[0].replace(".", "/")
        top = path.partition("/")[0]
        src = next((own[each] for each in own if each.partition("/")[0] == top), None)
        if src is not None:
            entries[name] = entries.get(top) or start(path, src)
    return entries


def _find_node_entries(project: ProjectReader) -> dict[str, str]:
    try:
        package = json.loads(project.read("package.json") or b"{}")
        named = package.get("bin") or {}
        bins = {package.get("name"): named} if isinstance(named, str) else dict(named)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}
    return {str(name): f"node {shlex.quote(str(path).removeprefix('./'))}" for name, path in bins.items() if name}


def find_related_files(checkout: Checkout, text: str) -> Mapping[str, str]:
    """Return the beginning of the tracked files that share most words with a text, the rarer words before others."""
    weights: dict[str, float] = {}
    for word in [*dict.fromkeys(re.findall(r"[^\W\d_]{4,}", text.casefold()))][:_MOST_WORDS]:
        stem = word.removesuffix("s")
        found = checkout.ask("grep", "-I", "-i", "-l", "-z", "-F", "-e", stem, "--", ":/", ":(top,exclude)docs/specs")
        paths = [path for path in (found or "").split("\0") if path]
        for path in paths:
            weights[path] = weights.get(path, 0) + (2 if stem in path.casefold() else 1) / len(paths)
    read, excerpts = open_work_tree(checkout.root), {}
    for path in sorted(weights, key=lambda path: (-weights[path], path))[:_MOST_RELATED]:
        excerpts[path] = (read(path) or b"").decode("utf-8", "replace")[:_LONGEST_EXCERPT]
    return excerpts


_LONGEST_REASON = 300
"""Characters of a reason that are kept."""
_MOST_FILES = 300
_LONGEST_SPEC = 20_000


class ModelProposal(StrictModel, frozen=True):
    """A model's proposal for one criterion; `command` is empty for a judge and a person."""

    criterion: int
    kind: CriterionKind
    command: str
    reason: str
    confidence: Confidence


class ModelReply(StrictModel, frozen=True):
    """The reply that is asked for."""

    proposals: list[ModelProposal]


class ModelProposals(Struct, frozen=True):
    """The usable part of a model's answer, who was asked, and why the rest is unusable; `answer` says what it cost."""

    backend: str
    name: str
    answer: JudgeAnswer
    proposals: Mapping[int, Proposal]
    wrong: Mapping[int, str]


def ask_model(
    prepared: Prepared,
    criteria: Sequence[Criterion],
    plain: Mapping[int, Proposal],
    around: Surroundings,
    say: Callable[[str], None],
) -> ModelProposals | None:
    """Ask the configured judge; None without one. A failure is in the answer and never raised."""
    settings = prepared.judge
    if settings is None:
        return None
    say(f"Asking {settings.backend} ({settings.model}) for proposals ...")
    spec = prepared.spec.raw.decode("utf-8", "replace")
    answer = ask_redacted(build_question(spec, criteria, plain, around), settings, prepared.env)
    proposals, wrong = ({}, {}) if answer.failure else read_answer(answer.text, criteria, around)
    return ModelProposals(settings.backend, settings.model, answer, proposals, wrong)


def build_question(
    spec: str, criteria: Sequence[Criterion], plain: Mapping[int, Proposal], around: Surroundings
) -> JudgeQuestion:
    """Return one question about all of these criteria. `plain` is what the rules propose, to be bettered."""
    checks = [f"{name} ({role}): {around.shown.get(name, '')}" for name, role in around.checks.items()]
    files = list(around.files[:_MOST_FILES])
    shared = (
        "The spec:",
        code_block(spec[:_LONGEST_SPEC], "markdown"),
        "The project's checks:",
        code_block("\n".join(checks) or "none"),
        f"Its files ({len(files)} of {len(around.files)}):",
        code_block("\n".join(files)),
    )
    ruled = {number: f"{p.kind}: {p.command}" if p.command else p.kind for number, p in plain.items()}
    listed = [f"{c.number}. {fold(c.text, 1000)}\n   plain rules: {ruled[c.number]}" for c in criteria]
    (rules,) = read_prompt("propose", LONGEST=LONGEST_COMMAND)
    data = {
        "spec": spec[:_LONGEST_SPEC],
        "criteria": [{"number": c.number, "text": c.text, "plain": ruled[c.number]} for c in criteria],
        "checks": dict(around.shown),
        "files": files,
    }
    task = "Propose for each of these criteria, by its number:\n\n" + code_block("\n".join(listed))
    return make_question("propose", rules, "\n\n".join(shared), task, ModelReply, data)


def read_answer(
    text: str, criteria: Sequence[Criterion], around: Surroundings
) -> tuple[dict[int, Proposal], dict[int, str]]:
    """Return the proposals by criterion, and for each of `criteria` without a usable one the reason why."""
    numbers = {criterion.number for criterion in criteria}
    try:
        items = json.loads(text)["proposals"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return {}, dict.fromkeys(numbers, "the model's answer is not in the format that was asked for")
    proposals: dict[int, Proposal] = {}
    wrong: dict[int, str] = {}
    for item in items if isinstance(items, list) else ():
        number = item.get("criterion") if isinstance(item, dict) else None
        if type(number) is not int or number not in numbers:
            continue
        if number in proposals or number in wrong:
            proposals.pop(number, None)
            wrong[number] = "the model proposed more than one thing"
        elif isinstance(proposal := _read_proposal(item, around), str):
            wrong[number] = proposal
        else:
            proposals[number] = proposal
    left_out = numbers - proposals.keys() - wrong.keys()
    return proposals, {**wrong, **dict.fromkeys(left_out, "the model proposed nothing usable")}


def _read_proposal(item: Mapping[str, object], around: Surroundings) -> Proposal | str:
    """Return the proposal, or why it cannot be one."""
    try:
        said = convert({key: item.get(key) for key in ModelProposal.__struct_fields__}, ModelProposal)
    except ValidationError:
        return "the model's proposal is malformed"
    command = "" if said.kind in ("judge", "human") else said.command.strip()
    reason = fold(said.reason, _LONGEST_REASON) or "the model gave no reason"
    if said.kind not in ("judge", "human") and (why := _find_fault(said.kind, command, around)):
        return f"the model proposed `{fold(command, 100)}`, and {why}"
    return Proposal(said.kind, command or None, reason, said.confidence, "judge")


def _find_fault(kind: CriterionKind, command: str, around: Surroundings) -> str:
    if flaw := find_flaw(command):
        return flaw
    if kind == "check":
        return "" if find_bound_checks(command, around.checks) else "this project has no check of that name"
    try:
        expected = read_expectation(kind, command)
    except ValueError as error:
        return f"it {error}"
    edit = find_edit(expected.script) if expected else ""
    return f"it edits: {edit}" if edit else ""
