"""The form of an agent before it is saved: its connection, tools of live services, a secret that is kept."""

import html
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Browser, expect
from signed_in import Signed, signed_in, words

from pipelines.engine.access.kept_secret import LIFE_S, keep_secret, kept_secret
from support.browser import check_page, person
from support.desk import TOOLS
from support.orders_service import SPEC
from support.server_process import Api, house_in

SECRET = "Bearer form-secret-4711"
FORBIDDEN = "http://169.254.169.254/latest"


class Service:
    """An agent, an MCP server, an OpenAPI document and a list of tools, at one address."""

    def __init__(self) -> None:
        self.authorizations: list[str | None] = []
        self.asked: list[str] = []
        self.port = 0

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def answer(self, path: str, body: Any) -> tuple[int, Any]:
        if path == "/dispatch":
            return 200, {"pong": True}
        if path == "/mcp":
            return self._mcp(body)
        if path == "/openapi.json":
            return 200, SPEC
        if path == "/tools.json":
            return 200, {"tools": [{"name": "get_visit", "description": "A visit.", "input_schema": {}}]}
        return 404, {"error": "no such path"}

    def _mcp(self, body: Any) -> tuple[int, Any]:
        results = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "desk", "version": "1"},
            },
            "tools/list": {
                "tools": [{"name": "find_pet", "description": "A pet.", "inputSchema": {"type": "object"}}]
            },
        }
        if "id" not in body:
            return 202, None
        return 200, {"jsonrpc": "2.0", "id": body["id"], "result": results.get(body["method"], {})}


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    made = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.authorizations.append(self.headers.get("authorization"))
            made.asked.append(self.path)
            raw = self.rfile.read(int(self.headers.get("content-length", 0)))
            status, answer = made.answer(self.path, json.loads(raw) if raw else None)
            text = b"" if answer is None else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_POST = do_GET

        def do_DELETE(self) -> None:
            self.send_response(405)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield made
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("unsaved") / "house") as house:
        yield house.open()


@pytest.fixture
def visit(api: Api) -> Iterator[Signed]:
    with signed_in(api) as signed:
        yield signed


def form(**fields: str) -> dict[str, str]:
    typed = {"name": "Unsaved", "mode": "external_http", "status": "published"}
    return typed | {"tools_schema": json.dumps(TOOLS[:1])} | fields


def kept_in(page: str) -> str:
    return re.findall(r'name="kept_secret" value="([^"]+)"', page)[0]


def tools_in(page: str) -> list[str]:
    text = re.findall(r'<textarea id="f-tools_schema"[^>]*>(.*?)</textarea>', page, re.DOTALL)[0]
    return [tool["name"] for tool in json.loads(html.unescape(text))]


def test_a_mistake_keeps_the_secret_without_showing_it(api: Api, visit: Signed, service: Service) -> None:
    typed = form(auth_header_name="Authorization", auth_header_value=SECRET, endpoint_url="ftp://x")
    refused = visit.post_in_parts("/agents/new", typed)
    assert refused.status_code == 422
    assert "form-secret" not in refused.text
    assert "is kept for this form until" in words(refused.text)
    again = typed | {"auth_header_value": "", "kept_secret": kept_in(refused.text)}
    mended = again | {"endpoint_url": service.url("/dispatch")}
    saved = visit.post_in_parts("/agents/new", mended)
    assert saved.status_code == 303, words(saved.text)
    agent = saved.headers["location"].rpartition("/")[2]
    api.post(f"/api/agents/{agent}/test-connection")
    assert service.authorizations[-1] == SECRET


def test_a_kept_secret_opens_for_nobody_else(api: Api, visit: Signed, service: Service) -> None:
    typed = form(auth_header_name="Authorization", auth_header_value=SECRET, endpoint_url="ftp://x")
    kept = kept_in(visit.post_in_parts("/agents/new", typed).text)
    with signed_in(api) as other:
        before = len(service.authorizations)
        stolen = form(auth_header_name="Authorization", kept_secret=kept, act="test")
        stolen["endpoint_url"] = service.url("/dispatch")
        assert other.post_in_parts("/agents/new", stolen).status_code == 200
        assert service.authorizations[before:] == [None]
    changed = visit.post_in_parts("/agents/new", stolen | {"kept_secret": kept[:-8] + "AAAAAAA="})
    assert changed.status_code == 200
    assert service.authorizations[-1] is None


