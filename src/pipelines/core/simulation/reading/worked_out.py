"""Reads that answer something no record keeps: a price times a number of hours, how many places are left, who
is in a list, whether something may be done. What each property of the reply is to be, its name, its type and
the description say together, in terms of the records at hand (scope). What is not determined is left out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pipelines.core.english.formulas import content_words
from pipelines.core.english.measures import degree_in
from pipelines.core.english.words import is_plural, joined, tokens, word_set
from pipelines.core.json_text import Json, JsonObject
from pipelines.core.simulation.domain.references import noun_of_id
from pipelines.core.simulation.domain.shapes import Collection
from pipelines.core.simulation.reading.arithmetic import worked_out
from pipelines.core.simulation.reading.asked import asked_collection
from pipelines.core.simulation.reading.degrees import measured
from pipelines.core.simulation.reading.limits import LEFT, limit_meant
from pipelines.core.simulation.reading.listing import gathered
from pipelines.core.simulation.reading.records import source_of
from pipelines.core.simulation.reading.replies import Source, find_path, properties_of, reply
from pipelines.core.simulation.reading.restrictions import restrictions, stated_in
from pipelines.core.simulation.reading.scope import (
    Scope,
    Term,
    Thing,
    each_of,
    ids_of,
    likeness,
    named,
    nouns_of,
    scope_of,
    stems,
)
from pipelines.core.simulation.reading.steps import Drafted, Step, dot
from pipelines.core.simulation.reading.tool_reading import Reading
from pipelines.core.simulation.reading.truths import named_truth, told_truth, truth_of

_NUMBERS = ("integer", "number")
_COUNTS = word_set("count headcount tally")
_HOW_MANY = {("number", "of"), ("how", "many"), ("how", "often")}
_SUMS = word_set("sum total totals altogether overall combined")
_IN_ALL = word_set("altogether overall combined")
_OVER_ALL = {("in", "total"), ("over", "all"), ("in", "all")}
_MEANS = word_set("average mean")
_OPENING = 6  # words of a description in which it says that something is counted or added up
_COUNTED = word_set("size count total times")
_GENERIC = word_set("total sum count number amount value all over result answer")
_TELLS = word_set("can is has may are does should must allowed")
_SUREST, _LIKELY = 0.85, 0.8


@dataclass(frozen=True, kw_only=True, slots=True)
class Slot:
    """One property of the reply that is to be worked out; with no output schema, the whole reply."""

    name: str
    kind: str  # number, boolean, string or object
    schema: Mapping[str, Json]

    @property
    def words(self) -> tuple[str, ...]:
        return (*tokens(self.name), *tokens(str(self.schema.get("description") or "")))


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """Expressions by property, and the steps that gather what they are of."""

    values: Mapping[str, str]
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    confidence: float = _LIKELY


def read_worked_out(reading: Reading) -> Drafted | None:
    scope = scope_of(reading)
    slots = _slots(reading, scope)
    if not slots:
        return None
    answers = [*_answers(reading, scope, slots)]
    values = {name: value for one in answers for name, value in one.values.items()}
    if not values or (reading.output and not _is_enough(slots, values)):
        return None
    gathering = tuple(step for one in answers for step in one.steps)
    steps = (*(step for step in scope.steps if not _is_found_again(step, gathering)), *gathering)
    notes = (*(note for one in answers for note in one.notes), *_told(values))
    confidence = min(one.confidence for one in answers)
    return Drafted(steps=(*steps, {"return": _reply(reading, scope, values)}), notes=notes, confidence=confidence)


def _is_found_again(step: Step, others: Sequence[Step]) -> bool:
    found = step.get("find")
    again = [one["find"] for one in others if isinstance(one.get("find"), dict)]
    return isinstance(found, dict) and any(
        isinstance(one, dict) and one.get("as") == found.get("as") for one in again
    )


def _is_enough(slots: Sequence[Slot], values: Mapping[str, str]) -> bool:
    """What cannot be worked out beside the rest is text: a reason, a message."""
    return all(one.name in values or one.kind == "string" for one in slots)


def _told(values: Mapping[str, str]) -> Iterator[str]:
    for name, value in values.items():
        yield f"`{name}` is worked out as `{value}`, by the words of its name and description"


def _reply(reading: Reading, scope: Scope, values: Mapping[str, str]) -> Json:
    if not reading.output:
        return dict(values)
    main = _main(reading, scope)
    if main is None:
        source = Source(value="null", noun="result", fields={}, extra=values, tells_done=False)
    else:
        source = source_of(main.collection, main.text, main.text, main.id, extra=values, tells_done=False)
    return reply(source, reading.output, reading.arguments)


def _main(reading: Reading, scope: Scope) -> Thing | None:
    """The record that most of the reply is from."""
    names = [*properties_of(reading.output)]
    return max(
        scope.things, key=lambda one: sum(find_path(one.collection.fields, name) is not None for name in names), default=None
    )  # fmt: skip


# -- what is to be worked out


def _slots(reading: Reading, scope: Scope) -> list[Slot]:
    if not reading.output:
        return [*_asked_plainly(reading, scope)]
    if _is_of_another(reading, scope):
        return []
    declared = {
        name: schema for name, schema in properties_of(reading.output).items() if isinstance(schema, dict)
    }
    return [
        Slot(name=name, kind=_kind(schema), schema=schema)
        for name, schema in declared.items()
        if not _is_known(name, schema, reading, scope)
    ]


def _is_of_another(reading: Reading, scope: Scope) -> bool:
    """`keeper_of_dog(dog_id)`: all that is asked for, a record of the type that the name ends in has."""
    asked = reading.collection
    if asked is None or any(one.collection == asked for one in scope.things):
        return False
    declared = properties_of(reading.output)
    return all(
        find_path(asked.fields, name) is not None or _is_id(name, schema, asked)
        for name, schema in declared.items()
    )


def _is_id(name: str, schema: Json, collection: Collection) -> bool:
    """`lending_fee` is what a lending costs, and no lending: an id is text or a whole number."""
    is_plain = isinstance(schema, dict) and schema.get("type") in ("string", "integer")
    return is_plain and joined(noun_of_id(name)) in collection.own_names


def _kind(schema: JsonObject) -> str:
    declared = schema.get("type")
    kinds = declared if isinstance(declared, list) else [declared]
    plain = [str(kind) for kind in kinds if kind != "null"]
    return "number" if plain and plain[0] in _NUMBERS else plain[0] if plain else ""


def _is_known(name: str, schema: JsonObject, reading: Reading, scope: Scope) -> bool:
    """An argument given back, the id of a record, or a field of the one that is asked for."""
    words = tokens(name)
    if any(joined(one.words) == joined(words) for one in reading.arguments):
        return _kind(schema) != "object"
    for thing in scope.things:
        is_id = _is_id(name, schema, thing.collection) or words == ("id",)
        if (is_id and len(scope.things) == 1) or _fits(name, schema, thing):
            return True
    return False


def _fits(name: str, schema: JsonObject, thing: Thing) -> bool:
    """A field of that name, and of that kind: an object is no text."""
    path = find_path(thing.collection.fields, name)
    if path is None:
        return False
    field = thing.collection.fields[path[0]]
    return not (len(path) == 1 and _kind(schema) == "string" and field.parts and "text" not in field.kinds)


def _asked_plainly(reading: Reading, scope: Scope) -> Iterator[Slot]:
    """Without an output schema: by how name and description begin."""
    name = "_".join(reading.name.nouns) or "result"
    if any(part_named(reading, one) for one in scope.things):
        return  # the record has it
    if reading.name.op == "check" and reading.name.verb in _TELLS or reading.asks_whether():
        yield Slot(name=name, kind="boolean", schema={})
    elif _how(reading) is not None or worked_out(reading.tool.description or "", scope) is not None:
        yield Slot(name="count" if _how(reading) == "count" else name, kind="number", schema={})


def part_named(reading: Reading, thing: Thing) -> bool:
    words = [word for word in tokens(reading.tool.name) if word not in _TELLS]
    return any(find_path(thing.collection.fields, "_".join(words[at:])) for at in range(len(words)))


def _how(reading: Reading) -> str | None:
    """A count, a sum or a mean: by the name, then by how the description begins."""
    if reading.name.op == "count":
        return "count"
    summary = tokens(reading.said.summary.lower())
    for words in (tokens(reading.tool.name), summary[:_OPENING]):
        spoken = {*words}
        if spoken & _MEANS:
            return "mean"
        if spoken & _COUNTS or _HOW_MANY & {*pairwise(words)}:
            return "count"
        if spoken & _SUMS or ({"up"} < spoken & {"add", "adds", "up"}):
            return "sum"
    return "sum" if _IN_ALL & {*summary} or _OVER_ALL & {*pairwise(summary)} else None


# -- answers


def _answers(reading: Reading, scope: Scope, slots: Sequence[Slot]) -> Iterator[Answer]:
    numbers = [one for one in slots if one.kind == "number"]
    two = _of_two(reading, scope, slots)
    if two is not None:
        yield two
        return
    if numbers:
        found = _numbers(reading, scope, numbers)
        if found is not None:
            yield found
    for slot in slots:
        if slot.kind == "boolean":
            truth = _truth(reading, scope, slot, only=sum(one.kind == "boolean" for one in slots) == 1)
            if truth is not None:
                yield Answer(values={slot.name: truth}, confidence=_SUREST)
        elif slot.kind == "string" and scope.things:
            value = _related(scope, slot)
            if value is not None:
                yield Answer(values={slot.name: value})


def _numbers(reading: Reading, scope: Scope, slots: Sequence[Slot]) -> Answer | None:
    description = reading.tool.description or ""
    if len(slots) == 1:
        how = _how(reading)
        if (formula := worked_out(description, scope)) is not None:
            return Answer(values={slots[0].name: formula}, confidence=_SUREST)
        left = _left(reading, scope, slots[0])
        if left is not None:
            return Answer(values={slots[0].name: left})
        if how in ("sum", "mean"):
            return _sum(reading, scope, slots[0], how)
        rate = _by_rate(reading, scope)
        if rate is not None and how is None:
            note = f"`{slots[0].name}` is taken for a price, of which nothing says how it is made"
            return Answer(values={slots[0].name: rate}, notes=(note,), confidence=0.6)
        related = _related_number(scope, slots[0])
        if related is not None and how is None:
            return Answer(values={slots[0].name: related})
    return _counts(reading, scope, slots)


def _left(reading: Reading, scope: Scope, slot: Slot) -> str | None:
    """ "places left", "slots that are not used yet": of what there is, less what is taken."""
    said = (*slot.words, *tokens(reading.tool.name), *tokens(reading.said.summary.lower()))
    if not LEFT & {*said}:
        return None
    found = [limit for thing in scope.things if (limit := limit_meant(thing, said)) is not None]
    return f"{found[0].most} - {found[0].used}" if len(found) == 1 else None


def _by_rate(reading: Reading, scope: Scope) -> str | None:
    """`quote(room_id, nights)` where rooms have a nightly_rate: so much for each."""
    given = {f"args.{one.name}": one for one in scope.arguments if one.kind == "number"}
    found = []
    for term in scope.of_kind("number"):
        for text, argument in given.items():
            if term.text not in given and term.many is None and _is_rate(term, argument.words):
                found.append(f"{term.text} * {text}")
    return found[0] if len(found) == 1 else None


def _is_rate(term: Term, unit: Sequence[str]) -> bool:
    """`price_per_player` for players, `hourlyRate` for hours."""
    head = tokens(unit[-1])[-1]
    price = {"price", "rate", "cost", "fee", "tariff", "fare"} & {*term.own, *term.about}
    return bool(price) and any(likeness([(head, 1.0)], replace(term, own=(part,))) > 0.5 for part in term.own)


def _related_number(scope: Scope, slot: Slot) -> str | None:
    terms = [term for term in scope.of_kind("number") if not term.text.startswith("args.")]
    words = [word for word in slot.words if word not in _GENERIC]
    found = named(words, terms) if words else None
    return found.text if found is not None else None


def _related(scope: Scope, slot: Slot) -> str | None:
    """A value of a record that the one at hand refers to: `kiln_label`, `genus` of its taxon."""
    given = {f"args.{one.name}" for one in scope.arguments}
    terms = [term for term in scope.of_kind("text", "time") if term.text not in given]
    found = named(slot.words, terms)
    return found.text if found is not None else None


# -- over several records


def _sum(reading: Reading, scope: Scope, slot: Slot, how: str) -> Answer | None:
    total = "mean" if how == "mean" else "sum"
    best: tuple[float, Answer] | None = None
    for steps, many, element in _sets(reading, scope, slot):
        fit, value = _element(reading, replace(scope, things=(element,)), slot)
        if value is not None and (best is None or fit > best[0]):
            listed = many.replace("\0", value)
            best = fit, Answer(values={slot.name: f"round({total}({listed}), 2)"}, steps=steps)
    return best[1] if best is not None else None


def _element(reading: Reading, scope: Scope, slot: Slot) -> tuple[float, str | None]:
    """What of each record is added up, and how plainly the words say so: a formula, what is left of it, or
    the number that they name."""
    formula = worked_out(reading.tool.description or "", scope)
    if formula is not None:
        return 9.0, formula
    left = _left(reading, scope, slot)
    if left is not None:
        return 8.0, left
    base = f"{scope.things[0].text}."
    own = [term for term in scope.of_kind("number") if term.text.startswith(base)]
    words = (*slot.words, *tokens(reading.tool.name), *tokens(reading.said.summary.lower()))
    spoken = stems(word for word in words if word not in _GENERIC)
    met = [(len(stems(term.own) & spoken) / len(stems(term.own)), term) for term in own]
    best = max((score for score, _ in met), default=0.0)
    fit = [term for score, term in met if score == best]
    is_plain = best > 0 or (len(own) == 1 and bool(scope.things[0].called & spoken))
    return best, fit[0].text if len(fit) == 1 and is_plain else None


def _sets(reading: Reading, scope: Scope, slot: Slot) -> Iterator[tuple[tuple[Step, ...], str, Thing]]:
    """Steps, a list with a hole for the value of each, and what each is: what the words ask for."""
    many = [term for term in scope.of_kind("many") if term.many is not None and term.many.collection]
    spoken = stems((*tokens(reading.said.summary), *tokens(reading.tool.name), *slot.words))
    for term in sorted(many, key=lambda one: not stems(one.own) & spoken):
        if term.many is not None and term.many.collection is not None:
            such = restrictions(reading, term.many.collection, "each")
            yield (), term.many.narrowed(*such).listed("\0"), each_of(term.many.collection)
    collection = asked_collection(reading, of_many=True)
    if collection is not None and collection.form == "table" and not collection.is_empty:
        if all(one.collection != collection for one in scope.things):
            steps, found, _ = gathered(reading, collection)
            yield tuple(steps), f"[\0 for each in {found}]", each_of(collection)


def _counts(reading: Reading, scope: Scope, slots: Sequence[Slot]) -> Answer | None:
    """How many there are, and how many of them are in a state that a property names."""
    counted = [_counted(reading, scope, slot, alone=len(slots) == 1) for slot in slots]
    if None in counted:
        return None
    values = {slot.name: one[1] for slot, one in zip(slots, counted, strict=True) if one is not None}
    steps = tuple(dict((str(step), step) for one in counted if one is not None for step in one[0]).values())
    return Answer(values=values, steps=steps)


def _counted(
    reading: Reading, scope: Scope, slot: Slot, *, alone: bool
) -> tuple[tuple[Step, ...], str] | None:
    words = (*slot.words, *(tokens(reading.said.summary.lower()) if alone else ()))
    if (_how(reading) != "count" or not alone) and not _asks_count(reading, slot):
        return None
    spoken = stems((*words, *tokens(reading.said.summary.lower()), *tokens(reading.tool.name)))
    many = [term for term in scope.of_kind("many") if term.many is not None]
    fit = [term for term in many if _is_spoken_of(term, spoken)]
    texts = {term.text for term in fit}
    own_lists = {term.text for term in many if any(term.many and term.many.source == ids_of(one, link) for one in scope.things for link in one.collection.list_links)}
    if "size" in slot.words and len(own_lists) == 1:
        fit, texts = [term for term in many if term.text in own_lists], own_lists
    if len(texts) > 1:
        listed = {term.text for term in fit if stems(term.own) & stems(slot.words)}
        texts = listed if len(listed) == 1 else {term.text for term in fit if stems(term.own) & spoken}
    if len(texts) == 1 and fit:
        term = next(one for one in fit if one.text in texts)
        assert term.many is not None
        collection = term.many.collection
        such = _such(reading, slot, collection, alone=alone) if collection else []
        return (), f"len({term.many.narrowed(*such).listed()})"
    return _counted_apart(reading, scope, slot, alone=alone)


def _such(reading: Reading, slot: Slot, collection: Collection, *, alone: bool) -> list[str]:
    return restrictions(reading, collection, "each") if alone else stated_in(slot.words, collection, "each")


def _asks_count(reading: Reading, slot: Slot) -> bool:
    """`stays`, `size`, `occupied`: a whole number, by the name of what there are so many of, or of a state."""
    if slot.schema.get("type") != "integer" or tokens(slot.name)[-1] in ("id", "no", "number"):
        return False
    known = reading.known
    nouns = {stem for table in known.tables.values() for stem in nouns_of(table)}
    spoken = stems(slot.words)
    is_plural_noun = any(is_plural(word) and stems((word,)) & nouns for word in slot.words)
    return is_plural_noun or bool(spoken & stems(word for state in known.states for word in tokens(state))) or bool({*slot.words} & _COUNTED)


def _is_spoken_of(term: Term, spoken: frozenset[str]) -> bool:
    collection = term.many.collection if term.many is not None else None
    nouns = stems(term.own) | (nouns_of(collection) if collection is not None else frozenset())
    if nouns & spoken:
        return True
    # "How many drafts a show has": of episodes that can be drafts.
    values = _values(collection) if collection is not None else frozenset()
    return bool(values & spoken)


def _values(collection: Collection) -> frozenset[str]:
    held = (one.values for one in collection.fields.values() if "text" in one.kinds)
    return stems(word for values in held for value in values if isinstance(value, str) for word in tokens(value))


def _counted_apart(
    reading: Reading, scope: Scope, slot: Slot, *, alone: bool
) -> tuple[tuple[Step, ...], str] | None:
    collection = asked_collection(reading, of_many=True)
    if collection is None or collection.form != "table" or collection.is_empty:
        return None
    if any(one.collection == collection for one in scope.things):
        return None
    spoken = stems((*slot.words, *tokens(reading.said.summary), *tokens(reading.tool.name)))
    element = each_of(collection)
    inner = [term for link in collection.list_links for term in [link] if stems(tokens(link.path[0])) & stems(slot.words)]
    steps, found, _ = gathered(reading, collection)
    if inner:  # pupils, over all lessons of the day
        return tuple(steps), f"sum([len({dot('each', inner[0].path[0])}) for each in {found}])"
    if not element.called & spoken and not _values(collection) & spoken:
        return None
    such = [] if alone else stated_in(slot.words, collection, "each")
    suffix = f" if {' and '.join(such)}" if such else ""
    return tuple(steps), f"len([each for each in {found}{suffix}])" if suffix else f"len({found})"


# -- whether


def _truth(reading: Reading, scope: Scope, slot: Slot, *, only: bool) -> str | None:
    description = reading.tool.description or ""
    if not scope.things:
        return None
    told = told_truth(description, scope) if only else None
    if told is not None:
        return told
    words = [word for word in tokens(reading.tool.name) if word not in _TELLS and not _is_noun(word, scope)]
    own = [word for word in slot.words if word not in _TELLS]
    return named_truth(own, scope) or (named_truth(words, scope) if only else None) or _whole(reading, scope, only)


def _whole(reading: Reading, scope: Scope, only: bool) -> str | None:
    """A description that is itself what is asked: "the borrower is trained for the category"."""
    words = [word for word, _ in content_words(reading.said.summary.split())]
    return truth_of(words, scope) if only and reading.asks_whether() else None


def _is_noun(word: str, scope: Scope) -> bool:
    return any(stems((word,)) & one.called for one in scope.things)


# -- two of a kind


def _of_two(reading: Reading, scope: Scope, slots: Sequence[Slot]) -> Answer | None:
    """`cheaper(a, b)`: which of two has more of something, or less, and by how much."""
    if len(scope.things) != 2 or scope.things[0].collection != scope.things[1].collection:
        return None
    one, other = scope.things
    values: dict[str, str] = {}
    degree = degree_in([*tokens(reading.said.summary.lower())]) or degree_in([*tokens(reading.tool.name)])
    field = measured(degree, one.collection) if degree is not None else None
    for slot in slots:
        side = next((each for each in scope.things if each.argument and joined(each.argument.words) == joined(tokens(slot.name))), None)  # fmt: skip
        if slot.kind == "object" and side is not None:
            source = source_of(side.collection, side.text, side.text, side.id)
            values[slot.name] = _as_text(reply(source, slot.schema, ()))
        elif field is not None and degree is not None:
            first, second = f"{one.text}.{field}", f"{other.text}.{field}"
            sign = ">=" if degree.sign == "+" else "<="
            if slot.kind == "number" and stems(slot.words) & stems(("difference", "saving", "gap")):
                values[slot.name] = f"round(abs({first} - {second}), 2)"
            else:
                value = f"({one.id} if {first} {sign} {second} else {other.id})"
                values[slot.name] = f"int({value})" if slot.kind == "number" else value
    return Answer(values=values) if values else None


def _as_text(value: Json) -> str:
    from pipelines.core.simulation.reading.replies import as_expression

    return as_expression(value)

