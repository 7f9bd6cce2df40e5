"""What is found out about agents: by looking, and by asking their programs for a version."""

import json
import os
import time
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace

from aigon.agents.adapters import find_type, load_types
from aigon.agents.health import (
    AgentToExamine,
    ask_versions,
    compare_versions,
    examine_agents,
    find_installed_version,
    find_version,
)
from aigon.agents.obstacles import (
    describe_choice,
    explain_none_ready,
    find_credentials,
    find_obstacles,
    find_program,
    list_candidates,
    refuses_root,
)
from aigon.checks.project import find_node
from aigon.errors import AigonError
from aigon.model.agents import AgentType, read_agent_type
from aigon.model.outcomes import AgentHealth
from aigon.model.turns import Agent
from tests.stand_ins import path_with, says, stand_in

KEY = "sk-ant-not-to-be-shown"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """Somebody with an empty home, whose PATH has no agent. IS_SANDBOX: the tests may run as root."""
    (tmp_path / "home").mkdir()
    path = path_with(tmp_path / "bin", node=says("v24.1.0"))
    return {"PATH": path, "HOME": str(tmp_path / "home"), "IS_SANDBOX": "1"}


def made(text: str, name: str = "mine") -> AgentType:
    return read_agent_type(name, f"title: Mine\nprogram: mine\nreads: text\n{text}".encode(), "mine.yaml")


def _lives_in(process: psutil.Process, group: int) -> bool:
    """Whether a process of that group still runs: whoever has inherited a dead one may be slow to collect it."""
    try:
        return os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE
    except (ProcessLookupError, psutil.NoSuchProcess):
        return False


def examined(of: AgentType, root: Path, env: dict[str, str], *, foreign: bool = False) -> AgentHealth:
    (found,) = examine_agents([AgentToExamine(Agent(of.name, of.name, kind=of), of, foreign=foreign)], root, env)
    return found


def find_first_ready(env: dict[str, str], root: Path, *folders: Path) -> str | None:
    """The name of the type that a run without a name takes."""
    return next((one.kind.name for one in list_candidates(load_types(folders), env, root) if not one.problems), None)


# versions


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ("2.1.328 (Claude Code)\n", "2.1.328"),
        ("codex-cli 0.169.0\n", "0.169.0"),
        ("codex-cli 0.170.0-alpha.3\n", "0.170.0-alpha.3"),
        ("aider 0.86.2", "0.86.2"),
        ("GitHub Copilot CLI 1.0.102.\nCommit: 5b1f0a2\n", "1.0.102"),
        ("v20.20.2\n", "20.20.2"),
        ("2026.11.05-ab12cd3\n", "2026.11.05-ab12cd3"),
        ("\x1b[1mtool\x1b[0m \x1b[32m1.2.3\x1b[0m\n", "1.2.3"),
        ("Version 9.9.9 is available, run `tool update`\ntool 1.2.3\n", "1.2.3"),
        ("git version 2.39.5 (Apple Git-154)\n", "2.39.5"),
        ("no number here, and 7 is none\n", ""),
        ("", ""),
        (f"{KEY} 1.5\n", "1.5"),
    ],
)
def test_a_version_is_found_in_what_programs_print_and_nothing_else_is_taken(output: str, version: str) -> None:
    assert find_version(output.encode()) == version


def test_an_untested_version_is_remarked_and_another_spelling_is_not() -> None:
    assert compare_versions("2.1.9", "2.1.10").startswith("older than 2.1.10")
    assert compare_versions("2.1.10", "2.1.9").startswith("newer than 2.1.9")
    assert [compare_versions(*pair) for pair in (("2.1", "2.1.0"), ("v2.1", "2.1"), ("", "2.1"), ("2.1", ""))] == [
        ""
    ] * 4


