"""What a call may give: `The price must be greater than zero`, `a reason is required`, `titles are unique`.

The subject is an argument, the predicate says what it has to be; conditions and exceptions go with it as
with any other rule.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.core.english.words import singular, word_set
from pipelines.core.english.words import tokens as words_of
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader.arguments import Spoken, SpokenArguments
from pipelines.core.simulation.behavior.reader.complements import Complements
from pipelines.core.simulation.behavior.reader.conditions import Conditions
from pipelines.core.simulation.behavior.reader.cursor import Quantity
from pipelines.core.simulation.behavior.reader.modality import Modal, modal
from pipelines.core.simulation.behavior.reader.phrases import Phrases
from pipelines.core.simulation.behavior.reader.said import Said
from pipelines.core.simulation.behavior.reader.tool_names import named_tools
from pipelines.core.simulation.behavior.reader.vocabulary import Deed
from pipelines.core.simulation.behavior.things import ToolWords

_ASKED = word_set("required mandatory compulsory obligatory needed")
_GIVEN = word_set("provided given supplied stated named specified entered included")
_LYING = word_set("ranges range runs run goes go lies lie falls fall")
_CHANGED = word_set("changed altered edited modified updated amended raised lowered moved")
_ONCE = ("just once", "only once", "once", "one time only", "once only", "by one only")
_LIMITED = ("limited to", "capped at", "restricted to")
_OVER = ("exceed", "exceeds", "go over", "go above", "goes over", "be over", "be above")
_UNDER = ("fall below", "go below", "be below", "be under", "drop below")
_EXTREMES: dict[str, m.Op] = {
    "minimum": ">=", "smallest": ">=", "lowest": ">=", "shortest": ">=", "least": ">=",
    "maximum": "<=", "largest": "<=", "highest": "<=", "longest": "<=", "biggest": "<=",
}  # fmt: skip


@dataclass(kw_only=True)
class AskedValues:
    guards: Complements

    @property
    def phrases(self) -> Phrases:
        return self.guards.phrases

    def read(self, at: int) -> Iterator[tuple[Said, int]]:
        for spoken in SpokenArguments(phrases=self.phrases).read(at):
            yield from self._required(spoken)
            yield from self._unique(spoken)
            yield from self._fixed(spoken)
            for need, end in self._needs(spoken):
                said = Said(verbs=(spoken.deeds,), needed=(need,), is_named=True)
                yield from self.guards.restricted(said, end)
        yield from self._extreme(at)
        yield from self._no_two(at)
        yield from self._of_its_own(at)

    # -- that no other has it

    def _unique(self, spoken: Spoken) -> Iterator[tuple[Said, int]]:
        """`E-mail addresses are unique`, `an email address can be registered just once`."""
        cursor = self.phrases.cursor
        found = modal(cursor, spoken.end)
        if found is None or found.is_not:
            return
        if cursor.low(found.end) == "unique":
            yield from self._asked_once(spoken, found.end + 1)
        end = cursor.after(found.end + 1, *_ONCE) if cursor.words(found.end, found.end + 1) else None
        if end is not None and cursor.low(found.end).endswith("ed"):
            yield from self._asked_once(spoken, end, is_deed=True)

    def _no_two(self, at: int) -> Iterator[tuple[Said, int]]:
        """`No two customers share an email address`."""
        cursor = self.phrases.cursor
        start = cursor.after(at, "no two")
        for kind, end in self.phrases.kinds_at(start) if start is not None else ():
            found = modal(cursor, end)
            begin = cursor.after(found.end if found is not None else end, "share", "have", "use")
            if begin is None and found is not None and cursor.low(found.end - 1) == "have":
                begin = found.end
            yield from self._own(
                kind, cursor.past(begin, word_set("the same an a")) if begin is not None else None
            )

    def _of_its_own(self, at: int) -> Iterator[tuple[Said, int]]:
        """`Every campaign needs a title of its own`, `each lot has its own number`."""
        cursor = self.phrases.cursor
        for kind, end in self.phrases.kinds_at(cursor.past(at, word_set("every each a an"))):
            found = modal(cursor, end)
            start = found.end if found is not None else end
            start += cursor.low(start) in ("need", "needs", "has", "have", "gets", "carries")
            own = cursor.after(start, "its own", "their own", "a unique", "its unique")
            yield from self._own(kind, own)
            for said, last in self._own(kind, start) if own is None and start > end else ():
                of = cursor.after(last, "of its own", "of their own")
                if of is not None:
                    yield said, of

    def _own(self, kind: str, at: int | None) -> Iterator[tuple[Said, int]]:
        for spoken in SpokenArguments(phrases=self.phrases).read(at) if at is not None else ():
            tools = tuple(tool for tool in spoken.tools if self.phrases.words.is_about(tool, kind))
            yield from self._asked_once(Spoken(tools=tools, name=spoken.name, end=spoken.end), spoken.end)

    def _asked_once(self, spoken: Spoken, end: int, *, is_deed: bool = False) -> Iterator[tuple[Said, int]]:
        """Asked of what makes such records, and of what changes the value in one: but `can be recorded only
        once` is no value that others may not have."""
        makers = tuple(
            tool for tool in spoken.tools if tool.makes or (not is_deed and self._changes(tool, spoken.name))
        )
        deeds = Spoken(tools=makers, name=spoken.name, end=end).deeds
        if deeds:
            yield Said(verbs=(deeds,), needed=(m.Unique(m.Field(spoken.name)),), is_named=True), end

    def _changes(self, tool: ToolWords, name: str) -> bool:
        lexicon, kind = self.phrases.words.lexicon, tool.kind
        if kind is None or tool.reads or lexicon.id_argument(tool, kind) is None:
            return False
        return (name,) in lexicon.kinds[kind].fields

    # -- that it is given

    def _required(self, spoken: Spoken) -> Iterator[tuple[Said, int]]:
        """`A reason is required for cancel_order`."""
        cursor = self.phrases.cursor
        found = modal(cursor, spoken.end)
        low = cursor.low(found.end) if found is not None else ""
        if found is None or found.is_not or not (low in _ASKED or (found.must and low in _GIVEN)):
            return
        present = m.Present(m.Field(spoken.name, None, True))
        said = Said(verbs=(spoken.deeds,), needed=(present,), is_named=True)
        end = found.end + 1
        for told, last in self._for_what(said, spoken, end):
            yield from self.guards.restricted(told, last)
        yield from self.guards.restricted(said, end)

    def _for_what(self, said: Said, spoken: Spoken, at: int) -> Iterator[tuple[Said, int]]:
        """`for cancel_order`, `when cancelling an order`, `to cancel an urgent order`."""
        cursor = self.phrases.cursor
        start = cursor.after(
            at, "for", "when calling", "in", "by", "when", "whenever", "if", "to", "on", "before"
        )
        if start is None:
            return
        named = named_tools(self.phrases, start)
        if named is not None:
            deeds = tuple(Deed(tool=tool.name, rank=0) for tool in named[0] if spoken.name in tool.arguments)
            if deeds:
                yield Said(verbs=(deeds,), needed=said.needed, is_named=True), named[1]
        for event, end in self.guards.events(start):
            deeds = tuple(
                deed for group in event.verbs for deed in group
                if spoken.name in self.phrases.words.lexicon.tools[deed.tool.lower()].arguments
            )  # fmt: skip
            if deeds:
                told = Said(
                    verbs=(deeds,), needed=said.needed, so=(*event.so, *event.needed), things=event.things
                )
                yield told, end

    def _fixed(self, spoken: Spoken) -> Iterator[tuple[Said, int]]:
        """`Its goal can no longer be changed`: no call may give another one."""
        found = modal(self.phrases.cursor, spoken.end)
        if found is None or not found.is_not or self.phrases.cursor.low(found.end) not in _CHANGED:
            return
        given = m.Present(m.Field(spoken.name, None, True))
        tools = tuple(tool for tool in spoken.tools if not tool.makes)
        deeds = Spoken(tools=tools, name=spoken.name, end=spoken.end).deeds
        if deeds:
            said = Said(verbs=(deeds,), so=(given,), is_forbidden=True, is_named=True)
            yield from self.guards.restricted(said, found.end + 1)

    # -- what it is

    def _needs(self, spoken: Spoken) -> Iterator[tuple[m.Condition, int]]:
        cursor, tools = self.phrases.cursor, [*spoken.tools]
        conditions = Conditions(phrases=self.phrases, tools=tools)
        field = m.Field(spoken.name, None, True)
        found = modal(cursor, spoken.end)
        if found is None and cursor.low(spoken.end) in _LYING | word_set(
            "has contains needs takes lasts costs"
        ):
            found = Modal(end=spoken.end + 1)
        if found is None:
            return
        for need, end in self._limits(field, found):
            yield need, end
            again = cursor.after(end, "nor", ", nor", "or", "and")
            second = modal(cursor, again) if again is not None else None
            if second is not None:  # `…, nor shall it fall below 0.05`
                begin = cursor.past(second.end, word_set("it they"))
                for other, last in self._limits(field, Modal(end=begin, is_not=found.is_not)):
                    yield m.All((need, other)), last
        for need, end in conditions.asked_of(field, found.end, tools):
            is_limit = found.must or found.is_not or _is_limit(need)
            if is_limit and not (found.is_not and isinstance(need, m.All)):
                yield (m.negated(need) if found.is_not else need), end

    def _limits(self, field: m.Field, found: Modal) -> Iterator[tuple[m.Condition, int]]:
        """`is limited to 2`, `shall not exceed 2`, `may not fall below 2`."""
        cursor = self.phrases.cursor
        for said, op in ((_LIMITED, "<="), (_OVER, "<="), (_UNDER, ">=")):
            if (said is not _LIMITED) != found.is_not:
                continue
            start = cursor.after(found.end, *said)
            amount = cursor.quantity(start) if start is not None else None
            if amount is not None and _is_in(amount[0], field.name):
                measured = m.Sum("length", (field,)) if amount[0].unit == "character" else field
                yield (
                    m.Compare(measured, "<=" if op == "<=" else ">=", self.phrases.literal(amount[0])),
                    amount[1],
                )

    def _extreme(self, at: int) -> Iterator[tuple[Said, int]]:
        """`The minimum pledge is five euros`, `the longest rental is 30 days`."""
        cursor = self.phrases.cursor
        start = cursor.past(at, word_set("the a"))
        op = _EXTREMES.get(cursor.low(start))
        if op is None:
            return
        for spoken in SpokenArguments(phrases=self.phrases).read(start + 1):
            begin = cursor.past(spoken.end, word_set("is are for"))
            amount = cursor.quantity(begin)
            if amount is not None and begin > spoken.end:
                need = m.Compare(m.Field(spoken.name, None, True), op, self.phrases.literal(amount[0]))
                said = Said(verbs=(spoken.deeds,), needed=(need,), is_named=True)
                yield from self.guards.restricted(said, amount[1])


def _is_limit(need: m.Condition) -> bool:
    """`can be at most 5` sets a limit; `can be over 5` allows something, and `is over 5` tells it."""
    match need:
        case m.Compare(m.Sum("%")):
            return True  # a whole number
        case m.Compare(_, op, _):
            return op in ("<=", ">=", "<", "!=")
        case m.OneOf(_, values):
            return len(values) > 1
        case m.Among():
            return True
        case m.All(parts):
            return all(_is_limit(part) for part in parts)
    return False


def _is_in(amount: Quantity, name: str) -> bool:
    """A length of time is a limit on what is counted so: `limited to 24 hours` says nothing of a level."""
    said = words_of(name)
    lasting = bool(word_set("duration length period term time") & set(said))
    return amount.duration is None or lasting or amount.unit in map(singular, said)
