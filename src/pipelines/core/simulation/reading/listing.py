"""Lists and searches: the records of the type that is asked for, narrowed by arguments and by what name and
description say, in the order asked for.

Which type: `owner_animals(owner_id)` lists animals, since the owner is picked by an id, and animals refer to
one. The nouns of the name, the lists of the reply, what the description begins with, the fields that
arguments name, and the references between types are weighed together."""

from dataclasses import replace

from pipelines.core.english.words import is_plural, plural, singulars, tokens
from pipelines.core.simulation.domain.shapes import Collection
from pipelines.core.simulation.domain.tool_facts import listed_in
from pipelines.core.simulation.expr.make import (
    Draft,
    all_of,
    arg,
    call,
    constant,
    is_given,
    listed,
)
from pipelines.core.simulation.expr.nodes import (
    Conditional,
    Constant,
    Entry,
    Expr,
    MappingOf,
    Name,
    Slice,
)
from pipelines.core.simulation.reading.filters import (
    Narrowing,
    field_for,
    narrowing,
    only_those,
    restrictions,
)
from pipelines.core.simulation.reading.records import noun_of, reply_name, source_of
from pipelines.core.simulation.reading.replies import find_path, reply
from pipelines.core.simulation.reading.steps import (
    Drafted,
    Step,
    dot,
    find_one,
    find_reference,
    name_for,
    name_for_many,
)
from pipelines.core.simulation.reading.targets import best_collection, likeness, subject_of
from pipelines.core.simulation.reading.tool_reading import Reading

_ENOUGH = 4.0  # as much as a name that ends in the type's own noun
_IN_REPLY = 0.8  # the list of a reply, beside the noun of the tool's own name
_SEVERAL = 5.0  # "Vaccinations of a patient": said of many, first of all
_MENTIONED = 1.0
_LINKED = 2.0  # refers to what an argument picks
_FIELD = 1.0  # an argument is a field of it
_PART = 0.5  # a property of the reply is
_PICKED = -8.0  # it is what the list is of


def asked_collection(reading: Reading, *, of_many: bool | None = None) -> Collection | None:
    """None where nothing that the tool says names a type. `of_many`: several are listed or counted."""
    many = reading.wants_many() if of_many is None else of_many
    named = reading.collection
    if named is not None and (named.form != "table" or reading.known.singletons):
        return named
    tables = [one for one in reading.known.tables.values() if not one.is_empty or one is named]
    scored = sorted(((_score(reading, one, many=many), one) for one in tables), key=lambda pair: -pair[0])
    if scored and scored[0][0] >= _ENOUGH:
        return scored[0][1]
    linked = [(score, one) for score, one in scored if _from_arguments(reading, one, many=many) >= _LINKED]
    if many and linked and (len(linked) == 1 or linked[0][0] > linked[1][0]):
        return linked[0][1]  # whatever it is called, it refers to what an argument picks
    is_scope = many and named is not None and _from_arguments(reading, named, many=True) < 0
    return None if is_scope else named


def is_spoken_of(reading: Reading, table: Collection) -> bool:
    """Whether the tool's name or description says what one of its records is called."""
    words = {*singulars(tokens(reading.said.summary)), *singulars(tokens(reading.tool.name))}
    return any(noun[-1] in words for noun in (table.words, *table.called))


def _score(reading: Reading, table: Collection, *, many: bool) -> float:
    score = likeness(reading.thing, table) + _from_description(reading, table)
    score += _from_arguments(reading, table, many=many)
    for noun, properties in listed_in(reading.output):
        score += likeness(noun, table) * _IN_REPLY
        score += sum(
            _PART if find_path(table.fields, name) else -_PART for name in properties if name != "id"
        )
    return score


def _from_description(reading: Reading, table: Collection) -> float:
    words = tokens(reading.said.summary)
    plain = singulars(words)
    best = 0.0
    for noun in (table.words, *table.called):
        for at in range(len(words) - len(noun) + 1):
            if plain[at : at + len(noun)] == singulars(noun):
                many = is_plural(words[at + len(noun) - 1])
                # What comes first is what is asked for: "Members with their loans".
                best = max(best, (_SEVERAL - 0.2 * at) if many else _MENTIONED)
    return best


def _from_arguments(reading: Reading, table: Collection, *, many: bool) -> float:
    score = 0.0
    for argument in reading.arguments:
        path = field_for(argument, table)
        known = path is not None
        if argument.id_noun:
            # artist_works(artist_id): its own id is no reference to it.
            is_picked = many and (not known or path == (table.id_field,))
            is_picked = is_picked and _picks(reading, table, argument.id_noun)
            score += _PICKED if is_picked else _LINKED if known else 0.0
        elif known:
            score += _FIELD
    return score


def _picks(reading: Reading, table: Collection, noun: tuple[str, ...]) -> bool:
    return best_collection(noun, reading.known, reading.service) == table


def read_listing(reading: Reading) -> Drafted | None:
    """A list of records; None when the tool's nouns name no collection."""
    collection = asked_collection(reading)
    if collection is None or not collection.of_records or collection.in_each:
        return None
    steps, many, conditions = gathered(reading, collection)
    return Drafted(
        steps=(*steps, *_arranged(many, conditions), {"return": _list_reply(reading, collection, many)}),
        notes=conditions.notes(),
        confidence=0.9 if not conditions.ignored else 0.6,
    )


def gathered(reading: Reading, collection: Collection) -> tuple[list[Step], str, Narrowing]:
    """Steps that gather what is asked for of a collection, what it is then called, and what was asked."""
    # In a `find` of many the name stands for the candidate, then for the list: the plural reads well as both.
    many = many_of(collection)
    conditions = _asked(reading, collection, many)
    found: Step = {"as": many, "in": collection.entity_type, "all": True}
    steps = _required_owners(reading, collection)
    if collection.owner is not None:
        holder = name_for(collection.entity_type, avoid=(noun_of(collection), many))
        steps.append(find_one(holder, collection.entity_type, constant(collection.owner)))
        found["in"] = dot(holder, *collection.path)
    return (
        [
            *steps,
            {"find": found | ({"where": all_of(*conditions.conditions)} if conditions.conditions else {})},
        ],
        many,
        conditions,
    )


def _asked(reading: Reading, collection: Collection, each: str) -> Narrowing:
    """What the arguments narrow, and what name and description say of the records."""
    phrases = (tokens(reading.tool.name), tokens(reading.said.summary.lower()))
    condition = narrowing(each, collection, reading.arguments, phrases)
    paths = [path for one in reading.arguments if (path := field_for(one, collection)) is not None]
    such = restrictions(reading, collection, each, paths)
    return replace(
        condition, conditions=(*such, *condition.conditions), assumed=(*only_those(such), *condition.assumed)
    )


def many_of(collection: Collection) -> str:
    """What several records of a collection are called; never the same as one."""
    one = noun_of(collection)
    many = name_for_many(plural(one))
    return many if many != one else f"{one}_list"


def _arranged(many: str, asked: Narrowing) -> list[Step]:
    """Sorted, then cut."""
    arranged: list[Expr] = []
    found = Name(many)
    if asked.sort is not None:
        arranged.append(Conditional(is_given(asked.sort), call("sort", found, asked.sort), found))
    if asked.offset is not None:
        arranged.append(Slice(found, call("default", asked.offset, Constant(0)), None))
    if asked.limit is not None:
        arranged.append(Conditional(is_given(asked.limit), Slice(found, None, asked.limit), found))
    return [{"let": {many: one}} for one in arranged]


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