def test_versions_are_asked_at_once_without_input_and_a_hanging_one_is_ended(
    tmp_path: Path, env: dict[str, str]
) -> None:
    reads = str(stand_in(tmp_path / "reads", "cat; echo reads 1.0"))
    late = str(stand_in(tmp_path / "late", "sleep 0.6; echo late 2.0"))
    hangs = str(stand_in(tmp_path / "hangs", f"trap '' TERM; echo $$ > {tmp_path}/pid; sleep 60 & wait; sleep 60"))
    fails = str(stand_in(tmp_path / "fails", f"echo {KEY} 3.0; exit 4"))
    none = str(stand_in(tmp_path / "none", "#!/no/such/interpreter\n"))
    begun = time.monotonic()
    found = ask_versions(
        [(name, "--version") for name in (reads, late, late, hangs, fails, none)], tmp_path, env, longest=1.0
    )
    assert time.monotonic() - begun < 10
    assert [found[reads, "--version"].version, found[late, "--version"].version] == ["1.0", "2.0"]
    assert (
        found[hangs, "--version"].problem == ""
        and "`hangs --version` did not answer" in found[hangs, "--version"].remark
    )
    assert (
        found[fails, "--version"].problem == "`fails --version` exits with 4" and not found[fails, "--version"].version
    )
    assert "does not start" in found[none, "--version"].problem
    assert KEY not in repr(found)
    group = int((tmp_path / "pid").read_text())
    assert [process for process in psutil.process_iter(["status"]) if _lives_in(process, group)] == []


def test_a_program_of_npm_or_pip_is_not_started_for_its_version(tmp_path: Path, env: dict[str, str]) -> None:
    ran = tmp_path / "ran"
    package, site = tmp_path / "lib" / "node_modules" / "mine", tmp_path / "venv"
    for folder in (package / "bin", site / "bin"):
        folder.mkdir(parents=True)
    stand_in(package / "bin" / "mine.js", f"touch {ran}")
    (package / "package.json").write_text('{"version": "1.2.3", "bin": {"mine": "bin/mine.js"}}')
    (tmp_path / "bin" / "mine").symlink_to(package / "bin" / "mine.js")
    stand_in(site / "bin" / "theirs", f"touch {ran}")
    dist = site / "lib" / "python3.12" / "site-packages" / "their_tool-4.5.6.dist-info"
    dist.mkdir(parents=True)
    (dist / "entry_points.txt").write_text("[console_scripts]\ntheirs = their_tool.main:run\n")
    of = made("")
    (found,) = examine_agents([AgentToExamine(Agent("mine", "mine", kind=of), of)], tmp_path, env)
    assert (found.version, found.state, ran.exists()) == ("1.2.3", "ready", False)
    assert find_installed_version(str(site / "bin" / "theirs")) == "4.5.6"
    assert find_installed_version(str(tmp_path / "bin" / "node")) == ""


# what stands in the way


def test_a_program_that_is_not_there_has_no_other_problem_and_says_how_to_get_it(
    tmp_path: Path, env: dict[str, str]
) -> None:
    of = made("install: pip install mine\nlogin: mine login\ncredentials: {env: [MINE_KEY]}\nneeds: {node: '99'}\n")
    found = examined(of, tmp_path, env)
    assert (found.state, found.path, found.install) == ("not installed", "", "pip install mine")
    assert len(found.problems) == 1 and "pip install mine" in found.problems[0]


