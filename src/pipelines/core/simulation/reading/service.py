"""What a service is or has, rather than what it keeps: an engine that starts, headlights that are set."""

from collections.abc import Iterable, Mapping

from pipelines.core.english.inflection import participle
from pipelines.core.english.states import SWITCHES_OFF
from pipelines.core.english.words import joined, singulars, tokens, word_set
from pipelines.core.json_text import Json
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.shapes import Field, Singleton
from pipelines.core.simulation.reading.replies import find_path
from pipelines.core.simulation.reading.states import in_style
from pipelines.core.simulation.reading.steps import Drafted, Step, arg, dot, find_one, name_for, text
from pipelines.core.simulation.reading.tool_reading import Reading
from pipelines.core.simulation.reading.transition import allowed_values

_OF_STATE = word_set("status state mode level setting position")


def read_service_change(reading: Reading) -> Drafted | None:
    """`set_budget_limit(limit)`, `setHeadlights(mode)`, `startEngine()`: fields of the service itself."""
    service = reading.service
    if service is None:
        return None
    holder = name_for(service.entity_type)
    changes: dict[str, Json] = {}
    for argument in reading.arguments if reading.name.op == "update" else ():
        path = _place(argument, reading, service.fields)
        if path is not None:
            changes[dot(holder, *path)] = arg(argument.name)
    if not changes:
        changes = _switched(reading, service, holder)
    if not changes:
        return None
    steps: tuple[Step, ...] = (
        find_one(holder, service.entity_type, text(service.id)),
        *allowed_values(reading.arguments),
        {"set": changes},
        {"return": {_last(place): place for place in changes}},
    )
    return Drafted(steps=steps, confidence=0.6)


def _last(place: str) -> str:
    return place.rsplit(".", 1)[-1]


def _place(argument: Argument, reading: Reading, fields: Mapping[str, Field]) -> tuple[str, ...] | None:
    """The field an argument sets: of its own name, of the tool's noun, or the one that ends in its word."""
    if argument.kind in ("list", "object"):
        return None
    nouns = reading.name.nouns
    names = ("_".join((*nouns, *argument.words)), argument.name)
    path = next((found for name in names if (found := find_path(fields, name)) is not None), None)
    if path is None:
        path = _of_noun(reading, fields) or _ending_in(argument, fields)
    if path is None or fields[path[0]].keeps is not None:
        return None
    kinds = fields[path[0]].kinds if len(path) == 1 else frozenset({argument.kind})
    return path if argument.kind in kinds or "null" in kinds or argument.kind == "any" else None


def _of_noun(reading: Reading, fields: Mapping[str, Field]) -> tuple[str, ...] | None:
    """headlights → headLightStatus."""
    wanted = {joined(reading.name.nouns), joined(_core(reading.name.nouns))} - {""}
    for name, field in fields.items():
        said = {joined(tokens(name)), joined(_core(tokens(name)))}
        if wanted & said and field.keeps is None and not field.parts:
            return (name,)
    return None


def _core(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in _OF_STATE)


def _ending_in(argument: Argument, fields: Mapping[str, Field]) -> tuple[str, ...] | None:
    """temperature → acTemperature, if nothing else ends so."""
    found = [name for name in fields if singulars(tokens(name))[-1:] == singulars(argument.words)[-1:]]
    return (found[0],) if len(found) == 1 else None


def _switched(reading: Reading, service: Singleton, holder: str) -> dict[str, Json]:
    """start_engine → engine_state: started; a yes-or-no field is switched."""
    if reading.name.op not in ("transition", "create", "update"):
        return {}
    path = _of_noun(reading, service.fields)
    if path is None:
        return {}
    field = service.fields[path[0]]
    place = dot(holder, *path)
    if "boolean" in field.kinds and reading.name.verb == "toggle":
        return {place: f"not {place}"}
    if "boolean" in field.kinds:
        return {place: reading.name.verb not in SWITCHES_OFF | {"unlock"}}
    if "text" in field.kinds and tokens(path[0])[-1] in _OF_STATE:
        known = tuple(value for value in field.values if isinstance(value, str))
        return {place: text(in_style(participle(reading.name.verb), known))}
    return {}
