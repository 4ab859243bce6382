"""Lists and searches: the records of the type that is asked for, narrowed by arguments and by what name and
description say, in the order asked for."""

from collections.abc import Sequence
from dataclasses import replace

from pipelines.core.english.words import plural, tokens
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.shapes import Collection
from pipelines.core.simulation.expr.make import (
    Draft,
    all_of,
    any_of,
    arg,
    call,
    constant,
    entities,
    entity,
    is_given,
    is_null,
    listed,
)
from pipelines.core.simulation.expr.nodes import (
    Comprehension,
    Conditional,
    Constant,
    Entry,
    Expr,
    Loop,
    MappingOf,
    Name,
    Slice,
)
from pipelines.core.simulation.reading.asked import asked_collection
from pipelines.core.simulation.reading.filters import (
    Narrowing,
    field_for,
    narrowing,
    only_those,
    restrictions,
)
from pipelines.core.simulation.reading.lookup import is_only_spoken_of, reply_name
from pipelines.core.simulation.reading.records import noun_of, source_of, stems
from pipelines.core.simulation.reading.replies import reply
from pipelines.core.simulation.reading.steps import (
    Drafted,
    Step,
    dot,
    find_one,
    find_reference,
    id_of,
    name_for,
    name_for_many,
    same_id,
)
from pipelines.core.simulation.reading.targets import best_collection, subject_of
from pipelines.core.simulation.reading.tool_reading import Reading


def read_listing(reading: Reading) -> Drafted | None:
    """A list of records; None when the tool's nouns name no collection."""
    collection = asked_collection(reading)
    if collection is None or not collection.of_records or _is_of_unknown(reading, collection):
        return None
    steps, many, asked = gathered(reading, collection)
    return Drafted(
        steps=(*steps, *_arranged(many, asked), {"return": _list_reply(reading, collection, many)}),
        notes=asked.notes(),
        confidence=0.9 if not asked.ignored else 0.6,
    )


def _is_of_unknown(reading: Reading, collection: Collection) -> bool:
    """The one id that must be given is of things that only the tools speak of: all records, whichever type
    has the id, would be too many."""
    about = reading.subject
    if about is None or reading.known.is_empty or about.collection.entity_type == collection.entity_type:
        return False
    is_unknown = is_only_spoken_of(about.collection) and bool(about.id_argument.id_noun)
    return is_unknown and about.id_argument.is_required and field_for(about.id_argument, collection) is None


def gathered(reading: Reading, collection: Collection) -> tuple[list[Step], str, Narrowing]:
    """Steps that gather what is asked for of a collection, what it is then called, and what was asked."""
    for argument in reading.arguments:
        listed_by = _listed_by(reading, collection, argument)
        if listed_by is not None:
            return listed_by
    # In a `find` of many the name stands for the candidate, then for the list: the plural reads well as both.
    many = many_of(collection)
    each = many if collection.form == "table" else noun_of(collection)
    asked = _of_holder(reading, collection, _asked(reading, collection, each, reading.arguments))
    known = _required_owners(reading, collection)
    tests = (all_of(*asked.conditions),) if asked.conditions else ()
    if collection.form == "table":
        found: Step = {"as": each, "in": collection.entity_type, "all": True}
        return [*known, {"find": found | ({"where": tests[0]} if tests else {})}], many, asked
    holder = _holder_of(collection)
    source = _records(dot(holder, *collection.path), collection)
    if collection.owner is not None:
        into = find_one(holder, collection.entity_type, constant(collection.owner))
        return [*known, into, {"let": {many: _those(each, source, asked.conditions)}}], many, asked
    loops = (Loop((holder,), entities(collection.entity_type)), Loop((each,), source, tests))
    return [*known, {"let": {many: Comprehension("list", (Name(each),), loops)}}], many, asked


def _asked(reading: Reading, collection: Collection, each: str, arguments: Sequence[Argument]) -> Narrowing:
    """What the arguments narrow, and what name and description say of the records."""
    said = (tokens(reading.tool.name), tokens(reading.said.summary.lower()))
    asked = narrowing(each, collection, arguments, said)
    paths = [path for one in arguments if (path := field_for(one, collection)) is not None]
    such = restrictions(reading, collection, each, paths)
    return replace(asked, conditions=(*such, *asked.conditions), assumed=(*only_those(such), *asked.assumed))


def _of_holder(reading: Reading, collection: Collection, asked: Narrowing) -> Narrowing:
    """`list_items(warehouse_id)` of items that warehouses keep, where the id may be left out."""
    if not collection.in_each:
        return asked
    table = reading.known.tables.get(collection.entity_type)
    for one in reading.arguments:
        may_pick = one.name in asked.ignored and one.is_scalar and one.id_noun and not one.is_required
        if may_pick and best_collection(one.id_noun or (), reading.known, reading.service) == table:
            held = same_id(id_of(_holder_of(collection)), arg(one.name))
            conditions = (any_of(is_null(arg(one.name)), held), *asked.conditions)
            ignored = tuple(name for name in asked.ignored if name != one.name)
            return replace(asked, conditions=conditions, ignored=ignored)
    return asked


