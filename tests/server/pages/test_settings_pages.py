"""The settings: keys shown once, credentials never, endpoints, cassettes, roles, the server and its data."""

import re
from collections.abc import Iterator

import httpx2
import pytest
from playwright.sync_api import Browser, expect

from support.browser import check_page, person
from support.page_requests import sent, signed_in
from support.server_process import Api, house_in
from support.tool_service import served

RECORDED = b'{"tool": "ping", "arguments": {}, "response": "pong"}'
HOSTILE = "<img src=x onerror=alert(1)>"
TABS = ("", "/keys", "/members", "/credentials", "/endpoints", "/models", "/cassettes", "/server", "/data")


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    secrets = {"PIPELINES_SECRET_KEY": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}
    with house_in(tmp_path_factory.mktemp("settings") / "house", secrets) as house:
        yield house.open()


@pytest.fixture(scope="module")
def endpoint_id(api: Api) -> Iterator[str]:
    schema = {"type": "object", "properties": {"order_id": {"type": "string"}}}
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    operation = {"operationId": "get_order", "requestBody": body, "responses": {"200": {"description": ""}}}
    info = {"title": "Orders", "version": "1"}
    spec = {"openapi": "3.1.0", "info": info, "paths": {"/orders/get_order": {"post": operation}}}
    with served() as service:
        config = {"base_url": service.url, "spec": spec}
        new = {"name": "orders", "type": "http_openapi", "config": config}
        yield str(api.post("/api/tool-endpoints", new, 201)["id"])


# In a browser


