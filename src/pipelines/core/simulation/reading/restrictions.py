"""Which of the records a read asks for, as its name and description say: `unpaid_lots`, "Outages that have
not been restored", "Users who have not switched on MFA", "Volumes which are attached to nothing".

Words count only where the records bear them out: a word is one of their values, switches or fields, or it is
not read at all. What an argument narrows is left to the argument.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from pipelines.core.english.formulas import ARITHMETIC, parts_of
from pipelines.core.english.polarity import NOBODY, is_denied, without_denial
from pipelines.core.english.states import GOING_ON, LATE, OVER, UNTAKEN
from pipelines.core.english.stems import stem
from pipelines.core.english.verbs import TELLING
from pipelines.core.english.words import is_plural, joined, singular, singulars, tokens, word_set
from pipelines.core.simulation.domain.roles import field_at, states_of, status_path, valued_fields
from pipelines.core.simulation.domain.shapes import Collection, Field
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
from pipelines.core.simulation.reading.comparisons import compared
from pipelines.core.simulation.reading.steps import dot
from pipelines.core.simulation.reading.tool_reading import Reading

Path = tuple[str, ...]

_ASIDE = word_set("is has was can be are on to for of the a an new")  # of a switch's name, what says little
_PARTS = re.compile(r"[(),;:]|\bbut\b")
_WORDS = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(kw_only=True, slots=True)
class _Found:
    is_so: dict[Path, list[str]] = field(default_factory=dict)
    is_not: dict[Path, list[str]] = field(default_factory=dict)
    switches: dict[str, bool] = field(default_factory=dict)
    blanks: list[Path] = field(default_factory=list)

    def any(self) -> bool:
        return bool(self.is_so or self.is_not or self.switches or self.blanks)


def restrictions(
    reading: Reading, collection: Collection, each: str, narrowed: Iterable[Path] = ()
) -> list[Expr]:
    """Conditions on a record called `each`; none on the fields that arguments narrow."""
    # What is denied in one part of a sentence is not in the next: "not paid (unpaid or overdue)".
    parts = [part for part in _PARTS.split(reading.said.summary.lower()) if not _is_formula(part)]
    told = [tuple(_WORDS.findall(part)) for part in parts]
    if told and told[0][:1] and told[0][0].removesuffix("s") in TELLING:
        told[0] = told[0][1:]  # "Returns all loans": they are not returned
    name = tokens(reading.tool.name)
    said = [name[1:] if name[0] == reading.name.verb and len(name) > 1 else name, *told]
    reading_words = [word for words in said[1:] for word in words]
    found = _Found()
    picked = {singular(one.id_noun[-1]) for one in reading.arguments if one.id_noun}  # "pieces of a glaze"
    given = {word for one in reading.arguments for word in one.words}  # find_permits_by_min_fee(min_fee)
    for words in said:
        aside = picked | given if words is said[0] else picked
        for at in (at for at in range(len(words)) if words[at] not in aside):
            _read_word(found, words, at, collection, is_name=words is said[0])
    for words in told:
        _read_pairs(found, words, collection)
    taken = set(narrowed)
    conditions = [*_written(found, collection, each, taken)]
    if not any(one.kind == "number" and {*one.words} & {*reading_words} for one in reading.arguments):
        conditions += compared(said, collection, each)  # else what is given is what they are held against
    if {*said[0]} & LATE:
        conditions += _past_due(collection, each)
    if not conditions and not found.any():
        conditions = [*_in_general(said, collection, each, taken)]
    return conditions


def _read_pairs(found: _Found, words: Sequence[str], collection: Collection) -> None:
    """ "(rsvp yes)", "kind will": a field, and right behind it one of its values."""
    for name, value in pairwise(words):
        field = collection.fields.get(name)
        held = [one for one in (field.values if field is not None else ()) if isinstance(one, str)]
        if (same := next((one for one in held if one.lower() == value), None)) is not None:
            found.is_so.setdefault((name,), []).append(same)


def _is_formula(part: str) -> bool:
    """ "total less paid": what is worked out says nothing of which records."""
    return any(ARITHMETIC & {*words} for words in parts_of(part))


def stated_in(words: Sequence[str], collection: Collection, each: str | Expr) -> list[Expr]:
    """What these words say of a record called `each`: of its states and values, switches and blanks."""
    found = _Found()
    for at in range(len(words)):
        _read_word(found, words, at, collection, is_name=True)
    inside = {
        path
        for path in (*found.is_so, *found.is_not)
        if path != status_path(collection.fields) and len(path) > 1
    }
    return [*_written(found, collection, each, inside)]


def _read_word(
    found: _Found, words: Sequence[str], at: int, collection: Collection, *, is_name: bool
) -> None:
    word = words[at]
    own = {noun[-1] for noun in (collection.words, *collection.called)}
    is_long = _long_state(words, at, collection) is not None
    if _is_in_own_name(words, at, collection):
        return  # print orders are not printing
    if not is_long and (singular(word) in own or len(word) < 3 or (is_name and is_plural(word))):
        return
    denied = is_denied(words, at)
    base = without_denial(word)
    place = _long_state(words, at, collection) or _state(word, collection, is_name=is_name)
    is_value = place is not None and joined((word,)) == joined(tokens(place[1]))  # `available`, of a room
    is_possible = _is_possible(words, at) and not (is_value and word.endswith("able"))
    if place is not None and not is_possible:
        path, value = place
        group = found.is_not if denied else found.is_so
        if value not in group.setdefault(path, []):
            group[path].append(value)
        return
    if base is not None and (place := _state(base, collection, is_name=is_name)) is not None:
        found.is_not.setdefault(place[0], []).append(place[1])
        return
    if (switch := _switch(word, words, collection, is_name=is_name)) is not None:
        found.switches[switch] = not denied
    elif base is not None and (switch := _switch(base, words, collection, is_name=is_name)) is not None:
        found.switches[switch] = False
    elif denied or base is not None:
        blank = _blank(base or word, collection)
        found.blanks += [blank] if blank is not None and blank not in found.blanks else []


def _state(word: str, collection: Collection, *, is_name: bool) -> tuple[Path, str] | None:
    """The value that a word is: of the state before any other; of a description only a state's."""
    status = status_path(collection.fields)
    wanted = joined((word,))
    states = states_of(collection.fields, status)
    same = next((one for one in states if joined(tokens(one)) == wanted), None)
    if same is None and len(word) > 4:
        same = next((one for one in states if stem(joined(tokens(one))) == stem(word)), None)
    if status is not None and same is not None:
        return status, same
    if not is_name:
        return None
    return next(
        (
            (path, value)
            for path, value in valued_fields(collection.fields)
            if joined(tokens(value)) == wanted
        ),
        None,
    )


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
        if len(parts) > 1 and tuple(words[at : at + len(parts)]) == parts:
            return (status, state) if status is not None else None
    return None