def test_a_connection_is_tested_before_the_agent_is_saved(api: Api, visit: Signed, service: Service) -> None:
    before = len(api.get("/api/agents")["items"])
    typed = form(act="test", endpoint_url=service.url("/dispatch"))
    typed |= {
        "auth_header_name": "Authorization",
        "auth_header_value": SECRET,
        "description": "Typed before.",
    }
    good = visit.post_in_parts("/agents/new", typed)
    assert good.status_code == 200
    assert "The agent is reachable" in words(good.text)
    assert 'value="Typed before."' in good.text
    assert service.authorizations[-1] == SECRET
    bad = visit.post_in_parts("/agents/new", typed | {"endpoint_url": service.url("/nothing")})
    assert "The connection test failed" in words(bad.text)
    forbidden = visit.post_in_parts("/agents/new", typed | {"endpoint_url": FORBIDDEN})
    assert "The connection test failed" in words(forbidden.text)
    assert "169.254.169.254" in forbidden.text
    empty = visit.post_in_parts("/agents/new", typed | {"endpoint_url": ""})
    assert empty.status_code == 422
    assert '<a href="#f-endpoint_url">Endpoint URL</a>' in empty.text
    assert len(api.get("/api/agents")["items"]) == before


def test_the_stored_secret_is_only_tested_against_its_host(api: Api, visit: Signed, service: Service) -> None:
    body = form() | {"tools_schema": TOOLS[:1], "endpoint_url": service.url("/dispatch")}
    body |= {"auth_header_name": "Authorization", "auth_header_value": SECRET}
    agent = api.post("/api/agents", body, 201)["id"]
    typed = form(act="test", endpoint_url=service.url("/dispatch"), auth_header_name="Authorization")
    visit.post_in_parts(f"/agents/{agent}/edit", typed)
    assert service.authorizations[-1] == SECRET
    before = len(service.asked)
    moved = visit.post_in_parts(
        f"/agents/{agent}/edit", typed | {"endpoint_url": f"http://localhost:{service.port}/dispatch"}
    )
    assert moved.status_code == 422
    assert "must be given again" in words(moved.text)
    assert len(service.asked) == before


@pytest.mark.parametrize(
    ("kind", "path", "found"),
    [
        ("mcp", "/mcp", ["find_pet"]),
        ("openapi", "/openapi.json", ["get_order", "refund_order", "slow", "broken", "page"]),
        ("url", "/tools.json", ["get_visit"]),
    ],
)
def test_tools_are_read_from_a_live_service(
    visit: Signed, service: Service, kind: str, path: str, found: list[str]
) -> None:
    own = json.dumps([{"name": "my_tool", "description": "Mine.", "input_schema": {"type": "object"}}])
    typed = form(act="read", tools_from=kind, tools_url=service.url(path), tools_schema=own)
    page = visit.post_in_parts("/agents/new", typed)
    assert page.status_code == 200, words(page.text)
    assert tools_in(page.text) == ["my_tool", *found]
    example = re.findall(
        r'<textarea id="f-tools_schema"[^>]*>\n(.*?)</textarea>', visit.text("/agents/new"), re.DOTALL
    )
    fresh = visit.post_in_parts("/agents/new", typed | {"tools_schema": html.unescape(example[0])})
    assert tools_in(fresh.text) == found  # the example of the empty form goes


@pytest.mark.parametrize("kind", ["mcp", "openapi", "url"])
def test_an_address_that_is_not_allowed_is_not_asked(visit: Signed, kind: str) -> None:
    page = visit.post_in_parts("/agents/new", form(act="read", tools_from=kind, tools_url=FORBIDDEN))
    assert page.status_code == 422
    assert '<a href="#f-tools_url">URL of the service</a>' in page.text
    assert "169.254.169.254" in page.text


