"""Grammars as text, and all parses of a list of tokens.

A line is `Name: items | items`. In items a word stands for itself, a Capitalised name for another line,
`<field>` for a noun of the world, `fails~` for a verb in the singular or plural; `?` and `*` follow what may
be left out or repeated, brackets group, and `key=Item` (`key+=Item` for several) names what is found there.
`-> label` says what the alternative means. What has no label hands its finds to the line that uses it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

from pipelines.core.limits.lazy_property import lazy_property
from pipelines.core.simulation.rules.language.text import Token

Finds: TypeAlias = tuple[tuple[str, Any], ...]  # (key, value), with `key+` for one of several
MOST_MATCHES = 400  # of one line at one token: a sentence that is read in so many ways is not read
MOST_STEPS = 100_000  # of one sentence: a rule of forty words takes about two thousand


@dataclass(frozen=True, slots=True)
class Node:
    """A labelled alternative that matched, with what it found."""

    label: str
    finds: Finds
    start: int
    end: int


class Match(NamedTuple):
    end: int
    finds: Finds = ()
    node: Any = None  # a Node, or what a noun stands for; None: the finds are handed on


Find: TypeAlias = Callable[[Sequence[Token], int], Sequence[Match]]  # of one noun, at some token


@dataclass(frozen=True, slots=True)
class _Item:
    kind: str  # word, line, noun or group
    name: str = ""
    options: tuple["_Alternative", ...] = ()
    key: str = ""  # ends with `+` for one of several
    may_miss: bool = False
    repeats: bool = False


class _Alternative(NamedTuple):
    items: tuple[_Item, ...]
    label: str | None = None


@dataclass(frozen=True)  # no slots: what is worked out is kept beside the fields
class Grammar:
    lines: Mapping[str, tuple[_Alternative, ...]]

    @lazy_property
    def words(self) -> frozenset[str]:
        """Every word of the grammar itself."""
        return frozenset(_words(one for line in self.lines.values() for one in line))

    def words_of(self, *lines: str) -> frozenset[str]:
        """The words of some lines that can be told from those between words: `least` of `at least`."""
        return frozenset(one for name in lines for one in _words(self.lines[name]) if len(one) > 3)

    @lazy_property
    def starts(self) -> Mapping[str, frozenset[str] | None]:
        """What each line can begin with: words, and nouns in `<>`; None where it may be empty."""
        return {name: self._starts_of(line, (name,)) for name, line in self.lines.items()}

    def _starts_of(self, options: Sequence[_Alternative], within: tuple[str, ...]) -> frozenset[str] | None:
        found: set[str] = set()
        for option in options:
            for item in option.items:
                begins = self._starts_of_item(item, within)
                found |= begins or frozenset()
                if begins is not None and not item.may_miss:
                    break
            else:
                return None
        return frozenset(found)

    def _starts_of_item(self, item: _Item, within: tuple[str, ...]) -> frozenset[str] | None:
        if item.kind not in ("group", "line"):
            return frozenset({item.name})
        if item.name in within:
            raise ValueError(f"{item.name} begins with itself")
        return self._starts_of(item.options or self.lines[item.name], (*within, item.name or "group"))


def _words(options: Iterable[_Alternative]) -> Iterator[str]:
    for item in (item for option in options for item in option.items):
        yield from (item.name,) if item.kind == "word" else _words(item.options)


# -- reading a grammar --------------------------------------------------------------------------------------

_PIECES = re.compile(r"->\s*(\w+)|(\w+\+?=)|(<\w+>)|\"([^\"]+)\"|([A-Z]\w*)|([a-z][a-z']*~?)|([()|?*])|(\S)")


def grammar_of(text: str) -> Grammar:
    bodies: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if head := re.match(r"([A-Z]\w*):(.*)", line):
            name, bodies[head[1]] = head[1], head[2]
        elif line.strip() and not line.startswith("#"):
            bodies[name] += " " + line.strip()
    return Grammar({name: _Reader(body).options() for name, body in bodies.items()})


class _Reader:
    def __init__(self, body: str) -> None:
        self.pieces = [*_PIECES.finditer(body)][::-1]

    def _next(self) -> str:
        return self.pieces[-1].group() if self.pieces else ""

    def options(self) -> tuple[_Alternative, ...]:
        found = [self._alternative()]
        while self._next() == "|":
            self.pieces.pop()
            found.append(self._alternative())
        return tuple(found)

    def _alternative(self) -> _Alternative:
        items: list[_Item] = []
        while self._next() not in ("", "|", ")"):
            if label := self.pieces[-1][1]:
                self.pieces.pop()
                return _Alternative(tuple(items), label)
            items.append(self._item())
        return _Alternative(tuple(items))

    def _item(self) -> _Item:
        piece = self.pieces.pop()
        if piece[2]:
            return replace(self._item(), key=piece[2].rstrip("="))
        item = self._plain(piece)
        if (mark := self._next()) in ("?", "*"):
            self.pieces.pop()
            return replace(item, may_miss=True, repeats=mark == "*")
        return item

    def _plain(self, piece: re.Match[str]) -> _Item:
        if piece[3] or piece[5]:
            return _Item("noun" if piece[3] else "line", piece.group())
        if piece.group() == "(":
            options = self.options()
            if not self.pieces or self.pieces.pop().group() != ")":
                raise ValueError("a bracket is not closed")
            return _Item("group", options=options)
        word = piece[4] or piece[6]
        if not word:
            raise ValueError(f"{piece.group()!r} is not part of a grammar")
        if word.endswith("~"):  # a verb of one tool or of several
            both = word[:-1], word[:-3] if word in ("does~", "goes~") else word[:-2]
            return _Item("group", options=tuple(_Alternative((_Item("word", one),)) for one in both))
        return _Item("word", word)


# -- parsing ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Parser:
    """All parses of one sentence. With `diagnose` it also notes how far it came and what it looked for."""

    grammar: Grammar
    tokens: Sequence[Token]
    nouns: Mapping[str, Find]
    diagnose: bool = False
    steps: int = 0
    furthest: int = 0
    wanted: dict[str, None] = field(default_factory=dict)  # words and <nouns> that could have stood there
    _known: dict[tuple[str, int], Sequence[Match]] = field(default_factory=dict)

    def whole(self, line: str) -> list[Node]:
        """Every parse of the whole sentence as one line of the grammar."""
        matches = self.matches(line, 0)
        found = [match.node for match in matches if match.end == len(self.tokens)]
        for match in () if found else matches:
            self._miss("the end", match.end)
        return found

    def matches(self, name: str, at: int) -> Sequence[Match]:
        """Every part of the sentence that begins there and can be read as a line or a noun of the grammar."""
        known = self._known.get((name, at))
        if known is None:
            is_noun = name[0] == "<" and name[-1] == ">"
            known = self._noun(name, at) if is_noun else self._options(self.grammar.lines[name], at)
            self._known[name, at] = known
        return known

    def _noun(self, name: str, at: int) -> Sequence[Match]:
        return self.nouns[name[1:-1]](self.tokens, at) if at < len(self.tokens) else ()

    def _miss(self, name: str, at: int) -> None:
        if self.diagnose and at > self.furthest:
            self.furthest = at
            self.wanted.clear()
        if self.diagnose and at == self.furthest:
            self.wanted[name] = None

    def _options(self, options: Sequence[_Alternative], at: int) -> Sequence[Match]:
        found: dict[Match, None] = {}
        for option in options:
            for end, finds in self._items(option.items, at, ()):
                if option.label is not None:
                    match = Match(end, (), Node(option.label, finds, at, end))
                elif len(finds) == 1 and not finds[0][0]:
                    match = Match(end, (), finds[0][1])  # nothing but another line
                else:
                    match = Match(end, finds)
                found[match] = None
                if len(found) > MOST_MATCHES:
                    return ()
        return [*found]

    def _items(self, items: tuple[_Item, ...], at: int, finds: Finds) -> Iterator[tuple[int, Finds]]:
        self.steps += 1
        if self.steps > MOST_STEPS:
            return
        if not items:
            yield at, finds
            return
        item, rest = items[0], items[1:]
        if item.may_miss:
            yield from self._items(rest, at, finds)
        for match in self._item(item, at):
            if match.end > at:
                again = items if item.repeats else rest
                yield from self._items(again, match.end, _with(finds, item, match))

    def _item(self, item: _Item, at: int) -> Sequence[Match]:
        if item.kind == "group":
            return self._options(item.options, at)
        if item.kind == "line":
            return self.matches(item.name, at) if self.diagnose or self._can_start(item.name, at) else ()
        if item.kind == "noun":
            found = self.matches(item.name, at)
        else:
            is_here = at < len(self.tokens) and self.tokens[at].low == item.name
            found = (Match(at + 1),) if is_here else ()
        if not found:
            self._miss(item.name, at)
        return found

    def _can_start(self, name: str, at: int) -> bool:
        begins = self.grammar.starts[name]
        if begins is None or at >= len(self.tokens):
            return begins is None
        is_word = self.tokens[at].low in begins
        return is_word or any(one[0] == "<" and one[-1] == ">" and self.matches(one, at) for one in begins)


def _with(finds: Finds, item: _Item, match: Match) -> Finds:
    if item.key:
        found = match.node if match.node is not None else Node("", match.finds, 0, match.end)
        return (*finds, (item.key, found))
    return (*finds, ("", match.node)) if match.node is not None else (*finds, *match.finds)