@pytest.mark.parametrize(
    ("credentials", "given", "file", "found"),
    [
        ("{env: [MINE_KEY]}", {"MINE_KEY": KEY}, "", ("MINE_KEY",)),
        ("{env: [MINE_KEY]}", {"MINE_KEY": "  "}, "", ()),
        ("{files: ['~/.mine/auth.json']}", {}, "home/.mine/auth.json", ("~/.mine/auth.json",)),
        ("{files: ['~/.mine/auth.json']}", {}, "home/.mine", ()),
        ("{files: ['~/.config/mine/key']}", {"XDG_CONFIG_HOME": "{tmp}/xdg"}, "xdg/mine/key", ("~/.config/mine/key",)),
        ("{files: ['$MINE_HOME/key']}", {"MINE_HOME": "{tmp}/m"}, "m/key", ("$MINE_HOME/key",)),
        ("{files: ['$MINE_HOME/key']}", {}, "", ()),
    ],
)
def test_credentials_are_looked_for_and_never_shown(
    tmp_path: Path, env: dict[str, str], credentials: str, given: dict[str, str], file: str, found: tuple[str, ...]
) -> None:
    theirs = env | {name: value.replace("{tmp}", str(tmp_path)) for name, value in given.items()}
    if file:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(json.dumps({"key": KEY}))
        (tmp_path / file).chmod(0)
    of = made(f"credentials: {credentials}\nlogin: mine login\n")
    stand_in(tmp_path / "bin" / "mine", says("1.0"))
    assert find_credentials(of, theirs) == found
    at = find_obstacles(Agent("mine", "mine", kind=of), tmp_path, theirs)
    assert at.problems == (() if found else ("no login is seen: mine login",))
    assert KEY not in repr(at)


def test_a_program_in_the_home_of_nobody_is_not_there(tmp_path: Path, env: dict[str, str]) -> None:
    assert find_program(tmp_path, env, "~no-such-user-here/agent.sh") is None


def test_a_login_of_codex_is_told_from_a_key_that_it_does_not_use(tmp_path: Path, env: dict[str, str]) -> None:
    stand_in(tmp_path / "bin" / "codex", says("codex-cli 0.169.0"))
    agent, theirs = Agent("codex", "codex", kind=find_type("codex")), env | {"OPENAI_API_KEY": KEY}
    home = Path(env["HOME"], ".codex")
    home.mkdir()
    how = "run `codex login`, or export CODEX_API_KEY"
    assert find_obstacles(agent, tmp_path, theirs).problems == (f"no login is seen: {how}",)
    assert find_obstacles(agent, tmp_path, theirs | {"CODEX_API_KEY": KEY}).seen == ("CODEX_API_KEY",)
    for nothing in ("{}", "", "not json"):
        (home / "auth.json").write_text(nothing)
        assert find_obstacles(agent, tmp_path, theirs).problems == (f"~/.codex/auth.json holds no login: {how}",)
    provider = '[model_providers.mine]\nbase_url = "http://127.0.0.1"\n'
    (home / "config.toml").write_text(f'model_provider = "mine"\n{provider}env_key = "OPENAI_API_KEY"\n')
    assert find_obstacles(agent, tmp_path, theirs).seen == ("OPENAI_API_KEY",)
    assert find_obstacles(agent, tmp_path, env).problems
    (home / "config.toml").write_text(f'model_provider = "mine"\n{provider}')
    assert find_obstacles(agent, tmp_path, env).seen == ("model_providers.mine",)
    (home / "config.toml").unlink()
    pointed = replace(agent, args=("-c", 'model_providers.x={env_key="OPENAI_API_KEY"}'))
    assert not find_obstacles(pointed, tmp_path, theirs).problems


def test_a_login_that_has_expired_is_a_problem_unless_it_renews_itself(tmp_path: Path, env: dict[str, str]) -> None:
    stand_in(tmp_path / "bin" / "claude", says("2.1.330"))
    agent, file = Agent("claude", "claude", kind=find_type("claude")), Path(env["HOME"], ".claude", ".credentials.json")
    file.parent.mkdir()
    Path(env["HOME"], ".claude.json").write_text('{"numStartups": 3}')
    login = {"accessToken": KEY, "expiresAt": 1_700_000_000_000}
    file.write_text(json.dumps({"claudeAiOauth": login}))
    (problem,) = find_obstacles(agent, tmp_path, env).problems
    assert problem.startswith("the login in ~/.claude/.credentials.json has expired: run `claude` once")
    assert not find_obstacles(agent, tmp_path, env | {"ANTHROPIC_API_KEY": KEY}).problems
    for good in ({"refreshToken": KEY}, {"expiresAt": 4_000_000_000_000}):
        file.write_text(json.dumps({"claudeAiOauth": login | good}))
        assert not find_obstacles(agent, tmp_path, env).problems


