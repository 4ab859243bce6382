"""Conditions that a description tells: "only if the accession is active and has that many seeds", "no session
overlaps", "both have the same level". Every part of one must be found in the scope, or none of it counts."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pipelines.core.english.formulas import LONGEST, content_words, parts_of
from pipelines.core.english.polarity import is_denied, without_denial
from pipelines.core.english.states import UNTAKEN
from pipelines.core.english.words import tokens, word_set
from pipelines.core.simulation.domain.shapes import Collection, Field
from pipelines.core.simulation.expr.make import TODAY, all_of, any_of, arg, call, compare, constant, is_equal
from pipelines.core.simulation.expr.nodes import Constant, Expr, Not, path_of
from pipelines.core.simulation.reading.comparisons import SIGNS, comparison
from pipelines.core.simulation.reading.filters import condition_of
from pipelines.core.simulation.reading.limits import limit_meant
from pipelines.core.simulation.reading.restrictions import stated_in
from pipelines.core.simulation.reading.scope import (
    Many,
    Scope,
    Thing,
    explains,
    kind_of_field,
    likeness,
    named,
    of_those_behind,
    stems,
)
from pipelines.core.simulation.reading.steps import dot, is_part_of, same_id, some

_LEADS = (
    *("only if", "only when", "only while", "if", "when", "whether"),
    *("once", "while", "as long as", "provided"),
)
_MOST_ATOMS, _LONGEST_ATOM = 6, 20  # descriptions may be hostile
_ASKS = word_set("is are has have does do can was were")
_NONE = word_set("no none nothing nobody")
_OVERLAPS = word_set(
    "overlap overlaps overlapping clash clashes collide collides conflict conflicts taken booked"
)
_UNTIL = word_set("until till expires expire expiry end ends valid through due")
_ROOM = word_set("room space place places seat seats slot slots spot spots")
_THERE = word_set("have has left free available")
_FULL = word_set("full packed complete sold")


_NONE_AT_ALL = Constant(0)
_BUT_FOR = re.compile(
    r"\b(?:other than|except(?:ing| for)?|apart from|besides|but) (?:the |an? )?(\w+) ones?\b", re.IGNORECASE
)


_IN_OTHER_WORDS = re.compile(
    r"\b(whether|if|when)\b[^.;]*?,? \(?(?:i\.e\.|that is,|meaning)\s+", re.IGNORECASE
)
_NEITHER = re.compile(r"\bneither ([^.;,]+?) nor ", re.IGNORECASE)


def told_truth(description: str, scope: Scope) -> Expr | None:
    """The condition of the first sentence that tells one."""
    plain = _IN_OTHER_WORDS.sub(r"\1 ", description[:LONGEST])
    plain = _NEITHER.sub(r"not \1 and not ", _BUT_FOR.sub(r"that is not \1", plain))
    plain = plain.replace("(", " ").replace(")", " ")
    for sentence in re.split(r"(?<=[.!?;])\s+", plain):
        for clause, is_denied_whole in _clauses(sentence):
            found = joined_truth(clause, scope)
            if found is not None:
                return Not(found) if is_denied_whole else found
    return None


def _clauses(sentence: str) -> Iterator[tuple[list[str], bool]]:
    """The stretches of a sentence that may be what has to be so; and whether just that must not be."""
    words = [word for part in parts_of(sentence) for word in part]
    lower = [word.lower() for word in words]
    text = " ".join(lower)
    found = [(at, -len(lead), lead) for lead in _LEADS if (at := f" {text} ".find(f" {lead} ")) >= 0]
    if found:
        at, _, lead = min(found)
        yield words[len(text[:at].split()) + len(lead.split()) :], False
        return
    if "unless" in lower:
        yield words[lower.index("unless") + 1 :], True
        return
    for relative in ("who", "that", "which"):
        if relative in lower:
            end = next((at for at, word in enumerate(lower) if word in ("may", "can") and at), len(words))
            if lower.index(relative) < end:
                yield words[lower.index(relative) + 1 : end], False
    if lower and (lower[0] in _ASKS or lower[0] in _NONE):
        yield (words[1:] if lower[0] in _ASKS else words), False


def joined_truth(words: Sequence[str], scope: Scope) -> Expr | None:
    atoms: list[list[str]] = [[]]
    joints: list[str] = []
    for word in words:
        is_range = "between" in [one.lower() for one in atoms[-1]] and "and" not in atoms[-1]
        if word.lower() in ("and", "or", ",", "but") and not is_range:
            if atoms[-1]:
                atoms.append([])
                joints.append("or" if word.lower() == "or" else "and")
            elif word.lower() == "or" and joints:
                joints[-1] = "or"
        else:
            atoms[-1].append(word)
    atoms = [atom for atom in atoms if atom]
    if len(atoms) > _MOST_ATOMS or any(len(atom) > _LONGEST_ATOM for atom in atoms):
        return None
    found = [one for atom in atoms if (one := truth_of(atom, scope)) is not None]
    if not found or len(found) < len(atoms):
        return None
    sides = [[found[0]]]
    for joint, one in zip(joints, found[1:], strict=False):
        sides.append([one]) if joint == "or" else sides[-1].append(one)
    return any_of(*(all_of(*side) for side in sides))


def truth_of(atom: Sequence[str], scope: Scope) -> Expr | None:
    """One thing that is so or not."""
    lower = [word.lower() for word in atom]
    for read in (
        _same,
        _between,
        _full,
        _compared,
        _none_such,
        _dated,
        _taken,
        _member,
        _stated,
        _had,
    ):
        found = read(lower, atom, scope)
        if found is not None:
            return found
    return None


def _same(lower: list[str], atom: Sequence[str], scope: Scope) -> Expr | None:
    """ "both have the same level"."""
    if "==" not in lower or len(scope.things) != 2:
        return None
    phrase = atom[lower.index("==") + 1 :]
    sides = [
        named(phrase, [t for t in scope.terms if is_part_of(t.value, one.value)]) for one in scope.things
    ]
    if sides[0] is None or sides[1] is None:
        return None
    return is_equal(sides[0].value, sides[1].value)


def _between(lower: list[str], atom: Sequence[str], scope: Scope) -> Expr | None:
    if "between" not in lower or "and" not in lower:
        return None
    at, middle = lower.index("between"), lower.index("and")
    numbers = scope.of_kind("number")
    held = named(atom[:at], numbers)
    if held is None:
        return None
    taken = [held.value]
    least = named(atom[at + 1 : middle], numbers, without=taken, hints=held.own)
    most = named(atom[middle + 1 :], numbers, without=taken, hints=held.own)
    if least is None or most is None or least == most:
        return None
    return all_of(compare(least.value, "<=", held.value), compare(held.value, "<=", most.value))


def _full(lower: list[str], atom: Sequence[str], scope: Scope) -> Expr | None:
    """ "the workshop is full", where no record has such a state."""
    called = frozenset().union(*(one.called for one in scope.things))
    lower = [word for word in lower if not stems((word,)) & called or word in _FULL]
    has_room = not _FULL & {*lower} and bool(_ROOM & {*lower}) and bool(_THERE & {*lower})
    if not _FULL & {*lower} and not has_room:
        return None
    for thing in scope.things:
        if stated_in(lower, thing.collection, thing.value):
            return None
        limit = limit_meant(thing, ())
        if limit is not None:
            is_full = not has_room and not is_denied(lower, _at(lower, _FULL))
            is_full = is_full or (has_room and _denies(lower))
            return compare(limit.used, ">=" if is_full else "<", limit.most)
    return None


def _at(words: Sequence[str], wanted: frozenset[str]) -> int:
    return next(at for at, word in enumerate(words) if word in wanted)


def _compared(lower: list[str], atom: Sequence[str], scope: Scope) -> Expr | None:
    at = next((at for at, word in enumerate(lower) if word in SIGNS), None)
    if at is None:
        return None
    given = {arg(one.name) for one in scope.arguments}
    return comparison(atom[:at], lower[at], atom[at + 1 :], scope.of_kind("number", "time"), given)


def _none_such(lower: list[str], atom: Sequence[str], scope: Scope) -> Expr | None:
    """ "no free bay left", "no session overlaps"."""
    if not _NONE & {*lower[:2]}:
        return None
    spoken = stems(lower)
    fit = {term.value: term for term in scope.of_kind("many") if stems(term.own) & spoken}
    found = next(iter(fit.values())) if len(fit) == 1 else None
    if found is None or found.many is None or found.many.collection is None:
        return None
    many = found.many.narrowed(*stated_in(_unspoken(lower), found.many.collection, found.many.each))
    many = at_that_time(many, scope)
    return is_equal(many.counted(), _NONE_AT_ALL)


def _unspoken(words: Sequence[str]) -> list[str]:
    """ "no free bay": that there is none does not say that it is not free."""
    return [word for word in words if word not in _NONE]


def at_that_time(many: Many, scope: Scope) -> Many:
    """Only those at the time that the arguments give: on that day, and overlapping from … to …"""
    if many.collection is None:
        return many
    fields = many.collection.fields
    begins, ends = _border(fields, _BEGINS), _border(fields, _ENDS)
    from_, to = _given(scope, _BEGINS), _given(scope, _ENDS)
    conditions = []
    if begins and ends and from_ and to:
        conditions = [compare(dot(many.each, begins), "<", to), compare(from_, "<", dot(many.each, ends))]
    days = [one for one in scope.arguments if one.is_required and _IS_DAY & {*one.words}]
    day = arg(days[0].name) if len(days) == 1 and begins and ends and not (from_ and to) else None
    if begins and ends and day:
        conditions = [compare(dot(many.each, begins), "<=", day), compare(day, "<=", dot(many.each, ends))]
    for one in scope.arguments:
        if arg(one.name) not in (from_, to, day) and one.is_required:
            found = condition_of(one, many.each, many.collection)
            conditions += [found] if found is not None else []
    return many.narrowed(*conditions)


_IS_DAY = word_set("date day on")
_BEGINS = word_set("from start starts begin begins since arrives arrival checkin")
_ENDS = word_set("to until end ends till leaves departure checkout")


def _border(fields: Mapping[str, Field], words: frozenset[str]) -> str | None:
    found = [name for name, one in fields.items() if {*tokens(name)} & words and kind_of_field(one) == "time"]
    return found[0] if len(found) == 1 else None


def _given(scope: Scope, words: frozenset[str]) -> Expr | None:
    found = [arg(one.name) for one in scope.arguments if {*one.words} & words and one.kind in ("text", "any")]
    return found[0] if len(found) == 1 else None


def _dated(lower: list[str], atom: Sequence[str], scope: Scope) -> Expr | None:
    """ "is valid on that day": the day that is given, or today, against the time up to which it is so."""
    times = [term for term in scope.of_kind("time") if _UNTIL & {*term.own}]
    days = [one for one in scope.arguments if _IS_DAY & {*one.words}]
    if not times or not ({"valid", "expired"} & {*lower} or (days and {"day", "date"} & {*lower})):
        return None
    ends = [term for term in times if not _BEGINS & {*term.own}]
    begins = [term for term in times if _BEGINS & {*term.own}]
    held = ends[0] if len(ends) == 1 else named(atom, ends)
    if held is None or len(days) > 1 or len(begins) > 1:
        return None
    day = arg(days[0].name) if days else TODAY
    still = [compare(held.value, ">=", day), *(compare(one.value, "<=", day) for one in begins)]
    is_over = "expired" in lower and not _denies(lower[: lower.index("expired")])
    return compare(held.value, "<", day) if is_over else all_of(*still)


def _taken(lower: list[str], atom: Sequence[str], scope: Scope) -> Expr | None:
    """ "the room is taken", at the time that is given."""
    found = [*taking(scope)] if _OVERLAPS & {*lower} else []
    if len(found) != 1:
        return None
    return compare(found[0].counted(), "==" if _denies(lower) else ">", _NONE_AT_ALL)


def _member(lower: list[str], atom: Sequence[str], scope: Scope) -> Expr | None:
    """ "the pupil is booked on the lesson", "is trained for the category of the tool"."""
    spoken = stems(lower)
    for thing in scope.things:
        for link in thing.collection.list_links:
            others = [
                one for one in scope.things if one.collection.entity_type == link.entity_type and one != thing
            ]
            if (
                len(others) == 1
                and others[0].called & spoken
                and thing.called & spoken
                and len(link.path) == 1
            ):
                held = some(same_id(dot("one"), others[0].id), "one", dot(thing.value, *link.path))
                return Not(held) if _denies(lower) else held
    lists = [term for term in scope.of_kind("many") if term.many is not None and term.many.collection is None]
    held_in = named(atom, lists)
    if held_in is None:
        return None
    holder = path_of(held_in.value)
    texts = [
        term
        for term in scope.of_kind("text")
        if holder is None or not is_part_of(term.value, dot(holder.root))
    ]
    scored = [(likeness(content_words(atom), term), term) for term in texts]
    best = max(scored, key=lambda pair: pair[0], default=(0.0, None))
    value = best[1] if best[0] > 0 else None
    if value is None:
        return None
    test = call("contains", held_in.value, value.value)
    return Not(test) if _denies(lower) else test


def _denies(lower: Sequence[str]) -> bool:
    return is_denied([*lower, "."], len(lower))


def _stated(lower: list[str], atom: Sequence[str], scope: Scope) -> Expr | None:
    spoken = stems(lower)
    things = [*scope.things, *scope.linked]
    mentioned = [one for one in things if one.called & spoken]
    rest = [one for one in things if one not in mentioned and not one.is_linked]
    words = [word for token in atom for word in tokens(token)]
    for thing in (*mentioned, *rest):
        conditions = stated_in(words, thing.collection, thing.value)
        if conditions and _is_about(atom, thing, is_only=len(scope.things) == 1):
            return all_of(*conditions)
    for term in scope.of_kind("many") if not _NONE & {*lower} else ():
        many = term.many
        if many is not None and many.collection is not None and stems(term.own) & spoken:
            conditions = stated_in(words, many.collection, many.each)
            if conditions:
                return compare(many.narrowed(*conditions).counted(), ">", _NONE_AT_ALL)
    return _around_linked(words, spoken, scope)


def _around_linked(words: Sequence[str], spoken: frozenset[str], scope: Scope) -> Expr | None:
    """ "an open alert in the house of the tenant": of what refers to a record that the one at hand names."""
    for thing in scope.linked:
        for term in of_those_behind(scope.reading, thing) if thing.called & spoken else ():
            many = term.many
            if term.kind != "many" or many is None or many.collection is None:
                continue
            conditions = stated_in(words, many.collection, many.each)
            if conditions and stems(term.own) & spoken:
                return compare(many.narrowed(*conditions).counted(), ">", _NONE_AT_ALL)
    return None


def _is_about(atom: Sequence[str], thing: Thing, *, is_only: bool) -> bool:
    """Whether what is said is said of this record: at most one word of it ("its card is active") is not."""
    fields = thing.collection.fields
    values = (value for one in fields.values() for value in one.values if isinstance(value, str))
    known = thing.called | stems(word for name in (*fields, *values) for word in tokens(name))
    plain = (without_denial(word) or word for word, _ in content_words(atom))
    unknown = [word for word in plain if not stems((word,)) & known and word not in _SAID_OF_STATES]
    return len(unknown) <= is_only


_SAID_OF_STATES = word_set("status state currently marked still already again")


def _had(lower: list[str], atom: Sequence[str], scope: Scope) -> Expr | None:
    """ "has an audioUrl", "owes nothing", "with hours left": there is some of it, or none."""
    limits = [limit for one in scope.things if (limit := limit_meant(one, lower, is_told=True)) is not None]
    if {"left", "remaining"} & {*lower} and len(limits) == 1:
        return compare(limits[0].used, ">=" if _denies(lower) else "<", limits[0].most)
    given = {arg(one.name) for one in scope.arguments}
    terms = [term for term in scope.of_kind("number", "text", "time", "many") if term.value not in given]
    found = named(atom, terms)
    if found is None or not explains(found, atom):
        return None
    is_none = bool(_NONE & {*lower}) or _denies(lower)
    if found.kind in ("number", "many"):
        number = found.value if found.kind == "number" else call("len", found.value)
        return compare(number, "==" if is_none else ">", _NONE_AT_ALL)
    return compare(found.value, "in" if is_none else "not in", constant([None, ""]))


def named_truth(words: Sequence[str], scope: Scope) -> Expr | None:
    """What a name says: `free` of a slot that can be free, `full` of a class with places."""
    for thing in scope.things:
        conditions = stated_in([*words], thing.collection, thing.value)
        if conditions:
            return all_of(*conditions)
    found = _full([*words], words, scope)
    if found is not None or not UNTAKEN & {*words} | {"available"} & {*words}:
        return found
    taken = [*taking(scope)]
    return is_equal(taken[0].counted(), _NONE_AT_ALL) if len(taken) == 1 else None


def taking(scope: Scope) -> Iterator[Many]:
    """Records behind a thing that have a beginning and an end, where such are given, too; of several things
    it is the one that the tool's name speaks of."""
    spoken = stems(tokens(scope.reading.tool.name))
    named_ones = tuple(one for one in scope.things if one.called & spoken)
    of_it = replace(scope, things=named_ones) if len(named_ones) == 1 else scope
    for term in of_it.of_kind("many"):
        many = term.many
        if many is not None and many.collection is not None and many.where:
            narrowed = at_that_time(many, scope)
            if len(narrowed.where) > len(many.where) + 1:
                yield narrowed.narrowed(*still_valid(many.collection, many.each))


def still_valid(collection: Collection, each: str) -> list[Expr]:
    return [Not(one) for one in stated_in(["cancelled"], collection, each)]
