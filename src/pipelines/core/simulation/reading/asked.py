"""Which type a read asks for: what is listed, searched or counted, as against what it is listed of.

`owner_animals(owner_id)` lists animals: the owner is picked by an id, and the animals are what refers to one.
No single hint decides. The nouns of the name, the lists of the reply, what the description begins with, the
fields that arguments and words name, and the references between types are weighed together.
"""

from pipelines.core.english.stems import stem
from pipelines.core.english.words import is_plural, singulars, tokens
from pipelines.core.simulation.domain.fields import find_field
from pipelines.core.simulation.domain.shapes import Collection
from pipelines.core.simulation.domain.tool_facts import listed_in
from pipelines.core.simulation.reading.filters import field_for
from pipelines.core.simulation.reading.replies import find_path
from pipelines.core.simulation.reading.targets import best_collection, likeness
from pipelines.core.simulation.reading.tool_reading import Reading

_ENOUGH = 4.0  # as much as a name that ends in the type's own noun
_IN_REPLY = 0.8  # the list of a reply, beside the noun of the tool's own name
_SEVERAL = 5.0  # "Vaccinations of a patient": said of many, first of all
_MENTIONED = 1.0
_LINKED = 2.0  # refers to what an argument picks
_FIELD = 1.0  # an argument is a field of it
_PART = 0.5  # a property of the reply, or a word, is
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
    return (None if is_scope else named) or _with_such_fields(reading)


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
    said = {stem(word) for word in (*tokens(reading.tool.name), *tokens(reading.said.summary))}
    return score + _PART * len(said & _field_stems(table))


def _field_stems(table: Collection) -> set[str]:
    """Of the words that its fields are called by and of the values that they have, but for its own name."""
    own = {stem(word) for noun in (table.words, *table.called) for word in noun}
    named = {stem(word) for name in table.fields for word in tokens(name) if len(word) > 2}
    valued = {
        stem(word)
        for one in table.fields.values()
        for value in one.values
        if isinstance(value, str) and len(value) < 30
        for word in tokens(value)
    }
    return (named | valued) - own


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


def _with_such_fields(reading: Reading) -> Collection | None:
    """`lookup_isbn(isbn)`: the one type that has these fields."""
    # `track_parcel(tracking_no)`: a number that some records have, and that refers to none, is a field.
    given = [
        one.name
        for one in reading.arguments
        if one.is_required and (one.id_noun is None or reading.known.refers_to(one.id_noun) is None)
    ]
    if not reading.name.reads():
        return None
    seeded = [one for one in reading.known.tables.values() if not one.is_empty]
    fit = [one for one in seeded if all(find_field(one.fields, name) for name in given)]
    return fit[0] if given and len(fit) == 1 else None
