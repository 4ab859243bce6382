"""The question to a model for the typed rules of sentences, and the check of its answer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pipelines.core.models.model_question import ModelMessage, ModelQuestion, Purpose
from pipelines.core.simulation.by_model.prompt import as_data
from pipelines.core.simulation.rule_translation.prompt import VERSION, instructions
from pipelines.core.simulation.rules.check import check
from pipelines.core.simulation.rules.forms import (
    FORMS,
    LONGEST_EXPRESSION,
    LONGEST_MESSAGE,
    LONGEST_NAME,
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

_ONE_LINE: JsonObject = {"type": "string", "maxLength": LONGEST_NAME}
_EXPRESSION: JsonObject = {"type": "string", "maxLength": LONGEST_EXPRESSION}
_NAMES: JsonObject = {"type": "array", "items": _ONE_LINE, "minItems": 1, "maxItems": MOST_NAMES}
_SWITCH: JsonObject = {"type": "boolean"}
_KEYS: Mapping[str, JsonObject] = {
    **dict.fromkeys(("expression", "limit", "when"), _EXPRESSION),
    **dict.fromkeys(("unchanged", "after_changes", "latest", "pages", "on"), _SWITCH),
    "target": {"type": "string", "maxLength": 2 * LONGEST_NAME},
    "per": _ONE_LINE,
    "names": _NAMES,
    "count": {"type": "integer", "minimum": 0, "maximum": MOST_COUNT},
    "fields": {"type": "object", "additionalProperties": _EXPRESSION},
    "status": {"type": "integer", "minimum": 400, "maximum": 599},
    "error": {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_.-]{0,63}$"},
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


def translation_question(text: str, sentences: Sequence[str], vocabulary: Vocabulary) -> ModelQuestion:
    tools = [*vocabulary.tools.values()][:MOST_TOOLS]
    data: JsonObject = {
        "tools": [_tool(tool) for tool in tools],
        "world": {name: _fields(vocabulary, name) for name in vocabulary.kinds},
        "flags": [*sorted(vocabulary.flags)],
        "text": text,
        "sentences": {str(at): each for at, each in enumerate(sentences[:MOST_SENTENCES], 1)},
    }
    word = fence_word("rules", dumps(data).decode())
    asked = "Translate the sentences.\n" + fenced(word, as_data(data))
    return ModelQuestion(
        purpose=Purpose.AUTHOR,
        prompt_version=VERSION,
        system=f"{instructions()}\n{rule_of(word)}",
        messages=(ModelMessage(role="user", content=asked),),
        schema=translation_schema(),
        max_output_tokens=8_192,
    )


def _tool(tool: ToolNouns) -> JsonObject:
    arguments: JsonObject = {key: schema.get("type") for key, schema in tool.arguments.items()}
    return {"name": tool.name, "arguments": arguments, "about": tool.about, "reads": tool.reads}


def _fields(vocabulary: Vocabulary, kind: str) -> JsonObject:
    told: JsonObject = {}
    for path, field in [*vocabulary.kinds[kind].fields.items()][:MOST_FIELDS]:
        values = [value for value in field.named_values if isinstance(value, (str, int, float))]
        told[".".join(path)] = {"kinds": [*sorted(field.kinds)], "values": [*values[:MOST_VALUES]]}
    return told


class AnswerCheck:
    """What the schema cannot say. A rule that cannot be read, or that names what is not there, is told to the
    model once; if the next answer has one, too, it is shown with its sentence."""

    def __init__(self, sentences: Sequence[str], vocabulary: Vocabulary) -> None:
        self._sentences, self._vocabulary = sentences, vocabulary
        self._is_told = False

    def __call__(self, data: JsonObject) -> list[Problem]:
        found: list[Problem] = []
        numbers: set[int] = set()
        for at, (number, bodies, _) in enumerate(_answers(data)):
            path = pointer(["sentences", at])
            if number > len(self._sentences) or number in numbers:
                found.append(
                    Problem(path=f"{path}/number", message="is not the number of a sentence, or is repeated")
                )
            numbers.add(number)
            found += () if self._is_told else rule_problems(bodies, self._vocabulary, f"{path}/rules")
        self._is_told = True
        return found


def rule_problems(bodies: Sequence[Json], vocabulary: Vocabulary, path: str = "") -> list[Problem]:
    problems: list[Problem] = []
    read: dict[int, Rule] = {}
    for at, body in enumerate(bodies):
        rule = read_rule(body if isinstance(body, dict) else {}, path + pointer([at]), problems)
        read |= {at: rule} if rule is not None else {}
    return [*problems, *check([*read.values()], vocabulary, path, places=[*read])]


class Translation(NamedTuple):
    """What a model made of one sentence: rules as they were written, or why there are none."""

    rules: list[Json]
    left_out: str | None


def translations(data: JsonObject, sentences: Sequence[str]) -> dict[str, Translation]:
    """By sentence."""
    return {
        sentences[number - 1]: Translation(rules, left_out)
        for number, rules, left_out in _answers(data)
        if number <= len(sentences)
    }


def _answers(data: JsonObject) -> Iterator[tuple[int, list[Json], str | None]]:
    listed = data["sentences"]
    for one in listed if isinstance(listed, list) else ():
        assert isinstance(one, dict)
        number, rules, left_out = one["number"], one["rules"], one.get("left_out")
        assert isinstance(number, int)
        assert isinstance(rules, list)
        yield number, rules, left_out if isinstance(left_out, str) else None
