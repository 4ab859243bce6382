"""A support desk to test with: its agent, its tasks, a server in this process and runs driven by hand."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

from pipelines.engine.platform import Platform
from pipelines.server.app import App
from pipelines.server.config.settings import Settings, load_settings
from pipelines.server.service.first_start import prepare
from pipelines.storage.accounts.keys import add_key, add_org, new_key
from pipelines.wire.names import PROXY_BASE, Role
from support.migrated_database import migrated_sqlite

Row = dict[str, Any]
MEBIBYTE = 1024 * 1024


def tool(name: str, description: str, properties: Row, required: list[str], **more: Any) -> Row:
    schema = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return {"name": name, "description": description, "input_schema": schema, **more}


ORDER_ID = {"order_id": {"type": "string"}}
TOOLS: list[Row] = [
    tool("get_order", "Get an order by its id.", ORDER_ID, ["order_id"]),
    tool(
        "refund_order",
        "Refund an order. The order status will be changed to 'refunded'.",
        {**ORDER_ID, "reason": {"type": "string"}},
        ["order_id"],
    ),
    tool(
        "cancel_order",
        "Cancel an order. The order status will be changed to 'cancelled'.",
        ORDER_ID,
        ["order_id"],
    ),
    tool(
        "search_inventory",
        "Search the inventory.",
        {"query": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
        ["query"],
    ),
    # Its plan is written out, so that what it answers does not hang on how names are read.
    tool(
        "add_note",
        "Keep a note about an order.",
        {**ORDER_ID, "text": {"type": "string"}, "actor_id": {"type": "string"}},
        ["order_id", "text"],
        simulation=[
            {"find": {"as": "order", "in": "order", "id": "args.order_id"}},
            {"append": {"order.notes": "args.text"}},
            {"return": {"order_id": "args.order_id", "notes": "order.notes"}},
        ],
    ),
    tool(
        "raise_flag",
        "Raise a flag.",
        {"flag": {"type": "string"}},
        ["flag"],
        simulation=[{"flag": "args.flag"}, {"return": {"flag": "args.flag"}}],
    ),
]
AGENT: Row = {
    "name": "Support desk",
    "description": "Looks up orders, refunds and cancels them, checks stock.",
    "endpoint_url": "https://agents.example.com/dispatch",
    "tools_schema": TOOLS,
}
STATE: Row = {
    "order": {
        "4521": {"status": "shipped", "shipped_at": "2026-04-01", "amount": 79.5},
        "7001": {"status": "pending", "amount": 20},
    },
    "item": {"sku-1": {"name": "Blue mug", "stock": 12}, "sku-2": {"name": "Red mug", "stock": 0}},
}
TASK: Row = {"user": "Refund order #4521 if it shipped more than 30 days ago.", "state": STATE}


def outage(tool: str, n: int, duration: int = 1, code: int = 502) -> Row:
    error = {"code": code, "message": "Payment processor unavailable"}
    return {"trigger": "after_n_calls", "tool": tool, "n": n, "duration": duration, "error": error}


def answered(response: httpx2.Response, status: int | None = None) -> Any:
    """The JSON of a reply that must be a success, or have just this status."""
    expected = response.status_code < 400 if status is None else response.status_code == status
    assert expected, (
        f"{response.request.method} {response.request.url}: {response.status_code} {response.text}"
    )
    return response.json() if response.content else None


def refused(response: httpx2.Response, status: int, code: str) -> Row:
    """The error of a reply that must be refused with just this status and code."""
    assert response.status_code == status, f"{response.status_code} {response.text[:500]}"
    error: Row = response.json()["error"]
    assert error["code"] == code, error
    assert error["message"]
    return error


async def every_item(client: httpx2.AsyncClient, path: str, **query: Any) -> list[Row]:
    """A list, page by page, to its end."""
    items: list[Row] = []
    cursor = None
    while True:
        page = answered(await client.get(path, params=query | ({"cursor": cursor} if cursor else {})))
        items += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return items


class DrivenRun:
    """A run by hand: the test plays the agent."""

    def __init__(self, client: httpx2.AsyncClient, opened: Row) -> None:
        self.client = client
        self.opened = opened
        self.id: int = opened["id"]
        self.token: str = opened["run_token"]
        self.jti: str = opened["run_token_jti"]
        self.auth = {"Authorization": f"Bearer {self.token}"}

    async def call(
        self, tool: str, arguments: Any = None, *, base: str | None = None, **headers: str
    ) -> httpx2.Response:
        url = f"{base or f'{PROXY_BASE}/runs/{self.jti}'}/tools/{tool}"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        body = json.dumps({} if arguments is None else arguments)
        return await self.client.post(url, content=body, headers=self.auth | named)

    async def raw(self, path: str, content: bytes, method: str = "POST", **headers: str) -> httpx2.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        url = f"{PROXY_BASE}/{path}"
        return await self.client.request(method, url, content=content, headers=self.auth | named)

    async def event(self, kind: str, payload: Any, **headers: str) -> httpx2.Response:
        return await self.raw(f"traces/{kind}", json.dumps(payload).encode(), **headers)

    async def trace(self, **query: Any) -> list[Row]:
        return await every_item(self.client, f"/api/runs/{self.id}/trace", **query)

    async def ledger(self, step: int | None = None) -> Row:
        query = {} if step is None else {"step": step}
        read: Row = answered(await self.client.get(f"/api/runs/{self.id}/ledger", params=query))
        return read

    async def finish(self, **body: Any) -> httpx2.Response:
        return await self.client.post(f"/api/runs/{self.id}/finish", json={"final_response": "Done."} | body)


class Org:
    """One org's way to the API, with short words for what most tests do first."""

    def __init__(self, client: httpx2.AsyncClient, key: str, id: int = 1) -> None:
        self.client = client
        self.key = key
        self.id = id

    async def agent(self, **changes: Any) -> Row:
        made: Row = answered(await self.client.post("/api/agents", json=AGENT | changes), 201)
        return made

    async def dataset(self, *rows: Row, agent_id: int | None = None, name: str = "tasks") -> Row:
        body = {"name": name, "rows": list(rows) or [TASK]}
        body |= {"agent_id": agent_id} if agent_id is not None else {}
        made: Row = answered(await self.client.post("/api/datasets", json=body), 201)
        return made

    async def open_run(self, agent_id: int, task_id: int, **more: Any) -> DrivenRun:
        body = {"mode": "manual", "agent_id": agent_id, "task_ids": [task_id]} | more
        return DrivenRun(self.client, answered(await self.client.post("/api/runs", json=body), 201))

    async def run(self, agent: Row | None = None, **task: Any) -> DrivenRun:
        """A fresh run of a task: the desk's, with these columns changed."""
        agent_id = (agent or await self.agent())["id"]
        dataset = await self.dataset(TASK | task, agent_id=agent_id)
        return await self.open_run(agent_id, dataset["task_ids"][0])

    async def key_of(self, role: Role) -> "Org":
        made = answered(
            await self.client.post("/api/keys", json={"name": role.value, "role": role.value}), 201
        )
        return Org(client_of(self.client._transport, made["api_key"]), made["api_key"], self.id)


