"""What an agent sees of the person's environment."""

import pytest
from msgspec.structs import replace

from aigon.agents.adapters import find_type, load_types
from aigon.agents.credentials import filter_environment, join_names, list_withheld
from aigon.model.turns import Agent

PERSON = {
    "PATH": "/bin", "HOME": "/home/ada", "SSH_AUTH_SOCK": "/run/agent", "ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o",
    "ANTHROPIC_BASE_URL": "https://proxy", "OPENAI_BASE_URL": "https://other", "AWS_SECRET_ACCESS_KEY": "s",
    "AWS_REGION": "eu", "GITHUB_TOKEN": "g", "DB_PASSWORD": "d", "GEMINI_API_KEY": "e", "MISTRAL_API_KEY": "m",
    "GOOGLE_APPLICATION_CREDENTIALS": "/key.json", "CURSOR_API_KEY": "c", "COPILOT_GITHUB_TOKEN": "p",
}  # fmt: skip
ORDINARY = {"PATH", "HOME", "SSH_AUTH_SOCK"}


def seen(name: str, *, model: str = "", env: dict[str, str] | None = None, passed: tuple[str, ...] = ()) -> set[str]:
    """What an agent of this kind sees beyond what is nobody's secret."""
    agent = Agent(name, name, model=model, env=env or {}, passed=passed)
    return set(filter_environment(PERSON, agent, find_type(name))) - ORDINARY


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("claude", {"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"}),
        ("api", {"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"}),
        ("codex", {"OPENAI_API_KEY", "OPENAI_BASE_URL"}),
        ("gemini", {"GEMINI_API_KEY"}),
        ("vibe", {"MISTRAL_API_KEY"}),
        ("cursor", {"CURSOR_API_KEY"}),
        ("copilot", {"COPILOT_GITHUB_TOKEN", "GITHUB_TOKEN"}),
        ("command", set()),
        ("replay", set()),
    ],
)
def test_an_agent_sees_the_credentials_of_its_own_kind_and_no_others(name: str, own: set[str]) -> None:
    assert seen(name) == own


@pytest.mark.parametrize("name", sorted(load_types()))
def test_every_kind_sees_what_it_declares_and_never_what_nobody_declared(name: str) -> None:
    declared = find_type(name).credentials.env
    env = dict.fromkeys((*declared, "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY", "DEPLOY_TOKEN"), "x")
    assert set(filter_environment(env, Agent(name, name), find_type(name))) == set(declared)


def test_a_cloud_is_let_through_where_a_person_switched_it_on() -> None:
    cloud = {"AWS_SECRET_ACCESS_KEY", "AWS_REGION"}
    assert cloud <= seen("claude", env={"CLAUDE_CODE_USE_BEDROCK": "1"})
    assert not cloud & seen("claude", env={"CLAUDE_CODE_USE_BEDROCK": "0"})
    assert "GOOGLE_APPLICATION_CREDENTIALS" in seen("gemini", env={"GOOGLE_GENAI_USE_VERTEXAI": "true"})
    for name, model in (("aider", "bedrock/claude"), ("opencode", "amazon-bedrock/claude"), ("mini", "bedrock/x")):
        assert cloud <= seen(name, model=model) and "AWS_SECRET_ACCESS_KEY" not in seen(name, model="gpt")


def test_a_name_that_is_passed_is_seen_and_what_is_kept_is_listed_with_secrets_first() -> None:
    assert seen("command", passed=("DB_PASSWORD",)) == {"DB_PASSWORD"}
    kept = list_withheld(PERSON, Agent("mine", "command"), replace(find_type("command")))
    assert kept[0] == "ANTHROPIC_API_KEY" and kept[-1] in ("AWS_REGION", "OPENAI_BASE_URL") and len(kept) == 13
    assert join_names(kept).endswith(" and 5 more") and join_names(("A", "B")) == "A, B"
