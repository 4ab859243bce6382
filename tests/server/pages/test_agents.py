"""Agents: registering with every problem next to its field, versions, how tools are understood, a call."""

import html
import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser
from signed_in import Signed, as_viewer, signed_in, words

from support.browser import check_page, person
from support.desk import STATE, TOOLS, tool
from support.orders_service import SPEC
from support.played_agents import PlayedAgent, played, refunds
from support.server_process import Api, house_in

HOSTILE = "<script>alert(1)</script>"
BEHAVIOR = (
    "cancel_order only succeeds when the order's status is pending; otherwise it returns a 409 shipped error."
    " Dragons are fed on Tuesdays."
)
GUESSED = tool("reconcile_quarter", "Handles what is left over.", {"quarter": {"type": "string"}}, [])


@pytest.fixture(scope="module")
def agent() -> Iterator[PlayedAgent]:
    with played(refunds) as playing:
        yield playing


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory, agent: PlayedAgent) -> Iterator[Api]:
    """Agent 1 with tools, tasks and two versions."""
    with house_in(tmp_path_factory.mktemp("agents") / "house") as house:
        opened = house.open()
        opened.agent(agent.url, tools_schema=[*TOOLS, GUESSED])
        opened.dataset({"user": "Cancel 7001.", "state": STATE, "behavior": BEHAVIOR}, agent_id=1)
        opened.put("/api/agents/1", {"run_timeout_s": 45})
        yield opened


@pytest.fixture
def visitor(api: Api) -> Iterator[Signed]:
    with signed_in(api) as signed:
        yield signed


def problems_in(page: str) -> dict[str, str]:
    """Of each field, the first thing that is said to be wrong with it."""
    return dict(re.findall(r'id="f-(\w+)-problem-1">([^<]*)', page))


def test_an_agent_is_registered_corrected_and_tested(browser: Browser, api: Api, agent: PlayedAgent) -> None:
    with person(browser, api) as visitor:
        page = visitor.opens("/agents/new")
        page.get_by_label("Name", exact=True).fill("By hand")
        page.get_by_label("Endpoint URL").fill("ftp://nowhere")
        page.get_by_label("Tools").fill(json.dumps(TOOLS[:2]))
        page.get_by_role("button", name="Register").click()
        page.locator("#f-endpoint_url-problem-1").wait_for()
        assert page.get_by_label("Name", exact=True).input_value() == "By hand"
        page.get_by_label("Endpoint URL").fill(agent.url)
        visitor.complaints.clear()  # the browser tells of the status 422
        page.get_by_role("button", name="Register").click()
        page.get_by_text("Registered By hand").wait_for()
        page.get_by_role("button", name="Test connection").click()
        page.get_by_text("The agent is reachable and accepts our requests.").wait_for()


def test_a_call_is_tried_and_leaves_nothing_behind(browser: Browser, api: Api) -> None:
    before = api.get("/api/runs")["items"]
    with person(browser, api) as visitor:
        page = visitor.opens("/agents/1/tools?tool=refund_order")
        page.locator("section").get_by_role("link", name="Try a call").click()
        assert json.loads(page.get_by_label("Arguments").input_value()) == {"order_id": "4521"}
        page.get_by_role("button", name="Call it").click()
        page.locator("#tried .change").wait_for()
        assert page.locator("#tried del").inner_text() == '"shipped"'
        assert page.locator("#tried ins").inner_text() == '"refunded"'
    assert api.get("/api/runs")["items"] == before


