"""H4: behaviour texts and descriptions: prose that is read into plans when a run is opened or called."""

from typing import Any

from hostile.kind import kind
from hostile.tenant import Row, Tenant, tool

STATE: Row = {
    "order": {
        str(at): {"status": "shipped", "amount": at, "user_id": "u1", "items": [{"sku": "a"}]}
        for at in range(50)
    },
    "user": {"u1": {"name": "Ann", "email": "ann@example.com", "tier": "gold"}},
}
TOOLS = [
    tool("get_order", {"order_id": {"type": "string"}}),
    tool("refund_order", {"order_id": {"type": "string"}, "amount": {"type": "number"}}),
    tool("cancel_order", {"order_id": {"type": "string"}, "reason": {"type": "string"}}),
    tool("list_orders", {"user_id": {"type": "string"}, "status": {"type": "string"}}),
    tool("create_order", {"user_id": {"type": "string"}, "items": {"type": "array"}}),
]
SENTENCES = [
    "Orders can be refunded only if they were shipped more than 30 days ago. ",
    "If the amount is over $100, a manager must approve; otherwise refuse with 'too_large'. ",
    "Never cancel an order that is shipped, delivered, returned or lost, unless the user is gold. ",
    "When a refund is made, the order becomes refunded and the user's balance goes up by the amount. ",
    "refund_order fails with 409 unless the status is shipped and the amount is at most the amount. ",
    "Only the user who owns the order may cancel it, and only before it ships, and not on Sunday. ",
]
UNITS = [
    "if ", "and ", "or ", "not ", "unless ", ", ", "; ", ". ", "- ", "\n", "\n\n", "order ",
    "the order's ", "status ", "is ", "'a' ", '"', "(", ")", "$1 ", "30 days ", "only if ", "must not ",
    "when ", "then ", "because ", "refund_order ", "get_order or ", "order.status ", "a", "A.", "1. ", "é",
    "🙂", " ", "\t", "==", "<", "of the ", "all ", "every order ", "shipped, ", "more than ", "at least 5 ",
    "between 1 and 2 ", "`x` ", "never ",
]  # fmt: skip


