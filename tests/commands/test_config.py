"""`aigon config`: every value as it holds, where it comes from, and nothing of it that is secret."""

import json
from pathlib import Path
from typing import Any

import click
import pytest

from aigon.cli import VERBS
from aigon.commands.root import root
from aigon.config.models import Config
from aigon.config.sections import KeyPath, read_section, write_value
from aigon.run.config_origin import OPTIONS, format_key, is_set, list_values, redact_value
from tests.lab import Lab

PROJECT = ".aigon/config.json"


def values(lab: Lab, cwd: Path | None = None, **env: str) -> dict[str, tuple[Any, str]]:
    """Value and origin of each key."""
    ran = lab.aigon("config", "show", "--json", env=env, cwd=cwd)
    assert (ran.code, ran.json["schema_version"]) == (0, 1), ran.err
    return {each["key"]: (each["value"], each["origin"]) for each in ran.json["values"]}


def user(lab: Lab, **keys: Any) -> str:
    """Write the person's own configuration; its path."""
    file = lab.home / ".config" / "aigon" / "config.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(keys))
    return str(file)


def test_each_value_comes_from_the_first_that_has_it(lab: Lab) -> None:
    theirs = user(lab, guards={"stall": 9, "repeatedError": 8}, ralph={"maxIterations": 3}, profile="library")
    lab.config(ralph={"maxIterations": 7, "autoCheckCriteria": True}, guards={"repeatedError": 2, "maxCost": 4.5})
    found = values(lab, AIGON_MAX_COST="1.5", AIGON_MAX_TIME="2h", AIGON_JUDGE="none", AIGON_MAX_WAIT="0")
    assert found["ralph.maxIterations"] == (7, PROJECT)
    assert found["ralph.autoCheckCriteria"] == (True, PROJECT)  # said, though it is the default
    assert found["guards.repeatedError"] == (2, PROJECT)
    assert found["guards.stall"] == (9, theirs)
    assert found["profile"] == ("library", theirs)
    assert found["guards.maxCost"] == (1.5, "AIGON_MAX_COST")
    assert found["guards.runTime"] == (7200, "AIGON_MAX_TIME")
    assert found["guards.maxWait"] == (0, "AIGON_MAX_WAIT")
    assert (found["judge.backend"], found["judge.mode"]) == (("none", "AIGON_JUDGE"), ("all", "default"))
    assert found["guards.consecutiveFailures"] == (3, "default")
    assert found["stateHome"] == (str(lab.home / "state"), "AIGON_STATE_HOME")


def test_a_profile_says_how_long_a_turn_may_take_unless_the_configuration_does(lab: Lab) -> None:
    lab.write(".aigon/profiles/slow.yaml", "extends: generic\ntimeouts: {turn: 1h}\n")
    lab.spec("it is done <!-- verify: false -->")
    lab.agent("true")
    lab.config(profile="slow")
    plan = ["feature-implement", "42", "--loop", "--dry-run", "--json"]
    assert lab.aigon(*plan).json["limits"]["iteration_timeout"] == 3600
    assert values(lab)["guards.iterationTimeout"] == (3600, ".aigon/profiles/slow.yaml")
    assert lab.aigon(*plan, "--iteration-timeout", "5m").json["limits"]["iteration_timeout"] == 300
    lab.config(guards={"iterationTimeout": "30m"})
    assert lab.aigon(*plan).json["limits"]["iteration_timeout"] == 1800
    assert values(lab)["guards.iterationTimeout"] == (1800, PROJECT)


def test_what_a_file_replaces_whole_comes_from_nobody_else(lab: Lab) -> None:
    user(lab, proof={"home": "real"}, protect=[{"paths": "a"}, {"paths": "b"}])
    lab.config(proof="in-place", protect=[{"paths": "c", "level": "note"}])
    found = values(lab)
    assert found["proof.mode"] == ("in-place", PROJECT)
    assert found["proof.home"] == ("throwaway", "default")
    assert found["protect"] == ([{"paths": "c", "level": "note"}], PROJECT)


def test_the_keys_are_those_of_the_model_in_its_order(lab: Lab) -> None:
    lab.config(agents={"mine": {"command": ["x"]}}, profiles={"my.own": {"validationScript": None}})
    found = [key for key in values(lab) if not key.startswith(("checks.", "stateHome"))]
    assert 'profiles."my.own".validationScript' in found and "agents.mine.adapter" in found
    model = read_section(Config, json.loads(lab.read(PROJECT)))
    assert found == [format_key(leaf.keys) for leaf in list_values(model) if leaf.keys[0] not in ("$schema", "checks")]


