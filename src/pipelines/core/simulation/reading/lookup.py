"""Look-ups of one thing: a record by id or by its fields, the one that refers to what an id picks, a part of
it, a value that a service keeps; and what no world keeps, which is invented or refused."""

from collections.abc import Mapping, Sequence

from pipelines.core.english.words import joined, singular, tokens, word_set
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.fields import field_at
from pipelines.core.simulation.domain.shapes import Collection, Field, Singleton
from pipelines.core.simulation.domain.tool_names import without_generic
from pipelines.core.simulation.expr.make import (
    ARGS,
    NULL,
    Draft,
    all_of,
    arg,
    call,
    constant,
    each_of,
    entity,
    is_equal,
    is_given,
    listed,
    message,
)
from pipelines.core.simulation.expr.nodes import Call, Compare, ListOf, Name
from pipelines.core.simulation.reading.filters import condition_of, field_for, only_those, restrictions
from pipelines.core.simulation.reading.listing import asked_collection
from pipelines.core.simulation.reading.records import (
    is_only_spoken_of,
    noun_of,
    ownership,
    reply_name,
    source_of,
)
from pipelines.core.simulation.reading.replies import Source, find_path, properties_of, reply
from pipelines.core.simulation.reading.steps import (
    Bound,
    Drafted,
    Step,
    bind,
    dot,
    find_one,
    id_of,
    name_for,
    not_found,
    refers,
    refusal,
    require,
)
from pipelines.core.simulation.reading.tool_reading import Reading

_UNTOLD = "whether it is so is not worked out: the reply is the record that is asked about"
_OUTSIDE = "nothing in the seeded state answers: the reply is invented from its schema and the arguments"
_IDS = ("id", "uuid", "identifier")
_WHOLE = word_set("details detail info information data record id profile")
_IDS = ("id", "uuid", "identifier")


def read_lookup(reading: Reading) -> Drafted | None:
    """A read of one thing; None when no record, field or value answers to the tool's words."""
    families = (_linked, _by_id, _by_any_id, _by_fields, _service_value)
    return next((found for family in families if (found := family(reading)) is not None), None)


def _by_id(reading: Reading) -> Drafted | None:
    found = reading.subject
    if found is None:
        return None
    if is_only_spoken_of(found.collection):
        has_records = any(not one.is_empty for one in reading.known.tables.values())
        if has_records or reading.output:
            return None  # what nobody knows is looked for wherever it may be, or invented
    bound = bind(found.collection, arg(found.id_argument.name), noun_of(found.collection))
    others = [one for one in reading.arguments if one is not found.id_argument]
    steps = [*bound.steps, *ownership(bound, others, reading)]
    part = part_asked(reading, bound)
    if part is not None and not reading.output:
        value = dot(bound.noun, *part)
        named: Draft = {part[-1]: value} if reading.answers_in_objects else value
        return Drafted(steps=(*steps, {"return": named}), confidence=0.8)
    untold = (_UNTOLD,) if reading.asks_whether() and not reading.output else ()
    sure = 0.4 if untold else 0.95  # what was asked is left out: a guess, and named as one
    return Drafted(steps=(*steps, {"return": _record_reply(reading, bound)}), notes=untold, confidence=sure)


def _by_any_id(reading: Reading) -> Drafted | None:
    """`get_details_by_id(id)`, or an id of what no type is called: whatever has it is meant."""
    about = reading.subject
    given = [one for one in reading.arguments if one.is_required and one.is_scalar and one.words[-1] in _IDS]
    given = [one for one in given if about is None or one is about.id_argument]
    tables = [table for table in reading.known.tables.values() if not table.is_empty]
    is_known = about is not None and not is_only_spoken_of(about.collection)
    if len(given) != 1 or is_known or not tables:
        return None
    id_noun = given[0].id_noun or ()
    noun = name_for(id_noun or ("found",))
    id, candidates, one = arg(given[0].name), Name("candidates"), Name("one")
    matches = ListOf(tuple(entity(table.entity_type, id) for table in tables))
    is_it = is_equal(id_of("one"), call("str", id))
    exact = call("first", each_of(one, "one", candidates, is_it))
    failure = refusal(
        f"{noun}_not_found" if id_noun else "not_found", message("Nothing has the id ", id), 404
    )
    fields = {name: field for table in tables for name, field in table.fields.items()}
    source = Source(value=Name(noun), noun=noun, fields=fields, id=id_of(noun))
    steps: tuple[Step, ...] = (
        {"let": {"candidates": listed(one, "one", matches, is_given(one))}},
        {"let": {noun: call("default", exact, call("first", candidates))}},
        require(is_given(Name(noun)), failure),
        {"return": reply(source, reading.output, reading.arguments)},
    )
    note = f"nothing says of what `{given[0].name}` is the id: whatever has it is answered"
    return Drafted(steps=steps, notes=(note,), confidence=0.5)


