"""Measure a judge: every labelled change is judged as in a loop, and the verdicts are compared with the truth.

templates/judging/README.md describes the labelled changes. The questions, the checks of quotes and the refuting call
are those of a loop (`aigon.judge.judgement`).
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from aigon.config.loading import load_configuration, open_work_tree
from aigon.config.models import JudgeConfig
from aigon.errors import AigonError, environment, unavailable, usage
from aigon.files.folders import TemporaryFolder
from aigon.files.resources import find_resource
from aigon.git.diff import diff_trees
from aigon.git.person import Checkout
from aigon.git.trusted import TrustedGit
from aigon.judge.accuracy import AccuracyReport, JudgedCase, LabelledVerdict, Truth
from aigon.judge.backends import ask_in_thread, choose_judge
from aigon.judge.judgement import judge_change
from aigon.judge.question import ObservedCheck
from aigon.model.changes import FileDiff
from aigon.model.checks import Finding
from aigon.model.criteria import Spec
from aigon.model.requests import JudgeAnswer, JudgeQuestion, JudgeSettings
from aigon.process import orphans
from aigon.process.start import capture_output
from aigon.process.stop import Stop
from aigon.run.actors import find_judge
from aigon.spec.files import read_spec_file
from aigon.text.documents import DocumentNode, parse_yaml

FILE = "case.yaml"
TRUTHS: tuple[Truth, ...] = ("met", "unmet")
Progress = Callable[[str], None]


class LabelledCase(Struct, frozen=True):
    """One change: `folder` holds it, `truth` says of each criterion that a judge decides whether it is met."""

    name: str
    about: str
    folder: Path
    spec: Spec
    truth: Mapping[int, Truth]
    observed: tuple[ObservedCheck, ...] = ()
    delete: tuple[str, ...] = ()


def load_cases(folder: Path) -> tuple[LabelledCase, ...]:
    """Return the cases in `folder`, by name; the folder may be one itself.

    Raises AigonError (exit 2) without cases, and for one that is not complete.
    """
    if (folder / FILE).is_file():
        return (load_case(folder),)
    found = sorted(file.parent for file in folder.glob(f"*/{FILE}"))
    if not found:
        hint = f"Each case is a folder with a {FILE} and a spec.md; `aigon judge-eval --help` tells more"
        raise usage("There are no labelled changes here", where=str(folder), hint=hint)
    return tuple(map(load_case, found))


def load_case(folder: Path) -> LabelledCase:
    """Return the case in one folder. Raises AigonError (exit 2), naming the file and the key."""
    file = folder / FILE
    try:
        content = file.read_bytes()
    except OSError as error:
        raise usage(f"The case cannot be read: {error.strerror}", where=str(file)) from error
    keys = parse_yaml(content, str(file)).fields(("about", "truth", "checks", "delete"), ("about", "truth"))
    if not any((folder / name).exists() for name in ("after", "change.diff")) and "delete" not in keys:
        raise usage("The case has no change", where=str(folder), hint="Put changed files into after/, or a change.diff")
    spec = read_spec_file(folder / "spec.md", str(folder / "spec.md"))
    return LabelledCase(
        name=folder.resolve().name,
        about=keys["about"].text(),
        folder=folder,
        spec=spec,
        truth=_parse_truth(spec, keys["truth"]),
        observed=tuple(map(_parse_check, keys["checks"].items())) if "checks" in keys else (),
        delete=tuple(node.inside() for node in keys["delete"].items()) if "delete" in keys else (),
    )


def _parse_truth(spec: Spec, node: DocumentNode) -> dict[int, Truth]:
    """Return the labels by criterion: exactly those that a judge decides have to have one."""
    labels = {key: label.choice(TRUTHS) for key, label in node.pairs().items()}
    asked = {str(criterion.number) for criterion in spec.criteria if criterion.kind == "judge"}
    if odd := ", ".join(sorted(asked ^ labels.keys())):
        hint = "A judge decides the criteria without an annotation that no check decides: `aigon spec-show` lists them"
        raise node.wrong(f"does not fit the criteria of spec.md that a judge decides: {odd}", hint)
    return {int(number): label for number, label in labels.items()}


def _parse_check(node: DocumentNode) -> ObservedCheck:
    """Return a check that passed, as every check has when a judge is asked."""
    keys = node.fields(("title", "summary", "output"), ("title",))
    title, summary, output = (keys[key].text() if key in keys else "" for key in ("title", "summary", "output"))
    return ObservedCheck(Finding(title.lower(), "tests", title, "pass", summary or "ok", excerpt=output), output)


class LabelledBench(Struct, frozen=True):
    """A place where changes are made: `root` is the work tree of `git`."""

    root: Path
    git: TrustedGit


@contextmanager
def open_bench() -> Iterator[LabelledBench]:
    """Yield a repository for the length of an evaluation. Raises AigonError (exit 7) when git cannot make one."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    with TemporaryFolder("judge-eval") as folder:
        root = folder / "tree"
        root.mkdir()
        for arguments in (
            ("init", "-q"),
            ("config", "user.name", "aigon judge-eval"),
            ("config", "user.email", "judge-eval@example.invalid"),
        ):
            code, _, err = capture_output(("git", *arguments), cwd=root, env=env)
            if code:
                hint = err.decode(errors="replace").strip()
                raise environment(f"git {arguments[0]} failed", where=str(root), hint=hint)
        with Checkout.open(root) as checkout:
            yield LabelledBench(checkout.root, TrustedGit(checkout, folder / "git"))


