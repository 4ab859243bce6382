"""A browser's requests to the pages, without a browser."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2

from support.server_process import PATIENCE_S, Api


@contextmanager
def signed_in(api: Api, role: str = "", name: str = "") -> Iterator[httpx2.Client]:
    """With the server's first key, or a new one of this role."""
    key = api.key
    if role:
        key = api.post("/api/keys", {"name": name or f"a {role}", "role": role}, 201)["api_key"]
    with httpx2.Client(base_url=api.url, timeout=PATIENCE_S) as client:
        assert client.post("/sign-in", data={"key": key}).status_code == 303
        yield client


def csrf_of(client: httpx2.Client) -> str:
    found = re.search(r'X-Csrf": "([0-9a-f]+)"', client.get("/ui/style").text)
    assert found is not None
    return found[1]


def sent(client: httpx2.Client, path: str, fields: Any = None) -> httpx2.Response:
    """A form of ours."""
    return client.post(path, data=(fields or {}) | {"csrf": csrf_of(client)})
