"""Finds the input field and value that separate outcomes best, and tests whether that can be chance.

A split divides rows at a number or by the values of a field, so that the outcomes on each side agree as
much as possible (Goodman and Kruskal's tau). It is accepted if inputs that decide nothing would give so
clear a split in at most NOISE_RATE of all searches: Fisher's exact tail times all splits that were tried
(Bonferroni).
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import pairwise
from math import inf
from typing import Final, NamedTuple, TypeAlias

from pipelines.core.evals.telemetry.leaves import Flag, Leaf, Path
from pipelines.core.text.statistics import hypergeometric_tail

NOISE_RATE = 0.01
LEAST_SIDE = 3  # rows on each side of a split
MOST_LEVELS = 12  # of a field that are put in groups: a person would list them
MOST_VALUES = 200  # of a field with more levels: each is held against all others
LEAST_KNOWN = 0.8  # share of the rows that a field must be comparable in
MOST_COMPARED = 2_000  # rows in search of a split; a place among numbers is then found among all
MOST_TRIED = 5  # splits held against chance, the clearest first
AS_CLEAR = 0.95  # of the best one's tau: another field separates about as well
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,9})?")


class Presence(Enum):
    """Of a field whose values cannot be compared, or that is not there."""

    ABSENT = "absent"
    PRESENT = "present"
    OTHER = "other"  # one of many values that few have


ABSENT: Final = Presence.ABSENT
Cell: TypeAlias = Leaf | Presence


class Column(NamedTuple):
    """A field over all rows, as numbers, or as places among its levels. None: not comparable here."""

    path: Path
    levels: tuple[Cell, ...]  # empty: numbers
    values: Sequence[float | None]


class Target(NamedTuple):
    """A field of the outcomes: a code for each row."""

    path: Path
    codes: Sequence[int]


class Cut(NamedTuple):
    """The clearest way to divide by one field."""

    column: Column
    tau: float
    tried: int  # ways to divide
    below: float  # the last number on the one side, the first on the other
    above: float
    left: frozenset[int]  # or the levels on the one side

    def is_left(self, row: int) -> bool | None:
        """None where the field cannot be compared."""
        value = self.column.values[row]
        if value is None:
            return None
        return value in self.left if self.column.levels else value <= self.below


class Split(NamedTuple):
    cut: Cut
    target: Target
    p: float  # that it is chance, after correction
    separated: frozenset[Path]  # every target that differs between the sides
    rivals: tuple[Path, ...]  # fields that separate about as well


def columns_of(path: Path, cells: Sequence[Cell]) -> Iterator[Column]:
    """A field as it can be compared: by number, by value where few values come again and again, and otherwise
    by whether it is there."""
    numbers = [_number(cell) for cell in cells]
    known = [number for number in numbers if number is not None]
    present = sum(cell is not ABSENT and cell is not None for cell in cells)
    is_number = len(known) >= LEAST_KNOWN * present and len(set(known)) > 2
    if is_number and len(known) >= LEAST_KNOWN * len(cells):
        yield Column(path, (), numbers)
    if not is_number and (column := _level_column(path, cells)) is not None:
        yield column
    elif present < len(cells):
        there = [ABSENT if cell is ABSENT or cell is None else Presence.PRESENT for cell in cells]
        if (column := _level_column(path, there)) is not None:
            yield column


def _level_column(path: Path, cells: Sequence[Cell]) -> Column | None:
    """Values that few have are not compared beside a few frequent ones; beside many, they are one level."""
    counts = Counter(cells)
    often = sorted((c for c in counts if counts[c] >= LEAST_SIDE), key=lambda c: (-counts[c], repr(c)))
    kept = often[:MOST_LEVELS]
    if sum(counts[level] for level in kept) < LEAST_KNOWN * len(cells):
        known = set(often[:MOST_VALUES])
        if known <= {ABSENT}:
            return None
        cells = [cell if cell in known else Presence.OTHER for cell in cells]
        kept = [*known, Presence.OTHER]
    levels = {level: place for place, level in enumerate(sorted(kept, key=repr))}
    return Column(path, tuple(levels), [levels.get(cell) for cell in cells]) if len(levels) > 1 else None


def _number(cell: Cell) -> float | None:
    if isinstance(cell, int | float) and not isinstance(cell, Flag):
        return float(cell)
    return float(cell) if isinstance(cell, str) and _NUMBER.fullmatch(cell) else None


def best_split(columns: Sequence[Column], targets: Sequence[Target], rows: Sequence[int]) -> Split | None:
    """The clearest split that is no chance; of the targets, the first that has one. Rows are `in_order`."""
    some = thin_out(rows, MOST_COMPARED)
    for target in targets:
        found = [cut for column in columns if (cut := _cut(column, target, some)) is not None]
        found.sort(key=lambda cut: (-cut.tau, cut.column.path))
        for cut in found[:MOST_TRIED]:
            tries = cut.tried * len(columns) * len(targets)
            chances = {each.path: chance_of(cut, each, some) * tries for each in targets}
            if chances[target.path] <= NOISE_RATE:
                separated = frozenset(path for path, p in chances.items() if p <= NOISE_RATE)
                near = (other.column.path for other in found if other.tau >= AS_CLEAR * cut.tau)
                rivals = tuple(path for path in dict.fromkeys(near) if path != cut.column.path)
                exact = cut if len(some) == len(rows) else _cut(cut.column, target, rows) or cut
                return Split(exact, target, chances[target.path], separated, rivals)
    return None


def in_order(columns: Sequence[Column], targets: Sequence[Target], rows: Sequence[int]) -> list[int]:
    """Rows in an order of their content, so that the same ones are compared in whatever order they came."""
    if len(rows) <= MOST_COMPARED:
        return [*rows]
    held = [[-inf if value is None else value for value in column.values] for column in columns]
    content = [*zip(*held, *(target.codes for target in targets), strict=True)]
    return sorted(rows, key=content.__getitem__) if content else [*rows]


def thin_out(rows: Sequence[int], most: int) -> Sequence[int]:
    """At most so many, evenly among all."""
    return rows if len(rows) <= most else [rows[at * len(rows) // most] for at in range(most)]


def _cut(column: Column, target: Target, rows: Sequence[int]) -> Cut | None:
    known = [(value, target.codes[row]) for row in rows if (value := column.values[row]) is not None]
    counts = Counter(code for _, code in known)
    if len(known) < 2 * LEAST_SIDE or len(counts) < 2:
        return None
    found = _level_cut(column, known, counts) if column.levels else _number_cut(column, known, counts)
    if found is None:
        return None
    impurity = len(known) - sum(count * count for count in counts.values()) / len(known)
    tau = (found.tau - (len(known) - impurity)) / impurity * len(known) / len(rows)
    return found._replace(tau=tau)


def _number_cut(column: Column, known: list[tuple[float, int]], counts: Counter[int]) -> Cut | None:
    """One sort, then one step a row; `tau` is still the sum of squares that it is made of."""
    known = sorted(known)
    total = len(known)
    right, left = dict(counts), dict.fromkeys(counts, 0)
    right_squares, left_squares = sum(count * count for count in counts.values()), 0
    best: Cut | None = None
    tried = 0
    for place, ((value, code), (after, _)) in enumerate(pairwise(known), 1):
        right_squares -= 2 * right[code] - 1
        left_squares += 2 * left[code] + 1
        right[code] -= 1
        left[code] += 1
        if after > value and LEAST_SIDE <= place <= total - LEAST_SIDE:
            tried += 1
            clear = left_squares / place + right_squares / (total - place)
            if best is None or clear > best.tau:
                best = Cut(column, clear, 0, value, after, frozenset())
    return best._replace(tried=tried) if best is not None else None


def _level_cut(column: Column, known: list[tuple[float, int]], counts: Counter[int]) -> Cut | None:
    held: dict[int, Counter[int]] = {}
    for value, code in known:
        held.setdefault(int(value), Counter())[code] += 1
    is_few = len(held) <= MOST_LEVELS
    tried = 2 ** (len(held) - 1) - 1 if is_few else len(held)
    best: Cut | None = None
    for group in _groups(held, sorted(counts)) if is_few else ([level] for level in sorted(held)):
        left = {code: sum(held[level][code] for level in group) for code in counts}
        size = sum(left.values())
        if LEAST_SIDE <= size <= len(known) - LEAST_SIDE:
            clear = sum(count * count for count in left.values()) / size
            clear += sum((counts[c] - left[c]) ** 2 for c in counts) / (len(known) - size)
            if best is None or clear > best.tau:
                best = Cut(column, clear, tried, 0.0, 0.0, frozenset(group))
    return best


def _groups(held: dict[int, Counter[int]], outcomes: Sequence[int]) -> Iterator[list[int]]:
    """Levels in the order of their share of one outcome, divided anywhere: for two outcomes the best of all
    ways to put them in two groups is among these."""
    for outcome in outcomes:
        ordered = sorted(held, key=lambda level: (held[level][outcome] / held[level].total(), level))
        yield from (ordered[:place] for place in range(1, len(ordered)))


def chance_of(cut: Cut, target: Target, rows: Sequence[int]) -> float:
    """How likely inputs that decide nothing put some outcome as much on one side, for this one cut."""
    sides = [(is_left, target.codes[row]) for row in rows if (is_left := cut.is_left(row)) is not None]
    counts = Counter(code for _, code in sides)
    left_codes = Counter(code for is_left, code in sides if is_left)
    size = left_codes.total()
    least = 1.0
    for code, count in counts.items():
        for seen, drawn in ((left_codes[code], size), (count - left_codes[code], len(sides) - size)):
            least = min(least, hypergeometric_tail(seen, drawn, count, len(sides)))
    return least * (2 * len(counts) if len(counts) > 2 else 2)
