"""What is so of a thing: `is closed`, `has not been paid`, `with an active session`, `owes more than 100`."""

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.core.english.words import singular, word_set
from pipelines.core.english.words import tokens as words_of
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader.field_phrases import (
    ARTICLES,
    BE,
    HAVE,
    LONGEST_NAME,
    FieldPhrases,
)
from pipelines.core.simulation.behavior.reader.thing import Thing
from pipelines.core.simulation.behavior.scope import link_field
from pipelines.core.simulation.behavior.states import may_be_a_status
from pipelines.core.simulation.behavior.words import PERSONS

_DO = word_set("does do did")
_OWE = word_set("owe owes owing")
_DEBTS = ("due", "owed", "owe", "balance", "outstanding", "debt", "overdue", "fines", "arrears")
LINKING = word_set("of for by from to with on at in into against under as")
SAID_TO_BE = word_set("flagged marked rated called classed tagged labelled labeled named classified")
BEGUN = word_set("placed created made ordered booked submitted opened filed issued bought registered posted")
_NEVER_STATES = word_set("given needed required allowed used made called named")


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


@dataclass(kw_only=True)
class StatePhrases(FieldPhrases):
    def thing(self, at: int) -> Iterator[tuple[Thing, int]]:
        """Noun phrases, which have states in them as states have nouns."""
        raise NotImplementedError

    def value_nouns(self, kind: str, at: int) -> Iterator[tuple[m.OneOf, int]]:
        """A value as a noun, of this kind: `as drafts`."""
        for length in (2, 1):
            said = self.cursor.words(at, at + length)
            so = self.words.state(kind, [*said[:-1], singular(said[-1])]) if len(said) == length else None
            if isinstance(so, m.OneOf):
                yield so, at + length

    def event_ago(self, kind: str, at: int) -> Iterator[tuple[m.Condition, int]]:
        """`booked more than 60 days ago`, `placed within the last 30 days`, `created before 2026-01-15`."""
        said = self.cursor.words(at, at + 1)
        if not said or not (said[0].endswith(("ed", "en", "ade", "ent", "born")) or said[0] in BEGUN):
            return
        dates = self.words.dates_of(kind, ["birth"] if said[0] == "born" else said)
        if len(dates) == 1:
            moment = self.words.named(kind, dates[0])
        elif said[0] in BEGUN and kind and not dates:
            moment = m.Field(said[0], kind, False, True)  # the date it came about, whatever that is called
        else:
            return
        yield from self.dated(moment, at + 1)

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
        start = self.cursor.past(start, BE | word_set("already been"))
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
        if self.cursor.low(at) in SAID_TO_BE:
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
        start = self.cursor.past(at + 1, ARTICLES)
        yield from self.state(kind, start)

    def _past_its(self, kind: str, at: int) -> Iterator[tuple[m.Condition, int]]:
        for field_name, path, end in self._own_field(kind, self.cursor.past(at, ARTICLES)):
            if path in self.words.lexicon.kinds[kind].dates():
                yield m.Compare(field_name, "<", m.Now()), end

    def predicate(self, kind: str, at: int) -> Iterator[tuple[m.Condition, int]]:
        """What follows `which` or a subject: `is closed`, `hasn't been paid`, `owe us more than 100`."""
        low = self.cursor.low(at)
        if low in _DO and self.cursor.low(at + 1) == "not":
            for so, end in self.predicate(kind, at + 2):
                yield m.negated(so), end
            return
        if low in BE or low in HAVE:
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
                told = done(so) if low in HAVE or self.cursor.low(start - 1) == "been" else so
                yield (m.negated(told) if is_not else told), end
            return
        if low in ("hold", "holds", "carry", "carries"):
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
        yield from self.happening(kind, at)
        said = self.cursor.words(at, at + 1)
        passed = self.words.state(kind, said) if said and said[0].endswith(("ed", "en")) else None
        if isinstance(passed, m.OneOf):  # builds that passed
            yield passed, at + 1

    def happening(self, kind: str, at: int) -> Iterator[tuple[m.Condition, int]]:
        """`starts in less than 14 days`, `starting in the past`, `ends within a week`."""
        said = self.cursor.words(at, at + 1)
        dates = self.words.dates_of(kind, said) if said and kind in self.words.lexicon.kinds else []
        if len(dates) != 1:
            return
        moment = self.words.named(kind, dates[0])
        for word, op in (("past", "<"), ("future", ">")):
            end = self.cursor.after(at + 1, f"in the {word}")
            if end is not None:
                yield m.Compare(moment, "<" if op == "<" else ">", m.Now()), end
        if self.cursor.low(at + 1) not in ("in", "within"):
            return
        for bounds, end in self.cursor.bounds(at + 2):
            (op_, span), *rest = bounds
            if not rest and span.duration is not None:
                yield m.Age(moment, op_, span.duration, None, True), end
        found = self.cursor.quantity(at + 2) if self.cursor.low(at + 1) == "within" else None
        if found is not None and found[0].duration is not None:
            yield m.Age(moment, "<=", found[0].duration, None, True), found[1]

    def _being(self, kind: str, verb: str, at: int) -> Iterator[tuple[m.Condition, int]]:
        if self.cursor.low(at) == "neither":
            for so, end in self.states(kind, at + 1):
                yield m.negated(so), end
            return
        yield from self.event_ago(kind, at)
        for so, end in self.states(kind, at):
            yield so, self._same_thing(kind, end) if self.cursor.low(at) in ARTICLES else end
        yield from self.state_phrase(kind, at)
        if self.cursor.low(at) in ("passed", "past"):
            yield from self._past_its(kind, at + 1)
        yield from self.measured(kind, at)
        if verb in HAVE:
            yield from self.having(kind, at)
            yield from self.linked_records(kind, at)
        elif verb in BE:
            yield from self.value_nouns(kind, at)  # are still drafts

    def having(self, kind: str, at: int) -> Iterator[tuple[m.Condition, int]]:
        """After `with` or `has`: `no seats left`, `an active membership`, `more than two fines`."""
        low = self.cursor.low(at)
        if (given := self.cursor.after(at, "that", "this", "the same", "the given")) is not None:
            yield from self._as_given(kind, given)
            return
        is_none = low == "no"
        start = self.cursor.past(at + (is_none or low == "any"), ARTICLES)
        for so, end in self.state(kind, start):
            # `an active membership` of a member: the noun only repeats whose state it is.
            last = self._same_thing(kind, end)
            yield (m.negated(so) if is_none else so), last
        if self.cursor.low(start) in ("empty", "blank"):
            for name, _, end in self._own_field(kind, start + 1):
                yield m.Not(m.Present(name)), end
        if (nonzero := self.cursor.after(start, "non zero", "nonzero")) is not None:
            for name, _, end in self._own_field(kind, nonzero):
                yield m.Compare(name, "!=", m.Literal_(0)), end
        for bounds, after in self.cursor.bounds(start):
            for name, path, end in self._own_field(kind, self.cursor.past(after, word_set("of in"))):
                yield self._within(name, path, kind, bounds), self._left(end)
        for name, path, end in self._own_field(kind, start):
            about = self.words.lexicon.kinds[kind].fields.get(path)
            if about is None:
                continue  # a usual field that no record has been seen with
            if path in self.words.lexicon.kinds[kind].dates() and not self.is_name(end - 1):
                continue  # a class that has started is not one that has a start
            for so, last in self.compared(kind, path, end):
                yield so, last
            has: m.Condition = (
                m.Compare(name, "==", m.Literal_(True)) if "boolean" in about.kinds else m.HasSome(name)
            )
            yield (m.negated(has) if is_none else has), self._left(end)

    def _as_given(self, kind: str, at: int) -> Iterator[tuple[m.Condition, int]]:
        """`a dog with that name`, where the call gives a name."""
        for name, path, end in self._own_field(kind, at):
            tools = self.words.lexicon.tools.values()
            if len(path) == 1 and any(path[0] in tool.arguments for tool in tools):
                yield m.Compare(name, "==", m.Field(path[0], None, True)), end

    def linked_records(self, kind: str, at: int) -> Iterator[tuple[m.Condition, int]]:
        """`an active session`, `three or more expired reservations`: records that hold this one's id."""
        for thing, end in self.thing(at):
            if not thing.kind or thing.kind == kind or thing.is_only or not self.is_linked(thing.kind, kind):
                continue
            of = m.Thing(thing.kind, m.both(*thing.so))
            op: m.Op = "==" if thing.is_none else ">="
            than = 0 if thing.is_none else 1
            if thing.bounds:
                op, than = thing.bounds[0][0], int(thing.bounds[0][1].number)
            if len(thing.bounds) > 1 or (thing.bounds and op == "=="):
                continue
            for also, last in self._also_of(thing.kind, kind, end):
                yield m.Counted(kind, of, op, than, False, also), last

    def _also_of(self, counted: str, kind: str, at: int) -> Iterator[tuple[tuple[str, ...], int]]:
        """`a tenancy on the plot`, `a completed visit with that doctor`."""
        start = self.cursor.past(at + 1, ARTICLES | {"same"}) if self.cursor.low(at) in LINKING else at
        for other, end in self._bare_thing(start) if start > at + 1 else ():
            if other not in (counted, kind) and self.is_linked(counted, other):
                yield (other,), end
                return  # left out it would say something else
        yield (), at

    def is_linked(self, other: str, kind: str) -> bool:
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

    def of_part(self, kind: str, at: int) -> Iterator[tuple[m.Condition, int]]:
        """After `whose`: a field with its value, or a thing that is linked with it."""
        for _, path, end in self._own_field(kind, at):
            yield from self.valued(kind, path, end)
        for other, end in self.thing(at):
            if other.kind and other.kind != kind:
                for so, last in self.predicate(other.kind, end):
                    yield m.both(*other.so, so) or so, last
