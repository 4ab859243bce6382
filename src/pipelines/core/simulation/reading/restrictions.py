"""Which of the records a read asks for, as its name and description say: `unpaid_lots`, "Outages that have
not been restored", "Users who have not switched on MFA", "Volumes which are attached to nothing".

Words count only where they are states, switches or fields of the records. What an argument narrows is left to
the argument."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from pipelines.core.english.polarity import NOBODY, is_denied, without_denial
from pipelines.core.english.states import GOING_ON, LATE, OVER, UNTAKEN
from pipelines.core.english.stems import stem
from pipelines.core.english.verbs import TELLING
from pipelines.core.english.words import is_plural, joined, singular, singulars, tokens, word_set
from pipelines.core.simulation.domain.roles import field_at, states_of, status_path, valued_fields
from pipelines.core.simulation.domain.shapes import Collection
from pipelines.core.simulation.expr.make import (
    FALSE,
    TODAY,
    all_of,
    call,
    compare,
    constant,
    differs,
    is_equal,
    is_given,
    is_in,
    is_null,
)
from pipelines.core.simulation.expr.nodes import Expr
from pipelines.core.simulation.reading.steps import dot
from pipelines.core.simulation.reading.tool_reading import Reading

Path = tuple[str, ...]

_ASIDE = word_set("is has was can be are on to for of the a an new")  # of a switch's name, what says little
_PARTS = re.compile(r"[(),;:]|\bbut\b")
_WORDS = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
_MAY = word_set("can could may to")


@dataclass(kw_only=True, slots=True)
class _Found:
    is_so: dict[Path, list[str]] = field(default_factory=dict)
    is_not: dict[Path, list[str]] = field(default_factory=dict)
    switches: dict[str, bool] = field(default_factory=dict)
    blanks: list[Path] = field(default_factory=list)


def restrictions(
    reading: Reading, collection: Collection, each: str, narrowed: Iterable[Path] = ()
) -> list[Expr]:
    """Conditions on a record called `each`; none on the fields that arguments narrow."""
    told = [tuple(_WORDS.findall(part)) for part in _PARTS.split(reading.said.summary.lower())]
    if told and told[0][:1] and told[0][0].removesuffix("s") in TELLING:
        told[0] = told[0][1:]  # "Returns all loans": they are not returned
    name = tokens(reading.tool.name)
    name = name[1:] if name[0] == reading.name.verb and len(name) > 1 else name
    picked = {singular(one.id_noun[-1]) for one in reading.arguments if one.id_noun}  # "pieces of a glaze"
    given = {word for one in reading.arguments for word in one.words}  # find_permits_by_min_fee(min_fee)
    found = _Found()
    for words in (name, *told):
        aside = picked | given if words is name else picked
        for at in (at for at in range(len(words)) if words[at] not in aside):
            _read_word(found, words, at, collection, is_name=words is name)
    taken = {*narrowed}
    conditions = [*_written(found, collection, each, taken)]
    if {*name} & LATE:
        conditions += _past_due(collection, each)
    is_told = found.is_so or found.is_not or found.switches or found.blanks
    return conditions if conditions or is_told else [*_in_general((name, *told), collection, each, taken)]


def stated_in(words: Sequence[str], collection: Collection, each: str) -> list[Expr]:
    """What these words of a name say of a record called `each`: of its states, switches and blanks."""
    found = _Found()
    for at in range(len(words)):
        _read_word(found, words, at, collection, is_name=True)
    return [*_written(found, collection, each, set())]


def _read_word(
    found: _Found, words: Sequence[str], at: int, collection: Collection, *, is_name: bool
) -> None:
    word = words[at]
    own = {noun[-1] for noun in (collection.words, *collection.called)}
    long = _long_state(words, at, collection)
    if _is_in_own_name(words, at, collection):
        return  # print orders are not printing
    if long is None and (singular(word) in own or len(word) < 3 or (is_name and is_plural(word))):
        return
    denied, base = is_denied(words, at), without_denial(word)
    place = long or _state(word, collection, is_name=is_name)
    if place is not None and not _is_possible(words, at, place[1]):
        path, value = place
        group = found.is_not if denied else found.is_so
        if value not in group.setdefault(path, []):
            group[path].append(value)
    elif base is not None and (place := _state(base, collection, is_name=is_name)) is not None:
        found.is_not.setdefault(place[0], []).append(place[1])
    elif (switch := _switch(word, words, collection, is_name=is_name)) is not None:
        found.switches[switch] = not denied
    elif base is not None and (switch := _switch(base, words, collection, is_name=is_name)) is not None:
        found.switches[switch] = False
    elif denied or base is not None:
        blank = _blank(base or word, collection)
        found.blanks += [blank] if blank is not None and blank not in found.blanks else []


def _state(word: str, collection: Collection, *, is_name: bool) -> tuple[Path, str] | None:
    """The value that a word is: of the state before any other; of a description only a state's."""
    status, wanted = status_path(collection.fields), joined((word,))
    states = states_of(collection.fields, status)
    same = next((one for one in states if joined(tokens(one)) == wanted), None)
    if same is None and len(word) > 4:
        same = next((one for one in states if stem(joined(tokens(one))) == stem(word)), None)
    if status is not None and same is not None:
        return status, same
    values = valued_fields(collection.fields) if is_name else ()
    return next(((path, value) for path, value in values if joined(tokens(value)) == wanted), None)