def texts(tenant: Tenant, length: int) -> dict[str, str]:
    found = {f"{unit!r} again and again": unit * (length // len(unit)) for unit in UNITS}
    found |= {f"{each[:30]!r} again and again": each * (length // len(each)) for each in SENTENCES}
    for at in range(15):
        parts = tenant.chance.sample(UNITS, 4) + tenant.chance.sample(SENTENCES, 1) * (at % 2)
        found[f"a mixture {at} of {parts}"] = "".join(
            tenant.chance.choice(parts) for _ in range(length // 4)
        )[:length]
        names = [f"thing{tenant.chance.randrange(10**6)}" for _ in range(length // 40)]
        found[f"many names {at}"] = "".join(f"If {name} is set then refuse {name}. " for name in names)[
            :length
        ]
    found["one sentence"] = (
        "If the order is shipped " + "and the order is shipped " * (length // 25) + "refuse it."
    )
    found["one word"] = "x" * length
    return found


@kind("H4-long", seconds=1.0)
def long_behaviours(tenant: Tenant) -> None:
    """Four megabytes of behaviour, in several runs at once."""
    rows: list[Row] = []
    for _ in range(3):
        text = "".join(tenant.chance.choice(SENTENCES) for _ in range(tenant.size(20_000, 40_000)))
        rows.append({"user": "x", "behavior": text, "state": STATE})
    agent_id, uploaded = tenant.agent(TOOLS), tenant.tasks(*rows, what="upload long behaviours")
    tenant.together(lambda task: _live(tenant, agent_id, task, "a long behaviour"), uploaded["task_ids"])


@kind("H4-pathological", seconds=1.5)
def pathological_behaviours(tenant: Tenant) -> None:
    """32 KB each of every shape, read by opening a run and calling its tools, several at once."""
    agent_id = tenant.agent(TOOLS)
    _read_all(tenant, agent_id, texts(tenant, tenant.size(31_000, 32_000)), at_once=4)


@kind("H4-short", seconds=1.0)
def short_behaviours(tenant: Tenant) -> None:
    """A few kilobytes, as anybody's might have: many of them at once."""
    agent_id = tenant.agent(TOOLS)
    _read_all(tenant, agent_id, texts(tenant, 4_000), at_once=6)


def _read_all(tenant: Tenant, agent_id: int, shapes: dict[str, str], at_once: int) -> None:
    def read(item: tuple[str, str]) -> None:
        name, text = item
        reply = tenant.post(
            "/api/datasets", {"name": "b", "rows": [{"user": "x", "behavior": text, "state": STATE}]}
        )
        if reply.status == 201:
            _live(tenant, agent_id, reply.json()["task_ids"][0], name)

    tenant.together(read, tenant.shuffled(shapes), at_once=at_once)


def _live(tenant: Tenant, agent_id: int, task_id: int, name: str) -> None:
    tenant.get(f"/api/agents/{agent_id}/plans?task_id={task_id}", what=f"plans by {name}")
    run = tenant.run(agent_id, task_id, what=f"open a run by {name}")
    run.call("refund_order", {"order_id": "1", "amount": 1}, what=f"a call by {name}")
    run.finish("I refunded it.", what=f"finish by {name}")


@kind("H4-descriptions", seconds=0.8)
def long_descriptions(tenant: Tenant) -> None:
    """The same prose as descriptions of tools and of their fields; and names of many words."""
    shapes: dict[str, Any] = dict(tenant.shuffled(texts(tenant, tenant.size(30_000, 300_000))))
    task = tenant.tasks({"user": "x", "state": STATE})["task_ids"][0]

    def read(item: tuple[str, str]) -> None:
        name, text = item
        field = {"type": "string", "description": text}
        tools = [
            tool("refund_order", {"order_id": field}, description=text[:20_000]),
            tool("_".join(["get"] * 30), {}),
        ]
        tools += [tool(f"update_order_{at}", {"order_id": field}) for at in range(5)]
        reply = tenant.post(
            "/api/agents", {"name": "d", "endpoint_url": "http://127.0.0.1:9/", "tools_schema": tools}
        )
        if reply.status == 201:
            _live(tenant, reply.json()["id"], task, f"descriptions of {name}")

    tenant.together(read, shapes.items(), at_once=4)


@kind("H4-worlds", seconds=0.8)
def odd_worlds(tenant: Tenant) -> None:
    """Worlds that are costly to read names from: many types, many fields, ids of every spelling."""
    agent_id = tenant.agent(TOOLS)
    count = tenant.size(3_000, 30_000)
    shapes: dict[str, Row] = {
        "many types": {f"type_{at}": {"1": {"a": 1}} for at in range(count)},
        "many fields": {"order": {"1": {f"field_{at}": at for at in range(count)}}},
        "many different fields": {"order": {str(at): {f"field_{at}": at} for at in range(count)}},
        "ids that are nearly one": {"order": {"#" + "0" * (at % 50) + str(at): {} for at in range(count)}},
        "long ids": {"order": {str(at) + "x" * 300: {} for at in range(count)}},
        "deep fields": {
            "order": {str(at): {"a": {"b": {"c": {"d": [{"e": at}] * 5}}}} for at in range(count)}
        },
        "lists of ids": {
            "order": {str(at): {"user_ids": [str(n) for n in range(50)]} for at in range(count)}
        },
        "status words": {"order": {str(at): {"status": f"status {at}"} for at in range(count)}},
    }

    def read(item: tuple[str, Row]) -> None:
        reply = tenant.post(
            "/api/datasets",
            {"name": "w", "rows": [{"user": "x", "state": item[1]}]},
            what=f"a world of {item[0]}",
        )
        if reply.status == 201:
            _live(tenant, agent_id, reply.json()["task_ids"][0], item[0])

    tenant.together(read, tenant.shuffled(shapes), at_once=3)