def _linked(reading: Reading) -> Drafted | None:
    """`guardian_contact(student_id)`: the one that what the id picks refers to; `lease_by_unit(unit_id)`: the
    one that refers to it."""
    found, target = reading.subject, reading.collection
    if found is None or target is None or target.form != "table" or found.collection.form != "table":
        return None
    own, other = found.collection.entity_type, target.entity_type
    if own == other or target.is_empty or not found.id_argument.is_required:
        return None
    picked = bind(found.collection, arg(found.id_argument.name), noun_of(found.collection))
    part = part_asked(reading, picked)
    noun = name_for(noun_of(target), avoid=(picked.noun,))
    bound = Bound(steps=(), id=id_of(noun), noun=noun, collection=target, holder=noun)
    forth = [link for link in found.collection.links if link.entity_type == other]
    back = [link for link in (*target.links, *target.list_links) if link.entity_type == own]
    if len(forth) == 1 and not any(one.entity_type == own for one in target.links):
        if part not in (None, forth[0].path) or not _covers_more(reading, target, found.collection):
            return None  # `customer_balance(account_id)`: the account has it
        linked = find_one(noun, other, dot(picked.noun, *forth[0].path))
        steps = (*picked.steps, linked, {"return": _record_reply(reading, bound)})
        return Drafted(steps=steps, confidence=0.75)
    is_whether = reading.name.op == "check" or reading.asks_whether()
    if len(back) != 1 or part or is_whether or not _covers_more(reading, target, found.collection):
        return None
    such = restrictions(reading, target, noun, [back[0].path])
    # What a tool is given whose effect is not clear may be what it would keep.
    given = reading.arguments if reading.name.reads() else ()
    others = [one for one in given if one is not found.id_argument and one.is_required]
    conditions = [condition for one in others if (condition := condition_of(one, noun, target)) is not None]
    where = all_of(refers(noun, back[0], arg(found.id_argument.name)), *conditions, *such)
    searched: Step = {"find": {"as": noun, "in": other, "where": where, "else": not_found(noun)}}
    answer = _found_reply(reading, target, noun)
    return Drafted(
        steps=(*picked.steps, searched, {"return": answer}), notes=only_those(such), confidence=0.8
    )


def _covers_more(reading: Reading, one: Collection, other: Collection) -> bool:
    """Whether more of what the reply must have is in the one than in the other."""
    names = list(properties_of(reading.output))
    shared = [sum(find_path(each.fields, name) is not None for name in names) for each in (one, other)]
    return not names or shared[0] > shared[1]


def _record_reply(reading: Reading, bound: Bound) -> Draft:
    part = part_asked(reading, bound)
    inner = field_at(bound.collection.fields, part) if part is not None else None
    names = properties_of(reading.output)
    if (
        part is not None
        and inner is not None
        and inner.keeps is None
        and names
        and {*names} <= {*inner.parts}
    ):
        # `emergency_contact(client_id)`: the name that is asked for is that of the contact
        return reply(Source(value=dot(bound.noun, *part), noun=part[-1], fields=inner.parts), reading.output)
    source = source_of(bound.collection, bound.noun, bound.noun, bound.id, tells_done=False)
    return reply(source, reading.output, reading.arguments)


def part_asked(reading: Reading, bound: Bound) -> tuple[str, ...] | None:
    """`get_order_status(order_id)`: the words after the record's noun name a field of it."""
    own = {*bound.collection.words, *tokens(bound.collection.entity_type)}
    words = [word for word in reading.name.nouns if singular(word) not in own]
    if not words or words[-1] in _WHOLE:
        return None
    fields = bound.collection.fields
    return find_path(fields, "_".join(words)) or find_path(fields, words[-1])


def _by_fields(reading: Reading) -> Drafted | None:
    """`find_user_id_by_email(email)`: the one record whose fields are these."""
    collection = asked_collection(reading)
    if collection is None or not collection.of_records or collection.form != "table":
        return None
    given = [one for one in reading.arguments if one.is_required]
    known = [one for one in given if field_for(one, collection) is not None]
    if all(one.is_measure for one in known) or (_may_be_many(reading) and _are_shared(known, collection)):
        return None
    # One unknown field among several leaves enough to find the record by; one alone does not.
    if not known or len(given) - len(known) > 1:
        return None
    noun = noun_of(collection)
    conditions = [condition for one in known if (condition := condition_of(one, noun, collection))]
    # Plain equality first: that one an index answers.
    conditions.sort(key=lambda one: isinstance(one, Compare) and isinstance(one.first, Call))
    where = all_of(*conditions)
    found: Step = {
        "find": {"as": noun, "in": collection.entity_type, "where": where, "else": not_found(noun)}
    }
    ignored = [one.name for one in given if one not in known]
    return Drafted(
        steps=(found, {"return": _found_reply(reading, collection, noun)}),
        notes=tuple(f"argument `{name}` is not checked: no field answers to it" for name in ignored),
        confidence=0.9 if not ignored else 0.6,
    )


