"""The question to a model for the typed rules of sentences, and the check of its answer."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from pipelines.core.models.model_question import ModelMessage, ModelQuestion, Purpose
from pipelines.core.simulation.build import PlannedSimulator
from pipelines.core.simulation.by_model.prompt import as_data
from pipelines.core.simulation.example_calls import EXAMPLE_SCHEMA, MOST_EXAMPLES
from pipelines.core.simulation.plan_words import plan_in_words
from pipelines.core.simulation.rule_translation.prompt import VERSION, instructions
from pipelines.core.simulation.rules.check import check
from pipelines.core.simulation.rules.examples import ANY_DAY
from pipelines.core.simulation.rules.forms import (
    FORMS,
    LONGEST_EXPRESSION,
    LONGEST_MESSAGE,
    LONGEST_NAME,
    LONGEST_SENTENCE,
    MOST_COUNT,
    MOST_NAMES,
    read_rule,
)
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.simulation.rules.vocabulary import ToolNouns, Vocabulary
from pipelines.core.text.fence import fence_word, fenced, rule_of
from pipelines.core.text.json_text import Json, JsonObject, dumps, pointer
from pipelines.core.text.problems import Problem

MOST_SENTENCES = 40  # of one text that are asked for
MOST_RULES = 10  # of one sentence
MOST_TOOLS = 60
MOST_FIELDS = 80  # of a type that are told
MOST_VALUES = 12  # of a field that are told
MOST_RECORDS = 3  # of a type that are told
LONGEST_RECORD = 1_500  # bytes of one that is told
LONGEST_DESCRIPTION = 2_000  # characters of a tool's
LONGEST_PLAN = 4_000  # characters of a plan in words
_TOLD_OF_ARGUMENTS = ("type", "enum", "format", "description")
MOST_ANSWERED_TOKENS = 16_384  # 40 sentences with their rules and examples

_ONE_LINE: JsonObject = {"type": "string", "maxLength": LONGEST_NAME}
_EXPRESSION: JsonObject = {"type": "string", "maxLength": LONGEST_EXPRESSION}
_NAMES: JsonObject = {"type": "array", "items": _ONE_LINE, "minItems": 1, "maxItems": MOST_NAMES}
_SWITCH: JsonObject = {"type": "boolean"}
_KEYS: Mapping[str, JsonObject] = {
    **dict.fromkeys(("expression", "limit", "when", "where"), _EXPRESSION),
    **dict.fromkeys(("unchanged", "after_changes", "first", "before", "latest", "pages", "on"), _SWITCH),
    "target": {"type": ["string", "array"], "maxLength": LONGEST_SENTENCE, "items": _ONE_LINE},
    "per": _ONE_LINE,
    "names": _NAMES,
    "count": {"type": "integer", "minimum": 0, "maximum": MOST_COUNT},
    "fields": {"type": "object", "additionalProperties": _EXPRESSION},
    "status": {"type": "integer", "minimum": 400, "maximum": 599},
    "error": {"type": "string", "pattern": "^\\S{1,64}$"},
    "message": {"type": "string", "maxLength": LONGEST_MESSAGE},
    "reply": {},
}


def translation_schema() -> JsonObject:
    keys = {key: _KEYS[key] for form in FORMS.values() for part in form for key in part}
    rule = _record({"form": {"enum": [*FORMS]}, "tools": _NAMES, **keys}, "form", "tools")
    sentence = _record(
        {
            "number": {"type": "integer", "minimum": 1, "maximum": MOST_SENTENCES},
            "rules": {"type": "array", "items": rule, "maxItems": MOST_RULES},
            "left_out": {"type": "string", "maxLength": 500},
            "examples": {"type": "array", "items": EXAMPLE_SCHEMA, "maxItems": MOST_EXAMPLES},
        },
        "number",
        "rules",
    )
    listed: JsonObject = {"type": "array", "maxItems": MOST_SENTENCES, "items": sentence}
    return _record({"sentences": listed}, "sentences")


def _record(properties: JsonObject, *required: str) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": [*required],
        "additionalProperties": False,
    }


def translation_question(
    text: str, sentences: Sequence[str], around: PlannedSimulator, *, now: str | None = None
) -> ModelQuestion:
    """`around` has the text in which the sentences stand, `now` is its task's."""
    vocabulary = around.vocabulary
    tools = [*vocabulary.tools.values()][:MOST_TOOLS]
    data: JsonObject = {
        "tools": [_tool(tool, around) for tool in tools],
        "world": {name: type_context(around, name) for name in vocabulary.kinds},
        "flags": [*sorted(vocabulary.flags)],
        "now": now or ANY_DAY,
        "text": text,
        "sentences": {str(at): each for at, each in enumerate(sentences[:MOST_SENTENCES], 1)},
    }
    word = fence_word("rules", dumps(data).decode())
    request = "Translate the sentences.\n" + fenced(word, as_data(data))
    return ModelQuestion(
        purpose=Purpose.AUTHOR,
        prompt_version=VERSION,
        system=f"{instructions()}\n{rule_of(word)}",
        messages=(ModelMessage(role="user", content=request),),
        schema=translation_schema(),
        max_output_tokens=MOST_ANSWERED_TOKENS,
    )


