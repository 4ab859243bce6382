"""Recorded runs as a recording of their backend, from which plans can be learnt."""

from collections.abc import Iterable, Mapping

from pipelines.core.recordings.recorded_run import RecordedRun
from pipelines.core.simulation.fidelity.recording import Recording, read_recording, recording_from_run
from pipelines.core.text.json_text import Json, loads_own
from pipelines.core.tools.trace_row import TraceRow


def recording_of_runs(runs: Iterable[RecordedRun]) -> Recording:
    return read_recording(
        {},
        [
            recording_from_run(
                task=run.name or run.place,
                initial_state=run.state_before or {},
                rows=map(_row, run.rows),
                recorded_at=run.now,
            )
            for run in runs
        ],
    )


def _row(row: TraceRow) -> Mapping[str, Json]:
    return {
        "kind": row.kind,
        "tool_name": row.tool_name,
        "source": row.source,
        "status": row.http_status,
        "arguments": loads_own(row.arguments) if row.arguments else {},
        "response": loads_own(row.response) if row.response else None,
        "updates": loads_own(row.updates) if row.updates else [],
    }
