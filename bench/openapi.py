"""What OpenAPI endpoints cost: translating a document, and what a call takes more than the bare request.

    python bench/openapi.py [--document FILE] [--calls N] [--json]

GitHub's document is in the npm package @octokit/openapi (generated/api.github.com.json); without --document
only calls are measured. Direct and passed-on calls take turns over kept connections to one service in a
process of its own, so that a machine that is busy for a while is busy for both.
"""

import argparse
import asyncio
import json
import multiprocessing
import statistics
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from pipelines.core.openapi.translate import translate
from pipelines.core.text.json_text import dumps
from pipelines.outbound.address_guard import AddressPolicy
from pipelines.outbound.http_openapi import http_openapi_endpoint, translate_document
from pipelines.processes.pool import HelperProcesses

CALLS = 500
TRANSLATIONS = 3
ANSWER = b'{"order_id": "4521", "status": "shipped", "amount": 48.5}'
DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Orders", "version": "1"},
    "paths": {
        "/orders/{order_id}": {
            "get": {
                "operationId": "get_order",
                "parameters": [
                    {"name": "order_id", "in": "path", "required": True, "schema": {"type": "string"}},
                    {"name": "fields", "in": "query", "schema": {"type": "array", "items": {}}},
                ],
                "responses": {"200": {"description": "OK"}},
            }
        }
    },
}


async def measured_translation(text: bytes) -> dict[str, float]:
    """Seconds for a whole document as discovery does it: by a helper process that has just started."""
    taken, found = [], 0
    for _ in range(TRANSLATIONS):
        helpers = HelperProcesses()
        began = time.perf_counter()
        found = len((await translate_document(helpers, text, org_id=0)).tools)
        taken.append(time.perf_counter() - began)
        await helpers.close()
    began_cpu = time.process_time()
    translate(text)  # here for the first time: nothing of it is compiled yet
    cpu_s = time.process_time() - began_cpu
    return {
        "tools": found,
        "bytes": len(text),
        "cpu_s": round(cpu_s, 2),
        "whole_s": round(statistics.median(taken), 2),
    }


async def measured_calls(calls: int = CALLS) -> dict[str, float]:
    """Milliseconds, medians: a bare request, a call through the endpoint, and the difference."""
    ours, theirs = multiprocessing.Pipe()
    service = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
    service.start()
    port = ours.recv()
    tool = translate(dumps(DOCUMENT)).tools[0]
    endpoint = http_openapi_endpoint(
        config={"base_url": f"http://127.0.0.1:{port}"},
        auth_headers={"Authorization": "Bearer secret"},
        policy=AddressPolicy(allow_private=True),
        helpers=HelperProcesses(),
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    direct, passed = [], []
    try:
        for _ in range(calls):
            began = time.perf_counter()
            await _bare(reader, writer)
            between = time.perf_counter()
            await endpoint.call(tool, {"order_id": "4521", "fields": ["status", "amount"]})
            direct.append(between - began)
            passed.append(time.perf_counter() - between)
    finally:
        writer.close()
        await endpoint.close()
        service.terminate()
    direct_ms, passed_ms = (statistics.median(each) * 1000 for each in (direct, passed))
    return {
        "direct_ms": round(direct_ms, 3),
        "passed_ms": round(passed_ms, 3),
        "added_ms": round(passed_ms - direct_ms, 3),
    }


async def _bare(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"GET /orders/4521?fields=status&fields=amount HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    await reader.readuntil(b"\r\n\r\n")
    json.loads(await reader.readexactly(len(ANSWER)))


def _serve(parent: Connection) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(ANSWER)}\r\n\r\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                await reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, ConnectionError):
                break
            writer.write(head.encode() + ANSWER)
        writer.close()

    async def serve() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        parent.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(serve())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--document", type=Path)
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    said: dict[str, Any] = {"calls": asyncio.run(measured_calls(options.calls))}
    if options.document is not None:
        said["translation"] = asyncio.run(measured_translation(options.document.read_bytes()))
    if options.json:
        print(json.dumps(said, indent=2))
        return
    for name, numbers in said.items():
        print(f"{name}: " + ", ".join(f"{key} {value:,}" for key, value in numbers.items()))


if __name__ == "__main__":
    main()
