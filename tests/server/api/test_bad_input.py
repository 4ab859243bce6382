"""Whatever is sent: a 4xx with a stable code and a message, never a 500 and never a hang."""

import asyncio
import gzip
import json
import re
from collections.abc import Awaitable, MutableMapping
from contextlib import suppress
from typing import Any

import httpx2
import pytest
from starlette.requests import ClientDisconnect

from pipelines.wire.names import PROXY_BASE
from support.desk import AGENT, MEBIBYTE, TASK, DrivenRun, House, Org, Row, answered, refused

pytestmark = pytest.mark.anyio
JSON = {"content-type": "application/json"}
WAIT_S = 20  # far more than any of these takes: what is not answered by then hangs


async def well_refused(awaited: Awaitable[httpx2.Response]) -> Row:
    """The error of any 4xx, in the one shape that all of them have."""
    async with asyncio.timeout(WAIT_S):
        reply = await awaited
    asked = f"{reply.request.method} {str(reply.request.url)[:200]} {reply.request.content[:200]!r}"
    assert 400 <= reply.status_code < 500, f"{asked}: {reply.status_code} {reply.text[:500]}"
    assert reply.headers["content-type"] == "application/json"
    error: Row = reply.json()["error"]
    assert error["code"].replace("_", "").isalpha()
    assert error["message"]
    return error


# Bodies

BODY_ENDPOINTS = [
    ("POST", "/api/agents"),
    ("PUT", "/api/agents/1"),
    ("POST", "/api/agents/1/plans/check"),
    ("POST", "/api/datasets"),
    ("POST", "/api/datasets/1/tasks"),
    ("POST", "/api/runs"),
    ("POST", "/api/runs/1/finish"),
    ("POST", "/api/keys"),
]
MALFORMED: dict[str, bytes] = {
    "nothing": b"",
    "spaces": b"  \n ",
    "cut short": b'{"name": "x"',
    "two documents": b"{}{}",
    "a trailing comma": b'{"name": "x",}',
    "single quotes": b"{'name': 'x'}",
    "NaN": b'{"name": NaN}',
    "Infinity": b'{"name": Infinity}',
    "a number past every float": b'{"name": 1e999}',
    "a key twice": b'{"name": "x", "name": "y"}',
    "a key twice, once escaped": b'{"name": "x", "n\\u0061me": "y"}',
    "a key twice, deep": b'{"name": {"a": [{"b": 1, "b": 2}]}}',
    "65 levels": b'{"name":' + b"[" * 64 + b"]" * 64 + b"}",
    "100,000 levels": b"[" * 100_000 + b"]" * 100_000,
    "not UTF-8": b'{"name": "\xc3\x28"}',
    "UTF-16": '{"name": "x"}'.encode("utf-16"),
    "half a surrogate pair": b'{"name": "\\ud800"}',
    "encoded surrogates": b'{"name": "\xed\xa0\x80"}',
    "a byte order mark": b'\xef\xbb\xbf{"name": "x"}',
    "a control character": b'{"name": "\x01"}',
    "gzip": gzip.compress(b'{"name": "x"}'),
    "a form": b"name=x&agent_id=1",
}
MISFITS: dict[str, bytes] = {
    "null": b"null",
    "true": b"true",
    "a number": b"17",
    "text": b'"name"',
    "a list": b"[]",
    "a list of objects": b'[{"name": "x"}]',
    "an unknown field": b'{"colour": "red"}',
    "an empty name": b'{"": 1}',
    "a name with NUL": b'{"\\u0000": 1}',
    "a huge integer": b'{"name": ' + b"9" * 300 + b', "agent_id": ' + b"9" * 25 + b"}",
    "a negative id": b'{"agent_id": -1, "task_ids": [-1], "mode": "manual", "name": "x"}',
    "wrong types everywhere": json.dumps(
        {
            "name": [],
            "mode": {},
            "agent_id": {},
            "task_ids": {},
            "rows": {},
            "final_response": {},
            "role": {},
            "tools_schema": {},
            "plans": 1,
        }
    ).encode(),
    "a deep but allowed nesting": b'{"name":' + b"[" * 63 + b"]" * 63 + b"}",
}


