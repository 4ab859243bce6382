"""What a matrix would take and what it could find, before anybody starts it."""

from dataclasses import dataclass
from functools import partial
from statistics import median

from pipelines.core.evals.matrix.detectable import DetectableChange, detectable_change
from pipelines.core.text.json_text import JsonObject
from pipelines.engine.evals.start_matrix import MAX_MATRIX_RUNS, check_matrix
from pipelines.engine.platform import Platform
from pipelines.storage.agents.agents import Agent
from pipelines.storage.runs.run_times import recent_run_times


@dataclass(frozen=True, kw_only=True, slots=True)
class MatrixForecast:
    agent: Agent
    scenarios: int
    variations: int
    repeats: int
    baselines: int  # of each scenario
    runs: int
    concurrency: int
    timed_runs: int  # how many runs the estimate rests on
    run_ms: float | None  # the median of these; None: the agent has not run yet
    took_ms: float | None  # all of it
    finds: DetectableChange


async def forecast_matrix(
    platform: Platform, org_id: int, body: JsonObject, *, most_runs: int = MAX_MATRIX_RUNS
) -> MatrixForecast:
    """Refused with everything that keeps it from being started."""
    checked = await check_matrix(platform, org_id, body, most_runs=most_runs)
    times = await platform.database.read(partial(recent_run_times, org_id=org_id, agent_id=checked.agent.id))
    scenarios, variations = len(checked.asked.scenario_ids), len(checked.plan.variations)
    run_ms = median(times) if times else None
    mean_ms = sum(times) / len(times) if times else None
    return MatrixForecast(
        agent=checked.agent,
        scenarios=scenarios,
        variations=variations,
        repeats=checked.plan.repeats,
        baselines=checked.plan.baselines,
        runs=checked.runs,
        concurrency=checked.concurrency,
        timed_runs=len(times),
        run_ms=run_ms,
        took_ms=mean_ms * checked.runs / checked.concurrency if mean_ms is not None else None,
        finds=detectable_change(
            scenarios=scenarios,
            variations=variations,
            repeats=checked.plan.repeats,
            baselines=checked.plan.baselines,
        ),
    )
