"""Asking a model for rules: what it is told of the tools and the world, and what it must answer."""

from collections.abc import Sequence

from pipelines.core.fence import fence_word, fenced, rule_of
from pipelines.core.json_text import Json, JsonObject, dumps
from pipelines.core.model_question import ModelMessage, ModelQuestion, Purpose
from pipelines.core.problems import Problem
from pipelines.core.simulation.behavior.lexicon import Lexicon
from pipelines.core.simulation.by_model.prompt import as_data
from pipelines.core.simulation.translated.rule_forms import MOST_RULES, RULE_SCHEMA, read_rules

#: Changes with every change of the text below: answers are kept under it.
VERSION = "rules/1"
MOST_SENTENCES = 40  # of one text that are asked for
MOST_TOOLS = 60
MOST_VALUES = 12  # of a field that are told

INSTRUCTIONS = """\
You translate sentences about a software backend into rules that a program enforces. You get one JSON \
object: the tools with their arguments, the types of the world with their fields and some values, the \
whole text, and the sentences to translate, by number. Answer, for each number, with the rules that say \
what the sentence says.

A sentence is translated whole or not at all. Where it has no measure ("suspicious", "too old"), speaks \
of things that no argument and no field holds, or addresses the agent rather than the backend, give no \
rules and say in `left_out` why. Never add what the sentence does not say.

Forms of rules, each with `tools`, the names of the tools it is about:
- require: `expression` must hold, or the call is refused with `status`, `error` (a snake_case word) and \
`message`. With `after_changes` it is looked at after the call's changes.
- keep: of a list that is answered, only elements for which `expression` holds stay.
- set: `target` (such as order.status) becomes the value of `expression`, where `when` holds.
- unset: `target` is taken away, where `when` holds.
- flag: the flag `target` is raised (`on` true) or lowered, where `when` holds.
- put: the field `target` of the reply becomes the value of `expression`.
- take: at most `count` elements of a list are answered.
- sort: a list is sorted by the field `target`; -created_at is latest first.
- without, only: fields `names` of the reply that are left out, or the only ones shown.
- mask: of the field `target` of the reply only the last `count` characters are shown.
- not_found: an unknown id of the type `target` is answered with `status`, `error` and `message`.
- remove: the record of the type `target` that the call is about is removed.

Expressions are a small part of Python's: comparisons, and, or, not, in, + - * /, `x if condition else \
y`, comprehensions, and the functions len sum min max round any all lower upper contains starts_with \
days_between default. Texts have single quotes, and true, false and null are written so. `args.x` is an \
argument; a type's name, such as `order`, is the record of that type which the call is about; `each` is \
an element in keep; `reply` is the reply in put; `today` is the date as text. A field that is missing \
equals null. Messages say nothing of the rule beyond what stands in the way.
"""


def translation_schema() -> JsonObject:
    return {
        "type": "object",
        "properties": {
            "sentences": {
                "type": "array",
                "maxItems": MOST_SENTENCES,
                "items": {
                    "type": "object",
                    "properties": {
                        "number": {"type": "integer", "minimum": 1, "maximum": MOST_SENTENCES},
                        "rules": {"type": "array", "items": RULE_SCHEMA, "maxItems": MOST_RULES},
                        "left_out": {"type": "string", "maxLength": 500},
                    },
                    "required": ["number", "rules"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["sentences"],
        "additionalProperties": False,
    }


def translation_question(text: str, sentences: Sequence[str], lexicon: Lexicon) -> ModelQuestion:
    data: JsonObject = {
        "tools": [_tool(lexicon, name) for name in list(lexicon.tools)[:MOST_TOOLS]],
        "world": {kind.name: _fields(lexicon, kind.name) for kind in lexicon.kinds.values()},
        "flags": [*sorted(lexicon.flags)],
        "text": text,
        "sentences": {str(at + 1): each for at, each in enumerate(sentences[:MOST_SENTENCES])},
    }
    word = fence_word("rules", dumps(data).decode())
    return ModelQuestion(
        purpose=Purpose.AUTHOR,
        prompt_version=VERSION,
        system=f"{INSTRUCTIONS}\n{rule_of(word)}",
        messages=(
            ModelMessage(role="user", content="Translate the sentences.\n" + fenced(word, as_data(data))),
        ),
        schema=translation_schema(),
        max_output_tokens=8_192,
    )


def translation_problems(data: JsonObject, sentences: Sequence[str], lexicon: Lexicon) -> list[Problem]:
    """What the schema cannot say: rules that cannot be read. Told to the model, once."""
    found: list[Problem] = []
    listed: Json = data["sentences"]
    seen: set[int] = set()
    for at, one in enumerate(listed if isinstance(listed, list) else ()):
        assert isinstance(one, dict)
        number = one["number"]
        assert isinstance(number, int)
        if number > len(sentences) or number in seen:
            found.append(
                Problem(path=f"/sentences/{at}/number", message="is no sentence, or stands there twice")
            )
        seen.add(number)
        found += read_rules("", one["rules"], lexicon, f"/sentences/{at}/rules")[1]
    return found


def translated(data: JsonObject, sentences: Sequence[str]) -> dict[str, tuple[list[Json], str | None]]:
    """By sentence: its rules as they were written, and why there are none."""
    found: dict[str, tuple[list[Json], str | None]] = {}
    listed: Json = data["sentences"]
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, dict) and isinstance(one["number"], int) and one["number"] <= len(sentences):
            rules, left_out = one["rules"], one.get("left_out")
            found[sentences[one["number"] - 1]] = (
                rules if isinstance(rules, list) else [],
                left_out if isinstance(left_out, str) else None,
            )
    return found


def _tool(lexicon: Lexicon, name: str) -> JsonObject:
    tool = lexicon.tools[name]
    arguments: JsonObject = {key: schema.get("type") for key, schema in tool.arguments.items()}
    return {"name": tool.name, "arguments": arguments, "about": tool.kind, "reads": tool.reads}


def _fields(lexicon: Lexicon, kind: str) -> JsonObject:
    told: JsonObject = {}
    for path, field in list(lexicon.kinds[kind].fields.items())[:80]:
        values = [value for value in field.values if isinstance(value, (str, int, float))][:MOST_VALUES]
        told[".".join(path)] = {"kinds": [*sorted(field.kinds)], "values": [*values]}
    return told
