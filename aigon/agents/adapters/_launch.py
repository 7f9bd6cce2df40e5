"""The command line with which a program is started, as its agent type says, and what keeps it from starting."""

import os
import re
from collections.abc import Iterator, Mapping

from aigon.model.agents import ARGUMENT_GROUPS, AgentType
from aigon.model.turns import Agent, FindProgram, Launch, TurnRequest
from aigon.text.patterns import compile_re

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
    env = {**default_environment(kind, agent, _placeholder_values(agent, ask)), **build_environment(agent, ask)}
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


def default_environment(kind: AgentType, agent: Agent, values: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of the type, less those that the person sets.

    One with a placeholder says what was chosen for this turn: it goes before the person's, and is left out if empty.
    """
    chosen = {**os.environ, **agent.env}
    filled = {name: _GROUP.sub(lambda m: values.get(m[1], m[0]), value) for name, value in kind.env.items()}
    return {name: value for name, value in filled.items() if (value if value != kind.env[name] else name not in chosen)}


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


def _expand(word: str, kind: AgentType, agent: Agent, ask: TurnRequest) -> Iterator[str]:
    """Yield what a word of the command line becomes: a group of words, or the word with its placeholders filled in."""
    group = _GROUP.fullmatch(word)
    if word == "{args}":
        yield from agent.args
    elif group and group[1] in ARGUMENT_GROUPS:
        wanted = {
            "approval": _approval_words(kind, agent, ask),
            "model": kind.model if agent.model else (),
            "effort": kind.effort if agent.effort else (),
            "budget": kind.budget if ask.budget is not None else (),
        }
        # Every turn begins afresh: a session to go on with is for people.
        yield from (_fill(each, agent, ask) for each in wanted.get(group[1], ()))
    else:
        yield _fill(word, agent, ask)


def _approval_words(kind: AgentType, agent: Agent, ask: TurnRequest) -> tuple[str, ...]:
    """Nobody is there to be asked, unless a person gave other flags about it."""
    if kind.is_permitted_by(agent.args):
        return ()
    sandboxed = {**os.environ, **agent.env}.get("IS_SANDBOX") == "1"
    return kind.approval_as_root if ask.root and not sandboxed and kind.approval_as_root is not None else kind.approval


def _fill(word: str, agent: Agent, ask: TurnRequest) -> str:
    """Return a word with each placeholder filled in once; doubled braces are braces, as in `str.format`."""
    values = _placeholder_values(agent, ask)

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
    env = {**agent.env, **default_environment(kind, agent, {}), **kind.judge.env}
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
