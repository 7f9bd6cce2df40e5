"""The configuration, checked strictly: what is wrong is named with file, key and the nearest known key."""

import json
from typing import Any

import pytest

from aigon.config.loading import parse_configuration
from aigon.config.models import Config
from aigon.errors import AigonError
from aigon.files.resources import find_resource
from aigon.model.criteria import MAX_ITERATIONS

FILE = ".aigon/config.json"


def loaded(document: Any) -> Config:
    return parse_configuration([(FILE, json.dumps(document).encode())])


def refused(document: Any) -> AigonError:
    with pytest.raises(AigonError) as error:
        loaded(document)
    assert error.value.code == 2 and error.value.where == FILE
    return error.value


def test_without_any_file_the_defaults_are_those_that_are_documented() -> None:
    config = parse_configuration([])
    assert (config.ralph.enabled, config.ralph.max_iterations, config.ralph.validation_script) == (True, 5, None)
    assert (config.ralph.auto_check_criteria, config.ralph.stop_on_first_failure) == (True, False)
    guards = config.guards
    assert (guards.consecutive_failures, guards.repeated_error, guards.stall) == (3, 3, 4)
    assert (guards.iteration_timeout, guards.run_time, guards.max_cost) == (1800.0, None, None)
    assert (config.validation.mode, config.judge, config.ladder, MAX_ITERATIONS) == ("replace", None, None, 20)


def test_the_keys_of_the_contract_are_taken() -> None:
    config = loaded(
        {
            "$schema": "https://example.invalid/schema.json",
            "profile": "web",
            "defaultAgent": "mine",
            "ralph": {
                "enabled": True,
                "maxIterations": 20,
                "validationScript": ".aigon/validation.sh",
                "autoCheckCriteria": False,
                "stopOnFirstFailure": True,
            },
            "profiles": {"web": {"validationScript": ".aigon/web.sh"}},
            "agents": {"mine": {"adapter": "command", "command": ["./my-agent.sh"]}},
            "judge": {"backend": "none"},
            "validation": {"mode": "add"},
            "guards": {
                "consecutiveFailures": 3,
                "repeatedError": 0,
                "stall": 0,
                "iterationTimeout": "1h30m",
                "runTime": None,
            },
            "env": {"pass": ["NPM_TOKEN"]},
            "checks": {"links": {"command": "make links", "timeout": 90, "when": "final", "exclusive": True}},
            "ladder": [{}, {"model": "bigger", "effort": "high"}],
        }
    )
    assert (config.ralph.max_iterations, config.validation.mode) == (20, "add")
    assert config.profiles["web"].validation_script == ".aigon/web.sh"
    assert (config.guards.iteration_timeout, config.guards.repeated_error) == (5400.0, 0)
    assert config.env.pass_ == ["NPM_TOKEN"] and (config.ladder or [])[1].model == "bigger"
    assert config.agents["mine"].command == ["./my-agent.sh"]


def test_the_example_that_ships_is_valid() -> None:
    text = find_resource(".aigon.example", "config.json").read_bytes()
    assert parse_configuration([("config.json", text)]).ralph.validation_script == ".aigon/validation.sh"


