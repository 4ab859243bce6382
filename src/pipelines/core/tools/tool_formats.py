"""Tool definitions as MCP servers and model SDKs write them, under our names for their fields.

A tool is in every format of which it has a mark. What says nothing to a backend is accepted only in a format
that defines it, so that a misspelled field is found in each of them.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from pipelines.core.text.authored import Fields, kind
from pipelines.core.text.json_text import Json, JsonObject, pointer, same
from pipelines.core.text.problems import Problem


class Format(NamedTuple):
    name: str
    marks: tuple[str, ...]  # fields that show it: what it calls the schemas
    type: str | None  # the value of `type` that shows it too
    ours: Mapping[str, str]  # our name for a field that it spells otherwise
    others: tuple[str, ...]  # fields that it has beside ours


MCP = Format(
    "MCP",
    marks=("inputSchema", "outputSchema"),
    type=None,
    ours={"inputSchema": "input_schema", "outputSchema": "output_schema"},
    others=("title", "icons", "execution", "_meta"),
)
OPENAI = Format(
    "OpenAI",
    marks=("function", "parameters"),
    type="function",
    ours={"parameters": "input_schema"},
    others=("type", "strict", "async", "defer_loading", "allowed_callers"),
)
ANTHROPIC = Format(
    "Anthropic",
    marks=("input_schema",),
    type="custom",
    ours={},
    others=(
        *("type", "strict", "cache_control", "defer_loading", "allowed_callers"),
        *("input_examples", "eager_input_streaming"),
    ),
)
FORMATS = (MCP, OPENAI, ANTHROPIC)
_TYPES = tuple(each.type for each in FORMATS if each.type is not None)
_SPELLINGS = {theirs: ours for each in FORMATS for theirs, ours in each.ours.items()}
WITHOUT_ARGUMENTS: JsonObject = {"type": "object", "properties": {}}


def tool_fields(entry: JsonObject, path: str, problems: list[Problem], known: Collection[str]) -> Fields:
    """One flat set of fields under our names. What is neither `known` nor of a format of the tool's is
    refused, and so are two spellings of one thing that differ."""
    places = {key: path + pointer([key]) for key in entry}
    body, clashes = _flatten_function(entry, path, places)
    formats = _formats_of(entry, body)
    clashes += _rename_fields(body, places)
    if OPENAI in formats and body.get("input_schema") is None:
        body["input_schema"] = dict(WITHOUT_ARGUMENTS)  # left out, or null: it takes none
    fields = Fields(body, path, problems, subject=_subject(body.get("name")), places=places)
    for key, message in clashes:
        fields.refuse(key, message, "give it once")
    formats = formats or FORMATS  # none where the schema is missing, which is told
    own = (key for each in formats for key in each.others)
    fields.refuse_unknown(dict.fromkeys([*known, *own]), _foreign_field_hints(formats))
    fields.choice("type", _TYPES)
    return fields


def _flatten_function(
    entry: JsonObject, path: str, places: dict[str, str]
) -> tuple[dict[str, Json], list[tuple[str, str]]]:
    """What stands in `function` beside the rest; what stands in both and differs."""
    body = {key: value for key, value in entry.items() if key != "function"}
    inner = entry.get("function")
    clashes: list[tuple[str, str]] = []
    if isinstance(inner, dict):
        for key, value in inner.items():
            places[key] = path + pointer(["function", key])
            if key in body and not same(body[key], value):
                clashes.append(
                    (key, (f"`{key}` is given both outside and inside `function`, with different values"))
                )
            body[key] = value
    elif inner is not None:
        clashes.append(("function", f"`function` must be a JSON object, not {kind(inner)}"))
    return body, clashes


def _formats_of(entry: JsonObject, body: JsonObject) -> tuple[Format, ...]:
    return tuple(
        each
        for each in FORMATS
        if any(mark in entry or mark in body for mark in each.marks)
        or (each.type is not None and body.get("type") == each.type)
    )


def _rename_fields(body: dict[str, Json], places: dict[str, str]) -> list[tuple[str, str]]:
    """Their spellings become ours, in place; the clashes among them."""
    clashes: list[tuple[str, str]] = []
    for theirs in [key for key in body if key in _SPELLINGS]:
        ours, value = _SPELLINGS[theirs], body.pop(theirs)
        if body.get(ours) is None:
            body[ours] = value
            places[ours] = places[theirs]
        elif value is not None and not same(body[ours], value):
            given = places[ours].rsplit("/", 1)[-1]
            clashes.append((theirs, f"`{given}` and `{theirs}` are given and differ"))
    return clashes


def _foreign_field_hints(formats: tuple[Format, ...]) -> dict[str, str]:
    """What to say of each field that only formats have of which the tool is none."""
    own = {key for each in formats for key in each.others}
    its = " and ".join(each.name for each in formats)
    found: dict[str, list[str]] = {}
    for each in FORMATS:
        for key in each.others:
            found.setdefault(key, []).append(each.name)
    return {
        key: f"it is a field of {' and '.join(names)}; the other fields of this tool are those of {its}"
        for key, names in found.items()
        if key not in own
    }


def _subject(name: Json) -> str:
    return f"tool `{name[:128]}`: " if isinstance(name, str) and name else "tool without a name: "