def _is_in_own_name(words: Sequence[str], at: int, collection: Collection) -> bool:
    """Of print orders; but overdue bills are what they are said to be, where some are overdue."""
    values = {joined(tokens(value)) for _, value in valued_fields(collection.fields)}
    plain = singulars(words)
    return joined(words[at : at + 1]) not in values and any(
        plain[begin : begin + len(noun)] == noun
        for noun in map(singulars, collection.called)
        if len(noun) > 1
        for begin in range(max(0, at - len(noun) + 1), at + 1)
    )


def _long_state(words: Sequence[str], at: int, collection: Collection) -> tuple[Path, str] | None:
    """ "in store", "out of service": a state of several words, all of them."""
    status = status_path(collection.fields)
    for state in states_of(collection.fields, status) if status is not None else ():
        parts = tokens(state)
        if len(parts) > 1 and tuple(words[at : at + len(parts)]) == parts and status is not None:
            return status, state
    return None


def _is_possible(words: Sequence[str], at: int, value: str) -> bool:
    """ "units that can be lent out" are not lent; nor is what a tool calls `can_lend`, or `lendable`."""
    before = [*words[max(0, at - 3) : at]]
    may = bool(_MAY & ({*before[:-1]} if before[-1:] == ["be"] else {*before[-1:]}))
    is_value = joined((words[at],)) == joined(tokens(value))  # `available`, of a room
    return may or (words[at].endswith(("able", "ible")) and not is_value)


def _switch(word: str, words: Sequence[str], collection: Collection, *, is_name: bool) -> str | None:
    """`paid_out` of "not paid out", `mfa`, `open_to_new` of tariffs_open."""
    spoken = {stem(one) for one in words}
    fit = []
    for name, one in collection.fields.items():
        parts = [stem(part) for part in tokens(name) if part not in _ASIDE] or [stem(tokens(name)[-1])]
        if "boolean" in one.kinds and stem(word) in parts and (is_name or spoken.issuperset(parts)):
            fit.append(name)
    return fit[0] if len(fit) == 1 else None


def _blank(word: str, collection: Collection) -> Path | None:
    """`adjuster_id` of "without an adjuster", `reviewed_by` of "nobody has reviewed": what may be null."""
    for name, one in collection.fields.items():
        if "null" in one.kinds and stem(word) in {stem(part) for part in tokens(name)}:
            return (name,)
    return None


def _written(found: _Found, collection: Collection, each: str, taken: set[Path]) -> Iterator[Expr]:
    for path in dict.fromkeys((*found.is_so, *found.is_not)):
        if path in taken:
            continue
        good = [one for one in found.is_so.get(path, []) if one not in found.is_not.get(path, [])]
        place = dot(each, *path)
        if good:
            yield is_equal(place, constant(good[0])) if len(good) == 1 else is_in(place, good)
        else:
            yield from (differs(place, constant(one)) for one in dict.fromkeys(found.is_not[path]))
    for name, value in found.switches.items():
        if (name,) not in taken:
            yield is_equal(dot(each, name), constant(value))
    for path in found.blanks:
        if path not in taken and path not in found.is_so:
            yield is_null(dot(each, *path))


def _in_general(
    said: Sequence[Sequence[str]], collection: Collection, each: str, taken: set[Path]
) -> Iterator[Expr]:
    """Words that say no field or value of the records, but what is so of such records anywhere."""
    words = {word for phrase in said for word in phrase}
    places = (link.path for link in collection.links)
    links = [p for p in places if (one := field_at(collection.fields, p)) is not None and "null" in one.kinds]
    if words & (UNTAKEN | NOBODY) and len(links) == 1 and links[0] not in taken:
        yield is_null(dot(each, *links[0]))
    elif {*said[0]} & GOING_ON:
        yield from _not_over(collection, each, taken)


def _not_over(collection: Collection, each: str, taken: set[Path]) -> Iterator[Expr]:
    status = status_path(collection.fields)
    over = [one for one in states_of(collection.fields, status) if joined(tokens(one)) in OVER]
    if status is not None and over and status not in taken:
        yield compare(dot(each, *status), "not in", constant([*over]))
        return
    done = [n for n, one in collection.fields.items() if "boolean" in one.kinds and joined(tokens(n)) in OVER]
    if len(done) == 1:
        yield is_equal(dot(each, done[0]), FALSE)


def _past_due(collection: Collection, each: str) -> Iterator[Expr]:
    due = [name for name, one in collection.fields.items() if "due" in tokens(name) and "text" in one.kinds]
    if len(due) == 1:
        place = dot(each, due[0])
        yield all_of(is_given(place), call("is_before", place, TODAY))
        yield from _not_over(collection, each, set())
