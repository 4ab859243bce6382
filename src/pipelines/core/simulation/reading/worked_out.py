"""Reads that answer something no record keeps: a price times a number of hours, how many places are left, who
is in a list, whether something may be done. What each property of the reply is to be, its name, its type and
the description say together, in terms of the records at hand (scope). What is not determined is left out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pipelines.core.english.formulas import content_words
from pipelines.core.english.inflection import participle
from pipelines.core.english.measures import degree_in
from pipelines.core.english.words import is_plural, joined, tokens, word_set
from pipelines.core.json_text import Json, JsonObject
from pipelines.core.simulation.domain.references import noun_of_id
from pipelines.core.simulation.domain.roles import field_at
from pipelines.core.simulation.domain.shapes import Collection
from pipelines.core.simulation.expr.make import NULL, Draft, all_of, arithmetic, call, compare
from pipelines.core.simulation.expr.nodes import Conditional, Constant, Expr
from pipelines.core.simulation.reading.arithmetic import worked_out
from pipelines.core.simulation.reading.degrees import measured
from pipelines.core.simulation.reading.descriptions import read_description
from pipelines.core.simulation.reading.filters import condition_of, field_for
from pipelines.core.simulation.reading.limits import LEFT, limit_meant, what_is_left
from pipelines.core.simulation.reading.records import source_of
from pipelines.core.simulation.reading.replies import Source, as_expression, find_path, properties_of, reply
from pipelines.core.simulation.reading.scope import Scope, Slot, Thing, named, scope_of, stems
from pipelines.core.simulation.reading.steps import Drafted, Step, dot
from pipelines.core.simulation.reading.tool_reading import Reading
from pipelines.core.simulation.reading.totals import (
    COUNTS,
    GENERIC,
    MEANS,
    Asked,
    asked_how,
    count_of,
    sum_of,
)
from pipelines.core.simulation.reading.truths import named_truth, told_truth, truth_of

_NUMBERS = ("integer", "number")
_TELLS = word_set("can is has may are does should must allowed")
_MAY = word_set("can may")  # what may be done has not been done: these stay with the word that follows
_APART = stems(("difference", "saving", "gap"))
_TOLD, _LIKELY = 0.85, 0.8
_TELLS_MUCH = 3  # words of a property's description


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """Values by property, and the steps that gather what they are of."""

    values: Mapping[str, Expr]
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    confidence: float = _LIKELY


def read_worked_out(reading: Reading) -> Drafted | None:
    scope = scope_of(reading)
    slots = _slots(reading, scope)
    answers = [*_answers(reading, scope, slots)] if slots else []
    values = {name: value for one in answers for name, value in one.values.items()}
    # What cannot be worked out beside the rest is text: a reason, a message.
    if not values or not all(one.name in values or one.kind == "string" for one in slots):
        return None
    every = [step for one in answers for step in one.steps]
    gathering = [step for at, step in enumerate(every) if step not in every[:at]]
    found = {_name_found(step) for step in gathering}
    steps = (*(step for step in scope.steps if _name_found(step) not in found), *gathering)
    told = (
        f"`{name}` is worked out as `{value}`, by the words of its name and description"
        for name, value in values.items()
    )
    return Drafted(
        steps=(*steps, {"return": _reply(reading, scope, values)}),
        notes=(*(note for one in answers for note in one.notes), *told),
        confidence=min(one.confidence for one in answers),
    )


def _name_found(step: Step) -> Draft:
    found = step.get("find")
    return found.get("as") if isinstance(found, dict) else None


def _reply(reading: Reading, scope: Scope, values: Mapping[str, Expr]) -> Draft:
    if not reading.output:
        return dict(values)
    names = [*properties_of(reading.output)]

    def shared(one: Thing) -> int:
        return sum(find_path(one.collection.fields, name) is not None for name in names)

    main = max(scope.things, key=shared, default=None)
    if main is None:
        source = Source(value=NULL, noun="result", fields={}, extra=values, tells_done=False)
    else:
        source = source_of(main.collection, main.value, main.noun, main.id, extra=values, tells_done=False)
    return reply(source, reading.output, reading.arguments)


# -- what is to be worked out


def _slots(reading: Reading, scope: Scope) -> list[Slot]:
    if not reading.output:
        return [*_asked_plainly(reading, scope)]
    is_told = worked_out(reading.tool.description or "", scope)
    if is_told is None and asked_how(reading) not in ("sum", "mean") and _is_of_another(reading, scope):
        return []
    return [
        Slot(name=name, kind=_kind(schema), schema=schema)
        for name, schema in properties_of(reading.output).items()
        if isinstance(schema, dict) and not _is_known(name, schema, reading, scope)
    ]


def _is_of_another(reading: Reading, scope: Scope) -> bool:
    """`keeper_of_dog(dog_id)`: all that is asked for, a record of the type that the name ends in has."""
    asked = reading.collection
    if asked is None or any(one.collection == asked for one in scope.things):
        return False
    near = {link.entity_type for one in scope.things for link in one.collection.links}
    back = {link.entity_type for link in (*asked.links, *asked.list_links)}
    if (
        scope.things
        and asked.entity_type not in near
        and not back & {one.collection.entity_type for one in scope.things}
    ):
        return False
    declared = properties_of(reading.output).items()
    return all(find_path(asked.fields, name) or _is_id(name, schema, asked) for name, schema in declared)


def _is_id(name: str, schema: Json, collection: Collection) -> bool:
    """`lending_fee` is what a lending costs, and no lending: an id is text or a whole number, and one."""
    is_plain = isinstance(schema, dict) and schema.get("type") in ("string", "integer")
    return is_plain and not is_plural(tokens(name)[-1]) and joined(noun_of_id(name)) in collection.own_names


def _kind(schema: JsonObject) -> str:
    declared = schema.get("type")
    kinds = declared if isinstance(declared, list) else [declared]
    plain = [str(kind) for kind in kinds if kind != "null"]
    return "number" if plain and plain[0] in _NUMBERS else plain[0] if plain else ""


def _is_known(name: str, schema: JsonObject, reading: Reading, scope: Scope) -> bool:
    """An argument given back, the id of a record, or a field of the one that is asked for."""
    if any(joined(one.words) == joined(tokens(name)) for one in reading.arguments):
        return _kind(schema) != "object"
    for thing in scope.things:
        is_id = _is_id(name, schema, thing.collection) or tokens(name) == ("id",)
        if (is_id and len(scope.things) == 1) or _fits(name, schema, thing):
            return not _is_of_the_rest(name, reading, thing)
    return False


def _is_of_the_rest(name: str, reading: Reading, thing: Thing) -> bool:
    """`places`, "that are not taken yet": not all of them, which the record has under that name."""
    said = tokens(reading.said.summary.lower())
    is_asked_apart = any(LEFT & {*tokens(other)} for other in properties_of(reading.output))
    limit = limit_meant(thing, said) if LEFT & {*said} and not is_asked_apart else None
    path = find_path(thing.collection.fields, name)
    return limit is not None and path is not None and limit.most == dot(thing.value, *path)


def _fits(name: str, schema: JsonObject, thing: Thing) -> bool:
    """A field of that name, and of that kind: an object is no text, and a list no number."""
    path = find_path(thing.collection.fields, name)
    if path is None or len(path) > 1:
        return path is not None
    field = thing.collection.fields[path[0]]
    is_list = _kind(schema) == "number" and field.keeps == "list"
    return not is_list and not (_kind(schema) == "string" and field.parts and "text" not in field.kinds)


def _asked_plainly(reading: Reading, scope: Scope) -> Iterator[Slot]:
    """Without an output schema: by how name and description begin."""
    words = [word for word in tokens(reading.tool.name) if word not in _TELLS]
    ends = ["_".join(words[at:]) for at in range(len(words))]
    name = "_".join(reading.name.nouns) or "result"
    description = reading.tool.description or ""
    if worked_out(description, scope):
        yield Slot(name="count" if asked_how(reading) == "count" else name, kind="number", schema={})
    elif any(_has_such(reading, thing, end) for thing in scope.things for end in ends):
        return  # the record has it
    elif reading.name.op == "check" and reading.name.verb not in (*_TELLS, "check"):
        yield Slot(name=participle(reading.name.verb), kind="boolean", schema={})
    elif (reading.name.op == "check" and reading.name.verb in _TELLS) or reading.asks_whether():
        yield Slot(name=name, kind="boolean", schema={})
    elif (how := asked_how(reading)) is not None:
        yield Slot(name="count" if how == "count" else name, kind="number", schema={})


def _has_such(reading: Reading, thing: Thing, name: str) -> bool:
    path = find_path(thing.collection.fields, name)
    field = field_at(thing.collection.fields, path) if path is not None else None
    is_asked = reading.name.op == "check" and reading.name.verb in ("is", "are", "was")
    return field is not None and (not is_asked or "boolean" in field.kinds)


# -- answers


def _answers(reading: Reading, scope: Scope, slots: Sequence[Slot]) -> Iterator[Answer]:
    two = _of_two(reading, scope, slots)
    if two is not None:
        yield two
        return
    numbers = [one for one in slots if one.kind == "number"]
    # A mean and a count of the same records are each the only one of their kind.
    is_only = len(numbers) == 1 or any(MEANS & {*one.words} for one in numbers)
    for slot in numbers:
        asked = Asked(reading=reading, scope=scope, slot=slot, is_only=is_only)
        alone = _alone(asked) if not is_only else None
        found = (_number(alone) if alone is not None else None) or _number(asked)
        if found is not None:
            yield found
    truths = [one for one in slots if one.kind == "boolean"]
    for slot in truths if scope.things else ():
        truth = _truth(reading, scope, slot, is_only=len(truths) == 1)
        if truth is not None:
            yield Answer(values={slot.name: truth}, confidence=_TOLD)
    for slot in slots if scope.things else ():
        value = _related(scope, slot) if slot.kind == "string" else None
        if value is not None:
            yield Answer(values={slot.name: value})


@dataclass(frozen=True, kw_only=True, slots=True)
class _Property:
    """A property of a reply as a tool of its own."""

    name: str
    description: str
    input_schema: Mapping[str, Json]
    output_schema: Mapping[str, Json] | None = None
    annotations: None = None


def _alone(asked: Asked) -> Asked | None:
    """Of several numbers each is what its own description says: "Sum of the fares of ended trips"."""
    told, tool = asked.slot.schema.get("description"), asked.reading.tool
    if not isinstance(told, str) or len(tokens(told)) < _TELLS_MUCH:
        return None
    own = _Property(name=asked.slot.name, description=told, input_schema=tool.input_schema)
    return replace(asked, is_only=True, reading=replace(asked.reading, tool=own, said=read_description(told)))


def _number(asked: Asked) -> Answer | None:
    reading, scope, slot = asked.reading, asked.scope, asked.slot
    how = asked_how(reading)
    own = what_is_left(scope.things, slot.words) if not asked.is_only else None
    if own is not None:
        return Answer(values={slot.name: own})
    if asked.is_only and not (how == "mean" and COUNTS & {*slot.words}):
        description = reading.tool.description or ""
        formula = worked_out(description, scope)
        if formula is not None:
            return Answer(values={slot.name: formula}, confidence=_TOLD)
        said = (*slot.words, *tokens(reading.tool.name), *tokens(reading.said.summary.lower()))
        left = what_is_left(scope.things, said)
        if left is not None:
            return Answer(values={slot.name: left})
        if how in ("sum", "mean"):
            total = sum_of(asked, how)
            return Answer(values={slot.name: total.value}, steps=total.steps) if total is not None else None
        rests = sum_of(asked, "sum", of_rests=True) if how is None and LEFT & {*said} else None
        if rests is not None:  # "what a client still owes on open invoices"
            return Answer(values={slot.name: rests.value}, steps=rests.steps)
        if how is None and (related := _related(scope, slot)) is not None:
            return Answer(values={slot.name: related})
    counted = count_of(asked)
    return Answer(values={slot.name: counted.value}, steps=counted.steps) if counted is not None else None


def _related(scope: Scope, slot: Slot) -> Expr | None:
    """A value of the record at hand, or of one that it refers to: `kiln_label`, `genus` of its taxon."""
    kinds: tuple[str, ...] = ("number",) if slot.kind == "number" else ("text", "time")
    terms = [term for term in scope.terms if term.kind in kinds and not term.is_given]
    words = [word for word in slot.words if word not in GENERIC]
    found = named(words, terms) if words else None
    return found.value if found is not None else None


# -- whether


def _truth(reading: Reading, scope: Scope, slot: Slot, *, is_only: bool) -> Expr | None:
    """As the description tells it; else by the property's own name; else by the tool's."""
    before = tokens(reading.tool.name)[-len(slot.words) - 1 : -len(slot.words)]  # may, of `order_may_be_sold`
    own = [word for word in (*(_MAY & {*before}), *slot.words) if word not in _TELLS - _MAY]
    if not is_only:
        return named_truth(own, scope)
    told = told_truth(reading.tool.description or "", scope)
    if reading.name.op == "check" and reading.name.verb not in _TELLS:
        told = told or _as_given(scope)
    told = told or named_truth(own, scope)
    nouns = frozenset().union(*(one.called for one in scope.things))
    asked = [word for word in tokens(reading.tool.name) if word not in _TELLS - _MAY]
    words = [word for word in asked if not stems((word,)) & nouns]
    told = told or named_truth(words, scope) or _as_given(scope)
    asks_leave = (_MAY | {"allowed"}) & {*tokens(reading.said.summary.lower())}
    if told is not None or not reading.asks_whether() or asks_leave:
        return told
    # A description that is itself what is asked: "the borrower is trained for the category".
    return truth_of([word for word, _ in content_words(reading.said.summary.split())], scope)


def _as_given(scope: Scope) -> Expr | None:
    """`verify_customer(customer_id, birth_date)`: whether the record has what is given."""
    given = [one for one in scope.arguments if one.is_required]
    if len(scope.things) != 1 or not given:
        return None
    thing = scope.things[0]
    fields = [field_for(one, thing.collection) for one in given]
    found = (condition_of(one, thing.noun, thing.collection) for one in given)
    conditions = [one for one in found if one is not None]
    return all_of(*conditions) if None not in fields and len(conditions) == len(given) else None


# -- two of a kind


def _of_two(reading: Reading, scope: Scope, slots: Sequence[Slot]) -> Answer | None:
    """`cheaper(a, b)`: which of two has more of something, or less, and by how much."""
    if len(scope.things) != 2 or scope.things[0].collection != scope.things[1].collection:
        return None
    one, other = scope.things
    values: dict[str, Expr] = {}
    degree = degree_in(tokens(reading.said.summary.lower())) or degree_in(tokens(reading.tool.name))
    field = measured(degree, one.collection) if degree is not None else None
    for slot in slots:
        side = next(
            (each for each in scope.things if each.argument and each.argument.name == slot.name), None
        )
        if slot.kind == "object" and side is not None:
            source = source_of(side.collection, side.value, side.noun, side.id)
            values[slot.name] = as_expression(reply(source, slot.schema, ()))
        elif field is not None and degree is not None:
            first, second = (dot(each.value, *field.split(".")) for each in (one, other))
            if slot.kind == "number" and stems(slot.words) & _APART:
                apart = call("abs", arithmetic(first, "-", second))
                values[slot.name] = call("round", apart, Constant(2))
            else:
                test = compare(first, ">=" if degree.sign == "+" else "<=", second)
                chosen = Conditional(test, one.id, other.id)
                values[slot.name] = call("int", chosen) if slot.kind == "number" else chosen
    return Answer(values=values) if values else None
