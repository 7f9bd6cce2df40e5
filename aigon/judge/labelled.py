"""A set of changes of which the truth is known, as files: templates/judging/README.md says what they look like."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from aigon.errors import AigonError, usage
from aigon.judge.accuracy import Truth
from aigon.judge.case import Observed
from aigon.model.checks import Finding
from aigon.model.criteria import Spec
from aigon.spec.files import read_file
from aigon.text.documents import Node
from aigon.text.yaml import parsed

FILE = "case.yaml"
TRUTHS: tuple[Truth, ...] = ("met", "unmet")


@dataclass(frozen=True, slots=True)
class Labelled:
    """One change: `folder` holds it, `truth` says of each criterion that a judge decides whether it is met."""

    name: str
    about: str
    folder: Path
    spec: Spec
    truth: Mapping[int, Truth]
    observed: tuple[Observed, ...] = ()
    delete: tuple[str, ...] = ()


def cases(folder: Path) -> tuple[Labelled, ...]:
    """The cases in `folder`, by name; the folder may be one itself.

    Raises AigonError (exit 2) where there are none, and for a case that is not complete.
    """
    if (folder / FILE).is_file():
        return (case(folder),)
    found = sorted(file.parent for file in folder.glob(f"*/{FILE}"))
    if not found:
        hint = f"Each case is a folder with a {FILE} and a spec.md; `aigon judge-eval --help` tells more"
        raise usage("There are no labelled changes here", where=str(folder), hint=hint)
    return tuple(map(case, found))


def case(folder: Path) -> Labelled:
    """The case in one folder. Raises AigonError (exit 2), naming the file and the key."""
    file = folder / FILE
    keys = parsed(_content(file), str(file)).fields(("about", "truth", "checks", "delete"), ("about", "truth"))
    if not any((folder / name).exists() for name in ("after", "change.diff")) and "delete" not in keys:
        raise usage("The case has no change", where=str(folder), hint="Put changed files into after/, or a change.diff")
    spec = read_file(folder / "spec.md", str(folder / "spec.md"))
    return Labelled(
        name=folder.resolve().name,
        about=keys["about"].text(),
        folder=folder,
        spec=spec,
        truth=_truth(spec, keys["truth"]),
        observed=tuple(map(_observed, keys["checks"].items())) if "checks" in keys else (),
        delete=tuple(node.inside() for node in keys["delete"].items()) if "delete" in keys else (),
    )


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise usage(f"The case cannot be read: {error.strerror}", where=str(file)) from error


def _truth(spec: Spec, node: Node) -> dict[int, Truth]:
    """By criterion. Exactly those that a judge decides have to have a label."""
    labels = {key: label.choice(TRUTHS) for key, label in node.pairs().items()}
    asked = {str(criterion.number) for criterion in spec.criteria if criterion.kind == "judge"}
    if labels.keys() != asked:
        raise _not_the_same(node, asked, set(labels))
    return {int(number): label for number, label in labels.items()}


def _not_the_same(node: Node, asked: set[str], labels: set[str]) -> AigonError:
    odd = ", ".join(sorted(asked ^ labels))
    hint = "A judge decides the criteria without an annotation that no check decides: `aigon spec-show` lists them"
    return node.wrong(f"does not fit the criteria of spec.md that a judge decides: {odd}", hint)


def _observed(node: Node) -> Observed:
    """A check that was green, as everything is when a judge is asked."""
    keys = node.fields(("title", "summary", "output"), ("title",))
    title, summary, output = (keys[key].text() if key in keys else "" for key in ("title", "summary", "output"))
    finding = Finding(title.lower(), "tests", title, "pass", summary or "ok", excerpt=output)
    return Observed(finding, output)
