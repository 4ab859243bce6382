"""Changes of fields: update, modify, set, rename, assign. Each argument beside the id is a field of the
record, or becomes one."""

from collections.abc import Iterator, Sequence

from pipelines.core.english.verbs import MADE_BY
from pipelines.core.english.words import article, singular, singulars, tokens, word_set
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.fields import field_at
from pipelines.core.simulation.domain.shapes import find_field
from pipelines.core.simulation.expr.make import Draft, arg, call, constant
from pipelines.core.simulation.expr.nodes import Expr
from pipelines.core.simulation.reading.amounts import price_difference
from pipelines.core.simulation.reading.filters import field_for
from pipelines.core.simulation.reading.records import (
    change_notes,
    change_remarks,
    change_reply,
    noun_of,
    others_of,
    ownership,
    record_of,
)
from pipelines.core.simulation.reading.states import state_conditions
from pipelines.core.simulation.reading.steps import Bound, Drafted, Step, dot, find_reference, name_for
from pipelines.core.simulation.reading.tool_reading import Reading
from pipelines.core.simulation.reading.transition import read_transition, verb_fields

Path = tuple[str, ...]
_BAGS = word_set("updates update changes fields data attributes patch values properties payload body details")


def read_spoken_field(reading: Reading) -> Drafted | None:
    """`add_tip(check_no, tip)`, `record_diagnosis`: what would be made is a field of the record given, or a
    part of it that has what is given (`record_consent(subject_id, version)`, of `consent.version`)."""
    bound = record_of(reading)
    own_nouns = {MADE_BY.get(reading.name.verb, ""), *singulars(reading.thing)} - {""}
    if bound is None or bound.collection.form != "table":
        return None
    paths = [_place(one, bound) for one in others_of(reading) if one.is_required]
    known = [path for path in paths if path is not None and field_at(bound.collection.fields, path)]
    parts = {singular(part) for path in known for part in tokens(".".join(path))}
    # chip ~ microchip, feedback ~ feedback
    is_named = any(part.endswith(word) for word in own_nouns if len(word) > 2 for part in parts)
    return read_update(reading) if is_named else None


def read_update(reading: Reading) -> Drafted | None:
    bound = record_of(reading)
    if bound is None:
        return None
    if len(list(verb_fields(reading.name.verb, bound.collection.fields))) > 1:
        return read_transition(reading)  # swap_parts, swap_reason: the record keeps the request
    others = others_of(reading)
    changes, added = dict(_changes(reading, bound, others)), dict(_appended(bound, others))
    computed = price_difference(reading, bound)
    if not (changes or added or computed):
        return None
    there = [*_there(reading, bound, others)]
    given = {*changes.values()}
    is_told = bool(reading.said.forbidden_states)
    steps = [
        *bound.steps,
        *ownership(bound, [one for one in others if arg(one.name) not in given], reading),
        *(state_conditions(reading, bound, (), None) if is_told else ()),
        *(step for step, _ in there),
    ]
    if computed is not None:  # each part gives way to the new one of the same kind
        steps += [*computed.steps, {"let": {"price_difference": computed.value}}, *computed.replace]
    if changes:
        steps.append({"set": changes})
    steps += [{"append": {place: value}} for place, value in added.items()]
    steps.append({"return": change_reply(reading, bound)})
    return Drafted(
        steps=tuple(steps),
        notes=(*(note for _, note in there), *change_notes(reading, bound, changes)),
        remarks=change_remarks(reading, bound, changes),
        confidence=0.8 if changes or added else 0.4,
    )


def _there(reading: Reading, bound: Bound, others: Sequence[Argument]) -> Iterator[tuple[Step, str]]:
    """What a record is to refer to must be there: move_pet(pet_id, new_owner_id)."""
    for argument in others:
        path = _place(argument, bound) if argument.is_scalar and argument.is_required else None
        link = next((one for one in bound.collection.links if one.path == path), None)
        other = reading.known.tables.get(link.entity_type) if link is not None else None
        if other is not None and not other.is_empty:
            noun = name_for(noun_of(other), avoid=(bound.noun,))
            is_taken = f"`{argument.name}` is taken for the id of {article(noun).lower()} {noun}"
            note = f"{is_taken}: one that is not there is refused"
            yield find_reference(noun, other.entity_type, arg(argument.name)), note


def _changes(reading: Reading, bound: Bound, others: Sequence[Argument]) -> Iterator[tuple[Expr, Draft]]:
    for argument in others:
        path = _place(argument, bound)
        if argument.kind == "object" and argument.words[-1] in _BAGS:
            yield from _bag(argument, bound)
        elif path is not None and not _is_one_more(argument, path, bound):
            yield dot(bound.noun, *path), arg(argument.name)


def _appended(bound: Bound, others: Sequence[Argument]) -> Iterator[tuple[Expr, Draft]]:
    """`tag_incident(incident_id, tag)`: one value for a field that keeps many is one more of them."""
    for argument in others:
        path = _place(argument, bound) if argument.is_scalar and argument.is_required else None
        if path is not None and _is_one_more(argument, path, bound):
            yield dot(bound.noun, *path), arg(argument.name)


def _is_one_more(argument: Argument, path: Path, bound: Bound) -> bool:
    field = field_at(bound.collection.fields, path)
    return argument.is_scalar and field is not None and field.keeps == "list" and not field.of_records


def _place(argument: Argument, bound: Bound) -> Path | None:
    """The field an argument changes. Ids and lists of ids refer to other things; only plain values may become
    new fields."""
    path = field_for(argument, bound.collection)
    if path is not None:
        return path
    if argument.id_noun is not None or argument.kind == "list" or argument.words[-1] == "ids":
        return None
    words = argument.words[1:] if argument.words[0] in ("new", "updated") else argument.words
    return ("_".join(words),) if words else None


def _bag(argument: Argument, bound: Bound) -> Iterator[tuple[Expr, Draft]]:
    """An object of changes: one field each. Without a word on what may be in it, a field that is not in it
    stays as it is."""
    properties = argument.schema.get("properties")
    for name in properties if isinstance(properties, dict) else bound.collection.fields:
        place = dot(bound.noun, find_field(bound.collection.fields, name) or name)
        given = arg(argument.name, name)
        if not isinstance(properties, dict):
            given = call("get", arg(argument.name), constant(name), place)
        yield place, given
