"""T: tools of endpoints called with a megabyte, answered with one, and adapted by hostile paths."""

import json
from functools import partial
from typing import Any

from hostile.documents import ANY, ENDPOINTS, INFO, NOWHERE, endpoint, named, operation
from hostile.kind import kind
from hostile.services import service
from hostile.tenant import MEBIBYTE, HandRun, Row, Tenant


def _answers() -> dict[str, bytes]:
    size = MEBIBYTE - 1_000
    return {
        "values": b"[" + b"1," * (size // 2 - 2) + b"1]",
        "objects": b"[" + b"{}," * (size // 3 - 2) + b"{}]",
        "members": b"[" + b'{"a":{"b":1}},' * (size // 14 - 2) + b"{}]",
        "keys": json.dumps({f"{at:x}": at for at in range(60_000)}).encode(),
        "deep": b'{"a":' * 60 + b"[" + b"1," * 200_000 + b"1]" + b"}" * 60,
        "too deep": b"[" * size,
        "text": b'"' + b"a" * (size - 2) + b'"',
        "escapes": b'"' + b"\\u00e9" * (size // 6 - 2) + b'"',
        "no JSON": b"\xff" * size,
        "too large": b"x" * (2 * MEBIBYTE),
        "numbers": b"[" + b"1e-9," * (size // 5 - 2) + b"1]",
        "a long number": b"9" * size,
        "lists": b"[" + b"[[[]]]," * (size // 7 - 2) + b"1]",
    }


def _callable(tenant: Tenant, url: str) -> Row:
    """An endpoint with a tool per answer, and some that take much."""
    taken = {
        "in_body": operation("in_body", {"type": "object", "properties": {"x": {}}}),
        "in_form": {
            **operation("in_form"),
            "requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": ANY}}},
        },
        "in_query": operation(
            "in_query", parameters=[{"name": "x", "in": "query", "schema": {"type": "array"}}]
        ),
        "in_path": operation(
            "in_path",
            parameters=[{"name": "x", "in": "path", "required": True, "schema": {"type": "string"}}],
        ),
        "in_header": operation("in_header", parameters=[{"name": "x", "in": "header", "schema": {}}]),
        "deep_object": operation(
            "deep_object",
            parameters=[{"name": "x", "in": "query", "style": "deepObject", "explode": True, "schema": ANY}],
        ),
    }
    paths: Row = {f"/a{at}": {"get": operation(f"a{at}")} for at in range(len(_answers()))}
    paths |= {
        f"/{name}" + ("/{x}" if name == "in_path" else ""): {"post": each} for name, each in taken.items()
    }
    body = endpoint(named("calls"), base_url=url, spec=json.dumps(INFO | {"paths": paths}))
    made: Row = tenant.made(ENDPOINTS, body, "an endpoint to be called")
    return made


TAKEN: dict[str, tuple[str, Any]] = {
    "a body": ("in_body", {"x": [1] * 340_000}),
    "a body of objects": ("in_body", {"x": [{}] * 300_000}),
    "a form": ("in_form", {f"k{at}": "é" * 10 for at in range(30_000)}),
    "a query of many": ("in_query", {"x": ["a"] * 200_000}),
    "a query that is long": ("in_query", {"x": ["%" * 1_000_000]}),
    "a path": ("in_path", {"x": "é/" * 300_000}),
    "a path of dots": ("in_path", {"x": "%252e" * 200_000}),
    "a header": ("in_header", {"x": "a" * 1_000_000}),
    "a deep object": ("deep_object", {"x": {f"k{at}": at for at in range(60_000)}}),
}


@kind("T-calls", seconds=1.5)
def hostile_calls(tenant: Tenant) -> None:
    """Tools called by hand with a megabyte, and answered with one."""
    answers = _answers()
    with service({f"a{at}": raw for at, raw in enumerate(answers.values())}) as url:
        made = _callable(tenant, url)
        calls: dict[str, tuple[str, Any]] = {
            f"answered with {name}": (f"a{at}", {}) for at, name in enumerate(answers)
        }
        body_of = {
            name: {"tool_name": tool, "arguments": sent} for name, (tool, sent) in (calls | TAKEN).items()
        }
        tenant.together(
            lambda item: tenant.post(f"{ENDPOINTS}/{made['id']}/call", item[1], what=f"call: {item[0]}"),
            tenant.shuffled(body_of, "a form", "a path of dots", "a deep object", "answered with objects"),
            at_once=4,
        )
        tenant.ask("DELETE", f"{ENDPOINTS}/{made['id']}", what="delete it")


PATHS: dict[str, str] = {
    "descents": "$..*",
    "descents in turn": "$" + "..*" * 20,
    "a name below": "$..a..b..a..b",
    "filters": "$[?@.a.b == 1 && @.a.b != 2]",
    "filters in filters": "$[?@[?@[?@ == 1]]]",
    "slices": "$" + "[::1]" * 60,
    "unions": "$[" + ",".join(["*"] * 200) + "]",
    "many unions": "$" + "[*,*]" * 60,
    "the root in a filter": "$[?count($[*]) > 1]",
    "lengths": "$[?length(@) > length($)]",
    "comparison of all": "$[?@ == $[0] || $ == $]",
    "many alternatives": "$[?" + " || ".join(["@.a"] * 70) + "]",
    "an index": "$" + "[0]" * 100,
    "backwards": "$[::-1]",
}


def _adapted(endpoint: str, at: int, paths: list[str]) -> Row:
    fields = {f"f{number}": path for number, path in enumerate(paths)}
    return {
        "name": f"a{at}",
        "description": "x",
        "input_schema": ANY,
        "default_execution_mode": "passthrough",
        "passthrough_binding": {"endpoint_name": endpoint, "tool_name": f"a{at}"},
        "ledger_write_policy": "adapter",
        "ledger_adapter": {"op": "add", "entity_type": "o", "id_from": "$[0]", "field_map": fields},
    }


@kind("T-adapters", seconds=1.5)
def hostile_adapters(tenant: Tenant) -> None:
    """Paths that look at all of a megabyte again and again, called through a run."""
    answers = _answers()
    with service({f"a{at}": raw for at, raw in enumerate(answers.values())}) as url:
        made = _callable(tenant, url)
        paths = [path for _, path in tenant.shuffled(PATHS)] * 14
        tools = [_adapted(made["name"], at, paths) for at in range(len(answers))]
        schema = {"entities": [{"type": "o", "id_field": "id"}]}
        agent_id = tenant.agent(tools, "an agent with adapters", ledger_schema=schema)
        run = tenant.run(agent_id, tenant.tasks({"user": "Do it."})["task_ids"][0])
        calls = [*range(len(answers))] * tenant.size(1, 3)
        tenant.together(partial(_call, run), calls, at_once=6)


def _call(run: HandRun, at: int) -> None:
    run.call(f"a{at}", {}, what=f"adapt {[*_answers()][at]}")


@kind("T-paths", seconds=1.0)
def hostile_paths(tenant: Tenant) -> None:
    """Agents whose adapters have as many paths as a body holds, and paths that are none."""
    binding = {"endpoint_name": "none", "tool_name": "t"}
    many = tenant.size(20_000, 60_000)
    maps: dict[str, Row] = {
        "many paths": {f"f{at}": f"$.a[{at}][?@.b == {at}]" for at in range(many)},
        "long paths": {f"f{at}": "$" + f"[?@.a=={at}]" * 30 for at in range(200)},
        "too long paths": {f"f{at}": "$" + ".a" * 4_000 for at in range(200)},
        "nested paths": {f"f{at}": "$" + "[?@" * 15 + f".a{at}" + "]" * 15 for at in range(200)},
        "no paths": {f"f{at}": "(" * 15 + f"{at}" for at in range(200)},
        "quotes": {f"f{at}": "$['" + "\\" * 400 + f"{at}" for at in range(200)},
    }
    for name, fields in tenant.in_turn(maps, "long paths", "nested paths"):
        tool = _adapted("none", 0, []) | {"passthrough_binding": binding}
        tool["ledger_adapter"] = {"op": "add", "entity_type": "o", "id_from": "$.id", "field_map": fields}
        tools = [tool | {"name": f"t{at}"} for at in range(tenant.size(5, 30) if len(fields) <= 200 else 1)]
        body = {"name": "paths", "endpoint_url": NOWHERE, "tools_schema": tools}
        schema = {"entities": [{"type": "o", "id_field": "id"}]}
        tenant.post("/api/agents", body | {"ledger_schema": schema}, what=f"adapters: {name}")
