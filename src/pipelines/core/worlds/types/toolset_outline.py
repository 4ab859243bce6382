"""The outline of a toolset: from its ledger schema, else from what its tools speak of."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pipelines.core.english.words import joined, tokens, word_set
from pipelines.core.ledger.ledger_schema import EntityType
from pipelines.core.simulation.build import PlannedSimulator
from pipelines.core.simulation.domain.tool_facts import facts_of
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.simulation.rules.samples import hints_of
from pipelines.core.text.json_text import Json
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.worlds.outline import (
    FieldKind,
    FieldOutline,
    Kinds,
    Outline,
    TypeOutline,
    field_from_schema,
    is_person,
    kind_of_schema,
    with_references,
)
from pipelines.core.worlds.shapes import Toolset
from pipelines.core.worlds.types.spoken import Spoken, named_like, spoken_types
from pipelines.core.worlds.types.states import backend_of, with_states

LINES = word_set("lines items entries positions products services charges articles goods")


def outline_of(toolset: Toolset) -> Outline:
    """Refused where there is nothing that a world could hold."""
    notes: list[str] = []
    schema, backend = toolset.ledger_schema, backend_of(toolset)
    if schema is not None and schema.entities:
        types = _declared(schema.entities, toolset)
    else:
        spoken = spoken_types(toolset.tools)
        planned = _made_by_plans(toolset, backend, spoken)
        types = {name: _told_by_rules(one, toolset.rules) for name, one in (spoken | planned).items()}
        if types:
            named = ", ".join(types)
            notes.append(
                f"There is no ledger schema: the types ({named}) and their fields are read from the tools."
            )
    if not types:
        message = "no tool takes the id of a thing, lists things or makes one, so there is nothing to fill"
        hint = "declare a ledger schema (its `entities` are the types), or paste a world of your own"
        raise Refused([Problem(path="/tools_schema", message=message, hint=hint)], "the toolset")
    plain = Kinds(with_references(Kinds(types)))
    linked = with_states(plain, toolset, backend)
    whole = Kinds({name: _with_lines(one, linked) for name, one in linked.items()})
    return Outline(types=whole, notes=tuple(notes))


def _made_by_plans(
    toolset: Toolset, backend: PlannedSimulator, known: Mapping[str, TypeOutline]
) -> dict[str, TypeOutline]:
    """Types of which no tool speaks, and some tool makes one: the reservation of `reserve_studio`."""
    found: dict[str, TypeOutline] = {}
    for tool in toolset.tools:
        plan = backend.plan_of(tool.name).plan
        arguments = tool.input_schema.get("properties")
        for step in plan.body if plan is not None and isinstance(plan.body, list) else ():
            added = step.get("add") if isinstance(step, dict) else None
            if isinstance(added, dict) and isinstance(arguments, dict) and added.get("in") not in known:
                one = _made_type(str(added.get("in")), added.get("attrs"), arguments)
                found.setdefault(one.name, one)
    # What is made of nothing is no record.
    return {name: one for name, one in found.items() if name.isidentifier() and len(one.fields) > 1}


def _made_type(name: str, kept: Json, arguments: Mapping[str, Json]) -> TypeOutline:
    names = [field for field in kept if field in arguments] if isinstance(kept, dict) else []
    is_camel = any(any(map(str.isupper, field)) for field in names)
    id_field = named_like((*tokens(name), "id"), is_camel)
    return TypeOutline(
        name=name,
        id_field=id_field,
        fields=(
            FieldOutline(name=id_field, kind="text"),
            *(field_from_schema(field, arguments[field]) for field in names),
        ),
        nouns=frozenset({joined(tokens(name))}),
    )


def _declared(entities: Mapping[str, EntityType], toolset: Toolset) -> dict[str, TypeOutline]:
    plain = Kinds({name: _from_entity(one) for name, one in entities.items()})
    spoken = Spoken(plain, facts_of(toolset.tools))
    return {name: _told_by_tools(one, spoken) for name, one in plain.items()}


def _from_entity(one: EntityType) -> TypeOutline:
    fields = [
        FieldOutline(
            name=field.name,
            kind=kind_of_schema({"type": field.type}),
            values=field.enum or (),
            description=field.description or "",
        )
        for field in one.fields.values()
    ]
    if one.id_field not in one.fields:
        fields.insert(0, FieldOutline(name=one.id_field, kind="text"))
    return TypeOutline(
        name=one.type,
        id_field=one.id_field,
        fields=tuple(fields),
        nouns=frozenset({joined(tokens(one.type))}),
        is_person=is_person(one.type),
    )


def _told_by_tools(own: TypeOutline, spoken: Spoken) -> TypeOutline:
    """What schemas of tools add to a declared field: format, bounds, what is in it. A type declared without
    fields has those that the tools speak of."""
    fields_by_name = {joined(tokens(one.name)): one for one in spoken.said_fields(own)}
    narrowed = spoken.id_schema(own)
    fields = []
    for one in own.fields:
        also = fields_by_name.pop(joined(tokens(one.name)), None)
        schema: dict[str, Json] = dict(also.schema or {}) if also is not None else {}
        if one.name == own.id_field:
            schema |= narrowed
        schema = {key: value for key, value in schema.items() if key not in ("type", "enum")}
        parts = also.parts if also is not None and also.kind == one.kind else ()
        fields.append(replace(one, schema=schema, parts=parts))
    if len(own.fields) == 1:
        fields += [one for one in fields_by_name.values() if one.name != own.id_field]
    return replace(own, fields=tuple(fields))


def _told_by_rules(own: TypeOutline, rules: Sequence[Rule]) -> TypeOutline:
    """With the fields that only typed rules speak of."""
    found: dict[str, FieldOutline] = {}
    for node in (node for rule in rules for expr in rule.expressions() for node in expr.walk()):
        path = n.path_of(node.first) if isinstance(node, n.Compare) else None
        if path is not None and path.root == own.name and len(path.keys) == 1 and not own.field(path.keys[0]):
            kind: FieldKind = "number" if hints_of(node, ()).numbers else "text"
            found.setdefault(path.keys[0], FieldOutline(name=path.keys[0], kind=kind))
    return replace(own, fields=(*own.fields, *found.values()))


def _with_lines(own: TypeOutline, types: Mapping[str, TypeOutline]) -> TypeOutline:
    """A list named like lines, of which nothing more is known, keeps what lines have."""
    is_camel = any(any(map(str.isupper, one.name)) for one in own.fields)
    fields = tuple(
        replace(one, parts=_line_parts(types, is_camel))
        if one.kind == "list" and not one.parts and one.refers_to is None and one.words[-1] in LINES
        else one
        for one in own.fields
    )
    return replace(own, fields=fields)


def _line_parts(types: Mapping[str, TypeOutline], is_camel: bool) -> tuple[FieldOutline, ...]:
    sold = next(
        (kind for kind in types.values() if tokens(kind.name)[-1] in ("product", "item", "sku")), None
    )
    parts: list[FieldOutline] = []
    if sold is not None and sold.id_field is not None:
        parts.append(FieldOutline(name=sold.id_field, kind="text", refers_to=sold.name))
    priced = named_like(("unit", "price"), is_camel)
    kinds: tuple[tuple[str, FieldKind], ...] = (
        ("description", "text"),
        ("quantity", "whole"),
        (priced, "number"),
    )
    return (*parts, *(FieldOutline(name=name, kind=kind) for name, kind in kinds))
