"""One-time links: what opens them may be another site."""

import re
from collections.abc import Iterator
from html import unescape

import httpx2
import pytest

from support.server_process import Api, house_in

LINK = re.compile(r'href="(/sign-in\?code=[^"]+)"')


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("links") / "house") as house:
        yield house.open()


def link(api: Api) -> str:
    return str(api.post("/api/sign-in-links", status=201)["path"])


@pytest.mark.parametrize("site", [None, "none", "same-origin"])
def test_a_link_that_a_person_opens_signs_in(api: Api, site: str | None) -> None:
    headers = {"sec-fetch-site": site} if site else {}
    answered = httpx2.get(api.url + link(api), headers=headers)
    assert answered.status_code == 303
    assert answered.cookies


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_link_that_another_site_opens_asks_first(api: Api, site: str) -> None:
    answered = httpx2.get(api.url + link(api) + "&next=/runs", headers={"sec-fetch-site": site})
    assert answered.status_code == 200
    assert not answered.cookies
    found = LINK.search(answered.text)
    assert found is not None, answered.text
    own = unescape(found[1])
    assert own.endswith("next=%2Fruns")
    again = httpx2.get(api.url + own, headers={"sec-fetch-site": "same-origin"})
    assert again.status_code == 303
    assert again.headers["location"] == "/runs"
    assert again.cookies