@pytest.fixture
async def filled(org: Org) -> Org:
    """An org with an agent, a dataset, a task and a run, each with the id 1."""
    run = await org.run()
    assert run.id == run.opened["agent_id"] == run.opened["dataset_id"] == run.opened["task_id"] == 1
    return org


@pytest.mark.parametrize(("method", "path"), BODY_ENDPOINTS, ids=str)
async def test_a_body_that_is_not_json_is_refused(filled: Org, method: str, path: str) -> None:
    for case, body in MALFORMED.items():
        error = await well_refused(filled.client.request(method, path, content=body, headers=JSON))
        assert error["code"] == "invalid_json", (case, error)


@pytest.mark.parametrize(("method", "path"), BODY_ENDPOINTS, ids=str)
async def test_json_of_the_wrong_shape_is_refused_with_what_is_wrong(
    filled: Org, method: str, path: str
) -> None:
    for case, body in MISFITS.items():
        error = await well_refused(filled.client.request(method, path, content=body, headers=JSON))
        assert error["code"] == "invalid_request", (case, error)
        assert error["details"], case
    assert answered(await filled.client.get("/api/agents/1"))["version"] == 1
    assert answered(await filled.client.get("/api/runs/1"))["status"] == "running"


KINDS = ["text/plain", "application/x-www-form-urlencoded", "application/xml", "json", ";;;", "\xff"]


@pytest.mark.parametrize(("method", "path"), BODY_ENDPOINTS, ids=str)
async def test_another_kind_of_body_is_refused(filled: Org, method: str, path: str) -> None:
    for kind in KINDS:
        headers: Any = {"content-type": kind.encode("latin-1")}
        error = await well_refused(filled.client.request(method, path, content=b"{}", headers=headers))
        assert error["code"] == "unsupported_media_type", kind


@pytest.mark.parametrize(
    ("method", "path"), [each for each in BODY_ENDPOINTS if "datasets" not in each[1]], ids=str
)
async def test_a_body_over_a_mebibyte_is_refused(filled: Org, method: str, path: str) -> None:
    holds_code = re.fullmatch(r"/api/agents(/\d+)?", path) is not None
    body = b'{"name": "' + b"x" * MEBIBYTE * (8 if holds_code else 1) + b'"}'
    reply = await filled.client.request(method, path, content=body, headers=JSON)
    refused(reply, 413, "body_too_large")


@pytest.mark.parametrize("path", ["/api/agents", f"{PROXY_BASE}/tools/get_order"])
async def test_a_sender_of_too_much_is_not_read_to_the_end(house: House, org: Org, path: str) -> None:
    run = await org.run()
    sent = 0
    statuses: list[int] = []

    async def endless() -> MutableMapping[str, Any]:
        nonlocal sent
        sent += 65536
        return {"type": "http.request", "body": b" " * 65536, "more_body": True}

    async def note(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    key = run.token if path.startswith(PROXY_BASE) else org.key
    async with asyncio.timeout(WAIT_S):
        await house.app(scope("POST", path, key), endless, note)
    assert statuses == [413]
    assert sent <= MEBIBYTE * (8 if path == "/api/agents" else 1) + 2 * 65536


def scope(method: str, path: str, key: str) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode("utf-8", "surrogatepass"),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"authorization", b"Bearer " + key.encode()), (b"content-type", b"application/json")],
        "server": ("testserver", 80),
        "client": ("127.0.0.1", 1),
    }


