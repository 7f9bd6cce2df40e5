"""What the commit says that a squashed feature becomes."""

from aigon.done.merge import Landing
from aigon.errors import AigonError
from aigon.journal.state import State, replay
from aigon.loop.commit_message import render_squash_message
from aigon.model.criteria import Spec
from aigon.spec.document import parse_spec


def squash_message(landing: Landing) -> str:
    """Subject, what is proven and by what, trailers: from the journal of the run that proved it."""
    state, spec = _state(landing), _spec(landing)
    texts = {c.number: c.text for c in spec.criteria} if spec else {}
    verdicts = state.last.verdicts if state.last else ()
    return render_squash_message(
        feature_id=landing.chosen.name,
        title=title_of(landing),
        agent=state.started.agent if state.started else "",
        findings=state.last.findings if state.last else (),
        criteria=[(verdict, texts.get(verdict.criterion, "")) for verdict in verdicts],
    )


def title_of(landing: Landing) -> str:
    """What the spec calls the feature; its slug where that cannot be read."""
    spec = _spec(landing)
    return spec.title.removeprefix("Feature:").strip() or landing.feature.slug if spec else landing.feature.slug


def _spec(landing: Landing) -> Spec | None:
    raw = landing.main.ask("show", f"{landing.tip}:{landing.feature.path}")
    try:
        return parse_spec((raw or "").encode("utf-8", "surrogateescape"))
    except AigonError:
        return None


def _state(landing: Landing) -> State:
    """Forced, there may be no record that can be read."""
    try:
        return replay(landing.chosen.records.each()) if landing.chosen.records.journal.exists() else State()
    except AigonError:
        return State()
