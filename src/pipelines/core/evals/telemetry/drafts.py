"""Drafts scenarios from telemetry, each with the reason and the confidence of its expectation.

They say what the agent did, not what it should do, and are never adopted without a person. Where the
traffic does not settle the decision, `expected_behavior` is empty. The id of a draft is a hash of its
content (skill, region, expectation) without the numbers at a border, which move as spans arrive: a second
look finds the same.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from operator import itemgetter
from typing import Annotated

import orjson

from pipelines.core.evals.telemetry.decisions import Decision, LookStatistics, decisions_of
from pipelines.core.evals.telemetry.draft_cases import LEAST_SPANS, Case, Kind, units_of
from pipelines.core.evals.telemetry.draft_words import (
    RISK_LEVEL,
    description_of,
    name_of,
    notes_of,
    shape_of,
)
from pipelines.core.evals.telemetry.leaves import (
    Leaf,
    Path,
    as_object,
    constant_fields,
    is_masked,
    leaf_as_json,
)
from pipelines.core.evals.telemetry.regions import Region, Regions, regions_of
from pipelines.core.evals.telemetry.splits import Cell, Presence
from pipelines.core.text.json_text import Json, JsonObject, dumps, pointer
from pipelines.core.text.statistics import wilson
from pipelines.wire.records import As, Hidden, Named, Record, shown

KINDS: tuple[Kind, ...] = ("recurring", "decision_point", "edge_case")
MOST_SOURCES = 20  # spans named with a draft
MOST_OUTCOMES = 5  # shown of a region
LARGEST_INPUT = 64 * 1024  # bytes, as of any scenario


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceSpan(Record, component=""):
    """A span."""

    trace_id: str
    span_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome(Record, component=""):
    """How often it ended so."""

    outcome: JsonObject
    count: int
    share: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Support(Record, component=""):
    """k of n uses."""

    k: int
    n: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft(Record, component=""):
    id: str
    kind: Kind
    skill: str
    confidence: float  # Wilson lower bound (95 %) of k of n
    k: Hidden[int]
    n: Hidden[int]
    uses: int  # decisions in its region, failed ones too
    errors: int
    shape: Annotated[JsonObject, As(dict[str, JsonObject]), "of the inputs, by JSON Pointer"]
    outcomes: Hidden[tuple[tuple[JsonObject, int], ...]]
    outcome_count: Hidden[int]
    sources: Hidden[tuple[tuple[str, str], ...]]
    scenario: Annotated[JsonObject, "as `POST /api/v1/eval/scenarios` takes it"]
    notes: tuple[str, ...]
    rank: Hidden[int]  # 0, or 1 where others stand for its situation too

    @shown(after="skill")
    def name(self) -> str:
        return str(self.scenario["name"])

    @shown(after="confidence")
    def support(self) -> Support:
        return Support(k=self.k, n=self.n)

    @shown(after="shape")
    def shares(self) -> Annotated[list[Outcome], Named("outcomes")]:
        return [
            Outcome(outcome=outcome, count=count, share=round(count / self.outcome_count, 4))
            for outcome, count in self.outcomes
        ]

    @shown(after="shape")
    def source_spans(self) -> list[SourceSpan]:
        return [SourceSpan(trace_id=trace, span_id=span) for trace, span in self.sources]

    @shown(after="shape")
    def source_span_count(self) -> int:
        return self.k


def draft_parts(data: bytes, *, most: int, without: frozenset[str]) -> Iterator[bytes]:
    """The best drafts of some lines of spans, without those that a person decided on; then what was seen."""
    looked = LookStatistics()
    units = units_of_lines(iter(data.splitlines()), looked)  # which lets go of lines that were read
    fresh = [kept for unit in units if (kept := tuple(d for d in unit if d.id not in without))]
    found = sum(map(len, fresh))
    looked.known = sum(map(len, units)) - found
    for draft in best_of(fresh, most):
        yield dumps(draft.as_json())
    yield dumps(looked.as_json() | {"found": found})


def best_of(units: Sequence[tuple[Draft, ...]], most: int) -> list[Draft]:
    """By turns of each kind, and within a kind by turns of each skill: otherwise what recurs, and a skill
    with many regions, would leave no room for the rest."""
    turns: Counter[tuple[int, Kind, str]] = Counter()
    queues: dict[tuple[int, Kind], list[tuple[tuple[int, float, int, str], tuple[Draft, ...]]]] = {}
    for unit in units:
        first = unit[0]
        turn = turns[first.rank, first.kind, first.skill]
        turns[first.rank, first.kind, first.skill] += 1
        place = (turn, -first.confidence, -first.n, first.id)
        queues.setdefault((first.rank, first.kind), []).append((place, unit))
    found: list[Draft] = []
    for rank in sorted({rank for rank, _ in queues}):
        of_kinds = [sorted(queues.get((rank, kind), []), key=itemgetter(0)) for kind in KINDS]
        for queued in chain.from_iterable(zip_longest(*of_kinds)):
            found += queued[1] if queued is not None else ()
    return found[:most]


def units_of_lines(lines: Iterable[bytes], looked: LookStatistics) -> list[tuple[Draft, ...]]:
    """Drafts that belong together, such as the two sides of a border."""
    units: list[tuple[Draft, ...]] = []
    seen: set[str] = set()
    by_skill = decisions_of(lines, looked)
    looked.skills = len(by_skill)
    for skill in [*by_skill]:
        decisions = by_skill.pop(skill)
        found = regions_of(decisions)
        looked.regions += len(found.regions)
        looked.without_telling_field += bool(found.regions) and not found.deciding
        for cases in units_of(found):
            drafts = [draft for case in cases if (draft := _draft(skill, case, found, looked)) is not None]
            fresh = tuple(draft for draft in drafts if draft.id not in seen)
            seen.update(draft.id for draft in fresh)
            if fresh:
                units.append(fresh)
    return units


def _draft(skill: str, case: Case, found: Regions, looked: LookStatistics) -> Draft | None:
    region = case.region
    is_open = case.role in ("open", "exception")
    expected = {} if is_open else _expected_behavior(found, region)
    example = found.decisions[case.row]
    input_context = _whole(example)
    if not expected and not is_open:
        looked.without_telling_field += 1
        return None
    text = dumps(input_context)
    if len(text) > LARGEST_INPUT:
        looked.too_large += 1
        return None
    scenario: JsonObject = {
        "name": name_of(skill, case, found),
        "description": description_of(skill, case, found),
        "risk_level": RISK_LEVEL,
        "input_context": input_context,
        "expected_behavior": expected,
        "tags": ["from_telemetry", case.kind],
    }
    if example.is_calls:
        scenario["observe"] = "tool_calls"
    errors = found.errors_in(region)
    rows = [case.row, *(row for row in case.rows if row != case.row)]
    return Draft(
        id=_id(skill, case, expected),
        kind=case.kind,
        skill=skill,
        confidence=round(wilson(case.k, case.n).low, 4),
        k=case.k,
        n=case.n,
        uses=len(region.rows) + errors,
        errors=errors,
        shape=shape_of(region),
        outcomes=tuple(_outcomes(found, region)),
        outcome_count=len(region.rows),
        sources=tuple(found.decisions[row].ids for row in rows[:MOST_SOURCES]),
        scenario=scenario,
        notes=notes_of(case, found, has_masked_input=is_masked(text)),
        rank=case.rank,
    )


def _whole(decision: Decision) -> JsonObject:
    return as_object(zip(decision.input.paths, decision.input.values, strict=True))


def _expected_behavior(found: Regions, region: Region) -> JsonObject:
    """What is settled, and what all that ended so have in common beside it. What was masked, an agent cannot
    answer."""
    settled = {path: cell for path, cell in region.settled.items() if not isinstance(cell, Presence)}
    common: dict[Path, Leaf] = {}
    if len(region.alike) >= LEAST_SPANS:
        common = constant_fields(
            [o for row in region.alike if (o := found.decisions[row].outcome) is not None]
        )
    common = {path: leaf for path, leaf in common.items() if path not in found.outcomes.cells}
    return as_object(
        (path, leaf)
        for path, leaf in sorted((common | settled).items())
        if not is_masked(leaf)
        and not any(part.startswith("$") for part in path)  # would be read as a matcher
    )


def _outcomes(found: Regions, region: Region) -> Iterator[tuple[JsonObject, int]]:
    paths = sorted({*found.deciding, *region.settled})
    counts = Counter(tuple(found.outcomes.cells[path][row] for path in paths) for row in region.rows)
    for cells, count in sorted(counts.items(), key=lambda item: (-item[1], repr(item[0])))[:MOST_OUTCOMES]:
        pairs = zip(paths, cells, strict=True)
        yield as_object((path, cell) for path, cell in pairs if not isinstance(cell, Presence)), count


def _id(skill: str, case: Case, expected: JsonObject) -> str:
    """Of a border only the field and the side count, not where it was found."""
    region = [
        [
            pointer(cut.column.path),
            [_cell_as_json(cut.column.levels[at]) for at in sorted(cut.left)],
            is_left,
        ]
        for cut, is_left in case.region.conditions
    ]
    at = pointer(case.split.cut.column.path) if case.split is not None else None
    apart = [
        [pointer(path), _cell_as_json(cell)] for path, cell in (*case.outcome, *filter(None, [case.rare]))
    ]
    content = orjson.dumps([skill, case.role, region, at, apart, expected], option=orjson.OPT_SORT_KEYS)
    return f"drf_{hashlib.sha256(content).hexdigest()[:24]}"


def _cell_as_json(cell: Cell) -> Json:
    return {"is": cell.value} if isinstance(cell, Presence) else leaf_as_json(cell)