@pytest.mark.parametrize(
    "path", ["/api/agents", f"{PROXY_BASE}/tools/get_order", f"{PROXY_BASE}/traces/custom"]
)
async def test_a_caller_that_hangs_up_in_the_middle_of_its_body_has_asked_nothing(
    house: House, org: Org, path: str
) -> None:
    run = await org.run()
    parts = [
        {"type": "http.request", "body": b'{"order_id":', "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> MutableMapping[str, Any]:
        return parts.pop(0) if parts else {"type": "http.disconnect"}

    async def send(message: MutableMapping[str, Any]) -> None:
        """Nobody is there to hear it."""

    key = run.token if path.startswith(PROXY_BASE) else org.key
    # The framework tells its server of a caller that is gone; nothing else may rise.
    async with asyncio.timeout(WAIT_S):
        with suppress(ClientDisconnect):
            await house.app(scope("POST", path, key), receive, send)
    assert await run.trace() == []
    assert len(answered(await org.client.get("/api/agents"))["items"]) == 1


# Uploads

BOUNDARY = "x" * 16
FORM = {"content-type": f"multipart/form-data; boundary={BOUNDARY}"}


def form(*parts: bytes, end: bytes = b"--\r\n") -> bytes:
    mark = b"--" + BOUNDARY.encode()
    return b"".join(mark + b"\r\n" + part + b"\r\n" for part in parts) + mark + end


FILE = b'Content-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nuser\nhi\n'
NAME = b'Content-Disposition: form-data; name="name"\r\n\r\nmine'
BAD_FORMS: dict[str, tuple[dict[str, str], bytes]] = {
    "no boundary": ({"content-type": "multipart/form-data"}, form(FILE)),
    "an empty boundary": ({"content-type": "multipart/form-data; boundary="}, form(FILE)),
    "another boundary": ({"content-type": "multipart/form-data; boundary=other"}, form(FILE)),
    "a long boundary": ({"content-type": "multipart/form-data; boundary=" + "y" * 5000}, form(FILE)),
    "an unknown charset": ({"content-type": FORM["content-type"] + "; charset=utf-99"}, form(b"junk")),
    "nothing": (FORM, b""),
    "only the end": (FORM, form()),
    "cut in its head": (FORM, form(FILE)[:40]),
    "cut in its body": (FORM, form(FILE)[:-30]),
    "cut before the end": (FORM, form(FILE)[: -len(BOUNDARY) - 6]),
    "no disposition": (FORM, form(b"Content-Type: text/csv\r\n\r\nuser\nhi\n")),
    "no name": (FORM, form(b"Content-Disposition: form-data\r\n\r\nuser\nhi\n")),
    "no head": (FORM, form(b"user\nhi\n")),
    "junk": (FORM, b"\0\xff" * 100),
    "two files": (FORM, form(FILE, FILE)),
    "a thousand fields": (FORM, form(*[NAME] * 1000)),
    "a head without end": (FORM, b"--" + BOUNDARY.encode() + b"\r\nX: " + b"y" * 100_000),
    "a bad header name": (FORM, form(b"\x01\x02: x\r\n\r\nuser\nhi\n")),
    "NUL in the name": (FORM, form(b'Content-Disposition: form-data; name="\0"\r\n\r\nx', FILE)),
    "JSON instead": (FORM, b'{"name": "x", "rows": [{"user": "u"}]}'),
    "compressed": (FORM | {"content-encoding": "gzip"}, gzip.compress(form(FILE))),
}


@pytest.mark.parametrize("path", ["/api/datasets", "/api/datasets/1/tasks"])
async def test_a_form_that_cannot_be_read_is_refused(filled: Org, path: str) -> None:
    for headers, body in BAD_FORMS.values():
        await well_refused(filled.client.post(path, content=body, headers=headers))
    assert answered(await filled.client.get("/api/datasets/1"))["task_count"] == 1
    assert len(answered(await filled.client.get("/api/datasets"))["items"]) == 1


async def test_a_good_form_in_the_same_words_is_taken(filled: Org) -> None:
    """The table above fails for the reasons it names."""
    made = await filled.client.post("/api/datasets", content=form(NAME, FILE), headers=FORM)
    assert answered(made, 201)["name"] == "mine"


# Paths and queries

HOSTILE_NAMES = [
    "../x",
    "..",
    ".",
    "%2e%2e",
    "%2e%2e%2fagents",
    "..%2f..%2f..%2fetc%2fpasswd",
    "%00",
    "get_order%00",
    "%0d%0aX-Evil:%201",
    "get_order%0d%0a%0d%0a",
    "%ff%fe",
    "%ed%a0%80",
    "%F0%9F%98%80",
    "ｇｅｔ＿ｏｒｄｅｒ",
    "get_order ",
    "GET_ORDER",
    "get%5Forder%20",
    "x" * 10_000,
    "%",
    "%zz",
    "' OR 1=1 --",
    "{tool_name}",
    "__proto__",
    "<script>alert(1)</script>",
    "*",
]


async def test_a_hostile_tool_name_is_only_an_unknown_tool(run: DrivenRun) -> None:
    for name in HOSTILE_NAMES:
        for base in (PROXY_BASE, f"{PROXY_BASE}/runs/{run.jti}"):
            url = httpx2.URL(f"http://testserver{base}/tools/{name}")
            reply = await run.client.post(url, content=b"{}", headers=run.auth)
            # `..` may leave the proxy altogether
            assert reply.status_code in (401, 404, 405), (name, reply.text[:300])
            assert "x-evil" not in reply.headers
            assert len(reply.content) < 32_000
    rows = await run.trace()
    assert len(rows) > len(HOSTILE_NAMES)
    assert {row["error_code"] for row in rows} == {"tool_not_declared"}


@pytest.mark.parametrize("name", ["\ud800", "a\ud800b"])
async def test_a_path_that_is_not_text_is_refused(house: House, run: DrivenRun, name: str) -> None:
    """No server hands such a path on, but nothing may stop when one does."""
    statuses: list[int] = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    async with asyncio.timeout(WAIT_S):
        await house.app(scope("POST", f"{PROXY_BASE}/tools/{name}", run.token), receive, send)
    assert statuses == [503]  # such a name cannot be stored, so the call did not happen
    answered(await run.call("get_order", {"order_id": "4521"}))
    assert len(await run.trace()) == 1


BAD_IDS = [
    "0",
    "-1",
    "x",
    "1.5",
    "1e3",
    "%00",
    "9" * 19,
    "9" * 30,
    "9" * 5000,
    "null",
    "true",
    "１",
    "1%20",
    "%2e%2e",
]


@pytest.mark.parametrize(
    "path", ["/api/agents/{}", "/api/datasets/{}/tasks", "/api/tasks/{}", "/api/runs/{}/trace"]
)
async def test_an_absurd_id_is_refused_or_not_there(org: Org, path: str) -> None:
    for id in BAD_IDS:
        await well_refused(org.client.get(httpx2.URL(f"http://testserver{path.format(id)}")))


ABSURD: dict[str, list[Any]] = {
    "limit": [0, -1, 501, 10**30, "x", "", "1.5", "NaN", "9" * 5000, "\0"],
    "cursor": ["", "\0", "\xff", "x" * 50_000, "=", "null"],
    "agent_id": [0, -1, 2**63, "x", "", "9" * 5000],
    "status": ["", "x", "\0", "running "],
}


@pytest.mark.parametrize("name", ABSURD)
async def test_an_absurd_query_is_refused(filled: Org, name: str) -> None:
    for value in ABSURD[name]:
        await well_refused(filled.client.get("/api/runs", params={name: value}))


async def test_odd_queries_that_mean_nothing_do_no_harm(filled: Org) -> None:
    for query in ("%", "%00=%00", "a=1&a=2", "&&&", "=", "x" * 50_000, "limit=1&limit=2", "mode=%ff"):
        url = httpx2.URL("http://testserver/api/runs").copy_with(query=query.encode())
        async with asyncio.timeout(WAIT_S):
            reply = await filled.client.get(url)
        assert reply.status_code in (200, 422), reply.text[:300]


@pytest.mark.parametrize(
    "path", ["/nothing", "/api", "/api/", "/api/agent", "/api/agents/1/nothing", "//", "/api//agents"]
)
async def test_what_is_not_there_is_told_in_the_same_shape(org: Org, path: str) -> None:
    reply = await org.client.get(httpx2.URL(f"http://testserver{path}"))
    refused(reply, 404, "not_found")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "/api/agents"),
        ("PATCH", "/api/agents/1"),
        ("POST", "/api/agents/1"),
        ("PUT", "/api/runs"),
        ("GET", "/api/runs/1/finish"),
        ("DELETE", "/api/runs/1"),
        ("POST", "/health"),
        ("BREW", "/api/agents"),
        ("TRACE", "/api/keys"),
    ],
)
async def test_a_wrong_method_is_told_in_the_same_shape(filled: Org, method: str, path: str) -> None:
    reply = await filled.client.request(method, path)
    refused(reply, 405, "method_not_allowed")
    assert reply.headers["allow"]


