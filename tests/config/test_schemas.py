"""The JSON Schemas that ship: they say what the code says, of what ships and of what is malformed.

The configuration's is made of the models, docs/configuration.md of both. After a change of the models or of
templates/schemas/config_keys.yaml:
AIGON_UPDATE_SCHEMAS=1 pytest tests/config/test_schemas.py
"""

import copy
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml

from aigon.config.loading import SCHEMA_FOLDER, list_schemas, load_schema, parse_configuration, write_schemas
from aigon.errors import AigonError
from aigon.files.resources import read_profiles
from aigon.model.checks import ROLES
from aigon.profiles import ecosystem, profile
from aigon.profiles.conditions import KINDS
from aigon.profiles.ecosystem import SETTINGS
from aigon.profiles.profile import ProfileDocuments
from aigon.spec.document import parse_spec, read_known_failures
from aigon.text.documents import DocumentNode, parse_yaml
from tests import config_schema

Schema = dict[str, Any]
SHIPPED = read_profiles()
ECOSYSTEMS = sorted(name for name in SHIPPED if name.startswith("ecosystems/"))
PROFILES = sorted(name for name in SHIPPED if name not in (*ECOSYSTEMS, "protection"))
CANDIDATE = {"if": {"always": True}, "argv": ["make"]}
ECOSYSTEM: Schema = {
    "title": "X",
    "detect": {"file": "x"},
    "absent": "no x",
    "roles": {"tests": {"absent": "none", "candidates": [CANDIDATE]}},
}
PROFILE: Schema = {"description": "X"}