def _holder_of(collection: Collection) -> str:
    """What the record that keeps them is called in a plan."""
    return name_for(collection.entity_type, avoid=(noun_of(collection), many_of(collection)))


def many_of(collection: Collection) -> str:
    """What several records of a collection are called; never the same as one."""
    one = noun_of(collection)
    many = name_for_many(plural(one))
    return many if many != one else f"{one}_list"


def _records(kept: Expr, collection: Collection) -> Expr:
    """The records of a list or map; those of a map with their keys, if they do not repeat them."""
    if collection.form == "list":
        return kept
    if collection.id_field is not None:
        return call("values", kept)
    with_id = call("merge", MappingOf((Entry(Constant("id"), Name("key")),)), Name("value"))
    return Comprehension("list", (with_id,), (Loop(("key", "value"), call("items", kept)),))


def _those(each: str, source: Expr, conditions: Sequence[Expr]) -> Expr:
    return listed(Name(each), each, source, all_of(*conditions)) if conditions else source


def _arranged(many: str, asked: Narrowing) -> list[Step]:
    """Sorted, then cut."""
    made: list[Expr] = []
    found = Name(many)
    if asked.sort is not None:
        made.append(Conditional(is_given(asked.sort), call("sort", found, asked.sort), found))
    if asked.offset is not None:
        made.append(Slice(found, call("default", asked.offset, Constant(0)), None))
    if asked.limit is not None:
        made.append(Conditional(is_given(asked.limit), Slice(found, None, asked.limit), found))
    return [{"let": {many: one}} for one in made]


def _list_reply(reading: Reading, collection: Collection, found: str) -> Draft:
    each, is_table = "each", collection.form == "table"
    id = dot(each, "id") if is_table else dot(each, collection.id_field or "id")
    if reading.output:
        source = source_of(collection, found, noun_of(collection), id, is_list=True, element=each)
        return reply(source, reading.output, reading.arguments)
    value: Expr = Name(found)
    if reading.said.lists_ids:
        value = listed(id, each, value)
    elif is_table and not collection.shows_id:
        # A record in a list is of no use without its id.
        own = Entry(Constant(collection.id_field or "id"), dot(each, "id"))
        value = listed(MappingOf((own, Entry(None, Name(each)))), each, value)
    return {reply_name(reading): value} if collection.in_singleton else value


def _required_owners(reading: Reading, collection: Collection) -> list[Step]:
    """`list_orders(user_id)` for a user that does not exist is a 404, not an empty list."""
    steps: list[Step] = []
    for argument in reading.arguments:
        if argument.is_required and argument.id_noun and argument.is_scalar:
            owner = subject_of(reading.name, [argument], reading.known, reading.service)
            if owner is not None and owner.collection.form == "table" and owner.collection != collection:
                noun = name_for(noun_of(owner.collection), avoid=(noun_of(collection),))
                steps.append(find_reference(noun, owner.collection.entity_type, arg(argument.name)))
    return steps


def _listed_by(
    reading: Reading, collection: Collection, argument: Argument
) -> tuple[list[Step], str, Narrowing] | None:
    """`get_bills_for_customer(customer_id)` where the customer lists its bills' ids, or holds them itself."""
    if not (argument.is_required and argument.id_noun and argument.is_scalar):
        return None
    owner = best_collection(argument.id_noun, reading.known, reading.service)
    is_other = owner is not None and owner.form == "table" and owner != collection
    if owner is None or not is_other or field_for(argument, collection) is not None:
        return None
    holder, each = noun_of(owner), noun_of(collection)
    many = many_of(collection) if many_of(collection) != holder else f"{each}_list"
    links = [link for link in owner.list_links if link.entity_type == collection.entity_type]
    if len(links) > 1:
        spoken = stems((*tokens(reading.tool.name), *tokens(reading.said.summary)))
        links = [link for link in links if stems(tokens(link.path[0])) & spoken]
    if collection.entity_type == owner.entity_type and collection.path:
        source = _records(dot(holder, *collection.path), collection)
    elif len(links) == 1 and collection.form == "table":
        one = entity(collection.entity_type, dot("one", *links[0].path[1:]))
        source = listed(one, "one", dot(holder, links[0].path[0]))
    else:
        return None
    asked = _asked(reading, collection, each, [one for one in reading.arguments if one is not argument])
    into = find_one(holder, owner.entity_type, arg(argument.name))
    return [into, {"let": {many: _those(each, source, asked.conditions)}}], many, asked