@pytest.mark.parametrize(
    ("document", "key", "near"),
    [
        ({"profil": "web"}, "profil", "profile"),
        ({"ralph": {"maxIteration": 5}}, "ralph.maxIteration", "maxIterations"),
        ({"ralph": {"max_iterations": 5}}, "ralph.max_iterations", "maxIterations"),
        ({"agents": {"mine": {"comand": ["x"]}}}, "agents.mine.comand", "command"),
        ({"agents": {"strong": {"comand": ["x"]}}}, "agents.strong.comand", "command"),
        ({"agents": {"list": {"comand": ["x"]}}}, "agents.list.comand", "command"),
        ({"profiles": {"float": {"validationscript": "x"}}}, "profiles.float.validationscript", "validationScript"),
        ({"checks": {"tests": {"comand": "x"}}}, "checks.tests.comand", "command"),
        ({"guards": {"stal": 1}}, "guards.stal", "stall"),
        ({"judge": {"backnd": "none"}}, "judge.backnd", "backend"),
        ({"env": {"pas": []}}, "env.pas", "pass"),
        ({"ladder": [{}, {"modl": "x"}]}, "ladder.1.modl", "model"),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_known_one(document: Any, key: str, near: str) -> None:
    error = refused(document)
    assert error.what == f"Unknown configuration key '{key}'"
    assert error.hint == f"Did you mean '{near}'?"


@pytest.mark.parametrize(
    ("document", "key", "known"),
    [
        ({"zzzz": 1}, "zzzz", "agents, approvals, arena, checks"),
        ({"ralph": {"strict": True}}, "ralph.strict", "autoCheckCriteria, enabled"),
        ({"ladder": [{"zzzz": 1}]}, "ladder.0.zzzz", "digest, effort, model, turns"),
    ],
)
def test_an_unknown_key_that_is_near_nothing_is_named_with_those_that_are_known(
    document: Any, key: str, known: str
) -> None:
    error = refused(document)
    assert error.what == f"Unknown configuration key '{key}'"
    assert error.hint.startswith(f"Known here: {known}") or known in error.hint


@pytest.mark.parametrize(
    ("document", "key", "value"),
    [
        ({"ralph": {"maxIterations": 0}}, "ralph.maxIterations", "0"),
        ({"ralph": {"maxIterations": 21}}, "ralph.maxIterations", "21"),
        ({"ralph": {"maxIterations": "5"}}, "ralph.maxIterations", '"5"'),
        ({"ralph": {"maxIterations": 5.0}}, "ralph.maxIterations", "5.0"),
        ({"ralph": {"enabled": "yes"}}, "ralph.enabled", '"yes"'),
        ({"ralph": []}, "ralph", "[]"),
        ({"guards": None}, "guards", "null"),
        ({"guards": {"consecutiveFailures": 0}}, "guards.consecutiveFailures", "0"),
        ({"guards": {"repeatedError": -1}}, "guards.repeatedError", "-1"),
        ({"guards": {"stall": True}}, "guards.stall", "true"),
        ({"guards": {"iterationTimeout": "soon"}}, "guards.iterationTimeout", '"soon"'),
        ({"guards": {"iterationTimeout": 0}}, "guards.iterationTimeout", "0"),
        ({"guards": {"iterationTimeout": None}}, "guards.iterationTimeout", "null"),
        ({"guards": {"runTime": "-5m"}}, "guards.runTime", '"-5m"'),
        ({"guards": {"maxCost": 0}}, "guards.maxCost", "0"),
        ({"guards": {"maxCost": "5"}}, "guards.maxCost", '"5"'),
        ({"validation": {"mode": "both"}}, "validation.mode", '"both"'),
        ({"checks": {"tests": {"when": "often"}}}, "checks.tests.when", '"often"'),
        ({"checks": {"tests": {"role": "git"}}}, "checks.tests.role", '"git"'),
        ({"agents": {"strong": {"command": 5}}}, "agents.strong.command", "5"),
        ({"agents": {"mine": {"command": ["x", 5]}}}, "agents.mine.command", '["x", 5]'),
        ({"env": {"pass": "TOKEN"}}, "env.pass", '"TOKEN"'),
        ({"ladder": [{"model": 5}]}, "ladder.0.model", "5"),
        ({"checks": {"tests": "make"}}, "checks.tests': has to be an object", '"make"'),
    ],
)
def test_a_bad_value_is_named_with_its_key_and_shown(document: Any, key: str, value: str) -> None:
    error = refused(document)
    assert error.what.startswith(f"Bad value for '{key}"), error.what
    assert error.hint == f"It is {value}" or key.endswith("command")


@pytest.mark.parametrize(
    ("content", "where"),
    [
        (b"", f"{FILE}:1:1"),
        (b'{\n  "profile": "web",\n}', f"{FILE}:"),
        (b'{\n  "profile" "web"\n}', f"{FILE}:2:13"),
        (b"{'profile': 'web'}", f"{FILE}:1:2"),
    ],
)
def test_json_that_is_none_is_named_with_line_and_column(content: bytes, where: str) -> None:
    with pytest.raises(AigonError) as error:
        parse_configuration([(FILE, content)])
    assert error.value.code == 2 and error.value.where.startswith(where)
    assert error.value.what.startswith("The configuration is not valid JSON: ")


@pytest.mark.parametrize(
    ("content", "what"), [(b"[]", "not a JSON object"), (b'"x"', "not a JSON object"), (b"\xff", "UTF-8")]
)
def test_a_file_that_is_no_object_of_utf_8_is_refused(content: bytes, what: str) -> None:
    with pytest.raises(AigonError) as error:
        parse_configuration([(FILE, content)])
    assert (error.value.code, error.value.where) == (2, FILE) and what in error.value.what


def test_a_byte_order_mark_is_no_error() -> None:
    assert parse_configuration([(FILE, b'\xef\xbb\xbf{"profile": "web"}')]).profile == "web"


def test_the_later_file_wins_key_by_key() -> None:
    person = {"ralph": {"maxIterations": 7, "stopOnFirstFailure": True}, "agents": {"a": {"command": ["a"]}}}
    project = {"ralph": {"maxIterations": 3}, "agents": {"b": {"command": ["b"]}}}
    config = parse_configuration([("user", json.dumps(person).encode()), (FILE, json.dumps(project).encode())])
    assert (config.ralph.max_iterations, config.ralph.stop_on_first_failure) == (3, True)
    assert set(config.agents) == {"a", "b"}


def test_an_error_names_the_file_it_stands_in() -> None:
    good, bad = json.dumps({"profile": "web"}).encode(), b'{"profil": "web"}'
    for sources, where in (([("user", bad), (FILE, good)], "user"), ([("user", good), (FILE, bad)], FILE)):
        with pytest.raises(AigonError) as error:
            parse_configuration(sources)
        assert error.value.where == where


def test_a_judge_without_a_backend_leaves_the_choice_open() -> None:
    judge = loaded({"judge": {"model": "claude-opus-5-5", "timeout": "30s"}}).judge
    assert judge is not None and (judge.backend, judge.model, judge.timeout) == (None, "claude-opus-5-5", 30.0)
