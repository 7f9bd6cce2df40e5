"""Start a program as its agent type says, and turn what it left into a Turn, or into the answer of a judge."""

import os
import re
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from aigon.agents.adapters._records import get_cost_status
from aigon.model.agents import ARGUMENT_GROUPS, AgentType
from aigon.model.requests import JudgeAnswer
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
from aigon.text.patterns import compile_re
from aigon.text.quoting import strip_escapes

LONGEST_PROMPT = 100_000
"""Bytes of a prompt that go by command line: the system takes 131,071 in one argument (measured, Linux)."""
NO_TURN = TurnRequest(number=0, feature_id="", run_id="", workspace="", checkout="", spec_file="", prompt_file="")
"""The request behind a judge's question, which is about no turn."""
_GROUP = compile_re(r"\{(\w+)\}")


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
    """Return the command line of one turn. `agent.args` come last, so that they win, or where the type has `{args}`."""
    argv = kind.argv if "{args}" in kind.argv else (*kind.argv, "{args}")
    words = [word for each in argv for word in _expand(each, kind, agent, ask)]
    env = {**fill_environment(kind, agent, _list_placeholders(agent, ask)), **build_environment(agent, ask)}
    return Launch((kind.program, *words), env=env, stdin="prompt" if kind.wants_stdin else "nothing", unset=kind.unset)


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


