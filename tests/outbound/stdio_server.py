"""An MCP server of a few lines over its input and output; the tool's name says how it misbehaves."""

import json
import os
import socket
import sys
import time


def say(message: object) -> None:
    print(json.dumps(message), flush=True)


def answer(request: dict, result: object) -> None:
    say({"jsonrpc": "2.0", "id": request["id"], "result": result})


def text(words: str) -> dict:
    return {"content": [{"type": "text", "text": words}]}


def network() -> str:
    try:
        socket.create_connection(("203.0.113.1", 80), 2)
    except OSError as error:
        return type(error).__name__
    return "connected"


def call(request: dict) -> None:
    name = request["params"]["name"]
    if name == "echo":
        answer(request, text(request["params"]["arguments"].get("text", "")))
    elif name == "refuses":
        say({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32000, "message": "no such order"}})
    elif name == "dies":
        print("the disk is full", os.environ.get("TOKEN", ""), file=sys.stderr)
        os._exit(7)
    elif name == "chatters":
        print("loading...\n{not json}\n")
        answer(request, text("said"))
    elif name == "floods":
        while True:
            say({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}})
    elif name == "never_ends":
        print("x" * 3_000_000, flush=True)
        time.sleep(60)
    elif name == "large":
        answer(request, text("x" * 1_100_000))
    elif name == "many_wrong":
        answer(request, {"content": [{}] * 300_000})
    elif name == "many_rows":
        answer(request, text(json.dumps([{"n": n} for n in range(20_000)])))
    elif name == "surroundings":
        found = {
            "network": network(),
            "pid": os.getpid(),
            "variables": sorted(os.environ),
            "uid": os.getuid(),
        }
        answer(request, text(json.dumps(found)))
    elif name == "waits":
        waiting.append(request)
    elif name == "goes_on":
        for each in [*waiting, request]:
            answer(each, text("went on"))
    elif name == "count":
        answer(request, text(str(counted)))


counted = 0
waiting: list[dict] = []
print("ready", file=sys.stderr)
for line in sys.stdin:
    message = json.loads(line)
    method = message["method"]
    if method == "initialize":
        found = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
        answer(message, found | {"serverInfo": {"name": "stdio", "version": "1"}})
    elif method == "tools/list":
        answer(message, {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        counted += 1
        call(message)
    elif "id" in message:
        say({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no such method"}})
