"""Rules about values: what an argument may be, what it is when not given, and how a field is worked out."""

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior import clauses as c
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader.defaults import Defaults
from pipelines.core.simulation.behavior.reader.guards import Guards
from pipelines.core.simulation.behavior.reader.phrases import Phrases
from pipelines.core.simulation.behavior.reader.vocabulary import number_of
from pipelines.core.simulation.behavior.states import may_be_a_status
from pipelines.core.simulation.behavior.things import ToolWords

_UNLESS = tuple(
    f"unless {said}"
    for said in (
        "told otherwise", "stated otherwise", "otherwise specified", "otherwise stated",
        "another one is chosen", "another is chosen", "another one is given", "another one is named",
        "another is given", "a different one is given", "something else is given", "another one is requested",
        "another one is specified", "otherwise given", "otherwise requested", "one is given",
    )
)  # fmt: skip
_STARTING = word_set(
    "start starts begin begins get gets receive receives are is come comes created opened made"
)
_JOINS = word_set("in as with on at out a an the to of into and")


@dataclass(kw_only=True)
class Values:
    guards: Guards

    @property
    def phrases(self) -> Phrases:
        return self.guards.phrases

    def read(self, at: int) -> Iterator[tuple[tuple[c.Clause, ...], int]]:
        yield from Defaults(guards=self.guards).read(at)
        yield from self._new_things(at)

    # -- what new things are like

    def _new_things(self, at: int) -> Iterator[tuple[tuple[c.Clause, ...], int]]:
        """`New members start on the basic plan … and with status active.`"""
        cursor = self.phrases.cursor
        for thing, start in self.phrases.thing(at):
            makers = self.phrases.words.makers(thing.kind)
            start += cursor.low(start) == "always"
            if not thing.is_new or thing.so or len(makers) != 1 or cursor.low(start) not in _STARTING:
                continue
            begin = cursor.past(start, _STARTING | _JOINS)
            yield from self._items(makers[0], thing.kind, begin)

    def _items(self, tool: ToolWords, kind: str, at: int) -> Iterator[tuple[tuple[c.Clause, ...], int]]:
        cursor = self.phrases.cursor
        for name, value, end in self._item(kind, at):
            given = (f"unless {name.replace('_', ' ')} {be}" for be in ("is given", "is set", "is specified"))
            last = cursor.after(end, *_UNLESS, *given, "by default") or end
            who = _who([tool])
            literal = m.Literal_(value)
            clause: c.Clause = (
                c.Default(m.Field(name), literal, who)
                if name in tool.arguments
                else c.Assign(m.Field(name, kind), literal, None, who)
            )
            start = cursor.after(last, ", and", "and", ",", "with")
            if start is not None:
                for rest, fin in self._items(tool, kind, cursor.past(start, _JOINS)):
                    yield (clause, *rest), fin
            yield (clause,), last

    def _item(self, kind: str, at: int) -> Iterator[tuple[str, m.Value, int]]:
        cursor = self.phrases.cursor
        for so, end in self.phrases.state(kind, at):
            match so:
                case m.OneOf(field, (value,)):
                    yield field.name, value, end
                case m.Compare(m.Field() as field, "==", m.Literal_(bool() as switch)):
                    yield field.name, switch, end
                case m.Is(word, _, False) if status := self.phrases.words.lexicon.kinds[kind].status:
                    yield status[-1], word, end
        for length in (2, 1):
            said = cursor.words(at, at + length)
            path = self.phrases.words.field_of(kind, said) if len(said) == length else None
            begin = cursor.past(at + length, word_set("of is"))
            token = self.phrases.token(begin)
            is_status = path is not None and path == self.phrases.words.lexicon.kinds[kind].status
            if is_status and path and token is not None and token.is_word() and may_be_a_status(token.low):
                yield path[-1], token.low, begin + 1
            number = cursor.number(begin)
            if path is not None and number is not None:
                yield path[-1], number_of(number[0]), number[1]
        number = cursor.number(at)
        for length in (2, 1) if number is not None else ():
            said = cursor.words(number[1], number[1] + length) if number is not None else []
            path = self.phrases.words.field_of(kind, said) if len(said) == length else None
            if path is not None and number is not None:  # 20 minutes long
                end = number[1] + length
                yield path[-1], number_of(number[0]), end + (cursor.low(end) == "long")
        for so, end in self.phrases.value_nouns(kind, at):
            yield so.field.name, so.values[0], end


def _who(tools: list[ToolWords]) -> m.Who:
    return m.Who(names=tuple(tool.name for tool in tools), reaches_links=True)
