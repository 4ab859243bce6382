"""Makes tools from the functions that the sandbox reports for a code endpoint. The report comes from the code
itself, so it is checked like all foreign input."""

import re
from collections.abc import Iterator, Sequence

from pipelines.core.code.code_config import FunctionEntry
from pipelines.core.limits.json_schema import schema_problems
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.tools.live_tools import DiscoveredTool, Discovery
from pipelines.core.tools.tools_schema import LONGEST_DESCRIPTION, MAX_TOOLS

LONGEST_NOTE = 500
MOST_NOTES = 100
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


def tools_of_functions(said: Json, entries: Sequence[FunctionEntry]) -> Discovery:
    """Each function that can be a tool; the others are in the notes, each with its reason."""
    tools: dict[str, DiscoveredTool] = {}
    notes: list[str] = []
    for one in (said if isinstance(said, list) else [])[:MAX_TOOLS]:
        if not isinstance(one, dict) or not _is_requested(one, entries):
            notes.append("the sandbox's report on a function cannot be read")
            continue
        tool = _tool(one)
        if isinstance(tool, str):
            notes.append(f"{one['name']} is not a tool: {tool}")
            continue
        if tool.name in tools:
            notes.append(f"{tool.name} is defined twice; the first is used")
            continue
        tools[tool.name] = tool
        notes += [f"{tool.name}: {note}" for note in _texts(one.get("notes"))]
    missing = {entry.function for entry in entries if entry.function} - set(tools)
    notes += [f"{name} was not found" for name in sorted(missing) if not any(name in note for note in notes)]
    return Discovery(
        tools=tuple(tools.values()), notes=tuple(note[:LONGEST_NOTE] for note in notes[:MOST_NOTES])
    )


def _is_requested(one: JsonObject, entries: Sequence[FunctionEntry]) -> bool:
    name, file = one.get("name"), one.get("file")
    if not isinstance(name, str) or one.get("function") != name:
        return False
    return any(entry.file == file and entry.function in (None, name) for entry in entries)


def _tool(one: JsonObject) -> DiscoveredTool | str:
    """The tool, or why it is none."""
    name, problem = str(one["name"]), one.get("problem")
    if isinstance(problem, str):
        return problem
    if _NAME.fullmatch(name) is None:
        return "a tool's name must have only ASCII letters, digits and `_`, at most 128"
    input_schema, output_schema = one.get("input_schema"), one.get("output_schema")
    if not isinstance(input_schema, dict):
        return "it has no input schema"
    wrong = schema_problems(input_schema, "", "its input schema")
    if output_schema is not None:
        wrong += schema_problems(output_schema, "", "its output schema")
    if wrong:
        return wrong[0].said()
    return DiscoveredTool(
        name=name,
        description=str(one.get("description") or "")[:LONGEST_DESCRIPTION],
        input_schema=input_schema,
        output_schema=output_schema if isinstance(output_schema, dict) else None,
        call={"file": one["file"], "function": name},
    )


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, str))
