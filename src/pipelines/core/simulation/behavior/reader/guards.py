"""Which calls a sentence speaks of, and what it says of them: that they are refused, or what they need.

Every phrase adds a condition; whether that forbids a call or is needed for it follows from the verb phrase
(may, must, cannot, is refused), from `only`, and from how a condition is joined (if, unless, until).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader import times
from pipelines.core.simulation.behavior.reader.answers import answered, failure, tail
from pipelines.core.simulation.behavior.reader.asked_values import AskedValues
from pipelines.core.simulation.behavior.reader.conditions import Conditions
from pipelines.core.simulation.behavior.reader.cursor import Cursor
from pipelines.core.simulation.behavior.reader.leads import EXCEPT, WHEN, leads
from pipelines.core.simulation.behavior.reader.modality import BE, Modal, modal
from pipelines.core.simulation.behavior.reader.phrases import Phrases, Thing, without_state
from pipelines.core.simulation.behavior.reader.quotas import Quotas
from pipelines.core.simulation.behavior.reader.said import Said, is_debt, is_role, named
from pipelines.core.simulation.behavior.reader.tool_names import named_tools
from pipelines.core.simulation.behavior.reader.vocabulary import Deed
from pipelines.core.simulation.behavior.things import ToolWords

_REFUSED = word_set(
    "rejected refused declined denied blocked forbidden prohibited disallowed impossible barred excluded "
    "invalid"
)
_ALLOWED = word_set(
    "accepted allowed permitted possible available offered granted admitted processed honoured honored valid"
)
_CALLED = word_set(
    "called used invoked run executed performed made done carried requested initiated processed issued"
)
_FAILING = word_set("fail fails error errors")
_WORKING = ("works", "work", "succeeds", "succeed", "goes through", "go through", "proceeds", "proceed")
_ACCEPTING = word_set("accept accepts allow allows process processes handle handles permit permits support "
                      "supports take takes")  # fmt: skip
_REJECTING = word_set("reject rejects refuse refuses decline declines block blocks deny denies")
_CHECKING = word_set("check checks verify verifies ensure ensures validate validates enforce enforces")
_GIVING = word_set("give state include supply provide specify carry name have contain quote enter")
_NEEDING = word_set("require requires need needs demand demands take takes")
_LIGHT = word_set("make makes get gets receive receives take takes place places have given handed granted order open start "
                  "request")  # fmt: skip
_OUT_OF_ORDER = word_set("disabled unavailable down offline broken inoperative")
_PERMISSION = word_set("permission permissions rights privileges access role")
_FILLERS = (
    "again", "at a time", "at once", "per call", "anymore", "at any time", "at all", "any more",
    "for any reason", "any longer", "directly", "through this api", "through the api", "via the api",
    "in their name", "in this system",
)  # fmt: skip
MOST_PHRASES = 6  # after a verb
_PAID = tuple(
    f"until {who} {paid}"
    for who in ("they have", "it is", "it has been", "they are", "this is", "that is", "this has been")
    for paid in ("paid", "settled", "cleared", "paid up", "paid it")
)


@dataclass(kw_only=True)
class Guards:
    phrases: Phrases
    #: The tools of the sentence before: what `it` means.
    before: tuple[ToolWords, ...] = ()

    @property
    def cursor(self) -> Cursor:
        return self.phrases.cursor

    # -- the whole

    def read(self, at: int) -> Iterator[tuple[Said, int]]:
        for lead, start in leads(self, at):
            for told, end in self._cores(start, lead):
                said = _of_event(lead, told)
                if said is None:
                    continue
                joined = replace(
                    said, so=(*lead.so, *said.so), needed=(*lead.needed, *said.needed),
                    exceptions=(*lead.exceptions, *said.exceptions), things=(*said.things, *lead.things),
                    verbs=said.verbs or lead.verbs, is_named=said.is_named or lead.is_named,
                )  # fmt: skip
                yield joined, end

    def conditions(self, said: Said) -> Conditions:
        """Conditions on the calls that are spoken of: arguments of these tools are meant first."""
        return Conditions(phrases=self.phrases, tools=self.tools_of(said))

    def tools_of(self, said: Said) -> list[ToolWords]:
        tools = self.phrases.words.lexicon.tools
        return [tools[deed.tool.lower()] for deeds in said.verbs for deed in deeds]

    def near(self, said: Said) -> list[str]:
        """What a field without an owner may belong to: what is named, then what the tool is about."""
        about = {tool.kind for tool in self.tools_of(said) if tool.kind}
        return list(dict.fromkeys([*said.kinds, *(about if len(about) == 1 else ())]))

    def _cores(self, at: int, lead: Said) -> Iterator[tuple[Said, int]]:
        for said, end in self._subjects(at):
            yield from self._predicates(said, end)
        if self.cursor.low(at) in ("it", "they", "he", "she", "this"):  # what was spoken of before
            for thing in lead.things if not lead.is_named else ():
                yield from self._predicates(Said(things=(without_state(thing),)), at + 1)
        yield from self._field_must(at, lead)
        yield from self._commands(at)
        yield from AskedValues(guards=self).read(at)
        yield from Quotas(guards=self).read(at)

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
        """A deed that is done: `cancelling a trip`, `a charter is cancelled`, `a member cancels a booking`."""
        cursor = self.cursor
        for verbs, end in self.verbs(at):
            yield from self.extended(Said(verbs=verbs, is_forbidden=True), end, is_subject=True)
        for thing, end in self.phrases.thing(at):
            if thing.deeds:
                base = Said(verbs=(thing.deeds,), is_forbidden=True).with_thing(thing)
                yield from self.extended(base, end, is_subject=True)
            after = cursor.past(end, word_set("is are was were has have been being gets get"))
            for verbs, then in self.verbs(after) if thing.kind else ():
                base = Said(verbs=verbs, is_forbidden=True).with_thing(thing)
                yield from self.extended(base, then, is_subject=True)

    def _field_must(self, at: int, lead: Said) -> Iterator[tuple[Said, int]]:
        """`the order's status must be pending`, of a deed that was named before."""
        near = self.near(lead)
        for field, start in self.phrases.amount_field(at, near[0] if near else None):
            found = modal(self.cursor, start)
            path = self.phrases.words.field_of(field.owner or "", [field.name])
            if found is None or not (found.must or found.is_not) or field.owner is None or path is None:
                continue
            for so, end in self.phrases.valued(field.owner, path, found.end):
                others = (
                    (so.right.owner,) if isinstance(so, m.Compare) and isinstance(so.right, m.Field) else ()
                )
                if not lead.verbs and not any(others):
                    continue  # which calls are meant is not said
                thing = Thing(kind=field.owner, others=tuple(one for one in others if one))
                yield Said(things=(thing,), needed=(m.negated(so) if found.is_not else so,)), end

    def _commands(self, at: int) -> Iterator[tuple[Said, int]]:
        start = self.cursor.after(at, "do not", "never")
        if start is not None:
            for verbs, end in self.verbs(start):
                for said, last in self.extended(Said(verbs=verbs, is_forbidden=True), end):
                    # Without an answer of the backend's it only tells the agent what to do.
                    if next(tail(self.phrases, last), None) is not None:
                        yield said, last

    # -- subjects

    def _subjects(self, at: int) -> Iterator[tuple[Said, int]]:
        found = named_tools(self.phrases, at)
        if found is not None:
            yield named(found[0]), found[1]
            about = replace(named(found[0]), is_forbidden=True)
            yield from (
                one for one in self.extended(about, found[1], is_subject=True) if one[1] > found[1]
            )  # `cancel_booking without a reason`
            return
        low = self.cursor.low(at)
        spoken = self.cursor.after(at, "it", "they", "this tool", "the tool", "the call", "this call")
        if spoken is not None and self.before:
            yield named(self.before), spoken
        if low in ("you", "we", "nothing", "whoever", "it", "nobody"):
            yield Said(is_none=low in ("nothing", "nobody")), at + 1
        yield from self._attempts(at)
        yield from self._repeated(at)
        for thing, end in self.phrases.thing(at):
            agents = (thing.kind,) if is_role(thing) else ()
            deeds = thing.deeds or tuple(
                Deed(tool=name, rank=0) for name in thing.tools if len(thing.tools) == 1
            )
            base = Said(verbs=(deeds,) if deeds else (), is_forbidden=thing.is_none, agents=agents)
            yield from self._with_objects(base.with_thing(thing), end)
        for so, end in self._argument_thing(at, []):
            yield Said(so=(so,)), end

    def _attempts(self, at: int) -> Iterator[tuple[Said, int]]:
        """`Attempts to cancel a shipped order`, `trying to book a full class`."""
        start = self.cursor.past(at, word_set("an any all"))
        begin = self.cursor.after(
            start, "attempts to", "attempt to", "trying to", "requests to", "request to"
        )
        for verbs, end in self.verbs(begin) if begin is not None else ():
            yield from self.extended(Said(verbs=verbs, is_forbidden=True), end, is_subject=True)

    def _repeated(self, at: int) -> Iterator[tuple[Said, int]]:
        """`A second refund`, `a repeated cancellation of the same order`."""
        start = self.cursor.past(at, word_set("a an any the"))
        if self.cursor.low(start) in ("second", "repeated", "duplicate", "further"):
            for thing, end in self.phrases.thing(start + 1):
                if thing.deeds:
                    last = end
                    for of, after in self.phrases.linked(end):
                        last = after if not of.so else last
                        break
                    if next(iter([answered(self.phrases, last)]), None) is not None:
                        yield Said(verbs=(thing.deeds,), is_forbidden=True, times=1), last

    def _argument_thing(self, at: int, tools: list[ToolWords]) -> Iterator[tuple[m.Condition, int]]:
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

    def predicates(self, tools: tuple[ToolWords, ...], at: int) -> Iterator[tuple[Said, int]]:
        """What is said of tools that were named before."""
        yield from self._predicates(named(tools), at)

    def _predicates(self, said: Said, at: int) -> Iterator[tuple[Said, int]]:
        if said.is_complete:
            yield replace(said, is_forbidden=True), at
            return
        none = said.is_none or (bool(said.things) and said.things[0].is_none)
        said = replace(said, is_forbidden=none)
        found = modal(self.cursor, at)
        if found is not None:
            told = replace(said, is_forbidden=found.is_not != none)
            yield from self._done(told, found)
            yield from self._judged(told, found)
            yield from self._to_give(told, found)
            yield from self._lasting(told, found.end)
            if found.must:
                yield from self._must_be(told, found)
            yield from self._acting(told, found)
        if found is None:
            yield from self._as_told(said, at)
        yield from self._lasting(said, at)
        yield from self._acting(said, Modal(end=at))
        yield from self._for_whom(said, at)
        yield from self._answered(said, at, Modal(end=at))

    def _done(self, said: Said, found: Modal) -> Iterator[tuple[Said, int]]:
        """`cannot be booked or moved`, `may cancel reservations`, `are only ever booked with`."""
        start = found.end + (self.cursor.low(found.end) == "neither")
        is_neither = start > found.end
        for verbs, end in (
            *self.verbs(start),
            *self._able(start),
            *self.lightly(start),
            *self.lightly(start - 1),
        ):
            if said.verbs and not self._is_same_deed(said, verbs):
                continue  # the subject is the deed itself
            if self.cursor.low(start) in _REFUSED | _ALLOWED | _CALLED and verbs[0][0].rank > 1:
                continue  # `accepted` where no tool accepts: whatever is done
            verbs = _of_named(said, verbs)
            if not all(verbs):
                continue
            told = replace(said, verbs=said.verbs or verbs, is_forbidden=said.is_forbidden or is_neither)
            if told.is_forbidden and found.only:
                continue
            if found.is_told and not told.is_forbidden:  # `Inspections are recorded by inspectors`
                yield from self._done_by(told, end)
            for whole, last in self.extended(told, end, is_needed=found.must or found.only):
                yield whole, last
                yield from self._second_deed(whole, last, found)

    def _as_told(self, said: Said, at: int) -> Iterator[tuple[Said, int]]:
        """`Nobody reviews their own work`, `Jurors review films of their section only`: a rule, told as a fact."""
        for whole, end in self._done(said, Modal(end=at)):
            is_only = any(self.cursor.low(place) == "only" for place in range(at, end + 1))
            if said.is_forbidden or is_only or (said.things and said.things[0].is_only):
                yield whole, end

    def _done_by(self, said: Said, at: int) -> Iterator[tuple[Said, int]]:
        """Who does it, told as a fact, is who may."""
        by = self.cursor.after(at, "by")
        for thing, end in self.phrases.persons(by) if by is not None else ():
            if thing.so:
                agents = (*said.agents, thing.kind) if is_role(thing) else said.agents
                yield replace(said.with_thing(thing, True), agents=agents), end

    def _second_deed(self, said: Said, at: int, found: Modal) -> Iterator[tuple[Said, int]]:
        """`neither place bids nor put up lots`: a second verb with an object of its own."""
        start = self.cursor.after(at, "nor", ", nor", "or")
        for verbs, end in self.verbs(start) if start is not None and said.is_forbidden else ():
            yield from self.extended(replace(said, verbs=(*said.verbs, *verbs)), end)

    def _is_same_deed(self, said: Said, verbs: tuple[tuple[Deed, ...], ...]) -> bool:
        """`cancel_order only cancels such orders`: both words are the tool's."""
        own = {deed.tool for deeds in said.verbs for deed in deeds}
        is_named = said.is_named or any(thing.tools for thing in said.things)
        return is_named and all(any(deed.tool in own for deed in deeds) for deeds in verbs)

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

    def _judged(self, said: Said, found: Modal) -> Iterator[tuple[Said, int]]:
        """`are rejected`, `is possible`, `is not allowed`, `may only be called`, `is disabled`."""
        low = self.cursor.low(found.end)
        if low in _REFUSED or self.cursor.after(found.end, "turned down", "turned away", "not possible"):
            end = found.end + (1 if low in _REFUSED else 2)
            barred = named_tools(self.phrases, end + (self.cursor.low(end) == "from"))
            if barred is not None and not said.verbs:  # are denied create_topic and create_post alike
                last = barred[1] + (self.cursor.low(barred[1]) == "alike")
                yield from self.extended(
                    replace(said, verbs=named(barred[0]).verbs, is_named=True, is_forbidden=True), last
                )
            if self.cursor.low(end) == "from" and not said.verbs:  # are blocked from new reservations
                for thing, last in self.phrases.thing(end + 1):
                    if thing.deeds:
                        yield from self.extended(replace(said, verbs=(thing.deeds,), is_forbidden=True), last)
            yield from self.extended(replace(said, is_forbidden=True, is_certain=found.always), end)
        if low in _ALLOWED:
            yield from self.extended(said, found.end + 1, is_needed=found.only)
            through = self.cursor.after(found.end + 1, "through", "via", "with", "by", "for")
            tools = named_tools(self.phrases, through) if through is not None else None
            if tools is not None and not said.verbs:  # are not available through order_drug
                yield from self.extended(replace(said, verbs=named(tools[0]).verbs, is_named=True), tools[1])
        if low in _CALLED and said.verbs:
            end = found.end + 1 + (self.cursor.low(found.end + 1) == "out")
            yield from self.extended(said, end, is_needed=found.must or found.only)
        if low == "too" and self.cursor.low(found.end + 2) == "to":  # are too old to dispute
            begin = found.end + 3 + (self.cursor.low(found.end + 3) == "be")
            for verbs, end in self.verbs(begin) if not said.verbs else ():
                yield from self.extended(replace(said, verbs=verbs, is_forbidden=True), end)
        if low in _OUT_OF_ORDER and said.is_named and not found.is_not:
            yield replace(said, is_forbidden=True, is_certain=True), found.end + 1

    def _acting(self, said: Said, found: Modal) -> Iterator[tuple[Said, int]]:
        """`fails`, `only works for drafts`, `requires a reason`, `rejects shipped orders`."""
        cursor, at = self.cursor, found.end
        low = cursor.low(at)
        refused = replace(said, is_forbidden=True, is_certain=found.always)
        if low in _FAILING and not found.is_not:
            yield from self.extended(refused, at + 1)
        works = cursor.after(at, *_WORKING)
        if works is not None:
            yield from self.extended(said, works, is_needed=found.only)
        if low in _ACCEPTING and (said.verbs or said.is_forbidden):
            is_only = found.only or cursor.low(at + 1) == "only"
            if is_only or said.is_forbidden:
                begin = at + 1 + (cursor.low(at + 1) == "only")
                yield from self._objects(said, begin, is_only)
        if low in _NEEDING and not found.is_not:
            yield from self._what_is_needed(said, at + 1)
        if low in _REJECTING and not found.is_not:
            yield from self._objects(refused, at + 1, False)
        if low in _CHECKING and said.verbs:
            start = cursor.after(at + 1, "that", "whether", "if") or at + 1
            for so, thing, end in self.conditions(said).read(start, self.near(said)):
                yield said.with_condition(so, thing, is_only=True), end
        yield from self._window(said, at)
        takes = cursor.after(at, "takes no", "take no", "accepts no", "accept no", "allows no")
        if takes is not None:
            for thing, end in self.phrases.thing(takes):
                verbs = (thing.deeds,) if thing.deeds else ()
                yield replace(said.with_thing(thing), verbs=verbs or said.verbs, is_forbidden=True), end
        yield from self._answered(said, at, found)

    def _window(self, said: Said, at: int) -> Iterator[tuple[Said, int]]:
        """`Cancellation ends 48 hours before check-in`, `Check-in opens 30 minutes before the start`."""
        cursor = self.cursor
        op: m.Op = "<=" if cursor.low(at) in ("opens", "open") else ">="
        if not said.verbs or cursor.low(at) not in (
            "ends",
            "end",
            "closes",
            "close",
            "opens",
            "open",
            "stops",
        ):
            return
        found = cursor.quantity(at + 1)
        start = cursor.after(found[1], "before", "prior to", "ahead of") if found is not None else None
        if found is None or found[0].duration is None or start is None:
            return
        for field, end in times.event(self.phrases, start, self.near(said)):
            yield said.with_condition(m.Age(field, op, found[0].duration, None, True), is_only=True), end

    def _objects(self, said: Said, at: int, is_needed: bool) -> Iterator[tuple[Said, int]]:
        """What is rejected or accepted: things, or what is given in the call."""
        yield from self.extended(said, at, is_needed=is_needed)
        for so, end in self._argument_thing(at, self.tools_of(said)):
            yield from self.extended(said.with_condition(so, is_only=is_needed), end)
        for kind, end in self.phrases.unknown(at):
            yield from self.extended(said.with_condition(m.Not(m.Exists(kind))), end)

    def _answered(self, said: Said, at: int, found: Modal) -> Iterator[tuple[Said, int]]:
        """`returns a 409 if the order is shipped`, `does nothing when it is cancelled`."""
        if found.is_not or not said.verbs:
            return
        answer = answered(self.phrases, at)
        if answer is not None:
            told = replace(said, is_forbidden=True, outcome=answer[0], is_certain=found.always)
            yield from self.extended(told, answer[1])

    def _what_is_needed(self, said: Said, at: int) -> Iterator[tuple[Said, int]]:
        conditions = self.conditions(said)
        for need, end in conditions.given(at):
            yield replace(said, needed=(*said.needed, need)), end
        start = self.cursor.after(at, "that") or at
        for so, found, end in conditions.read(start, self.near(said)):
            yield said.with_condition(so, found, is_only=True), end
        for role, end in self.phrases.roles(at):
            last = end + (self.cursor.low(end) in _PERMISSION)
            if last > end:
                yield replace(said, needed=(*said.needed, m.CallerIs(role))), last
        for thing, end in self.phrases.thing(at):
            if thing.so:
                last = end + (self.cursor.low(end) in _PERMISSION)
                agents = (*said.agents, thing.kind) if is_role(thing) else said.agents
                yield replace(said.with_thing(thing, is_needed=True), agents=agents), last
            start = self.cursor.after(end, "to be", "to have", "who is", "to have been") or 0
            if thing.kind and start:
                for so, last in self.phrases.predicate(thing.kind, start - 1):
                    told = said.with_thing(replace(thing, so=()))
                    yield replace(told, needed=(*told.needed, *thing.so, so)), last
        for kind in self.near(said):
            for so, end in self.phrases.having(kind, at):
                last = self.phrases.of_it(kind, end)
                yield replace(said, needed=(*said.needed, so)), last
        for field, end in self.phrases.amount_field(at, None):  # takes a reputation of 50 or more
            path = self.phrases.words.field_of(field.owner or "", [field.name])
            for so, last in self.phrases.compared(field.owner or "", path, end) if path else ():
                yield replace(said, needed=(*said.needed, so)), last

    def _to_give(self, said: Said, found: Modal) -> Iterator[tuple[Said, int]]:
        """`must state a reason`, `has to give a loss_reason`, `must be called with a reason`."""
        low = self.cursor.low(found.end)
        if not found.must or found.is_not:
            return
        start = self.cursor.after(
            found.end,
            "given",
            "come with",
            "accompanied by",
            "given with",
            "called with",
            "filed with",
            "sent with",
        )
        if start is None and low in _GIVING:
            start = found.end + 1
        if start is not None:
            for need, end in self.conditions(said).given(start):
                yield replace(said, needed=(*said.needed, need)), end
            for kind in said.kinds if low == "have" else ():
                for so, end in self.phrases.having(kind, start):
                    yield replace(said, needed=(*said.needed, so)), end

    def _must_be(self, said: Said, found: Modal) -> Iterator[tuple[Said, int]]:
        """`Renters must be at least 21 years old`, `Customers must be verified to place an order`."""
        start = found.end - (self.cursor.low(found.end - 1) in ("be", "have", "been"))
        for kind in said.kinds[:1]:
            for so, end in self.phrases.predicate(kind, start):
                wanted = m.negated(so) if found.is_not else so
                told = replace(said, needed=(*said.needed, wanted), is_forbidden=False)
                yield from self._to_be_done(told, end)
                yield told, end

    def _to_be_done(self, said: Said, at: int) -> Iterator[tuple[Said, int]]:
        """What it is needed for: `to be cancelled`, `before it can be cancelled`, `when booking a class`."""
        cursor = self.cursor
        after = cursor.after(at, "in order to be", "in order to", "to be", "to")
        before = cursor.after(at, "before it can be", "before they can be", "before it is", "before being")
        for start in (after, before):
            for verbs, then in self.verbs(start) if start is not None else ():
                yield from self.extended(replace(said, verbs=verbs), then)
        when = cursor.after(at, "when", "for", "before")
        for thing, then in self.phrases.thing(when) if when is not None else ():
            if thing.deeds:
                yield from self.extended(replace(said, verbs=(thing.deeds,)), then)

    def _lasting(self, said: Said, at: int) -> Iterator[tuple[Said, int]]:
        """`may not run longer than 30 days`, `lasts at least 2 and at most 12 weeks`."""
        start = self.cursor.past(
            at, word_set("last lasts run runs be take takes cover covers exceed for cost costs")
        )
        bounded = [*self.cursor.bounds(start)]
        limits = (f"{be} {to}".strip() for be in ("is", "are", "") for to in ("limited to", "capped at"))
        limit = self.cursor.after(at, *limits)
        most = self.cursor.quantity(limit) if limit is not None else None
        bounded += [((("<=", most[0]),), most[1])] if most is not None else []
        if self.cursor.low(start - 1) == "exceed" and (found := self.cursor.quantity(start)) is not None:
            bounded = [(((">", found[0]),), found[1])]
        for bounds, end in bounded:
            is_worth = self.cursor.low(start - 1) in ("cost", "costs", "exceed") and not bounds[0][1].unit
            so = self.phrases.lasting(bounds) or self.phrases.in_units(bounds, end)
            end += self.phrases.in_units(bounds, end) is not None
            if so is None and said.verbs and not bounds[0][1].unit and (limit is not None or start > at):
                so = m.both(*(m.Measure(None, op, self.phrases.literal(one)) for op, one in bounds))
            if so is None and is_worth and said.kinds:
                parts = tuple(m.Measure(said.kinds[0], op, self.phrases.literal(one)) for op, one in bounds)
                so = m.both(*parts)
            if so is not None:
                yield said.with_condition(so), end
        for op, begin in self.cursor.comparison(start) if start > at and said.kinds else ():
            for other, end in self.phrases.amount_field(begin, None):  # must be higher than the current bid
                yield said.with_condition(m.Measure(said.kinds[0], op, other)), end
        if self.cursor.low(start - 1) in ("exceed", "exceeds") and said.kinds:
            for other, end in self.phrases.amount_field(start, None):
                yield said.with_condition(m.Measure(said.kinds[0], ">", other)), end

    def _for_whom(self, said: Said, at: int) -> Iterator[tuple[Said, int]]:
        """`is for sales managers only`, `are reserved for full members`, `are off limits to minors`."""
        cursor = self.cursor
        if cursor.low(at) not in BE:
            return
        start = at + 1 + (cursor.low(at + 1) == "only")
        barred = cursor.after(start, "off limits to", "off limits for", "closed to", "not open to", "not for")
        if barred is not None:
            for thing, end in self.phrases.thing(barred):
                yield replace(said.with_thing(thing), is_forbidden=True), end
        open_to = cursor.after(
            start, "reserved for", "restricted to", "limited to", "available to", "for", "open to",
            "open only to",
        )  # fmt: skip
        if open_to is not None and barred is None:
            for thing, end in self.phrases.thing(open_to):
                last = end + (cursor.low(end) in ("only", "alone"))
                if thing.so:
                    agents = (thing.kind,) if is_role(thing) else ()
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
        yield from self._more_than(said, at)
        yield from self._linked(said, at, is_needed)
        yield from self._without(said, at)
        for word, op in _TENSES:
            ways = (
                f"{to} a {what} in the {word}"
                for to in ("for", "to", "at", "on")
                for what in ("time", "date", "day")
            )
            end = cursor.after(at, *ways, f"in the {word}") or self._at_a_time(at, word)
            if end is not None:
                yield said.with_condition(m.Compare(m.Field(m.WHEN), op, m.Now())), end
        for bounds, end in cursor.bounds(at + (cursor.low(at) in ("for", "to", "by"))):
            lasting = self.phrases.lasting(bounds)
            if lasting is not None:
                yield said.with_condition(lasting), end
            elif said.verbs and is_subject and not bounds[0][1].unit:  # refunds over $50
                worth = m.both(*(m.Measure(None, op, self.phrases.literal(one)) for op, one in bounds))
                if worth is not None:
                    yield said.with_condition(worth), end

    def _more_than(self, said: Said, at: int) -> Iterator[tuple[Said, int]]:
        """`more of a part than is in stock`, `more tickets than there are seats left`."""
        cursor = self.cursor
        begin = cursor.after(at + (cursor.low(at) == "for"), "more")
        than = (
            next((place for place in range(begin, begin + 5) if cursor.low(place) == "than"), None)
            if begin
            else None
        )
        if begin is None or than is None:
            return
        of = [
            kind
            for kind, end in self.phrases.kinds_at(cursor.past(begin, word_set("of a an the any")))
            if end == than
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
        for of, end in self.phrases.by_owner(at):
            alone = cursor.after(end, *_NO_ONE_ELSE)
            if alone is not None:
                yield said.with_condition(of, None, True), alone
            yield said.with_condition(of, None, needs), end
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
            if thing.kind and not thing.is_none:
                particles = {deed.particle for deeds in said.verbs for deed in deeds} - {""}
                if cursor.low(end) in particles:  # checking a guest in
                    yield said.with_thing(thing, needs), end + 1
                yield said.with_thing(thing, needs), end

    def _of_the_same(self, said: Said, at: int, needs: bool) -> Iterator[tuple[Said, int]]:
        """`to their own section`, `of the same currency`: what two of the things that are named share."""
        cursor = self.cursor
        start = cursor.after(
            at, *(f"{of} {own}" for of in _OF for own in ("their own", "the same", "his own"))
        )
        for length in (2, 1) if start is not None else ():
            name = cursor.words(start, start + length)
            having = [kind for kind in said.kinds if self.phrases.words.field_of(kind, name)]
            paths = [self.phrases.words.field_of(kind, name) for kind in having]
            if len(name) == length and len(having) == 2 and paths[0] is not None and paths[1] is not None:
                left, right = (self.phrases.words.named(*one) for one in zip(having, paths, strict=True))  # type: ignore[arg-type]
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


_NO_ONE_ELSE = tuple(
    f"{lead} {nobody} else"
    for lead in ("and by", "and", "but by", ", and by")
    for nobody in ("no one", "nobody")
)
_THERE_IS = word_set("there is are we have the they it has still currently you")
_AT_HAND = ("in stock", "on hand", "available", "left", "remaining", "on the shelf")
_OF = ("of", "to", "in", "at", "from", "with", "for", "between")
_TENSES: tuple[tuple[str, m.Op], ...] = (("past", "<"), ("future", ">"))
_OFTEN = (
    (1, ("only once", "a single time", "just once", "once only", "more than once", "at most once")),
    (2, ("more than twice", "only twice", "at most twice")),
)


def _of_named(said: Said, verbs: tuple[tuple[Deed, ...], ...]) -> tuple[tuple[Deed, ...], ...]:
    """`Data packs cannot be bought`: of the tools that do so, those that are named after it."""
    tools = next((thing.tools for thing in said.things if thing.tools), ())
    if not tools:
        return verbs
    return tuple(tuple(deed for deed in deeds if deed.tool in tools) for deeds in verbs)


def _of_event(lead: Said, said: Said) -> Said | None:
    """Of the calls that a rule may be about those that were spoken of before it: `When booking, …`."""
    tools = {deed.tool for deeds in lead.verbs for deed in deeds}
    if not tools or not said.verbs:
        return said
    verbs = tuple(tuple(deed for deed in deeds if deed.tool in tools) for deeds in said.verbs)
    return replace(said, verbs=verbs) if all(verbs) else None