def test_the_checks_are_shown_as_they_will_run_and_where_they_were_defined(lab: Lab) -> None:
    lab.write("tests/test_a.py", "import pytest\n")
    lab.write("ruff.toml", "")
    lab.config(
        checks={
            "tests": {"timeout": "2m", "env": {"MODE": "fast"}},
            "mine": {"command": "make check", "role": "script"},
            "lint": {"enabled": False},
        }
    )
    found = values(lab, AIGON_PROFILE="generic")
    python = "profiles/ecosystems/python.yaml"
    assert found["profile"] == ("generic", "AIGON_PROFILE")
    assert (found["checks.tests.parser"], found["checks.tests.timeout"]) == (("pytest", python), (120, PROJECT))
    assert "-m pytest" in found["checks.tests.command"][0] and found["checks.tests.command"][1] == python
    assert found["checks.tests.env.MODE"] == ("fast", PROJECT)
    assert found["checks.mine.command"] == ("make check", PROJECT)
    assert (found["checks.mine.exclusive"], found["checks.lint.enabled"]) == ((False, "default"), (False, PROJECT))
    assert not any(key.startswith("checks.types") for key in found)


def test_a_profile_that_was_detected_says_so_and_a_script_that_stands_in_is_named(lab: Lab) -> None:
    lab.write(".aigon/validation.sh", "true\n")
    lab.write(".aigon/profiles/mine.yaml", "description: x\npriority: 99\ndetect: {file: README.md}\n")
    found = values(lab)
    assert found["profile"] == ("mine", "detected (.aigon/profiles/mine.yaml)")
    assert found["ralph.validationScript"] == (".aigon/validation.sh", "default")
    assert found["checks.script.timeout"] == (1800, ".aigon/validation.sh")
    lab.write("other.sh", "true\n")
    found = values(lab, AIGON_VALIDATION_SCRIPT="other.sh")
    assert found["ralph.validationScript"] == ("other.sh", "AIGON_VALIDATION_SCRIPT")
    assert found["checks.script.command"][1] == "AIGON_VALIDATION_SCRIPT"


def test_every_variable_that_an_option_may_come_from_has_a_key() -> None:
    context = click.Context(root)
    options = {
        (option.name, option.envvar)
        for verb in VERBS
        if (command := root.get_command(context, verb))
        for option in command.params
        if option.envvar
    }
    assert {name for name, _ in options} == set(OPTIONS)
    known = {leaf.keys for leaf in list_values(read_section(Config, {"judge": {}}))}
    assert {keys for name, keys in OPTIONS.items() if keys not in known} == {("model",)}


@pytest.mark.parametrize(
    ("env", "config", "said"),
    [
        ({"AIGON_MAX_ITERATIONS": "many"}, "{}", "AIGON_MAX_ITERATIONS has a bad value: 'many' is not a valid integer"),
        ({"AIGON_MAX_TIME": "never"}, "{}", "AIGON_MAX_TIME has a bad value: 'never' is not a duration"),
        ({"AIGON_MAX_ITERATIONS": "50"}, "{}", "Give 1 to 20"),
        ({"AIGON_PROFILE": "lbrary"}, "{}", "Did you mean 'library'?"),
        ({}, '{"guards": {"stal": 3}}', "Did you mean 'stall'?"),
        ({}, "{", "not valid JSON"),
    ],
)
def test_what_is_malformed_is_refused_as_everywhere(lab: Lab, env: dict[str, str], config: str, said: str) -> None:
    lab.write(PROJECT, config)
    ran = lab.aigon("config", "show", "--json", env=env)
    assert ran.code == 2 and said in ran.err and ran.json["error"]["exit_code"] == 2
    assert "Traceback" not in ran.err


def test_no_credential_is_printed(lab: Lab) -> None:
    lab.config(
        agents={"mine": {"command": ["x", "--api-key", "SECRET1"], "env": {"ANY": "SECRET2"}}},
        checks={"tests": {"command": "DB_TOKEN=SECRET3 make test --password SECRET4", "env": {"API_KEY": "SECRET5"}}},
        notify=[{"webhook": "https://hooks.invalid/T0/SECRET6"}, {"webhook": "$HOOK"}],
        hooks={"before_loop": {"command": ["curl", "https://me:SECRET7@host.invalid/x"]}},
        judge={"command": ["judge", "--token=SECRET8"]},
    )
    for form in ("--origin", "--json"):
        ran = lab.aigon("config", "show", form)
        assert ran.code == 0 and "SECRET" not in ran.out + ran.err
        assert "[redacted]" in ran.out and "hooks.invalid" in ran.out and "$HOOK" in ran.out


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (["run", "--token", "-q"], ["run", "--token", "-q"]),
        (["a", "--key=x", "b"], ["a", "--key=[redacted]", "b"]),
        ("make KEY=$KEY test", "make KEY=$KEY test"),
        ("export A_SECRET='b c' && x", "export A_SECRET=[redacted] && x"),
        ("x --api-key abc --password=d -p e", "x --api-key [redacted] --password=[redacted] -p e"),
        ("pass the tokens and keys", "pass the tokens and keys"),
        (
            {"headers": {"Authorization": "x", "Accept": "y"}},
            {"headers": {"Authorization": "[redacted]", "Accept": "y"}},
        ),
        ([{"path": "/a?api_key=1&b=2"}], [{"path": "/a?api_key=[redacted]&b=2"}]),
        (["sk-ant-" + "a1" * 12], ["[redacted]"]),
        (5, 5),
        (None, None),
    ],
)
def test_only_what_looks_like_a_credential_is_left_out(value: object, shown: object) -> None:
    assert redact_value(("checks", "tests", "command"), value, free=False) == shown