def test_a_key_that_the_configuration_gives_an_agent_is_a_credential_too(tmp_path: Path, env: dict[str, str]) -> None:
    of = made("credentials: {env: [MINE_KEY]}\n")
    stand_in(tmp_path / "bin" / "mine", says("1.0"))
    agent = Agent("mine", "mine", kind=of, env={"MINE_KEY": KEY})
    assert find_obstacles(agent, tmp_path, env).seen == ("MINE_KEY",)


def test_which_node_a_program_starts_is_read_off_its_first_line(tmp_path: Path) -> None:
    for line, node in {
        "#!/usr/bin/env node\n": "node",
        "#!/usr/bin/env -S node --no-warnings\n": "node",
        "#!/opt/node24/bin/node\n": "/opt/node24/bin/node",
        "#!/bin/sh\nexec node cli.js\n": "node",
        "\x7fELF\x02\x01\x01\x00\x00": None,
    }.items():
        (tmp_path / "program").write_text(line)
        assert find_node(str(tmp_path / "program")) == node, line
    assert find_node(str(tmp_path / "absent")) == "node"


@pytest.mark.parametrize(
    ("node", "problem"),
    [
        (says("v22.4.0"), ""),
        (says("v24.0.0"), ""),
        (says("v20.20.2"), "needs Node 22 or newer; {bin}/node is 20.20.2"),
        ("exit 1", "`node --version` exits with 1"),
        (None, "needs Node 22 or newer, and there is no `node`"),
    ],
)
def test_a_node_that_is_too_old_or_not_there_is_a_problem(
    tmp_path: Path, env: dict[str, str], node: str | None, problem: str
) -> None:
    file = stand_in(tmp_path / "bin" / "node", node or "")
    if node is None:
        file.unlink()
    stand_in(tmp_path / "bin" / "mine", says("1.0"))
    found = examined(made("needs: {node: '22'}\ntested: '1.0'\n"), tmp_path, env)
    wanted = problem.replace("{bin}", str(tmp_path / "bin"))
    assert found.state == ("not ready" if wanted else "ready")
    assert [wanted in each for each in found.problems] == ([True] if wanted else [])


def test_what_a_kind_says_of_root_counts_for_root_alone(env: dict[str, str]) -> None:
    refuses, works = made("as_root: refuses to run as root\n"), made("as_root: works, with less\n")
    bare = {name: value for name, value in env.items() if name != "IS_SANDBOX"}
    assert refuses_root(refuses, bare) == (os.geteuid() == 0)
    assert not refuses_root(works, bare) and not refuses_root(made(""), bare) and not refuses_root(refuses, env)


def test_an_untested_version_is_ready_with_a_remark(tmp_path: Path, env: dict[str, str]) -> None:
    stand_in(tmp_path / "bin" / "mine", says("mine 3.0"))
    found = examined(made("tested: '2.0'\nsource: docs\n"), tmp_path, env)
    assert (found.state, found.version, found.problems) == ("ready", "3.0", ())
    assert "newer than 2.0" in found.remarks[0] and "documentation" in found.remarks[1]


def test_a_kind_that_came_with_the_repository_cannot_make_doctor_run_what_it_likes(
    tmp_path: Path, env: dict[str, str]
) -> None:
    mark = tmp_path / "ran"
    of = read_agent_type(
        "x", f"title: X\nprogram: sh\nreads: text\nversion: [-c, 'echo 1.0; : > {mark}']\n".encode(), "x.yaml"
    )
    assert examined(of, tmp_path / "repo", env, foreign=True).version == "" and not mark.exists()
    assert examined(of, tmp_path, env).version == "1.0" and mark.exists()
    mark.unlink()
    (tmp_path / "repo").mkdir()
    stand_in(tmp_path / "repo" / "mine", f": > {mark}")
    found = examined(AgentType("y", "Y", program="./mine", reads="text"), tmp_path / "repo", env, foreign=True)
    assert found.path and not mark.exists()


# the first that is ready


