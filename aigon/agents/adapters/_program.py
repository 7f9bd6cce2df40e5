"""Start a program as its agent type says, and turn what it left into a Turn."""

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from aigon.agents.adapters._records import MOST_DENIED, MOST_TOOLS
from aigon.model.agent_types import ARGUMENT_GROUPS, AgentType
from aigon.model.judging import JudgeAnswer
from aigon.model.turns import (
    TEMPORARY_ENDS,
    Agent,
    FindProgram,
    Launch,
    ProgramExit,
    Turn,
    TurnEnd,
    TurnReport,
    TurnRequest,
)
from aigon.text.amounts import abbreviate_duration
from aigon.text.fingerprints import strip_escapes

LAST_WORDS = 2_000
"""Characters of the agent's last words that are kept, for people."""
LONGEST_REASON = 1_200
"""Characters of a reason or an error that are kept."""
_ERROR_TAIL = 300
_TAG = re.compile(r"</?impossible>")
_LINE_BREAK = re.compile(r"\n\s*")
_BLANKS = re.compile(r"\s+")
LONGEST_PROMPT = 100_000
"""Bytes of a prompt that go by command line: the system takes 131,071 in one argument (measured, Linux)."""
NO_TURN = TurnRequest(number=0, feature_id="", run_id="", workspace="", checkout="", spec_file="", prompt_file="")
"""The question of a judge, which is about no turn."""
_OUTDATED = re.compile(rb"unknown (?:option|argument|feature)|unexpected argument|unrecognized option", re.IGNORECASE)
_GROUP = re.compile(r"\{(\w+)\}")


def build_environment(agent: Agent, ask: TurnRequest) -> dict[str, str]:
    """Return the variables of the contract, over those configured for the agent: a configuration cannot mask them."""
    return {
        **agent.env,
        "AIGON_FEATURE": ask.feature_id,
        "AIGON_ITERATION": str(ask.number),
        "AIGON_SPEC": ask.spec_file,
        "AIGON_PROMPT_FILE": ask.prompt_file,
        "AIGON_RUN": ask.run_id,
        "AIGON_TURN_LIMIT": str(ask.limit),
        "AIGON_TURN_STEP": ask.step,
        "AIGON_TURN_MODEL": agent.model,
        "AIGON_TURN_EFFORT": agent.effort,
        "AIGON_PROMISE": "\n".join(ask.promises),
    }


def describe_ending(exited: ProgramExit) -> tuple[TurnEnd, str]:
    """Return how the program ended, and the reason where it is not simply done."""
    if exited.timed_out and exited.silent:
        return "timed_out", f"no output for {abbreviate_duration(exited.silent)} (guards.idleTimeout)"
    if exited.timed_out:
        return "timed_out", f"timed out after {exited.duration:.0f} s"
    if exited.killed:
        return "killed", "stopped by aigon"
    if exited.exit_code is None:
        return "not_started", exited.start_error or "did not start"
    if exited.exit_code == 0:
        return "finished", ""
    return "failed", append_stderr(describe_exit(exited.exit_code), exited)


def ending_from_action(action: str, thought: str, reason: str) -> tuple[TurnEnd, str, str]:
    """Return how a turn ended by its structured reply: the end, the detail, and the agent's words.

    DONE is a claim like CONTINUE: the loop looks for itself.
    """
    why = (reason or thought or "without a reason")[:LONGEST_REASON]
    if action == "FAILED":
        return "failed", f"the agent says that it failed: {why}", _paragraphs(thought, reason)
    if action == "NEEDS_HUMAN":
        # The tag is what ends a run of any agent as one that needs a person (aigon.loop.decide).
        return "finished", "", _paragraphs(_TAG.sub("", thought), f"<impossible>{_TAG.sub('', why)}</impossible>")
    return "finished", "", _paragraphs(thought, reason)


def _paragraphs(*texts: str) -> str:
    return "\n\n".join(text.strip() for text in texts if text.strip())


def describe_exit(code: int) -> str:
    """Return an exit code in words; negative ones are signals."""
    return f"exited with {code}" if code >= 0 else f"ended by signal {-code}"


def append_stderr(text: str, exited: ProgramExit) -> str:
    """`text`, followed by the last words on standard error where there are any."""
    tail = last_words(exited.stderr, _ERROR_TAIL)
    return f"{text}: {tail}" if tail else text


