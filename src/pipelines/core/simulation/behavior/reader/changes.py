"""What a call changes: `Paying an invoice marks it as paid`, `each refill uses up one refill`."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pipelines.core.english.inflection import verb_forms
from pipelines.core.english.words import tokens as words_of
from pipelines.core.english.words import word_set
from pipelines.core.json_text import Json
from pipelines.core.simulation.behavior import clauses as c
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader.guards import Guards
from pipelines.core.simulation.behavior.reader.phrases import Phrases
from pipelines.core.simulation.behavior.reader.said import Said, named
from pipelines.core.simulation.behavior.reader.thing import Thing
from pipelines.core.simulation.behavior.reader.tool_names import named_tools
from pipelines.core.simulation.behavior.reader.vocabulary import TAILS, Deed, number_of
from pipelines.core.simulation.behavior.states import may_be_a_status
from pipelines.core.simulation.behavior.things import ToolWords, find_argument
from pipelines.core.simulation.behavior.tokens import Kind as TokenKind

Change = Callable[[ToolWords], c.Clause | None]  # what one tool then does

_ARTICLES = word_set("a an the its their his her that this such any")
_DET = word_set("the its their his her a an that this")


def _forms(*verbs: str) -> frozenset[str]:
    return frozenset(form for verb in verbs for form in verb_forms(verb))


_BECOMING = _forms("become", "go", "turn", "move", "change", "switch", "return", "come") | word_set(
    "is are gets"
)
_SETTING = _forms(
    "set", "put", "change", "move", "mark", "flip", "make", "turn", "bring", "reset", "switch", "flag"
)
_GOING = _forms("go", "return", "come", "move")
_MORE = _forms("raise", "increase", "increment", "bump", "grow", "lift")
_LESS = _forms("lower", "reduce", "decrease", "decrement", "drop", "cut", "shrink")
_ADDING = _forms("add", "credit")
_TAKING = _forms("subtract", "deduct", "take", "remove", "debit")
_USING = _forms("use", "consume", "cost", "spend")
_MOVING = _forms("move", "extend", "push", "shift", "postpone", "prolong")
_GIVING = _forms("award", "grant", "give")
_KEEPING = _forms("store", "record", "save", "keep", "note", "write")
_TO = ("back to", "to", "back as", "as", "into", "at", "back", "over to", "out of")


@dataclass(kw_only=True)
class Changes:
    guards: Guards

    @property
    def phrases(self) -> Phrases:
        return self.guards.phrases

    def read(self, at: int) -> Iterator[tuple[Said, tuple[Change, ...], int]]:
        """A deed and what comes of it."""
        for said, start in self._events(at):
            for changes, end in self._several(said, start):
                yield said, changes, end

    # -- the deed

    def _events(self, at: int) -> Iterator[tuple[Said, int]]:
        cursor = self.phrases.cursor
        start = cursor.after(at, "when", "once", "whenever", "as soon as", "after", "if")
        if start is not None:
            yield from self._done_to(start)
        yield from self._on_condition(at)
        start = cursor.after(at, "on", "upon", "after", "with") or at
        found = named_tools(self.phrases, cursor.past(start, word_set("a each every successful")))
        if found is not None:
            end = cursor.past(found[1], word_set("succeeds succeed completes runs"))
            yield named(found[0]), end + (cursor.low(end) == ",")
            return
        begin = cursor.past(start, word_set("each every a an the any successful"))
        for thing, end in self.phrases.thing(begin):
            made = self.phrases.words.makers(thing.kind) if thing.kind and begin > start else []
            deeds = thing.deeds or tuple(Deed(tool=tool.name, rank=1) for tool in made)
            if deeds:
                base = Said(verbs=(deeds,), is_forbidden=True).with_thing(thing)
                told = self._past_telling(end) if made else end
                for said, last in self.guards.extended(base, told, is_subject=True):
                    yield said, last + (cursor.low(last) == ",")

    def _past_telling(self, at: int) -> int:
        """`every donation we record`, `each pledge that is made`: that it is made goes without saying."""
        cursor = self.phrases.cursor
        start = cursor.past(at, word_set("we you that which is are"))
        said = cursor.words(start, start + 1)
        is_made = bool(said) and bool(
            self.phrases.words.deeds_of(said[0]) or said[0] in ("made", "make", "take")
        )
        return start + 1 if start > at and is_made else at

    def _on_condition(self, at: int) -> Iterator[tuple[Said, int]]:
        """`If the order total exceeds 100, refund_order …`."""
        cursor = self.phrases.cursor
        start = cursor.after(at, "if", "when")
        for so, _, end in self.guards.conditions(Said()).read(start, []) if start is not None else ():
            found = named_tools(self.phrases, end + (cursor.low(end) == ","))
            if found is not None:
                yield replace(named(found[0]), so=(so,)), found[1]

    def of_tools(
        self, tools: tuple[ToolWords, ...], at: int
    ) -> Iterator[tuple[Said, tuple[Change, ...], int]]:
        """What tools that were named before do: `… and sets the stock_freed flag`."""
        said = named(tools)
        for changes, end in self._several(said, at):
            yield said, changes, end

    def _done_to(self, at: int) -> Iterator[tuple[Said, int]]:
        """`a lesson is cancelled,`, `a member cancels a booking,`."""
        cursor = self.phrases.cursor
        for thing, end in self.phrases.thing(at):
            after = cursor.past(end, word_set("is are was were has have been gets get"))
            for verbs, then in self.guards.verbs(after) if thing.kind else ():
                base = Said(verbs=verbs, is_forbidden=True).with_thing(thing)
                for said, last in self.guards.extended(base, then, is_subject=True):
                    yield said, last + (cursor.low(last) == ",")

    # -- what comes of it

    def _several(self, said: Said, at: int, is_set: bool = False) -> Iterator[tuple[tuple[Change, ...], int]]:
        sets = is_set or self.phrases.cursor.low(at) in _SETTING
        ways = [*self._one(said, at), *(self._set(said, at) if is_set else ())]
        for first, kinds, end in ways:
            near = replace(said, things=(*said.things, *(Thing(kind=kind) for kind in kinds)))
            start = self.phrases.cursor.after(end, ", and also", ", and", "and also", "and", ",")
            if start is not None:
                for rest, last in self._several(near, start, sets):  # `status to void and …`
                    yield (first, *rest), last
            yield (first,), end

    def _one(self, said: Said, at: int) -> Iterator[tuple[Change, tuple[str, ...], int]]:
        cursor = self.phrases.cursor
        start = at + (cursor.low(at) in ("also", "then", "automatically"))
        low = cursor.low(start)
        if low in _SETTING:
            yield from self._set(said, start + 1)
        if low in _MORE | _LESS:
            yield from self._stepped(said, start + 1, "+" if low in _MORE else "-")
        if low in _ADDING | _TAKING:
            yield from self._moved(said, start + 1, "+" if low in _ADDING else "-")
        if low in _MOVING:
            yield from self._later(said, start + 1)
        yield from self._flagged(start)
        yield from self._restocked(start)
        if low in _ADDING | _GIVING:
            yield from self._counted(said, start + 1, "+")
        if low in _TAKING:
            yield from self._counted(said, start + 1, "-")
        yield from self._moved_passively(said, start)
        if low in _USING | _TAKING:
            yield from self._used(said, start + 1 + (cursor.low(start + 1) == "up"))
        if low in _KEEPING:
            yield from self._kept(said, start + 1)
        if low in ("leaves", "leave", "keeps", "keep"):
            yield from self._left(said, start + 1)
        yield from self._subject_changes(said, start)

    def _later(self, said: Said, at: int) -> Iterator[tuple[Change, tuple[str, ...], int]]:
        """`moves due_on 14 days later`, `extends the due date by a week`."""
        cursor = self.phrases.cursor
        for field, end in self._fields(said, at):
            found = cursor.quantity(end + (cursor.low(end) == "by"))
            if found is not None and found[0].duration is not None:
                span = found[0].duration
                step = c.Step(field, span, "+", _when(said))
                last = cursor.after(found[1], "later", "forward", "back", "ahead", "out") or found[1]
                yield _always(step), (field.owner or "",), last

    def _flagged(self, at: int) -> Iterator[tuple[Change, tuple[str, ...], int]]:
        """`sets the warehouse_outage flag`, `the restock_due flag is set`."""
        cursor = self.phrases.cursor
        is_active = cursor.low(at) in _SETTING | _MORE | _forms("activate", "trigger")
        start = cursor.past(at + is_active, word_set("the a on"))
        token = self.phrases.token(start)
        end = cursor.after(start + 1, "flag", "ledger flag")
        last = end if is_active else cursor.after(start + 1, "flag is set", "flag is raised", "flag gets set")
        if token is not None and last is not None and token.is_word():
            raised = c.Raise(token.text)
            yield (lambda _: raised), (), last

    def _restocked(self, at: int) -> Iterator[tuple[Change, tuple[str, ...], int]]:
        """`restores the stock`, `its items are restocked`."""
        cursor = self.phrases.cursor
        end = None
        if cursor.low(at) in _forms("restore", "replenish", "release"):
            end = cursor.after(cursor.past(at + 1, _ARTICLES | {"reserved"}), "stock", "inventory")
        else:
            start = cursor.past(at, _ARTICLES | {"ordered"})
            if cursor.low(start) in ("items", "item", "products", "product"):
                end = cursor.after(
                    start + 1,
                    "are restocked",
                    "is restocked",
                    "are returned to stock",
                    "are put back in stock",
                )
        if end is not None:
            yield (lambda _: c.Restock()), (), end

    def _counted(self, said: Said, at: int, sign: m.Sign) -> Iterator[tuple[Change, tuple[str, ...], int]]:
        """`adds 10 loyalty points to the user`."""
        number = self.phrases.cursor.number(at)
        for field, end in self._fields(said, number[1]) if number is not None else ():
            if number is not None:
                last = self._past_owner(field, end)
                yield _step(field, _fixed(number_of(number[0])), sign, said), (field.owner or "",), last

    def _moved_passively(self, said: Said, at: int) -> Iterator[tuple[Change, tuple[str, ...], int]]:
        """`the quantity is deducted from its stock`, `the amount is added to the balance`."""
        cursor = self.phrases.cursor
        for amount, end in self._amounts(said, at):
            verb = cursor.past(end, word_set("is are gets then"))
            low = cursor.low(verb)
            sign: m.Sign | None = "+" if low in _ADDING else "-" if low in _TAKING else None
            start = (
                cursor.after(verb + 1, "to" if sign == "+" else "from", "off") if sign is not None else None
            )
            for field, last in self._fields(said, start) if verb > end and start is not None else ():
                if sign is not None:
                    yield _step(field, amount, sign, said), (field.owner or "",), last

    def _past_owner(self, field: m.Field, at: int) -> int:
        cursor = self.phrases.cursor
        start = cursor.after(at, "to", "on", "for", "off", "from")
        begin = cursor.past(start, _ARTICLES) if start is not None else at
        for kind, end in self.phrases.kinds_at(begin) if start is not None else ():
            if kind == field.owner:
                return cursor.after(end, "'s account", "'s record", "'s balance") or end
        return at

    def _subject_changes(self, said: Said, at: int) -> Iterator[tuple[Change, tuple[str, ...], int]]:
        """`the car becomes rented`, `its status changes to closed`, `lessons_left goes up by 1`."""
        cursor = self.phrases.cursor
        for kind, end in self._target_things(said, at):
            for after in self._past_be(end) if cursor.low(end) in _BECOMING else ():
                for change, last in self._become(kind, after):
                    yield change, (kind,), last
        for field, end in self._fields(said, at):
            low = cursor.low(end)
            up = cursor.after(
                end, "goes up", "go up", "increases", "rises", "is increased", "is raised", "grows"
            )
            down = cursor.after(
                end, "goes down", "go down", "decreases", "falls", "drops", "is reduced", "is lowered"
            )
            step = up or down
            if step is not None and cursor.low(step) == "by":
                for amount, last in self._amounts(said, step + 1):
                    yield _step(field, amount, "+" if up else "-", said), (field.owner or "",), last
            for begin in self._past_be(end) if low in _BECOMING else ():
                after = cursor.after(begin, *_TO) or begin
                for value, last in self._values(said, field, after):
                    change = _assign(field, value, said)
                    yield (
                        (_unless_field(value, change) if low in _GOING else change),
                        (field.owner or "",),
                        last,
                    )

    def _past_be(self, at: int) -> list[int]:
        """Past `becomes`, `is set`; the longest way first, since `returned` may be the state."""
        end = self.phrases.cursor.past(
            at, _BECOMING | word_set("set moved changed marked switched put made again")
        )
        return [*range(end, at, -1)]

    def _become(self, kind: str, at: int) -> Iterator[tuple[Change, int]]:
        cursor = self.phrases.cursor
        for start in dict.fromkeys((cursor.after(at, *_TO) or at, at)):
            begin = cursor.past(start, _DET)
            for so, end in self.phrases.state(kind, begin):
                change = _from_state(so)
                if change is not None:
                    last = end + (cursor.low(end) == "again")
                    yield change, last

    def _set(self, said: Said, at: int) -> Iterator[tuple[Change, tuple[str, ...], int]]:
        """`sets its status to closed`, `makes it available again`, `marks the invoice as paid`."""
        cursor = self.phrases.cursor
        things = [*self._target_things(said, at)]
        for kind, end in things:
            for change, last in self._become(kind, end):
                yield change, (kind,), last
        for field, end in self._fields(said, at):
            if any(end == last for _, last in things) and cursor.low(end - 1) not in words_of(field.name):
                continue  # `its order`: no ordered_at
            if cursor.low(end) == "from":  # `from pending to archived`
                for _, before in self._values(said, field, end + 1):
                    end = before
                    break
            start = cursor.after(end, *_TO)
            for value, last in self._values(said, field, start) if start is not None else ():
                yield _assign(field, value, said), (field.owner or "",), last

    def _stepped(self, said: Said, at: int, sign: m.Sign) -> Iterator[tuple[Change, tuple[str, ...], int]]:
        cursor = self.phrases.cursor
        for field, end in self._fields(said, at):
            if cursor.low(end) == "by":
                for amount, last in self._amounts(said, end + 1):
                    yield _step(field, amount, sign, said), (field.owner or "",), last

    def _moved(self, said: Said, at: int, sign: m.Sign) -> Iterator[tuple[Change, tuple[str, ...], int]]:
        """`adds the quantity to the item's reserved figure`, `takes one off refills_left`."""
        cursor = self.phrases.cursor
        for amount, end in self._amounts(said, at):
            start = cursor.after(end, "to") if sign == "+" else cursor.after(end, "from", "off", "away from")
            for field, last in self._fields(said, start) if start is not None else ():
                yield _step(field, amount, sign, said), (field.owner or "",), last

    def _used(self, said: Said, at: int) -> Iterator[tuple[Change, tuple[str, ...], int]]:
        number = self.phrases.cursor.number(at)
        if number is None:
            return
        start = self.phrases.cursor.past(number[1], word_set("of the its their remaining available"))
        amount = m.Literal_(number_of(number[0]))
        for field, end in self._fields(said, start):
            yield _step(field, lambda _: amount, "-", said), (field.owner or "",), end

    def _kept(self, said: Said, at: int) -> Iterator[tuple[Change, tuple[str, ...], int]]:
        """`stores the new odometer reading on it`, `records the reason`."""
        cursor = self.phrases.cursor
        start = cursor.past(at, _DET | {"new", "given"})
        for length in (3, 2, 1):
            spoken = cursor.words(start, start + length)
            on = cursor.after(start + length, "on", "in", "with") if len(spoken) == length else None
            for kind, end in self._target_things(said, on) if on is not None else ():
                path = self.phrases.words.field_of(kind, spoken)
                if path is not None:
                    yield _kept(self.phrases.words.named(kind, path), spoken, said), (kind,), end
        for name, end in self.guards.conditions(said).arguments(start):
            under = cursor.after(end, "as", "under")
            token = self.phrases.token(under) if under is not None else None
            if token is not None and under is not None and self.phrases.is_name(under):
                yield _keeps(name, token.text), (), under + 1
            on = cursor.after(end, "on", "in", "with")
            for kind, last in self._target_things(said, on) if on is not None else ():
                yield _keeps(name), (kind,), last
            yield _keeps(name), (), end

    def _left(self, said: Said, at: int) -> Iterator[tuple[Change, tuple[str, ...], int]]:
        for field, end in self._fields(said, at):
            last = self.phrases.cursor.after(end, "as it is", "unchanged", "untouched", "alone", "as is")
            if last is not None:
                yield (lambda _: c.Normal()), (field.owner or "",), last

    # -- targets

    def _near(self, said: Said) -> list[str]:
        tools = [
            self.phrases.words.lexicon.tools[deed.tool.lower()] for deeds in said.verbs for deed in deeds
        ]
        return list(dict.fromkeys([*reversed(said.kinds), *(tool.kind for tool in tools if tool.kind)]))

    def _target_things(self, said: Said, at: int) -> Iterator[tuple[str, int]]:
        cursor = self.phrases.cursor
        if cursor.low(at) in ("it", "them"):
            yield from ((kind, at + 1) for kind in self._near(said))
        start = cursor.past(at, _ARTICLES)
        for length in (3, 2, 1):
            spoken = cursor.words(start, start + length)
            if len(spoken) == length:
                yield from ((kind, start + length) for kind in self.phrases.words.kinds_named(spoken))

    def _fields(self, said: Said, at: int | None) -> Iterator[tuple[m.Field, int]]:
        if at is None:
            return
        near = self._near(said)
        for kind in near or [""]:
            yield from self.phrases.amount_field(at, kind or None)
        token = self.phrases.token(self.phrases.cursor.past(at, _DET))
        start = self.phrases.cursor.past(at, _DET)
        if token is not None and "_" in token.text and token.low not in self.phrases.words.lexicon.tools:
            yield (
                m.Field(token.text, None, False, True),
                start + 1,
            )  # written for the first time

    def _amounts(self, said: Said, at: int) -> Iterator[tuple[Callable[[ToolWords], m.Amount | None], int]]:
        """A number, an argument of the tool, or a field."""
        cursor = self.phrases.cursor
        found = cursor.quantity(at)
        if found is not None and not found[0].is_percent:
            literal = m.Literal_(number_of(found[0].number))
            yield (lambda _: literal), found[1]
            return
        start = cursor.past(at, _DET)
        start = cursor.after(start, "number of") or start
        for length in (3, 2, 1):
            spoken = cursor.words(start, start + length)
            if len(spoken) != length:
                continue
            tools = [self.phrases.words.lexicon.tools[d.tool.lower()] for deeds in said.verbs for d in deeds]
            if any(_argument(tool, spoken) for tool in tools):
                end = start + length  # `the amount paid`
                end += self._is_done(said, end) or self._past_done(end)
                yield partial(_argument_of, tuple(spoken)), end
        if cursor.low(start) in (
            "amount",
            "quantity",
            "number",
        ):  # `by the amount donated`: the one that is given
            done = self._is_done(said, start + 1)
            count = m.Field(m.COUNT)
            if done:
                yield (lambda _: count), start + 1 + done
        for kind in self._near(said):
            for field, end in self.phrases.amount_field(at, kind):
                yield _told(field), end

    def _past_done(self, at: int) -> int:
        """`paid in` after an argument, where nothing follows it."""
        cursor = self.phrases.cursor
        said = cursor.words(at, at + 1)
        last = at + 1 + (cursor.low(at + 1) in ("in", "out", "off"))
        is_last = cursor.low(last) in ("", ",", ";", "and")
        return last - at if said and said[0].endswith(("ed", "id", "en")) and is_last else 0

    def _is_done(self, said: Said, at: int) -> int:
        """How many words say what was given, of the deed itself: `paid`, `bought`, `paid in`."""
        spoken = self.phrases.cursor.words(at, at + 1)
        deeds = self.phrases.words.deeds_of(spoken[0]) if spoken and not spoken[0].endswith("s") else ()
        is_own = bool({deed.tool for deed in deeds} & {deed.tool for group in said.verbs for deed in group})
        return is_own + (is_own and self.phrases.cursor.low(at + 1) in ("in", "out", "off"))

    def _values(
        self, said: Said, field: m.Field, at: int
    ) -> Iterator[tuple[Callable[[ToolWords], m.Amount | None], int]]:
        cursor = self.phrases.cursor
        kind = self.phrases.words.lexicon.kinds.get(field.owner or "")
        path = self.phrases.words.field_of(field.owner or "", [field.name])
        for length in (3, 2, 1):
            spoken = cursor.words(at, at + length)
            value = (
                self.phrases.words.value_in(kind.name, path, spoken)
                if kind is not None and path is not None and len(spoken) == length
                else None
            )
            if value is not None:
                yield _fixed(value), at + length
                return
        quoted = self.phrases.token(at)
        if quoted is not None and quoted.kind is TokenKind.TEXT and quoted.text:
            known = self.phrases.words.value_in(kind.name, path, [quoted.text]) if kind and path else None
            yield _fixed(known if known is not None else quoted.text), at + 1
            return
        today = cursor.after(at, "the run date", "the current date", "the current time", "now", "today")
        if today is not None:
            yield (lambda _: m.Now()), today
            return
        if cursor.low(at) in ("true", "false"):
            switch = m.Literal_(cursor.low(at) == "true")
            yield (lambda _: switch), at + 1
            return
        token = self.phrases.token(at)
        if kind is not None and path == kind.status and token is not None and token.is_word():
            is_as_stored = "_" in token.text or token.text.isupper()  # no word is written so in a sentence
            said_so = m.Literal_(token.text if is_as_stored else token.low)
            if may_be_a_status(token.low):
                yield (lambda _: said_so), at + 1
                return
        yield from self._amounts(said, at)


def _argument(tool: ToolWords, words: Sequence[str]) -> m.Field | None:
    undone = [word for word in words if not word.endswith("ed")]  # the ordered quantity
    plain = [word for word in undone if word not in TAILS]
    ways = (" ".join(one) for one in (words, undone, plain) if one)
    name = next((name for name in (find_argument(tool, way) for way in ways) if name is not None), None)
    return m.Field(name, None, True) if name is not None else None


def _argument_of(words: Sequence[str], tool: ToolWords) -> m.Field | None:
    return _argument(tool, words)


def _told(field: m.Field) -> Callable[[ToolWords], m.Amount | None]:
    return lambda _: field


def _unless_field(value: Callable[[ToolWords], m.Amount | None], change: Change) -> Change:
    """`the seats go back to the train's seats left`: they are added to these, which is not said so here."""
    return lambda tool: None if isinstance(value(tool), m.Field) else change(tool)


def _always(clause: c.Clause) -> Change:
    return lambda _: clause


def _fixed(value: Json) -> Callable[[ToolWords], m.Amount | None]:
    return lambda _: m.Literal_(value)


def _when(said: Said) -> m.Condition | None:
    return m.both(*said.so)


def _assign(field: m.Field, value: Callable[[ToolWords], m.Amount | None], said: Said) -> Change:
    def change(tool: ToolWords) -> c.Clause | None:
        amount = value(tool)
        return None if amount is None else c.Assign(field, amount, _when(said))

    return change


def _step(field: m.Field, amount: Callable[[ToolWords], m.Amount | None], sign: m.Sign, said: Said) -> Change:
    def change(tool: ToolWords) -> c.Clause | None:
        by = amount(tool)
        return None if by is None else c.Step(field, by, sign, _when(said))

    return change


def _kept(field: m.Field, words: Sequence[str], said: Said) -> Change:
    return _assign(field, lambda tool: _argument(tool, words), said)


def _keeps(name: str, under: str | None = None) -> Change:
    kept = c.StoredArgument(m.Field(name), m.Field(under) if under is not None else None)
    return lambda tool: kept if name in tool.arguments else None


def _from_state(so: m.Condition) -> Change | None:
    match so:
        case m.Is(word, kind, False):
            return lambda _: c.Become(kind, word)
        case m.OneOf(field, (value,)):
            return lambda _: c.Assign(field, m.Literal_(value))
        case m.Compare(m.Field() as field, "==", m.Literal_() as switch):
            return lambda _: c.Assign(field, switch)
    return None