def client_of(transport: httpx2.AsyncBaseTransport, key: str | None) -> httpx2.AsyncClient:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx2.AsyncClient(transport=transport, base_url="http://testserver", headers=headers)


class House:
    """A server in this process, real SQLite under it."""

    def __init__(self, settings: Settings, app: App, key: str) -> None:
        self.settings = settings
        self.app = app
        # The app's own answer to its faults is what a client sees, so exceptions do not jump the wire.
        self.transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
        self.owner = Org(client_of(self.transport, key), key)
        self.stranger = client_of(self.transport, None)

    @property
    def platform(self) -> Platform:
        platform: Platform = self.app.api.state.platform
        return platform

    async def another_org(self, name: str = "another") -> Org:
        key = new_key()
        now = self.platform.now()

        def store(connection: Any) -> int:
            org_id = add_org(connection, name, now)
            add_key(connection, org_id=org_id, name="its key", role=Role.OWNER, key=key, now=now)
            return org_id

        return Org(client_of(self.transport, key), key, await self.platform.database.write(store))


@asynccontextmanager
async def open_house(directory: Path, *, own_url: str = "", **settings: Any) -> AsyncIterator[House]:
    """Start, as `pipelines up` does, in a directory that may have been used before."""
    loaded = load_settings({}, data_dir=directory, **({"proxy_rate_limit": 0} | settings))
    if not loaded.is_shared and not loaded.database_path.exists():
        loaded.database_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        loaded.database_path.write_bytes(migrated_sqlite())
    started = prepare(loaded)
    app = App(loaded, own_url=own_url)
    async with app.api.router.lifespan_context(app.api):
        yield House(loaded, app, started.key or started.key_file.read_text().strip())