# What is well-formed, and absurd

HARD_AGENTS: dict[str, Row] = {
    "a schema that points at itself": {"$ref": "#"},
    "a schema that points elsewhere": {"$ref": "http://10.255.255.1/schema.json"},
    "a schema that reads a file": {"$ref": "file:///etc/passwd"},
    "an unknown dialect": {"$schema": "http://10.255.255.1/dialect", "type": "object"},
    "a pattern that explodes": {
        "type": "object",
        "properties": {"x": {"type": "string", "pattern": "^(a+)+(?=b)$"}},
    },
    "a pattern that is none": {"type": "object", "properties": {"x": {"pattern": "("}}},
    "a negative length": {"type": "object", "properties": {"x": {"maxLength": -1}}},
    "true": True,  # type: ignore[dict-item]
    "a list": [],  # type: ignore[dict-item]
}


@pytest.mark.parametrize("case", HARD_AGENTS)
async def test_a_hard_schema_is_refused_or_harmless(org: Org, case: str) -> None:
    tools = [{"name": "t", "input_schema": HARD_AGENTS[case]}]
    async with asyncio.timeout(WAIT_S):
        reply = await org.client.post("/api/agents", json=AGENT | {"tools_schema": tools})
        assert reply.status_code in (201, 422), reply.text[:300]
        if reply.status_code == 422:
            refused(reply, 422, "invalid_request")
            return
        run = await org.run(reply.json())
        for arguments in ({}, {"x": "a" * 40}, {"x": {"x": {}}}):
            called = await run.call("t", arguments)
            assert called.status_code != 500, called.text


