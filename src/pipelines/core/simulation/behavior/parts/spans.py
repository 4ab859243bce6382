"""A statement cut into spans: the longest words that stand for something, with all that they may mean."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipelines.core.english.idioms import SAME_STATES, plain_verbs
from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.english.words import singular, word_set
from pipelines.core.english.words import tokens as words_of
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.parts.cues import CUES, LIGHT, LONGEST_CUE, NEUTRAL, Cue
from pipelines.core.simulation.behavior.reader.cursor import Cursor, Quantity
from pipelines.core.simulation.behavior.reader.vocabulary import PARTICLES, Deed, Vocabulary, key_of
from pipelines.core.simulation.behavior.things import Kind, Path, ToolWords
from pipelines.core.simulation.behavior.tokens import Kind as TokenKind
from pipelines.core.simulation.behavior.tokens import Token

LONGEST = 4  # words of one name
_MARKS = frozenset((",", ";", ":", "(", ")", "-", "/", "'s", "="))
#: Words of a rule that no field is called by alone.
_NO_NAMES = word_set(
    "number order list new of time day days date at on in name type part more less first last"
)


#: Words that no name goes over, unless it has them: what stands before and after is each for itself.
_BREAKING = word_set(
    "we us they it you to than over under above below no not less more minus plus times new be that who "
    "which what and or"
)
#: Words that deny or allow, whatever fields are called.
_SAY_NO = word_set("no not nor none only must can may cannot never")
_PLACING = word_set("in on at under out off")  # `on leave`, `in the workshop`: a state, never a name
LOOKING = word_set("get list find search show read fetch browse view query lookup")
_SAYING_NOTHING = (
    "at once",
    "right away",
    "as well",
    "at a time",
    "at any time",
    "in size",
    "in length",
    "in weight",
    "in total",
    "in all",
)
_BOUNDING = word_set("than least most within to under over exactly")
_FROM_THERE = word_set("in before after ahead ago from since prior")


@dataclass(frozen=True, kw_only=True)
class Span:
    start: int
    end: int
    words: tuple[str, ...]
    cues: frozenset[Cue] = frozenset()
    tool: ToolWords | None = None  # called by its name
    deeds: tuple[Deed, ...] = ()
    kinds: tuple[str, ...] = ()
    fields: tuple[tuple[str, Path], ...] = ()
    arguments: tuple[tuple[str, str], ...] = ()  # of which tool, and its name
    states: tuple[tuple[str, m.Condition], ...] = ()
    choices: tuple[tuple[str, str, str], ...] = ()  # a value that an argument of a tool takes
    quantity: Quantity | None = None
    text: str | None = None  # quoted

    @property
    def stands_for_something(self) -> bool:
        return bool(
            self.tool or self.deeds or self.kinds or self.fields or self.arguments or self.states
            or self.choices or self.quantity or self.text is not None
        )  # fmt: skip

    @property
    def is_neutral(self) -> bool:
        """Whether it says nothing by itself, here."""
        known = NEUTRAL if self.stands_for_something else NEUTRAL | LIGHT
        return all(word in known or word in _MARKS for word in self.words)

    def has(self, *cues: Cue) -> bool:
        return not self.cues.isdisjoint(cues)


def spans(tokens: Sequence[Token], words: Vocabulary) -> list[Span]:
    cutter = _Cutter(tokens, words)
    found: list[Span] = []
    at = 0
    while at < len(tokens):
        found.append(cutter.longest(at))
        at = found[-1].end
    return found


class _Cutter:
    def __init__(self, tokens: Sequence[Token], words: Vocabulary) -> None:
        self.tokens, self.words, self.cursor = tokens, words, Cursor(tokens=tokens)
        self.tools = [*words.lexicon.tools.values()]
        self.kinds = [kind for kind in words.lexicon.kinds.values() if kind.fields]
        said = (self.cursor.words(at, at + length) for at in range(len(tokens)) for length in (1, 2))
        self.spoken = {kind for one in said if one for kind in words.kinds_named(one)}

    def longest(self, at: int) -> Span:
        token = self.tokens[at]
        if token.kind is TokenKind.TEXT:
            return Span(start=at, end=at + 1, words=(token.low,), text=token.text)
        named = self._named_tool(at)
        if named is not None:
            return named
        quantity = self.cursor.quantity(at)
        if quantity is not None and self._is_amount(at, quantity[1]):
            return Span(
                start=at,
                end=quantity[1],
                words=tuple(self.cursor.lows[at : quantity[1]]),
                quantity=quantity[0],
            )
        said_so = next((one for one in _SAYING_NOTHING if self.cursor.after(at, one)), None)
        if said_so is not None:
            end = at + len(said_so.split())
            return Span(start=at, end=end, words=tuple(self.cursor.lows[at:end]))
        for length in range(max(LONGEST, LONGEST_CUE), 0, -1):
            cues = CUES.get(tuple(self.cursor.lows[at : at + length]), frozenset())
            said = self.cursor.words(at, at + length) if length <= LONGEST else []
            of_world = self._of_world(at, length, said) if len(said) == length else None
            if of_world is not None and of_world.stands_for_something:
                return of_world if not cues else _with_cues(of_world, cues)
            if cues and not self._hides_a_state(at, length):
                return Span(
                    start=at, end=at + length, words=tuple(self.cursor.lows[at : at + length]), cues=cues
                )
        text = token.text if token.kind is TokenKind.NAME else None
        return Span(start=at, end=at + 1, words=(token.low,), text=text)

    def _hides_a_state(self, at: int, length: int) -> bool:
        """`is used`, where a ticket may be used."""
        is_told = length > 1 and self.cursor.low(at) in ("is", "are", "has", "have")
        return is_told and any(
            True for _ in self._states(self.cursor.words(at + length - 1, at + length) or [""])
        )

    def _is_amount(self, at: int, end: int) -> bool:
        """Whether a number is meant: not `a day` of any length, nor `one` where nothing is counted."""
        low, before = self.cursor.low(at), self.cursor.low(at - 1)
        if low in ("a", "an") and end == at + 2:
            return before in _BOUNDING or self.cursor.low(end) in _FROM_THERE
        if low != "one" or end > at + 1:
            return low in ("half", "a", "an") or self.tokens[at].number is not None
        if before in ("by", "off") or self.cursor.low(at + 1) in ("to", "or") or before == "or":
            return True
        following = self.cursor.words(at + 1, at + 2)
        return bool(following) and following[0] not in NEUTRAL | LIGHT

    def _named_tool(self, at: int) -> Span | None:
        token = self.tokens[at]
        tool = self.words.lexicon.tools.get(token.low)
        if tool is None or not (token.kind is TokenKind.NAME or "_" in token.text):
            return None
        return Span(start=at, end=at + 1, words=(token.low,), tool=tool)

    def _of_world(self, at: int, length: int, said: Sequence[str]) -> Span | None:
        if length > 1 and said[0] in _PLACING and not set(said) <= NEUTRAL:
            # What is worked out (`in stock`) is also said of fields: `more than we have in stock`.
            told = tuple(one for one in self._states(said) if not isinstance(one[1], m.Is))
            return Span(start=at, end=at + length, words=tuple(said), states=told)
        if length > 1 and any(word in NEUTRAL for word in (said[0], said[-1])) and said[-1] not in PARTICLES:
            return None
        if length > 1 and (said[0] == "new" or not _BREAKING.isdisjoint(said)) and not self._is_name(said):
            return None
        if length == 1 and (said[0] in _SAY_NO or (said[0] in NEUTRAL and said[0] not in self.words.nouns)):
            return None
        plain = [*said]
        measured = [MEASURED[said[0]]] if length == 1 and said[0] in MEASURED else []
        ways = (plain, _without_tail(plain), measured)
        found = Span(
            start=at,
            end=at + length,
            words=tuple(said),
            deeds=tuple(deed for deed in self._deeds(said, at) if deed.given is None),
            kinds=self.words.kinds_named(plain),
            fields=next((kept for said_so in ways if (kept := self._named(said_so)[0])), ()),
            arguments=next((taken for said_so in ways[:2] if (taken := self._named(said_so)[1])), ()),
            states=tuple(self._states(plain)),
            choices=tuple(self._choices(plain)),
        )
        if length == 1 and said[0] in PARTICLES:
            found = replace(found, **self._as_particle(found))
        # What only a tool's name calls a thing (`deposit_cash`) is first what a field is called.
        if (found.fields or found.arguments) and not self._is_called(found.kinds, plain):
            found = replace(found, kinds=())
        return found

    def _as_particle(self, span: Span) -> dict[str, Any]:
        """`hands it out` tells no state, as `has one out` does; nor does `out` alone mean handed_out."""
        before = self.cursor.lows[max(0, span.start - 3) : span.start]
        if any(self.words.deeds_of(word) for word in before):
            return {"states": (), "choices": ()}
        exact = tuple(
            (kind, so)
            for kind, so in span.states
            if not isinstance(so, m.OneOf) or so.values == (span.words[0],)
        )
        return {"states": exact}

    def _is_name(self, said: Sequence[str]) -> bool:
        """Whether a field or an argument is called exactly so."""
        fields, arguments = self.words.named_by(said)
        names = (*(path[-1] for _, path in fields), *(name for _, name in arguments))
        return any(key_of([name]) == key_of(said) for name in names)

    def _is_called(self, kinds: Sequence[str], said: Sequence[str]) -> bool:
        last = singular(said[-1])
        return any(last in map(singular, words_of(kind)) for kind in kinds)

    def _deeds(self, said: Sequence[str], at: int) -> tuple[Deed, ...]:
        if len(said) == 1:
            deeds = self.words.deeds_of(said[0])
            if said[0] in LIGHT:  # whoever gets something calls no `get_…`, and places are no `register_…`
                deeds = tuple(
                    deed for deed in deeds if deed.rank < 2 and words_of(deed.tool)[0] not in LOOKING
                )
            if not deeds and said[0] not in LIGHT:
                like = related(stem(said[0])) - {stem(said[0])}
                deeds = tuple(
                    replace(deed, rank=deed.rank + 3)
                    for verb in like
                    for deed in self.words.deeds.get(verb, ())
                    if deed.rank == 0
                )
            return (
                tuple(deed for deed in deeds if not deed.particle or deed.particle == self.cursor.low(at + 1))
                or deeds
            )
        if len(said) == 2:
            parted = tuple(deed for deed in self.words.deeds_of(said[0]) if deed.particle == said[1])
            plain = plain_verbs(" ".join(said))  # called off
            return (
                parted
                or self.words.deeds_of("".join(said))
                or (self.words.deeds_of(plain) if " " not in plain else ())
            )
        return ()

    def _named(self, said: Sequence[str]) -> tuple[tuple[tuple[str, Path], ...], tuple[tuple[str, str], ...]]:
        """The fields and the arguments that words may mean."""
        if not said or (said[-1] in _NO_NAMES and (len(said) == 1 or said[:2] == ["number", "of"])):
            return (), ()
        fields, arguments = self.words.named_by(said)
        if len(said) == 1 and said[0] in LIGHT:  # `comes` is no comment, nor is `making` the make
            fields = tuple(one for one in fields if singular(said[0]) in _words_in(one[1][-1]))
            arguments = tuple(one for one in arguments if singular(said[0]) in _words_in(one[1]))
        return fields, arguments

    def _states(self, said: Sequence[str]) -> Iterator[tuple[str, m.Condition]]:
        spelled = [*said[:-1], singular(said[-1])]
        for kind in self.kinds:
            so = self.words.state(kind.name, said) or self.words.state(kind.name, spelled)
            so = so or self._state_like(kind, said)
            if so is not None:
                yield kind.name, so

    def _state_like(self, kind: Kind, said: Sequence[str]) -> m.Condition | None:
        """A value of other words: `waiting list` for waitlisted, `on its way` for in_transit."""
        if kind.name not in self.spoken:
            return None
        values = (
            [value for value in kind.fields[kind.status].values if isinstance(value, str)]
            if kind.status
            else []
        )
        wanted = "".join(stem(word) for word in said)
        hits = [value for value in values if len(said) > 1 and "".join(map(stem, words_of(value))) == wanted]
        if not hits:
            same = next((row for row in SAME_STATES if " ".join(said) in row), frozenset())
            hits = [value for value in values if " ".join(words_of(value)) in same]
        return (
            m.OneOf(self.words.named(kind.name, kind.status), tuple(hits))
            if kind.status and len(hits) == 1
            else None
        )

    def _choices(self, said: Sequence[str]) -> Iterator[tuple[str, str, str]]:
        keys = {key_of(said), key_of([_without_ly(said[0])]) if len(said) == 1 else ""}
        for tool in self.tools:
            for name in tool.arguments:
                for value in tool.choices(name):
                    if key_of([value]) in keys:
                        yield tool.name, name, value


#: What is measured, by the word for how much there is of it.
MEASURED = {
    "weigh": "weight", "weighs": "weight", "weighing": "weight", "heavier": "weight", "lighter": "weight",
    "taller": "height", "higher": "height", "wider": "width", "deeper": "depth", "older": "age",
    "younger": "age",
    "owe": "due", "owes": "due", "owing": "due", "costing": "cost",
    "dearer": "price", "cheaper": "price", "kilos": "weight",
}  # fmt: skip
_TAILS = word_set(
    "address addresses number numbers date time code name value level amount id details method option "
    "mode setting"
)


def _without_tail(said: Sequence[str]) -> Sequence[str]:
    """`email address` is what `email` is."""
    return said[:-1] if len(said) > 1 and said[-1] in _TAILS else ()


def _without_ly(word: str) -> str:
    """`electronically` is how what is electronic goes."""
    return word.removesuffix("ly").removesuffix("al") if word.endswith("ically") else word.removesuffix("ly")


def _words_in(name: str) -> set[str]:
    return {singular(word) for word in words_of(name)}


def _with_cues(span: Span, cues: frozenset[Cue]) -> Span:
    return replace(span, cues=cues)
