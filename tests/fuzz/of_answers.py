"""Readers of what programs said: agents, judges, tools, git. All of it may have been written to mislead."""

import json
from collections.abc import Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast

from aigon.agents.adapters._errors import find_reset_time, parse_retry_after
from aigon.checks import parsers
from aigon.checks.endpoints.answer import HttpAnswer
from aigon.compare import pairwise
from aigon.compile.model import read_answer
from aigon.compile.proposals import Surroundings
from aigon.git.blind_spots import list_submodules, parse_hidden
from aigon.git.diff import parse_diff
from aigon.judge import reply
from aigon.judge.backends import command
from aigon.judge.selection import ShownChange
from aigon.model.changes import Edit, Edits
from aigon.model.criteria import Criterion
from aigon.model.turns import ProgramExit
from aigon.proof import integrity
from aigon.secrets import leaks
from tests.agents.test_garbage import CAPTURES, KINDS, sound
from tests.checks.parsers import seeds
from tests.checks.parsers.soundness import sound as sound_reading
from tests.fuzz.of_documents import JSON, files
from tests.fuzz.target import Target

if TYPE_CHECKING:
    from aigon.agents.api_agent.settings import SessionTool

NOW = 1_795_170_000.0
AGENT = (
    *JSON,
    b'{"type": "result"}',
    b'"error": ',
    b"429",
    b"resets 3pm",
    b"try again in 5 minutes",
    b"\n",
    b"\x1b[31m",
    b"Error: ",
    b"Tokens: 1k sent",
    b"|9999999999",
    b"$0.01",
    b"retry-after: ",
    b"data: ",
    b"rate limit",
    b"\r",
)
XML = (
    b"<testsuite>",
    b"</testsuite>",
    b"<testcase name='a'>",
    b"<failure/>",
    b"<![CDATA[",
    b"]]>",
    b"&amp;",
    b"&#0;",
    b"&lol;",
    b"<!DOCTYPE a [<!ENTITY b 'c'>]>",
    b" a='b'",
    b"<!--",
    b"<?xml version='1.0'?>",
    b"\x1b[",
    b"<",
    b"&#x110000;",
)
BOMBS = (
    b"<!DOCTYPE a [<!ENTITY a0 'lol'>"
    + b"".join(b"<!ENTITY a%d '%s'>" % (n, b"&a%d;" % (n - 1) * 10) for n in range(1, 10))
    + b"]><testsuite tests='1'><testcase name='&a9;'/></testsuite>",
    b"<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>"
    b"<testsuite><testcase name='a'><failure>&x;</failure></testcase></testsuite>",
    b"<!DOCTYPE a SYSTEM 'http://127.0.0.1:9/a.dtd'><testsuite tests='1'><testcase name='a'/></testsuite>",
)
DIFF = (
    b"diff --git a/a b/a\n",
    b"--- a/a\n",
    b"+++ b/a\n",
    b"@@ -1,1 +1,1 @@\n",
    b"+x\n",
    b"-x\n",
    b" x\n",
    b"\\ No newline\n",
    b"new file mode 100644\n",
    b"Binary files a and b differ\n",
    b'"a\\303\\251"',
    b"--- /dev/null\n",
    b"\t",
    b"@@ -1,99999999999 +1 @@\n",
)
CODE = (
    b"(",
    b"[",
    b"{",
    b"'''",
    b'"""',
    b"f'{",
    b"lambda: ",
    b"not ",
    b"-",
    b"a.",
    b"if x:\n ",
    b"def f():\n ",
    b"# ",
    b"/* ",
    b"//",
    b"sys.exit(0)",
    b"pytest.skip",
    b"@pytest.mark.skip\n",
    b"# noqa",
    b"eslint-disable",
    b"process.exit(0)",
    b"==",
    b"exec('",
    b"\\\n",
)


def agent(reader: Any, data: bytes) -> None:
    """What an agent's program printed, wrote to standard error, left as its report."""
    for exited in (ProgramExit(0, data, b"", ended=NOW), ProgramExit(1, b"", data, report=data, ended=NOW)):
        assert sound(reader.read_output(exited))


