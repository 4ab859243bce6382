"""Changes of fields: update, modify, set, rename, assign."""

from collections.abc import Iterator, Sequence

from pipelines.core.english.verbs import MADE_BY
from pipelines.core.english.words import article, singular, singulars, tokens, word_set
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.roles import field_at
from pipelines.core.simulation.domain.shapes import find_field
from pipelines.core.simulation.expr.make import Draft, arg, arithmetic, call, constant
from pipelines.core.simulation.expr.nodes import Constant, Expr
from pipelines.core.simulation.reading.amounts import counted_field
from pipelines.core.simulation.reading.filters import field_for
from pipelines.core.simulation.reading.money import price_difference
from pipelines.core.simulation.reading.records import noun_of, others_of, ownership, record_of
from pipelines.core.simulation.reading.states import state_conditions
from pipelines.core.simulation.reading.steps import Bound, Drafted, Step, dot, find_reference, name_for
from pipelines.core.simulation.reading.tool_reading import Reading
from pipelines.core.simulation.reading.transition import allowed_values, read_transition, verb_fields
from pipelines.core.simulation.reading.writing import (
    change_notes,
    change_remarks,
    change_reply,
    time_like,
)

_BAGS = word_set("updates update changes fields data attributes patch values properties payload body details")


def read_changed_fields(reading: Reading) -> Drafted | None:
    """An update whose arguments say what changes: as clear as can be."""
    bound = record_of(reading)
    if bound is None or not any(_known_place(one, reading, bound) for one in others_of(reading)):
        return None
    return read_update(reading)


def read_spoken_field(reading: Reading) -> Drafted | None:
    """`add_tip(check_no, tip)`, `record_diagnosis`: what would be made is a field of the record given, or a
    part of it that has what is given (`record_consent(subject_id, version)`, of `consent.version`)."""
    bound = record_of(reading)
    made = {MADE_BY.get(reading.name.verb, ""), *singulars(reading.thing)} - {""}
    if bound is None or bound.collection.form != "table":
        return None
    paths = [_place(one, reading, bound) for one in others_of(reading) if one.is_required]
    named = [
        path
        for path in paths
        if path is not None
        and any(_ends_alike(word, part) for word in made for part in tokens(".".join(path)))
    ]
    known = [path for path in named if field_at(bound.collection.fields, path) is not None]
    return read_update(reading) if known else None


def read_linked(reading: Reading) -> Drafted | None:
    """`seat_guest(guest_id, table_id)`: of two records the one that may keep the other's id gets it, where no
    record of the kind is made."""
    about = reading.subject
    needed = [one for one in others_of(reading) if one.is_required]
    if about is None or not about.id_argument.is_required or len(needed) != 1 or not needed[0].id_noun:
        return None
    path = field_for(needed[0], about.collection)
    kept = field_at(about.collection.fields, path) if path is not None else None
    is_link = any(link.path == path for link in about.collection.links)
    return read_update(reading) if kept is not None and is_link and "null" in kept.kinds else None


def _ends_alike(word: str, part: str) -> bool:
    """chip ~ microchip, feedback ~ feedback."""
    return len(word) > 2 and singular(part).endswith(singular(word))


def _known_place(argument: Argument, reading: Reading, bound: Bound) -> bool:
    path = _place(argument, reading, bound)
    return path is not None and field_at(bound.collection.fields, path) is not None


def read_update(reading: Reading) -> Drafted | None:
    bound = record_of(reading)
    if bound is None:
        return None
    if len(list(verb_fields(reading.name.verb, bound.collection.fields))) > 1:
        return read_transition(reading)  # swap_parts, swap_reason: the record keeps the request
    others = others_of(reading)
    there = [*_there(reading, bound, others)]
    is_told = bool(reading.said.forbidden_states)
    forbidden = state_conditions(reading, bound.collection, bound.noun, None) if is_told else []
    changes = dict(_changes(reading, bound, others))
    steps = [
        *bound.steps,
        *ownership(bound, [one for one in others if not _is_changed(one, changes)], reading),
        *allowed_values(others),
        *forbidden,
        *(step for step, _ in there),
    ]
    replaced = _replaced_parts(reading, bound)
    steps += replaced
    changes |= _touched(bound)
    added = dict(_appended(reading, bound, others))
    if changes:
        steps.append({"set": changes})
    steps += [{"append": {place: value}} for place, value in added.items()]
    is_clear = bool(changes or replaced or added)
    unread = () if is_clear else (f"no argument of `{reading.tool.name}` names a field of the record",)
    notes = (*unread, *(note for _, note in there), *change_notes(reading, bound, changes))
    steps.append({"return": change_reply(reading, bound)})
    remarks = change_remarks(reading, bound, changes)
    confidence = 0.8 if changes or added else 0.4
    return Drafted(steps=tuple(steps), notes=notes, remarks=remarks, confidence=confidence)


