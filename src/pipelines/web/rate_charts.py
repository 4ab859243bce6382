"""Pass rates version by version, as a chart with intervals and as text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from pipelines.core.results.version_rates import RateSeries, VersionRate
from pipelines.web.eval_charts import OverTime, Point

MOST_POINTS = 12  # of a chart; the latest
MOST_SHOWN = 5  # versions in the text; the latest


@dataclass(frozen=True, kw_only=True, slots=True)
class RateChart:
    agent_id: int
    agent: str
    dataset_id: int
    dataset: str
    drawn: Markup | None  # None for a single version: there is nothing to compare yet
    rates: Sequence[VersionRate]  # newest first


def rate_charts(
    series: Sequence[RateSeries], agents: Mapping[int, str], datasets: Mapping[int, str]
) -> list[RateChart]:
    return [
        RateChart(
            agent_id=each.agent_id,
            agent=agents.get(each.agent_id, f"agent {each.agent_id}"),
            dataset_id=each.dataset_id,
            dataset=datasets.get(each.dataset_id, f"dataset {each.dataset_id}"),
            drawn=_drawn(each, agents, datasets) if len(each.rates) > 1 else None,
            rates=each.rates[::-1][:MOST_SHOWN],
        )
        for each in series
    ]


def _drawn(series: RateSeries, agents: Mapping[int, str], datasets: Mapping[int, str]) -> Markup:
    points = tuple(
        Point(day=rate.name, value=rate.rate, interval=(rate.interval.low, rate.interval.high), n=rate.judged)
        for rate in series.rates[-MOST_POINTS:]
    )
    title = f"Pass rate of {agents.get(series.agent_id, '')} on {datasets.get(series.dataset_id, '')}"
    return OverTime(title=title, points=points, by="version").drawn