_MAY = word_set("can could may to")


def _is_possible(words: Sequence[str], at: int) -> bool:
    """ "units that can be lent out" are not lent; nor is what a tool calls `can_lend`, or `lendable`."""
    before = [*words[max(0, at - 3) : at]]
    if before[-1:] == ["be"]:
        return bool(_MAY & {*before[:-1]})
    return bool(_MAY & {*before[-1:]}) or words[at].endswith(("able", "ible"))


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


def _written(found: _Found, collection: Collection, each: str | Expr, taken: set[Path]) -> Iterator[Expr]:
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
    links = [link.path for link in collection.links if _may_be_null(field_at(collection.fields, link.path))]
    if words & (UNTAKEN | NOBODY) and len(links) == 1 and links[0] not in taken:
        yield is_null(dot(each, *links[0]))
    elif {*said[0]} & GOING_ON:
        yield from _not_over(collection, each, taken)


def _is_time(one: Field) -> bool:
    return isinstance(one.example, str) and _DAY.match(one.example) is not None


def _may_be_null(one: Field | None) -> bool:
    return one is not None and "null" in one.kinds


def _not_over(collection: Collection, each: str, taken: set[Path] = frozenset()) -> Iterator[Expr]:  # type: ignore[assignment]
    status = status_path(collection.fields)
    over = [one for one in states_of(collection.fields, status) if joined(tokens(one)) in OVER]
    if status is not None and over and status not in taken:
        yield compare(dot(each, *status), "not in", constant([*over]))
        return
    done = [n for n, one in collection.fields.items() if "boolean" in one.kinds and joined(tokens(n)) in OVER]
    if len(done) == 1:
        yield is_equal(dot(each, done[0]), FALSE)


def _past_due(collection: Collection, each: str) -> Iterator[Expr]:
    due = [name for name, one in collection.fields.items() if "due" in tokens(name) and _is_time(one)]
    if len(due) == 1:
        place = dot(each, due[0])
        yield all_of(is_given(place), call("is_before", place, TODAY))
        yield from _not_over(collection, each)
