"""A kind is a YAML file: what it may say, and what is said of one that cannot be."""

import pytest

from aigon.errors import AigonError
from aigon.model.agents import CommandFiles, Credentials, EscalationStep, read_agent_type

FULL = b"""
title: My agent
program: mine
aliases: [me]
argv: [run, "{approval}", "{model}", "--to={output}", "{prompt_file}"]
approval_as_root: []
model: [-m, "{model}"]
env: {MINE: "1"}
credentials: {env: [MY_KEY], files: ["~/.mine"], more: ["MY_*"], when: {"model:big": [OTHER_KEY]}}
ladder:
  - {turns: 2, model: small}
  - {model: big, effort: high, digest: full}
commands: {path: ".mine/{name}.md", format: toml}
"""


def test_what_a_file_says_is_what_is_known() -> None:
    kind = read_agent_type("my-agent", FULL, "my-agent.yaml")
    assert (kind.name, kind.reads, kind.cost, kind.approval_as_root) == ("my-agent", "my_agent", "unknown", ())
    assert kind.ladder == (EscalationStep(2, "small"), EscalationStep(0, "big", "high", "full"))
    assert kind.credentials == Credentials(("MY_KEY",), ("~/.mine",), ("MY_*",), {"model:big": ("OTHER_KEY",)})
    assert kind.commands == CommandFiles(".mine/{name}.md", "toml")
    assert not kind.wants_stdin and any("{output}" in word for word in kind.argv)
    assert read_agent_type("x", b"title: X", "x.yaml").wants_stdin


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"program: x", "title"),
        (b"title: X\nprogramm: x", "programm"),
        (b"title: X\nargv: ['{promt}']", "{promt}"),
        (b"title: X\nmodel: ['{model', '{effrt}']", "{effrt}"),
        (b"title: X\nladder: [{turns: many}]", "turns"),
        (b"title: X\nladder: [{turns: -1}]", "turns"),
        (b"title: X\ncost: free", "cost"),
        (b"title: X\nargv: {run: x}", "argv"),
        (b"title: X\nmodel: '-m {modle}'", "{modle}"),
        (b"- title: X", "mine.yaml"),
        (b"title: [", "mine.yaml"),
        (b"\xff\xfe\x00", "mine.yaml"),
        (b"", "mine.yaml"),
    ],
)
def test_a_malformed_file_is_named_with_what_is_wrong_in_it(text: bytes, said: str) -> None:
    with pytest.raises(AigonError) as raised:
        read_agent_type("mine", text, "mine.yaml")
    shown = f"{raised.value.what} {raised.value.where} {raised.value.hint}"
    assert raised.value.code == 2 and said in shown and "mine.yaml" in shown


def test_braces_that_are_doubled_are_no_placeholder() -> None:
    assert (
        read_agent_type("x", b"title: X\nargv: ['--json={{\"a\": 1}}', '{{nothing}}']", "x.yaml").argv[1]
        == "{{nothing}}"
    )
