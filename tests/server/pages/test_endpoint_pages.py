"""Live endpoints and cassettes in the browser: an endpoint by form, and a cassette that can be read."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect
from signed_in import Signed, signed_in, words

from support.browser import check_page, person
from support.orders_service import SPEC, OrdersService, orders_service
from support.server_process import Api, house_in

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def service() -> Iterator[OrdersService]:
    with orders_service() as running:
        yield running


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    secrets = {"PIPELINES_SECRET_KEY": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}
    with house_in(tmp_path_factory.mktemp("endpoints") / "house", secrets) as house:
        opened = house.open()
        opened.post("/api/credentials", {"name": "SHOP_KEY", "value": "s3cret-value"}, 201)
        opened.client.put("/api/cassettes/night", content=b"\n".join(map(_line, range(60))))
        yield opened


def _line(number: int) -> bytes:
    call = {"tool": "get_order", "arguments": {"order_id": f"o-{number}"}, "status": 200}
    call["response"] = {"status": "paid", "note": HOSTILE if number == 3 else "fine"}
    if number == 7:
        call = {"tool": "refund", "arguments": {"order_id": "o-7"}, "failure": "the service did not answer"}
    return json.dumps(call).encode()


@pytest.fixture
def visit(api: Api) -> Iterator[Signed]:
    with signed_in(api) as signed:
        yield signed


def test_an_endpoint_is_added_by_form(api: Api, visit: Signed, service: OrdersService) -> None:
    form = {"endpoint_name": "orders", "endpoint_type": "http_openapi", "base_url": service.url}
    form |= {"spec": json.dumps(SPEC), "auth_type": "api_key", "auth_credential": "SHOP_KEY"}
    made = visit.post_in_parts("/settings/endpoints", form | {"auth_header": "X-Shop", "mcp_url": "ignored"})
    assert made.status_code == 303, words(made.text)
    stored = api.get(f"/api/tool-endpoints/{made.headers['location'].rpartition('/')[2]}")
    assert stored["type"] == "http_openapi"
    assert stored["auth"] == {"type": "api_key", "header": "X-Shop", "credential": "SHOP_KEY"}
    assert stored["tools"] == 5


def test_each_mistake_names_its_field_and_keeps_what_was_typed(visit: Signed) -> None:
    form = {"endpoint_name": "not a name!", "endpoint_type": "mcp_server", "mcp_url": "ftp://x"}
    form |= {"auth_type": "bearer", "auth_credential": "NOT_THERE"}
    refused = visit.post_in_parts("/settings/endpoints", form)
    assert refused.status_code == 422
    for field, label in (
        ("endpoint_name", "Name"),
        ("mcp_url", "URL of the MCP server"),
        ("auth_credential", "Credential"),
    ):
        assert f'<a href="#f-{field}">{label}</a>' in refused.text, words(refused.text)
        assert f'id="f-{field}"' in refused.text
    assert 'value="ftp://x"' in refused.text
    metadata = visit.post_in_parts(
        "/settings/endpoints",
        {"endpoint_name": "meta", "endpoint_type": "mcp_server", "mcp_url": "http://169.254.169.254/x"},
    )
    assert metadata.status_code == 422
    assert '<a href="#f-mcp_url">' in metadata.text


def test_code_is_added_by_form(api: Api, visit: Signed) -> None:
    source = 'def add(a: int, b: int) -> int:\n    """Add."""\n    return a + b\n'
    form = {"endpoint_name": "sums", "endpoint_type": "code", "source": source.replace("\n", "\r\n")}
    form |= {"env_vars": "SHOP_KEY\r\n", "allow_hosts": "example.com\r\nexample.org"}
    made = visit.post_in_parts("/settings/endpoints", form)
    if made.status_code == 422:
        pytest.skip(f"this server runs no code: {words(made.text)[-200:]}")
    stored = api.get(f"/api/tool-endpoints/{made.headers['location'].rpartition('/')[2]}")
    assert stored["config"]["env_vars"] == {"SHOP_KEY": "SHOP_KEY"}
    assert stored["config"]["allow_hosts"] == ["example.com", "example.org"]


def test_a_cassette_is_read_page_by_page_and_searched(visit: Signed) -> None:
    assert 'href="/settings/cassettes/night"' in visit.text("/settings/cassettes")
    first = visit.text("/settings/cassettes/night")
    shown = re.findall(r'o-\d+(?="</span>)', first)
    assert len(shown) == 50
    assert HOSTILE not in first
    assert "the service did not answer" in words(first)
    after = re.findall(r'href="(/settings/cassettes/night\?[^"]*after=\d+)" rel="next"', first)[0]
    rest = visit.text(after.replace("&amp;", "&"))
    assert len(re.findall(r'o-\d+(?="</span>)', rest)) == 10
    assert 'rel="next"' not in rest
    found = visit.text("/settings/cassettes/night?q=O-59")
    assert re.findall(r'o-\d+(?="</span>)', found) == ["o-59"]
    assert "No call matches" in words(visit.text("/settings/cassettes/night?q=nothing-like-it"))
    assert visit.client.get("/settings/cassettes/gone").status_code == 404


def test_the_form_shows_the_fields_of_its_type(browser: Browser, api: Api) -> None:
    with person(browser, api) as visitor:
        page = visitor.opens("/settings/endpoints")
        if not page.get_by_label("Base URL").is_visible():
            page.get_by_text("Add an endpoint", exact=True).click()
        page.get_by_label("Type", exact=True).select_option("mcp_server")
        expect(page.get_by_label("URL of the MCP server")).to_be_visible()
        expect(page.get_by_label("Base URL")).to_be_hidden()
        page.get_by_label("Type", exact=True).select_option("code")
        expect(page.get_by_label("Python source")).to_be_visible()
        expect(page.get_by_label("Authentication")).to_be_hidden()


@pytest.mark.slow
def test_the_pages_are_sound(browser: Browser, api: Api) -> None:
    with person(browser, api) as visitor:
        check_page(visitor, "/settings/endpoints", "endpoint-form")
        check_page(visitor, "/settings/cassettes/night", "cassette")
