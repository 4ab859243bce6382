"""A matrix as lines of JSON, for the process that computes its report: rows, outputs and errors as stored.

Read line by line: of a large matrix only what scoring needs is in memory.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

from pipelines.core.agents.delivery import DEFAULT_DELIVERY
from pipelines.core.evals.matrix.cell import CellSettings, Row, flag_reasons
from pipelines.core.evals.matrix.report import CellRuns, RowRuns, RunOutput, matrix_report
from pipelines.core.evals.scenarios.scenario import CellExpectation, Scenario
from pipelines.core.evals.scoring.observed import Observed
from pipelines.core.evals.scoring.shift import Shift, shift
from pipelines.core.evals.scoring.unread_addition import unread_warning
from pipelines.core.text.json_text import Json, JsonObject, dumps, loads_own
from pipelines.wire.records import Record

PART_CHARACTERS = 256 * 1024  # of the report, stored and sent a part at a time
SCORES_A_PART = 1_000
SCORES, TEXT = b"s", b"t"  # what a part begins with


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportVariation(Record):
    """What a report tells of a variation, at the version that was used."""

    id: str
    version: int
    name: str
    is_placebo: bool = False
    pushes_toward: JsonObject | None = None


# -- writing: text is put around text that is stored as JSON already


def head_line(
    around: JsonObject,
    variations: Iterable[ReportVariation],
    *,
    delivery: str = DEFAULT_DELIVERY,
    addition_seen: bool | None = None,
) -> bytes:
    """`around` is what the report says beside its cells, as it stands. `addition_seen`: whether what was
    added to the system prompt came back in any run; None where nobody looked."""
    line: JsonObject = {"delivery": delivery, "addition_seen": addition_seen}
    listed: list[Json] = [each.as_json() for each in variations]
    return _line({"kind": "head", "around": around, "variations": listed, "delivered": line})


def row_line(
    scenario_id: str, version: int, body_text: str, expected: Mapping[str, CellExpectation] | None
) -> bytes:
    """A scenario at the version that was asked; `expected` is what its cells should do by now, if known."""
    cells: Json = {id: cell.as_json() for id, cell in expected.items()} if expected is not None else None
    head = dumps({"kind": "row", "id": scenario_id, "version": version, "expected": cells})[:-1]
    return head + b',"body":' + body_text.encode() + b"}\n"


def error_line(scenario_id: str, variation: str | None, errors: int) -> bytes:
    return _line({"kind": "errors", "id": scenario_id, "variation": variation, "errors": errors})


def output_line(scenario_id: str, variation: str | None, run_id: int, matched: bool, observed: str) -> bytes:
    line: JsonObject = {"kind": "output", "id": scenario_id, "variation": variation, "run": run_id}
    return dumps(line | {"matched": matched})[:-1] + b',"observed":' + observed.encode() + b"}\n"


def _line(value: JsonObject) -> bytes:
    return dumps(value) + b"\n"


# -- reading, and computing


class ScoredOutput(NamedTuple):
    """One run against the reference of its row."""

    run_id: int
    shift: float | None  # None of a baseline, and where its row has none
    is_flagged: bool


class _Head(NamedTuple):
    around: JsonObject
    variations: list[ReportVariation]
    delivery: str
    addition_seen: bool | None


@dataclass(kw_only=True, slots=True)
class _RowInput:
    version: int
    scenario: Scenario
    asked: Scenario  # as it was when the runs were asked
    outputs: dict[str | None, list[RunOutput]] = field(default_factory=dict)
    errors: dict[str | None, int] = field(default_factory=dict)

    def cell(self, variation: str | None) -> CellRuns:
        cell = self.scenario.variations.get(variation) if variation is not None else None
        outputs = self.outputs.get(variation, [])
        if variation is not None and cell != self.asked.variations.get(variation):
            outputs = [each._replace(matched=None) for each in outputs]  # it was matched with something else
        return CellRuns(
            outputs=outputs,
            errors=self.errors.get(variation, 0),
            expectation=cell.expectation if cell is not None else "invariant",
            contract=self.scenario.contract_under(variation) if cell and cell.expected_behavior else None,
            pushes_toward=cell.pushes_toward if cell is not None else None,
        )


def report_of_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Parts: SCORES with `[[run, shift, is_flagged], …]`, then TEXT, which together are the report."""
    settings = CellSettings()
    head, rows = _read(lines)
    whole = [_row_runs(id, row, [each.id for each in head.variations]) for id, row in rows.items()]
    scored = [list(each) for row in whole for each in scored_outputs(row, settings)]
    for start in range(0, len(scored), SCORES_A_PART):
        yield SCORES + dumps(scored[start : start + SCORES_A_PART])
    report = matrix_report(whole, head.variations, settings)
    warnings: JsonObject = {"warnings": [*_warnings(report, head)]}
    text = dumps(head.around | warnings | report).decode()
    for start in range(0, len(text), PART_CHARACTERS):
        yield TEXT + text[start : start + PART_CHARACTERS].encode()


