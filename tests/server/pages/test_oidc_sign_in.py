"""Signing in at an OIDC issuer: there with a secret of this one sign-in, and back with a code."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, expect

from pipelines.core.text.problems import Refused
from pipelines.server.config.settings import load_settings
from pipelines.server.oidc import Oidc
from support.server_process import Api, house_in
from support.token_issuer import AUDIENCE, Issuer, SigningKey, issuing

CLIENT = "odyssey-pages"


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with issuing() as running:
        yield running


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory, issuer: Issuer) -> Iterator[Api]:
    env = {
        "PIPELINES_OIDC_ISSUER": issuer.url,
        "PIPELINES_OIDC_AUDIENCE": AUDIENCE,
        "PIPELINES_OIDC_CLIENT_ID": CLIENT,
        "PIPELINES_OIDC_CLIENT_SECRET": "odyssey-secret",
    }
    issuer.client_secret = "odyssey-secret"
    with house_in(tmp_path_factory.mktemp("oidc") / "house", env) as house:
        yield house.open()


@pytest.fixture(autouse=True)
def as_ever(issuer: Issuer) -> None:
    issuer.id_claims, issuer.turned_away = {}, None


def begun(api: Api, then: str = "/") -> tuple[httpx2.Client, httpx2.URL]:
    """A browser that was sent to the issuer, and where the issuer sends it back to."""
    browser = httpx2.Client(base_url=api.url)
    sent = browser.get("/sign-in/oidc/start", params={"next": then})
    assert sent.status_code == 303, sent.text
    back = httpx2.get(sent.headers["location"])
    return browser, httpx2.URL(back.headers["location"])


def test_somebody_signs_in_at_the_issuer_and_is_who_it_says(browser: Browser, api: Api) -> None:
    page = browser.new_context(base_url=api.url).new_page()
    page.goto("/settings/members?x=1")
    page.get_by_role("link", name="Sign in with 127.0.0.1").click()
    page.wait_for_url(f"{api.url}/settings/members?x=1")
    page.goto("/settings")
    expect(page.get_by_text("ada")).to_be_visible()
    expect(page.get_by_text("contributor")).to_be_visible()
    page.get_by_role("button", name="Sign out of this browser").click()
    page.wait_for_url("**/sign-in")


def test_a_code_is_good_once_and_only_in_the_browser_that_asked_for_it(api: Api) -> None:
    browser, back = begun(api, "/review")
    with httpx2.Client(base_url=api.url) as other:
        assert "did not start in this browser" in other.get(back.raw_path.decode()).text
    done = browser.get(back.raw_path.decode())
    assert (done.status_code, done.headers["location"]) == (303, "/review")
    assert browser.get("/review").status_code == 200
    assert browser.get(back.raw_path.decode()).status_code == 401  # its cookie is gone
    browser.close()


def test_another_state_is_refused(api: Api) -> None:
    browser, back = begun(api)
    answered = browser.get("/sign-in/oidc", params={"code": back.params["code"], "state": "made-up"})
    assert (answered.status_code, "did not start" in answered.text) == (401, True)
    browser.close()


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"nonce": "another"}, "not issued for this sign-in"),
        ({"nonce": None}, "not issued for this sign-in"),
        ({"aud": "another-client"}, "not meant for this server"),
        ({"azp": "another-client"}, "issued to a different client"),
        ({"exp": 1}, "expired"),
        ({"role": "king"}, "must be or contain one of"),
        ({"iss": "https://elsewhere.example"}, "does not trust"),
    ],
)
def test_an_id_token_is_held_to_the_rules(api: Api, issuer: Issuer, claims: Any, said: str) -> None:
    issuer.id_claims = claims
    browser, back = begun(api)
    answered = browser.get(back.raw_path.decode())
    assert answered.status_code == 401
    assert said in answered.text, answered.text
    assert browser.get("/").status_code == 303
    browser.close()


def test_an_id_token_signed_by_somebody_else_is_refused(api: Api, issuer: Issuer) -> None:
    own, issuer.key = issuer.key, SigningKey("first")
    try:
        browser, back = begun(api)
        assert browser.get(back.raw_path.decode()).status_code == 401
        browser.close()
    finally:
        issuer.key = own


def test_what_the_issuer_says_instead_is_told_as_text(api: Api, issuer: Issuer) -> None:
    issuer.turned_away = {"error": "access_denied", "error_description": "<b>not</b> in the group"}
    browser, back = begun(api)
    answered = browser.get(back.raw_path.decode())
    assert answered.status_code == 401
    assert "access_denied: &lt;b&gt;not&lt;/b&gt; in the group" in answered.text
    browser.close()


def test_a_code_that_is_spent_says_so(api: Api, issuer: Issuer) -> None:
    browser, back = begun(api)
    issuer.codes.clear()
    answered = browser.get(back.raw_path.decode())
    assert answered.status_code == 401
    assert "the code is &lt;b&gt;spent&lt;/b&gt;" in answered.text
    browser.close()


def test_an_answer_of_another_issuer_is_refused(api: Api) -> None:
    browser, back = begun(api)
    answered = browser.get(f"{back.raw_path.decode()}&iss=https%3A%2F%2Fevil.example")
    assert "a different issuer" in answered.text
    browser.close()


@pytest.mark.parametrize("path", ["//evil.example", "https://evil.example"])
def test_signing_in_there_never_leads_elsewhere(api: Api, path: str) -> None:
    browser, back = begun(api, path)
    assert browser.get(back.raw_path.decode()).headers["location"] == "/"
    browser.close()


def test_only_what_we_signed_and_only_for_ten_minutes_is_read_back() -> None:
    oidc: Any = Oidc("https://id.example", None, b"k" * 32)  # type: ignore[arg-type]
    begun = oidc.begin("/runs", "2026-11-17T12:10:00Z")
    cookie = oidc.cookie(begun)
    assert oidc.read(cookie, "2026-11-17T12:09:59Z") == begun
    assert oidc.read(cookie, "2026-11-17T12:10:00Z") is None
    assert Oidc("https://id.example", None, b"l" * 32).read(cookie, "2026") is None  # type: ignore[arg-type]
    for wrong in ("", "x", cookie[:-1], "0" * 64 + cookie[64:], cookie + "é"):
        assert oidc.read(wrong, "2026-11-17T12:00:00Z") is None


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"PIPELINES_OIDC_CLIENT_ID": "pages"}, "PIPELINES_OIDC_CLIENT_ID"),
        ({"PIPELINES_OIDC_CLIENT_SECRET": "s3cret"}, "PIPELINES_OIDC_CLIENT_SECRET"),
    ],
)
def test_a_client_without_an_issuer_or_a_secret_without_a_client_is_refused(
    given: dict[str, str], path: str
) -> None:
    with pytest.raises(Refused) as refused:
        load_settings(given)
    assert [problem.path for problem in refused.value.problems] == [path]
