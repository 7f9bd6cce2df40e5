"""Services of mcp_endpoints.json as tools."""

import json

import pytest

from tests.agents.api.services import service
from tests.agents.api.sessions import Desk
from tests.agents.api.streaming import ending, results, streamed, use


def test_a_tool_calls_its_service_with_the_key_and_reports_failures_to_the_model(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODOO", "odoo-key-of-nobody")
    with service() as there:
        open_ = {"url": there.url, "endpoints": ["list"]}
        document = {
            "odoo_mcp": {"url": there.url + "/", "endpoints": ["create_invoice", "broken", "moved"],
                         "auth_required": True, "api_key_env": "ODOO"},
            "odoo_sales_mcp": open_ | {"auth_required": False},
            "closed": open_ | {"auth_required": True, "api_key_env": "NOT_SET_ANYWHERE"},
            "gone": {"url": "http://127.0.0.1:9", "endpoints": ["list"]},
            "bad": {"url": "file:///etc/passwd", "endpoints": ["list"]},
            "worse": 7,
        }  # fmt: skip
        (desk.workspace / "mcp_endpoints.json").write_text(json.dumps(document))
        s = desk.ask(
            streamed(
                use("odoo_create_invoice", 1, partner="Ada", lines=[1]), use("odoo_sales_list", 2),
                use("closed_list", 3), use("gone_list", 4), use("odoo_broken", 5), use("odoo_moved", 6),
                use("odoo_delete_all", 7), use("odoo_sales_x", 8),
            ),
            ending(),
        )  # fmt: skip
    assert there.asked[0] == ("/api/create_invoice", "Bearer odoo-key-of-nobody", {"partner": "Ada", "lines": [1]})
    assert there.asked[1] == ("/api/list", "", {}) and [path for path, *_ in there.asked[2:]] == [
        "/api/broken",
        "/api/moved",
    ]
    fine, sales, *failed = results(s.requests[1])
    assert "Ada" in fine["content"] and "[redacted]" in fine["content"] and '"key": ""' in sales["content"]
    assert all(each["is_error"] for each in failed)
    said = [each["content"] for each in failed]
    expected = ("NOT_SET_ANYWHERE", "could not be asked", "500", "302", "no endpoint 'delete_all'", "odoo_sales_mcp")
    for words, text in zip(expected, said, strict=True):
        assert words in text
    assert "create_invoice, broken, moved" in said[4]
    assert {"bad", "worse"} == {
        name for name in ("bad", "worse", "gone") for n in s.of("note") if repr(name) in n["text"]
    }
    assert "odoo-key-of-nobody" not in json.dumps([s.tools, s.records, [r.body for r in s.requests]])


def test_an_endpoint_may_have_a_path_of_its_own(desk: Desk) -> None:
    with service() as there:
        ship = {"path": "ship it", "description": "Ships."}
        endpoints = {"create": "/v2/invoices?draft=1", "list": "Lists them.", "ship": ship}
        document = {"shop_mcp": {"url": there.url, "endpoints": endpoints}}
        (desk.workspace / "mcp_endpoints.json").write_text(json.dumps(document))
        s = desk.ask(streamed(use("shop_create", 1), use("shop_list", 2), use("shop_ship", 3)), ending())
    assert [path for path, *_ in there.asked] == ["/api/v2/invoices?draft=1", "/api/list", "/api/ship%20it"]
    described = {tool["name"]: tool["description"] for tool in s.requests[0].body["tools"] if "description" in tool}
    assert (described["shop_list"], described["shop_ship"]) == ("Lists them.", "Ships.")


@pytest.mark.parametrize("content", ["[]", "{", "7", '{"a": {"url": "http://x"}}', "\xff"])
def test_a_malformed_file_is_noted_and_left_out(desk: Desk, content: str) -> None:
    (desk.workspace / "mcp_endpoints.json").write_bytes(content.encode("latin-1"))
    s = desk.ask(ending())
    assert s.ending.action == "DONE" and "left out" in s.of("note")[0]["text"]


def test_where_two_tools_are_called_alike_the_longer_service_has_the_name() -> None:
    from aigon.agents.api_agent.endpoints import Endpoint, Service, build_tools, explain_unknown

    short = Service("odoo", "http://a", {"sales_list": Endpoint()})
    long = Service("odoo_sales_mcp", "http://b", {"list": Endpoint("Lists.")})
    found = build_tools((long, short))
    assert found["odoo_sales_list"][0]["description"] == "Lists." and len(found) == 1
    assert (
        explain_unknown("odoo_sales_y", (long, short)).startswith("The service odoo_sales_mcp")
        and explain_unknown("x", (long,)) == ""
    )
