"""Of every page there is, without a list of them: nobody gets in unknown, no viewer changes anything, and no
form that is not from our own page is taken."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import httpx2
import pytest
from starlette.routing import Route

from pipelines.server.app import App
from pipelines.server.config.settings import load_settings
from pipelines.server.pages.app import MODULES
from support.page_requests import csrf_of, signed_in
from support.server_process import Api, house_in

#: Pages for whoever comes: where one signs in, and files that are nobody's.
OPEN = ("/sign-in", "/ui/static/")
READING = ("GET", "HEAD")
#: What a viewer may send since it changes nothing but who is signed in, or nothing at all.
VIEWERS_MAY = {"POST /sign-in", "POST /sign-out"}


class Operation(NamedTuple):
    method: str
    path: str

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def filled(self) -> str:
        """Who is asking is found out before what for: any value will do."""
        return re.sub(r"\{[^}]+\}", "1", self.path)


def every_operation() -> list[Operation]:
    """Of the modules' routers: the application itself tells only of those that are to be documented."""
    routes = [route for module in MODULES for route in module.router.routes]
    assert all(isinstance(route, Route) for route in routes), "a router within a router is not walked yet"
    return sorted(
        Operation(method, route.path)
        for route in routes
        if isinstance(route, Route)
        for method in route.methods or ()
        if method != "HEAD"
    )


EVERY = every_operation()
GUARDED = [each for each in EVERY if not each.path.startswith(OPEN)]
CHANGES = [each for each in EVERY if each.method not in READING]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("access") / "house") as house:
        yield house.open()


@pytest.fixture(scope="module")
def viewer(api: Api) -> Iterator[httpx2.Client]:
    with signed_in(api, "viewer") as client:
        yield client


@pytest.fixture(scope="module")
def owner(api: Api) -> Iterator[httpx2.Client]:
    with signed_in(api) as client:
        yield client


def test_all_pages_are_walked() -> None:
    assert {"GET /", "GET /review", "GET /settings/keys", "POST /sign-out"} <= {str(each) for each in EVERY}
    assert {str(each) for each in CHANGES} >= VIEWERS_MAY
    documented = App(load_settings({})).pages.openapi()["paths"]
    assert documented.keys() <= {each.path for each in EVERY}


@pytest.mark.parametrize("operation", GUARDED, ids=str)
def test_whoever_is_not_signed_in_is_led_to_the_sign_in(api: Api, operation: Operation) -> None:
    answered = httpx2.request(operation.method, api.url + operation.filled)
    assert answered.status_code == 303
    assert answered.headers["location"].startswith("/sign-in?next=")
    made_up = {f"odyssey_{httpx2.URL(api.url).port}": "x" * 43}
    again = httpx2.request(operation.method, api.url + operation.filled, cookies=made_up)
    assert again.status_code == 303


@pytest.mark.parametrize("operation", [each for each in CHANGES if str(each) not in VIEWERS_MAY], ids=str)
def test_a_viewer_changes_nothing(viewer: httpx2.Client, operation: Operation) -> None:
    sent = viewer.request(operation.method, operation.filled, headers={"x-csrf": csrf_of(viewer)})
    assert sent.status_code == 403
    assert "signed in as viewer" in sent.text


@pytest.mark.parametrize("operation", [each for each in CHANGES if each.path != "/sign-in"], ids=str)
def test_a_form_that_is_not_from_our_page_is_refused(owner: httpx2.Client, operation: Operation) -> None:
    for headers in ({}, {"x-csrf": "0" * 64}, {"x-csrf": csrf_of(owner), "origin": "http://evil.example"}):
        sent = owner.request(operation.method, operation.filled, headers=headers, data={"x": "1"})
        assert sent.status_code == 403, headers
        assert "did not come from a page of this server" in sent.text
    assert owner.get("/ui/style").status_code == 200


@pytest.mark.parametrize("operation", EVERY, ids=str)
def test_a_name_that_is_not_ours_is_answered_nothing(owner: httpx2.Client, operation: Operation) -> None:
    if operation.path.startswith("/ui/static/"):
        return
    headers = {"host": "evil.example", "x-csrf": csrf_of(owner)}
    assert owner.request(operation.method, operation.filled, headers=headers).status_code == 421