@pytest.mark.parametrize("file", [config_schema.FILE, config_schema.PAGE], ids=lambda file: file.name)
def test_schema_and_page_of_the_configuration_are_those_of_its_models(file: Path) -> None:
    schema = json.dumps(config_schema.generated(), indent=2, ensure_ascii=False) + "\n"
    made = schema if file == config_schema.FILE else config_schema.render_page()
    if os.environ.get("AIGON_UPDATE_SCHEMAS"):
        file.write_text(made, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == made, "stale: see the head of this file"


@pytest.mark.parametrize("name", ["config", "ecosystem", "profile", "spec"])
def test_every_schema_is_one_and_every_key_has_a_title_and_a_description(name: str) -> None:
    assert name in list_schemas()
    jsonschema.Draft202012Validator.check_schema(load_schema(name))
    assert load_schema(name)["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    bare = [place for place, each in keys(load_schema(name)) if not (each.get("title") and each.get("description"))]
    assert bare == []


def keys(whole: Schema) -> Iterator[tuple[str, Schema]]:
    """Every key that a schema knows; one that is only a reference has what it refers to."""

    def below(found: Any, at: str) -> Iterator[tuple[str, Schema]]:
        if isinstance(found, list):
            for each in found:
                yield from below(each, at)
        elif isinstance(found, dict):
            for key, each in found.get("properties", {}).items():
                yield f"{at}.{key}", {**referred(whole, each), **each}
            for key, each in found.items():
                yield from below(each, f"{at}.{key}")

    yield from below(whole, "")


def referred(whole: Schema, each: Schema) -> Schema:
    found: Schema = whole
    for part in each.get("$ref", "#").split("/")[1:]:
        found = found[part]
    return referred(whole, found) if "$ref" in found else found if "$ref" in each else {}


def test_exactly_the_keys_that_exist_are_explained() -> None:
    explained = set(config_schema.list_explanations())
    places = {place for place, _ in config_schema.list_places(config_schema.generated())}
    sections = {place.rpartition(".")[0].removesuffix("[]").removesuffix(".NAME") for place in explained}
    elsewhere = {place for place in places if place.startswith(("endpoints.", "paths.NAME.endpoints."))}
    elsewhere |= {place for place in places if place.startswith("agents.NAME.ladder[].")}  # as under `ladder`
    assert explained - places == set()
    assert places - explained - elsewhere - sections == set()


# of profiles and ecosystems


@pytest.mark.parametrize("name", [*ECOSYSTEMS, *PROFILES])
def test_what_ships_is_valid(name: str) -> None:
    kind = "ecosystem" if name in ECOSYSTEMS else "profile"
    assert wrong(kind, parse_yaml(SHIPPED[name], name).value) == ""


def test_the_sample_profile_is_valid_and_names_its_schema() -> None:
    sample = config_schema.ROOT / ".aigon.example" / "profiles" / "scripts.yaml"
    first, *_ = sample.read_text(encoding="utf-8").splitlines()
    assert first == "# yaml-language-server: $schema=../schemas/profile.schema.json"
    assert wrong("profile", yaml.safe_load(sample.read_bytes())) == ""


def wrong(kind: str, document: object) -> str:
    """What the schema has against a document; empty where it is valid."""
    error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(load_schema(kind)).iter_errors(document))
    return f"{error.json_path}: {error.message}" if error else ""


def refused(kind: str, document: object) -> str:
    """What the code has against it, beside what ships."""
    text = json.dumps(document).encode()
    name = "ecosystems/mine" if kind == "ecosystem" else "mine"
    try:
        node = ProfileDocuments(SHIPPED, {name: text}).read(name)
        if kind == "ecosystem":
            ecosystem.read_ecosystem("mine", node)
        else:
            profile._read_profile("mine", node, profile.load_ecosystems(SHIPPED, {}))
    except AigonError as error:
        return str(error)
    return ""


def known_keys(kind: str, document: Schema, *place: str | int) -> set[str]:
    """The keys that the code knows at a place of a document: it names them where it meets one that it does not know."""
    changed = copy.deepcopy(document)
    inside: Any = changed
    for part in place:
        inside = inside[part]
    inside["zzz"] = 1
    try:
        node = DocumentNode(changed, "x")
        ecosystem.read_ecosystem("x", node) if kind == "ecosystem" else profile._read_profile("x", node, {})
    except AigonError as error:
        return set(re.split(r", ", error.hint.partition("Known: ")[2]))
    raise AssertionError("an unknown key was taken")


FULL = {
    **ECOSYSTEM,
    "protect": [{"paths": "x"}],
    "setup": [{"lock": "a", "argv": ["b"], "makes": "c"}],
    "variables": {"v": [{"if": {"always": True}, "value": "1"}]},
    "roles": {"tests": {"absent": "", "candidates": [{**CANDIDATE, "needs": [{"tool": "x", "hint": "y"}]}]}},
}
ROLE = ("roles", "tests")
PLACES: list[tuple[str, tuple[str | int, ...], str]] = [
    ("ecosystem", (), ""),
    ("ecosystem", ("detect",), "$defs/condition"),
    ("ecosystem", ("protect", 0), "properties/protect/items"),
    ("ecosystem", ("setup", 0), "properties/setup/items"),
    ("ecosystem", ("variables", "v", 0), "properties/variables/additionalProperties/items"),
    ("ecosystem", ROLE, "$defs/role"),
    ("ecosystem", (*ROLE, "candidates", 0), "$defs/candidate"),
    ("ecosystem", (*ROLE, "candidates", 0, "needs", 0), "$defs/need"),
    ("profile", (), ""),
    ("profile", ("timeouts",), "properties/timeouts"),
]


@pytest.mark.parametrize(("kind", "place", "pointer"), PLACES)
def test_the_schema_knows_the_keys_that_the_code_knows(kind: str, place: tuple[str | int, ...], pointer: str) -> None:
    document = FULL if kind == "ecosystem" else {**PROFILE, "timeouts": {}}
    found: Schema = load_schema(kind)
    for part in pointer.split("/") if pointer else ():
        found = found[part]
    extending = set() if place else {"extends"}
    assert set(found["properties"]) == known_keys(kind, document, *place) | extending
    assert found["additionalProperties"] is False


def test_conditions_settings_and_roles_agree_in_both_schemas() -> None:
    one, other = load_schema("ecosystem")["$defs"], load_schema("profile")["$defs"]
    assert one == other
    assert set(one["condition"]["properties"]) == set(KINDS)
    assert set(one["candidate"]["properties"]) >= set(SETTINGS)
    assert tuple(one["roles"]["properties"]) == ROLES


def role(**how: object) -> Schema:
    return {**ECOSYSTEM, "roles": {"tests": {"absent": "", "candidates": [{**CANDIDATE, **how}]}}}


GOOD: list[tuple[str, Schema]] = [
    ("ecosystem", ECOSYSTEM),
    ("ecosystem", FULL),
    ("ecosystem", {"extends": "python", "title": "Mine"}),
    ("ecosystem", {**ECOSYSTEM, "fallback": True, "manifests": ["x.toml"], "workspace": {"file": "w"}}),
    ("ecosystem", {**ECOSYSTEM, "roles": {"lint-format": {"candidates": [CANDIDATE]}}}),
    ("ecosystem", {**ECOSYSTEM, "detect": {"toml": {"glob": "**/x.toml", "key": "a", "matching": "b"}}}),
    ("ecosystem", {**ECOSYSTEM, "detect": {"any": [{"not": {"ini": {"file": "x", "section": "y"}}}, {"tool": "x"}]}}),
    ("ecosystem", role(timeout="1h30m", when="final", exclusive=True, cwd="sub", env={"A": "b"}, reports=["*.xml"])),
    ("ecosystem", role(timeout=90, needs=[{"file": "x", "name": "x", "hint": "y"}, {"module": "m", "hint": "h"}])),
    ("profile", PROFILE),
    ("profile", {"extends": "library", "timeouts": {"tests": "30m"}}),
    ("profile", {**PROFILE, "priority": 5, "detect": {"always": True}, "ecosystems": {"*": ["tests"]}}),
    ("profile", {**PROFILE, "ecosystems": {"python": ["tests", "lint"]}, "roles": ECOSYSTEM["roles"]}),
]
BAD: list[tuple[str, Any]] = [
    ("ecosystem", {**ECOSYSTEM, "titel": "x"}),
    ("ecosystem", {key: value for key, value in ECOSYSTEM.items() if key != "absent"}),
    ("ecosystem", {**ECOSYSTEM, "detect": {}}),
    ("ecosystem", {**ECOSYSTEM, "detect": {"file": "a", "folder": "b"}}),
    ("ecosystem", {**ECOSYSTEM, "detect": {"always": False}}),
    ("ecosystem", {**ECOSYSTEM, "detect": {"any": []}}),
    ("ecosystem", {**ECOSYSTEM, "detect": {"file": "../up"}}),
    ("ecosystem", {**ECOSYSTEM, "detect": {"file": "/root"}}),
    ("ecosystem", {**ECOSYSTEM, "detect": {"toml": {"file": "a", "glob": "b", "key": "c"}}}),
    ("ecosystem", {**ECOSYSTEM, "detect": {"json": {"key": "c"}}}),
    ("ecosystem", {**ECOSYSTEM, "detect": {"ini": {"file": "a", "key": "c"}}}),
    ("ecosystem", {**ECOSYSTEM, "detect": {"text": {"glob": "a"}}}),
    ("ecosystem", {**ECOSYSTEM, "fallback": "yes"}),
    ("ecosystem", {**ECOSYSTEM, "protect": [{"paths": "a", "level": "ask"}]}),
    ("ecosystem", {**ECOSYSTEM, "roles": {"docs": {"absent": "", "candidates": []}}}),
    ("ecosystem", {**ECOSYSTEM, "roles": {"tests": {"candidates": []}}}),
    ("ecosystem", {**ECOSYSTEM, "roles": {"tests-E2E": {"candidates": []}}}),
    ("ecosystem", role(argv="make")),
    ("ecosystem", role(argv=[])),
    ("ecosystem", role(when="never")),
    ("ecosystem", role(timeout=0)),
    ("ecosystem", role(timeout="soon")),
    ("ecosystem", role(timeout=90000)),
    ("ecosystem", role(cwd="..")),
    ("ecosystem", role(needs=[{"file": "x", "hint": "y"}])),
    ("ecosystem", role(needs=[{"tool": "x"}])),
    ("ecosystem", role(env={"A": 1})),
    ("profile", {}),
    ("profile", {**PROFILE, "detects": {"always": True}}),
    ("profile", {**PROFILE, "priority": -1}),
    ("profile", {**PROFILE, "ecosystems": {"*": ["docs"]}}),
    ("profile", {**PROFILE, "timeouts": {"docs": 5}}),
    ("profile", {**PROFILE, "timeouts": {"tests": "x"}}),
]


@pytest.mark.parametrize(("kind", "document"), GOOD)
def test_what_the_code_takes_the_schema_takes(kind: str, document: Schema) -> None:
    assert (refused(kind, document), wrong(kind, document)) == ("", "")


@pytest.mark.parametrize(("kind", "document"), BAD)
def test_what_the_code_refuses_the_schema_refuses(kind: str, document: Schema) -> None:
    assert refused(kind, document) and wrong(kind, document)


# of the configuration


CONFIGURATIONS: list[tuple[Any, bool]] = [
    ({}, True),
    ({"$schema": "./schemas/config.schema.json", "profile": None}, True),
    ({"ralph": {"maxIterations": 20}, "guards": {"runTime": "1h30m", "maxWait": 0, "firstWait": 2.5}}, True),
    ({"proof": "in-place", "paths": {"web": "web", "api": {"profile": "api"}}}, True),
    ({"proof": {"mode": "clean-room", "setup": ["make", "generate"]}}, True),
    ({"agents": {"mine": {"command": ["./a"], "ladder": [{"turns": 2, "digest": "full"}]}}}, True),
    ({"checks": {"tests": {"command": "make test", "timeout": "90s", "reports": ["*.xml"]}}}, True),
    ({"hooks": {"before_loop": {"command": "x", "veto": True}}, "notify": [{"on": ["met"], "webhook": "$X"}]}, True),
    ({"protect": [{"paths": ["a"], "level": "restore"}], "env": {"pass": ["TOKEN"]}, "judge": {"mode": "each"}}, True),
    ({"profil": "x"}, False),
    ({"ralph": {"maxIterations": 21}}, False),
    ({"ralph": {"maxIterations": "5"}}, False),
    ({"guards": {"runTime": "soon"}}, False),
    ({"guards": {"iterationTimeout": True}}, False),
    ({"guards": {"maxCost": 0}}, False),
    ({"proof": "nowhere"}, False),
    ({"hooks": {"before_lunch": {}}}, False),
    ({"checks": {"tests": {"when": "never"}}}, False),
    ({"checks": {"tests": {"role": "git"}}}, False),
    ({"protect": [{"level": "note"}]}, False),
    ({"agents": {"mine": {"comand": "x"}}}, False),
    ({"notify": [{"on": ["won"]}]}, False),
    ([], False),
]


@pytest.mark.parametrize(("document", "good"), CONFIGURATIONS)
def test_schema_and_code_agree_on_a_configuration(document: Any, good: bool) -> None:
    taken = wrong("config", document) == ""
    try:
        parse_configuration([("config.json", json.dumps(document).encode())])
        loaded = True
    except AigonError:
        loaded = False
    assert (taken, loaded) == (good, good)


def test_the_sample_configuration_is_valid() -> None:
    sample = config_schema.ROOT / ".aigon.example" / "config.json"
    assert wrong("config", json.loads(sample.read_bytes())) == ""


# of the frontmatter of specs

THREE = "\n## Acceptance Criteria\n\n- [ ] a\n- [ ] b\n- [ ] c\n"


@pytest.mark.parametrize(
    ("frontmatter", "good"),
    [
        ("allow: [tests/**, old.py]\nknown_failures: lint\ntitle: mine", True),
        ("allow:\nknown_failures: []", True),
        ("known_failures: [git]", False),
        ("known_failures: git", False),
        ("known_failures: {a: b}", False),
        ("mode: ralph\nkind: build\nmax_iterations: 20\nmax_time: 4h\npromise: ALL_DONE\npriority: high", True),
        ("mode:\nkind:\nmax_iterations:\nmax_time:\npromise: []\npriority:\ndepends_on: []\nstages: []", True),
        ("depends_on: [12, dark-mode]\npromise: [TESTS_PASS, COMPLETE]\nmax_time: 900", True),
        ("stages: [{promise: TESTS_PASS, criteria: [1, 2]}, {criteria: 3}]", True),
        ("mode: Ralph", False),
        ("kind: My kind", False),
        ("max_iterations: 0", False),
        ("max_iterations: 21", False),
        ("max_iterations: many", False),
        ("max_time: soon", False),
        ("promise: <done>", False),
        ("priority: urgent", False),
        ("depends_on: {a: b}", False),
        ("stages: [{promise: TESTS_PASS}]", False),
        ("stages: [{criteria: [1], until: x}]", False),
        ("stages: [{criteria: []}]", False),
        ("stages: {criteria: [1]}", False),
    ],
)
def test_schema_and_code_agree_on_the_frontmatter_of_a_spec(frontmatter: str, good: bool) -> None:
    try:
        read_known_failures(parse_spec(f"---\n{frontmatter}\n---\n# X\n{THREE}".encode()))
        taken = True
    except AigonError:
        taken = False
    assert (taken, wrong("spec", yaml.safe_load(frontmatter)) == "") == (good, good)


# as files


def test_schemas_are_written_anew_and_nothing_of_them_can_be_committed(tmp_path: Path) -> None:
    paths = tuple(f"{SCHEMA_FOLDER}/{name}.schema.json" for name in list_schemas())
    assert write_schemas(tmp_path) == paths
    (tmp_path / paths[0]).write_text("{}")
    assert write_schemas(tmp_path) == paths
    assert json.loads((tmp_path / paths[0]).read_bytes()) == load_schema(list_schemas()[0])
    assert (tmp_path / SCHEMA_FOLDER / ".gitignore").read_text() == "*\n"