def test_the_names_that_are_let_through_and_protected_keys_are_no_secrets() -> None:
    assert redact_value(("env", "pass"), ["API_KEY"], free=False) == ["API_KEY"]
    assert redact_value(("protect",), [{"paths": "a", "keys": ["x"]}], free=False) == [{"paths": "a", "keys": ["x"]}]
    assert redact_value(("agents", "m", "env", "A"), "x", free=True) == "[redacted]"
    assert redact_value(("checks", "t", "env", "MODE"), "x", free=True) == "x"


def test_what_is_set_is_known_through_every_layer() -> None:
    config = write_value(
        read_section(Config, {"proof": "in-place", "agents": {"m": {"env": {"A": "b"}}}, "guards": {"stall": 4}})
    )
    there: list[KeyPath] = [("proof", "mode"), ("agents", "m", "env", "A"), ("guards", "stall")]
    for keys in there:
        assert is_set(config, keys)
    unset: list[KeyPath] = [("proof", "home"), ("agents", "m", "model"), ("agents", "x"), ("guards", "no"), ("ladder",)]
    for keys in unset:
        assert not is_set(config, keys)


def test_for_people_there_is_a_line_for_each_value_and_its_origin_beside_or_below_it(lab: Lab) -> None:
    lab.config(agents={"mine": {"command": ["a", "b" * 60]}})
    plain = lab.aigon("config", "show").out.splitlines()
    assert "ralph.maxIterations = 5" in plain and not any("default" in line.split() for line in plain)
    lines = lab.aigon("config", "show", "--origin").out.splitlines()
    column = next(line for line in lines if line.startswith("ralph.enabled")).index("default")
    at = next(number for number, line in enumerate(lines) if line.startswith("agents.mine.command"))
    assert lines[at + 1] == " " * column + PROJECT
    assert all(line[column - 2 :] == "  default" for line in lines if line.endswith("default"))


def test_it_says_where_its_files_are_and_prints_a_schema_outside_of_a_repository_too(lab: Lab, tmp_path: Path) -> None:
    lab.write(PROJECT, "{}")
    paths = lab.aigon("config", "path", "--json", cwd=lab.write("sub/x", "").parent).json["paths"]
    assert paths["project"] == {"path": str(lab.path(PROJECT)), "exists": True}
    assert paths["user"] == {"path": str(lab.home / ".config/aigon/config.json"), "exists": False}
    outside = lab.aigon("config", "path", cwd=tmp_path)
    assert outside.code == 0 and "project" not in outside.out and "(not there)" in outside.out
    printed = lab.aigon("config", "schema", "profile", cwd=tmp_path)
    assert (printed.code, printed.json["title"]) == (0, "Profile of aigon")
    listed = lab.aigon("config", "schema", "--json", cwd=tmp_path)
    assert listed.json["schemas"] == ["config", "ecosystem", "profile", "spec"]
    unknown = lab.aigon("config", "schema", "confg", cwd=tmp_path)
    assert unknown.code == 2 and "Did you mean 'config'?" in unknown.err
    assert lab.aigon("config", "show", cwd=tmp_path).code == 7


def test_without_a_verb_it_shows_the_values_and_a_slip_names_the_nearest(lab: Lab) -> None:
    assert lab.aigon("config", "--json").json == lab.aigon("config", "show", "--json").json
    overview = lab.aigon("config", "--help")
    assert overview.code == 0 and all(verb in overview.out for verb in ("show", "schema", "path"))
    slip = lab.aigon("config", "shwo")
    assert slip.code == 2 and "Did you mean 'show'?" in slip.err and "?." not in slip.err
    assert lab.aigon("config", "--json", "path").code == 2
