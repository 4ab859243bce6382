"""Things with what is said of them.

Each phrase yields what it may mean and where it ends, the longest way first; every word in between is
accounted for.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from pipelines.core.english.stems import stem
from pipelines.core.english.words import singular, word_set
from pipelines.core.english.words import tokens as words_of
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader.cursor import Quantity
from pipelines.core.simulation.behavior.reader.field_phrases import ARTICLES, LONGEST_NAME
from pipelines.core.simulation.behavior.reader.relations import related
from pipelines.core.simulation.behavior.reader.state_phrases import BEGUN, LINKING, SAID_TO_BE, StatePhrases
from pipelines.core.simulation.behavior.reader.thing import Thing
from pipelines.core.simulation.behavior.reader.vocabulary import ANYBODY, Deed, key_of
from pipelines.core.simulation.behavior.things import find_field
from pipelines.core.simulation.behavior.words import PERSONS

_SORTS = word_set("kind type category class role position grade tier status")
_UNKNOWN = word_set("unknown nonexistent missing invalid unrecognized unrecognised wrong")
_MINE = word_set("owner buyer purchaser creator author holder poster requester")
_RELATED = word_set("assignee manager reporter sender host organizer seller recipient receiver supervisor")
_ORIGINAL = word_set("original actual rightful registered same legitimate")
_GONE = tuple(
    f"{that} {gone}".strip()
    for that in ("that", "which", "")
    for gone in (
        "does not exist", "do not exist", "is not on file", "are not on file", "is not known",
        "can not be found", "is not there", "could not be found",
    )
)  # fmt: skip
_NO_SUCH = (
    "id it does not know", "id that does not exist", "ids it does not know", "id that is not known",
    "unknown id", "unknown ids",
)  # fmt: skip


def _says_sort(so: tuple[m.Condition, ...]) -> bool:
    return any(isinstance(one, m.OneOf) and _is_sort(one.field.name) for one in so)


def _is_called_so(so: m.OneOf, said: list[str]) -> bool:
    """Whether a value that says what sort of person it is is just this word."""
    word = key_of([*said[:-1], singular(said[-1])])
    return _is_sort(so.field.name) and len(so.values) == 1 and key_of([str(so.values[0])]) == word


def _is_sort(name: str) -> bool:
    """Whether a field says what sort of thing it is, so that its values stand for such things."""
    return words_of(name)[-1] in _SORTS


@dataclass(kw_only=True)
class Phrases(StatePhrases):
    known: dict[int, list[tuple[Thing, int]]] = field(default_factory=dict)

    # -- things

    def thing(self, at: int) -> Iterator[tuple[Thing, int]]:
        if at not in self.known:
            self.known[at] = []  # a phrase inside itself has no reading
            self.known[at] = [*self._thing(at)]
        yield from self.known[at]

    def _thing(self, at: int) -> Iterator[tuple[Thing, int]]:
        base = Thing()
        start = at
        if self.cursor.low(start) == "only":
            base, start = replace(base, is_only=True), start + 1
        yield from self._owned_by_others(base, start)
        is_limit = next(self.cursor.comparison(start), None) is not None  # no more than three
        if not is_limit and self.cursor.low(start) in ("no", "nobody", "none", "nothing", "neither"):
            base = replace(base, is_none=True)
            start += 1 if self.cursor.low(start) in ("no", "none", "neither") else 0
        if self.cursor.low(start) in ("another", "other") or self.cursor.after(
            start, "a different", "the other"
        ):
            base = replace(base, is_other=True)
        start = self.cursor.past(start, ARTICLES | {"of"}) if self.cursor.low(start) != "of" else start
        if start > at and self.cursor.low(start) in ("same", "given", "particular", "single"):
            start += 1  # the one that the call is about
        start += self.cursor.low(start) == "single"
        if self.cursor.low(start) == "own" and start > at:
            base, start = replace(base, is_own=True), start + 1
        for more in ("new", "further", "additional", "other"):
            if self.cursor.low(start) == more:
                base, start = replace(base, is_new=more != "other"), start + 1
        for bounds, after in self._how_many(start):
            yield from self._headed(replace(base, bounds=bounds), after)

    def _how_many(self, at: int) -> Iterator[tuple[tuple[tuple[m.Op, Quantity], ...], int]]:
        for bounds, end in self.cursor.bounds(at):
            if not bounds[0][1].unit and not bounds[0][1].is_percent:
                yield bounds, end
        number = self.cursor.number(at)
        if number is not None and self.cursor.low(at) != "one":
            yield (("==", Quantity(number[0])),), number[1]
        yield (), at

    def _owned_by_others(self, base: Thing, at: int) -> Iterator[tuple[Thing, int]]:
        """`another user's order`, `other customers' orders`, `someone else's bookings`."""
        start = self.cursor.after(at, "another", "other", "someone else", "anyone else", "a different")
        if start is None:
            return
        for length in (2, 1, 0):
            said = self.cursor.words(start, start + length)
            if len(said) != length or self.cursor.low(start + length) != "'s":
                continue
            for kind, end in self._bare_thing(start + length + 1):
                yield replace(base, kind=kind, so=(m.negated(m.Owns(kind)),)), end

    def owner(self, at: int) -> Iterator[tuple[Thing, int]]:
        """Whoever a thing belongs to: `the owner of an order`, `the customer who placed it`."""
        for so, end in related(self, at):
            yield Thing(so=(so,), is_person=True, others=(so.noun,) if so.noun else ()), end
        start = self.cursor.past(at, ARTICLES | {"only", "by"})
        if start == at and self.cursor.low(at - 1) not in ARTICLES:
            return
        is_original = self.cursor.low(start) in _ORIGINAL
        start += is_original
        owned = ""
        for kind, end in self._bare_thing(start):
            if self.cursor.low(end + (self.cursor.low(end) == "'s")) in _MINE | _RELATED:
                owned, start = kind, end + (self.cursor.low(end) == "'s")
                break
        word = singular(self.cursor.low(start))
        if not word:
            return
        relation = word if word in _RELATED else None
        if relation is not None and not self._is_relation(relation):
            return
        for kind, end in self._whose(start + 1):
            if relation or word in _MINE or word in PERSONS:
                yield self._owning(kind or owned, relation), end
        if (
            (word in _MINE and not self.words.kinds_named([word]))
            or relation
            or (is_original and word in PERSONS)
        ):
            yield self._owning(owned, relation), start + 1

    def _owning(self, kind: str, relation: str | None) -> Thing:
        so = m.Owns(kind or None, None, relation)
        return Thing(so=(so,), is_person=True, others=(kind,) if kind else ())

    def _is_relation(self, word: str) -> bool:
        kinds = self.words.lexicon.kinds.values()
        return any(find_field(kind.fields, name) for kind in kinds for name in (word, f"{word}_id"))

    def _whose(self, at: int) -> Iterator[tuple[str, int]]:
        """`of the order`, `who placed it`, `it belongs to`."""
        start = self.cursor.after(at, "of", "on")
        if start is None and self.cursor.low(at) in ("who", "that"):
            said = self.cursor.words(at + 1, at + 2)
            is_made = bool(said) and (said[0] in BEGUN or said[0] == "owns" or said[0].endswith("ed"))
            start = at + 2 if is_made else None
        if (end := self.cursor.after(at, "it belongs to", "they belong to")) is not None:
            yield "", end
        if start is None:
            return
        if self.cursor.low(start) in ("it", "them"):
            yield "", start + 1
        yield from self._bare_thing(self.cursor.past(start, ARTICLES))

    def by_owner(self, at: int) -> Iterator[tuple[m.Condition, int]]:
        """`by the user who placed them`, `only by its owner`."""
        start = self.cursor.after(at, "only by", "by")
        for thing, end in self.owner(start) if start is not None else ():
            yield thing.so[0], end + (self.cursor.low(end) in ("only", "alone"))

    def unknown(self, at: int) -> Iterator[tuple[str, int]]:
        """`unknown order ids`, `an order that does not exist`: which kind, and where it ends."""
        start = self.cursor.past(at, ARTICLES)
        is_unknown = self.cursor.low(start) in _UNKNOWN
        begin = self.cursor.after(start, "non existent") or start + is_unknown
        for kind, end in self._bare_thing(begin):
            last = end + (self.cursor.low(end) in ("id", "ids", "number", "numbers"))
            if begin > start:
                yield kind, last
            elif (gone := self.cursor.after(last, *_GONE)) is not None:
                yield kind, gone
        if (unnamed := self.cursor.after(start, *_NO_SUCH)) is not None:
            yield "", unnamed

    def of_it(self, kind: str, at: int) -> int:
        """Past `on the order`, where that is what is spoken of."""
        if self.cursor.low(at) in ("on", "of", "in"):
            for other, end in self._bare_thing(self.cursor.past(at + 1, ARTICLES)):
                if other == kind:
                    return end
        return at

    def _headed(self, base: Thing, at: int) -> Iterator[tuple[Thing, int]]:
        """States in front, the noun, and what follows it."""
        for thing, end in self.owner(at):
            yield replace(base, so=thing.so, is_person=True, others=thing.others), end
        for noun in range(at, min(at + LONGEST_NAME + 1, self.cursor.end)):
            for kind, extra, end in self._noun(noun):
                for so in self._states_between(kind, at, noun):
                    is_person = kind in self.words.folk or (not kind and _says_sort(extra))
                    owned: tuple[m.Condition, ...] = (m.Owns(kind),) if base.is_own else ()
                    whole = replace(base, kind=kind, so=(*owned, *so, *extra), is_person=is_person)
                    yield from self.described(whole, end)
        yield from self._doing(base, at)

    def _noun(self, at: int) -> Iterator[tuple[str, tuple[m.Condition, ...], int]]:
        low = self.cursor.low(at)
        is_any = low in ("nothing", "anything") and self.cursor.low(at + 1) in ("that", "which")
        if low == "ones" or is_any:
            yield from ((kind.name, (), at + 1) for kind in self.words.lexicon.kinds.values() if kind.fields)
            return
        if low in ANYBODY or low == "nobody":
            end = at + 1 + (self.cursor.low(at + 1) == "else")
            yield from ((kind, (), end) for kind in self.words.folk)
            return
        for length in (3, 2, 1):
            said = self.cursor.words(at, at + length)
            if len(said) == length:
                kinds = self.words.kinds_named(said)
                yield from ((kind, (), at + length) for kind in kinds)
                for kind in kinds:  # `technicians`, where that is also a role some of them have
                    so = self.words.state(kind, [*said[:-1], singular(said[-1])])
                    if kind in self.words.folk and isinstance(so, m.OneOf) and _is_called_so(so, said):
                        yield kind, (so,), at + length
                if kinds:
                    return
        yield from self._value_noun(at)
        yield from self._value_of_argument(at)

    def _value_of_argument(self, at: int) -> Iterator[tuple[str, tuple[m.Condition, ...], int]]:
        """`the off_peak plan`, where a tool is asked for a plan."""
        for length in (2, 1):
            said = self.cursor.words(at, at + length + 1)
            for tool in self.words.lexicon.tools.values() if len(said) == length + 1 else ():
                enum = tool.arguments.get(said[-1], {}).get("enum")
                for value in enum if isinstance(enum, list) and not tool.reads else ():
                    if isinstance(value, str) and key_of([value]) == key_of(said[:-1]):
                        yield "", (m.OneOf(m.Field(said[-1], None, True), (value,)),), at + length + 1
                        return

    def _value_noun(self, at: int) -> Iterator[tuple[str, tuple[m.Condition, ...], int]]:
        """`drafts`, `surgeries`, `admins`: a value stands for the things that have it."""
        for length in (2, 1):
            said = self.cursor.words(at, at + length)
            plural_end = bool(said) and (
                singular(said[-1]) != said[-1] or self.cursor.low(at - 1) in ("a", "an", "the", "by")
            )
            if len(said) != length or not plural_end or [*self._bare_thing(at + length)]:
                continue  # `an active tenancy` is no active
            spelled = [*said[:-1], singular(said[-1])]
            hits = [
                (kind.name, so)
                for kind in self.words.lexicon.kinds.values()
                if isinstance(so := self.words.state(kind.name, spelled), m.OneOf)
            ]
            yield from (
                ((kind, (so,), at + length) for kind, so in self._switched(spelled)) if not hits else ()
            )
            sorts = [one for one in hits if _is_sort(one[1].field.name)]
            for kind_name, so in (sorts or hits) if len(sorts or hits) == 1 else ():
                yield kind_name, (so,), at + length

    def _switched(self, said: list[str]) -> list[tuple[str, m.Condition]]:
        """`the chair`, by a switch that some persons have on."""
        found: list[tuple[str, m.Condition]] = [
            (kind, so)
            for kind in self.words.folk
            if not self.words.lexicon.kinds[kind].role
            and isinstance(so := self.words.state(kind, said), m.Compare)
            and so.right == m.Literal_(True)
        ]
        return found if len(found) == 1 else []

    def roles(self, at: int) -> Iterator[tuple[str, int]]:
        """A word for what somebody is, by a role that a record has: `admin`."""
        said = self.cursor.words(at, at + 1)
        for kind in self.words.folk if said else ():
            so = self.words.state(kind, [singular(said[0])])
            if isinstance(so, m.OneOf) and _is_sort(so.field.name) and isinstance(so.values[0], str):
                yield so.values[0], at + 1
                return

    def _states_between(self, kind: str, at: int, to: int) -> Iterator[tuple[m.Condition, ...]]:
        if at == to:
            yield ()
            return
        for so, end in self.states(kind, at):
            if end == to:
                yield (so,)
        for length in (3, 2, 1):  # `active hazardous items`
            said = self.cursor.words(at, at + length)
            first = self.words.state(kind, said) if len(said) == length and at + length < to else None
            if first is not None:
                for rest in self._states_between(kind, at + length, to):
                    yield (first, *rest)

    def _doing(self, base: Thing, at: int) -> Iterator[tuple[Thing, int]]:
        """A noun or a gerund for what tools do: a cancellation, booking a class."""
        said = self.cursor.words(at, at + 1)
        deeds = tuple(deed for deed in self.words.deeds_of(said[0]) if deed.given is None) if said else ()
        after = self.cursor.words(at + 1, at + 2)
        glued = self.words.deeds_of("".join((*said, *after))) if said and after else ()
        if glued:  # top ups
            yield replace(base, deeds=glued), at + 2
        if said and not deeds and after:  # a rent payment
            of = tuple(
                deed
                for deed in self.words.deeds_of(after[0])
                if singular(said[0]) in self.words.lexicon.tools[deed.tool.lower()].words
            )
            if of and after[0].endswith(
                ("ment", "ments", "ion", "ions", "al", "als", "ing", "ings", "request", "requests")
            ):
                yield replace(base, deeds=of), at + 2
        if deeds and (
            self.cursor.low(at - 1) in ("a", "an", "each", "every", "the")
            or said[0].endswith(("ing", "ion", "ions", "ment", "ments", "al", "als"))
            or base.is_new
            or singular(said[0]) != said[0]
            or stem(said[0]) == said[0]
            or any(deed.tool.lower() == said[0] for deed in deeds)
        ):
            end, kept = self.particle(deeds, at + 1)
            if kept:
                yield replace(base, deeds=kept), end

    def particle(self, deeds: tuple[Deed, ...], at: int) -> tuple[int, tuple[Deed, ...]]:
        """Of verbs of two words those whose second stands here; else those of one."""
        parted = tuple(deed for deed in deeds if deed.particle and deed.particle == self.cursor.low(at))
        if parted:
            return at + 1, parted
        return at, deeds

    def described(self, thing: Thing, at: int) -> Iterator[tuple[Thing, int]]:
        for so, others, end in self._description(thing.kind, at):
            yield from self.described(
                replace(thing, so=(*thing.so, *so), others=(*thing.others, *others)), end
            )
        yield thing, at

    def _description(
        self, kind: str, at: int
    ) -> Iterator[tuple[tuple[m.Condition, ...], tuple[str, ...], int]]:
        low = self.cursor.low(at)
        start = at + (low == "," and self.cursor.low(at + 1) in ("who", "that", "which", "whose"))
        low = self.cursor.low(start)
        if low in ("who", "that", "which"):
            for so, end in self.predicate(kind, start + 1):
                yield (so,), (), end
            mine = self.cursor.after(
                start + 1, "belong to them", "belongs to them", "are theirs", "they own", "is theirs"
            )
            if mine is not None:
                yield (m.Owns(kind),), (), mine
        if low in ("they", "he", "she") and kind:  # lots they are selling themselves
            verb = self.cursor.past(start + 1, word_set("are is were was have has had been"))
            said = self.cursor.words(verb, verb + 1)
            if said and said[0].endswith(("ing", "ed", "en", "ade", "ote")):
                end = verb + 1 + (self.cursor.low(verb + 1) in ("themselves", "himself", "herself"))
                yield (m.Related(kind, "", said[0]),), (), end
        if low == "whose":
            for so, end in self.of_part(kind, start + 1):
                yield (so,), (), end
        if (
            own := self.cursor.after(start, "of their own", "of his own", "of its own", "of your own")
        ) and kind:
            yield (m.Owns(kind),), (), own
        if low in ("with", "without", "having"):
            for so, end in (*self.having(kind, at + 1), *self.linked_records(kind, at + 1)):
                yield (m.negated(so) if low == "without" else so,), (), end
        if low in ("in", "on", "under", "at", "out", "off", "past", "still") or low in SAID_TO_BE:
            for so, end in self.state_phrase(kind, at):
                yield (so,), (), end
        if low == "not" or low in (
            "aged",
            "worth",
            "of",
            "older",
            "younger",
            "past",
            "under",
            "over",
            "above",
        ):
            for so, end in self.measured(kind, at):
                yield (so,), (), end
        if self.is_name(at):  # parcels out_for_delivery
            for so, end in self.states(kind, at):
                yield (so,), (), end
        for so, end in self.event_ago(kind, at):
            yield (so,), (), end
        for so, end in self.measured(kind, at) if low not in ("aged", "worth", "of") else ():
            yield (so,), (), end

    def linked(self, at: int) -> Iterator[tuple[Thing, int]]:
        """`by blacklisted customers`, `for any of their pets`, `to a branch that is closed`."""
        start = at + (self.cursor.low(at) == "only")
        if self.cursor.low(start) not in LINKING:
            return
        second = start + 1 + (self.cursor.low(start + 1) in ("of", "to"))
        for thing, end in self.thing(second):
            if thing.kind or thing.deeds or thing.so:
                last = end + (self.cursor.low(end) in ("only", "alone"))
                yield replace(thing, is_only=thing.is_only or start > at or last > end), last

    def persons(self, at: int) -> Iterator[tuple[Thing, int]]:
        """`inspectors`, `technicians or managers`: each alone, and those of one kind together."""
        for first, end in self.thing(at):
            second = self.cursor.after(end, "or", "and", ", or", ", and")
            for other, last in self.persons(second) if second is not None and first.so else ():
                one, two = m.both(*first.so), m.both(*other.so)
                if one is not None and two is not None and first.kind == other.kind:
                    yield replace(first, so=(m.Any_((one, two)),)), last
            if first.is_person:
                yield first, end + (self.cursor.low(end) in ("only", "alone"))