async def test_huge_numbers_do_not_break_a_plan(org: Org) -> None:
    tools = [
        {
            "name": "square",
            "input_schema": {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]},
            "simulation": [{"return": {"square": "args.n * args.n"}}],
        }
    ]
    run = await org.run(await org.agent(tools_schema=tools))
    for number in ("9223372036854775807", "18446744073709551615", "1e308", "-1e308", "5e-324", "9" * 300):
        reply = await run.raw("tools/square", f'{{"n": {number}}}'.encode())
        assert reply.status_code in (200, 400, 422, 502), (number, reply.text[:300])
        reply.json()
    rows = await run.trace()
    assert [row["sequence"] for row in rows] == list(range(1, len(rows) + 1))


@pytest.mark.parametrize(
    "state",
    [
        {"order": {"": {}}},
        {"order": {"\0": {"\0": "\0"}}},
        {"": {"1": {}}},
        {"order": []},
        {"order": {"1": []}},
        {"flags": {"vip": 1}},
        {"order": {"x" * 10_000: {"y" * 10_000: "z"}}},
        {"order": {"1": {"a": json.loads("[" * 50 + "]" * 50)}}},
    ],
    ids=lambda state: str(state)[:30],
)
async def test_an_odd_world_is_refused_or_can_be_asked(org: Org, state: Row) -> None:
    agent = await org.agent()
    body = {"name": "x", "agent_id": agent["id"], "rows": [TASK | {"state": state}]}
    reply = await org.client.post("/api/datasets", json=body)
    assert reply.status_code in (201, 422), reply.text[:300]
    if reply.status_code == 201:
        run = await org.open_run(agent["id"], reply.json()["task_ids"][0])
        for name in state.get("order", {"1": {}}):
            called = await run.call("get_order", {"order_id": name})
            assert called.status_code < 500, called.text[:300]
        assert (await run.ledger())["state"] == {k: v for k, v in state.items() if k != "flags"}


