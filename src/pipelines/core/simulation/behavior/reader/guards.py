"""Which calls a sentence speaks of, and what it says of them: that they are refused, or what they need.

Every phrase adds a condition; whether that forbids a call or is needed for it follows from the verb phrase
(may, must, cannot, is refused), from `only`, and from how a condition is joined (if, unless, until).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader.answers import tail
from pipelines.core.simulation.behavior.reader.asked_values import AskedValues
from pipelines.core.simulation.behavior.reader.leads import leads
from pipelines.core.simulation.behavior.reader.modality import modal
from pipelines.core.simulation.behavior.reader.predicates import Predicates
from pipelines.core.simulation.behavior.reader.quotas import Quotas
from pipelines.core.simulation.behavior.reader.said import Said, is_role, named
from pipelines.core.simulation.behavior.reader.thing import Thing, without_state
from pipelines.core.simulation.behavior.reader.tool_names import named_tools
from pipelines.core.simulation.behavior.reader.vocabulary import Deed
from pipelines.core.simulation.behavior.things import ToolWords

_IMPOSSIBLE = (
    (("it is not possible to", "it is impossible to", "it is not allowed to", "it is forbidden to"), True),
    (("it is only possible to", "it is only allowed to"), False),
)


@dataclass(kw_only=True)
class Guards(Predicates):
    #: The tools of the sentence before: what `it` means.
    before: tuple[ToolWords, ...] = ()

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

    def _cores(self, at: int, lead: Said) -> Iterator[tuple[Said, int]]:
        for said, end in self._subjects(at):
            yield from self._predicates(said, end)
        if self.cursor.low(at) in ("it", "they", "he", "she", "this"):  # what was spoken of before
            for thing in lead.things if not lead.is_named else ():
                yield from self._predicates(Said(things=(without_state(thing),)), at + 1)
        yield from self._field_must(at, lead)
        yield from self._commands(at)
        yield from self._possible(at)
        yield from AskedValues(guards=self).read(at)
        yield from Quotas(guards=self).read(at)

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

    def _possible(self, at: int) -> Iterator[tuple[Said, int]]:
        """`It is not possible to add …`, `it is only possible to book …`."""
        for lead, is_not in _IMPOSSIBLE:
            start = self.cursor.after(at, *lead)
            for verbs, end in self.verbs(start) if start is not None else ():
                yield from self.extended(Said(verbs=verbs, is_forbidden=is_not), end, is_needed=not is_not)

    def _commands(self, at: int) -> Iterator[tuple[Said, int]]:
        start = self.cursor.after(at, "do not", "never")
        if start is not None:
            for verbs, end in self.verbs(start):
                for said, last in self.extended(Said(verbs=verbs, is_forbidden=True), end):
                    # Without an answer of the backend's it only tells the agent what to do.
                    if next(tail(self.phrases, last), None) is not None:
                        yield said, last

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
        for thing, end in self.phrases.thing(at):
            agents = (thing.kind,) if is_role(thing) else ()
            deeds = thing.deeds or tuple(
                Deed(tool=name, rank=0) for name in thing.tools if len(thing.tools) == 1
            )
            base = Said(verbs=(deeds,) if deeds else (), is_forbidden=thing.is_none, agents=agents)
            yield from self._with_objects(base.with_thing(thing), end)
        for so, end in self.argument_thing(at, []):
            yield Said(so=(so,)), end

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


def _of_event(lead: Said, said: Said) -> Said | None:
    """Of the calls that a rule may be about those that were spoken of before it: `When booking, …`."""
    tools = {deed.tool for deeds in lead.verbs for deed in deeds}
    if not tools or not said.verbs:
        return said
    verbs = tuple(tuple(deed for deed in deeds if deed.tool in tools) for deeds in said.verbs)
    return replace(said, verbs=verbs) if all(verbs) else None
