"""Prints tool endpoints: lists, differences since they were accepted, and replies."""

import json
from typing import Any, NoReturn

import typer

from pipelines.cli.client import Server
from pipelines.cli.files import stop
from pipelines.cli.options import Answer
from pipelines.cli.output.blocks import new_console, one_line, print_block, print_title, value_text
from pipelines.cli.output.listing import print_rows
from pipelines.cli.output.phrases import plural
from pipelines.core.text.authored import did_you_mean
from pipelines.core.text.json_text import InvalidJson, loads

ENDPOINTS = "/api/tool-endpoints"
DISCOVERY_S = 200.0  # the server gives a discovery 180 s: packages may have to be installed for one
LONGEST = 160  # characters of a description
LONGEST_VALUE = 120  # of a value in a difference
Row = dict[str, Any]


def find_endpoint(server: Server, name: str) -> Row | None:
    found = server.get(ENDPOINTS, name=name)["items"]
    return found[0] if found else None


def require_endpoint(server: Server, name: str) -> Row:
    """The endpoint of this name. Ends the command with a suggestion if there is none."""
    found = find_endpoint(server, name)
    return found if found is not None else _stop_unknown(server, name)


def _stop_unknown(server: Server, name: str) -> NoReturn:
    names = [each["name"] for each in server.every(ENDPOINTS)]
    hint = did_you_mean(name, names) or ("see: pipelines endpoints list" if names else "there are none yet")
    stop(f"There is no endpoint named {name!r}; {hint}")


def show_endpoints(server: Server) -> Answer:
    return Answer(server.every(ENDPOINTS), _print_endpoints)


def _print_endpoints(every: list[Row]) -> None:
    rows: list[tuple[str, ...]] = [
        (each["name"], each["type"], _tools_cell(each), _address(each)) for each in every
    ]
    print_rows(("endpoint", "type", "tools", "where"), rows, empty="There are no tool endpoints yet.")


def _tools_cell(endpoint: Row) -> str:
    if endpoint["discovered_at"] is None:
        return "not found"
    drifted = f", {endpoint['drifted']} drifted" if endpoint["drifted"] else ""
    return f"{endpoint['tools']}{drifted}"


def _address(endpoint: Row) -> str:
    config = endpoint["config"]
    where = config.get("base_url") or config.get("url") or config.get("command")
    return str(where) if where else "in the sandbox"


def print_endpoint(endpoint: Row, done: str) -> None:
    console = new_console()
    print_title(console, f"Endpoint {endpoint['name']} is {done}: {endpoint['type']}, {_address(endpoint)}")
    if endpoint["discovery_error"] is not None:
        print_block(console, "  no tools:", endpoint["discovery_error"], style="red")
        again = f"when it answers: pipelines endpoints discover {endpoint['name']}"
        print_block(console, "  →", again, rest="dim")
        return
    _print_counts(console, endpoint)
    if not endpoint["drifted"]:
        print_block(console, "  →", f"pipelines endpoints tools {endpoint['name']}", rest="dim")


def _print_counts(console: Any, endpoint: Row) -> None:
    drifted = f", {endpoint['drifted']} of them drifted" if endpoint["drifted"] else ""
    print_block(console, "", f"{plural(endpoint['tools'], 'tool')}{drifted}", indent=2)
    for note in endpoint["discovery_notes"]:
        print_block(console, "  note:", note, rest="dim")
    if endpoint["drifted"]:
        words = f"runs of agents bound to these are refused until you accept: {_accept_command(endpoint)}"
        print_block(console, "  →", words, rest="dim")


def _accept_command(endpoint: Row) -> str:
    return f"pipelines endpoints discover {endpoint['name']} --accept"


def discover_tools(server: Server, name: str, *, accept: bool) -> Answer:
    endpoint = require_endpoint(server, name)
    found = server.post(f"{ENDPOINTS}/{endpoint['id']}/discover", {"accept": accept}, timeout=DISCOVERY_S)
    return Answer(found, lambda found: _print_discovery(name, found))