def _tool(tool: ToolNouns, around: PlannedSimulator) -> JsonObject:
    found = around.plan_of(tool.name)
    body: Json = found.plan.body if found.plan is not None else []
    tool_body: JsonObject = {
        "name": tool.name,
        "description": around.tools[tool.name].description[:LONGEST_DESCRIPTION],
        "arguments": {key: argument_json(schema) for key, schema in tool.arguments.items()},
        "required": [*sorted(tool.required)],
        "about": tool.about,
        "does": words_of_plan(body)[:LONGEST_PLAN],
        **changes_of(body),
    }
    return tool_body | ({"guess": True} if found.is_guess else {})


def words_of_plan(body: Json) -> str:
    return "\n".join("  " * one.depth + one.as_text() for one in plan_in_words(body))


def argument_json(schema: JsonObject) -> Json:
    kept: JsonObject = {
        key: schema[key] for key in ("type", "enum", "format", "description") if key in schema
    }
    return kept if len(dumps(kept)) <= LONGEST_RECORD else schema.get("type")


def changes_of(body: Json) -> JsonObject:
    """What a plan changes by itself: fields, types of records that it adds, records that it removes."""
    found: dict[str, dict[str, None]] = {"sets": {}, "adds": {}, "removes": {}}
    steps: Any = body.get("steps") if isinstance(body, dict) else body
    steps_left: list[Any] = [*steps]
    while steps_left:
        step = steps_left.pop(0)
        if not isinstance(step, dict):
            continue
        for block in ("then", "else", "do"):
            steps_left += step[block] if isinstance(step.get(block), list) else ()
        for verb in ("set", "unset", "append"):
            found["sets"] |= dict.fromkeys(map(str, step.get(verb) or ()))
        found["adds"] |= {str(step["add"].get("in")): None} if isinstance(step.get("add"), dict) else {}
        found["removes"] |= {str(step["remove"]): None} if "remove" in step else {}
    return {key: [*names] for key, names in found.items()}


def type_context(around: PlannedSimulator, name: str) -> JsonObject:
    """What a model is told of a type: its fields with some values, its links and some records."""
    kind, records = around.vocabulary.kinds[name], around.world.entities.get(name, {})
    fields: JsonObject = {}
    for path, field in [*kind.fields.items()][:MOST_FIELDS]:
        values = [value for value in field.named_values if isinstance(value, (str, int, float))]
        fields[".".join(path)] = {"kinds": [*sorted(field.kinds)], "values": [*values[:MOST_VALUES]]}
    body: JsonObject = {
        id: one for id, one in islice(records.items(), MOST_RECORDS) if len(dumps(one)) <= LONGEST_RECORD
    }
    links: JsonObject = {".".join(path): to for path, to in kind.links.items()}
    return {"count": len(records), "fields": fields, "links": links, "records": body}


def number_problems(data: JsonObject, sentences: Sequence[str]) -> list[Problem]:
    """What the schema cannot say of an answer."""
    numbers = [one.number for one in _answers(data)]
    says = "is not the number of a sentence, or is repeated"
    return [
        Problem(path=pointer(["sentences", at, "number"]), message=says)
        for at, number in enumerate(numbers)
        if number > len(sentences) or number in numbers[:at]
    ]


def rule_problems(bodies: Sequence[Json], vocabulary: Vocabulary, path: str = "") -> list[Problem]:
    problems: list[Problem] = []
    read: dict[int, Rule] = {}
    for at, body in enumerate(bodies):
        rule = read_rule(body if isinstance(body, dict) else {}, path + pointer([at]), problems)
        read |= {at: rule} if rule is not None else {}
    return [*problems, *check([*read.values()], vocabulary, path, places=[*read])]


class Translation(NamedTuple):
    """What a model made of one sentence: rules as they were written, or why there are none."""

    number: int
    rules: list[Json]
    left_out: str | None = None
    examples: tuple[JsonObject, ...] = ()


def translations(data: JsonObject, sentences: Sequence[str]) -> dict[str, Translation]:
    """By sentence."""
    return {sentences[one.number - 1]: one for one in _answers(data) if one.number <= len(sentences)}


def _answers(data: JsonObject) -> Iterator[Translation]:
    """Of an answer that fits the schema."""
    listed: Any = data["sentences"]
    for one in listed:
        yield Translation(one["number"], one["rules"], one.get("left_out"), tuple(one.get("examples", ())))
