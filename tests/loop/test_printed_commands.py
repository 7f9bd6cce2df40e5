"""Every command that aigon prints can be pasted: in every state it runs without a usage error."""

import re
import shlex
import signal

import pytest

from aigon.cli import VERBS
from tests.lab import DONE_WHEN, Lab, Ran, finish, interrupt, until
from tests.loop.processes import left_behind
from tests.loop.test_resume import kill

IN_PLACE = True
WORD = r" (?!or |then |and |goes )[^\s`,;()]+"
PRINTED = re.compile(rf"(?P<env>AIGON_STATE_HOME=\S+ )?\baigon (?P<rest>(?:{'|'.join(VERBS)})(?![\w-])(?:{WORD})*)")
PLACEHOLDER = re.compile(r"^[A-Z][A-Z0-9_]*(?:=[A-Z]+)?$|\.\.\.")
PAGES = (
    ("feature-status",), ("feature-status", "42"), ("board",), ("worktrees",), ("report", "42", "--format", "md"),
    ("doctor",),
)  # fmt: skip
LAST = ("feature-done", "cleanup")
"""What ends the feature is pasted after all others."""
NEVER = "never <!-- verify: false -->"
DONE = f"it is done <!-- verify: {DONE_WHEN} -->"
ONCE = ("--max-iterations", "1")
WORKS = 'touch "$HOME/begun"; sleep 60'

ENDS: dict[str, tuple[int, str, str, tuple[str, ...]]] = {
    "met": (0, "touch done.txt", DONE, ()),
    "iterations": (3, "echo $RANDOM > turn.txt", NEVER, ONCE),
    "failures": (3, "exit 3", NEVER, ("--max-consecutive-failures", "1")),
    "needs_human": (4, "touch done.txt", "it looks good <!-- human -->", ()),
    "review": (4, "touch done.txt; echo more >> locked.txt", DONE, ()),
    "skipped": (4, "touch done.txt", "tests pass <!-- check: tests -->", ("--skip-validation",)),
    "nothing_built": (4, "true", "tests pass <!-- check: tests -->", ()),
    "cost": (5, """echo '{"cost_usd": 3}'""", NEVER, ("--max-cost", "1")),
    "time": (5, "sleep 3", NEVER, ("--max-time", "1s")),
    "unavailable": (6, """echo '{"end": "usage_limit"}'; exit 1""", NEVER, ("--max-wait", "0")),
    "refused": (7, "true", NEVER, ()),
    "interrupted": (143, WORKS, NEVER, ()),
    "killed": (-signal.SIGKILL, WORKS, NEVER, ()),
}
"""The exit code of a run that ends in each way; an agent, a criterion and options that make it end so."""
MODES = {
    "alone": (),
    "solo": ("--agent", "first"),
    "worktree": ("--agent", "first:big", "--worktree"),
    "arena": ("--agent", "first:big", "--agent", "second"),
}
"""The options that say who works and where. In `alone` one agent is configured, else several and no default."""


def prepare(lab: Lab, script: str, criterion: str, mode: str) -> None:
    """A feature, a check and the agents."""
    lab.spec(criterion)
    for name in ("first",) if mode == "alone" else ("first", "second"):
        lab.agent(script, name=name)
    protect = [{"paths": "locked.txt", "level": "review"}]
    lab.config(defaultAgent=None, proof="in-place", protect=protect, checks={"tests": {"command": "true"}})
    lab.write("locked.txt", "as it is\n")
    lab.commit("the feature")


def end(lab: Lab, how: str, mode: str) -> Ran:
    """Let a run end in a way."""
    code, script, criterion, options = ENDS[how]
    prepare(lab, script, criterion, mode)
    line = ("feature-implement", "42", "--loop", *MODES[mode], *options)
    if how == "refused":
        lab.write("mine.txt", "a person's")
    ran = broken_off(lab, how, line) if script == WORKS else lab.aigon(*line, timeout=100)
    assert ran.code == code, ran.out + ran.err
    return ran