def test_the_first_that_is_ready_is_taken_in_a_fixed_order_without_running_anything(
    tmp_path: Path, env: dict[str, str]
) -> None:
    ran, own = tmp_path / "ran", tmp_path / "own"
    own.mkdir()
    for name in ("aaa", "zzz"):
        (own / f"{name}.yaml").write_text(f"title: {name}\nprogram: {name}\nreads: text\n")
    (own / "read-about.yaml").write_text("title: A\nprogram: aaa\nreads: text\nsource: docs\n")
    (own / "any.yaml").write_text("title: A\nprogram: aaa\nreads: command\n")
    home = Path(env["HOME"])

    def first() -> str | None:
        return find_first_ready(env, tmp_path, own)

    assert first() is None
    for program in ("zzz", "aaa", "codex", "claude"):
        stand_in(tmp_path / "bin" / program, f": > {ran}")
    assert first() == "aaa"
    (home / ".codex").mkdir()
    (home / ".codex" / "auth.json").touch()
    assert first() == "aaa"
    (home / ".codex" / "auth.json").write_text('{"tokens": {}}')
    assert first() == "codex"
    among = list_candidates(load_types([own]), env, tmp_path)
    assert (
        describe_choice(find_type("codex"), among)
        == "agent: codex, the first that is ready (of claude, codex, aaa, zzz)"
    )
    assert explain_none_ready(among).startswith("claude: no login is seen")
    env["ANTHROPIC_API_KEY"] = KEY
    assert first() == "claude"
    (tmp_path / "bin" / "node").unlink()
    assert first() == "codex"
    assert not ran.exists()


def test_the_built_in_agent_is_the_last_and_only_with_a_key(tmp_path: Path, env: dict[str, str]) -> None:
    try:
        find_type("api")
    except AigonError:
        pytest.skip("there is no built-in agent")
    assert find_first_ready(env, tmp_path) is None
    with_key = env | {"ANTHROPIC_AUTH_TOKEN": KEY}
    assert find_first_ready(with_key, tmp_path) == "api"
    stand_in(tmp_path / "bin" / "claude", says("2.1.328"))
    assert [one.kind.name for one in list_candidates(load_types(), with_key, tmp_path)] == ["claude", "api"]


def test_a_malformed_kind_is_named_where_an_agent_is_to_be_found(tmp_path: Path, env: dict[str, str]) -> None:
    (tmp_path / "bad.yaml").write_text("title: [\n")
    with pytest.raises(AigonError, match=r"bad\.yaml"):
        find_first_ready(env, tmp_path, tmp_path)


def test_a_login_that_is_only_under_a_name_of_somebody_elses_is_said(tmp_path: Path, env: dict[str, str]) -> None:
    env = {**env, "PATH": path_with(tmp_path / "more", mine=says("1.0")), "OTHER_API_KEY": "x", "MINE_URL": "y"}
    kind_of_mine = made("credentials: {env: [MINE_API_KEY]}")
    found = find_obstacles(Agent("mine", "mine", kind=kind_of_mine), tmp_path, env)
    assert found.problems == ("no login is seen; kept from it: OTHER_API_KEY (agents.mine.pass lets one through)",)
    assert not find_obstacles(
        Agent("mine", "mine", kind=kind_of_mine, passed=("OTHER_API_KEY",)), tmp_path, env
    ).problems
    assert not find_obstacles(Agent("mine", "mine", kind=kind_of_mine), tmp_path, {**env, "MINE_API_KEY": "z"}).problems


def test_a_program_that_nothing_is_known_of_has_the_names_that_are_kept_from_it(
    tmp_path: Path, env: dict[str, str]
) -> None:
    command = Agent("own", "command", command=("/bin/true",), kind=find_type("command"))
    (found,) = examine_agents(
        [AgentToExamine(command, find_type("command"), True)], tmp_path, {**env, "OTHER_API_KEY": "x"}
    )
    assert "kept from it: OTHER_API_KEY (agents.own.pass lets one through)" in found.remarks