def fill_environment(kind: AgentType, agent: Agent, values: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of the type, less those that the person sets.

    One with a placeholder says what was chosen for this turn: it goes before the person's, and is left out if empty.
    """
    chosen = {**os.environ, **agent.env}
    filled = {name: _GROUP.sub(lambda m: values.get(m[1], m[0]), value) for name, value in kind.env.items()}
    return {name: value for name, value in filled.items() if (value if value != kind.env[name] else name not in chosen)}


def _list_placeholders(agent: Agent, ask: TurnRequest) -> dict[str, str]:
    return {
        "prompt_file": ask.prompt_file,
        "output": ask.output_file,
        "workspace": ask.workspace,
        "model": agent.model,
        "effort": agent.effort,
        "usd": "" if ask.budget is None else f"{ask.budget:.2f}",
        "session": "",
    }


def _expand(word: str, kind: AgentType, agent: Agent, ask: TurnRequest) -> Iterator[str]:
    """Yield what a word of the command line becomes: a group of words, or the word with its placeholders filled in."""
    group = _GROUP.fullmatch(word)
    if word == "{args}":
        yield from agent.args
    elif group and group[1] in ARGUMENT_GROUPS:
        wanted = {
            "approval": _choose_approval(kind, agent, ask),
            "model": kind.model if agent.model else (),
            "effort": kind.effort if agent.effort else (),
            "budget": kind.budget if ask.budget is not None else (),
        }
        # Every turn begins afresh: a session to go on with is for people.
        yield from (_fill(each, agent, ask) for each in wanted.get(group[1], ()))
    else:
        yield _fill(word, agent, ask)


def _choose_approval(kind: AgentType, agent: Agent, ask: TurnRequest) -> tuple[str, ...]:
    """Nobody is there to be asked, unless a person gave other flags about it."""
    if kind.is_permitted_by(agent.args):
        return ()
    sandboxed = {**os.environ, **agent.env}.get("IS_SANDBOX") == "1"
    return kind.approval_as_root if ask.root and not sandboxed and kind.approval_as_root is not None else kind.approval


def _fill(word: str, agent: Agent, ask: TurnRequest) -> str:
    """Return a word with each placeholder filled in once; doubled braces are braces, as in `str.format`."""
    values = _list_placeholders(agent, ask)

    def value(match: "re.Match[str]") -> str:
        if match[0] in ("{{", "}}"):
            return match[0][0]
        return _read_prompt(ask) if match[1] == "prompt" else values.get(match[1], match[0])

    return re.sub(r"\{\{|\}\}|\{(\w+)\}", value, word)


def _read_prompt(ask: TurnRequest) -> str:
    """Return the prompt if it is short enough for a command line, else where to read it."""
    with open(ask.prompt_file, "rb") as file:  # noqa: PTH123 - a plain read
        text = file.read(LONGEST_PROMPT + 1)
    if len(text) <= LONGEST_PROMPT and b"\0" not in text:
        return text.decode("utf-8", "replace")
    return f"Your task is in the file {ask.prompt_file}. Read all of it first, then do what it says."


def build_consultation(kind: AgentType, agent: Agent) -> Launch:
    """Return the command line that answers the question on standard input; `agent.args` could give it tools."""
    assert kind.judge is not None, "only a kind with `judge` is asked"
    words = [word for each in kind.judge.argv for word in _expand(each, kind, agent, NO_TURN)]
    env = {**agent.env, **fill_environment(kind, agent, {}), **kind.judge.env}
    return Launch((kind.program, *words), env=env, unset=kind.unset)


def explain_no_interpreter(program: str, file: str) -> str:
    """Return why the kernel cannot run a text file: its first line has to say with what. Empty if it can."""
    try:
        with open(file, "rb") as opened:  # noqa: PTH123 - a plain read
            head = opened.read(512)
    except OSError:
        return ""  # executable but unreadable: the system decides
    if head.startswith(b"#!") or b"\0" in head:
        return ""
    return f"{program} does not say what runs it. Begin it with a line such as #!/bin/sh"


LAST_WORDS = 2_000
"""Characters of the agent's last words that are kept, for people."""
LONGEST_DETAIL = 500
"""Characters of a program's message that are kept."""
LONGEST_REASON = 1_200
"""Characters of a reason or an error that are kept."""
MOST_TOOLS, MOST_DENIED = 200, 20
"""Uses of tools and denied permissions that are kept of a turn."""
_ERROR_TAIL = 300
_TAG = compile_re(r"</?impossible>")
_LINE_BREAK = compile_re(r"\n\s*")
_BLANKS = compile_re(r"\s+")
_OUTDATED = compile_re(rb"unknown (?:option|argument|feature)|unexpected argument|unrecognized option", re.IGNORECASE)


def read_consultation(kind: AgentType, agent: Agent, exited: ProgramExit, report: TurnReport) -> JudgeAnswer:
    """Return the whole text of the answer; a session that did not end well, or that used a tool, has none."""
    turn = build_turn(agent, NO_TURN, exited, report)
    spent = JudgeAnswer(cost=turn.cost, cost_status=turn.cost_status, usage=turn.usage)
    if turn.end == "finished":
        used = f"it used a tool ({report.tools[0]}), so its answer is not its own" if report.tools else ""
        return replace(spent, text="" if used else report.said, failure=used)
    outdated = turn.exit_code not in (0, None) and bool(_OUTDATED.search(exited.stderr))
    detail = f"{turn.detail}. Update {kind.title}: {kind.install}" if outdated else turn.detail
    lasting = turn.end in ("bad_credentials", "usage_limit", "not_started")
    return replace(spent, failure=detail, available=not outdated and not lasting)


def build_turn(agent: Agent, ask: TurnRequest, exited: ProgramExit, report: TurnReport) -> Turn:
    """Return the turn by its output, or by the process if aigon ended it or the two do not agree."""
    end, detail = describe_ending(exited)
    if end in ("finished", "failed"):
        end, detail = _reconcile(exited, report)
    elif end == "timed_out":
        end, detail = _explain_deadline(exited, report, detail)
    # What never started has cost nothing.
    unspent = end == "not_started" or (end == "killed" and exited.exit_code is None and not exited.ended)
    return Turn(
        number=ask.number,
        agent=agent.name,
        model=report.model or agent.model,
        end=end,
        exit_code=exited.exit_code,
        said=report.said[-LAST_WORDS:],
        detail=detail,
        cost=0.0 if unspent else report.cost,
        cost_status="reported" if unspent else get_cost_status(report.cost, report.cost_status),
        usage=report.usage,
        session=report.session,
        denied=tuple(dict.fromkeys(report.denied))[:MOST_DENIED],
        duration=exited.duration,
        resets_at=report.resets_at,
        tools=report.tools[:MOST_TOOLS],
        usage_by_model=report.usage_by_model if len(report.usage_by_model) > 1 else (),
    )


def _reconcile(exited: ProgramExit, report: TurnReport) -> tuple[TurnEnd, str]:
    """Return how a program ended by itself. Neither an exit code nor a good record is trusted alone."""
    code = exited.exit_code or 0
    if report.end is None:
        return "failed", append_stderr(report.detail or f"ended without saying how ({describe_exit(code)})", exited)
    if report.end == "finished" and code:
        return "failed", append_stderr(f"{describe_exit(code)} although its output says that all is well", exited)
    return report.end, report.detail


def _explain_deadline(exited: ProgramExit, report: TurnReport, detail: str) -> tuple[TurnEnd, str]:
    """Return how a program that met its deadline ended. If it was waiting for its model, that ended the turn."""
    if report.end in (*TEMPORARY_ENDS, "bad_credentials"):
        return report.end, f"{report.detail} ({detail})"
    last = report.detail if report.end != "finished" else ""
    return "timed_out", f"{detail}: {last}" if last else append_stderr(detail, exited)


def describe_ending(exited: ProgramExit) -> tuple[TurnEnd, str]:
    """Return how the program ended, and the reason if it is not simply done."""
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


def describe_own_ending(exited: ProgramExit) -> tuple[TurnEnd | None, str]:
    """Return how a program ended by its exit code alone; (None, "") if aigon ended it or it never ran."""
    end, detail = describe_ending(exited)
    return (end, detail) if end in ("finished", "failed") else (None, "")


def describe_exit(code: int) -> str:
    """Return an exit code in words; a negative one is a signal."""
    return f"exited with {code}" if code >= 0 else f"ended by signal {-code}"


def append_stderr(text: str, exited: ProgramExit) -> str:
    """Return `text`, followed by the last words on standard error if there are any."""
    tail = last_words(exited.stderr, _ERROR_TAIL)
    return f"{text}: {tail}" if tail else text


def last_words(output: bytes, characters: int = LAST_WORDS) -> str:
    """Return the end of an output as text without escape sequences; what is not UTF-8 is replaced.

    A long one begins with an ellipsis and a whole line, or a whole word if no line is short enough.
    """
    text = strip_escapes(output[-8 * characters :].decode("utf-8", "replace")).strip()
    if len(text) <= characters:
        return text
    tail = text[1 - characters :]
    whole = _LINE_BREAK.search(tail, 0, len(tail) // 2) or _BLANKS.search(tail)
    return f"…{tail[whole.end() :] if whole else tail}"


def read_action(action: str, thought: str, reason: str) -> tuple[TurnEnd, str, str]:
    """Return how a turn ended by its structured reply: the end, the detail, and the agent's words.

    DONE is a claim like CONTINUE: the loop assesses the tree itself.
    """
    why = (reason or thought or "without a reason")[:LONGEST_REASON]
    end: TurnEnd = "finished"
    detail, words = "", (thought, reason)
    if action == "FAILED":
        end, detail = "failed", f"the agent says that it failed: {why}"
    elif action == "NEEDS_HUMAN":
        # The tag is what ends a run of any agent as one that needs a person (aigon.loop.decide).
        words = (_TAG.sub("", thought), f"<impossible>{_TAG.sub('', why)}</impossible>")
    return end, detail, "\n\n".join(text.strip() for text in words if text.strip())