def _there(reading: Reading, bound: Bound, others: Sequence[Argument]) -> Iterator[tuple[Step, str]]:
    """What a record is to refer to must be there: move_pet(pet_id, new_owner_id)."""
    fields = bound.collection.fields
    for argument in others:
        path = _place(argument, reading, bound) if argument.is_scalar and argument.is_required else None
        link = next((one for one in bound.collection.links if one.path == path), None)
        other = reading.known.tables.get(link.entity_type) if link is not None else None
        if other is None or other.is_empty or path is None or field_at(fields, path) is None:
            continue
        noun = name_for(noun_of(other), avoid=(bound.noun,))
        is_taken = f"`{argument.name}` is taken for the id of {article(noun).lower()} {noun}"
        note = f"{is_taken}: one that is not there is refused"
        yield find_reference(noun, other.entity_type, arg(argument.name)), note


def _is_changed(argument: Argument, changes: dict[Expr, Draft]) -> bool:
    return arg(argument.name) in changes.values()


def _changes(reading: Reading, bound: Bound, others: Sequence[Argument]) -> Iterator[tuple[Expr, Draft]]:
    for argument in others:
        if argument.kind == "object" and argument.words[-1] in _BAGS:
            yield from _bag(argument, bound)
            continue
        if _is_delta(argument):
            counted = counted_field(reading, argument, bound.collection.fields)
            if counted is not None:
                place = dot(bound.noun, *counted)
                there = call("default", place, Constant(0))
                yield place, arithmetic(there, "+", arg(argument.name))
            continue
        path = _place(argument, reading, bound)
        if path is not None and not _is_one_more(argument, path, bound):
            yield dot(bound.noun, *path), arg(argument.name)


def _appended(reading: Reading, bound: Bound, others: Sequence[Argument]) -> Iterator[tuple[Expr, Draft]]:
    """`tag_incident(incident_id, tag)`: one value for a field that keeps many is one more of them."""
    for argument in others:
        path = _place(argument, reading, bound) if argument.is_scalar and argument.is_required else None
        if path is not None and _is_one_more(argument, path, bound):
            yield dot(bound.noun, *path), arg(argument.name)


def _is_one_more(argument: Argument, path: tuple[str, ...], bound: Bound) -> bool:
    field = field_at(bound.collection.fields, path)
    return argument.is_scalar and field is not None and field.keeps == "list" and not field.of_records


def _is_delta(argument: Argument) -> bool:
    """Said to be a difference, it is added, not put in the place of what is there."""
    return argument.kind == "number" and argument.words[-1] in ("delta", "increment", "adjustment")


def _place(argument: Argument, reading: Reading, bound: Bound) -> tuple[str, ...] | None:
    """The field an argument changes."""
    path = field_for(argument, bound.collection)
    if path is not None:
        return path
    # Ids and lists of ids refer to other things; only plain values may become new fields.
    if argument.id_noun is not None or argument.kind == "list" or argument.words[-1] == "ids":
        return None
    words = argument.words[1:] if argument.words[0] in ("new", "updated") else argument.words
    return ("_".join(words),) if words else None


def _bag(argument: Argument, bound: Bound) -> Iterator[tuple[Expr, Draft]]:
    """An object of changes: one field each."""
    properties = argument.schema.get("properties")
    for name in properties if isinstance(properties, dict) else bound.collection.fields:
        yield (
            dot(bound.noun, find_field(bound.collection.fields, name) or name),
            _from_bag(argument, name, bound, is_declared=isinstance(properties, dict)),
        )


def _from_bag(argument: Argument, name: str, bound: Bound, *, is_declared: bool) -> Expr:
    """Without a word on what may be in it, a field that is not in it stays as it is."""
    if is_declared:
        return arg(argument.name, name)
    return call("get", arg(argument.name), constant(name), dot(bound.noun, name))


def _touched(bound: Bound) -> dict[Expr, Draft]:
    names = ("updated_at", "last_updated", "modified_at", "last_modified", "updated")
    return {
        dot(bound.noun, name): time_like(field.example)
        for name, field in bound.collection.fields.items()
        if name in names
    }


def _replaced_parts(reading: Reading, bound: Bound) -> list[Step]:
    """`modify_order_items(item_ids, new_item_ids)`: each part gives way to the new one of the same kind."""
    computed = price_difference(reading, bound)
    if computed is None:
        return []
    return [*computed.steps, {"let": {"price_difference": computed.value}}, *computed.replace]
