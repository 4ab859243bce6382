"""Reads of many things: lists and searches, narrowed by arguments, in the order asked for."""

from collections.abc import Sequence
from dataclasses import replace

from pipelines.core.english.words import joined, plural, tokens, word_set
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
from pipelines.core.simulation.reading.degrees import order_of
from pipelines.core.simulation.reading.filters import Narrowing, field_for, narrowing, only_those
from pipelines.core.simulation.reading.joins import through_a_third
from pipelines.core.simulation.reading.lookup import is_only_spoken_of, reply_name
from pipelines.core.simulation.reading.records import noun_of, source_of
from pipelines.core.simulation.reading.replies import reply
from pipelines.core.simulation.reading.restrictions import restrictions
from pipelines.core.simulation.reading.scope import ids_of, stems
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
    if collection is None:
        return None
    if not collection.of_records:
        return None
    if _is_of_unknown(reading, collection):
        return None  # whichever type has the id, all records would be too many
    related = _through_owner(reading, collection)
    return related or _from_collection(reading, collection)


def _is_of_unknown(reading: Reading, collection: Collection) -> bool:
    """The one id that must be given is of things that only the tools speak of."""
    about = reading.subject
    if about is None or reading.known.is_empty or about.collection.entity_type == collection.entity_type:
        return False
    is_unknown = is_only_spoken_of(about.collection) and bool(about.id_argument.id_noun)
    return is_unknown and about.id_argument.is_required and field_for(about.id_argument, collection) is None


def _from_collection(reading: Reading, collection: Collection) -> Drafted:
    steps, found, asked = gathered(reading, collection)
    return _answered(reading, collection, steps, found, asked)


def gathered(
    reading: Reading, collection: Collection, *, in_any_state: bool = False
) -> tuple[list[Step], str, Narrowing]:
    """Steps that gather what is asked for of a collection, what it is then called, and what was asked."""
    # In a `find` of many the name stands for the candidate, then for the list: the plural reads well as both.
    each = many_of(collection) if collection.form == "table" else noun_of(collection)
    asked = _asked(reading, collection, each, reading.arguments, in_any_state=in_any_state)
    asked = _of_holder(reading, collection, each, asked)
    known = _required_owners(reading, collection)
    steps, found = _found(collection, each, asked.conditions)
    return [*known, *steps], found, asked


def _of_holder(reading: Reading, collection: Collection, each: str, asked: Narrowing) -> Narrowing:
    """`list_items(warehouse_id)` of items that warehouses keep, where the id may be left out."""
    if collection.form == "table" or collection.owner is not None:
        return asked
    table = reading.known.tables.get(collection.entity_type)
    given = {
        one.name: one
        for one in reading.arguments
        if one.name in asked.ignored and one.is_scalar and one.id_noun and not one.is_required
        if best_collection(one.id_noun, reading.known, reading.service) == table
    }
    if len(given) != 1:
        return asked
    (name,) = given
    held = same_id(id_of(_holder_of(collection, each)), arg(name))
    return replace(
        asked,
        conditions=(any_of(is_null(arg(name)), held), *asked.conditions),
        ignored=tuple(one for one in asked.ignored if one != name),
    )


def _holder_of(collection: Collection, each: str) -> str:
    """What the record that keeps them is called in a plan."""
    return name_for(collection.entity_type, avoid=(each, many_of(collection)))


def _asked(
    reading: Reading,
    collection: Collection,
    each: str,
    arguments: Sequence[Argument],
    *,
    in_any_state: bool = False,
) -> Narrowing:
    """What the arguments narrow, and what name and description say of the records."""
    said = (tokens(reading.tool.name), tokens(reading.said.summary))
    asked = narrowing(each, collection, arguments, said)
    asked = _joined(reading, collection, each, asked)
    paths = [path for one in arguments if (path := field_for(one, collection)) is not None]
    such = [] if in_any_state else restrictions(reading, collection, each, paths)
    order = order_of(reading, collection) if asked.sort is None else None
    return replace(
        asked, order=order, conditions=(*such, *asked.conditions), assumed=(*only_those(such), *asked.assumed)
    )


def _joined(reading: Reading, collection: Collection, each: str, asked: Narrowing) -> Narrowing:
    """Ids of what the records have to do with only through others."""
    ways = {
        one.name: way
        for one in reading.arguments
        if one.name in asked.ignored and one.is_required and one.is_scalar and collection.form == "table"
        if (way := through_a_third(reading, collection, each, one)) is not None
    }
    assumed = (f"`{name}` is taken for `{way}`: nothing else leads there" for name, way in ways.items())
    return replace(
        asked,
        conditions=(*asked.conditions, *ways.values()),
        ignored=tuple(name for name in asked.ignored if name not in ways),
        assumed=(*asked.assumed, *assumed),
    )


def many_of(collection: Collection) -> str:
    """What several records of a collection are called; never the same as one."""
    one = noun_of(collection)
    many = name_for_many(plural(one))
    return many if many != one else f"{one}_list"


