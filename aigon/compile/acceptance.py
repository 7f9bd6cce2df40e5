"""A person accepts annotations that came with a text from outside."""

from collections.abc import Sequence
from typing import cast

from msgspec import Struct, to_builtins

from aigon.compile.safety import find_edit, find_flaw
from aigon.errors import environment, usage
from aigon.files.atomic import write_atomic
from aigon.git.person import Checkout
from aigon.job.seat import hold_checkout
from aigon.job.spec_locations import SpecLocation, find_feature_here
from aigon.model.criteria import CriterionKind
from aigon.spec.expectation import find_script
from aigon.spec.features import Feature
from aigon.spec.foreign import ForeignAnnotation, accept_proposals, list_proposals
from aigon.text.quoting import clean, fold


class ForeignProposals(Struct, frozen=True):
    """The proposals that a person is about to accept from the spec with the bytes `raw`."""

    feature: Feature
    raw: bytes
    chosen: tuple[ForeignAnnotation, ...]


def find_foreign(checkout: Checkout, wanted: str, numbers: Sequence[int]) -> ForeignProposals:
    """Return the proposals of these numbers, or all, in the spec as this checkout has it.

    Raises AigonError (exit 2) if there are none, and for one that holds what a person cannot see.
    """
    feature = find_feature_here(checkout.root, checkout.common_dir, wanted)
    raw = SpecLocation(feature, checkout.root).read()
    found = list_proposals(raw)
    chosen = tuple(each for each in found if not numbers or each.number in numbers)
    unknown = sorted({*numbers} - {each.number for each in found})
    if unknown or not chosen:
        what = f"There is no proposal {unknown[0]}" if unknown and found else "There is nothing to accept"
        hint = f"They go from 1 to {len(found)}" if found else f"aigon spec-show {wanted} lists the criteria"
        raise usage(what, where=feature.path, hint=hint)
    for each in chosen:
        if each.text and (flaw := find_flaw(each.annotation or "a box alone")):
            hint = "Correct it in the spec, or accept the others by their numbers"
            raise usage(f"Proposal {each.number} cannot be accepted: {flaw}", where=feature.path, hint=hint)
    return ForeignProposals(feature, raw, chosen)


def accept_foreign(checkout: Checkout, proposals: ForeignProposals) -> None:
    """Write the chosen proposals into the spec.

    Raises AigonError: 2 if one is malformed, 7 if the file was changed meanwhile or another aigon uses this checkout.
    """
    data = accept_proposals(proposals.raw, {each.number for each in proposals.chosen})
    rewrite_spec(checkout, proposals.feature.path, proposals.raw, data)


def rewrite_spec(checkout: Checkout, path: str, before: bytes, after: bytes, hint: str = "Run it again") -> None:
    """Write a spec that was read as `before`. Raises AigonError (exit 7) if it has changed, or aigon works here."""
    file = (checkout.root / path).resolve()
    with hold_checkout(checkout):
        if file.read_bytes() != before:
            raise environment("The spec was changed in the meantime, so nothing was written", where=path, hint=hint)
        write_atomic(file, after)


def render_proposals(proposals: ForeignProposals) -> str:
    """Return each proposal with its item, and what its command seems to change."""
    lines = []
    for each in proposals.chosen:
        lines.append(f"{each.number:3}. {fold(each.text, 160) or 'Validation script'}")
        lines += [f"       {clean(line)}" for line in (each.annotation or "a judge decides it").splitlines()]
        if edit := find_edit(_read_command(each)):
            lines.append(f"     It seems to change something: {clean(edit)}")
    return "\n".join(lines)


def encode_proposals(proposals: ForeignProposals, is_accepted: bool) -> dict[str, object]:
    """Return the proposals as data."""
    return {
        "feature_id": proposals.feature.id,
        "spec": proposals.feature.path,
        "proposals": to_builtins(proposals.chosen),
        "accepted": [each.number for each in proposals.chosen] if is_accepted else [],
    }


def _read_command(proposal: ForeignAnnotation) -> str:
    """Return what would be run, as far as its words tell."""
    if not proposal.text:
        return proposal.annotation
    kind, _, argument = proposal.annotation.partition(":")
    try:
        return find_script(cast(CriterionKind, kind), argument.strip())
    except ValueError:  # a fenced block below it holds the text that it has to print
        return argument