def broken_off(lab: Lab, how: str, line: tuple[str, ...]) -> Ran:
    """End a run in the middle of a turn; the agents of later turns return at once."""
    process = lab.start(*line)
    until((lab.home / "begun").exists, 60)
    if how == "killed":
        kill(process)
        until(lambda: not left_behind(lab), 60)
        ran = Ran(process.returncode, "", "")
    else:
        interrupt(process, signal.SIGTERM)
        ran = finish(process, 60)
    for file in lab.home.glob("*-agent"):
        file.write_text("#!/bin/sh\n")
    return ran


def printed(*texts: str) -> list[tuple[str, ...]]:
    """The commands of aigon in texts, as words, each once. A bare name in backticks or brackets is none."""
    found: dict[tuple[str, ...], None] = {}
    for text in texts:
        for match in PRINTED.finditer(text):
            words = shlex.split((match["env"] or "") + "aigon " + match["rest"].rstrip(".:'\""))
            if len(words) > 2 or not text[: match.start()].endswith(("`", "(")):
                found[tuple(words)] = None
    return sorted(found, key=lambda words: words[1] in LAST)


def following(ran: Ran) -> list[tuple[str, ...]]:
    """The commands of the line that says what is next."""
    return printed(*(line for line in ran.out.splitlines() if line.startswith("Next: ")))


def paste(lab: Lab, words: tuple[str, ...]) -> str:
    """Run a printed command; what is wrong with it, or ""."""
    verb, *rest = (word for word in words if "=" not in word and word != "aigon")
    if any(PLACEHOLDER.search(word) for word in words):
        return ""
    more = {"approve": ("--yes",), "reject": ("--yes",), "feature-implement": ONCE}
    ran = lab.aigon(verb, *rest, *more.get(verb, ()), timeout=100)
    return f"{' '.join(words)}: {ran.code}\n{ran.out}{ran.err}" if ran.code in (1, 2) else ""


SAMPLE = (("iterations", "worktree"), ("killed", "solo"))
"""What the default suite tries of all ends in all modes."""


@pytest.mark.parametrize(
    ("how", "mode"),
    [
        pytest.param(how, mode, marks=[] if (how, mode) in SAMPLE else pytest.mark.slow)
        for how in ENDS
        for mode in MODES
        if how != "refused" or mode in ("alone", "solo")  # worktrees are not in the way of a person's changes
    ],
)
def test_every_printed_command_runs(lab: Lab, how: str, mode: str) -> None:
    ran = end(lab, how, mode)
    pages = [lab.aigon(*page) for page in PAGES]
    commands = printed(ran.out, ran.err, *(text for page in pages for text in (page.out, page.err)))
    assert commands, "there is a way to continue from every end"
    assert [problem for words in commands if (problem := paste(lab, words))] == []


def test_each_next_line_leads_to_the_following_one(lab: Lab) -> None:
    for name in ("first", "second"):
        lab.agent("touch done.txt", name=name)
    lab.config(defaultAgent=None, proof="in-place")
    lab.commit("the agents")
    last, verbs = lab.aigon("feature-create", "Dark mode"), []
    lab.spec(DONE, name=next(lab.path("docs/specs/features/01-inbox").glob("*.md")).relative_to(lab.root).as_posix())
    lab.commit("the criteria")
    while last.code == 0 and (commands := following(last)):
        verbs.append(commands[0][1])
        last = lab.aigon(*("first" if word == "NAME" else word for word in commands[0][1:]))
    assert (last.code, verbs) == (0, ["feature-implement", "feature-done"]), last.out + last.err
    for verb in ("feature-prioritise", "feature-setup"):
        lab.aigon("feature-create", "more", "for", verb)
        last = lab.aigon("feature-prioritise", f"more-for-{verb}")
        last = last if verb == "feature-prioritise" else lab.aigon(verb, "3")
        (command,) = following(last)
        assert command[3:] == ("--loop", "--agent", "NAME"), last.out + last.err