def test_all_problems_come_at_once_each_next_to_its_field(visitor: Signed) -> None:
    typed = {
        "name": HOSTILE,
        "mode": "external_http",
        "endpoint_url": "ftp://nowhere",
        "auth_header_value": "s3cret",
        "run_timeout_s": "long",
        "ledger_schema": "[",
        "tools_schema": json.dumps([{"name": "a b"}, {"name": "get", "input_schema": 3}]),
    }
    answer = visitor.post("/agents/new", typed)
    assert answer.status_code == 422
    found = problems_in(answer.text)
    assert found.keys() >= {
        "endpoint_url",
        "run_timeout_s",
        "ledger_schema",
        "tools_schema",
        "auth_header_name",
    }
    assert "must be a whole number" in found["run_timeout_s"]
    assert "is not JSON" in found["ledger_schema"]
    assert HOSTILE not in answer.text
    assert 'value="&lt;script&gt;' in answer.text
    assert "s3cret" not in answer.text


def test_an_import_keeps_what_was_typed_and_names_every_place(visitor: Signed) -> None:
    body = {"name": "x", "endpoint_url": "http://127.0.0.1:1/d", "colour": HOSTILE, "tools_schema": [{}]}
    answer = visitor.post("/agents/import", {"json": json.dumps(body)})
    assert answer.status_code == 422
    shown = words(answer.text)
    for place in ("/colour", "/tools_schema/0/name", "/tools_schema/0/input_schema"):
        assert place in shown
    assert "&#34;colour&#34;" in answer.text
    assert HOSTILE not in answer.text


@pytest.mark.parametrize("text", ["", "[]", "{", "nul", "3", '{"a": 1, "a": 2}', "[" * 5_000])
def test_what_is_no_agent_is_refused_in_words(visitor: Signed, text: str) -> None:
    answer = visitor.post("/agents/import", {"json": text})
    assert answer.status_code == 422
    assert "Nothing was saved." in answer.text


def test_an_agent_is_imported_from_a_file(visitor: Signed, agent: PlayedAgent) -> None:
    body = json.dumps({"name": "From a file", "endpoint_url": agent.url}).encode()
    answer = visitor.post("/agents/import", files={"file": ("agent.json", body)})
    assert answer.status_code == 303
    assert "From a file" in visitor.text(answer.headers["location"])


def test_large_tools_are_read_aside(visitor: Signed, agent: PlayedAgent) -> None:
    many = [tool(f"get_thing_{number}", "x" * 800, {}, []) for number in range(400)]
    typed = {"name": "Many tools", "endpoint_url": agent.url, "tools_schema": json.dumps(many)}
    answer = visitor.post_in_parts("/agents/new", typed)
    assert answer.status_code == 303, words(answer.text)
    page = visitor.text(f"{answer.headers['location']}/tools?tool=get_thing_399")
    assert len(page) < 100_000
    assert "get_thing_350" in page
    assert "get_thing_349" not in page


def test_versions_say_what_changed(visitor: Signed) -> None:
    shown = words(visitor.text("/agents/1/versions"))
    assert "From version 1 to 2 " in shown
    assert "run_timeout_s 300 45" in shown
    assert "1 difference." in shown


def test_a_change_of_a_form_that_is_too_old_is_refused(visitor: Signed) -> None:
    answer = visitor.post("/agents/1/edit", {"version": "1", "name": "Other"})
    assert answer.status_code == 422
    assert "at version 2 now" in words(answer.text)


def test_saving_without_a_change_makes_no_version(visitor: Signed) -> None:
    page = visitor.text("/agents/1/edit")
    typed = dict(re.findall(r'<input id="f-(\w+)" name="\w+" type="\w+" value="([^"]*)"', page))
    texts = re.findall(r'<textarea id="f-(\w+)".*?>\n(.*?)</textarea>', page, re.DOTALL)
    typed |= {name: html.unescape(text) for name, text in texts}
    typed |= {"mode": "external_http", "status": "published", "version": "2"}
    typed = {name: html.unescape(text) for name, text in typed.items()}
    answer = visitor.post("/agents/1/edit", typed)
    assert answer.status_code == 303, words(answer.text)
    assert "Nothing changed." in words(visitor.text("/agents/1"))


