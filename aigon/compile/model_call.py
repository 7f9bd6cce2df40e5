"""The judge's model, asked for proposals in one call."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from aigon.compile.proposals import Proposal, Surroundings
from aigon.compile.rules import question
from aigon.judge.backends import find_backend
from aigon.model.criteria import Criterion
from aigon.model.judging import JudgeAnswer, JudgeQuestion
from aigon.run.prepare import Prepared
from aigon.secrets import redaction
from aigon.secrets.redaction import redact_value


@dataclass(frozen=True, slots=True)
class Model:
    """Who was asked, what of the answer can be used, and why the rest cannot; `answer` says what it cost."""

    backend: str
    name: str
    answer: JudgeAnswer
    proposals: Mapping[int, Proposal]
    wrong: Mapping[int, str]


def asked(
    prepared: Prepared,
    criteria: Sequence[Criterion],
    plain: Mapping[int, Proposal],
    around: Surroundings,
    say: Callable[[str], None],
) -> Model | None:
    """Ask the judge that is configured; None where there is none. What goes wrong is said and never raised."""
    settings = prepared.judge
    if settings is None:
        return None
    say(f"Asking {settings.backend} ({settings.model}) for proposals ...")
    spec = prepared.spec.raw.decode("utf-8", "replace")
    answer = find_backend(settings.backend).ask(
        _redacted(prepared, question.question(spec, criteria, plain, around)), settings
    )
    answer = redact_value(answer, redaction.make_redactor(prepared.env))
    if answer.failure:
        return Model(settings.backend, settings.model, answer, {}, {})
    proposals, wrong = question.read(answer.text, criteria, around)
    return Model(settings.backend, settings.model, answer, proposals, wrong)


def _redacted(prepared: Prepared, asked: JudgeQuestion) -> JudgeQuestion:
    """The same without what looks like a credential: it leaves the machine."""
    redact = redaction.make_redactor(prepared.env)

    def plain(text: str) -> str:
        return redact(text.encode("utf-8", "replace")).decode("utf-8", "replace")

    document = json.loads(plain(json.dumps(asked.document)))
    return replace(asked, shared=plain(asked.shared), task=plain(asked.task), document=document)