WRONG = {
    "not JSON": ("url", "/dispatch?x", "not a list of tools"),
    "a missing page": ("url", "/gone", "the answer was 404"),
    "no MCP server": ("mcp", "/gone", "URL of the service"),
    "no document": ("openapi", "/gone", "404"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_service_without_tools_says_why(visit: Signed, service: Service, case: str) -> None:
    kind, path, says = WRONG[case]
    url = service.url(path.replace("/dispatch?x", "/dispatch"))
    page = visit.post_in_parts("/agents/new", form(act="read", tools_from=kind, tools_url=url))
    assert page.status_code == 422
    assert says in words(page.text)
    assert tools_in(page.text) == [TOOLS[0]["name"]]


def test_contract_and_models_are_fields_of_the_form(api: Api, visit: Signed, service: Service) -> None:
    typed = form(endpoint_url=service.url("/dispatch"), response_contract="yes", model_judge="test:fixed")
    refused = visit.post_in_parts("/agents/new", typed | {"model_judge": "nobody knows"})
    assert refused.status_code == 422
    assert '<a href="#f-model_judge">Judge model</a>' in refused.text
    saved = visit.post_in_parts("/agents/new", typed | {"model_judge": "openai:gpt-5-mini"})
    assert saved.status_code == 303, words(saved.text)
    agent = saved.headers["location"].rpartition("/")[2]
    stored = api.get(f"/api/agents/{agent}")
    assert stored["response_contract"] == {"response_mode": "rich", "strictness": "strict"}
    assert stored["config"]["models"] == {"judge": "openai:gpt-5-mini"}
    api.put(f"/api/agents/{agent}", {"config": stored["config"] | {"simulator": "embedded"}})
    page = visit.text(f"/agents/{agent}/edit")
    assert 'value="openai:gpt-5-mini"' in page
    version = re.findall(r'name="version" value="(\d+)"', page)[0]
    again = typed | {"version": version, "model_judge": "", "response_contract": ""}
    assert visit.post_in_parts(f"/agents/{agent}/edit", again).status_code == 303
    changed = api.get(f"/api/agents/{agent}")
    assert changed["config"] == {"simulator": "embedded"}  # the rest of the config stays
    assert changed["response_contract"] is None


class Clock:
    now = "2026-05-01T12:00:00.000000Z"

    def __call__(self) -> str:
        return self.now


def test_a_kept_secret_lives_for_an_hour() -> None:
    from types import SimpleNamespace

    from pipelines.storage.database.secret_box import SecretBox

    clock = Clock()
    platform: Any = SimpleNamespace(secrets=SecretBox(b"k" * 32), now=clock)
    kept = keep_secret(platform, "1|one", SECRET)
    assert SECRET not in kept.sealed
    assert kept_secret(platform, "1|one", kept.sealed) == SECRET
    assert kept_secret(platform, "1|two", kept.sealed) is None
    assert kept_secret(platform, "1|one", "") is None
    assert kept_secret(platform, "1|one", "not base64 !") is None
    clock.now = "2026-05-01T13:00:01.000000Z"
    assert LIFE_S == 3600
    assert kept_secret(platform, "1|one", kept.sealed) is None


def test_a_person_reads_tools_and_tests_then_registers(browser: Browser, api: Api, service: Service) -> None:
    with person(browser, api) as visitor:
        page = visitor.opens("/agents/new")
        page.get_by_label("Name", exact=True).fill("Read by hand")
        page.get_by_label("Endpoint URL").fill(service.url("/dispatch"))
        page.get_by_label("Auth header", exact=True).fill("Authorization")
        page.get_by_label("Auth header value").fill(SECRET)
        page.get_by_role("button", name="Test connection").click()
        expect(page.get_by_text("The agent is reachable")).to_be_visible()
        page.get_by_label("URL of the service").fill(service.url("/mcp"))
        page.get_by_role("button", name="Read tools").click()
        expect(page.get_by_label("Tools", exact=True)).to_have_value(re.compile("find_pet"))
        expect(page.locator("#kept")).to_be_visible()
        page.get_by_label("Name", exact=True).press("Enter")  # saves, and tries nothing
        page.get_by_text("Registered Read by hand").wait_for()


@pytest.mark.slow
def test_the_form_is_sound(browser: Browser, api: Api) -> None:
    with person(browser, api) as visitor:
        check_page(visitor, "/agents/new", "agent-form")