def _print_discovery(name: str, found: Row) -> None:
    console = new_console()
    changes = f"{found['added']} new, {found['removed']} removed, {found['drifted']} drifted"
    print_title(console, f"Endpoint {name}: {plural(found['tools'], 'tool')} ({changes})")
    for tool in found["drift"]:
        print_block(console, f"  {tool['name']}", f"is {tool['drift']}", style="yellow")
        for difference in tool["differences"]:
            print_block(console, f"    {difference['path']}:", _difference(difference))
    if found["drifted"] > len(found["drift"]):
        print_block(console, "  …", f"and {found['drifted'] - len(found['drift'])} more")
    for note in found["discovery_notes"]:
        print_block(console, "  note:", note, rest="dim")
    if found["drifted"]:
        words = f"runs of agents bound to these are refused until you accept: {_accept_command(found)}"
        print_block(console, "  →", words, rest="dim")


def _difference(difference: Row) -> str:
    if "before" not in difference:
        return f"is new: {value_text(difference['after'], LONGEST_VALUE)}"
    before = value_text(difference["before"], LONGEST_VALUE)
    if "after" not in difference:
        return f"is gone, was {before}"
    return f"{before} → {value_text(difference['after'], LONGEST_VALUE)}"


def show_tools(server: Server, name: str, tool_name: str | None) -> Answer:
    endpoint = require_endpoint(server, name)
    every = server.every(f"{ENDPOINTS}/{endpoint['id']}/tools")
    if tool_name is not None:
        return Answer(_find_tool(every, name, tool_name), _print_tool)
    rows: list[tuple[str, ...]] = [(tool["name"], _description(tool)) for tool in every]
    empty = endpoint["discovery_error"] or f"Endpoint {name} has no tools."
    return Answer(every, lambda _: print_rows(("tool", "description"), rows, empty=empty))


def _description(tool: Row) -> str:
    drift = f"[{tool['drift']}] " if tool["drift"] else ""
    return drift + one_line(tool["description"], LONGEST)


def _find_tool(every: list[Row], name: str, tool_name: str) -> Row:
    tool = next((each for each in every if each["name"] == tool_name), None)
    if tool is None:
        hint = did_you_mean(tool_name, [each["name"] for each in every])
        stop(f"Endpoint {name} has no tool {tool_name!r}; {hint or f'see: pipelines endpoints tools {name}'}")
    return tool


def _print_tool(tool: Row) -> None:
    console = new_console()
    print_title(console, tool["name"])
    print_block(console, "", one_line(tool["description"], 10**9) or "(no description)", indent=2)
    for key in ("input_schema", "output_schema", "call"):
        if tool[key]:
            print_block(console, f"  {key}:", "")
            print_block(console, "", json.dumps(tool[key], indent=2, ensure_ascii=False), indent=4)
    for difference in tool["differences"]:
        print_block(console, f"  {difference['path']}:", _difference(difference), style="yellow")


def call_tool(server: Server, name: str, tool: str, text: str) -> Answer:
    try:
        arguments = loads(text)
    except InvalidJson as error:
        stop(f"The arguments cannot be read: {error}. Write a JSON object in single quotes: '{{\"id\": 7}}'")
    if not isinstance(arguments, dict):
        stop("The arguments must be a JSON object, such as '{\"id\": 7}'")
    endpoint = require_endpoint(server, name)
    body = {"tool_name": tool, "arguments": arguments}
    return Answer(server.post(f"{ENDPOINTS}/{endpoint['id']}/call", body), _print_reply)


def _print_reply(reply: Row) -> None:
    console = new_console()
    style = "green" if reply["status"] < 400 else "yellow"
    print_block(console, str(reply["status"]), f"in {reply['latency_ms']:,.0f} ms", style=style)
    response = reply["response"]
    reply_text = response if isinstance(response, str) else json.dumps(response, indent=2, ensure_ascii=False)
    print_block(console, "", reply_text, indent=0)
    for note in reply["notes"]:
        print_block(console, "note:", note, rest="dim")


def remove_endpoint(server: Server, name: str) -> None:
    endpoint = require_endpoint(server, name)
    server.delete(f"{ENDPOINTS}/{endpoint['id']}")
    typer.echo(f"Endpoint {name} is gone.")
