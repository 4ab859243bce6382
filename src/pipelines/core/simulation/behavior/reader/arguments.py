"""What is given in a call, by the words for it: `the rating of a review`, `a lesson's price`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipelines.core.english.words import singular, word_set
from pipelines.core.english.words import tokens as words_of
from pipelines.core.simulation.behavior.reader.phrases import Phrases
from pipelines.core.simulation.behavior.reader.vocabulary import Deed, key_of
from pipelines.core.simulation.behavior.things import SHORT, ToolWords

_DET = word_set("a an the its their any every each all new another different")
_PLACED = word_set("of for on in at with")
_TAILS = word_set(
    "name text address addresses number numbers code codes"
)  # the device name is what is given as device


@dataclass(frozen=True, kw_only=True)
class Spoken:
    """An argument of some tools, and where the words for it end."""

    tools: tuple[ToolWords, ...]
    name: str
    end: int

    @property
    def deeds(self) -> tuple[Deed, ...]:
        return tuple(Deed(tool=tool.name, rank=0) for tool in self.tools)


@dataclass(kw_only=True)
class SpokenArguments:
    phrases: Phrases

    def read(self, at: int) -> Iterator[Spoken]:
        """Named with or without what it is given for; then the one number that is given for a thing."""
        found = False
        for spoken in self._named(at):
            found = True
            yield spoken
        if not found:
            yield from self._only_number(at)

    def _named(self, at: int) -> Iterator[Spoken]:
        cursor = self.phrases.cursor
        start = cursor.past(at, _DET)
        start = cursor.after(start, "number of") or start
        said = cursor.words(start, start + 1)
        if said and said[0].endswith("ed") and self.phrases.words.deeds_of(said[0]):
            start += 1  # the claimed amount
        for owner, begin in self._owners(start):
            for length in (3, 2, 1):
                said = cursor.words(begin, begin + length)
                taking = [*self._taking(said)] if len(said) == length else []
                if not taking:
                    continue
                end = self._past_deed(begin + length)
                yield from self._placed(taking, end)
                yield from self._of(taking, owner, end)
                break

    def _owners(self, at: int) -> Iterator[tuple[str, int]]:
        """`a translator's …`, `campaign …`, or nobody's."""
        cursor = self.phrases.cursor
        kinds = [*self.phrases.kinds_at(at)]
        for kind, end in kinds:
            if cursor.low(end) == "'s":
                yield kind, end + 1
                return
        yield "", at
        for kind, end in kinds:
            yield kind, end

    def _taking(self, said: Sequence[str]) -> Iterator[tuple[ToolWords, str]]:
        for tool in self.phrases.words.lexicon.tools.values():
            name = self.phrases.words.argument_of(tool, said)
            plain = said
            if name is None and len(said) > 1 and said[-1] in _TAILS:
                name, plain = self.phrases.words.argument_of(tool, said[:-1]), said[:-1]
            if tool.reads and name is not None and key_of([name]) != key_of(said):
                continue  # what only filters a list is meant where it is called by its own name
            is_spelled_so = name is not None and key_of([name]) == key_of(plain)  # e-mail is email
            if name is not None and (is_spelled_so or _share_a_word(name, plain)):
                yield tool, name

    def _past_deed(self, at: int) -> int:
        """`the amount claimed`, `the quantity reserved`."""
        said = self.phrases.cursor.words(at, at + 1)
        is_deed = (
            bool(said) and said[0].endswith(("ed", "en", "id")) and bool(self.phrases.words.deeds_of(said[0]))
        )
        return at + is_deed

    def _placed(self, taking: list[tuple[ToolWords, str]], at: int) -> Iterator[Spoken]:
        """`… of a review`, `… on a charter`, `… noted in an inspection`."""
        cursor = self.phrases.cursor
        said = cursor.words(at, at + 1)
        start = at + (bool(said) and said[0].endswith("ed") and cursor.low(at + 1) in _PLACED)
        if cursor.low(start) not in _PLACED:
            return
        named = self.phrases.words.lexicon.tools.get(cursor.low(start + 1))
        if named is not None:
            yield from self._told([one for one in taking if one[0] is named], start + 2)
        for thing, end in self.phrases.thing(start + 1):
            about = [one for one in taking if thing.kind and self.phrases.words.is_about(one[0], thing.kind)]
            own = [one for one in about if thing.kind in (one[0].kind, one[0].makes)]
            about = own or about
            if about and not thing.so and not thing.bounds:
                yield from self._told(about, end)

    def _of(self, taking: list[tuple[ToolWords, str]], owner: str, at: int) -> Iterator[Spoken]:
        about = [one for one in taking if not owner or self.phrases.words.is_about(one[0], owner)]
        own = [one for one in about if owner and owner in (one[0].kind, one[0].makes)]
        about = own or about
        yield from self._told(about, at)

    def _told(self, about: list[tuple[ToolWords, str]], at: int) -> Iterator[Spoken]:
        if about and len({name for _, name in about}) == 1:
            yield Spoken(tools=tuple(tool for tool, _ in about), name=about[0][1], end=at)

    def _only_number(self, at: int) -> Iterator[Spoken]:
        """`A payment`, `top-ups`: what is counted is the one number that the call gives."""
        for thing, end in self.phrases.thing(at):
            if thing.so or thing.bounds or thing.is_none or thing.is_only:
                continue
            tools = self._tools_of_deeds(thing.deeds) or (
                self.phrases.words.makers(thing.kind) if thing.kind else []
            )
            numbers = {tool.name: _numbers(tool) for tool in tools}
            names = {name for found in numbers.values() for name in found}
            if len(names) == 1 and all(numbers.values()):
                yield Spoken(tools=tuple(tools), name=next(iter(names)), end=end)
                return

    def _tools_of_deeds(self, deeds: Sequence[Deed]) -> list[ToolWords]:
        rank = min((deed.rank for deed in deeds), default=0)
        tools = self.phrases.words.lexicon.tools
        return [tools[deed.tool.lower()] for deed in deeds if deed.rank == rank and rank < 2]


def _share_a_word(name: str, said: Sequence[str]) -> bool:
    spoken = {SHORT.get(word, word) for word in map(singular, words_of(" ".join(said)))}
    return bool(spoken & {SHORT.get(word, word) for word in map(singular, words_of(name))})


def _numbers(tool: ToolWords) -> list[str]:
    return [name for name, schema in tool.arguments.items() if schema.get("type") in ("integer", "number")]
