"""What the words of a theme are to one tool: its name, a value that it takes, a state of what it is about.

Words are compared by their stems. A value that the theme spells out goes before a name that is only like it.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.english.words import singular, singulars, tokens, word_set
from pipelines.core.text.json_text import Json
from pipelines.core.worlds.ground import Ground
from pipelines.core.worlds.outline import FieldOutline, TypeOutline
from pipelines.core.worlds.rows.tool_in_world import CallLimits, ToolInWorld, tool_in_world
from pipelines.core.worlds.types.world_outline import types_in

#: How much a word says about a tool, by where it is found.
_NAMED, _GIVEN, _TOLD = 3, 2, 1
_SHORTEST_STEM = 4  # `waiv` of waivers: with fewer letters too many words begin alike
#: Behind which a word is a form of another: waiv-ers, waiv-e.
_ENDINGS = word_set("e ed er ers or ors ing able al ance ation ations ion ions ment ments y ies ity s es")
_LONGEST_VALUE = 5  # words


@dataclass(frozen=True, kw_only=True, slots=True)
class Fit:
    """How a theme fits a tool."""

    places: frozenset[int]  # of the words that are the tool's
    weight: int
    held: CallLimits  # what its calls have to give, and be about
    asked_for: frozenset[str]  # words of fields that a question has to be about


class _Value(NamedTuple):
    """A value, and where it stands: in an argument, or in a field of records of a type."""

    spelled: tuple[str, ...]
    value: Json
    argument: str | None = None
    kind: str | None = None
    field: str | None = None
    via: tuple[str, str] | None = None  # the type and the field that refer to the record


class _Known(NamedTuple):
    """A type of which the call picks a record, or to which such a record refers."""

    kind: TypeOutline
    via: tuple[str, str] | None = None


class _Bound(NamedTuple):
    """Words of the theme, by their places, and what they are."""

    places: tuple[int, ...]
    weight: int
    value: _Value | None = None
    is_other: bool = False  # any but the value: unpaid
    kind: str | None = None  # a type that the word names
    asked_for: FieldOutline | None = None
    argument: str | None = None  # that has to be given, whatever its value


def fit_of(words: Sequence[str], telling: Collection[int], ground: Ground, tool: str) -> Fit | None:
    """None where no word of the theme is one of the tool's. `telling`: the places of words that say something
    alone."""
    request = tool_in_world(ground, tool)
    bound = _bound(words, telling, request, ground)
    if not bound:
        return None
    about = {one.value.kind for one in bound if one.value is not None and one.value.via is None}
    fields = [one.asked_for for one in bound if one.asked_for is not None]
    return Fit(
        places=frozenset(place for one in bound for place in one.places if place in telling),
        # “suspended households”: the noun says as much as the state, whatever the tool does with them.
        weight=sum(_NAMED if one.kind is not None and one.kind in about else one.weight for one in bound),
        held=_held(bound, ground),
        asked_for=frozenset(word for field in fields for word in singulars(field.words)),
    )


def _held(bound: Sequence[_Bound], ground: Ground) -> CallLimits:
    state = types_in(ground.state)
    records: dict[str, frozenset[str]] = {}
    arguments: dict[str, Json] = {}
    for one in bound:
        if one.argument is not None:
            arguments.setdefault(one.argument, None)
        if one.value is None:
            continue
        if one.value.argument is not None:
            arguments[one.value.argument] = one.value.value
        elif one.value.kind is not None and one.value.field is not None:
            kind, field, wanted_value = one.value.kind, one.value.field, one.value.value
            of_kind = state.get(kind, {})
            found = {id for id, each in of_kind.items() if (each.get(field) == wanted_value) != one.is_other}
            if one.value.via is not None:
                kind, link = one.value.via
                of_kind = state.get(kind, {})
                found = {id for id, each in of_kind.items() if str(each.get(link)) in found}
            records[kind] = records.get(kind, frozenset(of_kind)) & found
    return CallLimits(arguments, records)


def _bound(
    words: Sequence[str], telling: Collection[int], asked: ToolInWorld, ground: Ground
) -> list[_Bound]:
    """Each word once, by the surest of what it may be; no field is said to have two values."""
    found: list[_Bound] = []
    used_places: set[int] = set()
    bound_places: set[tuple[str | None, ...]] = set()
    values = [*_values(asked, ground)]
    places = [(at, words[at]) for at in sorted(telling)]
    for tries in (
        _valued(words, values, is_exact=True),
        (one for at, word in places if (one := _by_name(at, word, asked)) is not None),
        (one for at, word in places if (one := _by_form(at, word, asked)) is not None),
        _valued(words, values, is_exact=False),
        (one for at, word in places if (one := _by_text(at, word, asked)) is not None),
    ):
        for one in tries:
            about = one.value[2:5] if one.value is not None else None
            if (
                about not in bound_places
                and used_places.isdisjoint(one.places)
                and not {*telling}.isdisjoint(one.places)
            ):
                bound_places |= {about} if about is not None else set()
                used_places.update(one.places)
                found.append(one)
    return found


# -- values


def _valued(words: Sequence[str], values: Collection[_Value], *, is_exact: bool) -> Iterator[_Bound]:
    for one in values:
        many = len(one.spelled)
        for at in range(len(words) - many + 1) if 0 < many <= _LONGEST_VALUE else ():
            window = tuple(words[at : at + many])
            is_other = many == 1 and window[0] == f"un{one.spelled[0]}"
            if is_exact:
                is_said = is_other or singulars(window) == singulars(one.spelled)
            else:
                is_said = all(map(_is_like, window, one.spelled))
            if is_said:
                weight = _NAMED if is_exact and one.via is None else _GIVEN
                yield _Bound(tuple(range(at, at + many)), weight, one, is_other)


def _values(asked: ToolInWorld, ground: Ground) -> Iterator[_Value]:
    """Those that the call itself may give first; then those of the records that it picks."""
    for one in asked.fact.arguments:
        for value in one.values if one != asked.target else ():
            yield _Value(tokens(str(value)), value, argument=one.name)
    for kind, via in _known(asked):
        records = types_in(ground.state).get(kind.name, {}).values()
        for field in kind.fields:
            if field.kind == "boolean":
                bare = tuple(word for word in field.words if word not in ("is", "has")) or field.words
                yield _Value(bare, True, kind=kind.name, field=field.name, via=via)
                continue
            seen = dict.fromkeys(record.get(field.name) for record in records) if _is_word(field) else ()
            for value in (*field.values, *(one for one in seen if isinstance(one, str))):
                yield _Value(tokens(str(value)), value, kind=kind.name, field=field.name, via=via)


def _is_word(field: FieldOutline) -> bool:
    """Whether what records have there may stand in a theme: a name, a city, a subject."""
    return field.kind == "text" and not (field.values or field.is_moment or field.refers_to is not None)


def _known(asked: ToolInWorld) -> list[_Known]:
    """First what the call is about, then other records that it names, then those to which they refer."""
    named = [asked.id_type(one) for one in asked.fact.arguments if one.is_scalar]
    own = [asked.own.name] if asked.own is not None and (asked.target is not None or asked.keys) else []
    found = {name: _Known(asked.types[name]) for name in (*own, *named) if name is not None}
    for kind, _ in [*found.values()]:
        for one in kind.references:
            if one.refers_to is not None and one.refers_to in asked.types:
                found.setdefault(one.refers_to, _Known(asked.types[one.refers_to], (kind.name, one.name)))
    return [*found.values()]


# -- words


def _is_form(word: str, other: str) -> bool:
    """Of one stem, or alike up to their endings: waivers, waive."""
    if stem(singular(word)) == stem(singular(other)) or stem(word) == stem(other):
        return True
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, other, strict=False)))
    cuts = range(_SHORTEST_STEM, shared + 1)
    return any({word[at:], other[at:]} <= {"", *_ENDINGS} for at in cuts)


def _is_like(word: str, other: str) -> bool:
    """A form of it, or used for it in business: late, overdue."""
    return _is_form(word, other) or stem(singular(other)) in related(stem(singular(word)))


def _by_name(at: int, word: str, asked: ToolInWorld) -> _Bound | None:
    """As the tool itself is called, or what it is about."""
    own = asked.own.noun if asked.own is not None else ""
    words = (*tokens(asked.fact.tool.name), asked.fact.name.verb, *own.split())
    if stem(singular(word)) in {stem(singular(one)) for one in words}:
        is_own = asked.own is not None and singular(word) in own.split()
        return _Bound((at,), _NAMED, kind=asked.own.name if is_own and asked.own is not None else None)
    return None


def _by_form(at: int, word: str, asked: ToolInWorld) -> _Bound | None:
    words = (*tokens(asked.fact.tool.name), asked.fact.name.verb)
    return _Bound((at,), _NAMED) if any(_is_form(word, one) for one in words) else None


def _by_text(at: int, word: str, asked: ToolInWorld) -> _Bound | None:
    """By words used for those of its name; by what it is given; by what it shows; else by its description."""
    own = asked.own.noun if asked.own is not None else ""
    if any(_is_like(word, one) for one in (*tokens(asked.fact.tool.name), *own.split())):
        return _Bound((at,), _GIVEN)
    known = _known(asked)
    for kind, via in known:
        if singular(word) in kind.noun.split() and via is None:
            return _Bound((at,), _GIVEN, kind=kind.name)
    for one in asked.fact.arguments:
        if one != asked.target and any(_is_like(word, each) for each in one.words):
            return _Bound((at,), _GIVEN, argument=one.name)
    fields = asked.own.fields if asked.own is not None and asked.fact.name.reads() else ()
    for field in fields:
        if field.refers_to is None and any(_is_like(word, each) for each in field.words):
            return _Bound((at,), _GIVEN, asked_for=field)
    texts = (asked.fact.tool.description or "", *(one.description for one in asked.fact.arguments))
    is_told = any(_is_form(word, other) for text in texts for other in tokens(text))
    linked = next(
        (kind.name for kind, _ in known if any(_is_like(word, one) for one in kind.noun.split())), None
    )
    return _Bound((at,), _TOLD, kind=linked) if is_told or linked is not None else None
