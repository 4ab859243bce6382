"""L: seed sessions whose tools, texts and worlds are made to be costly."""

import json
from typing import Any

from hostile.asked_models import model, named_model
from hostile.kind import MOST_GROWTH_BY_UPLOAD_MB, kind
from hostile.pages import look
from hostile.tenant import MEBIBYTE, NotTaken, Reply, Row, Tenant, tool

SESSIONS = "/api/seed-sessions"
LONG_TOLD = "long descriptions"
STATUS = {"type": "string", "enum": ["open", "shipped", "paid", "closed"]}


def shop(types: int, fields: int = 4) -> list[Row]:
    """Readers and writers of so many kinds of records that refer to each other."""
    tools = []
    for at in range(types):
        properties: Row = {f"thing{at}_id": {"type": "string"}}
        properties |= {f"field_{number}": {"type": "string"} for number in range(fields)}
        properties |= {f"thing{(at + 1) % types}_id": {"type": "string"}, "status": STATUS}
        tools.append(tool(f"get_thing{at}", {f"thing{at}_id": {"type": "string"}}))
        tools.append(tool(f"create_thing{at}", properties))
    return tools


def _session(tenant: Tenant, agent_id: int, what: str, **more: Any) -> Reply:
    return tenant.post(SESSIONS, {"agent_id": agent_id, "name": "w", "rng_seed": 1} | more, what=what)


def _shapes() -> dict[str, Row]:
    deep: Row = {"type": "string"}
    for _ in range(25):
        deep = {"type": "object", "properties": {"a": deep, "thing_id": {"type": "string"}}}
    wide = {f"p{at}": {"type": "string", "enum": [f"v{n}" for n in range(20)]} for at in range(2_000)}
    patterns = {f"p{at}": {"type": "string", "pattern": "^(a+)+b{1,1000}$"} for at in range(200)}
    entities = [{"type": f"t{at}", "id_field": "id"} for at in range(100)]
    return {
        "many tools": {"tools": shop(300)},
        "wide tools": {"tools": [tool("create_order", wide), tool("get_order", {"order_id": {}})]},
        "deep tools": {"tools": [tool("create_order", {"x": deep})]},
        "patterns": {"tools": [tool("create_order", patterns)]},
        "long words": {"tools": [tool("create_order", {"x" * 50_000: {"type": "string"}})]},
        "long descriptions": {
            "tools": [
                tool(f"create_order{at}", {"x": {"type": "string"}}, description="Makes an order. " * 500)
                for at in range(20)
            ]
        },
        "a long ledger": {"tools": shop(3), "ledger_schema": {"entities": entities}},
    }


@kind("L-tools", seconds=2.5)
def worlds_of_large_toolsets(tenant: Tenant) -> None:
    """Worlds for agents with many, wide, deep and odd tools; several at once. One of them has a long
    behaviour text, too: it is read within ten seconds, and an org has one thread for that."""

    def make(item: tuple[str, Row]) -> None:
        name, more = item
        try:
            agent_id = tenant.agent(what=f"an agent with {name}", **more)
        except NotTaken:
            return
        behavior = "Orders that are shipped are never cancelled. " * (400 if name == LONG_TOLD else 4)
        for size in ("compact", "rich") if tenant.is_long else ("rich",):
            _session(tenant, agent_id, f"a {size} world of {name}", size=size, behavior=behavior)

    tenant.together(make, tenant.shuffled(_shapes(), "many tools", LONG_TOLD), at_once=len(_shapes()))


