"""Requests that no page of ours makes: none of them breaks the server, holds it up, or gets what it should
not."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx2
import pytest

from support.page_requests import csrf_of, signed_in
from support.server_process import Api, house_in


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("odd") / "house") as house:
        yield house.open()


@pytest.fixture(scope="module")
def owner(api: Api) -> Iterator[httpx2.Client]:
    with signed_in(api) as client:
        yield client


@pytest.mark.parametrize("origin", ["http://[", "null", "", "http://evil.example", "ftp://{host}", "{host}"])
def test_a_form_of_another_origin_is_refused_however_that_is_written(
    api: Api, owner: httpx2.Client, origin: str
) -> None:
    host = urlsplit(api.url).netloc
    headers = {"origin": origin.replace("{host}", host), "x-csrf": csrf_of(owner)}
    assert owner.post("/review/as", headers=headers).status_code == 403
    ours = {"origin": f"http://{host}", "x-csrf": csrf_of(owner)}
    assert owner.post("/review/as", headers=ours).status_code == 303


@pytest.mark.parametrize("headers", [{"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}])
def test_nobody_is_signed_in_by_a_page_elsewhere(api: Api, headers: dict[str, str]) -> None:
    sent = httpx2.post(f"{api.url}/sign-in", data={"key": api.key}, headers=headers)
    assert sent.status_code == 403
    assert "set-cookie" not in sent.headers


def test_whoever_is_not_signed_in_sends_no_large_form(api: Api) -> None:
    for options in ({"data": {"key": "x" * 70_000}}, {"files": {"key": b"x" * 70_000}}):
        assert httpx2.post(f"{api.url}/sign-in", **options).status_code == 413  # type: ignore[arg-type]


def test_a_long_text_is_sent_in_parts(owner: httpx2.Client) -> None:
    """What is percent-encoded holds up everybody while it is read: a second for each two mebibytes."""
    csrf = {"csrf": csrf_of(owner)}
    encoded = owner.post("/evals/scenarios/check", data=csrf | {"text": "%" * 100_000})
    assert encoded.status_code == 413
    assert "256 KiB" in encoded.text
    parts = {name: (None, value) for name, value in (csrf | {"text": "%" * 300_000}).items()}
    assert owner.post("/evals/scenarios/check", files=parts).status_code == 200


#: No number of a row; the second begins as one.
NO_NUMBERS = ("²", "0" * 19 + "1" + "9" * 20, "9" * 199)


@pytest.mark.parametrize(
    "path", ["/compare/runs?from=", "/evals?before=", "/evals/scenarios?agent=", "/runs?task_id="]
)
@pytest.mark.parametrize("number", NO_NUMBERS)
def test_a_number_that_no_row_can_have_finds_nothing(owner: httpx2.Client, path: str, number: str) -> None:
    assert owner.get(path + number).status_code in (200, 422)
