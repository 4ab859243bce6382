"""Divides the decisions of a skill into regions: inputs on which the agent decides the same way.

Regions come from splits that are not chance, one inside the other. A region is settled where its decisions
agree on the fields that say what was decided, and open otherwise: then nothing is expected.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pipelines.core.evals.scenarios.contract import DECISION_NAMES
from pipelines.core.evals.telemetry.decisions import Decision
from pipelines.core.evals.telemetry.leaves import Fields, Flag, Path
from pipelines.core.evals.telemetry.splits import (
    ABSENT,
    MOST_COMPARED,
    MOST_LEVELS,
    NOISE_RATE,
    Cell,
    Column,
    Cut,
    Split,
    Target,
    best_split,
    columns_of,
    in_order,
    thin_out,
)
from pipelines.core.text.statistics import hypergeometric_tail

MOST_CONDITIONS = 3  # fields that mark a region off: nobody reads more
MOST_DEPTH = 6  # splits one inside the other: a field of several values or ranges takes several
MOST_FIELDS = 40  # of inputs and of outcomes that are looked at: those that most have
LEAST_SHARE = 0.8  # of the decisions of a region that settle it
TIMES_EACH = 3  # that values come again on average: fewer, and equal values may be chance
LONGEST_LABEL = 40  # characters
ECHO_SHARE = 0.95  # of decisions in which an outcome repeats a field of the input, and so decides nothing
ECHO_ROWS = 500  # looked at for that


class Condition(NamedTuple):
    """What the inputs of a region have in common, by one cut."""

    cut: Cut
    is_left: bool | None  # None: where the field cannot be compared


@dataclass(frozen=True, kw_only=True, slots=True)
class Region:
    conditions: tuple[Condition, ...]
    rows: list[int]
    settled: dict[Path, Cell]  # of the fields that tell outcomes apart
    alike: list[int]  # rows that have them
    is_settled: bool


class Border(NamedTuple):
    """Where a split by number divides some rows."""

    split: Split
    rows: list[int]


class Outcomes(NamedTuple):
    """The fields that tell the outcomes of a skill apart. Those called a decision stand first."""

    cells: dict[Path, list[Cell]]
    varying: list[Target]
    named: frozenset[Path]
    #: With the same value nearly always: not told apart, and still what is decided.
    constant: frozenset[Path]


@dataclass(kw_only=True, slots=True)
class Regions:
    """Rows are places in `decisions`; those without an outcome are in no region."""

    decisions: Sequence[Decision]
    inputs: dict[Path, list[Cell]]
    columns: list[Column]
    outcomes: Outcomes
    failed: list[int]
    splits: list[Split] = field(default_factory=list)
    borders: list[Border] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)

    @property
    def deciding(self) -> tuple[Path, ...]:
        """The fields that say what was decided: by their name, else what inputs separate, else what is
        always the same."""
        varying = [target.path for target in self.outcomes.varying]
        named = [path for path in varying if path in self.outcomes.named]
        return tuple(named or self.separated or sorted(self.outcomes.constant) or varying)

    @property
    def separated(self) -> list[Path]:
        found = frozenset[Path]().union(*(split.separated for split in self.splits))
        return [target.path for target in self.outcomes.varying if target.path in found]

    def errors_in(self, region: Region) -> int:
        return sum(is_in(row, region.conditions) for row in self.failed)


def regions_of(decisions: Sequence[Decision]) -> Regions:
    inputs = _cells([decision.input for decision in decisions])
    columns = [column for path, cells in inputs.items() for column in columns_of(path, cells)]
    ended = [row for row, decision in enumerate(decisions) if decision.outcome is not None]
    outcomes = _outcomes(_cells([decision.outcome for decision in decisions]), inputs, ended)
    failed = [row for row, decision in enumerate(decisions) if decision.is_error]
    found = Regions(decisions=decisions, inputs=inputs, columns=columns, outcomes=outcomes, failed=failed)
    leaves = _grow_tree(found, in_order(columns, outcomes.varying, ended), ())
    regions = [_region(found, conditions, rows) for conditions, rows in leaves if rows]
    simple = [_simplify(found, region, ended) for region in regions]
    # Two that differed in a condition that made no difference are one.
    found.regions = [*{tuple(_ids(region.conditions)): region for region in simple}.values()]
    return found


def _ids(conditions: Iterable[Condition]) -> Iterator[tuple[Path, float, frozenset[int], bool | None]]:
    return ((cut.column.path, cut.below, cut.left, is_left) for cut, is_left in conditions)


def _cells(all_fields: Sequence[Fields | None]) -> dict[Path, list[Cell]]:
    """Field by field, those that most have, in the order of their names."""
    counts = Counter(fields.paths for fields in all_fields if fields is not None)
    present: Counter[Path] = Counter()
    for paths, count in counts.items():
        present.update(dict.fromkeys(paths, count))
    most = sorted(sorted(present, key=lambda path: (-present[path], path))[:MOST_FIELDS])
    cells: dict[Path, list[Cell]] = {path: [ABSENT] * len(all_fields) for path in most}
    for row, fields in enumerate(all_fields):
        if fields is not None:
            for path, leaf in zip(fields.paths, fields.values, strict=True):
                if path in cells:
                    cells[path][row] = leaf
    return cells


def _outcomes(
    cells: dict[Path, list[Cell]], inputs: dict[Path, list[Cell]], ended: Sequence[int]
) -> Outcomes:
    counts = {path: Counter(column[row] for row in ended) for path, column in cells.items()}
    named = frozenset(path for path in counts if any(part.casefold() in DECISION_NAMES for part in path))
    telling = [path for path, found in counts.items() if _tells(found, is_named=path in named)]
    some = ended[:ECHO_ROWS]
    echoes = {path for path in telling if any(_repeats(cells[path], one, some) for one in inputs.values())}
    varying = [path for path in telling if len(counts[path]) > 1]
    own = [path for path in varying if path not in echoes] or varying
    return Outcomes(
        cells={path: cells[path] for path in telling},
        varying=[
            _target(path, cells[path], counts[path]) for path in sorted(own, key=lambda p: p not in named)
        ],
        named=named,
        constant=frozenset(p for p in telling if max(counts[p].values()) >= LEAST_SHARE * len(ended)),
    )


def _tells(counts: Counter[Cell], *, is_named: bool) -> bool:
    """Whether a field tells outcomes apart: a flag, a label, or one with few values that come again."""
    if all(isinstance(cell, Flag) for cell in counts):
        return True
    if len(counts) > MOST_LEVELS:
        return False
    return is_named or counts.total() >= TIMES_EACH * len(counts) or all(map(_is_label, counts))


def _is_label(cell: Cell) -> bool:
    if not isinstance(cell, str):
        return isinstance(cell, Flag)
    return len(cell) <= LONGEST_LABEL and cell.replace("_", "").replace("-", "").replace(".", "").isalpha()


def _repeats(outcome: list[Cell], input: list[Cell], rows: Sequence[int]) -> bool:
    equal = sum(outcome[row] == input[row] is not ABSENT for row in rows)
    return equal >= ECHO_SHARE * len(rows) and len({outcome[row] for row in rows}) > 1


def _target(path: Path, cells: list[Cell], counts: Counter[Cell]) -> Target:
    codes = {cell: code for code, cell in enumerate(sorted(counts, key=repr))}
    return Target(path, [codes.get(cell, -1) for cell in cells])


def _grow_tree(
    found: Regions, rows: list[int], conditions: tuple[Condition, ...]
) -> list[tuple[tuple[Condition, ...], list[int]]]:
    """The leaves of a tree of splits."""
    used = {condition.cut.column.path for condition in conditions}
    is_full = len(used) >= MOST_CONDITIONS
    columns = [column for column in found.columns if not is_full or column.path in used]
    is_deep = len(conditions) >= MOST_DEPTH
    split = best_split(columns, found.outcomes.varying, rows) if not is_deep else None
    if split is None:
        return [(conditions, rows)]
    found.splits.append(split)
    if not split.cut.column.levels:
        found.borders.append(Border(split, rows))
    parts: dict[bool | None, list[int]] = {True: [], False: [], None: []}
    for row in rows:
        parts[split.cut.is_left(row)].append(row)
    leaves = []
    for is_left in (True, False):
        leaves += _grow_tree(found, parts[is_left], (*conditions, Condition(split.cut, is_left)))
    return [*leaves, ((*conditions, Condition(split.cut, None)), parts[None])]


def _region(found: Regions, conditions: tuple[Condition, ...], rows: list[int]) -> Region:
    """Fields are settled together: as many as LEAST_SHARE of the decisions have in common."""
    deciding_row = found.deciding
    others = [
        path for path in (*found.separated, *sorted(found.outcomes.constant)) if path not in deciding_row
    ]
    settled: dict[Path, Cell] = {}
    alike = rows
    for path in dict.fromkeys((*deciding_row, *others)):
        cells = found.outcomes.cells[path]
        counts = Counter(cells[row] for row in rows)
        usual = min(counts, key=lambda cell: (-counts[cell], repr(cell)))
        both = [row for row in alike if cells[row] == usual]
        if len(both) >= LEAST_SHARE * len(rows):
            settled[path], alike = usual, both
    return Region(
        conditions=conditions,
        rows=rows,
        settled=settled,
        alike=alike,
        is_settled=bool(deciding_row) and any(path in settled for path in deciding_row),
    )


def _simplify(found: Regions, region: Region, ended: Sequence[int]) -> Region:
    """Without the conditions that make no difference, which the order of splits put there: beyond them the
    decisions agree just as often."""
    for condition in region.conditions if region.is_settled else ():
        others = tuple(each for each in region.conditions if each is not condition)
        wider = _region(found, others, [row for row in ended if is_in(row, others)])
        if wider.is_settled and wider.settled.items() >= region.settled.items() and _as_often(region, wider):
            region = wider
    return region


def _as_often(region: Region, wider: Region) -> bool:
    some = set(thin_out(wider.rows, MOST_COMPARED))  # exact chances of larger counts take long
    n, k, all_k = (len(some.intersection(rows)) for rows in (region.rows, region.alike, wider.alike))
    return hypergeometric_tail(k, n, all_k, len(some)) > NOISE_RATE


def is_in(row: int, conditions: Iterable[Condition]) -> bool:
    return all(condition.cut.is_left(row) is condition.is_left for condition in conditions)
