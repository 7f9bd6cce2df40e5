"""Replies are read strictly, and the schema asks for just what is read."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.json import schema as json_schema

from aigon.judge import reply
from tests.scripted_judges import decision, decisions, quote, refutation, refutations

DEEP = '{"verdicts": ' + "[" * 100_000


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("I think it is met.", "not in the format"),
        (decisions(decision(1))[:-3], "not in the format"),
        ("", "not in the format"),
        ("[]", "not in the format"),
        (DEEP, "not in the format"),
        ('{"verdicts": []} and more', "not in the format"),
        (decisions(decision(1, "probably")), "not in the format"),
        (decisions(decision(1) | {"criterion": "1"}), "not in the format"),
        (decisions(decision(1) | {"criterion": True}), "not in the format"),
        (decisions(decision(1) | {"criterion": 1.0}), "not in the format"),
        (decisions(decision(1) | {"sure": True}), "not in the format"),
        (decisions(decision(1) | {"quotes": None}), "not in the format"),
        (decisions(decision(1) | {"reason": "\ud800"}), "half a character"),
        (decisions(decision(1)).replace('"missing"', '"status": "unmet", "missing"'), "occurs twice"),
        (decisions(decision(1) | {"criterion": float("nan")}), "NaN"),
        (json.dumps({"verdicts": [{"criterion": 1, "status": "met"}]}), "not in the format"),
        (refutations(refutation(1)), "not in the format"),
        ("x" * (reply.LONGEST + 1), "longer than"),
        (decisions(), "leaves this criterion out"),
        (decisions(decision(1), decision(1, "unmet")), "2 times"),
        (decisions(decision(1), decision(9)), "not asked (9)"),
    ],
)
def test_what_is_not_plain_is_no_decision(text: str, says: str) -> None:
    found = reply.parse_decisions(text, [1])[1]
    assert isinstance(found, str) and says in found


def test_a_criterion_that_is_left_out_does_not_harm_the_others() -> None:
    found = reply.parse_decisions(decisions(decision(2, "met", quote("a.py", 3, "x"))), [1, 2])
    second = found[2]
    assert isinstance(found[1], str) and isinstance(second, reply.Decision)
    assert (second.status, second.quotes[0].line) == ("met", 3)
    against = reply.parse_refutations(refutations(refutation(2, refuted=True)), [1, 2])
    assert isinstance(against[1], str) and isinstance(against[2], reply.Refutation)


@settings(max_examples=30)
@given(st.text() | st.recursive(st.none() | st.integers(), st.lists).map(json.dumps))
def test_no_text_at_all_breaks_the_reading(text: str) -> None:
    assert isinstance(reply.parse_decisions(text, [1])[1], str)
    assert isinstance(reply.parse_refutations(text, [1])[1], str)


@pytest.mark.parametrize("model", [reply.Decisions, reply.Refutations])
def test_the_schema_names_just_the_fields_that_are_read(model: Any) -> None:
    def fields(schema: Any, definitions: Any) -> Any:
        schema = definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        if schema.get("type") == "array":
            return [fields(schema["items"], definitions)]
        if schema.get("type") != "object":
            return schema.get("enum") or schema["type"]
        assert schema["additionalProperties"] is False and set(schema["required"]) == set(schema["properties"])
        return {name: fields(one, definitions) for name, one in schema["properties"].items()}

    own = json_schema(model)
    assert fields(reply.build_schema(model), {}) == fields(own, own["$defs"])