def scored_outputs(row: RowRuns, settings: CellSettings) -> Iterator[ScoredOutput]:
    """Each run by itself: how far it is from the reference, and whether that alone is worth a look."""
    base = row.cells.get(None, CellRuns())
    scored = Row(row.contract, row.risk_level, [each.observed for each in base.outputs], 0, settings)
    reference = base.outputs[scored.reference_at].observed if scored.reference_at is not None else None
    known: dict[bytes, Shift] = {}  # outputs are often equal
    for variation, cell in row.cells.items():
        for output in cell.outputs:
            if reference is None or variation is None:
                yield ScoredOutput(output.run_id, None, is_flagged=False)
                continue
            key = dumps([output.observed.output_class, output.observed.value])
            moved = known.get(key) or shift(row.contract, reference, output.observed)
            known[key] = moved
            agree = scored.baseline.agrees
            reasons = flag_reasons(
                row.risk_level, moved.distance, float(moved.is_flip), settings, baselines_agree=agree
            )
            is_flagged = bool(reasons) and cell.expectation == "invariant"
            yield ScoredOutput(output.run_id, moved.distance, is_flagged)


def _warnings(report: Any, head: _Head) -> Iterator[str]:
    """What makes its numbers doubtful."""
    unread = unread_warning(
        report["cells"], delivery=head.delivery, was_seen=head.addition_seen, settings=report["settings"]
    )
    if unread is not None:
        yield unread


def _read(lines: Iterable[bytes]) -> tuple[_Head, dict[str, _RowInput]]:
    head = _Head({}, [], DEFAULT_DELIVERY, None)
    rows: dict[str, _RowInput] = {}
    for line in lines:
        row: Any = loads_own(line)
        match row["kind"]:
            case "head":
                variations = [ReportVariation(**each) for each in row["variations"]]
                head = _Head(row["around"], variations, **row["delivered"])
            case "row":
                rows.setdefault(row["id"], _row(row))
            case "errors":
                rows[row["id"]].errors[row["variation"]] = row["errors"]
            case _:
                output = RunOutput(row["run"], Observed.from_stored(row["observed"]), row["matched"])
                rows[row["id"]].outputs.setdefault(row["variation"], []).append(output)
    return head, rows


def _row(told: Any) -> _RowInput:
    scenario = Scenario.from_stored(told["body"])
    if told["expected"] is None:
        return _RowInput(version=told["version"], asked=scenario, scenario=scenario)
    expected = {id: CellExpectation.from_stored(cell) for id, cell in told["expected"].items()}
    return _RowInput(version=told["version"], asked=scenario, scenario=replace(scenario, variations=expected))


def _row_runs(scenario_id: str, row: _RowInput, variations: list[str]) -> RowRuns:
    there: list[str | None] = [None, *variations]  # also those that nothing is known of yet
    return RowRuns(
        scenario_id=scenario_id,
        version=row.version,
        name=row.scenario.name,
        risk_level=cast(Any, row.scenario.risk_level),
        contract=row.scenario.contract,
        cells={variation: row.cell(variation) for variation in there},
    )