def test_a_key_is_made_shown_once_used_and_revoked(browser: Browser, api: Api) -> None:
    with person(browser, api) as visitor:
        page = visitor.opens("/settings/keys")
        page.get_by_label("Name").fill(HOSTILE)
        page.get_by_label("Role").select_option("viewer")
        page.get_by_role("button", name="Create key").click()
        expect(page.get_by_text("not shown again")).to_be_visible()
        key = page.locator("#new-key").inner_text()
        assert httpx2.get(f"{api.url}/api/runs", headers={"X-API-Key": key}).status_code == 200
        page = visitor.opens("/settings/keys")
        assert key not in page.content()
        page.on("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name=f"Revoke {HOSTILE}").click()
        expect(page.get_by_text("is revoked")).to_be_visible()
        assert httpx2.get(f"{api.url}/api/runs", headers={"X-API-Key": key}).status_code == 401


@pytest.mark.slow
def test_pages_of_the_settings_are_sound(browser: Browser, api: Api, endpoint_id: str) -> None:
    api.client.put("/api/cassettes/staging", content=RECORDED)
    api.post("/api/credentials", {"name": "SHOP_KEY", "value": "s3cret-value"}, 201)
    with person(browser, api) as visitor:
        for tab in (*TABS, f"/endpoints/{endpoint_id}"):
            name = "settings" + (tab.replace("/", "-") if len(tab) < 30 else "-endpoint")
            check_page(visitor, f"/settings{tab}", name)


@pytest.mark.slow
def test_signing_out_ends_the_sign_in(browser: Browser, api: Api) -> None:
    with person(browser, api) as visitor:
        page = visitor.opens("/settings")
        expect(page.get_by_text("first key")).to_be_visible()
        page.get_by_role("button", name="Sign out of this browser").click()
        page.wait_for_url("**/sign-in")
        page.goto("/settings")
        page.wait_for_url("**/sign-in?next=*")


# Over HTTP


def test_a_key_without_a_name_is_refused_beside_the_field_and_the_last_owner_stays(api: Api) -> None:
    with signed_in(api) as client:
        refused = sent(client, "/settings/keys", {"name": " ", "role": "admin"})
        assert refused.status_code == 422
        assert 'aria-invalid="true"' in refused.text
        assert "<option selected>admin</option>" in refused.text
        last = sent(client, "/settings/keys/1/revoke")
        assert (last.status_code, "last owner" in last.text) == (422, True)


def test_an_admin_makes_no_owner(api: Api) -> None:
    with signed_in(api, "admin") as admin:
        assert "<option >owner</option>" not in admin.get("/settings/keys").text
        assert sent(admin, "/settings/keys", {"name": "x", "role": "owner"}).status_code == 422


def test_a_credential_is_written_and_never_shown(api: Api) -> None:
    with signed_in(api, "contributor") as client:
        answered = sent(client, "/settings/credentials", {"name": "OPENAI_API_KEY", "value": "sk-abcdef123"})
        assert answered.status_code == 303
        text = client.get("/settings/credentials").text
        assert "OPENAI_API_KEY" in text
        assert "sk-abcdef123" not in text
        refused = sent(client, "/settings/credentials", {"name": "not a name!", "value": "sk-refused-1"})
        assert refused.status_code == 422
        assert "not a name!" in refused.text
        assert "sk-refused-1" not in refused.text
        found = re.search(r"/settings/credentials/(\d+)/delete", text)
        assert found is not None
        assert sent(client, found[0]).status_code == 303
        assert "OPENAI_API_KEY is" not in client.get("/settings/credentials").text


def test_an_endpoint_shows_its_state_and_tools_and_is_asked_again(api: Api, endpoint_id: str) -> None:
    with signed_in(api) as client:
        assert "no drift" in client.get("/settings/endpoints").text
        place = f"/settings/endpoints/{endpoint_id}"
        assert "get_order" in client.get(place).text
        assert sent(client, f"{place}/discover").headers["location"] == place
        assert "orders answers: 1 tools" in client.get(place).text
        wrong = sent(client, "/settings/endpoints", {"endpoint": '{"name": "x"}'})
        assert wrong.status_code == 422
        assert "type" in wrong.text
        assert sent(client, "/settings/endpoints", {"endpoint": "{"}).status_code == 422


def test_an_endpoint_that_is_away_says_so(api: Api) -> None:
    gone = {"name": "gone", "type": "mcp_server", "config": {"url": "http://127.0.0.1:9/mcp"}}
    made = api.post("/api/tool-endpoints", gone, 201)
    with signed_in(api) as client:
        answered = sent(client, f"/settings/endpoints/{made['id']}/discover")
        assert answered.status_code == 422
        assert "Tool discovery failed" in answered.text
        assert "discovery failed" in client.get("/settings/endpoints").text
        assert sent(client, f"/settings/endpoints/{made['id']}/delete").status_code == 303


def test_cassettes_are_imported_downloaded_verified_and_deleted(api: Api) -> None:
    with signed_in(api) as client:
        csrf = re.search(r'name="csrf" value="([0-9a-f]+)"', client.get("/settings/cassettes").text)
        assert csrf is not None

        def imported(content: bytes) -> httpx2.Response:
            return client.post(
                "/settings/cassettes/import",
                data={"csrf": csrf[1]},
                files={"file": ("night.jsonl", content)},
            )

        assert "must" in imported(b"{").text or imported(b"{").status_code == 422
        assert imported(RECORDED).status_code == 303
        assert "night" in client.get("/settings/cassettes").text
        assert client.get("/settings/cassettes/night/export").json()["tool"] == "ping"
        assert "No call was repeated" in sent(client, "/settings/cassettes/night/verify").text
        assert sent(client, "/settings/cassettes/night/delete").status_code == 303
        assert client.get("/settings/cassettes/night/export").status_code == 404


def test_the_data_page_tells_no_secret_and_prunes(api: Api) -> None:
    with signed_in(api) as client:
        text = client.get("/settings/data").text
        assert "PIPELINES_SECRET_KEY" in text
        assert "MDEyMzQ1" not in text
        assert "database" in client.get("/settings/data/sizes").text
        assert sent(client, "/settings/data/prune").status_code == 303
        assert "Pruned 0 things" in client.get("/settings/data").text


def test_the_server_page_says_how_it_does(api: Api) -> None:
    with signed_in(api, "viewer") as client:
        text = client.get("/settings/server").text
        assert "SQLite" in text
        assert "No model gateway is set up" in text
        code = client.get("/settings/server/code").text
        assert "badge" in code
        assert "<dt>Workspaces</dt>" in code or "disabled" in code


def test_a_viewer_sees_what_a_viewer_may_and_no_button(api: Api, endpoint_id: str) -> None:
    api.client.put("/api/cassettes/staging", content=RECORDED)
    api.post("/api/credentials", {"name": "SHOP_KEY", "value": "s3cret-value"}, 201)
    with signed_in(api, "viewer") as viewer:
        text = viewer.get("/settings").text
        assert "/settings/keys" not in text
        assert "/settings/data" not in text
        assert viewer.get("/settings/keys").status_code == 403
        assert viewer.get("/settings/data").status_code == 403
        assert viewer.get("/settings/data/sizes").status_code == 403
        for tab in ("/credentials", "/endpoints", f"/endpoints/{endpoint_id}", "/cassettes", "/members"):
            page = viewer.get(f"/settings{tab}")
            assert page.status_code == 200
            assert 'method="post"' not in page.text, tab
        assert "first key" not in viewer.get("/settings/members").text


def test_a_server_without_a_client_at_an_issuer_has_no_button_for_it(api: Api) -> None:
    assert "/sign-in/oidc" not in httpx2.get(f"{api.url}/sign-in").text
    assert httpx2.get(f"{api.url}/sign-in/oidc/start").status_code == 404