def test_a_tool_is_told_in_words_with_where_they_come_from(visitor: Signed) -> None:
    shown = words(visitor.text("/agents/1/tools?tool=cancel_order"))
    assert "Refuse with 409 shipped" in shown
    assert "unless order.status is “pending”" in shown
    assert "from: cancel_order only succeeds when the order's status is pending" in shown
    assert "They are not enforced: Dragons are fed" in shown
    assert "a guess" not in shown


def test_a_guess_says_that_it_is_one_and_what_would_settle_it(visitor: Signed) -> None:
    shown = words(visitor.text("/agents/1/tools?tool=reconcile_quarter&task=0"))
    assert "? a guess" in shown
    assert "To confirm it, give an output_schema , if it only reads; a plan for the tool" in shown
    assert "is not clear from its name and description" in shown
    assert "Dragons" not in shown


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"tool": "refund_order", "arguments": "{}"}, "invalid_arguments"),
        ({"tool": "refund_order", "arguments": "{"}, "The arguments cannot be read"),
        ({"tool": "no_such", "arguments": "{}"}, "no tool named 'no_such'"),
        ({"tool": "refund_order", "arguments": '{"order_id": "9"}', "state": "{}"}, "Status 404"),
        ({"tool": "refund_order", "arguments": "{}", "state": "[3]"}, "must be a JSON object"),
        ({"tool": "reconcile_quarter", "arguments": "{}", "state": "{}"}, "reconcile_quarter is a guess"),
        (
            {"tool": "add_note", "arguments": json.dumps({"order_id": "4521", "text": HOSTILE}), "task": "1"},
            "order.4521.notes nothing →",
        ),
        ({"tool": "get_order", "arguments": "{}", "behavior": "x " * 20_000}, "bytes; at most 32"),
        ({"tool": "get_order", "arguments": '{"order_id": "' + "x" * 2_000_000 + '"}'}, "over 1 MiB"),
        ({"tool": "raise_flag", "arguments": '{"flag": "up"}'}, "flag up"),
        ({"tool": "get_order", "arguments": '{"order_id": "1"}', "task": "99"}, "There is no task 99"),
    ],
)
def test_a_call_that_is_tried_says_what_became_of_it(
    visitor: Signed, typed: dict[str, str], said: str
) -> None:
    answer = visitor.post_in_parts("/agents/1/try", typed)
    assert said in words(answer.text)
    assert HOSTILE not in answer.text


def test_a_tool_is_shown_with_what_its_annotations_say(api: Api, visitor: Signed) -> None:
    tool = {
        "name": "purge_orders",
        "inputSchema": {"type": "object"},
        "annotations": {"title": "Purge <b>orders</b>", "destructiveHint": True},
    }
    agent_id = api.agent("http://127.0.0.1:9/dispatch", name="Annotated", tools_schema=[tool])["id"]
    text = visitor.text(f"/agents/{agent_id}/tools?tool=purge_orders")
    assert "Purge <b>" not in text
    page = words(text)
    assert "purge_orders Purge <b>orders</b>" in page.replace("&lt;", "<").replace("&gt;", ">")
    assert "the definition says it may change or delete what is there (destructiveHint)" in page


def test_a_tool_is_switched_to_what_it_is_bound_to_and_back(api: Api, visitor: Signed) -> None:
    endpoint = {
        "name": "orders",
        "type": "http_openapi",
        "config": {"base_url": "http://127.0.0.1:9", "spec": SPEC},
    }
    made = api.post("/api/tool-endpoints", endpoint, 201)
    agent_id = api.agent("http://127.0.0.1:9/dispatch", name="Switched")["id"]
    path = f"/agents/{agent_id}/tools/refund_order"
    fields = {"mode": "passthrough", "endpoint": made["id"], "tool_name": "refund", "version": "1"}
    refused = visitor.post(path, fields)
    assert refused.status_code == 422
    assert "refund_order" in words(refused.text)
    assert visitor.post(path, fields | {"tool_name": "refund_order"}).status_code == 303
    page = words(visitor.text(f"/agents/{agent_id}/tools?tool=refund_order"))
    assert "Bound to refund_order of endpoint" in page
    assert "Switch to sandbox" in page
    assert visitor.post(path, {"mode": "sandbox", "version": "1"}).status_code == 422
    assert visitor.post(path, {"mode": "sandbox", "version": "2"}).status_code == 303
    tools = {one["name"]: one for one in api.get(f"/api/agents/{agent_id}")["tools_schema"]}
    assert tools["refund_order"]["default_execution_mode"] == "sandbox"
    assert "Switch to passthrough" in words(visitor.text(f"/agents/{agent_id}/tools?tool=refund_order"))
    assert tools["refund_order"]["passthrough_binding"]["tool_name"] == "refund_order"