def last_words(output: bytes, characters: int = LAST_WORDS) -> str:
    """Return the end of an output as text without escape sequences; what is not UTF-8 is replaced.

    What is cut off begins with an ellipsis and a whole line, or a whole word where no line is short enough.
    """
    text = strip_escapes(output[-8 * characters :].decode("utf-8", "replace")).strip()
    if len(text) <= characters:
        return text
    tail = text[1 - characters :]
    whole = _LINE_BREAK.search(tail, 0, len(tail) // 2) or _BLANKS.search(tail)
    return f"…{tail[whole.end() :] if whole else tail}"


def parse_dollars(value: object) -> float | None:
    """Return a sum of money. JSON readers let NaN and Infinity through, and true is an int to Python."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= sys.float_info.max else None


def is_unspent(end: TurnEnd, exited: ProgramExit) -> bool:
    """Whether the program never started, and so has cost nothing."""
    return end == "not_started" or (end == "killed" and exited.exit_code is None and not exited.ended)


def explain_unready(kind: AgentType, agent: Agent, find: FindProgram) -> str:
    """Return what is missing; empty if the program is on PATH. Whether it is logged in shows only in a turn."""
    if not kind.program:
        return f"{kind.title} names no program: add `program:` to the file of that kind"
    if find(kind.program):
        return ""
    install = f" Install it with: {kind.install}" if kind.install else ""
    login = f"; then log in: {kind.login}" if kind.login else ""
    return f"The agent {agent.name} needs {kind.title}, and there is no `{kind.program}` on PATH.{install}{login}"


def build_launch(kind: AgentType, agent: Agent, ask: TurnRequest) -> Launch:
    """Return the command line of one turn; `agent.args` come last, or where the kind puts them, so that they win."""
    values = _placeholder_values(agent, ask)
    argv = kind.argv if "{args}" in kind.argv else (*kind.argv, "{args}")
    words = [word for each in argv for word in _expand(each, kind, agent, ask, values)]
    env = {**default_environment(kind, agent, values), **build_environment(agent, ask)}
    stdin: Literal["prompt", "nothing"] = "prompt" if kind.wants_stdin else "nothing"
    return Launch((kind.program, *words), env=env, stdin=stdin, unset=kind.unset)


def _placeholder_values(agent: Agent, ask: TurnRequest) -> dict[str, str]:
    return {
        "prompt_file": ask.prompt_file,
        "output": ask.output_file,
        "workspace": ask.workspace,
        "model": agent.model,
        "effort": agent.effort,
        "usd": "" if ask.budget is None else f"{ask.budget:.2f}",
        "session": "",
    }


def _expand(word: str, kind: AgentType, agent: Agent, ask: TurnRequest, values: Mapping[str, str]) -> Iterator[str]:
    group = _GROUP.fullmatch(word)
    if group and group[1] in ARGUMENT_GROUPS:
        words = _group_words(group[1], kind, agent, ask)
        yield from words if group[1] == "args" else (_fill(each, ask, values) for each in words)
    else:
        yield _fill(word, ask, values)


def _group_words(name: str, kind: AgentType, agent: Agent, ask: TurnRequest) -> Sequence[str]:
    """Return the words of a group: none for what nobody asked for."""
    match name:
        case "args":
            return agent.args
        case "approval":
            return _approval_words(kind, agent, ask)
        case "model":
            return kind.model if agent.model else ()
        case "effort":
            return kind.effort if agent.effort else ()
        case "budget":
            return kind.budget if ask.budget is not None else ()
    return ()  # every turn begins afresh: a session to go on with is for people


def _approval_words(kind: AgentType, agent: Agent, ask: TurnRequest) -> Sequence[str]:
    """Nobody is there to be asked, unless a person gave other flags about it."""
    if kind.is_permitted_by(agent.args):
        return ()
    sandboxed = {**os.environ, **agent.env}.get("IS_SANDBOX") == "1"
    return kind.approval_as_root if ask.root and not sandboxed and kind.approval_as_root is not None else kind.approval


def _fill(word: str, ask: TurnRequest, values: Mapping[str, str]) -> str:
    """Return a word with its placeholders filled in, each once; doubled braces are braces, as in `str.format`."""

    def value(match: "re.Match[str]") -> str:
        if match[0] in ("{{", "}}"):
            return match[0][0]
        return _read_prompt(ask) if match[1] == "prompt" else values.get(match[1], match[0])

    return re.sub(r"\{\{|\}\}|\{(\w+)\}", value, word)


def _read_prompt(ask: TurnRequest) -> str:
    """Return the prompt where it is short enough for a command line, else where to read it."""
    with open(ask.prompt_file, "rb") as file:  # noqa: PTH123 - a plain read
        text = file.read(LONGEST_PROMPT + 1)
    if len(text) <= LONGEST_PROMPT and b"\0" not in text:
        return text.decode("utf-8", "replace")
    return f"Your task stands in the file {ask.prompt_file}. Read all of it first, then do what it says."


def default_environment(kind: AgentType, agent: Agent, values: Mapping[str, str]) -> dict[str, str]:
    """Return the kind's variables, less those that the person sets.

    One with a placeholder says what was chosen for this turn: it goes before the person's, and is none while empty.
    """
    chosen = {**os.environ, **agent.env}
    filled = {name: _GROUP.sub(lambda m: values.get(m[1], m[0]), value) for name, value in kind.env.items()}
    return {name: value for name, value in filled.items() if (value if value != kind.env[name] else name not in chosen)}


def build_consultation(kind: AgentType, agent: Agent) -> Launch:
    """Return the command line that answers the question on standard input; `agent.args` could give it tools."""
    use = kind.judge
    assert use is not None, "only a kind with `judge` is asked"
    values = _placeholder_values(agent, NO_TURN)
    words = [word for each in use.argv for word in _expand(each, kind, agent, NO_TURN, values)]
    return Launch(
        (kind.program, *words), env={**agent.env, **default_environment(kind, agent, {}), **use.env}, unset=kind.unset
    )


def read_consultation(kind: AgentType, agent: Agent, exited: ProgramExit, seen: TurnReport) -> JudgeAnswer:
    """Return the whole text of the answer; a session that did not end well, or that used a tool, has none."""
    ended = build_turn(agent, NO_TURN, exited, seen)
    spent = JudgeAnswer(cost=ended.cost, cost_status=ended.cost_status, usage=ended.usage)
    if ended.end == "finished":
        used = f"it used a tool ({seen.tools[0]}), so its answer is not its own" if seen.tools else ""
        return replace(spent, text="" if used else seen.said, failure=used)
    outdated = ended.exit_code not in (0, None) and bool(_OUTDATED.search(exited.stderr))
    detail = f"{ended.detail}. Update {kind.title}: {kind.install}" if outdated else ended.detail
    lasting = ended.end in ("bad_credentials", "usage_limit", "not_started")
    return replace(spent, failure=detail, available=not outdated and not lasting)


def build_turn(agent: Agent, ask: TurnRequest, exited: ProgramExit, seen: TurnReport) -> Turn:
    """Return the turn by its output, or by the process if aigon ended it or the two do not agree."""
    end, detail = describe_ending(exited)
    if end in ("finished", "failed"):
        end, detail = _reconcile(exited, seen)
    elif end == "timed_out":
        end, detail = _explain_deadline(exited, seen, detail)
    cost = 0.0 if is_unspent(end, exited) else seen.cost
    return Turn(
        number=ask.number,
        agent=agent.name,
        model=seen.model or agent.model,
        end=end,
        exit_code=exited.exit_code,
        said=seen.said[-LAST_WORDS:],
        detail=detail,
        cost=cost,
        cost_status="reported" if is_unspent(end, exited) else "unknown" if cost is None else seen.cost_status,
        usage=seen.usage,
        session=seen.session,
        denied=tuple(dict.fromkeys(seen.denied))[:MOST_DENIED],
        duration=exited.duration,
        resets_at=seen.resets_at,
        tools=seen.tools[:MOST_TOOLS],
        usage_by_model=seen.usage_by_model if len(seen.usage_by_model) > 1 else (),
    )


def _reconcile(exited: ProgramExit, seen: TurnReport) -> tuple[TurnEnd, str]:
    """A program that came to an end of its own. An exit code is never trusted alone, and neither is a good record."""
    code = exited.exit_code or 0
    if seen.end is None:
        return "failed", append_stderr(seen.detail or f"ended without saying how ({describe_exit(code)})", exited)
    if seen.end == "finished" and code:
        return "failed", append_stderr(f"{describe_exit(code)} although its output says that all is well", exited)
    return seen.end, seen.detail


def _explain_deadline(exited: ProgramExit, seen: TurnReport, detail: str) -> tuple[TurnEnd, str]:
    """Return how a program that met its deadline ended. If it was waiting for its model, that ended the turn."""
    if seen.end in (*TEMPORARY_ENDS, "bad_credentials"):
        return seen.end, f"{seen.detail} ({detail})"
    last = seen.detail if seen.end != "finished" else ""
    return "timed_out", f"{detail}: {last}" if last else append_stderr(detail, exited)


def read_text(exited: ProgramExit) -> TurnReport:
    """Return what is known of a program that prints plain text: its exit code and its last words."""
    code = exited.exit_code or 0
    words = last_words(exited.stdout) or last_words(exited.stderr)
    if code:
        return TurnReport("failed", append_stderr(describe_exit(code), exited), words)
    return TurnReport(end="finished", said=words)
