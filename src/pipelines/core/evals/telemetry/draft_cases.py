"""Selects decisions of a skill that are worth a test: typical ones, those at a border, exceptions, rare
inputs, and regions in which the traffic does not settle the decision."""

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Literal, NamedTuple, TypeAlias

from pipelines.core.evals.telemetry.leaves import Path
from pipelines.core.evals.telemetry.regions import Border, Region, Regions, is_in
from pipelines.core.evals.telemetry.splits import ABSENT, Cell, Column, Cut, Presence, Split, thin_out

Kind: TypeAlias = Literal["recurring", "decision_point", "edge_case"]
Role: TypeAlias = Literal["typical", "below", "above", "open", "exception", "rare"]
Outcome: TypeAlias = tuple[tuple[Path, Cell], ...]
LEAST_SPANS = 3  # of a pattern: fewer recur by chance
LEAST_OPTION = 0.2  # share of an outcome that counts as an option
RAREST = 0.05  # share of a skill's decisions whose inputs have a rare value
MOST_RARE = 3  # of a skill
LOOKED_THROUGH = 500  # decisions in search of a typical one


class Case(NamedTuple):
    kind: Kind
    role: Role
    region: Region
    row: int  # the example
    k: int  # decisions like it, of n
    n: int
    rows: Sequence[int]  # those k, or of an open region some of each outcome
    split: Split | None = None  # of a border
    rare: tuple[Path, Cell] | None = None
    outcome: Outcome = ()  # of an exception
    rank: int = 0  # 1 where others stand for its situation too: those come after all others


def units_of(found: Regions) -> Iterator[tuple[Case, ...]]:
    """Cases that belong together: the two sides of a border are one unit."""
    borders = [unit for border in found.borders for unit in _border(found, border)]
    yield from borders
    at_borders = {id(case.region) for unit in borders for case in unit}
    for region in found.regions:
        yield from _region(found, region, rank=int(id(region) in at_borders))
    yield from _exceptions(found)
    yield from _rare(found)


def _region(found: Regions, region: Region, rank: int) -> Iterator[tuple[Case]]:
    """A case at a border stands for its region too: one more of it is worth less."""
    k, n = len(region.alike), len(region.rows)
    if n < LEAST_SPANS:
        return
    if region.is_settled:
        example = _typical(found, region.alike)
        yield (Case("recurring", "typical", region, example, k, n, region.alike, rank=rank),)
        return
    ended: dict[tuple[Cell, ...], list[int]] = {}
    for row in region.rows:
        key = tuple(found.outcomes.cells[path][row] for path in found.deciding)
        ended.setdefault(key, []).append(row)
    options = sorted(ended.values(), key=lambda rows: (-len(rows), rows))
    if len(options) > 1 and len(options[1]) >= LEAST_OPTION * n:
        mixed = [row for some in zip(options[0], options[1], strict=False) for row in some]
        example = _typical(found, region.rows)
        yield (Case("decision_point", "open", region, example, len(options[0]), n, mixed),)


def _typical(found: Regions, rows: Sequence[int]) -> int:
    """The one whose fields are nearest to what most have."""
    some = thin_out(rows, LOOKED_THROUGH)
    far = dict.fromkeys(some, 0.0)
    for column in found.columns:
        _add_distance(column, far)
    for cells in found.inputs.values():
        for row in some:
            far[row] += cells[row] is ABSENT
    return min(some, key=lambda row: (round(far[row], 9), row))


def _add_distance(column: Column, far: dict[int, float]) -> None:
    known = [value for row in far if (value := column.values[row]) is not None]
    if not known:
        return
    usual = (
        median(known) if not column.levels else min(Counter(known).items(), key=lambda c: (-c[1], c[0]))[0]
    )
    wide = max(known) - min(known) or 1.0
    for row in far:
        value = column.values[row]
        if value is None:
            far[row] += 1
        else:
            far[row] += float(value != usual) if column.levels else abs(value - usual) / wide


