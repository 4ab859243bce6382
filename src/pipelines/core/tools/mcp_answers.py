"""What other people's MCP servers say, as our records: the tools they list, and the results of calling them.

Values in and out; who asks them is `outbound/mcp/server.py`.
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
from pipelines.core.tools.live_tools import MOST_TOOL_BYTES, Discovery, FoundTool, LiveReply
from pipelines.core.tools.tools_schema import NAME_RULE
from pipelines.core.tools.trace_row import ERROR_NOTE

MAX_RESPONSE_BYTES = 1024 * 1024  # of a live response, as the contract says
LONGEST_NAME = 128
LONGEST_QUOTE = 300  # characters of a server's own words in a sentence of ours

_OURS = re.compile(NAME_RULE.rstrip("$"))
_NOT_OURS = re.compile(r"[^A-Za-z0-9_\-]+")


def _none(_schema: Json) -> str | None:
    return None


class UnusableResult(Exception):
    """The result cannot be a reply; the message says why, as the rest of a sentence about the server."""


def quoted(text: str, longest: int = LONGEST_QUOTE) -> str:
    """A server's words on one line, cut."""
    line = " ".join(text[: 4 * longest].split())
    return line if len(line) <= longest else f"{line[:longest]}…"


# Tools


def discovery_of(
    tools: Sequence[Json],
    notes: Sequence[str] = (),
    complaint_of_schema: Callable[[Json], str | None] = _none,
) -> Discovery:
    """The tools in the server's order, each under a name of ours; its notes tell what is not as listed."""
    told = list(notes)
    listed: dict[str, JsonObject] = {}
    for index, tool in enumerate(tools):
        name, complaint = _listed_name(tool, listed)
        if complaint is None and isinstance(tool, dict):
            complaint = _unusable(tool) or complaint_of_schema(tool["inputSchema"])
        if complaint is not None:
            told.append(f"tool {index + 1} ({_shown(name)}) is left out: {complaint}")
        elif isinstance(tool, dict):
            listed[name] = tool
    names = our_names(list(listed))
    told += [f"{_shown(name)} is called {ours} here" for name, ours in names.items() if ours != name]
    return Discovery(
        tools=tuple(_found(names[name], name, tool) for name, tool in listed.items()), notes=tuple(told)
    )


def our_names(names: Sequence[str]) -> dict[str, str]:
    """A name of ours for each; those that are allowed keep theirs, whatever the others would be made to."""
    ours = {name: name for name in names if is_ours(name)}
    taken = set(ours)
    for name in names:
        if name not in ours:
            ours[name] = _free_name(name, taken)
            taken.add(ours[name])
    return ours


def is_ours(name: str) -> bool:
    return len(name) <= LONGEST_NAME and _OURS.fullmatch(name) is not None


def _free_name(name: str, taken: set[str]) -> str:
    base = _NOT_OURS.sub("_", name[: 4 * LONGEST_NAME]) or "tool"
    if base[0].isdigit() or base[0] == "-":
        base = f"_{base}"
    found, number = base[:LONGEST_NAME], 2
    while found in taken:
        suffix = f"_{number}"
        found, number = base[: LONGEST_NAME - len(suffix)] + suffix, number + 1
    return found


def _listed_name(tool: Json, listed: Mapping[str, JsonObject]) -> tuple[str, str | None]:
    """A tool's name, and why it cannot be had."""
    if not isinstance(tool, dict) or not isinstance(name := tool.get("name"), str) or not name:
        return "", "it has no name"
    if name in listed:
        return name, "a tool before it has the same name, so nobody could tell which one is called"
    if not isinstance(tool.get("inputSchema"), dict):
        return name, "its inputSchema is not an object"
    execution = tool.get("execution")
    if isinstance(execution, dict) and execution.get("taskSupport") == "required":
        return name, "it can only be called as a task of MCP, which is not a call with an answer"
    return name, None


def _unusable(tool: JsonObject) -> str | None:
    try:
        text = dumps(tool)
    except TypeError:
        return "it has values that are not JSON"
    if len(text) > MOST_TOOL_BYTES:
        return f"it takes {len(text):,} bytes to describe; the most is {MOST_TOOL_BYTES:,}"
    if text_depth(text) > MAX_DEPTH:
        return f"its schema is nested deeper than {MAX_DEPTH} levels"
    return None


def _shown(name: str) -> str:
    return dumps(quoted(name, 80).encode("utf-8", "replace").decode()).decode()


def _found(ours: str, name: str, tool: JsonObject) -> FoundTool:
    words = next((text for key in ("description", "title") if isinstance(text := tool.get(key), str)), "")
    schema, output = tool["inputSchema"], tool.get("outputSchema")
    return FoundTool(
        name=ours,
        description=words,
        input_schema=schema if isinstance(schema, dict) else {},
        output_schema=output if isinstance(output, dict) else None,
        call={"name": name} | ({"read_only": True} if _only_reads(tool) else {}),
    )


def _only_reads(tool: JsonObject) -> bool:
    """As its server marks it: one that may be called once more without asking anybody."""
    annotations = tool.get("annotations")
    return isinstance(annotations, dict) and annotations.get("readOnlyHint") is True


# Results


def reply_of(result: JsonObject, notes: Sequence[str] = ()) -> LiveReply:
    """What a `tools/call` came to. An error that the tool reports is an answer, as it is to a model."""
    response = response_of(result)
    try:
        text = dumps(response)
    except TypeError:  # half a surrogate pair, or a number past 64 bits
        raise UnusableResult("answered with a value that is not JSON") from None
    if len(text) > MAX_RESPONSE_BYTES:
        raise UnusableResult(f"answered with {len(text):,} bytes; the most is {MAX_RESPONSE_BYTES:,}")
    if text_depth(text) > MAX_DEPTH:
        raise UnusableResult(f"answered with a value nested deeper than {MAX_DEPTH} levels")
    if loads_own(text) != response:  # NaN and infinities are written as null
        raise UnusableResult("answered with a number that is not JSON")
    told = (*([ERROR_NOTE] if result.get("isError") is True else []), *notes)
    return LiveReply(status=200, response=response, notes=told)


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
        return decoded(text)
    return block


def decoded(text: str) -> Json:
    """An object or array that is written as text; any other text stays what it is, a number too."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return loads(text)
    except InvalidJson:
        return text
