"""The shop that sentences of the reference page are read for, other worlds, and what tests ask of them."""

from functools import cache
from typing import Any

from tests.core.simulation.rules.shop import PLANS, STATE, TOOLS, ShopTool, tool

from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.reading.assemble import survey_for
from pipelines.core.simulation.rules.forms import as_json
from pipelines.core.simulation.rules.language.read import Reader, Reading, Stop
from pipelines.core.simulation.rules.language.report import explain_stop
from pipelines.core.simulation.rules.language.to_sentence import to_sentence
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.simulation.rules.vocabulary import build_vocabulary
from pipelines.core.text.json_text import Json, JsonObject

__all__ = ["PLANS", "STATE", "TOOLS", "ShopTool", "tool"]


def numbers(one: ShopTool, *names: str) -> ShopTool:
    """The tool with some arguments that are numbers."""
    properties = one.input_schema["properties"]
    assert isinstance(properties, dict)
    given: JsonObject = {**properties, **{name: {"type": "number"} for name in names}}
    return ShopTool(name=one.name, input_schema={**one.input_schema, "properties": given})


def reader_of(state: JsonObject, *tools: ShopTool, plans: dict[str, Json] | None = None) -> Reader:
    survey = survey_for(tools, world=World.from_initial_state(state))
    return Reader(build_vocabulary(tools, survey, plans=plans))


@cache
def shop() -> Reader:
    return reader_of(STATE, *TOOLS, plans=dict(PLANS))


def canonical(sentence: str, reader: Reader | None = None) -> list[str]:
    """How a sentence that must be read is shown back, without full stops."""
    reader = reader or shop()
    reading = reader.read(sentence)
    assert reading.is_read, f"{sentence}: {explain_stop(reading, reader)}"
    return [to_sentence(rule, reader.vocabulary) for rule in reading.rules]


def expressions(sentence: str, reader: Reader | None = None) -> list[str]:
    reading = (reader or shop()).read(sentence)
    assert reading.is_read, f"{sentence}: {explain_stop(reading, reader or shop())}"
    return [str(as_json(rule).get("expression")) for rule in reading.rules]


def stop_of(sentence: str, reader: Reader | None = None) -> Stop:
    """Why a sentence is not read; it must not be, nor any part of it."""
    reading = (reader or shop()).read(sentence)
    assert reading.stop is not None, f"{sentence} is read as {[as_json(rule) for rule in reading.rules]}"
    assert not reading.rules
    return reading.stop


def said_twice(reading: Reading, reader: Reader | None = None) -> list[list[str]]:
    """Both readings of an ambiguous sentence."""
    vocabulary = (reader or shop()).vocabulary
    return [[to_sentence(rule, vocabulary) for rule in rules] for rules in reading.readings]


def meant(rules: tuple[Rule, ...]) -> list[Any]:
    return [(rule.tools, rule.form) for rule in rules]