def test_a_connection_that_fails_says_why_and_what_to_do(api: Api, visitor: Signed) -> None:
    agent_id = api.agent("http://127.0.0.1:9/dispatch", name="Nobody there")["id"]
    shown = words(visitor.post(f"/agents/{agent_id}/test-connection").text)
    assert "The connection test failed: " in shown


def test_names_and_descriptions_are_text(api: Api, visitor: Signed) -> None:
    hostile = [tool("get_it", HOSTILE, {HOSTILE: {"type": "string"}}, [])]
    agent_id = api.agent("http://127.0.0.1:9/x", name=HOSTILE, description=HOSTILE, tools_schema=hostile)[
        "id"
    ]
    for path in (
        "/agents",
        *(f"/agents/{agent_id}{part}" for part in ("", "/tools", "/try", "/versions", "/edit")),
    ):
        assert HOSTILE not in visitor.text(path)
    assert visitor.post(f"/agents/{agent_id}/delete").status_code == 303
    assert visitor.client.get(f"/agents/{agent_id}").status_code == 404


def test_the_list_is_filtered_by_name_and_status(api: Api, visitor: Signed) -> None:
    api.post("/api/agents", {"name": "Half done", "status": "draft"}, 201)
    assert "Half done" in words(visitor.text("/agents?status=draft"))
    assert "Support desk" not in words(visitor.text("/agents?status=draft"))
    assert "Support desk" in words(visitor.text("/agents?q=DESK"))
    assert "No agent matches these filters" in words(visitor.text("/agents?q=zebra"))


def test_a_draft_is_published_or_says_what_it_lacks(api: Api, visitor: Signed) -> None:
    agent_id = api.post("/api/agents", {"name": "Without a URL", "status": "draft"}, 201)["id"]
    answer = visitor.post(f"/agents/{agent_id}/publish")
    assert answer.status_code == 422
    assert "/endpoint_url" in words(answer.text)


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/agents/new",
            "/agents/import",
            "/agents/1/edit",
            "/agents/1/test-connection",
            "/agents/1/publish",
        ),
        *("/agents/1/delete", "/agents/1/tools/get_order", "/agents/1/try"),
    ],
)
def test_a_viewer_changes_nothing(api: Api, path: str) -> None:
    with signed_in(api, as_viewer(api)) as viewer:
        assert viewer.post(path).status_code == 403


def test_a_viewer_sees_no_button_that_would_be_refused(api: Api) -> None:
    with signed_in(api, as_viewer(api)) as viewer:
        for path in ("/agents", "/agents/1", "/agents/1/tools", "/agents/1/try"):
            page = viewer.text(path)
            assert 'method="post"' not in page or path.endswith("/try")
            assert "Call it" not in page
            assert "/agents/new" not in page


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        *("/agents", "/agents/new", "/agents/1", "/agents/1/tools?tool=cancel_order", "/agents/1/edit"),
        *("/agents/1/versions", "/agents/1/try?tool=refund_order", "/agents/1/tools?tool=reconcile_quarter"),
    ],
)
def test_each_page_is_sound_in_both_schemes_and_widths(browser: Browser, api: Api, path: str) -> None:
    with person(browser, api) as visitor:
        check_page(visitor, path, re.sub(r"\W+", "-", path).strip("-"))
