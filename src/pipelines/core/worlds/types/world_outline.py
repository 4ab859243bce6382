"""The outline of a world that is there: what its records show, with what the toolset says of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pipelines.core.english.words import joined, singulars, tokens
from pipelines.core.ledger.ledger import World, is_flag_section
from pipelines.core.simulation.domain.fields import Field
from pipelines.core.simulation.domain.references import Reference
from pipelines.core.simulation.domain.shapes import Survey
from pipelines.core.simulation.reading.assemble import survey_for
from pipelines.core.simulation.rules.vocabulary import Kind, Vocabulary, build_vocabulary
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Refused
from pipelines.core.worlds.outline import (
    FieldKind,
    FieldOutline,
    Kinds,
    Outline,
    TypeOutline,
    is_person,
    with_references,
)
from pipelines.core.worlds.shapes import Toolset
from pipelines.core.worlds.types.toolset_outline import outline_of

#: A reference holds ids of several types alike: then it is none of them for certain.
_SURE = 0.9


def types_in(state: JsonObject) -> dict[str, dict[str, JsonObject]]:
    """The entity types of a state, its flags left out."""
    return {
        name: of_type  # type: ignore[misc]  # of the shape that was checked
        for name, of_type in state.items()
        if isinstance(of_type, dict) and not is_flag_section(name, of_type)
    }


def outline_of_world(toolset: Toolset, state: JsonObject, survey: Survey | None = None) -> Outline:
    """Every type of the state, in its order; then those of the toolset that it has nothing of."""
    try:
        notes: Mapping[str, TypeOutline] = outline_of(toolset).types
    except Refused:
        notes = {}
    known = survey or survey_for(
        toolset.tools, world=World.from_initial_state(state), ledger_schema=toolset.ledger_schema
    )
    types = {
        name: _shown(name, list(records.values()), notes.get(name), known)
        for name, records in types_in(state).items()
    }
    linked = with_references(Kinds(types))
    held = {name: _with_held(one, known.references, state) for name, one in linked.items()}
    return Outline(types=Kinds(held | {name: one for name, one in notes.items() if name not in held}))


def _shown(name: str, records: Sequence[JsonObject], said: TypeOutline | None, known: Survey) -> TypeOutline:
    table = known.tables.get(name)
    alone = next((one.fields for one in known.singletons if one.entity_type == name), {})
    fields = table.fields if table is not None else alone
    seen = {
        one.name: _field(one, said.field(one.name) if said is not None else None, records)
        for one in fields.values()
        if any(one.name in record for record in records) or not records
    }
    called = table.own_names if table is not None else frozenset({joined(tokens(name))})
    id_field = table.id_field if table is not None else None
    return TypeOutline(
        name=name,
        id_field=id_field,
        fields=tuple(seen.values()),
        nouns=called,
        is_person=is_person(name) or any(is_person(one) for one in called),
    )


def _field(one: Field, said: FieldOutline | None, records: Sequence[JsonObject]) -> FieldOutline:
    kind = _kind(one, records)
    parts = tuple(_field(part, None, ()) for part in one.parts.values()) if kind in ("object", "list") else ()
    if said is not None and said.kind == kind:
        return replace(said, parts=parts or said.parts, refers_to=None)
    return FieldOutline(name=one.name, kind=kind, parts=parts)


def _kind(one: Field, records: Sequence[JsonObject]) -> FieldKind:
    if "list" in one.kinds:
        return "list"
    if "object" in one.kinds:
        return "object"
    if one.kinds & {"number"} and not one.kinds & {"text"}:
        values = [record.get(one.name) for record in records] or [one.example]
        return "number" if any(isinstance(value, float) for value in values) else "whole"
    return "boolean" if one.kinds & {"boolean"} and not one.kinds & {"text"} else "text"


def _with_held(own: TypeOutline, references: Sequence[Reference], state: JsonObject) -> TypeOutline:
    """What the data say goes before what names say: a field whose values are ids of a type refers to it."""
    held = {one.path: one.to for one in references if one.entity_type == own.name and one.share >= _SURE}
    fields = []
    for one in own.fields:
        to = held.get((one.name,), one.refers_to)
        parts = tuple(
            replace(part, refers_to=held.get((one.name, part.name), part.refers_to)) for part in one.parts
        )
        fields.append(replace(one, refers_to=to if one.name != own.id_field else None, parts=parts))
    return replace(own, fields=tuple(fields))


# -- as rules speak of it


def nouns_of(outline: Outline, survey: Survey) -> Vocabulary:
    """The nouns of the world, with fields and values that only its outline knows of."""
    plain = build_vocabulary((), survey)
    return Vocabulary(
        tools={}, kinds={name: _noun(own, plain.kinds.get(name)) for name, own in outline.types.items()}
    )


def _noun(own: TypeOutline, known: Kind | None) -> Kind:
    kind = known or Kind(name=own.name, fields={}, nouns=(singulars(tokens(own.name)),))
    fields = dict(kind.fields)
    for one in own.fields:
        # Of a moment that nobody has yet only its name says that it is one.
        kinds = frozenset() if one.is_moment else frozenset({"number" if one.kind == "whole" else one.kind})
        field = fields.get((one.name,)) or Field(name=one.name, kinds=kinds)
        fields[one.name,] = replace(field, values=tuple(dict.fromkeys((*field.values, *one.values))))
    links = {keys: to for keys, to in kind.links.items() if len(keys) > 1}
    links |= {(one.name,): one.refers_to for one in own.references if one.refers_to is not None}
    return replace(kind, fields=fields, links=links)