def nested(levels: int) -> Any:
    return json.loads("[" * levels + "]" * levels)


@pytest.mark.parametrize("column", ["task_input", "failure_rules", "state"])
async def test_a_cell_as_deep_as_is_allowed_can_be_read_back(org: Org, column: str) -> None:
    """Inside the seed it is one level deeper than it came."""
    cells: Row = {
        "task_input": nested(64),
        "failure_rules": [
            {"trigger": "after_n_calls", "tool": "*", "n": 1, "error": {"code": 200, "response": nested(61)}}
        ],
        "state": {"order": {"4521": {"deep": nested(61)}}},
    }
    cell = json.dumps(cells[column]).replace('"', '""')
    text = f'user,{column}\nhello,"{cell}"\n'
    upload = await org.client.post("/api/datasets", files={"file": ("deep.csv", text.encode())})
    dataset = answered(upload, 201)
    (task_id,) = dataset["task_ids"]
    for path in (f"/api/datasets/{dataset['id']}/tasks", f"/api/tasks/{task_id}"):
        answered(await org.client.get(path), 200)
    for form in ("csv", "json"):
        exported = await org.client.get(f"/api/datasets/{dataset['id']}/export", params={"format": form})
        assert exported.status_code == 200
    run = await org.open_run((await org.agent())["id"], task_id)
    assert (await run.call("get_order", {"order_id": "4521"})).status_code in (200, 404)
    assert len(await run.trace()) == 1


async def test_arguments_as_deep_as_is_allowed_leave_a_run_that_can_be_read(house: House, org: Org) -> None:
    tools = [
        {
            "name": "keep",
            "input_schema": {"type": "object", "properties": {"value": {}}},
            "simulation": [
                {"find": {"as": "order", "in": "order", "id": "'7001'"}},
                {"append": {"order.kept": "args.value"}},
                {"return": {"a": {"b": {"order": "order"}}}},
            ],
        }
    ]
    run = await org.run(await org.agent(tools_schema=tools))
    for levels in (40, 55, 58, 59, 60, 61, 62, 63):
        body = json.dumps({"value": nested(levels)}).encode()
        assert (await run.raw("tools/keep", body)).status_code in (200, 413, 502)
        house.platform.live_runs.forget({run.id})
        reply = await run.raw("tools/keep", b'{"value": 1}')
        assert reply.status_code in (200, 413, 502), reply.text[:200]
        await run.trace()
        await run.ledger()
    refused(await run.raw("tools/keep", json.dumps({"value": nested(64)}).encode()), 400, "invalid_json")


async def test_what_was_refused_left_the_server_as_it_was(filled: Org) -> None:
    """After all of that the ordinary way still works."""
    for body in MALFORMED.values():
        await filled.client.post("/api/agents", content=body, headers=JSON)
    run = await filled.run()
    assert answered(await run.call("refund_order", {"order_id": "4521"}))["source"] == "odyssey"