def diff_case(bench: LabelledBench, case: LabelledCase) -> tuple[FileDiff, ...]:
    """Return what the case changes. Raises AigonError (exit 2) if its diff does not apply, or nothing changes."""
    for entry in bench.root.iterdir():
        if entry.name != ".git":
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    _copy_files(case.folder / "before", bench.root)
    base = _write_tree(bench)
    _copy_files(case.folder / "after", bench.root)
    file = case.folder / "change.diff"
    if file.is_file():
        try:
            bench.git.run("apply", "--whitespace=nowarn", str(file.resolve()))
        except AigonError as error:
            hint = "It has to apply to before/, with the prefixes a/ and b/"
            raise usage(f"The diff does not apply: {error.hint}", where=str(file), hint=hint) from None
    for path in case.delete:
        try:
            (bench.root / path).unlink()
        except OSError as error:
            raise usage(f"{path} cannot be deleted: {error.strerror}", where=str(case.folder / FILE)) from None
    diffs = diff_trees(bench.git, base, _write_tree(bench), frozenset())
    if not diffs:
        raise usage("The case changes nothing", where=str(case.folder), hint="Compare its before/ with its after/")
    return diffs


def _copy_files(source: Path, root: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, root, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git"))


def _write_tree(bench: LabelledBench) -> str:
    bench.git.run("add", "--all", "--force", ".")
    return bench.git.run("write-tree").decode().strip()


class JudgeEvalRequest(Struct, frozen=True):
    """Options that a person gave; None for one that was not given. `set` is a folder, None for the shipped one."""

    set: str | None = None
    judge: str | None = None
    model: str | None = None
    mode: str | None = None
    repeat: int = 1


class _Stopped(Exception):
    """Somebody asked for the end."""


def evaluate_judge(start: Path, asked: JudgeEvalRequest, progress: Progress) -> tuple[AccuracyReport, str]:
    """Judge every case as often as asked. Return the report, and the signal that ended it early, if one did.

    Raises AigonError: 2 for a set or configuration that is malformed, 6 if the judge cannot be asked.
    """
    folder = Path(asked.set) if asked.set else find_resource("templates", "judging")
    labelled = load_cases(folder)
    settings = _find_measured_judge(start, asked)
    criteria = sum(len(case.truth) for case in labelled)
    progress(f"{settings.backend} ({settings.model}) judges {len(labelled)} changes with {criteria} criteria")
    orphans.adopt_orphans()
    with Stop(patient=False).handling() as stop:
        try:
            judged = tuple(_judge_all(labelled, settings, asked.repeat, stop, progress))
        finally:
            stop.halt()
            orphans.sweep()
    expected = len(labelled) * asked.repeat
    complete = len(judged) == expected
    report = AccuracyReport(settings.backend, settings.model, settings.mode, str(folder), expected, judged, complete)
    return report, "" if complete else stop.reason


def _find_measured_judge(start: Path, asked: JudgeEvalRequest) -> JudgeSettings:
    """Return the judge that was named, else the configured one. Raises AigonError (exit 6) without one."""
    root = start
    try:
        with Checkout.open(start) as checkout:
            root = checkout.root
    except AigonError:  # a judge can be measured outside of a checkout, too
        root = start
    config = load_configuration(open_work_tree(root))
    changes = {key: value for key, value in (("model", asked.model), ("mode", asked.mode)) if value}
    own = (config.judge or JudgeConfig()).update(**changes)
    chosen = choose_judge(own, asked.judge)
    config = config.update(judge=own)
    judge = None if chosen == "none" else find_judge(config, chosen, (), dict(os.environ), root)
    if judge is None:
        hint = "Name one: --judge anthropic, agent or command. If one cannot be asked, the error says what it needs"
        raise unavailable("There is no judge to measure", where="--judge, AIGON_JUDGE or judge.backend", hint=hint)
    return judge


def _judge_all(
    labelled: Sequence[LabelledCase], settings: JudgeSettings, repeat: int, stop: Stop, progress: Progress
) -> Iterator[JudgedCase]:
    """Yield every case in every round, until a person asks for the end."""
    with open_bench() as place:  # what is wrong with a set is said before it costs
        cases = [(case, diff_case(place, case)) for case in labelled]
    due = [(round_, *case) for round_ in range(1, repeat + 1) for case in cases]
    for number, (round_, case, diffs) in enumerate(due, 1):
        progress(f"{number}/{len(due)} {case.name}")
        try:
            yield _judge_case(case, diffs, settings, round_, stop)
        except _Stopped:
            return


def _judge_case(
    case: LabelledCase, diffs: Sequence[FileDiff], settings: JudgeSettings, round_: int, stop: Stop
) -> JudgedCase:
    begun = time.monotonic()
    criteria = tuple(criterion for criterion in case.spec.criteria if criterion.number in case.truth)
    spec = case.spec.raw.decode(errors="replace")
    judgement = judge_change(settings, criteria, spec, diffs, case.observed, ask=lambda q: _ask(q, settings, stop))
    verdicts = {verdict.criterion: verdict for verdict in judgement.verdicts}
    decided = tuple(
        LabelledVerdict(c.number, c.text, case.truth[c.number], verdicts[c.number].status, verdicts[c.number].reason)
        for c in criteria
    )
    answers = tuple(call.answer for call in judgement.calls)
    took = time.monotonic() - begun
    return JudgedCase(case.name, case.about, round_, decided, judgement.rejected, answers, took)


def _ask(question: JudgeQuestion, settings: JudgeSettings, stop: Stop) -> JudgeAnswer:
    """Ask once. Raises AigonError (exit 6) if no call can help."""
    answer = ask_in_thread(question, settings, stop)
    if stop.now:
        raise _Stopped
    if not answer.available:
        raise unavailable(f"The judge {settings.backend} cannot be asked", where="--judge", hint=answer.failure)
    return answer
