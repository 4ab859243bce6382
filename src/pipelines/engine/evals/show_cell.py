"""The runs of one cell beside those of its baseline: what each did, and field by field what moved."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pipelines.core.evals.matrix.cell_fields import FieldSides, fields_of_cell
from pipelines.core.evals.scenarios.contract import Contract
from pipelines.core.evals.scenarios.scenario import Scenario
from pipelines.core.evals.scoring.observed import Observed
from pipelines.core.text.json_text import Json, JsonObject, loads_own
from pipelines.engine.platform import Platform
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.paging import Filter
from pipelines.storage.evals import eval_outcomes, eval_scenarios, evals
from pipelines.storage.evals.eval_outcomes import StoredOutput
from pipelines.storage.evals.evals import Matrix
from pipelines.storage.tasks import texts

MOST_RUNS = 50  # of each side, the newest
MOST_TEXTS = 10  # wordings of one cell


@dataclass(frozen=True, kw_only=True, slots=True)
class RunWithOutput:
    """A run in short, with what it answered; None where it has no outcome."""

    run: JsonObject
    observed: JsonObject | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Wording:
    number: int
    intensity: int
    delivery: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CellDetail:
    expected: Json
    before: tuple[RunWithOutput, ...]
    after: tuple[RunWithOutput, ...]
    fields: list[FieldSides]
    wordings: tuple[Wording, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class _StoredCell:
    scenario: Scenario | None
    before: list[JsonObject]
    after: list[JsonObject]
    outputs: dict[int, StoredOutput]
    wordings: tuple[Wording, ...]


async def read_cell(
    platform: Platform,
    matrix: Matrix,
    *,
    scenario_id: str,
    version: int,
    variation: str | None,
    components: Sequence[Any],
) -> CellDetail:
    """`variation` None: only the baseline. `components` are the report's."""
    read = partial(_load_cell, matrix=matrix, scenario_id=scenario_id, version=version, variation=variation)
    stored = await platform.database.read(read)
    return await asyncio.to_thread(_build_cell, stored, variation, components)


def _load_cell(
    connection: Connection, *, matrix: Matrix, scenario_id: str, version: int, variation: str | None
) -> _StoredCell:
    found = eval_scenarios.scenario_by_id(
        connection, org_id=matrix.org_id, scenario_id=scenario_id, version=version
    )
    before = _baselines(connection, matrix, scenario_id)
    after = _runs(connection, matrix, scenario_id, variation) if variation is not None else []
    ids = [int(str(run["id"])) for run in (*before, *after)]
    outputs = eval_outcomes.outputs_of_runs(connection, org_id=matrix.org_id, run_ids=ids) if ids else []
    return _StoredCell(
        scenario=Scenario.from_stored(found.body()) if found is not None else None,
        before=before,
        after=after,
        outputs={output.run_id: output for output in outputs},
        wordings=_wordings(connection, matrix, scenario_id, variation) if variation is not None else (),
    )


def _baselines(connection: Connection, matrix: Matrix, scenario_id: str) -> list[JsonObject]:
    """Of its row, or those that a run by itself is compared with."""
    shared = matrix.settings.get("baseline_run_ids")
    if not isinstance(shared, list):
        return _runs(connection, matrix, scenario_id, None)
    found = (
        eval_outcomes.eval_run(connection, org_id=matrix.org_id, run_id=id)
        for id in shared[:MOST_RUNS]
        if isinstance(id, int)
    )
    return [run for run in found if run is not None]


def _runs(
    connection: Connection, matrix: Matrix, scenario_id: str, variation: str | None
) -> list[JsonObject]:
    filters = [
        Filter("org_id", matrix.org_id),
        Filter("matrix_id", matrix.matrix_id),
        Filter("scenario_id", scenario_id),
        Filter("variation", variation),
        Filter("retried", 0),
    ]
    is_baseline = True if variation is None else None
    found = eval_outcomes.eval_runs(
        connection, filters=filters, limit=MOST_RUNS, before_id=None, is_baseline=is_baseline
    )
    # What somebody looks at first is what did not match.
    return sorted(found.items, key=lambda run: (run["matched"] is True, int(str(run["id"]))))


def _wordings(
    connection: Connection, matrix: Matrix, scenario_id: str, variation: str
) -> tuple[Wording, ...]:
    tasks = evals.tasks_of_cell(
        connection, matrix_id=matrix.matrix_id, scenario_id=scenario_id, variation=variation
    )
    return tuple(
        Wording(
            number=task.wording or 0,
            intensity=task.intensity or 0,
            delivery=task.delivery or "",
            text=texts.text_of(connection, task.text_hash),
        )
        for task in tasks[:MOST_TEXTS]
        if task.text_hash is not None
    )


def _build_cell(stored: _StoredCell, variation: str | None, components: Sequence[Any]) -> CellDetail:
    before = tuple(_with_output(run, stored.outputs) for run in stored.before)
    after = tuple(_with_output(run, stored.outputs) for run in stored.after)
    contract = stored.scenario.contract_under(variation) if stored.scenario is not None else None
    return CellDetail(
        expected=contract.expected_behavior if contract is not None else None,
        before=before,
        after=after,
        fields=_fields(contract, before, after, components) if contract is not None else [],
        wordings=stored.wordings,
    )


def _with_output(run: JsonObject, outputs: dict[int, StoredOutput]) -> RunWithOutput:
    output = outputs.get(int(str(run["id"])))
    observed: Any = loads_own(output.observed) if output is not None else None
    return RunWithOutput(run=run, observed=observed)


def _fields(
    contract: Contract,
    before: Sequence[RunWithOutput],
    after: Sequence[RunWithOutput],
    components: Sequence[Any],
) -> list[FieldSides]:
    return fields_of_cell(
        contract,
        [Observed.from_stored(each.observed) for each in before if each.observed is not None],
        [Observed.from_stored(each.observed) for each in after if each.observed is not None],
        components,
    )
