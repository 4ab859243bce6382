"""T: MCP servers of the tenant's own that answer calls with a mebibyte, as JSON and as events."""

import json
from typing import Any

from hostile.documents import ENDPOINTS, named
from hostile.kind import kind
from hostile.services import mcp_server
from hostile.tenant import MEBIBYTE, Row, Tenant

SIZE = MEBIBYTE - 2_000


def _results() -> dict[str, bytes]:
    def blocks(block: str) -> bytes:
        return ('{"content":[' + ",".join([block] * (SIZE // (len(block) + 1))) + "]}").encode()

    def structured(text: bytes) -> bytes:
        return b'{"content":[],"structuredContent":{"x":' + text + b"}}"

    return {
        "empty blocks": blocks("{}"),
        "wrong blocks": blocks('{"type":"image","data":1}'),
        "text blocks": blocks('{"type":"text","text":""}'),
        "links": blocks('{"type":"resource_link","uri":"a:b","name":""}'),
        "an audience": ('{"content":[{"type":"text","text":"","annotations":{"audience":['
                        + ",".join(['"x"'] * (SIZE // 4)) + "]}}]}").encode(),
        "values": structured(b"[" + b"1," * (SIZE // 2) + b"1]"),
        "objects": structured(b"[" + b"{}," * (SIZE // 3) + b"1]"),
        "keys": structured(json.dumps({f"{at:x}": at for at in range(60_000)}).encode()),
        "too deep": structured(b"[" * SIZE),
        "a text of objects": json.dumps(
            {"content": [{"type": "text", "text": "[" + "{}," * (SIZE // 3) + "1]"}]}
        ).encode(),
        "no object": b"[" + b"{}," * (SIZE // 3) + b"1]",
        "too large": b'{"content":[{"type":"text","text":"' + b"x" * (3 * MEBIBYTE) + b'"}]}',
    }  # fmt: skip


def _tools(names: list[str]) -> list[Any]:
    return [{"name": f"m{at}", "inputSchema": {"type": "object"}} for at in range(len(names))]


@kind("T-mcp-answers", seconds=1.5)
def hostile_mcp_answers(tenant: Tenant) -> None:
    """Its tools called by hand, each answered with a mebibyte that is hard to read or to check."""
    results = _results()
    raw = {f"m{at}": result for at, result in enumerate(results.values())}
    for as_events in (False, True):
        with mcp_server(_tools([*results]), raw, as_events=as_events) as url:
            body = {"name": named("mcp"), "type": "mcp_server", "config": {"url": url}}
            made: Row = tenant.made(ENDPOINTS, body, "an MCP server")
            numbered = {name: at for at, name in enumerate(results)}
            tenant.together(
                lambda item, id=made["id"]: tenant.post(  # type: ignore[misc]
                    f"{ENDPOINTS}/{id}/call", {"tool_name": f"m{item[1]}", "arguments": {}}, what=item[0]
                ),
                tenant.shuffled(numbered, "empty blocks", "an audience", "objects"),
                at_once=4,
            )
            tenant.ask("DELETE", f"{ENDPOINTS}/{made['id']}", what="delete it")
