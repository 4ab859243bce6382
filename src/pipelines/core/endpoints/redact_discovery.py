"""Masks an endpoint's secrets in its discovered tools, which are stored and shown to the whole org."""

from pipelines.core.code.redaction import Redaction
from pipelines.core.limits.json_schema import schema_problems
from pipelines.core.text.json_text import Json, JsonObject, dumps, loads_own
from pipelines.core.tools.live_tools import DiscoveredTool, Discovery


def redact_discovery(found: Discovery, redaction: Redaction) -> Discovery:
    """An endpoint may say what it was given: as the default of a parameter, or in a description. A tool that
    cannot be used without the secret in it is left out, and a note says so. May take long: schemas are
    large."""
    if not redaction:
        return found
    tools: list[DiscoveredTool] = []
    notes = [*map(redaction.text, found.notes)]
    for tool in found.tools:
        hidden = _redact_tool(tool, redaction)
        if isinstance(hidden, DiscoveredTool):
            tools.append(hidden)
        else:
            notes.append(f"tool `{redaction.text(tool.name)}` is left out: {hidden}")
    return Discovery(tools=tuple(tools), notes=tuple(notes))


def _redact_tool(tool: DiscoveredTool, redaction: Redaction) -> DiscoveredTool | str:
    """Or why there can be none."""
    called: Json = [tool.name, tool.call]
    if _redact(called, redaction) != called:
        return "its name or its request contains a secret of the endpoint"
    input_schema = _redact_schema(tool.input_schema, redaction)
    output_schema = _redact_schema(tool.output_schema or {}, redaction)
    if input_schema is None or output_schema is None:
        return "a schema contains a secret of the endpoint, and is not valid without it"
    return DiscoveredTool(
        name=tool.name,
        description=redaction.text(tool.description),
        input_schema=input_schema,
        output_schema=output_schema if tool.output_schema is not None else None,
        call=tool.call,
    )


def _redact_schema(schema: JsonObject, redaction: Redaction) -> JsonObject | None:
    hidden = _redact(schema, redaction)
    if hidden == schema:
        return schema
    return hidden if isinstance(hidden, dict) and not schema_problems(hidden, "", "the schema") else None


def _redact(value: Json, redaction: Redaction) -> Json:
    raw = dumps(value)
    hidden = redaction.json_bytes(raw)
    return value if hidden == raw else loads_own(hidden)
