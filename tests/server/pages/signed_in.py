"""A browser's requests without a browser: cheap, for what needs no eyes."""

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2

from support.server_process import PATIENCE_S, Api


class Signed:
    def __init__(self, client: httpx2.Client) -> None:
        self.client = client
        token = re.search(r'X-Csrf": "([0-9a-f]+)"', client.get("/").text)
        assert token is not None
        self.csrf = token[1]

    def text(self, path: str, status: int = 200) -> str:
        answer = self.client.get(path)
        assert answer.status_code == status, f"{path}: {answer.status_code}"
        return answer.text

    def post(self, path: str, fields: dict[str, Any] | None = None, **options: Any) -> httpx2.Response:
        return self.client.post(path, data={"csrf": self.csrf} | (fields or {}), **options)

    def post_in_parts(self, path: str, fields: dict[str, str]) -> httpx2.Response:
        """As forms are sent that have room for long texts."""
        parts = {name: (None, value) for name, value in ({"csrf": self.csrf} | fields).items()}
        return self.client.post(path, files=parts)


@contextmanager
def signed_in(api: Api, key: str | None = None) -> Iterator[Signed]:
    with httpx2.Client(base_url=api.url, timeout=PATIENCE_S) as client:
        assert client.post("/sign-in", data={"key": key or api.key}).status_code == 303
        yield Signed(client)


def words(page: str) -> str:
    """What a reader sees of a page, in one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def as_viewer(api: Api) -> str:
    made: str = api.post("/api/keys", {"name": "viewer", "role": "viewer"}, 201)["api_key"]
    return made
