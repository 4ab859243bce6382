"""Phrases: a thing with what is said of it, a field, an amount, and what must be so.

Each yields what it may mean and where it ends, the longest way first; every word in between is accounted for.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from pipelines.core.english.stems import stem
from pipelines.core.english.words import singular, word_set
from pipelines.core.english.words import tokens as words_of
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader.cursor import Cursor, Quantity
from pipelines.core.simulation.behavior.reader.relations import related
from pipelines.core.simulation.behavior.reader.vocabulary import (
    ANYBODY,
    Deed,
    Vocabulary,
    key_of,
    number_of,
)
from pipelines.core.simulation.behavior.scope import link_field
from pipelines.core.simulation.behavior.states import may_be_a_status
from pipelines.core.simulation.behavior.things import Path, find_field
from pipelines.core.simulation.behavior.tokens import Kind as TokenKind
from pipelines.core.simulation.behavior.tokens import Token
from pipelines.core.simulation.behavior.words import PERSONS

_ARTICLES = word_set(
    "a an the any all every each such this that these those some another its their his her your"
)
_OWNED = word_set("its their his her")
_BE = word_set("is are was were be being been")
_HAVE = word_set("has have had having")
_DO = word_set("does do did")
_OWE = word_set("owe owes owing")
_DEBTS = ("due", "owed", "owe", "balance", "outstanding", "debt", "overdue", "fines", "arrears")
_LINKING = word_set("of for by from to with on at in into against under as")
_SAID_TO_BE = word_set("flagged marked rated called classed tagged labelled labeled named classified")
LONGEST_NAME = 4
_LONG = word_set("older more over less younger under at longer shorter no exceeding up from between")
_SIGNS: dict[str, m.Op] = {"zero": "==", "negative": "<", "positive": ">"}
_SORTS = word_set("kind type category class role position grade tier status")
_UNKNOWN = word_set("unknown nonexistent missing invalid unrecognized unrecognised wrong")
_MINE = word_set("owner buyer purchaser creator author holder poster requester")
_RELATED = word_set("assignee manager reporter sender host organizer seller recipient receiver supervisor")
_ORIGINAL = word_set("original actual rightful registered same legitimate")
_BEGUN = word_set("placed created made ordered booked submitted opened filed issued bought registered posted")
_NEVER_STATES = word_set("given needed required allowed used made called named")


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


def without_state(thing: "Thing") -> "Thing":
    return replace(thing, so=())


def done(so: m.Condition) -> m.Condition:
    """What has been so at any time: an order that was delivered has been shipped."""
    match so:
        case m.OneOf(m.Field(owner=str(kind)), (str(word),)) if word.isalpha() and word.endswith(
            ("ed", "en")
        ):
            return m.Is(word, kind, True)
        case m.Any_(parts):
            return m.Any_(tuple(done(part) for part in parts))
    return so


def _says_sort(so: tuple[m.Condition, ...]) -> bool:
    return any(isinstance(one, m.OneOf) and _is_sort(one.field.name) for one in so)


def _is_sort(name: str) -> bool:
    """Whether a field says what sort of thing it is, so that its values stand for such things."""
    return words_of(name)[-1] in _SORTS


@dataclass(frozen=True, kw_only=True)
class Thing:
    """A noun phrase: of which kind, what is so of it, and what else it says."""

    kind: str = ""  # "": nothing that the world keeps
    so: tuple[m.Condition, ...] = ()
    deeds: tuple[Deed, ...] = ()  # where the noun names the doing: a cancellation
    is_none: bool = False  # no, nobody
    is_only: bool = False
    is_new: bool = False
    is_other: bool = False  # another one than the call is about
    bounds: tuple[tuple[m.Op, Quantity], ...] = ()  # how many
    field: m.Field | None = None  # where it is a field of a thing
    path: Path = ()
    is_person: bool = False
    is_own: bool = False  # of whoever calls
    tools: tuple[str, ...] = ()  # named after it, where the world keeps no such thing
    others: tuple[str, ...] = ()  # kinds of things that are said to belong to it


@dataclass(kw_only=True)
class Phrases:
    cursor: Cursor
    words: Vocabulary
    known: dict[int, list[tuple["Thing", int]]] = field(default_factory=dict)

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
        start = self.cursor.past(start, _ARTICLES | {"of"}) if self.cursor.low(start) != "of" else start
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
        start = self.cursor.past(at, _ARTICLES | {"only", "by"})
        if start == at and self.cursor.low(at - 1) not in _ARTICLES:
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
            is_made = bool(said) and (said[0] in _BEGUN or said[0] == "owns" or said[0].endswith("ed"))
            start = at + 2 if is_made else None
        if (end := self.cursor.after(at, "it belongs to", "they belong to")) is not None:
            yield "", end
        if start is None:
            return
        if self.cursor.low(start) in ("it", "them"):
            yield "", start + 1
        yield from self._bare_thing(self.cursor.past(start, _ARTICLES))

    def by_owner(self, at: int) -> Iterator[tuple[m.Condition, int]]:
        """`by the user who placed them`, `only by its owner`."""
        start = self.cursor.after(at, "only by", "by")
        for thing, end in self.owner(start) if start is not None else ():
            yield thing.so[0], end + (self.cursor.low(end) in ("only", "alone"))

    def unknown(self, at: int) -> Iterator[tuple[str, int]]:
        """`unknown order ids`, `an order that does not exist`: which kind, and where it ends."""
        start = self.cursor.past(at, _ARTICLES)
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
            for other, end in self._bare_thing(self.cursor.past(at + 1, _ARTICLES)):
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
        yield from self._of_tools(base, at)

    def _of_tools(self, base: Thing, at: int) -> Iterator[tuple[Thing, int]]:
        """`data packs`, `a damage claim`: nothing that the world keeps, but what tools are named after."""
        for length in (3, 2, 1):
            said = self.cursor.words(at, at + length)
            if len(said) != length or (length == 1 and self.words.kinds_named(said)):
                continue
            nouns = {singular(word) for word in said}
            tools = tuple(
                tool.name
                for tool in self.words.lexicon.tools.values()
                if nouns <= tool.words and words_of(tool.name)[0] not in nouns
            )
            if tools:
                yield replace(base, tools=tools), at + length
                return

    def _noun(self, at: int) -> Iterator[tuple[str, tuple[m.Condition, ...], int]]:
        low = self.cursor.low(at)
        if low == "ones":
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
                    if isinstance(so, m.OneOf) and _is_sort(so.field.name):
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

    def value_nouns(self, kind: str, at: int) -> Iterator[tuple[m.OneOf, int]]:
        """A value as a noun, of this kind: `as drafts`."""
        for length in (2, 1):
            said = self.cursor.words(at, at + length)
            so = self.words.state(kind, [*said[:-1], singular(said[-1])]) if len(said) == length else None
            if isinstance(so, m.OneOf):
                yield so, at + length

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
                if (so := self.words.state(kind.name, spelled)) is not None and isinstance(so, m.OneOf)
            ]
            sorts = [one for one in hits if _is_sort(one[1].field.name)]
            for kind_name, so in (sorts or hits) if len(sorts or hits) == 1 else ():
                yield kind_name, (so,), at + length
            yield from ((("", (so,), at + length) for so in self._role_given(spelled)) if not hits else ())

    def roles(self, at: int) -> Iterator[tuple[str, int]]:
        """A word for what somebody is, by a role that a record has: `admin`."""
        said = self.cursor.words(at, at + 1)
        for kind in self.words.folk if said else ():
            so = self.words.state(kind, [singular(said[0])])
            if isinstance(so, m.OneOf) and _is_sort(so.field.name) and isinstance(so.values[0], str):
                yield so.values[0], at + 1
                return

    def _role_given(self, said: list[str]) -> Iterator[m.Condition]:
        """`managers`, where the tools are told the role of whoever calls."""
        for tool in self.words.lexicon.tools.values():
            for name, schema in tool.arguments.items():
                enum = schema.get("enum")
                for value in enum if isinstance(enum, list) and _is_sort(name) and not tool.reads else ():
                    if isinstance(value, str) and key_of([value]) == key_of(said):
                        yield m.OneOf(m.Field(name, None, True), (value,))
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

    # -- what follows a noun

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
        if low in ("in", "on", "under", "at", "out", "off", "past", "still") or low in _SAID_TO_BE:
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
        for so, end in self._gerund(kind, at):
            yield (so,), (), end
        for so, end in self.event_ago(kind, at):
            yield (so,), (), end
        for so, end in self.measured(kind, at) if low not in ("aged", "worth", "of") else ():
            yield (so,), (), end

    def linked(self, at: int) -> Iterator[tuple[Thing, int]]:
        """`by blacklisted customers`, `for any of their pets`, `to a branch that is closed`."""
        start = at + (self.cursor.low(at) == "only")
        if self.cursor.low(start) not in _LINKING:
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

    def event_ago(self, kind: str, at: int) -> Iterator[tuple[m.Condition, int]]:
        """`booked more than 60 days ago`, `placed within the last 30 days`, `created before 2026-01-15`."""
        said = self.cursor.words(at, at + 1)
        if not said or not (said[0].endswith(("ed", "en", "ade", "ent", "born")) or said[0] in _BEGUN):
            return
        dates = self.words.dates_of(kind, ["birth"] if said[0] == "born" else said)
        if len(dates) == 1:
            moment = self.words.named(kind, dates[0])
        elif said[0] in _BEGUN and kind and not dates:
            moment = m.Field(said[0], kind, False, True)  # the date it came about, whatever that is called
        else:
            return
        yield from self.dated(moment, at + 1)

    def dated(self, moment: m.Field, at: int) -> Iterator[tuple[m.Condition, int]]:
        """When a moment was: `more than 60 days ago`, `within the last 30 days`, `before 2026-01-05`."""
        for bounds, end in self.cursor.bounds(at):
            (op, span), *rest = bounds
            back = self.cursor.after(end, "ago", "before the run date", "before now", "before today", "back")
            if not rest and span.duration is not None and back is not None:
                yield m.Age(moment, op, span.duration), back
            ahead = self.cursor.after(end, "from now", "from the run date", "ahead", "in the future")
            if not rest and span.duration is not None and ahead is not None:
                yield m.Age(moment, op, span.duration, None, True), ahead
        recent = self.cursor.after(at, "within the last", "in the last", "within the past", "in the past")
        found = self.cursor.quantity(recent) if recent is not None else None
        if found is not None and found[0].duration is not None:
            yield m.Age(moment, "<=", found[0].duration), found[1]
        word, token = self.cursor.low(at), self.token(at + 1)
        if word in ("before", "after", "since") and token is not None and token.kind is TokenKind.DATE:
            yield m.Compare(moment, "<" if word == "before" else ">", m.Literal_(token.text)), at + 2

    def _gerund(self, kind: str, at: int) -> Iterator[tuple[m.Condition, int]]:
        """`scoring under 50`, `owing more than 20`."""
        said = self.cursor.words(at, at + 1)
        if said and said[0].endswith("ing"):
            path = self.words.field_of(kind, [stem(said[0])]) or self.words.field_of(
                kind, [said[0][:-3] + "e"]
            )
            if said[0] == "owing":
                yield from self._owed(kind, at + 1)
            elif path is not None:
                yield from self.compared(kind, path, at + 1)

    # -- what is so

    def states(self, kind: str, at: int) -> Iterator[tuple[m.Condition, int]]:
        """One state or several: `picked or shipped`, `active`, `closed, won or lost`."""
        for first, end in self.state(kind, at):
            for rest, last in self._more_states(kind, end):
                yield m.Any_((first, *rest)), last
            yield first, end

    def _more_states(self, kind: str, at: int) -> Iterator[tuple[tuple[m.Condition, ...], int]]:
        start = self.cursor.after(at, ", or", ", and", "or", "and", ",", "nor")
        if start is None:
            return
        start = self.cursor.past(start, _BE | word_set("already been"))
        for one, end in self.state(kind, start):
            for rest, last in self._more_states(kind, end):
                yield (one, *rest), last
            yield (one,), end

    def state(self, kind: str, at: int) -> Iterator[tuple[m.Condition, int]]:
        is_not = self.cursor.low(at) in ("not", "non", "never")
        start = at + is_not
        start = self.cursor.past(start, word_set("a an the in on still already currently"))
        tried = [start] if start == at + is_not else [at + is_not, start]
        for begin in tried:
            for length in range(LONGEST_NAME, 0, -1):
                said = self.cursor.words(begin, begin + length)
                if len(said) != length:
                    continue
                so = self.words.state(kind, said) or self._named_state(kind, said)
                if so is not None:
                    yield (m.negated(so) if is_not else so), begin + length
                    return
        quoted = self.token(start)
        known = self.words.lexicon.kinds.get(kind)
        if known is None or quoted is None or (known.status is None and known.fields):
            return
        said = self.cursor.words(start, start + 1)
        is_field = bool(said) and self.words.field_of(kind, said) is not None
        may_be = bool(said) and may_be_a_status(said[0]) and not said[0].endswith("ing")
        if may_be and not is_field and said[0] not in _NEVER_STATES:
            # A state that no record has yet; that the rule changes nothing is found when it is tried.
            so = m.Is(quoted.text if "_" in quoted.text else said[0], kind)
            yield (m.negated(so) if is_not else so), start + 1

    def _named_state(self, kind: str, said: list[str]) -> m.Condition | None:
        """`child tier`, `status paid`, `plan premium`, `high intensity`: a value with its field's name."""
        for at in range(1, len(said)):
            for name, value in ((said[at:], said[:at]), (said[:at], said[at:])):
                path = self.words.field_of(kind, name)
                spelled = self.words.value_in(kind, path, value) if path is not None else None
                if path is not None and spelled is not None:
                    return m.OneOf(self.words.named(kind, path), (spelled,))
        return None

    def state_phrase(self, kind: str, at: int) -> Iterator[tuple[m.Condition, int]]:
        """`on credit hold`, `in maintenance`, `flagged do_not_contact`, `past their due date`."""
        if self.cursor.low(at) in _SAID_TO_BE:
            start = self.cursor.past(at + 1, word_set("as with"))
            yield from self.state(kind, start)
            for field_name, path, end in self._own_field(kind, start):
                if "boolean" in self.words.lexicon.kinds[kind].fields[path].kinds:
                    yield m.Compare(field_name, "==", m.Literal_(True)), end
            return
        if self.cursor.low(at) == "past":
            yield from self._past_its(kind, at + 1)
            return
        yield from self.state(kind, at)
        start = self.cursor.past(at + 1, _ARTICLES)
        yield from self.state(kind, start)
        said = self.cursor.words(start, start + 1)
        underway = self.words.in_the_course_of(kind, said[0]) if said and kind else None
        if underway is not None:
            yield underway, start + 1

    def _past_its(self, kind: str, at: int) -> Iterator[tuple[m.Condition, int]]:
        for field_name, path, end in self._own_field(kind, self.cursor.past(at, _ARTICLES)):
            if path in self.words.lexicon.kinds[kind].dates():
                yield m.Compare(field_name, "<", m.Now()), end

    def predicate(self, kind: str, at: int) -> Iterator[tuple[m.Condition, int]]:
        """What follows `which` or a subject: `is closed`, `hasn't been paid`, `owe us more than 100`."""
        low = self.cursor.low(at)
        if low in _DO and self.cursor.low(at + 1) == "not":
            for so, end in self.predicate(kind, at + 2):
                yield m.negated(so), end
            return
        if low in _BE or low in _HAVE:
            start, is_not = at + 1, False
            while self.cursor.low(start) in (
                "not",
                "never",
                "been",
                "no",
                "longer",
                "already",
                "still",
                "yet",
            ):
                if self.cursor.low(start) == "no" and self.cursor.low(start + 1) != "longer":
                    break
                is_not = is_not or self.cursor.low(start) in ("not", "never", "no")
                start += 1
            for so, end in self._being(kind, low, start):
                told = done(so) if low in _HAVE or self.cursor.low(start - 1) == "been" else so
                yield (m.negated(told) if is_not else told), end
            return
        if low == "have" or low in _HAVE:
            yield from self.having(kind, at + 1)
        if low in _OWE:
            yield from self._owed(kind, at + 1)
        if low in ("passed", "passes", "missed", "reached"):
            yield from self._past_its(kind, at + 1)
        if low in ("lack", "lacks"):
            for so, end in self.having(kind, at + 1):
                yield m.negated(so), end
        if low in ("exceed", "exceeds"):
            yield from self.measured(kind, at)

    def _being(self, kind: str, verb: str, at: int) -> Iterator[tuple[m.Condition, int]]:
        if self.cursor.low(at) == "neither":
            for so, end in self.states(kind, at + 1):
                yield m.negated(so), end
            return
        yield from self.event_ago(kind, at)
        yield from self._done_times(kind, at)
        for so, end in self.states(kind, at):
            yield so, self._same_thing(kind, end) if self.cursor.low(at) in _ARTICLES else end
        yield from self.state_phrase(kind, at)
        if self.cursor.low(at) in ("passed", "past"):
            yield from self._past_its(kind, at + 1)
        yield from self.measured(kind, at)
        if verb in _HAVE:
            yield from self.having(kind, at)
            yield from self.linked_records(kind, at)
        elif verb in _BE:
            yield from self._in_time(kind, at)
            yield from self.value_nouns(kind, at)  # are still drafts

    def _done_times(self, kind: str, at: int) -> Iterator[tuple[m.Condition, int]]:
        """`rescheduled twice`, `renewed three times`: by the number on it that counts that."""
        said = self.cursor.words(at, at + 1)
        found = self.cursor.quantity(at + 1) if said and said[0].endswith(("ed", "en")) else None
        if found is None:
            return
        end = found[1] + (self.cursor.low(found[1]) == "times")
        if found[0].unit == "time" or end > found[1]:
            yield m.Times(said[0], ">=", int(found[0].number), kind), end

    def _in_time(self, kind: str, at: int) -> Iterator[tuple[m.Condition, int]]:
        end = self.cursor.after(at, "in the past", "in the future")
        moments = self.words.lexicon.kinds[kind].dates()
        if end is not None and len(moments) == 1:
            op: m.Op = "<" if self.cursor.low(end - 1) == "past" else ">"
            yield m.Compare(self.words.named(kind, moments[0]), op, m.Now()), end

    def having(self, kind: str, at: int) -> Iterator[tuple[m.Condition, int]]:
        """After `with` or `has`: `no seats left`, `an active membership`, `more than two fines`."""
        low = self.cursor.low(at)
        is_none = low == "no"
        start = self.cursor.past(at + (is_none or low == "any"), _ARTICLES)
        for so, end in self.state(kind, start):
            # `an active membership` of a member: the noun only repeats whose state it is.
            last = self._same_thing(kind, end)
            yield (m.negated(so) if is_none else so), last
        if (nonzero := self.cursor.after(start, "non zero", "nonzero")) is not None:
            for name, _, end in self._own_field(kind, nonzero):
                yield m.Compare(name, "!=", m.Literal_(0)), end
        for bounds, after in self.cursor.bounds(start):
            for name, path, end in self._own_field(kind, self.cursor.past(after, word_set("of in"))):
                yield self._within(name, path, kind, bounds), self._left(end)
        for name, path, end in self._own_field(kind, start):
            about = self.words.lexicon.kinds[kind].fields[path]
            if path in self.words.lexicon.kinds[kind].dates() and not self.is_name(end - 1):
                continue  # a class that has started is not one that has a start
            for so, last in self.compared(kind, path, end):
                yield so, last
            has: m.Condition = (
                m.Compare(name, "==", m.Literal_(True)) if "boolean" in about.kinds else m.HasSome(name)
            )
            yield (m.negated(has) if is_none else has), self._left(end)

    def linked_records(self, kind: str, at: int) -> Iterator[tuple[m.Condition, int]]:
        """`an active session`, `three or more expired reservations`: records that hold this one's id."""
        for thing, end in self.thing(at):
            if not thing.kind or thing.kind == kind or thing.is_only or not self._is_linked(thing.kind, kind):
                continue
            of = m.Thing(thing.kind, m.both(*thing.so))
            op, than = ("==", 0) if thing.is_none else (">=", 1)
            if thing.bounds:
                op, than = thing.bounds[0][0], int(thing.bounds[0][1].number)
            if len(thing.bounds) > 1 or (thing.bounds and op == "=="):
                continue
            for also, last in self._also_of(thing.kind, kind, end):
                yield m.Counted(kind, of, op, than, False, also), last

    def _also_of(self, counted: str, kind: str, at: int) -> Iterator[tuple[tuple[str, ...], int]]:
        """`a tenancy on the plot`, `a completed visit with that doctor`."""
        start = self.cursor.past(at + 1, _ARTICLES | {"same"}) if self.cursor.low(at) in _LINKING else at
        for other, end in self._bare_thing(start) if start > at + 1 else ():
            if other not in (counted, kind) and self._is_linked(counted, other):
                yield (other,), end
                return  # left out it would say something else
        yield (), at

    def _is_linked(self, other: str, kind: str) -> bool:
        known = self.words.lexicon.kinds[other]
        return link_field(known, kind) is not None or (other, kind) in self.words.lexicon.links

    def _same_thing(self, kind: str, at: int) -> int:
        for length in (2, 1):
            said = self.cursor.words(at, at + length)
            is_person = (
                length == 1 and kind in self.words.folk and bool(said) and singular(said[0]) in PERSONS
            )
            if len(said) == length and (kind in self.words.kinds_named(said) or is_person):
                return at + length
        return at

    def _left(self, at: int) -> int:
        return at + (self.cursor.low(at) in ("left", "remaining", "available"))

    def _owed(self, kind: str, at: int) -> Iterator[tuple[m.Condition, int]]:
        fields = self.words.lexicon.kinds[kind].fields
        debts = [
            path
            for path, one in fields.items()
            if "number" in one.kinds and any(word in path[-1].lower() for word in _DEBTS)
        ]
        if len(debts) != 1:
            return
        start = self.cursor.past(at, word_set("us any money anything") | set(words_of(debts[0][-1])))
        for bounds, end in self.cursor.bounds(start):
            yield self._within(self.words.named(kind, debts[0]), debts[0], kind, bounds), end
        yield m.HasSome(self.words.named(kind, debts[0])), start

    # -- fields

    def _own_field(self, kind: str, at: int) -> Iterator[tuple[m.Field, Path, int]]:
        for length in range(LONGEST_NAME, 0, -1):
            said = self.cursor.words(at, at + length)
            path = self.words.field_of(kind, said) if len(said) == length else None
            if path is not None:
                yield self.words.named(kind, path), path, at + length
                return

    def of_part(self, kind: str, at: int) -> Iterator[tuple[m.Condition, int]]:
        """After `whose`: a field with its value, or a thing that is linked with it."""
        for _, path, end in self._own_field(kind, at):
            yield from self.valued(kind, path, end)
            yield from self._inside(kind, path, end)
        for other, end in self.thing(at):
            if other.kind and other.kind != kind:
                for so, last in self.predicate(other.kind, end):
                    yield m.both(*other.so, so) or so, last

    def valued(self, kind: str, path: Path, at: int) -> Iterator[tuple[m.Condition, int]]:
        """What a field is: `is surgery`, `exceeds 100`, `lies in the past`, `has been reached`."""
        name = self.words.named(kind, path)
        start, is_not = at, False
        while self.cursor.low(start) in _BE | word_set("not has have never lies lie falls set to ="):
            is_not = is_not or self.cursor.low(start) in ("not", "never")
            start += 1
        for so, end in self._valued(name, kind, path, start):
            yield (m.negated(so) if is_not else so), end
        for values, end in self._listed_values(kind, path, start):
            so = m.OneOf(name, values)
            yield (m.negated(so) if is_not else so), end

    def _inside(self, kind: str, above: Path, at: int) -> Iterator[tuple[m.Condition, int]]:
        """What a record inside another is: `whose referral has not expired`, by referral.expires_on."""
        start, is_not = at, False
        while self.cursor.low(start) in _BE | _HAVE | word_set("not never"):
            is_not = is_not or self.cursor.low(start) in ("not", "never")
            start += 1
        said = self.cursor.words(start, start + 1)
        known = self.words.lexicon.kinds[kind]
        for path, one in known.fields.items() if said and start > at else ():
            if path[: len(above)] != above or len(path) == len(above):
                continue
            so: m.Condition | None = None
            if path in known.dates() and stem(said[0]) in set(map(stem, words_of(path[-1]))):
                so = m.Compare(self.words.named(kind, path), "<", m.Now())
            elif (value := self.words.value_in(kind, path, said)) is not None:
                so = m.OneOf(self.words.named(kind, path), (value,))
            if so is not None:
                yield (m.negated(so) if is_not else so), start + 1

    def _listed_values(self, kind: str, path: Path, at: int) -> Iterator[tuple[tuple[m.Value, ...], int]]:
        """`one of pending, processing or on_hold`, `'pending'`, `shipped or delivered`."""
        start = self.cursor.after(at, "one of :", "one of", "any of", "either", "neither") or at
        found: list[m.Value] = []
        ends: list[int] = []
        while (one := self._one_value(kind, path, start)) is not None:
            found.append(one[0])
            ends.append(one[1])
            joined = self.cursor.after(one[1], ", or", ", and", "or", "and", "nor", ",")
            if joined is None:
                break
            start = joined
        for count in range(len(found), 0, -1):
            yield tuple(found[:count]), ends[count - 1]

    def _one_value(self, kind: str, path: Path, at: int) -> tuple[m.Value, int] | None:
        for length in (3, 2, 1):
            said = self.cursor.words(at, at + length)
            spelled = self.words.value_in(kind, path, said) if len(said) == length else None
            if spelled is not None:
                return spelled, at + length
        token = self.token(at)
        if token is None:
            return None
        if token.kind is TokenKind.TEXT:
            return self.words.value_in(kind, path, [token.text]) or token.text, at + 1
        known = self.words.lexicon.kinds[kind]
        if token.is_word() and path == (known.status or ("status",)) and may_be_a_status(token.low):
            return token.text if "_" in token.text else token.low, at + 1
        return None

    def _valued(self, name: m.Field, kind: str, path: Path, at: int) -> Iterator[tuple[m.Condition, int]]:
        if path in self.words.lexicon.kinds[kind].dates():
            yield from self.dated(name, at)
            end = self.cursor.after(at, "in the past", "passed", "over")
            if end is not None:
                yield m.Compare(name, "<", m.Now()), end
            if (end := self.cursor.after(at, "in the future")) is not None:
                yield m.Compare(name, ">", m.Now()), end
        if self.cursor.low(at) in ("true", "false"):
            yield m.Compare(name, "==", m.Literal_(self.cursor.low(at) == "true")), at + 1
        yield from self.compared(kind, path, at)
        number = self.cursor.number(at)
        if number is not None and "number" in self.words.lexicon.kinds[kind].fields[path].kinds:
            yield m.Compare(name, "==", m.Literal_(number_of(number[0]))), number[1]

    def compared(self, kind: str, path: Path, at: int) -> Iterator[tuple[m.Condition, int]]:
        name = self.words.named(kind, path)
        start = at + (self.cursor.low(at) in ("of", "at", "is", "are", "exceeding"))
        for begin in dict.fromkeys((start, at)):
            for bounds, end in self.cursor.bounds(begin):
                yield self._within(name, path, kind, bounds), end
            yield from self._against_field(name, begin)
        if self.cursor.low(at) in ("exceed", "exceeds"):
            found = self.cursor.quantity(at + 1)
            if found is not None:
                yield self._within(name, path, kind, ((">", found[0]),)), found[1]
        op = _SIGNS.get(self.cursor.low(at))
        if op is not None:
            yield m.Compare(name, op, m.Literal_(0)), at + 1

    def _against_field(self, name: m.Field, at: int) -> Iterator[tuple[m.Condition, int]]:
        for op, start in self.cursor.comparison(at):
            for other, end in self.amount_field(start, name.owner):
                yield m.Compare(name, op, other), end
            said = self.cursor.words(begin := self.cursor.past(start, _ARTICLES), begin + 1)
            tools = self.words.lexicon.tools.values()
            if said and any(said[0] in tool.arguments for tool in tools if not tool.reads):
                yield m.Compare(name, op, m.Field(said[0], None, True)), begin + 1

    def _within(
        self, name: m.Field, path: Path, kind: str, bounds: tuple[tuple[m.Op, Quantity], ...]
    ) -> m.Condition:
        parts = tuple(m.Compare(name, op, self.literal(one)) for op, one in bounds)
        return parts[0] if len(parts) == 1 else m.All(parts)

    def literal(self, one: Quantity) -> m.Amount:
        if one.is_percent:
            return m.Percent(one.number / 100)
        return m.Literal_(number_of(one.number))

    def measured(self, kind: str, at: int) -> Iterator[tuple[m.Condition, int]]:
        """`over 200 euros`, `aged 60 and over`, `under the age of 18`, `older than 30 days`."""
        start = at + (self.cursor.low(at) in ("aged", "worth", "of", "exceed", "exceeds", "valued"))
        if self.cursor.low(at) in ("exceed", "exceeds"):
            found = self.cursor.quantity(start)
            so = self._measure(kind, ((">", found[0]),), "") if found is not None else None
            if found is not None and so is not None:
                yield so, found[1]
            return
        if (
            after := self.cursor.after(start, "under the age of", "below the age of", "over the age of")
        ) is not None:
            number = self.cursor.number(after)
            op: m.Op = ">" if self.cursor.low(start) == "over" else "<"
            if number is not None and ("age",) in self.words.lexicon.kinds[kind].fields:
                yield m.Compare(self.words.named(kind, ("age",)), op, m.Literal_(int(number[0]))), number[1]
        for bounds, end in self.cursor.bounds(start):
            # `over a year old` is what `older than a year` is.
            said = "older" if self.cursor.low(end - 1) == "old" else self.cursor.low(start)
            so = self._measure(kind, bounds, said)
            if so is not None and self.cursor.low(end) != "ago":
                yield so, end
        for op, begin in self.cursor.comparison(start):
            for limit, end in self.amount_field(begin, None):  # younger than the event's min_age
                yield m.Measure(kind, op, limit), end

    def _measure(self, kind: str, bounds: tuple[tuple[m.Op, Quantity], ...], said: str) -> m.Condition | None:
        known = self.words.lexicon.kinds[kind]
        unit = bounds[0][1].unit
        if (bounds[0][1].duration is not None and unit != "year") or (
            unit == "year" and ("age",) not in known.fields
        ):
            spans = [(op, one.duration) for op, one in bounds]
            if said not in _LONG:
                return None
            by_unit = self.words.field_of(kind, [f"{unit}s"])
            if by_unit is not None and said not in ("older", "younger"):
                return self._within(self.words.named(kind, by_unit), by_unit, kind, bounds)
            if said not in ("older", "younger"):
                return self._lasting(unit, bounds)
            parts = tuple(m.Age(None, op, span, kind) for op, span in spans if span is not None)
            return parts[0] if len(parts) == 1 else m.All(parts)
        by_unit = (
            self.words.field_of(kind, [unit]) if unit and unit not in ("euro", "dollar", "year") else None
        )
        if by_unit is not None and "number" in known.fields[by_unit].kinds:
            return self._within(self.words.named(kind, by_unit), by_unit, kind, bounds)
        if ("age",) in known.fields and unit in ("", "year"):  # members under 18
            return self._within(self.words.named(kind, ("age",)), ("age",), kind, bounds)
        return m.both(*(m.Measure(kind, op, self.literal(one)) for op, one in bounds))

    def lasting(self, bounds: tuple[tuple[m.Op, Quantity], ...]) -> m.Condition | None:
        unit = next((one.unit for _, one in bounds if one.unit), "")
        return (
            self._lasting(unit, bounds)
            if unit and bounds[0][1].unit in ("", unit) and unit != "time"
            else None
        )

    def in_units(self, bounds: tuple[tuple[m.Op, Quantity], ...], at: int) -> m.Condition | None:
        """`14 nights`: how many is what the call says under the unit's name."""
        said = self.cursor.words(at, at + 1)
        tools = [tool for tool in self.words.lexicon.tools.values() if not tool.reads]
        if not said or bounds[0][1].unit or not any(said[0] in tool.arguments for tool in tools):
            return None
        name = m.Field(said[0], None, True)
        return m.both(*(m.Compare(name, op, self.literal(one)) for op, one in bounds))

    def _lasting(self, unit: str, bounds: tuple[tuple[m.Op, Quantity], ...]) -> m.Condition | None:
        """How long it is for is what the call says under the unit's name: `hours`, `weeks`."""
        if not any(
            f"{unit}s" in tool.arguments for tool in self.words.lexicon.tools.values() if not tool.reads
        ):
            return None
        parts = tuple(m.Compare(m.Field(f"{unit}s", None, True), op, self.literal(one)) for op, one in bounds)
        return parts[0] if len(parts) == 1 else m.All(parts)

    # -- amounts

    def amount_field(self, at: int, near: str | None = None) -> Iterator[tuple[m.Field, int]]:
        for name, end in self._amount_field(at, near):
            yield name, end
            if (left := self._left(end)) > end:  # the student's lessons left
                yield name, left

    def _amount_field(self, at: int, near: str | None = None) -> Iterator[tuple[m.Field, int]]:
        """`the vehicle's recorded mileage`, `its max_seats`, `the price of the listing`, `order.total`."""
        token = self.token(at)
        if token is not None and "." in token.text and token.kind is TokenKind.NAME:
            head, _, rest = token.text.partition(".")
            owner_kind = self.words.lexicon.kind_of(head)
            path = self.words.field_of(owner_kind, [rest]) if owner_kind else None
            if owner_kind and path is not None:
                yield self.words.named(owner_kind, path), at + 1
        if self.cursor.low(at) in _OWNED and near:
            for name, _, end in self._own_field(near, at + 1):
                yield name, end
        plain = self.cursor.past(at, _ARTICLES)
        for start in dict.fromkeys((plain, self.cursor.past(plain, word_set("total current recorded")))):
            yield from self._named_amount(start, near)

    def _named_amount(self, start: int, near: str | None) -> Iterator[tuple[m.Field, int]]:
        for owner, end in self._bare_thing(start):
            after = end + (self.cursor.low(end) == "'s")
            for name, _, last in self._own_field(
                owner, self.cursor.past(after, word_set("current recorded"))
            ):
                yield name, last
        for length in range(LONGEST_NAME, 0, -1):
            said = self.cursor.words(start, start + length)
            if len(said) != length:
                continue
            yield from self._field_anywhere(said, start + length, near)

    def _field_anywhere(self, said: list[str], end: int, near: str | None) -> Iterator[tuple[m.Field, int]]:
        if self.cursor.low(end) in ("of", "on"):
            for owner, after in self._bare_thing(self.cursor.past(end + 1, _ARTICLES)):
                path = self.words.field_of(owner, said)
                if path is not None:
                    yield self.words.named(owner, path), after
        if near and (path := self.words.field_of(near, said)) is not None:
            yield self.words.named(near, path), end
        homes = [
            (kind.name, path)
            for kind in self.words.lexicon.kinds.values()
            if kind.fields and (path := self.words.field_of(kind.name, said)) is not None
        ]
        if len(homes) == 1:
            yield self.words.named(*homes[0]), end

    def kinds_at(self, at: int) -> Iterator[tuple[str, int]]:
        yield from self._bare_thing(at)

    def _bare_thing(self, at: int) -> Iterator[tuple[str, int]]:
        for length in (3, 2, 1):
            said = self.cursor.words(at, at + length)
            for kind in self.words.kinds_named(said) if len(said) == length else ():
                yield kind, at + length

    def token(self, at: int) -> Token | None:
        return self.cursor.tokens[at] if at < self.cursor.end else None

    def is_name(self, at: int) -> bool:
        token = self.token(at)
        return token is not None and token.kind is TokenKind.NAME
