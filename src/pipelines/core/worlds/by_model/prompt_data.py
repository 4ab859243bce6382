"""What a model is told of an agent and of a world: bounded, whatever their size, and the same each time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from pipelines.core.ledger.ledger import is_flag_section
from pipelines.core.models.model_question import ModelMessage, ModelQuestion, Purpose
from pipelines.core.simulation.by_model.prompt import as_data, tool_as_json
from pipelines.core.text.fence import fence_word, fenced, rule_of
from pipelines.core.text.json_text import Json, JsonObject, dumps
from pipelines.core.tools.tools_schema import Tool
from pipelines.core.worlds.outline import FieldOutline, Outline, TypeOutline
from pipelines.core.worlds.types.world_outline import types_in

MOST_TOOLS = 120_000  # characters of what describes the tools; those past it are named only
MOST_WORLD = 120_000  # characters of records
MOST_VALUES = 40  # of an enum
MOST_FIELDS = 80
LONGEST_DESCRIPTION = 300
#: Room for an answer of some 40,000 characters, and for what a model thinks before it writes.
MOST_OUTPUT_TOKENS = 16_384


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownRecords:
    """Records that stand in a question."""

    world: JsonObject  # `records` by type and id; how many of each type are `not_shown`
    names: frozenset[tuple[str, str]]


def fenced_question(
    version: str, instructions: str, asked: str, data: JsonObject, schema: JsonObject
) -> ModelQuestion:
    """All that others wrote stands inside the fence. Its word comes of the whole of it: whoever writes a part
    of the data would have to find a text that holds its own hash."""
    text = as_data(data)
    word = fence_word(version, text)
    return ModelQuestion(
        purpose=Purpose.AUTHOR,
        prompt_version=version,
        system=f"{instructions}\n{rule_of(word)}",
        messages=(ModelMessage(role="user", content=f"{asked}\n{fenced(word, text)}"),),
        schema=schema,
        max_output_tokens=MOST_OUTPUT_TOKENS,
    )


def tools_for_prompt(tools: Sequence[Tool]) -> list[Json]:
    listed: list[Json] = []
    room_left = MOST_TOOLS
    for tool in tools:
        body = tool_as_json(tool)
        room_left -= len(dumps(body))
        listed.append(body if room_left > 0 else {"name": tool.name})
    return listed


def told_types(outline: Outline) -> JsonObject:
    return {name: _told_type(one) for name, one in outline.types.items()}


def _told_type(own: TypeOutline) -> JsonObject:
    fields: JsonObject = {one.name: _field_json(one) for one in own.fields[:MOST_FIELDS]}
    return {"id_field": own.id_field, "fields": fields}


def _field_json(one: FieldOutline) -> JsonObject:
    body: JsonObject = {"kind": one.kind}
    if one.values:
        body["values" if one.is_closed else "values_spoken_of"] = [*one.values[:MOST_VALUES]]
    if one.refers_to is not None:
        body["holds_id_of"] = one.refers_to
    if one.description:
        body["description"] = one.description[:LONGEST_DESCRIPTION]
    for key in ("pattern", "format", "minimum", "maximum"):
        if (text := one.said(key)) is not None:
            body[key] = text
    if one.parts:
        body["parts"] = {part.name: _field_json(part) for part in one.parts}
    return body


def shown_records(state: JsonObject, *, first: int = 0, most: int = MOST_WORLD) -> ShownRecords:
    """Types in turn, so that none crowds out the others; of a larger world those from number `first` on."""
    kinds = types_in(state)
    chosen: dict[str, JsonObject] = {kind: {} for kind in kinds}
    names: list[tuple[str, str]] = []
    room_left = most
    for kind, id in _in_turns({kind: list(of_kind) for kind, of_kind in kinds.items()}, first):
        attributes = kinds[kind][id]
        room_left -= len(dumps(attributes)) + len(id) + 4
        if room_left < 0:
            break
        chosen[kind][id] = attributes
        names.append((kind, id))
    more: JsonObject = {
        kind: len(of_kind) - len(chosen[kind])
        for kind, of_kind in kinds.items()
        if len(of_kind) > len(chosen[kind])
    }
    flags = {kind: of_kind for kind, of_kind in state.items() if is_flag_section(kind, of_kind)}
    return ShownRecords(world={"records": {**chosen}, "not_shown": more, **flags}, names=frozenset(names))


def _in_turns(ids: dict[str, list[str]], first: int) -> Iterator[tuple[str, str]]:
    turned = {kind: [*own[first % len(own) :], *own[: first % len(own)]] for kind, own in ids.items() if own}
    for row in zip_longest(*turned.values()):
        yield from ((kind, id) for kind, id in zip(turned, row, strict=True) if id is not None)
