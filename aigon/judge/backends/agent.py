"""An agent's own program as a judge, for people with a subscription and no key.

It is given the question on standard input, no tool, and an empty folder to run in: it can neither read nor change the
work that it judges. How it is started and read is its adapter's (`consult` in `aigon.model.turns`).
"""

import json
from collections.abc import Mapping

from msgspec.structs import replace

from aigon.judge.backends import NOBODY, AgentJudgeSettings
from aigon.judge.backends.command import ask_program, describe_failure, parse_answered_object
from aigon.judge.reply import MALFORMED
from aigon.model.judging import JudgeAnswer, JudgeQuestion, JudgeSettings

_FORM = """\
Use no tool: the answer of one who did is void. Answer with exactly one JSON object and nothing else: no introduction,
no explanation, no other JSON. It has to be valid by this JSON Schema:

```json
{schema}
```"""


def explain_unready(settings: JudgeSettings, _env: Mapping[str, str]) -> str:
    """Return what is missing; empty if the agent's program is there and can be asked without tools."""
    return settings.missing if isinstance(settings, AgentJudgeSettings) else NOBODY


def ask(question: JudgeQuestion, settings: JudgeSettings) -> JudgeAnswer:
    """Run one session of the agent, for one answer."""
    if not isinstance(settings, AgentJudgeSettings) or settings.missing:
        why = f"the judge cannot be asked: {explain_unready(settings, settings.env)}"
        return JudgeAnswer(failure=why, cost=0.0, cost_status="reported", available=False)
    launch = settings.launch
    kept = {name: value for name, value in settings.env.items() if name not in launch.unset}
    form = _FORM.format(schema=json.dumps(question.schema, indent=1))
    prompt = "\n\n".join([question.rules, question.shared, question.task, form]) + "\n"
    try:
        exited = ask_program(launch.argv, replace(settings, env={**kept, **launch.env}), prompt)
    except (OSError, ValueError) as error:
        return JudgeAnswer(failure=f"the judge could not be asked: {error}")
    answer = settings.read(exited)
    if answer.failure:
        by_process = exited.timed_out or exited.start_error
        why = describe_failure(exited, settings) if by_process else f"the judge could not answer: {answer.failure}"
        return replace(answer, text="", failure=" ".join(why.split()))
    try:
        return replace(answer, text=json.dumps(parse_answered_object(answer.text)))
    except ValueError as error:
        return replace(answer, text="", failure=f"{MALFORMED}: {error}")