def _border(found: Regions, border: Border) -> Iterator[tuple[Case, ...]]:
    """The nearest decision on each side that ended as its side does, where the sides end differently. Each
    meets the other conditions of the other's region too: only the border is between them."""
    cut, cells = border.split.cut, found.outcomes.cells[border.split.target.path]
    own = {row: region for region in found.regions if region.is_settled for row in region.alike}
    at_ends: list[list[int]] = []
    for side, sign in ((True, -1), (False, 1)):
        rows = [row for row in border.rows if row in own and cut.is_left(row) is side]
        usual = Counter(cells[row] for row in rows).most_common()
        end = min(usual, key=lambda item: (-item[1], repr(item[0])))[0] if usual else None
        rows = [row for row in rows if cells[row] == end]
        at_ends.append(sorted(rows, key=lambda row: (sign * (cut.column.values[row] or 0.0), row)))
    low, high = at_ends
    if not low or not high or cells[low[0]] == cells[high[0]]:
        return
    first = _first_row_beyond(own[high[0]], cut, low)
    at_border: dict[Role, int] = {"below": first, "above": _first_row_beyond(own[first], cut, high)}
    cases = []
    for role, row in at_border.items():
        region = own[row]
        k, n = len(region.alike), len(region.rows)
        if n >= LEAST_SPANS:
            cases.append(Case("decision_point", role, region, row, k, n, region.alike, border.split))
    yield tuple(cases)


def _first_row_beyond(region: Region, cut: Cut, rows: list[int]) -> int:
    """The first row that meets the conditions of a region on the other side of a cut, but for the cut."""
    others = [condition for condition in region.conditions if condition.cut.column is not cut.column]
    return next((row for row in rows if is_in(row, others)), rows[0])


def _exceptions(found: Regions) -> Iterator[tuple[Case]]:
    """Decisions unlike the others of their region: which is right is not for the traffic to say. One for each
    way to end: the region in which most ended so."""
    most: dict[Outcome, tuple[Region, list[int]]] = {}
    for region in found.regions:
        for labels, rows in _differing_outcomes(found, region).items():
            if labels not in most or len(most[labels][1]) < len(rows):
                most[labels] = region, rows
    for labels, (region, rows) in sorted(most.items(), key=lambda item: (len(item[1][1]), repr(item[0]))):
        yield (
            Case(
                "edge_case", "exception", region, rows[0], len(rows), len(region.rows), rows, outcome=labels
            ),
        )


def _differing_outcomes(found: Regions, region: Region) -> dict[Outcome, list[int]]:
    paths = [path for path in found.deciding if path in region.settled]
    ended: dict[Outcome, list[int]] = {}
    if region.is_settled and len(region.rows) >= LEAST_SPANS:
        for row in region.rows:
            labels = tuple((path, found.outcomes.cells[path][row]) for path in paths)
            if any(region.settled[path] != cell for path, cell in labels):
                ended.setdefault(labels, []).append(row)
    return ended


def _rare(found: Regions) -> Iterator[tuple[Case]]:
    """Inputs with a value that few have, and that ended as their region does."""
    own = {row: region for region in found.regions if region.is_settled for row in region.alike}
    ended = [row for region in found.regions for row in region.rows]
    given = 0
    for column in found.columns:
        cells: Sequence[Cell] = found.inputs[column.path]
        if Presence.PRESENT in column.levels or Presence.OTHER in column.levels:
            continue  # a text that few leave out says nothing, and of many values each is rare
        if not column.levels:
            cells = [ABSENT if cell is ABSENT else Presence.PRESENT for cell in cells]
        rows_of: dict[Cell, list[int]] = {}
        for row in ended:
            rows_of.setdefault(cells[row], []).append(row)
        for value, rows in sorted(rows_of.items(), key=lambda item: (len(item[1]), repr(item[0]))):
            alike = [row for row in rows if row in own]
            if len(rows) > RAREST * len(ended) or given == MOST_RARE:
                break
            if len(alike) == len(rows):
                given += 1
                row, n = _typical(found, alike), len(rows)
                yield (
                    Case("edge_case", "rare", own[row], row, n, n, alike, rare=(column.path, value), rank=1),
                )
