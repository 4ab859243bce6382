"""What an argument is when it is not given: `defaults to 2`, `If no size is given, it is 125`, `unless told
otherwise`.

A part that says it is not given and a part with the value, in either order; the argument is named in one of
them. Every other word of both only joins them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipelines.core.english.words import tokens as words_of
from pipelines.core.english.words import word_set
from pipelines.core.json_text import Json
from pipelines.core.simulation.behavior import clauses as c
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader.arguments import Spoken, SpokenArguments
from pipelines.core.simulation.behavior.reader.cursor import Cursor
from pipelines.core.simulation.behavior.reader.guards import Guards
from pipelines.core.simulation.behavior.reader.phrases import Phrases
from pipelines.core.simulation.behavior.reader.vocabulary import key_of, number_of
from pipelines.core.simulation.behavior.things import ToolWords
from pipelines.core.simulation.behavior.tokens import Kind as TokenKind

Clauses = tuple[c.Clause, ...]

_NOT_GIVEN = word_set(
    "none nothing no not missing omitted left blank empty absent nobody leaves omits without"
)
_GIVEN = word_set(
    "given named specified stated supplied provided passed set sent chosen asked requested "
    "missing omitted left "
    "out blank empty absent says say told otherwise name give specify state supply provide "
    "choose leaves omits"
)
_AROUND_ABSENCE = (
    _NOT_GIVEN
    | _GIVEN
    | word_set(
        "it one another a an the any different other else something someone caller client user "
        "request call is are "
        "was were does do did has been have for in when on at value of their its"
    )
)
_AROUND_VALUE = word_set(
    "it they is are be will has have gets get set to stored used uses assumed assumes taken "
    "takes recorded put given "
    "in as the a an with value of made sent by default its their for then applied counts falls "
    "back lasts last "
    "defaults optional and on from new at out start starts comes come"
)
_ABSENT_IF = ("if", "when", "where", "in case", "unless")
_STOPS = (";", ".")


@dataclass(kw_only=True)
class Defaults:
    guards: Guards

    @property
    def phrases(self) -> Phrases:
        return self.guards.phrases

    @property
    def cursor(self) -> Cursor:
        return self.phrases.cursor

    def read(self, at: int) -> Iterator[tuple[Clauses, int]]:
        stop = next(
            (place for place in range(at, self.cursor.end) if self.cursor.low(place) in _STOPS),
            self.cursor.end,
        )
        yield from self._absence_first(at, stop)
        yield from self._value_first(at, stop)

    def _absence_first(self, at: int, stop: int) -> Iterator[tuple[Clauses, int]]:
        start = self.cursor.after(at, *_ABSENT_IF)
        comma = next((place for place in range(at, stop) if self.cursor.low(place) == ","), None)
        if start is not None and comma is not None:
            for spoken in self._absent(start, comma, self.cursor.low(at) == "unless"):
                yield from self._valued(spoken, comma + 1, stop)

    def _value_first(self, at: int, stop: int) -> Iterator[tuple[Clauses, int]]:
        """`X defaults to V`, `X is V when none is given`, `X is V by default`."""
        cursor = self.cursor
        said = cursor.lows[at:stop]
        if "default" in said or "defaults" in said:
            yield from self._of_subject(at, stop, stop)
        for place in range(at + 1, stop):
            start = cursor.after(place, *_ABSENT_IF)
            if start is None or start >= stop:
                continue
            is_unless = cursor.low(place) == "unless"
            if self._is_absence(cursor.lows[start:stop], is_unless):
                yield from self._of_subject(at, place, stop)
            for spoken in self._absent(
                start, stop, is_unless
            ):  # `last 45 minutes unless duration says otherwise`
                for clauses, _ in self._valued(spoken, at, place):
                    yield clauses, stop

    def _of_subject(self, at: int, to: int, stop: int) -> Iterator[tuple[Clauses, int]]:
        tool = self.phrases.words.lexicon.tools.get(
            self.cursor.low(at)
        )  # flag_post uses the reason "other" …
        start = at + 2 if tool is not None else at
        for spoken in SpokenArguments(phrases=self.phrases).read(start):
            tools = tuple(one for one in spoken.tools if tool is None or one is tool)
            if spoken.end < to and tools:
                for clauses, _ in self._valued(
                    Spoken(tools=tools, name=spoken.name, end=spoken.end), spoken.end, to
                ):
                    yield clauses, stop

    # -- not given

    def _absent(self, start: int, stop: int, is_unless: bool) -> Iterator[Spoken]:
        """The argument that a part says is not given; each other word of it says so, or when."""
        for place in range(start, stop):
            for spoken in SpokenArguments(phrases=self.phrases).read(place):
                around = [*self.cursor.lows[start:place], *self.cursor.lows[spoken.end : stop]]
                if spoken.end <= stop and self._is_absence(around, is_unless):
                    yield spoken
                    return

    def _is_absence(self, lows: Sequence[str], is_unless: bool) -> bool:
        plain = [low for low in lows if low not in _AROUND_ABSENCE]
        if not set(lows) & _GIVEN or any(not self.phrases.words.deeds_of(low) for low in plain):
            return False
        return bool(set(lows) & _NOT_GIVEN) != is_unless

    # -- the value

    def _valued(self, spoken: Spoken, start: int, stop: int) -> Iterator[tuple[Clauses, int]]:
        """The one value between two places, of which every other word names what it is given for."""
        found: list[tuple[Json, int, int]] = []
        at = start
        while at < stop:
            value = next(self._value(spoken, at), None)
            if value is not None:
                found.append((value[0], at, value[1]))
            at = value[1] if value is not None else at + 1
        if len(found) != 1 or not all(
            self._is_around(spoken, place, found[0]) for place in range(start, stop)
        ):
            return
        makers = tuple(tool for tool in spoken.tools if spoken.name not in tool.required and not tool.reads)
        if makers:
            who = m.Who(names=tuple(tool.name for tool in makers), reaches_links=True)
            yield (c.Default(m.Field(spoken.name), m.Literal_(found[0][0]), who),), stop

    def _is_around(self, spoken: Spoken, at: int, found: tuple[Json, int, int]) -> bool:
        _, begin, end = found
        low = self.cursor.low(at)
        said = self.cursor.words(at, at + 1)
        if low in self.phrases.words.lexicon.tools and "_" in low:
            return any(tool.name.lower() == low for tool in spoken.tools)
        if begin <= at < end or low in _AROUND_VALUE or low in ("'s", ",") or low in words_of(spoken.name):
            return True
        if isinstance(found[0], (int, float)) and end <= at < end + 2:
            return bool(said)  # what it is counted in: `125 square metres`
        if not said or low in ("not", "no", "never"):
            return False
        is_done = low.endswith(("ed", "en", "ade", "s")) and bool(self.phrases.words.deeds_of(low))
        return (
            bool(self.phrases.words.kinds_named(said))
            or is_done
            or low in map(str.lower, _name_words(spoken))
        )

    def _value(self, spoken: Spoken, at: int) -> Iterator[tuple[Json, int]]:
        cursor = self.cursor
        token = self.phrases.token(at)
        if token is not None and token.kind is TokenKind.TEXT and token.text:
            yield token.text, at + 1
        for length in (3, 2, 1):
            said = cursor.words(at, at + length)
            for value in self._values_of(spoken) if len(said) == length else ():
                if key_of(said) == key_of([str(value)]):
                    yield value, at + length
        if cursor.low(at) in ("true", "false") and any(
            _type(tool, spoken.name) == "boolean" for tool in spoken.tools
        ):
            yield cursor.low(at) == "true", at + 1
        number = cursor.number(at)
        if number is not None:
            yield number_of(number[0]), number[1]

    def _values_of(self, spoken: Spoken) -> list[Json]:
        found: list[Json] = []
        for tool in spoken.tools:
            found += tool.choices(spoken.name)
            for name in (tool.kind, tool.makes):
                kind = self.phrases.words.lexicon.kinds.get(name or "")
                one = kind.fields.get((spoken.name,)) if kind is not None else None
                found += one.values if one is not None else ()
        return [value for value in dict.fromkeys(found) if isinstance(value, str)]


def _type(tool: ToolWords, name: str) -> Json:
    return tool.arguments.get(name, {}).get("type")


def _name_words(spoken: Spoken) -> tuple[str, ...]:
    return (*words_of(spoken.name), "number", "preferred", "usual", "standard", "normal")
