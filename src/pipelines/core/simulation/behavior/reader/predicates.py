"""What is said of the calls that a sentence speaks of: that they are refused, allowed, or what they need."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader import times
from pipelines.core.simulation.behavior.reader.answers import answered
from pipelines.core.simulation.behavior.reader.arguments import SpokenArguments
from pipelines.core.simulation.behavior.reader.complements import Complements
from pipelines.core.simulation.behavior.reader.modality import BE, Modal, modal
from pipelines.core.simulation.behavior.reader.said import Said, is_role, named
from pipelines.core.simulation.behavior.reader.tool_names import named_tools
from pipelines.core.simulation.behavior.reader.vocabulary import Deed

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
_OUT_OF_ORDER = word_set("disabled unavailable down offline broken inoperative")
_PERMISSION = word_set("permission permissions rights privileges access role")
_SHOWN = word_set("shown listed returned included displayed visible seen")
_TRYING = tuple(
    f"{who} {tries} to".strip()
    for who in ("they", "it", "he", "she", "")
    for tries in (
        "try",
        "tries",
        "trying",
        "attempt",
        "attempts",
        "attempting",
        "want",
        "wants",
        "ask",
        "asks",
    )
)


@dataclass(kw_only=True)
class Predicates(Complements):
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
            yield from self._given_values(told, found.end)
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
            if self.cursor.low(start) in _ACCEPTING and said.things and not said.things[0].is_person:
                continue  # closed jobs do not accept applications: nobody accepts anything
            if self.cursor.low(start) in _SHOWN and verbs[0][0].rank > 1:
                continue  # what is not shown is left out of a list
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
        """`Nobody reviews their own work`: a rule, told as a fact."""
        for whole, end in self._done(said, Modal(end=at)):
            is_only = any(self.cursor.low(place) == "only" for place in range(at, end + 1))
            if said.is_forbidden or is_only or (said.things and said.things[0].is_only):
                yield whole, end

    def _given_values(self, said: Said, at: int) -> Iterator[tuple[Said, int]]:
        """`A job cannot be given a deadline that lies in the past`."""
        if (
            said.verbs
            or not said.kinds
            or self.cursor.low(at) not in ("given", "have", "get", "receive", "set")
        ):
            return
        for spoken in SpokenArguments(phrases=self.phrases).read(at + 1):
            tools = [tool for tool in spoken.tools if said.kinds[0] in (tool.kind, tool.makes)]
            start = self.cursor.past(spoken.end, word_set("of that which lies lie is"))
            field = m.Field(spoken.name, None, True)
            deeds = tuple(Deed(tool=tool.name, rank=0) for tool in tools)
            for so, end in (
                self.conditions(named(tuple(tools))).asked_of(field, start, tools) if deeds else ()
            ):
                yield replace(said, verbs=(deeds,), is_named=True).with_condition(so), end

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
        if low in ("go", "goes") and not said.verbs:  # applications can go to open jobs only
            yield from self.extended(said, found.end + 1, is_needed=found.only)
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
        for so, end in self.argument_thing(at, self.tools_of(said)):
            yield from self.extended(said.with_condition(so, is_only=is_needed), end)
        for kind, end in self.phrases.unknown(at):
            yield from self.extended(said.with_condition(m.Not(m.Exists(kind))), end)

    def _answered(self, said: Said, at: int, found: Modal) -> Iterator[tuple[Said, int]]:
        """`returns a 409 if the order is shipped`, `does nothing when it is cancelled`."""
        if found.is_not:
            return
        if not said.verbs:
            yield from self._answered_when(said, at)
            return
        answer = answered(self.phrases, at)
        if answer is not None:
            told = replace(said, is_forbidden=True, outcome=answer[0], is_certain=found.always)
            yield from self.extended(told, answer[1])

    def _answered_when(self, said: Said, at: int) -> Iterator[tuple[Said, int]]:
        """`Students without credits get a 402 when they try to book a lesson`."""
        answer = answered(self.phrases, at) if said.so else None
        start = self.cursor.after(answer[1], "when", "if", "on", "for") if answer is not None else None
        if answer is None or start is None:
            return
        begin = self.cursor.after(start, *_TRYING) or start
        for event, end in self.events(begin):
            told = replace(
                said, verbs=event.verbs, so=(*said.so, *event.so), things=(*said.things, *event.things)
            )
            yield replace(told, is_forbidden=True, outcome=answer[0]), end

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
            takes = self.cursor.low(at - 1) in ("take", "takes")  # takes no parcels: none are accepted
            counted = self.phrases.linked_records(kind, at) if not takes else ()
            for so, end in (*self.phrases.having(kind, at), *counted):
                last = self.phrases.of_it(kind, end)
                told = replace(said, needed=(*said.needed, so))
                yield from self._to_be_done(told, last) if not said.verbs else ()
                yield told, last
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
            for bounds, counted in self.cursor.bounds(start):  # at least one photo
                for name, end in self.conditions(said).arguments(counted) if not bounds[0][1].unit else ():
                    given = m.Field(name, None, True)
                    length = m.Sum("len", (given,))
                    parts = (m.Compare(length, op, self.phrases.literal(one)) for op, one in bounds)
                    yield replace(said, needed=(*said.needed, m.Present(given), *parts)), end
            for kind in said.kinds if low == "have" else ():
                for so, end in self.phrases.having(kind, start):
                    yield replace(said, needed=(*said.needed, so)), end

    def _must_be(self, said: Said, found: Modal) -> Iterator[tuple[Said, int]]:
        """`Renters must be at least 21 years old`, `Customers must be verified to place an order`."""
        start = found.end - (self.cursor.low(found.end - 1) in ("be", "have", "been"))
        anybody = self.phrases.words.folk if not said.things else ()
        for kind in said.kinds[:1] or anybody:
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
            if so is None and bounds[0][1].unit in ("unit", "piece", "item", "copy") and said.kinds:
                count = m.Field(m.COUNT)
                so = m.both(*(m.Compare(count, op, self.phrases.literal(one)) for op, one in bounds))
            if so is None and is_worth and said.kinds:
                parts = tuple(m.Measure(said.kinds[0], op, self.phrases.literal(one)) for op, one in bounds)
                so = m.both(*parts)
            if so is not None:
                yield said.with_condition(so), end
        # What is given in a refund on an order, rather than what the order is worth.
        worth = said.kinds[0] if said.kinds and not said.verbs else None
        for op, begin in self.cursor.comparison(start) if start > at and said.kinds else ():
            for other, end in self.phrases.amount_field(begin, None):  # must be higher than the current bid
                yield said.with_condition(m.Measure(worth, op, other)), end
        if self.cursor.low(start - 1) in ("exceed", "exceeds") and said.kinds:
            for other, end in self.phrases.amount_field(start, None):
                yield said.with_condition(m.Measure(worth, ">", other)), end

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


def _of_named(said: Said, verbs: tuple[tuple[Deed, ...], ...]) -> tuple[tuple[Deed, ...], ...]:
    """`Data packs cannot be bought`: of the tools that do so, those that are named after it."""
    tools = next((thing.tools for thing in said.things if thing.tools), ())
    if not tools:
        return verbs
    return tuple(tuple(deed for deed in deeds if deed.tool in tools) for deeds in verbs)
