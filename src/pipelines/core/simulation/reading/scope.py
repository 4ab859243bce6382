"""What a description can speak of: the records that arguments pick, what these keep, what they refer to and
what refers to them, and the arguments themselves. Each is a typed term with the words that it goes by; a
phrase means the term that explains most of its words, or nothing."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal, TypeAlias

from pipelines.core.english.formulas import content_words
from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.english.words import singular, tokens, word_set
from pipelines.core.json_text import Json
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.fields import in_full
from pipelines.core.simulation.domain.references import ID_WORDS
from pipelines.core.simulation.domain.shapes import Collection, Field, Link
from pipelines.core.simulation.expr.make import all_of, arg, call, entities, entity, listed
from pipelines.core.simulation.expr.nodes import Expr, Name
from pipelines.core.simulation.reading.records import noun_of
from pipelines.core.simulation.reading.steps import Step, bind, dot, id_of, name_for, refers
from pipelines.core.simulation.reading.targets import best_collection, subject_of
from pipelines.core.simulation.reading.tool_reading import Reading

Kind: TypeAlias = Literal["number", "text", "time", "flag", "many"]

_TIME = re.compile(r"\d{4}-\d\d(?:-\d\d)?(?:$|[T ])|\d\d:\d\d$")
_SAYS_LITTLE = word_set("id ids number no amount value total sum count per is has the of in at on by to")
_RATES = word_set("rate price cost fee")
_UNSAID = 0.4  # taken off for each word that is not explained
_LEAST = 0.3
_LEAD = 0.1
_DEPTH = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Many:
    """Several records, or plain values, and what is asked of each."""

    collection: Collection | None
    source: Expr
    where: tuple[Expr, ...] = ()
    each: str = "each"

    def narrowed(self, *conditions: Expr) -> "Many":
        return replace(self, where=(*self.where, *conditions))

    def listed(self, value: Expr | None = None) -> Expr:
        if value is None and not self.where:
            return self.source
        tests = (all_of(*self.where),) if self.where else ()
        return listed(value or Name(self.each), self.each, self.source, *tests)

    def counted(self) -> Expr:
        return call("len", self.listed())


@dataclass(frozen=True, kw_only=True, slots=True)
class Term:
    value: Expr
    kind: Kind
    own: tuple[str, ...]  # words that it is called by
    about: frozenset[str] = frozenset()  # words of what it belongs to
    prior: float = 0.0
    many: Many | None = None  # what a count counts
    is_given: bool = False  # an argument


@dataclass(frozen=True, kw_only=True, slots=True)
class Slot:
    """One property of a reply that is to be worked out; with no output schema, the whole reply."""

    name: str
    kind: str  # number, boolean, string or object
    schema: Mapping[str, Json]

    @property
    def words(self) -> tuple[str, ...]:
        told = self.schema.get("description")
        return (*tokens(self.name), *(tokens(told) if isinstance(told, str) and told else ()))


@dataclass(frozen=True, kw_only=True, slots=True)
class Thing:
    """A record at hand."""

    value: Expr
    id: Expr
    collection: Collection
    called: frozenset[str]
    argument: Argument | None = None  # that picks it
    is_linked: bool = False  # another one refers to it

    @property
    def noun(self) -> str:
        """The name under which the plan has it, unless another one refers to it."""
        return str(self.value)


@dataclass(frozen=True, kw_only=True)  # no slots: its terms are found once and kept
class Scope:
    reading: Reading
    steps: tuple[Step, ...]
    things: tuple[Thing, ...]
    arguments: tuple[Argument, ...]  # those that pick nothing

    @cached_property
    def linked(self) -> tuple[Thing, ...]:
        near = [other for one in self.things for other in _linked(self.reading, one)]
        own = {one.collection.entity_type for one in (*self.things, *near)}
        far = [other for one in near for other in _linked(self.reading, one)]
        # Through another record: the variety of an order's batch. What is nearer is meant before it.
        return (*near, *(one for one in far if one.collection.entity_type not in own))

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        given = (_of_argument(one) for one in self.arguments)
        own = (term for one in self.things for term in (*of_record(one), *_of_lists(self.reading, one)))
        linked = (replace(term, prior=term.prior - 0.2) for one in self.linked for term in of_record(one))
        back = (term for one in self.things for term in of_those_behind(self.reading, one))
        return (*(one for one in given if one is not None), *own, *linked, *back)

    def of_kind(self, *kinds: Kind) -> list[Term]:
        return [term for term in self.terms if term.kind in kinds]


def scope_of(reading: Reading) -> Scope:
    """Every argument that is an id picks its record; no two go by one name."""
    steps: list[Step] = []
    things: list[Thing] = []
    rest: list[Argument] = []
    for argument in reading.arguments:
        found = subject_of(reading.name, [argument], reading.known, reading.service)
        found = found if argument.is_required else None  # what may be left out narrows
        if found is not None and found.is_taken and not _is_plainly_id(reading, argument):
            found = None
        if found is None or found.collection.form != "table" or found.collection.is_empty:
            rest.append(argument)
            continue
        noun = noun_of(found.collection)
        while any(one.noun == noun for one in things):
            noun = f"other_{noun}"
        bound = bind(found.collection, arg(argument.name), noun)
        steps += bound.steps
        things.append(
            Thing(
                value=Name(noun), id=bound.id, collection=found.collection, argument=argument,
                called=stems(argument.words) | nouns_of(found.collection),
            )
        )  # fmt: skip
    for pair in _pairs(reading, rest) if not things else ():
        bound = bind(pair.collection, pair.id, pair.noun)
        steps += bound.steps
        things.append(replace(pair, id=bound.id))
        rest = [one for one in rest if one is not pair.argument]
    return Scope(reading=reading, steps=tuple(steps), things=tuple(things), arguments=tuple(rest))


def _is_plainly_id(reading: Reading, argument: Argument) -> bool:
    """`can_redeem(code)`: of a read, the one argument that is called as ids are, or the only one there is."""
    if argument.is_key:
        return True
    needed = [one for one in reading.arguments if one.is_required]
    coded = [one for one in needed if one.words[-1] in ID_WORDS]
    return reading.name.op == "check" and argument in (coded or needed) and len(coded or needed) == 1


_ONE_OF_TWO = word_set("a b first second one two left right other this that from to 1 2")


def _pairs(reading: Reading, open_ones: Sequence[Argument]) -> list[Thing]:
    """`compare_rooms(a, b)`, `cheaper(first_plan, second_plan)`: two of what the tool speaks of."""
    alike_ones = [
        one for one in open_ones if one.is_required and one.is_scalar and _ONE_OF_TWO & {*one.words}
    ]
    said = {tuple(word for word in one.words if word not in _ONE_OF_TWO) for one in alike_ones}
    if len(alike_ones) != 2 or len(said) != 1:
        return []
    noun = said.pop()
    meant = best_collection(noun, reading.known, reading.service) if noun else reading.collection
    if meant is None or meant.form != "table" or meant.is_empty:
        return []
    called = nouns_of(meant)
    return [
        Thing(
            value=Name(name_for(one.words)), id=arg(one.name), collection=meant, called=called, argument=one
        )
        for one in alike_ones
    ]


def each_of(collection: Collection, each: str = "each") -> Thing:
    """Any record of a collection, under the name it has inside a list."""
    return Thing(value=Name(each), id=id_of(each), collection=collection, called=nouns_of(collection))


def stems(words: Iterable[str]) -> frozenset[str]:
    return frozenset(stem(singular(word)) for word in words)


def nouns_of(collection: Collection) -> frozenset[str]:
    named = (collection.words, *collection.called, tokens(collection.entity_type))
    return frozenset(stem(singular(word)) for noun in named for word in noun)


# -- terms


def _of_argument(one: Argument) -> Term | None:
    kind: Kind | None = {"number": "number", "text": "text", "any": "text"}.get(one.kind)  # type: ignore[assignment]
    if kind is None:
        return None
    about = stems(tokens(one.description)) if one.description else frozenset()
    return Term(value=arg(one.name), kind=kind, own=one.words, about=about, prior=0.3, is_given=True)


def of_record(thing: Thing) -> Iterator[Term]:
    refers = {link.path for link in (*thing.collection.links, *thing.collection.list_links)}
    yield from _of_fields(thing.value, thing.collection.fields, thing.called, refers, ())


def _of_fields(
    base: Expr,
    fields: Mapping[str, Field],
    about: frozenset[str],
    refers: set[tuple[str, ...]],
    path: tuple[str, ...],
) -> Iterator[Term]:
    for name, one in fields.items():
        here, place = (*path, name), dot(base, name)
        if here in refers or tokens(name)[-1] in ("id", "ids"):
            continue
        if one.keeps == "list" and not path:
            many = Many(collection=None, source=place)
            if not one.of_records:
                yield Term(value=place, kind="many", own=tokens(name), about=about, many=many)
            counted = call("len", place)
            yield Term(value=counted, kind="number", own=tokens(name), about=about, prior=-0.2)
        elif one.parts and one.keeps is None and len(here) < _DEPTH:
            yield from _of_fields(place, one.parts, about | stems(tokens(name)), refers, here)
        elif (kind := kind_of_field(one)) is not None:
            yield Term(value=place, kind=kind, own=tokens(name), about=about)


def kind_of_field(one: Field) -> Kind | None:
    if "number" in one.kinds:
        return "number"
    if "boolean" in one.kinds:
        return "flag"
    if "text" in one.kinds:
        return "time" if isinstance(one.example, str) and _TIME.match(one.example) else "text"
    return None


def _of_lists(reading: Reading, thing: Thing) -> Iterator[Term]:
    """The lines of a list, and the records whose ids it has: by the name of the list, and by their own."""
    for rows in rows_of(reading, thing.collection):
        lines = Many(collection=rows, source=dot(thing.value, *rows.path))
        own = tokens(rows.path[0])
        yield Term(value=lines.source, kind="many", own=own, about=thing.called, prior=-0.1, many=lines)
    for link in thing.collection.list_links:
        other = reading.known.tables.get(link.entity_type)
        if other is None:
            continue
        counted = call("len", dot(thing.value, link.path[0]))
        many = Many(collection=other, source=ids_of(thing.value, link))
        for own, prior in ((tokens(link.path[0]), 0.0), *((noun, -0.1) for noun in other.called)):
            about = thing.called | nouns_of(other)
            yield Term(value=many.listed(), kind="many", own=own, about=about, prior=prior, many=many)
            yield Term(value=counted, kind="number", own=own, about=about, prior=prior - 0.1, many=many)


def rows_of(reading: Reading, collection: Collection) -> list[Collection]:
    """Lists of records that each record of a table has."""
    return [
        one
        for one in reading.known.collections
        if (one.entity_type, one.form, len(one.path)) == (collection.entity_type, "list", 1)
        and one.of_records
        if collection.form == "table"
    ]


def ids_of(holder: str | Expr, link: Link) -> Expr:
    """The records that a list of ids is of."""
    one = entity(link.entity_type, dot("one", *link.path[1:]))
    return listed(one, "one", dot(holder, link.path[0]))


def _linked(reading: Reading, thing: Thing) -> Iterator[Thing]:
    for link in thing.collection.links:
        other = reading.known.tables.get(link.entity_type)
        if other is not None:
            called = nouns_of(other) | stems(tokens(link.path[-1]))
            id = dot(thing.value, *link.path)
            value = entity(link.entity_type, id)
            yield Thing(value=value, id=id, collection=other, called=called, is_linked=True)


def of_those_behind(reading: Reading, thing: Thing) -> Iterator[Term]:
    """Records that refer to the one at hand."""
    for table in reading.known.tables.values():
        for link in (*table.links, *table.list_links):
            if link.entity_type == thing.collection.entity_type and not table.is_empty:
                many = behind(table, link, thing)
                names = (table.words, *table.called)
                own = tuple(word for noun in names for word in noun)
                everyone = Term(
                    value=many.listed(), kind="many", own=own, about=thing.called, prior=-0.1, many=many
                )
                yield everyone
                counted = replace(everyone, value=many.counted(), kind="number", prior=-0.3)
                yield from (replace(counted, own=noun) for noun in dict.fromkeys((own, *names)))


def behind(table: Collection, link: Link, thing: Thing) -> Many:
    source = entities(table.entity_type)
    return Many(collection=table, source=source, where=(refers("each", link, thing.id),))


# -- phrases


def named(
    phrase: Sequence[str], terms: Sequence[Term], *, without: Iterable[Expr] = (), hints: Sequence[str] = ()
) -> Term | None:
    """The one term that the phrase means; `hints` are words that it leaves out: "those" that were counted."""
    words = content_words(phrase) + [(word, 0.6) for word in hints]
    left_out = {*without}
    scored = [(likeness(words, term), term) for term in terms if term.value not in left_out]
    scored.sort(key=lambda pair: -pair[0])
    if not scored or scored[0][0] < _LEAST:
        return None
    best = scored[0][1]
    others = [score for score, term in scored[1:] if term.value != best.value]
    return best if not others or scored[0][0] - others[0] >= _LEAD else None


def explains(term: Term, phrase: Sequence[str], *, whole: bool = True) -> bool:
    """Whether the term leaves no word of the phrase (or of its head) unexplained."""
    return all(
        max((alike(word, part) for part in term.own), default=0.0) > 0
        or stem(singular(word)) in term.about
        or ("per" in term.own and word in _RATES)  # "its rate per km", of `per_km`
        or (term.many is not None and word.endswith("ed"))  # "booked pupils", of those in a list
        for word, weight in content_words(phrase)
        if whole or weight == 1.0
    )


def likeness(words: Sequence[tuple[str, float]], term: Term) -> float:
    """How much of the phrase the term explains, less what either says alone."""
    score, met = 0.0, set()
    for word, weight in words:
        fit, part = max(((alike(word, part), part) for part in term.own), default=(0.0, ""))
        if fit > 0:
            score += weight * fit
            met.add(part)
        elif stem(singular(word)) in term.about:
            score += weight * 0.5
        else:
            score -= weight * _UNSAID
    if not met:
        return 0.0
    unsaid = (part for part in term.own if part not in met and part not in _SAYS_LITTLE and len(part) > 2)
    return score + term.prior - _UNSAID * sum(1 for _ in unsaid)


@lru_cache(maxsize=16_384)
def alike(word: str, part: str) -> float:
    """1 for one word in another form; less for what can stand for it, or a part of it (max, maximum)."""
    one, other = stem(singular(in_full(word))), stem(singular(in_full(part)))
    if one == other:
        return 1.0
    if other in related(one):
        return 0.8
    short, long = sorted((word, part), key=len)
    if 3 <= len(short) < len(long) and long.startswith(short):
        return 0.8
    short, long = sorted((one, other), key=len)
    return 0.8 if len(short) > 4 and long.startswith(short) else 0.0