def parser(name: str, data: bytes) -> None:
    """What a tool printed or reported, without the net that catches a parser's faults."""
    read = parsers.load_reader(name)
    read(data, None)
    read(b"", data)
    sound_reading(parsers.parse(name, data, data))


def judge(data: bytes) -> None:
    """A judge's words."""
    text = data.decode("utf-8", "replace")
    for asked in ([1, 2], [1]):
        reply.parse_decisions(text, asked)
        reply.parse_refutations(text, asked)
    nothing = ShownChange(())
    pairwise.read_preference(pairwise.Pair("", (), (nothing, nothing), ""), text)
    for read in (command.parse_whole_object, command.parse_answered_object):
        try:
            read(text)
        except ValueError as error:
            assert str(error)
    json.dumps(command.read_reply(data).text)


def proposals(data: bytes) -> None:
    """A model's proposals."""
    asked = (Criterion(1, 1, "a", False, "judge", None, 3),)
    read_answer(data.decode("utf-8", "replace"), asked, Surroundings())


def answer(data: bytes) -> None:
    """A server's answer, under headers that say anything."""
    found = HttpAnswer(200, (("content-type", f"text/html; charset={data[:20].decode('latin-1')}"),), data)
    found.brief(without_tags=True)
    try:
        found.json()
    except ValueError as error:
        assert str(error)


def diff(data: bytes) -> None:
    """A diff of git's."""
    for each in parse_diff(data):
        assert each.name
        each.path.encode("utf-8", "surrogateescape")


def git_lists(data: bytes) -> None:
    """Lists of git's, with names of any bytes."""
    parse_hidden(data, sparse=False)
    parse_hidden(data, sparse=True)
    list_submodules(data)


def waits(data: bytes) -> None:
    """When a limit is over, in words or in a header."""
    text = data.decode("utf-8", "replace")
    find_reset_time(text, NOW)
    parse_retry_after(text, NOW)


def rules(data: bytes) -> None:
    """What an agent wrote, in every language that rules know. A rule that broke says so."""
    text = data.decode("utf-8", "replace")
    names = ("a.py", "test_a.py", "a.ts", "a.test.js", "a.sh", "package.json", "pyproject.toml", "a.go", "a.rs")
    edits = [Edit(name, None, text, "tests" if "test" in name else "product") for name in names]
    found = integrity.concerns(Edits((*edits, Edit("b.py", "x = 1\n", text)), {"test_a.py": text}, (text,)))
    broken = [concern.what for concern in found if "could not be applied" in concern.what]
    assert not broken, broken[0]


def secrets(data: bytes) -> None:
    """What may be a key."""
    for path in ("a.txt", ".env", "id_rsa", "config.json"):
        leaks.find_leak(path, data)
        list(leaks.find_placed_secrets(path, data))


def tool(data: bytes) -> None:
    """What a model gave a tool of the built-in agent: nothing it says is a fault of the session."""
    from tempfile import TemporaryDirectory

    from anthropic.lib.tools import ToolError

    with TemporaryDirectory() as folder:
        editor = _editor(folder)
        try:
            given = json.loads(data)
        except (ValueError, RecursionError):
            given = {"INVALID_JSON": data.decode("utf-8", "replace")}
        try:
            editor.call(given)
        except ToolError as error:
            assert "The tool broke" not in str(error), str(error)


def _editor(folder: str) -> "SessionTool":
    from io import StringIO
    from pathlib import Path

    from aigon.agents.api_agent.settings import SessionLog, SessionTool
    from aigon.agents.api_agent.workspace_tools import EDITOR, Editor

    Path(folder, "a.txt").write_bytes(b"one\ntwo\n")
    return SessionTool(cast(Any, EDITOR), Editor(Path(folder)), SessionLog(StringIO()))


def _agents() -> list[Target]:
    return [Target(f"agent-{name}", partial(agent, reader), _captured, AGENT) for name, reader in KINDS.items()]