@kind("L-paste", seconds=2.5, growth_mb=MOST_GROWTH_BY_UPLOAD_MB)
def pasted_worlds(tenant: Tenant) -> None:
    """Worlds of eight mebibytes put in place of the made one: right, broken, deep, and full of values. Each
    is read by the org's one helper process, a second or two: the bounded form has smaller ones."""
    session = _made(tenant)
    size = tenant.size(2, 8) * MEBIBYTE - 100
    nested = b'{"a":' * 50_000 + b"1" + b"}" * 50_000
    records = {f"o{at}": {"note": "x" * 900, "status": "open"} for at in range(size // 1_000)}
    shapes: dict[str, bytes] = {
        "one text": b'{"state":{"thing0":{"1":{"n":"' + b"x" * size + b'"}}}}',
        "records": json.dumps({"state": {"thing0": records}}).encode(),
        "values": b'{"state":{"thing0":{"1":{"n":[' + b"1," * (size // 2) + b"1]}}}}",
        "types": json.dumps({"state": {f"t{at}": {"1": {}} for at in range(200_000)}}).encode(),
        "keys": json.dumps({"state": {"thing0": {"1": {f"k{at}": at for at in range(240_000)}}}}).encode(),
        "deep": b'{"state":' + nested + b"}",
        "brackets": b'{"state":' + b"[" * size,
        "escapes": b'{"state":{"thing0":{"1":{"n":"' + b"\\ud83d\\ude00" * (size // 12) + b'"}}}}',
        "half a pair": b'{"state":{"thing0":{"1":{"n":"' + b"\\ud83d" * (size // 6) + b'"}}}}',
        "no text": b'{"state":"' + b"\xff" * size + b'"}',
        "twenty megabytes": b" " * (20 * MEBIBYTE),
    }

    def paste(item: tuple[str, bytes]) -> None:
        name, body = item
        reply = tenant.ask("PUT", f"{SESSIONS}/{session}/world", body, what=f"paste {name}")
        if reply.status == 200:
            tenant.get(f"{SESSIONS}/{session}/world", what=f"read {name}")

    tenant.together(paste, tenant.shuffled(shapes, "records", "keys"), at_once=6)
    _refined(tenant, session, "Add 20 thing0", what="refine the last one")
    tenant.get(f"{SESSIONS}/{session}/revisions", what="all revisions")
    look(tenant, [f"/worlds/{session}", "/worlds"])


PROMPTS = {
    "many numbers": "Add " + "9" * 3_900 + " thing0",
    "a large number": "Add 1000000000 thing0",
    "many sentences": "Add 5 thing0. " * 260,
    "many clauses": "Make all thing0 open and shipped or paid but not closed, " * 65,
    "spaces": " " * 3_900 + "x",
    "newlines": "\n" * 3_990 + "add",
    "quotes": "\"'“" * 1_300,
    "of of of": "thing0 of thing1 of " * 190,
    "no words": "\u202e\u200b\u0301" * 1_300,
    "remove": "Remove all thing0. " * 190,
    "too long": "x" * 5_000_000,
    "patterns": "set note to (a+)+$ " * 200,
}


@kind("L-refine", seconds=1.5)
def refinements(tenant: Tenant) -> None:
    """Sentences of every size and shape, from several people at once."""
    session = _made(tenant)
    tenant.together(
        lambda item: _refined(tenant, session, item[1], what=f"refine: {item[0]}"),
        tenant.shuffled(PROMPTS, "many sentences", "a large number"),
        at_once=4,
    )


@kind("L-sessions", seconds=2.0)
def many_sessions(tenant: Tenant) -> None:
    """Twenty sessions at once, each with the most rows there may be, watched, listed and given up."""
    agent_id = tenant.agent(shop(6))

    def one(at: int) -> None:
        buckets = [{"name": f"b{number}", "rows": 50, "theme": "t" * 1_000} for number in range(20)]
        reply = _session(tenant, agent_id, "a session of a thousand rows", buckets=buckets, rng_seed=at)
        if reply.status != 201:
            return
        own = f"{SESSIONS}/{reply.json()['id']}"
        tenant.post(f"{own}/continue", {}, what="make its rows")
        while tenant.has_time:
            for path in ("", "/rows?limit=500", "/rows?status=rejected&limit=500", "/coverage"):
                tenant.get(own + path, what=f"look at a session{path.partition('?')[0]}")
        tenant.post(f"{own}/abandon", what="give a session up")

    tenant.together(one, range(tenant.size(6, 20)), at_once=6)


@kind("L-steps", seconds=2.0)
def steps_of_sessions(tenant: Tenant) -> None:
    """Estimates of too much, worlds made anew and taken back, rows dropped and made again, datasets of it."""
    agent_id = tenant.agent(shop(5))
    buckets = [{"name": f"b{at}", "rows": 2, "theme": "t" * 900} for at in range(10)]
    session = _made(tenant)
    own = f"{SESSIONS}/{session}"
    bodies: dict[str, Row] = {
        "many buckets": {"buckets": [{"name": f"b{at}", "rows": 1} for at in range(40_000)]},
        "long instructions": {"instructions": "Many dogs. " * 1_800},
        "long behaviour": {"behavior": "Orders that are open may not be closed unless paid. " * 600},
        "unknown fields": {f"naem{at}": 1 for at in range(40_000)},
        "a rich one": {"size": "rich", "buckets": buckets},
    }

    def estimate(item: tuple[str, Row]) -> None:
        name, more = item
        asked = {"agent_id": agent_id, "name": "w"} | more
        tenant.post(f"{SESSIONS}/estimate", asked, what=f"estimate {name}")
        tenant.post(SESSIONS, asked, what=f"open {name}")

    tenant.together(estimate, tenant.shuffled(bodies, "long behaviour", "a rich one"), at_once=3)
    for _ in range(tenant.size(3, 15)):
        tenant.post(f"{own}/world/regenerate", {"rng_seed": tenant.chance.randrange(10**6)}, what="make anew")
        tenant.post(f"{own}/world/undo", {}, what="take back")
        tenant.get(f"{own}/world?revision=1", what="read a revision", If_Match='"' + "9" * 9_000 + '"')
    tenant.post(f"{own}/continue", {"buckets": buckets}, what="make rows")
    for at in range(1, 6):
        tenant.post(f"{own}/buckets/{at}/regenerate", {}, what="make a bucket again")
        tenant.post(f"{own}/rows/{at}/regenerate", {}, what="make a row again")
    tenant.post(f"{own}/finalize", {}, what="a dataset of it")
    look(tenant, [f"/worlds/{session}", "/worlds", "/worlds/new", "/datasets"] * 2)


@kind("L-author", seconds=2.5)
def worlds_by_hostile_models(tenant: Tenant) -> None:
    """Worlds, changes and rows that a model of the tenant's own is to write, and answers anything."""
    with model(tenant, "a world", "objects", "keys") as (url, names):

        def author(name: str) -> None:
            agent_id = tenant.agent(shop(6), config={"models": {"author": named_model(url, name)}})
            reply = _session(tenant, agent_id, f"a world by {name}", author="model", size="rich")
            if reply.status == 201:
                session = reply.json()["id"]
                _refined(tenant, session, "Somebody is late, as usual", what=f"refine by {name}")
                tenant.post(f"{SESSIONS}/{session}/continue", {}, what=f"rows by {name}")
                tenant.get(f"{SESSIONS}/{session}", what=f"a session by {name}")

        tenant.together(author, names[: tenant.size(5, 17)], at_once=3)


def _refined(tenant: Tenant, session: int, prompt: str, what: str) -> None:
    tenant.post(f"{SESSIONS}/{session}/world/refine", {"prompt": prompt}, what=what)


def _made(tenant: Tenant) -> int:
    reply = _session(tenant, tenant.agent(shop(4)), "a session")
    if reply.status != 201:
        raise NotTaken(f"a session: {reply.status} {reply.body[:200]!r}")
    return int(reply.json()["id"])