def _found(collection: Collection, each: str, conditions: Sequence[Expr]) -> tuple[list[Step], str]:
    """Steps that gather the records, and the name under which they are then known."""
    many = many_of(collection)
    tests = (all_of(*conditions),) if conditions else ()
    if collection.form == "table":
        found: Step = {"as": each, "in": collection.entity_type, "all": True}
        if tests:
            found["where"] = tests[0]
        return [{"find": found}], each
    holder = _holder_of(collection, each)
    source = _records(dot(holder, *collection.path), collection)
    if collection.owner is not None:
        into = find_one(holder, collection.entity_type, constant(collection.owner))
        return [into, {"let": {many: _those(each, source, conditions)}}], many
    loops = (Loop((holder,), entities(collection.entity_type)), Loop((each,), source, tests))
    return [{"let": {many: Comprehension("list", (Name(each),), loops)}}], many


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
    if asked.order is not None:
        made.append(call("sort", found, Constant(asked.order)))
    if asked.sort is not None:
        made.append(Conditional(is_given(asked.sort), call("sort", found, asked.sort), found))
    if asked.offset is not None:
        made.append(Slice(found, call("default", asked.offset, Constant(0)), None))
    if asked.limit is not None:
        made.append(Conditional(is_given(asked.limit), Slice(found, None, asked.limit), found))
    return [{"let": {many: one}} for one in made]


def _answered(
    reading: Reading, collection: Collection, steps: list[Step], many: str, asked: Narrowing
) -> Drafted:
    return Drafted(
        steps=(*steps, *_arranged(many, asked), {"return": _list_reply(reading, collection, many)}),
        notes=asked.notes(),
        confidence=0.9 if not asked.ignored else 0.6,
    )


def _list_reply(reading: Reading, collection: Collection, found: str) -> Draft:
    each = "each"
    id = dot(each, "id") if collection.form == "table" else dot(each, collection.id_field or "id")
    source = source_of(collection, found, noun_of(collection), id, is_list=True, element=each)
    if reading.output:
        return reply(source, reading.output, reading.arguments)
    if reading.name.op == "count":
        return {"count": call("len", Name(found))}
    value: Expr = Name(found)
    if reading.said.lists_ids:
        value = listed(id, each, value)
    elif collection.form == "table" and not collection.shows_id:
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


def _through_owner(reading: Reading, collection: Collection) -> Drafted | None:
    """`get_bills_for_customer(customer_id)` where the customer lists its bills' ids, or holds them itself."""
    for argument in reading.arguments:
        if not argument.is_required or not argument.id_noun or not argument.is_scalar:
            continue
        owner = best_collection(argument.id_noun, reading.known, reading.service)
        if owner is None or owner.form != "table" or owner == collection:
            continue
        if field_for(argument, collection) is not None:
            continue
        drafted = _listed_by(reading, collection, owner, argument)
        if drafted is not None:
            return drafted
    return None


def _listed_by(
    reading: Reading, collection: Collection, owner: Collection, argument: Argument
) -> Drafted | None:
    holder, each = noun_of(owner), noun_of(collection)
    many = many_of(collection) if many_of(collection) != holder else f"{each}_list"
    inside = collection.entity_type == owner.entity_type and bool(collection.path)
    links = [link for link in owner.list_links if link.entity_type == collection.entity_type]
    if len(links) > 1:
        spoken = stems((*tokens(reading.tool.name), *tokens(reading.said.summary)))
        links = [link for link in links if stems(tokens(link.path[0])) & spoken]
    if inside:
        kept = dot(holder, *collection.path)
        source = _records(kept, collection)
    elif len(links) == 1 and collection.form == "table":
        source = ids_of(holder, links[0])
    else:
        return None
    rest = [one for one in reading.arguments if one is not argument]
    asked = _asked(reading, collection, each, rest)
    steps: list[Step] = [
        find_one(holder, owner.entity_type, arg(argument.name)),
        {"let": {many: _those(each, source, asked.conditions)}},
    ]
    return _answered(reading, collection, steps, many, asked)


SIGNED_IN_AS = word_set("currentuser loggedinuser username user userid currentuserid")


def current_user(reading: Reading) -> tuple[str, str, str, Expr] | None:
    """Who is signed in: (name bound, entity type, id, expression), if the service keeps it."""
    service = reading.service
    if service is None:
        return None
    for name, field in service.fields.items():
        words = tokens(name)
        if joined(words) in SIGNED_IN_AS and field.keeps is None and not field.parts:
            bound = name_for(service.entity_type)
            return bound, service.entity_type, service.id, dot(bound, name)
    return None


_OWNER_FIELDS = (
    "created_by",
    "owner",
    "user",
    "username",
    "user_id",
    "author",
    "sender",
    "sender_id",
    "created_by_user",
)


def owner_field(collection: Collection) -> str | None:
    return next((name for name in _OWNER_FIELDS if name in collection.fields), None)
