"""Which calls a sentence speaks of, and what it says of them: that they are refused, or what they need.

Every phrase adds a condition; whether that forbids a call or is needed for it follows from the verb phrase
(may, must, cannot, is refused), from `only`, and from how a condition is joined (if, unless, until).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior import clauses as c
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.grounded import times
from pipelines.core.simulation.behavior.grounded.answers import failure, tail
from pipelines.core.simulation.behavior.grounded.phrases import Phrases, Thing
from pipelines.core.simulation.behavior.grounded.vocabulary import ANYBODY, Deed, number_of
from pipelines.core.simulation.behavior.things import ToolWords

_MODALS = word_set("can may must shall could will would should might do does did cannot has have need needs")
_BE = word_set("is are was were be being been get gets")
_REFUSED = word_set(
    "rejected refused declined denied blocked forbidden prohibited disallowed impossible barred excluded"
)
_ALLOWED = word_set(
    "accepted allowed permitted possible available offered granted admitted processed honoured"
)
_GIVING = word_set("give state include supply provide specify carry name have contain quote enter")
_NEEDING = word_set("require requires need needs demand demands")
_WHEN = (
    "if", "when", "whenever", "where", "while", "once", "as long as", "so long as", "provided that",
    "provided", "for as long as", "as soon as", "in case", "given that", "after",
)  # fmt: skip
_EXCEPT = ("unless", "except if", "except when", "except that", "except for", "except", "other than")
_FILLERS = (
    "again",
    "at a time",
    "at once",
    "per call",
    "anymore",
    "at any time",
    "at all",
    "any more",
    "for any reason",
    "any longer",
    "directly",
)
MOST_PHRASES = 6  # after a verb
_PAID = tuple(
    f"until {who} {paid}"
    for who in ("they have", "it is", "it has been", "they are", "this is", "that is", "this has been")
    for paid in ("paid", "settled", "cleared", "paid up", "paid it")
)


_ROLES = word_set("role roles type position user_role account_type")


def _is_role(thing: Thing) -> bool:
    """Whether it says what somebody is, rather than how whatever the call is about stands."""
    return thing.is_person and any(isinstance(one, m.OneOf) and one.field.name in _ROLES for one in thing.so)


def turned(so: m.Condition) -> m.Condition:
    """The contrary; of a switch that is off, the switch that is on."""
    match so:
        case m.Compare(left, "==", m.Literal_(False)):
            return m.Compare(left, "==", m.Literal_(True))
        case m.Allowed(part):
            return m.Allowed(turned(part))
    return m.negated(so)


def _is_debt(so: tuple[m.Condition, ...]) -> bool:
    """Whether it is what somebody owes that stands in the way, so that paying takes it away."""
    plain = [one.part if isinstance(one, m.Allowed) else one for one in so]
    return any(isinstance(one, (m.Compare, m.HasSome)) for one in plain)


@dataclass(frozen=True, kw_only=True)
class Said:
    """What has been gathered of a rule so far."""

    verbs: tuple[tuple[Deed, ...], ...] = ()  # each with the tools that may be meant
    things: tuple[Thing, ...] = ()
    agents: tuple[str, ...] = ()  # kinds of those who do it, where something is asked of them
    so: tuple[m.Condition, ...] = ()  # of the calls spoken of
    needed: tuple[m.Condition, ...] = ()  # what must be so of them
    exceptions: tuple[m.Condition, ...] = ()
    is_forbidden: bool = False
    times: int | None = None  # how often it may be done to one thing
    outcome: m.Fail | None = None
    is_none: bool = False  # nothing, nobody
    is_complete: bool = False  # no verb follows
    is_named: bool = False  # the tools are named

    def with_thing(self, thing: Thing, is_needed: bool = False) -> "Said":
        so = m.both(*thing.so)
        # What is asked of a person is a matter of permission.
        moved = (m.Allowed(so) if thing.is_person else so,) if so is not None else ()
        if thing.is_only or is_needed:
            return replace(self, things=(*self.things, thing), needed=(*self.needed, *moved))
        return replace(self, things=(*self.things, thing), so=(*self.so, *moved))

    @property
    def kinds(self) -> list[str]:
        return list(dict.fromkeys(thing.kind for thing in self.things if thing.kind))

    @property
    def need(self) -> m.Condition | None:
        """What must hold for the call to be carried out."""
        if self.is_forbidden:
            so = m.both(*self.so, *self.needed)
            need = None if so is None else turned(so)
        else:
            wanted, so = m.both(*self.needed), m.both(*self.so)
            need = wanted if wanted is None or so is None else m.Any_((m.negated(so), wanted))
        if need is None or not self.exceptions:
            return need
        return m.Any_((*self.exceptions, need))


@dataclass(frozen=True, kw_only=True)
class _Modal:
    is_not: bool = False
    must: bool = False
    only: bool = False
    end: int = 0


@dataclass(kw_only=True)
class Sentences:
    phrases: Phrases

    @property
    def cursor(self):  # type: ignore[no-untyped-def]
        return self.phrases.cursor

    # -- the whole

    def rules(self, at: int) -> Iterator[tuple[Said, int]]:
        for lead, start in self._leads(at):
            for said, end in self._cores(start):
                joined = replace(
                    said, so=(*lead.so, *said.so), needed=(*lead.needed, *said.needed),
                    exceptions=(*lead.exceptions, *said.exceptions), things=(*said.things, *lead.things),
                )  # fmt: skip
                yield joined, end

    def _leads(self, at: int) -> Iterator[tuple[Said, int]]:
        """`If the vet is not on duty, …`, `While a subscription is past due, …`."""
        cursor = self.cursor
        for words, is_exception in ((_WHEN, False), (_EXCEPT, True), (("until",), True)):
            start = cursor.after(at, *words)
            if start is None:
                continue
            for so, thing, end in self.condition(start, []):
                after = end + (cursor.low(end) == ",")
                things = (thing,) if thing is not None else ()
                yield (Said(exceptions=(so,), things=things) if is_exception
                       else Said(so=(so,), things=things)), after  # fmt: skip
        yield Said(), at

    def _cores(self, at: int) -> Iterator[tuple[Said, int]]:
        for said, end in self._subjects(at):
            yield from self._predicates(said, end)
        yield from self._commands(at)

    def _commands(self, at: int) -> Iterator[tuple[Said, int]]:
        start = self.cursor.after(at, "do not", "never")
        if start is not None:
            for verbs, end in self.verbs(start):
                for said, last in self.extended(Said(verbs=verbs, is_forbidden=True), end):
                    # Without an answer of the backend's it only tells the agent what to do.
                    if next(tail(self.phrases, last), None) is not None:
                        yield said, last

    def _subjects(self, at: int) -> Iterator[tuple[Said, int]]:
        low = self.cursor.low(at)
        tool = self.phrases.words.lexicon.tools.get(low)
        if tool is not None:
            yield Said(verbs=((Deed(tool=tool.name, rank=0),),), is_named=True), at + 1
            return
        if low in ("you", "we", "nothing", "whoever"):
            yield Said(is_none=low == "nothing"), at + 1
        for thing, end in self.phrases.thing(at):
            agents = (thing.kind,) if _is_role(thing) else ()
            base = Said(
                verbs=(thing.deeds,) if thing.deeds else (), is_forbidden=thing.is_none, agents=agents
            )
            yield from self._with_objects(base.with_thing(thing), end)

    def _with_objects(self, said: Said, at: int) -> Iterator[tuple[Said, int]]:
        """What a subject carries: `Reservations by blacklisted customers`, `Cancelling a shipped order`."""
        yield from self.extended(replace(said, is_forbidden=True), at, is_subject=True) if said.verbs else ()
        if not said.verbs:
            for thing, end in self.phrases.linked(at):
                whole = said.with_thing(thing)
                if said.things[0].is_none and next(tail(self.phrases, end), None) is not None:
                    yield replace(whole, is_complete=True), end  # `No new deals for such accounts: 403`
                yield whole, end
            yield said, at

    # -- what is said of the subject

    def _predicates(self, said: Said, at: int) -> Iterator[tuple[Said, int]]:
        if said.is_complete:
            yield replace(said, is_forbidden=True), at
            return
        none = said.is_none or (bool(said.things) and said.things[0].is_none)
        said = replace(said, is_forbidden=none)
        for modal in self.modals(at):
            turned = replace(said, is_forbidden=modal.is_not != none)
            yield from self._done(turned, modal)
            yield from self._judged(turned, modal)
            yield from self._to_give(turned, modal)
            yield from self._lasting(turned, modal.end)
            if modal.must:
                yield from self._must_be(turned, modal)
        yield from self._lasting(said, at)
        yield from self._needing(said, at)
        yield from self._for_whom(said, at)

    def modals(self, at: int) -> Iterator[_Modal]:
        """May, must, cannot, is not allowed to, has to."""
        cursor = self.cursor
        found = _Modal(end=at)
        start = at
        while True:
            low, following = cursor.low(start), cursor.low(start + 1)
            if low in ("not", "never") or (low == "no" and following == "longer"):
                found = replace(found, is_not=True)
                start += 1 + (low == "no")
            elif low in ("must", "shall", "should") or (
                low in ("has", "have", "need", "needs") and following == "to"
            ):
                found = replace(found, must=True)
                start += 1 + (low not in ("must", "shall", "should"))
            elif (
                low in ("allowed", "permitted", "able", "eligible", "authorised", "authorized")
                and following == "to"
            ):
                start += 2
            elif low == "only":
                found = replace(found, only=True)
                start += 1 + (following == "ever")
            elif low in _MODALS or low in _BE or low in ("always", "ever", "still", "then"):
                start += 1
            else:
                break
        if start > at:
            yield replace(found, end=start)

    def _done(self, said: Said, modal: _Modal) -> Iterator[tuple[Said, int]]:
        """`cannot be booked or moved`, `may cancel reservations`, `are only ever booked with`."""
        if said.verbs:
            return  # the subject is the deed itself
        start = modal.end + (self.cursor.low(modal.end) == "neither")
        is_neither = start > modal.end
        for verbs, end in self.verbs(start):
            told = replace(said, verbs=verbs, is_forbidden=said.is_forbidden or is_neither)
            if told.is_forbidden and modal.only:
                continue
            yield from self.extended(told, end, is_needed=modal.must or modal.only)

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

    def _judged(self, said: Said, modal: _Modal) -> Iterator[tuple[Said, int]]:
        """`are rejected`, `is possible`, `is not allowed`, `is impossible`."""
        low = self.cursor.low(modal.end)
        if low in _REFUSED or self.cursor.after(modal.end, "turned down", "turned away", "not possible"):
            end = modal.end + (1 if low in _REFUSED else 2)
            yield from self.extended(replace(said, is_forbidden=True), end)
        if low in _ALLOWED:
            yield from self.extended(said, modal.end + 1, is_needed=modal.only)
        if low in ("performed", "made", "done", "carried", "requested", "initiated") and said.verbs:
            end = modal.end + 1 + (self.cursor.low(modal.end + 1) == "out")
            yield from self.extended(said, end, is_needed=modal.must or modal.only)

    def _needing(self, said: Said, at: int) -> Iterator[tuple[Said, int]]:
        """`fails`, `works only for drafts`, `requires a reason`, `takes no further bookings`."""
        cursor = self.cursor
        if cursor.low(at) in ("fail", "fails") or cursor.after(at, "does not work", "is refused"):
            end = at + 1 if cursor.low(at) in ("fail", "fails") else at + 3
            yield from self.extended(replace(said, is_forbidden=True), end)
        works = cursor.after(at, "works", "work", "succeeds", "succeed", "goes through", "is accepted")
        if works is not None:
            yield from self.extended(said, works)
        if cursor.low(at) in _NEEDING:
            yield from self._what_is_needed(said, at + 1)
        refuses = cursor.after(at, "rejects", "refuses", "declines", "blocks", "denies")
        if refuses is not None:
            yield from self.extended(replace(said, is_forbidden=True), refuses)
        takes = cursor.after(at, "takes no", "take no", "accepts no", "accept no", "allows no")
        if takes is not None:
            for thing, end in self.phrases.thing(takes):
                verbs = (thing.deeds,) if thing.deeds else ()
                yield replace(said.with_thing(thing), verbs=verbs or said.verbs, is_forbidden=True), end

    def _what_is_needed(self, said: Said, at: int) -> Iterator[tuple[Said, int]]:
        for need, end in self.argument_given(at):
            yield replace(said, needed=(*said.needed, need)), end
        for thing, end in self.phrases.thing(at):
            if thing.so:
                yield said.with_thing(thing, is_needed=True), end
            start = self.cursor.after(end, "to be", "to have", "who is", "to have been")
            if thing.kind and start is not None:
                for so, last in self.phrases.predicate(thing.kind, start - 1):
                    told = said.with_thing(replace(thing, so=()))
                    yield replace(told, needed=(*told.needed, *thing.so, so)), last
        for kind in said.kinds:
            for so, end in self.phrases.having(kind, at):
                yield replace(said, needed=(*said.needed, so)), end

    def _to_give(self, said: Said, modal: _Modal) -> Iterator[tuple[Said, int]]:
        """`must state a reason`, `has to give a loss_reason`."""
        low = self.cursor.low(modal.end)
        if not modal.must or modal.is_not:
            return
        start = self.cursor.after(
            modal.end, "come with", "be accompanied by", "be given with", "be called with"
        )
        if start is None and low in _GIVING:
            start = modal.end + 1
        if start is not None:
            for need, end in self.argument_given(start):
                yield replace(said, needed=(*said.needed, need)), end
            for kind in said.kinds if low == "have" else ():
                for so, end in self.phrases.having(kind, start):
                    yield replace(said, needed=(*said.needed, so)), end

    def _must_be(self, said: Said, modal: _Modal) -> Iterator[tuple[Said, int]]:
        """`Renters must be at least 21 years old`, `Customers must be verified to place an order`."""
        start = modal.end - (self.cursor.low(modal.end - 1) in ("be", "have", "been"))
        for kind in said.kinds[:1]:
            for so, end in self.phrases.predicate(kind, start):
                wanted = m.negated(so) if modal.is_not else so
                told = replace(said, needed=(*said.needed, wanted), is_forbidden=False)
                after = self.cursor.after(end, "in order to", "to")
                for verbs, then in self.verbs(after) if after is not None else ():
                    yield from self.extended(replace(told, verbs=verbs), then)
                when = self.cursor.after(end, "when", "for", "before")
                for thing, then in self.phrases.thing(when) if when is not None else ():
                    if thing.deeds:
                        yield from self.extended(replace(told, verbs=(thing.deeds,)), then)
                yield told, end

    def _lasting(self, said: Said, at: int) -> Iterator[tuple[Said, int]]:
        """`may not run longer than 30 days`, `lasts at least 2 and at most 12 weeks`."""
        start = self.cursor.past(
            at, word_set("last lasts run runs be take takes cover covers exceed for cost costs")
        )
        bounded = [*self.cursor.bounds(start)]
        if self.cursor.low(start - 1) == "exceed" and (found := self.cursor.quantity(start)) is not None:
            bounded = [(((">", found[0]),), found[1])]
        for bounds, end in bounded:
            is_worth = self.cursor.low(start - 1) in ("cost", "costs", "exceed") and not bounds[0][1].unit
            so = self.phrases.lasting(bounds)
            if so is None and is_worth and said.kinds:
                parts = tuple(m.Measure(said.kinds[0], op, self.phrases.literal(one)) for op, one in bounds)
                so = m.both(*parts)
            if so is not None:
                yield self._with_condition(said, so, None, False), end

    def _for_whom(self, said: Said, at: int) -> Iterator[tuple[Said, int]]:
        """`is for sales managers only`, `are reserved for full members`, `are off limits to minors`."""
        cursor = self.cursor
        if cursor.low(at) not in _BE:
            return
        start = at + 1 + (cursor.low(at + 1) == "only")
        barred = cursor.after(start, "off limits to", "off limits for", "closed to", "not open to", "not for")
        if barred is not None:
            for thing, end in self.phrases.thing(barred):
                yield replace(said.with_thing(thing), is_forbidden=True), end
        open_to = cursor.after(
            start, "reserved for", "restricted to", "limited to", "for", "open to", "open only to"
        )
        if open_to is not None and barred is None:
            for thing, end in self.phrases.thing(open_to):
                last = end + (cursor.low(end) in ("only", "alone"))
                if thing.so:
                    agents = (thing.kind,) if _is_role(thing) else ()
                    yield replace(said.with_thing(thing, is_needed=True), agents=agents), last

    # -- what follows a verb

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
        filler = cursor.after(at, *_FILLERS)
        if filler is not None:
            yield said, filler
        if cursor.low(at) == "with" and (answered := failure(self.phrases, at + 1)) is not None:
            yield replace(said, outcome=answered[0]), answered[1]
        if said.is_forbidden and (paid := cursor.after(at, *_PAID)) is not None and _is_debt(said.so):
            yield said, paid
        start = at + (cursor.low(at) == "," and not is_subject)
        yield from self._joined_condition(said, start, is_needed)
        if start > at:
            return
        for thing, end in self.phrases.linked(at):
            yield said.with_thing(thing, is_needed and not said.is_forbidden), end
        out = at + (cursor.low(at) == "only")
        start = cursor.after(out, "out of", "from")
        for kind in said.kinds if start is not None else ():  # `can be won only out of negotiation`
            for so, end in self.phrases.state(kind, start):
                yield self._with_condition(said, so, None, out > at), end
        for thing, end in self.phrases.thing(at):
            if thing.kind and not thing.is_none:
                yield said.with_thing(thing, is_needed and not said.is_forbidden), end
        yield from self._often(said, at)
        yield from self._without(said, at)
        for word, op in (("past", "<"), ("future", ">")):
            ways = (
                f"{to} a {what} in the {word}"
                for to in ("for", "to", "at", "on")
                for what in ("time", "date", "day")
            )
            end = cursor.after(at, *ways, f"in the {word}")
            if end is not None:
                when = m.Compare(m.Field(m.WHEN), op, m.Now())  # type: ignore[arg-type]
                yield self._with_condition(said, when, None, False), end
        for bounds, end in cursor.bounds(at + (cursor.low(at) in ("for", "to", "by"))):
            lasting = self.phrases.lasting(bounds)
            if lasting is not None:
                yield self._with_condition(said, lasting, None, False), end

    def _joined_condition(self, said: Said, at: int, is_needed: bool) -> Iterator[tuple[Said, int]]:
        cursor = self.cursor
        only = at + (cursor.low(at) == "only")
        start = cursor.after(only, *_WHEN)
        if start is not None:
            for so, thing, end in self.condition(start, said.kinds):
                yield self._with_condition(said, so, thing, only > at), end
        for so, end in times.span(self.phrases, only, said.kinds):
            yield self._with_condition(said, so, None, only > at), end
        excepted = cursor.after(at, *_EXCEPT)
        if excepted is None and said.is_forbidden:
            excepted = cursor.after(at, "until", "before")
        earlier = cursor.after(only, "before", "until") if not said.is_forbidden else None
        if earlier is not None:
            for so, thing, end in self.condition(earlier, said.kinds):
                yield self._with_condition(said, m.negated(so), thing, True), end
        if excepted is not None:
            for so, _, end in self.condition(excepted, said.kinds):
                yield replace(said, exceptions=(*said.exceptions, so)), end
            for thing, end in self.phrases.thing(cursor.past(excepted, word_set("by for with to"))):
                so_of = m.both(*thing.so)
                if so_of is not None:
                    for modal in self.modals(end) if not said.is_forbidden else ():
                        yield from self._excepted_deed(said, so_of, modal)
                    yield replace(said, exceptions=(*said.exceptions, so_of)), end

    def _excepted_deed(self, said: Said, so: m.Condition, modal: _Modal) -> Iterator[tuple[Said, int]]:
        """`except that gold customers may cancel at any time before pickup`."""
        for verbs, end in self.verbs(modal.end) if not modal.is_not else ():
            if {deed.tool for deed in verbs[0]} & {deed.tool for deeds in said.verbs for deed in deeds}:
                for told, last in self.extended(replace(said, so=(), needed=(), exceptions=()), end):
                    both = m.both(so, *told.so, *told.needed)
                    if both is not None and not told.exceptions:
                        yield replace(said, exceptions=(*said.exceptions, both)), last

    def _with_condition(self, said: Said, so: m.Condition, thing: Thing | None, is_only: bool) -> Said:
        things = (*said.things, thing) if thing is not None else said.things
        if said.is_forbidden and not is_only:
            return replace(said, so=(*said.so, so), things=things)
        return replace(said, needed=(*said.needed, so), things=things)

    def _often(self, said: Said, at: int) -> Iterator[tuple[Said, int]]:
        for bounds, end in self.cursor.bounds(at):
            (op, amount), *rest = bounds
            if not rest and op == "<=" and amount.unit == "time" and not said.is_forbidden:
                yield replace(said, times=int(amount.number)), end
            if not rest and op == "<=" and self.cursor.low(end) == "times" and not said.is_forbidden:
                yield replace(said, times=int(amount.number)), end + 1
        once = self.cursor.after(at, "only once", "a single time", "just once", "once only", "more than once")
        if once is not None and said.is_forbidden == (self.cursor.low(at) == "more"):
            yield replace(said, times=1), once
        twice = self.cursor.after(at, "more than twice", "only twice")
        if twice is not None and said.is_forbidden == (self.cursor.low(at) == "more"):
            yield replace(said, times=2), twice

    def _without(self, said: Said, at: int) -> Iterator[tuple[Said, int]]:
        """`without a reason`: the call does not give it."""
        start = self.cursor.after(at, "without giving", "without stating", "without")
        if start is not None:
            for given, end in self.argument_given(start):
                yield replace(said, so=(*said.so, m.negated(given))), end

    # -- conditions

    def condition(self, at: int, kinds: list[str]) -> Iterator[tuple[m.Condition, Thing | None, int]]:
        for so, thing, end in self._one_condition(at, kinds):
            for word, joined in (("and", m.All), ("or", m.Any_)):
                start = self.cursor.after(end, f", {word}", word)
                if start is None:
                    continue
                near = [*kinds, *([thing.kind] if thing else [])]
                for other, _, last in self.condition(start, near):
                    yield joined((so, other)), thing, last
            yield so, thing, end

    def _one_condition(self, at: int, kinds: list[str]) -> Iterator[tuple[m.Condition, Thing | None, int]]:
        cursor = self.cursor
        if cursor.low(at) in ("it", "they", "he", "she", "them", "this") or cursor.low(at) in ANYBODY:
            for kind in kinds:
                for so, end in self.phrases.predicate(kind, at + 1):
                    yield so, None, end
        for kind in kinds:  # `while active`, `if not yet delivered`
            for so, end in self.phrases.states(kind, at):
                yield so, None, end
        for thing, end in self.phrases.thing(at):
            for so, last in self.phrases.predicate(thing.kind, end) if thing.kind else ():
                whole = m.both(*thing.so, so)
                if whole is not None and not thing.bounds:
                    yield (m.negated(whole) if thing.is_none else whole), replace(thing, so=()), last
        for field, end in self.phrases.amount_field(at, kinds[0] if kinds else None):
            if field.owner:
                path = self.phrases.words.field_of(field.owner, [field.name])
                for so, last in self.phrases.valued(field.owner, path, end) if path else ():
                    yield so, None, last
        yield from ((so, None, end) for so, end in self._argument_condition(at))

    def _argument_condition(self, at: int) -> Iterator[tuple[m.Condition, int]]:
        """`no reason is given`, `approved_by is set`."""
        is_none = self.cursor.low(at) in ("no", "nobody")
        for given, end in self.argument_given(at + (self.cursor.low(at) == "no")):
            after = self.cursor.after(
                end, "is given", "is passed", "is set", "is specified", "is provided", "is supplied",
                "is stated", "was given", "is named", "is present", "is chosen", "is requested",
            )  # fmt: skip
            negative = self.cursor.after(
                end, "is not given", "is not passed", "is not set", "is missing", "is left out", "is omitted",
                "is not specified", "is not provided", "is empty", "is absent",
            )  # fmt: skip
            if after is not None:
                yield (m.negated(given) if is_none else given), after
            if negative is not None and not is_none:
                yield m.negated(given), negative

    def argument_given(self, at: int) -> Iterator[tuple[m.Condition, int]]:
        """An argument of some tool, called by its name: `a reason`, `approved_by`, `a loss reason`."""
        start = self.cursor.past(at, word_set("a an the any some"))
        for length in (3, 2, 1):
            said = self.cursor.words(start, start + length)
            if len(said) != length:
                continue
            for tool in self.phrases.words.lexicon.tools.values():
                name = self.phrases.words.argument_of(tool, said) if not tool.reads else None
                if name is not None:
                    yield m.Present(m.Field(name, None, True)), start + length
                    return


def _numbered(said: Said, tool: ToolWords) -> Said | None:
    """`At most 20 lessons can be bought`: how many is what the one number says that the tool is given."""
    counted = [thing for thing in said.things if thing.bounds]
    if not counted:
        return said
    numbers = [name for name, schema in tool.arguments.items() if schema.get("type") in ("integer", "number")]
    bounds = counted[0].bounds
    if len(counted) > 1 or len(numbers) != 1 or any(op == "==" for op, _ in bounds):
        return None
    amounts = (
        m.Compare(m.Field(numbers[0], None, True), op, m.Literal_(number_of(one.number)))
        for op, one in bounds
    )
    so = m.both(*amounts)
    assert so is not None
    things = tuple(replace(thing, bounds=()) for thing in said.things)
    if said.is_forbidden:
        return replace(said, so=(*said.so, so), things=things)
    return replace(said, needed=(*said.needed, so), things=things)


def clauses_of(told: Said, tool: ToolWords, given: m.Condition | None) -> c.Clause | None:
    """The rule that was gathered, about this tool."""
    said = _numbered(told, tool)
    if said is None:
        return None
    tools = (tool.name,)
    kind = next((thing.kind for thing in said.things if thing.kind), None)
    who = m.Who(names=tools, noun=kind if said.times is not None else None)
    if said.times is not None:
        if said.so or said.needed or said.exceptions or given is not None:
            return None
        return c.Once(who=who) if said.times == 1 else c.Rarely(said.times, who=who)
    need = said.need
    if need is None:
        return None
    return c.Guard(need if given is None else m.Any_((m.negated(given), need)), None, who)