@cache
def _captured() -> Sequence[bytes]:
    return tuple(file.read_bytes() for file in CAPTURES)


def _tools(name: str) -> Sequence[bytes]:
    own = [seed.data for seed in seeds.own(name)] or [seed.data for seed in seeds.captures()[:10]]
    return (*own, *BOMBS)


def _replies() -> Sequence[bytes]:
    quote = {"source": "diff", "path": "a", "line": 1, "text": "x"}
    decided = {"verdicts": [{"criterion": 1, "quotes": [quote], "missing": "", "reason": "r", "status": "met"}]}
    refuted = {"refutations": [{"criterion": 1, "quotes": [], "reason": "r", "refuted": False}]}
    compared = {"reasons": [{"change": "first", "path": "a", "line": 1, "text": "", "reason": ""}], "preference": "tie"}
    plain = [json.dumps(each).encode() for each in (decided, refuted, compared, {**decided, "cost_usd": 0.1})]
    return (*plain, b"Here:\n```json\n" + plain[0] + b"\n```\n")


def _proposed() -> Sequence[bytes]:
    one = {"criterion": 1, "kind": "verify", "command": "pytest -q", "reason": "r", "confidence": "sure"}
    return (
        json.dumps({"proposals": [one]}).encode(),
        json.dumps({"proposals": [one, {**one, "kind": "metric"}]}).encode(),
    )


def _diffs() -> Sequence[bytes]:
    found = files("tests/**/*.diff", "tests/**/*.patch", "templates/**/*.diff", "templates/judging/**/*.patch")
    plain = b"diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1,2 @@\n+x\n+y\n"
    return (*found[:20], plain, plain + b'diff --git "a/\\303\\251" "b/\\303\\251"\nBinary files a and b differ\n')


def _code() -> Sequence[bytes]:
    return (*files("aigon/spec/document.py", "tests/cheats/*.py", "templates/report/*"), b"x = 1\n")


def _inputs() -> Sequence[bytes]:
    each = (
        {"command": "view", "path": "a.txt", "view_range": [1, 2]},
        {"command": "create", "path": "b/c.txt", "file_text": "x"},
        {"command": "str_replace", "path": "a.txt", "old_str": "one", "new_str": "1"},
        {"command": "insert", "path": "a.txt", "insert_line": 1, "insert_text": "x"},
    )
    return tuple(json.dumps(one).encode() for one in each)


_LISTS = (b"H a\0s b\0h c\0S d\0", b"160000 " + b"a" * 40 + b" 0\tb\0100644 " + b"c" * 40 + b" 0\t\xff\n\0")
_WORDS = (
    b"resets 3pm (Europe/Berlin)",
    b"|1795170100",
    b"Please retry in 5h 3m 2s.",
    b"Thu, 26 Nov 2026 10:00:00 GMT",
    b"30",
)

TARGETS = (
    *_agents(),
    *(
        Target(f"parser-{name}", partial(parser, name), partial(_tools, name), (*XML, *JSON))
        for name in parsers.list_parsers()
    ),
    Target("judge", judge, _replies, (*JSON, b"```json\n", b"```\n", b'"status": "met"')),
    Target("proposals", proposals, _proposed, JSON),
    Target(
        "answer", answer, lambda: (b'{"a": [1]}', b"<html><title>x</title>"), (*JSON, b"<", b"<a ", b"utf-16", b"utf-7")
    ),
    Target("diff", diff, _diffs, DIFF, (ValueError,)),
    Target("git-lists", git_lists, lambda: _LISTS, (b"\0", b"\t", b"160000 ")),
    Target("waits", waits, lambda: _WORDS, (*_WORDS, b"5h ", b"9" * 30, b":", b" days")),
    Target("rules", rules, _code, CODE, seconds=15.0),  # a dozen files in seven languages at once
    Target("secrets", secrets, _code, (b"sk-ant-", b"-----BEGIN ", b"ghp_", b"A" * 40, b"password=", b"eyJ", b"=")),
    Target("tool", tool, _inputs, (*JSON, b"../", b"\\u0000", b'"view"')),
)