def _may_be_many(reading: Reading) -> bool:
    """Nothing says that it is one: neither a schema, nor `find_user_id_by_email`."""
    return not reading.output and not reading.name.complement("by") and reading.name.nouns[-1:] != ("id",)


def _are_shared(known: Sequence[Argument], collection: Collection) -> bool:
    """`gear_available(kind)`: a kind or a state finds no single one; name and zip may."""
    path = field_for(known[0], collection) if len(known) == 1 and known[0].id_noun is None else None
    field = field_at(collection.fields, path) if path is not None else None
    return field is not None and bool(field.values)


def _found_reply(reading: Reading, collection: Collection, noun: str) -> Draft:
    if reading.name.nouns[-1:] in (("id",), ("ids",)) and not reading.output:
        return {f"{noun}_id": id_of(noun)} if reading.answers_in_objects else id_of(noun)
    if not reading.output and not collection.shows_id:
        # Found by something else, it is of no use without its id.
        return {collection.id_field or "id": id_of(noun), "...": Name(noun)}
    return _record_reply(
        reading, Bound(steps=(), id=id_of(noun), noun=noun, collection=collection, holder=noun)
    )


def _service_value(reading: Reading) -> Drafted | None:
    """`get_opening_hours()`: an attribute of the service, by its words."""
    found = _service_field(reading)
    if found is None or any(one.is_required for one in reading.arguments):
        return None
    service, path, field = found
    value: Draft = dot(name_for(service.entity_type), *path)
    if reading.output:
        source = Source(value=value, noun=path[-1], fields=field.parts, is_list=field.keeps == "list")
        value = reply(source, reading.output, reading.arguments)
    elif "object" not in field.kinds or field.keeps is not None:
        value = {reply_name(reading): value}
    into = find_one(name_for(service.entity_type), service.entity_type, constant(service.id))
    return Drafted(steps=(into, {"return": value}), confidence=0.8)


def _service_field(reading: Reading) -> tuple[Singleton, tuple[str, ...], Field] | None:
    services = sorted(reading.known.singletons, key=lambda one: one is not reading.service)
    for words in (reading.name.nouns, without_generic(reading.name.nouns)):
        for service in services:
            path = _named_path(service.fields, joined(words)) if words else None
            field = field_at(service.fields, path) if path is not None else None
            if path is not None and field is not None:
                return service, path, field
    return None


def _named_path(fields: Mapping[str, Field], wanted: str) -> tuple[str, ...] | None:
    for name, field in fields.items():
        if joined(tokens(name)) == wanted:
            return (name,)
        inner = next((part for part in field.parts if joined(tokens(part)) == wanted), None)
        if field.keeps is None and inner is not None:
            return (name, inner)
    return None


def read_outside(reading: Reading) -> Drafted | None:
    """`get_weather(city)`: what no world keeps is invented in the shape declared, alike for like arguments.
    An id of something that the world has is still not found. Without a schema there is no shape to invent,
    and nothing is missing either: the answer is empty."""
    about = reading.subject
    if about is not None and not is_only_spoken_of(about.collection):
        return None
    if reading.output:
        source = Source(value=NULL, noun="result", fields={}, invents_all=True)
        answer = reply(source, reading.output, reading.arguments)
        if answer == source.value:  # no object: the whole of it
            answer = call("invented", constant(dict(reading.output)), constant("result"), ARGS)
        return Drafted(steps=({"return": answer},), notes=(_OUTSIDE,), confidence=0.4)
    if reading.known.is_empty or any(one.id_noun is not None for one in reading.arguments if one.is_required):
        return None
    empty: Draft = [] if reading.wants_many() else {reply_name(reading): None}
    note = f"nothing in the seeded state answers to `{reading.tool.name}`: the reply is empty"
    return Drafted(steps=({"return": empty},), notes=(note,), confidence=0.2)


def refuse(reading: Reading) -> Drafted:
    """Something the world does not know: an honest 404, never an invented record."""
    failure = refusal("not_found", "Nothing of that kind is in this world", 404)
    if not reading.name.reads():
        failure = refusal("not_simulated", f"No declared type answers to {reading.tool.name}", 501)
    elif reading.thing:
        failure = not_found(name_for(reading.thing[-1:]))
    note = f"nothing in the seeded state answers to `{reading.tool.name}`"
    return Drafted(steps=({"fail": failure},), notes=(note,), confidence=0.2)
