"""A small matcher: patterns over tokens, made of words, options, alternatives and named pieces.

A pattern is written as it reads: `{tools} only succeed~|work~ when|if {condition}`. `a|b` is either word,
`word~` any form of a verb, `[…]` may be absent, `(… | …)` are alternatives of several words, `{piece}` or
`{piece:label}` is a piece of the grammar. A sentence holds only as a whole: nothing is understood by half.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pipelines.core.english.inflection import verb_forms
from pipelines.core.simulation.behavior.tokens import Token

Labels: TypeAlias = dict[str, Any]
Found: TypeAlias = "tuple[int, Any]"  # where the piece ends, and what it means
Piece: TypeAlias = "Callable[[Matcher, int], Iterator[Found]]"

MAX_STEPS = 200_000  # per sentence; an ordinary one takes a few thousand


class TooHard(Exception):
    """A sentence so tangled that matching it is given up; it counts as not understood."""


@dataclass(frozen=True, slots=True)
class Words:
    any_of: frozenset[str]


@dataclass(frozen=True, slots=True)
class Named:
    piece: str
    label: str


@dataclass(frozen=True, slots=True)
class Either:
    ways: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Row:
    nodes: tuple["Node", ...]


Node: TypeAlias = Words | Named | Either | Row
NOTHING = Row(())


@dataclass(frozen=True, kw_only=True, slots=True)
class Production:
    """One way to say a piece: the pattern, and what it means given its labels (None: not this, after all)."""

    node: Node
    means: Callable[..., Any]
    needs: tuple[
        frozenset[str], ...
    ]  # each of these must stand somewhere in the sentence: a cheap first test


def production(pattern: str, means: Callable[..., Any]) -> Production:
    node = compile_pattern(pattern)
    takes = inspect.signature(means).parameters
    missing = {name for name, one in takes.items() if one.default is one.empty} - _labels(node)
    if missing:
        raise ValueError(f"{pattern!r} has no {sorted(missing)}")
    return Production(node=_heard(node, frozenset(takes)), means=means, needs=_needs(node))


def _labels(node: Node) -> set[str]:
    match node:
        case Named(_, label):
            return {label}
        case Either(parts) | Row(parts):
            return {label for part in parts for label in _labels(part)}
        case Words():
            return set()


def _heard(node: Node, wanted: frozenset[str]) -> Node:
    """Labels that the meaning does not ask for are dropped: such a piece only has to stand there."""
    match node:
        case Named(piece, label):
            return node if label in wanted else Named(piece, "")
        case Either(ways):
            return Either(tuple(_heard(way, wanted) for way in ways))
        case Row(nodes):
            return Row(tuple(_heard(one, wanted) for one in nodes))
        case Words():
            return node


def table(*rows: tuple[str, Callable[..., Any]]) -> Piece:
    """A piece of the grammar from patterns; earlier rows are tried first."""
    productions = tuple(production(pattern, means) for pattern, means in rows)

    def piece(matcher: "Matcher", at: int) -> Iterator[Found]:
        for row in matcher.possible(productions):
            for end, labels in matcher.walk(row.node, at, {}):
                meaning = row.means(**labels)
                if meaning is not None:
                    yield end, meaning

    return piece


class Matcher:
    """One sentence being read. Pieces are remembered by place, so that no piece is read twice."""

    __slots__ = ("_known", "_possible", "_steps", "context", "pieces", "present", "tokens")

    def __init__(self, tokens: Sequence[Token], pieces: Mapping[str, Piece], context: Any) -> None:
        self.tokens = tokens
        self.pieces = pieces
        self.context = context
        self.present = frozenset(token.low for token in tokens)
        self._known: dict[tuple[str, int], list[Found]] = {}
        self._possible: dict[int, list[Production]] = {}
        self._steps = 0

    def readings(self, piece: str) -> Iterator[Any]:
        """What the whole sentence means as this piece, best first."""
        for end, meaning in self.pieces[piece](self, 0):
            if end == len(self.tokens):
                yield meaning

    def possible(self, rows: tuple[Production, ...]) -> list[Production]:
        """The rows whose words all stand somewhere in the sentence: few of them, and found once."""
        found = self._possible.get(id(rows))
        if found is None:
            found = [row for row in rows if all(not words.isdisjoint(self.present) for words in row.needs)]
            self._possible[id(rows)] = found
        return found

    def at(self, place: int) -> Token | None:
        return self.tokens[place] if place < len(self.tokens) else None

    def low(self, place: int) -> str:
        return self.tokens[place].low if place < len(self.tokens) else ""

    def piece(self, name: str, at: int) -> list[Found]:
        key = (name, at)
        known = self._known.get(key)
        if known is None:
            self._known[key] = []  # a piece that would start with itself finds nothing there
            seen: dict[tuple[int, str], Found] = {}
            for end, meaning in self.pieces[name](self, at):
                seen.setdefault((end, repr(meaning)), (end, meaning))
            known = self._known[key] = list(seen.values())
        return known

    def walk(self, node: Node, at: int, labels: Labels) -> Iterator[tuple[int, Labels]]:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise TooHard
        match node:
            case Words(any_of):
                if self.low(at) in any_of:
                    yield at + 1, labels
            case Named(piece, label):
                for end, meaning in self.piece(piece, at):
                    yield end, {**labels, label: meaning} if label else labels
            case Either(ways):
                for way in ways:
                    yield from self.walk(way, at, labels)
            case Row(nodes):
                yield from self._walk_row(nodes, 0, at, labels)

    def _walk_row(
        self, nodes: tuple[Node, ...], first: int, at: int, labels: Labels
    ) -> Iterator[tuple[int, Labels]]:
        while first < len(nodes):
            node = nodes[first]
            if not isinstance(node, Words):
                for end, found in self.walk(node, at, labels):
                    yield from self._walk_row(nodes, first + 1, end, found)
                return
            if self.low(at) not in node.any_of:
                return
            first, at = first + 1, at + 1
        yield at, labels


_PARTS = re.compile(r"\s*(\{\w*(?::\w*)?\}|\[|\]|\(|\)|\||[^\s\[\](){}|]+)")


def compile_pattern(pattern: str) -> Node:
    parts = _PARTS.findall(pattern)
    node, end = _ways(parts, 0, spaced=_spacing(pattern))
    if end != len(parts):
        raise ValueError(f"unbalanced pattern: {pattern}")
    return node


def _spacing(pattern: str) -> list[bool]:
    """For each part, whether a space stands before it: `a|b` binds its words, `a | b` separates rows."""
    return [match.group(0) != match.group(1) for match in _PARTS.finditer(pattern)]


def _ways(parts: list[str], at: int, spaced: list[bool]) -> tuple[Node, int]:
    ways: list[Node] = []
    row: list[Node] = []
    while at < len(parts) and parts[at] not in ("]", ")"):
        part = parts[at]
        if part == "|" and spaced[at]:
            ways.append(Row(tuple(row)))
            row, at = [], at + 1
        elif part == "|":
            alternative, at = _single(parts, at + 1, spaced)
            row[-1] = _joined(row[-1], alternative)
        else:
            node, at = _single(parts, at, spaced)
            row.append(node)
    ways.append(Row(tuple(row)) if len(row) != 1 else row[0])
    return (Either(tuple(ways)) if len(ways) > 1 else ways[0]), at


def _single(parts: list[str], at: int, spaced: list[bool]) -> tuple[Node, int]:
    part = parts[at]
    if part in ("[", "("):
        inner, end = _ways(parts, at + 1, spaced)
        return (Either((inner, NOTHING)) if part == "[" else inner), end + 1
    if part.startswith("{"):
        piece, _, label = part[1:-1].partition(":")
        return Named(piece, label or piece), at + 1
    # Parentheses have a meaning of their own here, so the marks themselves are written ‹ and ›.
    word = {"‹": "(", "›": ")"}.get(part, part)
    return Words(verb_forms(word[:-1]) if word.endswith("~") else frozenset({word})), at + 1


def _joined(left: Node, right: Node) -> Node:
    if isinstance(left, Words) and isinstance(right, Words):
        return Words(left.any_of | right.any_of)
    return Either((*left.ways, right) if isinstance(left, Either) else (left, right))


def _needs(node: Node) -> tuple[frozenset[str], ...]:
    match node:
        case Words(any_of):
            return (any_of,)
        case Row(nodes):
            return tuple(needed for part in nodes for needed in _needs(part))
        case _:
            return ()
