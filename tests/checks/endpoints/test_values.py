"""Plans, paths into JSON, saved values, targets: values and comparisons, without a server."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from aigon.checks.endpoints import plan
from aigon.checks.endpoints.answer import HttpAnswer, find_differences
from aigon.checks.endpoints.exchange import build_target
from aigon.checks.endpoints.plan import EndpointPlan, Schemas, pack_plan, unpack_plan
from aigon.checks.endpoints.server import find_last_words
from aigon.config import endpoints
from aigon.config.endpoints import Endpoints, UnsavedValue
from aigon.config.sections import read_section

JSON: Any = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False) | some.text(),
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(some.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON, some.text(), some.integers(1, 65535))
def test_a_plan_arrives_as_it_was_sent_in_a_word_that_nobody_fills_anything_into(
    value: Any, text: str, port: int
) -> None:
    expect = {"status": [201, "3xx"], "headers": {"etag": True}, "json": value, "schema": {"const": value}}
    one = {"name": text, "path": "/{report}", "query": {"q": text}, "json": value, "cookies": False, "expect": expect}
    server = {"command": ["x", text], "env": {"A": "{port}"}, "port": port}
    config = read_section(Endpoints, {**server, "requests": [one, "POST /b"], "openapi": "o.yaml"})
    plan = EndpointPlan(
        config=config, names=[text, "b"], schemas={0: "#0"}, openapi="o.yaml", documents={"#0": text}, programs=["bin"]
    )
    word = pack_plan(plan)
    assert unpack_plan(word) == plan
    assert not set(word) & set("{} \n")


PLAN = pack_plan(EndpointPlan(config=read_section(Endpoints, {"command": "x", "requests": ["/"]})))


@pytest.mark.parametrize("word", ["", "x", "e30=", "%%%", PLAN[:-8]])
def test_what_is_no_plan_is_refused(word: str) -> None:
    with pytest.raises(ValueError):
        unpack_plan(word)


@given(JSON)
def test_every_value_holds_itself_and_a_part_of_an_object(value: Any) -> None:
    assert list(find_differences(value, value)) == []
    assert list(find_differences({"a": value}, {"a": value, "b": 0})) == []


@pytest.mark.parametrize(
    ("wanted", "got"),
    [
        (1, True),
        (0, False),
        (None, 0),
        ("1", 1),
        ({}, []),
        ([], {}),
        ([1], [1, 2]),
        ([2, 1], [1, 2]),
        ({"a": None}, {}),
    ],
)
def test_what_only_looks_alike_is_not_the_same(wanted: Any, got: Any) -> None:
    assert len(list(find_differences(wanted, got))) >= 1


@given(JSON)
def test_every_place_in_a_document_has_a_path_that_leads_there(value: Any) -> None:
    for steps, each in places(value, ()):
        if all("'" not in str(step) and '"' not in str(step) and "\n" not in str(step) for step in steps):
            assert endpoints.resolve_path(value, endpoints.parse_source(endpoints.format_path(steps)).steps) == (each,)


def places(value: Any, steps: tuple[Any, ...]) -> Any:
    yield steps, value
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, each in children:
        yield from places(each, (*steps, step))


@pytest.mark.parametrize("text", ["", "id", "$id", "$.", "$..id", "$[x]", "$[", "headers.", "cookies", "$.a b"])
def test_what_is_no_place_in_an_answer_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        endpoints.parse_source(text)


def test_a_saved_value_keeps_its_type_alone_and_is_text_within_text() -> None:
    values = {"id": 7, "who": {"name": "Ada"}, "on": True}
    assert endpoints.fill_references(["${id}", "id ${id}", "${who}", "$${id}", "${on}!"], values) == [
        7, "id 7", {"name": "Ada"}, "${id}", "true!"
    ]  # fmt: skip
    assert endpoints.list_references({"a": ["${x}", {"b": "$${y} ${z}"}], "c": 1}) == {"x", "z"}
    assert endpoints.fill_references("{ user { id } } $id {id}", {}) == "{ user { id } } $id {id}"
    with pytest.raises(UnsavedValue):
        endpoints.fill_references({"a": ["${nobody}"]}, values)


@pytest.mark.parametrize(
    ("path", "values", "line"),
    [
        ("/a/${x}", {"x": "../b?c=d#e/ä"}, "/a/..%2Fb%3Fc%3Dd%23e%2F%C3%A4"),
        ("/a%2Fb%zz c", {}, "/a%2Fb%25zz%20c"),
        ("/a\n\x00", {}, "/a%0A%00"),
        ("${x}", {"x": "/users/5?full=1#top"}, "/users/5?full=1"),
        ("${x}", {"x": "http://localhost:80/users/5"}, "/users/5"),
        ("${x}", {"x": "http://127.0.0.1:80"}, "/"),
    ],
)
def test_a_target_is_ascii_and_stays_on_the_server(path: str, values: dict[str, object], line: str) -> None:
    assert build_target(path, {}, values | {"base": "http://127.0.0.1:80"}) == line


@pytest.mark.parametrize(
    "address",
    ["http://example.com/x", "//example.com/x", "https://127.0.0.1:80/x", "http://127.0.0.1:81/x", "users/5", "",
     "http://127.0.0.1.example.com:80/", "http://127.0.0.1:80@example.com/", "file:///etc/passwd"],
)  # fmt: skip
def test_a_saved_address_on_another_server_is_never_asked(address: str) -> None:
    with pytest.raises(ValueError):
        build_target("${x}", {}, {"x": address, "base": "http://127.0.0.1:80"})


@given(some.binary(max_size=300), some.text(max_size=20))
def test_any_body_is_text_and_json_or_a_value_error(body: bytes, charset: str) -> None:
    answer = HttpAnswer(200, (("Content-Type", f"text/x; charset={charset}"),), body)
    assert isinstance(answer.text(), str) and len(answer.brief()) <= 161
    try:
        answer.json()
    except ValueError as error:
        assert str(error)


def test_schemas_name_one_another_by_file_and_by_id_and_nothing_is_fetched() -> None:
    known = Schemas(
        {
            "a/user.json": {"properties": {"id": {"$ref": "../id.json"}, "to": {"$ref": "https://x.invalid/user"}}},
            "id.json": {"$id": "https://x.invalid/id", "type": "integer"},
            "b.json": {"$id": "https://x.invalid/user", "required": ["id"], "properties": {"id": {"$ref": "id"}}},
            "lost.json": {"properties": {"a": {"$ref": "#/$defs/none"}}},
            "away.json": {"$ref": "https://example.com/schema.json"},
            "odd.json": {"type": "strin"},
        }
    )
    assert known.complaints("a/user.json", {"id": 1, "to": {"id": 2}}) == []
    assert known.complaints("a/user.json", {"id": "1", "to": {"id": "2"}}) == [
        "$.id: '1' is not of type 'integer'",
        "$.to.id: '2' is not of type 'integer'",
    ]
    assert [known.flaw(name) for name in ("a/user.json", "id.json", "b.json")] == ["", "", ""]
    assert "#/$defs/none" in known.flaw("lost.json") and "example.com" in known.flaw("away.json")
    assert known.flaw("odd.json").startswith("$.type: 'strin' is not valid")
    assert "cannot be used" in known.complaints("away.json", 1)[0]


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("date-time", "2026-01-31T10:00:00Z", "2026-01-31T10:00:00"),
        ("date", "2026-01-31", "2026-02-31"),
        ("uuid", "7d444840-9dc0-11d1-b245-5ffdce74fad2", "7d444840"),
        ("email", "ada@example.org", "ada"),
        ("ipv4", "127.0.0.1", "127.0.0.256"),
    ],
)
def test_formats_are_checked(kind: str, good: str, bad: str) -> None:
    known = Schemas({"a": {"format": kind}})
    assert (known.complaints("a", good), len(known.complaints("a", bad)), known.complaints("a", 5)) == ([], 1, [])


def test_a_schema_without_an_end_is_a_complaint_and_no_crash() -> None:
    known = Schemas({"a": {"$ref": "#"}})
    assert "it has no end" in known.complaints("a", 1)[0]


def test_yaml_is_read_as_json_has_it() -> None:
    assert plan.parse_document("a.yaml", "a: 2020-01-01\nb: [1, 1.5, null, true]\n") == {
        "a": "2020-01-01",
        "b": [1, 1.5, None, True],
    }
    for name, text in (
        ("a.json", "{"),
        ("a.yml", "a: ["),
        ("a.json", "[" * 100_000),
        ("a.yaml", "!!python/object:x y"),
    ):
        with pytest.raises(ValueError):
            plan.parse_document(name, text)


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({}, ""),
        ({"servers": [{"url": "https://api.example.com/v1/"}]}, "/v1"),
        ({"servers": [{"url": "/api/{v}", "variables": {"v": {"default": "v2"}}}]}, "/api/v2"),
        ({"servers": [{"url": "/"}]}, ""),
        ({"basePath": "/v1", "swagger": "2.0"}, "/v1"),
        ({"servers": "x"}, ""),
        ({"servers": [{"url": "http://[::1"}]}, ""),
        ([], ""),
    ],
)
def test_the_path_before_all_paths_is_that_of_the_first_server(document: object, path: str) -> None:
    assert plan.find_base_path(document) == path


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (b"", ""),
        (b"one\n\x1b[31mtwo\x1b[0m\n\n", "two"),
        (b"Error: Cannot find module 'express'\n    at x\n\nNode.js v20.1.0\n", "Error: Cannot find module 'express'"),
        (b"Traceback:\n  File x\nModuleNotFoundError: No module\n", "ModuleNotFoundError: No module"),
        (b"Error [ERR_X]: one\nmore\n" + b"later\n" * 100, "later"),
        (b"panic: listen tcp: address already in use\n\ngoroutine 1:\nmain.main()\nexit status 2\n",
         "panic: listen tcp: address already in use"),
    ],
)  # fmt: skip
def test_the_last_words_of_a_server_are_what_a_person_looks_for(output: bytes, said: str) -> None:
    assert find_last_words(output) == said


def test_a_body_is_read_in_the_encoding_that_it_says_it_has() -> None:
    latin = HttpAnswer(200, (("content-type", 'text/html; charset="latin-1"'),), "ä".encode("latin-1"))
    assert (latin.text(), HttpAnswer(200, (), json.dumps({"a": "ä"}).encode()).json()) == ("ä", {"a": "ä"})
