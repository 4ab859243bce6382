"""What goes with a verb: objects, who does it, when, how often, and under which conditions; in any order."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader import times
from pipelines.core.simulation.behavior.reader.answers import failure
from pipelines.core.simulation.behavior.reader.conditions import Conditions
from pipelines.core.simulation.behavior.reader.cursor import Cursor
from pipelines.core.simulation.behavior.reader.modality import EXCEPT, WHEN, Modal, modal
from pipelines.core.simulation.behavior.reader.phrases import Phrases
from pipelines.core.simulation.behavior.reader.said import Said, is_debt, is_role
from pipelines.core.simulation.behavior.reader.thing import Thing, without_state
from pipelines.core.simulation.behavior.reader.vocabulary import Deed
from pipelines.core.simulation.behavior.things import ToolWords

_LIGHT = word_set(
    "make makes get gets receive receives take takes place places have given handed granted order open start "
    "request file submit lodge raise put"
)
_FILLERS = (
    "again", "at a time", "at once", "per call", "anymore", "at any time", "at all", "any more",
    "for any reason", "any longer", "directly", "through this api", "through the api", "via the api",
    "in their name", "in this system", "a second time", "along with it",
)  # fmt: skip
MOST_PHRASES = 6  # after a verb
_PAID = tuple(
    f"until {who} {paid}"
    for who in ("they have", "it is", "it has been", "they are", "this is", "that is", "this has been")
    for paid in ("paid", "settled", "cleared", "paid up", "paid it")
)
_NO_ONE_ELSE = tuple(
    f"{lead} {nobody} else"
    for lead in ("and by", "and", "but by", ", and by")
    for nobody in ("no one", "nobody")
)
_THERE_IS = word_set("there is are we have the they it has still currently you")
_AT_HAND = ("in stock", "on hand", "available", "left", "remaining", "on the shelf")
_OF = ("of", "to", "in", "at", "from", "with", "for", "between")
_NO_ONE_ELSES = tuple(f"{one} 's" for one in _NO_ONE_ELSE)
_THE_REST = tuple(
    f"{mark} {rest}"
    for mark in (";", ",", "; all", "; any")
    for rest in (
        "everyone else",
        "anyone else",
        "anybody else",
        "everybody else",
        "others",
        "other",
        "all others",
    )
)
_TENSES: tuple[tuple[str, m.Op], ...] = (("past", "<"), ("future", ">"))
_OFTEN = (
    (
        1,
        (
            "only once",
            "a single time",
            "just once",
            "once only",
            "more than once",
            "at most once",
            "one time only",
        ),
    ),
    (2, ("more than twice", "only twice", "at most twice")),
)


@dataclass(kw_only=True)
class Complements:
    phrases: Phrases

    @property
    def cursor(self) -> Cursor:
        return self.phrases.cursor

    def conditions(self, said: Said) -> Conditions:
        """Conditions on the calls that are spoken of: arguments of these tools are meant first."""
        return Conditions(phrases=self.phrases, tools=self.tools_of(said))

    def tools_of(self, said: Said) -> list[ToolWords]:
        tools = self.phrases.words.lexicon.tools
        return [tools[deed.tool.lower()] for deeds in said.verbs for deed in deeds]

    def near(self, said: Said) -> list[str]:
        """What a field without an owner may belong to: what is named, then what the tool is about."""
        about = {tool.kind for tool in self.tools_of(said) if tool.kind}
        tools, lexicon = self.tools_of(said), self.phrases.words.lexicon
        persons = (
            kind
            for kind in self.phrases.words.folk
            if tools and all(lexicon.id_argument(tool, kind) is not None for tool in tools)
        )
        return list(dict.fromkeys([*said.kinds, *(about if len(about) == 1 else ()), *persons]))

    def restricted(self, said: Said, at: int) -> Iterator[tuple[Said, int]]:
        """What must be so, only of some calls: `if …`, `unless …`, `for premium members`."""
        cursor = self.cursor
        begin = at + (cursor.low(at) == ",")
        start = cursor.after(begin, *WHEN)
        for so, thing, end in self.conditions(said).read(start, self.near(said)) if start is not None else ():
            things = (*said.things, thing) if thing is not None else said.things
            yield replace(said, so=(*said.so, so), things=things), end
        excepted = cursor.after(begin, *EXCEPT)
        yield from self._excepted(said, excepted, self.near(said)) if excepted is not None else ()
        for thing, end in self.phrases.thing(at + 1) if cursor.low(at) == "for" else ():
            so_of = m.both(*thing.so)
            if so_of is not None:
                yield replace(said, so=(*said.so, so_of), things=(*said.things, without_state(thing))), end
        yield said, at

    def events(self, at: int) -> Iterator[tuple[Said, int]]:
        """A deed that is done: `cancelling a trip`, `a charter is cancelled`, `a member cancels it`."""
        cursor = self.cursor
        for verbs, end in self.verbs(at):
            yield from self.extended(Said(verbs=verbs, is_forbidden=True), end, is_subject=True)
        for thing, end in self.phrases.thing(at):
            if thing.deeds:
                base = Said(verbs=(thing.deeds,), is_forbidden=True).with_thing(thing)
                yield from self.extended(base, end, is_subject=True)
            after = cursor.past(
                end, word_set("is are was were has have been being gets get can may could be")
            )
            for verbs, then in self.verbs(after) if thing.kind else ():
                base = Said(verbs=verbs, is_forbidden=True).with_thing(thing)
                yield from self.extended(base, then, is_subject=True)

    def verbs(self, at: int) -> Iterator[tuple[tuple[tuple[Deed, ...], ...], int]]:
        """One verb of a tool, or several: `called or e-mailed`."""
        low = self.cursor.low(at)
        if low in ("be", "have", "been") or not self.cursor.words(at, at + 1):
            return
        said = self.cursor.words(at, at + 2)
        glued = "".join(said) if len(said) == 2 else ""  # e-mailed, put away
        ways = [(self.phrases.words.deeds_of(low), at + 1), (self.phrases.words.deeds_of(glued), at + 2)]
        for deeds, after in ways:
            if not deeds:
                continue
            end, kept = self.phrases.particle(deeds, after)
            joined = self.cursor.after(end, ", or", "or", "and", "nor", ",")
            for rest, last in self.verbs(joined) if joined is not None else ():
                yield (kept, *rest), last
            yield (kept,), end

    def lightly(self, at: int) -> Iterator[tuple[tuple[tuple[Deed, ...], ...], int]]:
        """`make a booking`, `get new parcels`, `order anything new`: the noun says what is done."""
        if self.cursor.low(at) not in _LIGHT:
            return
        for thing, end in self.phrases.thing(at + 1):
            if thing.so or thing.bounds or thing.is_none:
                continue
            made = tuple(Deed(tool=tool.name, rank=1) for tool in self.phrases.words.makers(thing.kind))
            if thing.deeds or made:
                yield (thing.deeds or made,), end if thing.deeds else at + 1

    def _able(self, at: int) -> Iterator[tuple[tuple[tuple[Deed, ...], ...], int]]:
        """`refundable`, `cancellable`: the verb inside, where some tool does it."""
        low = self.cursor.low(at)
        if low.endswith(("able", "ible")):
            for base in (low[:-4], f"{low[:-4]}e"):
                deeds = self.phrases.words.deeds_of(base)
                if deeds:
                    yield (deeds,), at + 1
                    return

    def extended(
        self, said: Said, at: int, is_needed: bool = False, is_subject: bool = False, left: int = MOST_PHRASES
    ) -> Iterator[tuple[Said, int]]:
        """Objects, who does it, when, and under which conditions; in any order."""
        if left:
            for more, end in self._phrase(said, at, is_needed, is_subject):
                yield from self.extended(more, end, is_needed, is_subject, left - 1)
        yield said, at

    def _phrase(self, said: Said, at: int, is_needed: bool, is_subject: bool) -> Iterator[tuple[Said, int]]:
        cursor = self.cursor
        yield from self._often(said, at, is_needed)
        filler = cursor.after(at, *_FILLERS)
        if filler is not None:
            yield said, filler
        if cursor.low(at) == "with" and (answer := failure(self.phrases, at + 1)) is not None:
            yield replace(said, outcome=answer[0]), answer[1]
        if said.is_forbidden and (paid := cursor.after(at, *_PAID)) is not None and is_debt(said.so):
            yield said, paid
        start = at + (cursor.low(at) == "," and not is_subject)
        yield from self._joined_condition(said, start)
        if start > at:
            for thing, end in self.phrases.thing(start):  # `…, premium clients excepted`
                so_of = m.both(*thing.so)
                if so_of is not None and cursor.low(end) in ("excepted", "aside", "exempt", "exempted"):
                    yield replace(said, exceptions=(*said.exceptions, so_of)), end + 1
            return
        for kind, end in self.phrases.kinds_at(at + 1) if cursor.low(at) == "per" else ():
            if all(tool.makes == kind for tool in self.tools_of(said)):
                yield said, end  # six tickets per order, where each call makes one
        yield from self._more_than(said, at)
        yield from self._in_any_other(said, at)
        yield from self._linked(said, at, is_needed)
        yield from self._without(said, at)
        for word, op in _TENSES:
            ways = (
                f"{to} a {what} in the {word}"
                for to in ("for", "to", "at", "on")
                for what in ("time", "date", "day")
            )
            then = cursor.after(at, *ways, f"in the {word}") or self._at_a_time(at, word)
            if then is not None:
                yield said.with_condition(m.Compare(m.Field(m.WHEN), op, m.Now())), then
        for bounds, end in cursor.bounds(at + (cursor.low(at) in ("for", "to", "by"))):
            for name, last in (
                self.conditions(said).arguments(end) if said.verbs and not bounds[0][1].unit else ()
            ):
                parts = (
                    m.Compare(m.Field(name, None, True), op, self.phrases.literal(one)) for op, one in bounds
                )
                given = m.both(*parts)
                if given is not None:
                    yield said.with_condition(given), last
            lasting = self.phrases.lasting(bounds)
            if lasting is not None:
                yield said.with_condition(lasting), end
            elif said.verbs and is_subject and not bounds[0][1].unit:  # refunds over $50
                worth = m.both(*(m.Measure(None, op, self.phrases.literal(one)) for op, one in bounds))
                if worth is not None:
                    yield said.with_condition(worth), end

    def _in_any_other(self, said: Said, at: int) -> Iterator[tuple[Said, int]]:
        """`at any stage other than hired or rejected`."""
        start = self.cursor.after(at, "at any", "in any")
        other = self.cursor.after(start + 1, "other than", "except", "but") if start is not None else None
        for kind in said.kinds:
            if start is None or other is None:
                return
            status = self.phrases.words.lexicon.kinds[kind].status
            named = self.phrases.words.field_of(kind, [self.cursor.low(start)])
            for so, end in self.phrases.states(kind, other) if status and named == status else ():
                yield said.with_condition(m.negated(so), None, True), end

    def _more_than(self, said: Said, at: int) -> Iterator[tuple[Said, int]]:
        """`more of a part than is in stock`, `more tickets than there are seats left`."""
        cursor = self.cursor
        begin = cursor.after(at + (cursor.low(at) == "for"), "more")
        than = (
            next((place for place in range(begin, begin + 8) if cursor.low(place) == "than"), None)
            if begin
            else None
        )
        if begin is None or than is None:
            return
        of = [
            kind
            for kind, end in self.phrases.kinds_at(cursor.past(begin, word_set("of a an the any")))
            if end == than or self._is_where(end, than)
        ]
        counted = cursor.words(begin, than)
        if than > begin and not of and cursor.low(begin) == "of":
            return
        start = cursor.past(than + 1, _THERE_IS)
        near = [*of, *self.near(said)]
        count = m.Field(m.COUNT)
        for kind in near:
            stock = self.phrases.words.field_of(kind, ["stock"])
            end = cursor.after(start, *_AT_HAND)
            if stock is not None and end is not None:
                yield said.with_condition(m.Compare(count, ">", self.phrases.words.named(kind, stock))), end
        for field, end in self.phrases.amount_field(start, near[0] if near else None):
            yield said.with_condition(m.Compare(count, ">", field), Thing(kind=field.owner or "")), end
        for kind, end in self.phrases.kinds_at(start):  # `more days than the employee has left`
            path = (
                self.phrases.words.field_of(kind, counted)
                if counted and cursor.low(end) in ("has", "have")
                else None
            )
            if path is not None:
                last = end + 1 + (cursor.low(end + 1) in ("left", "available"))
                named_so = m.Compare(count, ">", self.phrases.words.named(kind, path))
                yield said.with_condition(named_so, Thing(kind=kind)), last

    def _is_where(self, at: int, to: int) -> bool:
        """`to a parcel`, between what is counted and `than`."""
        start = self.cursor.past(at + 1, word_set("a an the"))
        is_led = self.cursor.low(at) in ("to", "into", "in", "for", "on", "from")
        return is_led and any(end == to for _, end in self.phrases.kinds_at(start))

    def _at_a_time(self, at: int, word: str) -> int | None:
        """`for a time that has passed`, `starting in the past`, `with a date that lies in the future`."""
        cursor = self.cursor
        start = cursor.past(at, word_set("for to at on with a the starting beginning which"))
        begin = start + (cursor.low(start) in ("time", "date", "day", "start", "deadline"))
        if begin == start and start == at:
            return None
        lies = cursor.past(begin, word_set("that which is lies lie has have starts start begins begin"))
        past = ("passed", "gone by", "gone") if word == "past" and lies > begin else ()
        return cursor.after(lies, f"in the {word}", *past)

    def _linked(self, said: Said, at: int, is_needed: bool) -> Iterator[tuple[Said, int]]:
        """What it is done to, with, for or by whom."""
        cursor = self.cursor
        needs = is_needed and not said.is_forbidden
        if cursor.low(at) in ("it", "them") and said.verbs:
            yield said, at + 1
        if (
            cursor.low(at) in ("for", "on", "in", "to")
            and cursor.low(at + 1) in ("it", "them")
            and said.verbs
        ):
            yield said, at + 2
        if cursor.low(at) in ("anything", "something") and said.verbs:
            yield said, at + 1 + (cursor.low(at + 1) in ("new", "else"))
        yield from self._given_object(said, at)
        for of, end in self.phrases.by_owner(at):
            alone = cursor.after(end, *_NO_ONE_ELSE)
            if alone is not None:
                yield said.with_condition(of, None, True), alone
            yield said.with_condition(of, None, needs), end
        for thing, end in self.phrases.persons(at + 1) if cursor.low(at) == "by" else ():
            agents = (*said.agents, thing.kind) if is_role(thing) else said.agents
            is_told = cursor.after(end, *_THE_REST) is not None  # and the rest are answered otherwise
            yield replace(said.with_thing(thing, needs or is_told), agents=agents), end
        for thing, end in self.phrases.linked(at):
            agents = (*said.agents, thing.kind) if is_role(thing) else said.agents
            alone = cursor.after(end, *_NO_ONE_ELSE)
            if alone is not None:
                yield replace(said.with_thing(thing, True), agents=agents), alone
            yield replace(said.with_thing(thing, needs), agents=agents), end
        yield from self._of_the_same(said, at, needs)
        prepositions = cursor.after(at, "for", "on", "of")
        for kind, end in self.phrases.unknown(prepositions) if prepositions is not None else ():
            own = kind or next(iter(self.near(said)), "")
            yield said.with_condition(m.Not(m.Exists(own))), end
        out = at + (cursor.low(at) == "only")
        start = cursor.after(out, "out of", "from") or 0
        for kind in said.kinds if start else ():  # `can be won only out of negotiation`
            for so, end in self.phrases.state(kind, start):
                yield said.with_condition(so, None, out > at), end
        for thing, end in self.phrases.thing(at):
            if thing.kind and not thing.is_none and (theirs := cursor.after(end, *_NO_ONE_ELSES)) is not None:
                yield said.with_thing(thing, True), theirs
            if thing.kind and not thing.is_none:
                particles = {deed.particle for deeds in said.verbs for deed in deeds} - {""}
                if cursor.low(end) in particles:  # checking a guest in
                    yield said.with_thing(thing, needs), end + 1
                yield said.with_thing(thing, needs), end

    def _given_object(self, said: Said, at: int) -> Iterator[tuple[Said, int]]:
        """What the call gives, as the object: `book seats`, `set an hourly rate of no less than 15`."""
        for so, end in self.argument_thing(at, self.tools_of(said)) if said.verbs else ():
            yield said.with_condition(so), end
        for name, end in self.conditions(said).arguments(at) if said.verbs else ():
            start = self.cursor.past(end, word_set("of that which lies is"))
            field = m.Field(name, None, True)
            for so, last in self.conditions(said).asked_of(field, start, self.tools_of(said)):
                if start > end:
                    yield said.with_condition(so), last
            if not self.phrases.kinds_at_once(at, end):
                yield said, end

    def argument_thing(self, at: int, tools: list[ToolWords]) -> Iterator[tuple[m.Condition, int]]:
        """`amounts greater than the order total`, `a negative quantity`, `duplicate emails`."""
        cursor = self.cursor
        start = cursor.past(at, word_set("a an any the"))
        conditions = Conditions(phrases=self.phrases, tools=tools)
        sign = cursor.low(start)
        both = cursor.after(start, "zero and negative", "zero or negative", "negative and zero")
        for name, end in conditions.arguments(both) if both is not None else ():
            yield m.Compare(m.Field(name, None, True), "<=", m.Literal_(0)), end
        if sign in ("negative", "duplicate"):
            for name, end in conditions.arguments(start + 1):
                field = m.Field(name, None, True)
                if sign == "negative":
                    yield m.Compare(field, "<", m.Literal_(0)), end
                else:
                    yield m.Not(m.Unique(m.Field(name))), end
        if tools and cursor.low(start) in ("value", "values"):
            for so, end in conditions.asked_of(m.Field(m.SOLE), start + 1, tools):
                yield so, end
        for name, end in conditions.arguments(start):
            for so, last in conditions.asked_of(m.Field(name, None, True), end, tools):
                if not isinstance(so, m.OneOf):
                    yield so, last

    def _of_the_same(self, said: Said, at: int, needs: bool) -> Iterator[tuple[Said, int]]:
        """`to their own section`, `of the same currency`: what two of the things that are named share."""
        cursor = self.cursor
        start = cursor.after(
            at, *(f"{of} {own}" for of in _OF for own in ("their own", "the same", "his own"))
        )
        for length in (2, 1):
            if start is None:
                return
            name = cursor.words(start, start + length)
            found = ((kind, self.phrases.words.field_of(kind, name)) for kind in said.kinds)
            shared = [self.phrases.words.named(kind, path) for kind, path in found if path is not None]
            if len(name) == length and len(shared) == 2:
                left, right = shared
                end = start + length
                last = end + (cursor.low(end) == "only")
                so = m.Compare(left, "==", right)
                yield said.with_condition(so, None, needs or last > end), last

    def _joined_condition(self, said: Said, at: int) -> Iterator[tuple[Said, int]]:
        cursor = self.cursor
        near = self.near(said)
        only = at + (cursor.low(at) == "only")
        start = cursor.after(only, *WHEN)
        if start is not None:
            for so, thing, end in self.conditions(said).read(start, near):
                yield said.with_condition(so, thing, only > at), end
        for so, end in times.span(self.phrases, only, near):
            yield said.with_condition(so, None, only > at), end
        excepted = cursor.after(at, *EXCEPT)
        if excepted is None and said.is_forbidden:
            excepted = cursor.after(at, "until", "before")
        earlier = cursor.after(only, "before", "until") if not said.is_forbidden else None
        if earlier is not None:
            for so, thing, end in self.conditions(said).read(earlier, near):
                yield said.with_condition(m.negated(so), thing, True), end
        if excepted is not None:
            yield from self._excepted(said, excepted, near)

    def _excepted(self, said: Said, at: int, near: list[str]) -> Iterator[tuple[Said, int]]:
        for so, _, end in self.conditions(said).read(at, near):
            yield replace(said, exceptions=(*said.exceptions, so)), end
        for thing, end in self.phrases.thing(self.cursor.past(at, word_set("by for with to"))):
            so_of = m.both(*thing.so)
            if so_of is None:
                continue
            found = modal(self.cursor, end) if not said.is_forbidden else None
            if found is not None:
                yield from self._excepted_deed(said, so_of, found)
            yield replace(said, exceptions=(*said.exceptions, so_of)), end

    def _excepted_deed(self, said: Said, so: m.Condition, found: Modal) -> Iterator[tuple[Said, int]]:
        """`except that gold customers may cancel at any time before pickup`."""
        for verbs, end in self.verbs(found.end) if not found.is_not else ():
            if {deed.tool for deed in verbs[0]} & {deed.tool for deeds in said.verbs for deed in deeds}:
                for told, last in self.extended(replace(said, so=(), needed=(), exceptions=()), end):
                    both = m.both(so, *told.so, *told.needed)
                    if both is not None and not told.exceptions:
                        yield replace(said, exceptions=(*said.exceptions, both)), last

    def _often(self, said: Said, at: int, is_needed: bool) -> Iterator[tuple[Said, int]]:
        """How often it may be done: at most twice, only once, not more than once."""
        cursor = self.cursor
        for bounds, end in cursor.bounds(at):
            (op, amount), *rest = bounds
            if not rest and op == "<=" and amount.unit == "time" and not said.is_forbidden:
                yield replace(said, times=int(amount.number)), end
            if not rest and op == "<=" and cursor.low(end) == "times" and not said.is_forbidden:
                yield replace(said, times=int(amount.number)), end + 1
        for most, phrases in _OFTEN:
            end = cursor.after(at, *phrases) or at
            if end > at and said.is_forbidden == (cursor.low(at) == "more"):
                yield replace(said, times=most), end
        if is_needed and not said.is_forbidden and cursor.low(at) in ("once", "twice"):
            yield replace(said, times=1 if cursor.low(at) == "once" else 2), at + 1
        repeated = cursor.after(at, "twice", "again", "a second time")
        if repeated is not None and said.is_forbidden and not said.so and not said.needed:
            yield replace(said, times=1), repeated

    def _without(self, said: Said, at: int) -> Iterator[tuple[Said, int]]:
        """`without a reason`: the call does not give it."""
        start = self.cursor.after(at, "without giving", "without stating", "without")
        if start is not None:
            for given, end in self.conditions(said).given(start):
                yield replace(said, so=(*said.so, m.negated(given))), end
