"""Converts what MCP servers send into our records: their lists of tools, and the results of calls.

No I/O; `outbound/mcp/server.py` talks to the servers.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from pipelines.core.text.json_text import (
    MAX_DEPTH,
    InvalidJson,
    Json,
    JsonObject,
    dumps,
    loads,
    loads_own,
    text_depth,
)
from pipelines.core.tools.live_tools import MOST_TOOL_BYTES, DiscoveredTool, Discovery, LiveReply
from pipelines.core.tools.tools_schema import NAME_RULE
from pipelines.core.tools.trace_row import ERROR_NOTE

MAX_RESPONSE_BYTES = 1024 * 1024  # of a live response, as the contract says
LONGEST_NAME = 128
LONGEST_QUOTE = 300  # characters of a server's own words in a sentence of ours

_ALLOWED_NAME = re.compile(NAME_RULE.rstrip("$"))
_FORBIDDEN_CHARACTERS = re.compile(r"[^A-Za-z0-9_\-]+")


def _none(_schema: Json) -> str | None:
    return None


class UnusableResult(Exception):
    """The result cannot be used as a reply. The message completes a sentence about the server."""


def quote(text: str, longest: int = LONGEST_QUOTE) -> str:
    """A server's words on one line, cut."""
    line = " ".join(text[: 4 * longest].split())
    return line if len(line) <= longest else f"{line[:longest]}…"


# Tools


def discovery_of(
    tools: Sequence[Json],
    notes: Sequence[str] = (),
    complaint_of_schema: Callable[[Json], str | None] = _none,
) -> Discovery:
    """The tools in the server's order, under allowed names. The notes say what was left out or renamed."""
    new_notes = list(notes)
    listed: dict[str, JsonObject] = {}
    for index, tool in enumerate(tools):
        name, complaint = _read_tool_name(tool, listed)
        if complaint is None and isinstance(tool, dict):
            complaint = _tool_complaint(tool) or complaint_of_schema(tool["inputSchema"])
        if complaint is not None:
            new_notes.append(f"tool {index + 1} ({_format_name(name)}) is left out: {complaint}")
        elif isinstance(tool, dict):
            listed[name] = tool
    names = local_names(list(listed))
    new_notes += [
        f"{_format_name(name)} is called {ours} here" for name, ours in names.items() if ours != name
    ]
    return Discovery(
        tools=tuple(_discovered_tool(names[name], name, tool) for name, tool in listed.items()),
        notes=tuple(new_notes),
    )


def local_names(names: Sequence[str]) -> dict[str, str]:
    """A name of ours for each; those that are allowed keep theirs, whatever the others would be made to."""
    ours = {name: name for name in names if is_allowed_name(name)}
    used_names = set(ours)
    for name in names:
        if name not in ours:
            ours[name] = _free_name(name, used_names)
            used_names.add(ours[name])
    return ours


def is_allowed_name(name: str) -> bool:
    return len(name) <= LONGEST_NAME and _ALLOWED_NAME.fullmatch(name) is not None


def _free_name(name: str, taken: set[str]) -> str:
    base = _FORBIDDEN_CHARACTERS.sub("_", name[: 4 * LONGEST_NAME]) or "tool"
    if base[0].isdigit() or base[0] == "-":
        base = f"_{base}"
    found, number = base[:LONGEST_NAME], 2
    while found in taken:
        suffix = f"_{number}"
        found, number = base[: LONGEST_NAME - len(suffix)] + suffix, number + 1
    return found


def _read_tool_name(tool: Json, listed: Mapping[str, JsonObject]) -> tuple[str, str | None]:
    """A tool's name, and why it cannot be had."""
    if not isinstance(tool, dict) or not isinstance(name := tool.get("name"), str) or not name:
        return "", "it has no name"
    if name in listed:
        return name, "an earlier tool has the same name"
    if not isinstance(tool.get("inputSchema"), dict):
        return name, "its inputSchema is not an object"
    execution = tool.get("execution")
    if isinstance(execution, dict) and execution.get("taskSupport") == "required":
        return name, "it can only be called as an MCP task, which is not supported"
    return name, None


def _tool_complaint(tool: JsonObject) -> str | None:
    try:
        text = dumps(tool)
    except TypeError:
        return "it has values that are not JSON"
    if len(text) > MOST_TOOL_BYTES:
        return f"its description has {len(text):,} bytes; at most {MOST_TOOL_BYTES:,} are allowed"
    if text_depth(text) > MAX_DEPTH:
        return f"its schema is nested deeper than {MAX_DEPTH} levels"
    return None


def _format_name(name: str) -> str:
    return dumps(quote(name, 80).encode("utf-8", "replace").decode()).decode()


def _discovered_tool(ours: str, name: str, tool: JsonObject) -> DiscoveredTool:
    words = next((text for key in ("description", "title") if isinstance(text := tool.get(key), str)), "")
    schema, output = tool["inputSchema"], tool.get("outputSchema")
    return DiscoveredTool(
        name=ours,
        description=words,
        input_schema=schema if isinstance(schema, dict) else {},
        output_schema=output if isinstance(output, dict) else None,
        call={"name": name} | ({"read_only": True} if _only_reads(tool) else {}),
    )


def _only_reads(tool: JsonObject) -> bool:
    """Whether the server marks the tool as read-only, so that it may be called again safely."""
    annotations = tool.get("annotations")
    return isinstance(annotations, dict) and annotations.get("readOnlyHint") is True


# Results


def reply_of(result: JsonObject, notes: Sequence[str] = ()) -> LiveReply:
    """The reply of a `tools/call`. An error that the tool reports is a reply too."""
    response = response_of(result)
    try:
        text = dumps(response)
    except TypeError:  # half a surrogate pair, or a number past 64 bits
        raise UnusableResult("answered with a value that is not JSON") from None
    if len(text) > MAX_RESPONSE_BYTES:
        raise UnusableResult(f"answered with {len(text):,} bytes; at most {MAX_RESPONSE_BYTES:,} are allowed")
    if text_depth(text) > MAX_DEPTH:
        raise UnusableResult(f"answered with a value nested deeper than {MAX_DEPTH} levels")
    if loads_own(text) != response:  # NaN and infinities are written as null
        raise UnusableResult("answered with a number that is not JSON")
    all_notes = (*([ERROR_NOTE] if result.get("isError") is True else []), *notes)
    return LiveReply(status=200, response=response, notes=all_notes)


def response_of(result: JsonObject) -> Json:
    """`structuredContent`, else the only block, else the blocks."""
    if result.get("structuredContent") is not None:
        return result["structuredContent"]
    content = result.get("content")
    blocks = [_block(block) for block in content] if isinstance(content, list) else []
    if len(blocks) == 1:
        return blocks[0]
    return blocks or None


def _block(block: Json) -> Json:
    if isinstance(block, dict) and block.get("type") == "text" and isinstance(text := block.get("text"), str):
        return decode_text(text)
    return block


def decode_text(text: str) -> Json:
    """An object or array that is written as text; any other text stays what it is, a number too."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return loads(text)
    except InvalidJson:
        return text
