"""`GET /metrics`: every metric in one table, and how its figures are come by. The reference page is tested
against it; the format is that of Prometheus, version 0.0.4."""

import os
import platform as machine
import resource
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from pipelines import __version__
from pipelines.engine.platform import Platform
from pipelines.server.config.settings import Settings
from pipelines.server.http.open_connections import OpenConnections
from pipelines.server.proxy.tally import Latencies, Tally
from pipelines.server.service.loop_lag import LoopLag
from pipelines.storage.database.connection import Connection
from pipelines.storage.runs.batches import counts_of_batch, unfinished_batches
from pipelines.wire.errors import StorageUnavailable
from pipelines.wire.names import RunStatus

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
#: The exported buckets, 64 µs to 33.6 s, of the 64 that are counted.
SHOWN_PLACES = range(6, 26)


class Metric(NamedTuple):
    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str


METRICS: tuple[Metric, ...] = (
    Metric("pipelines_tool_call_seconds", "histogram", "tool calls by source, from request head to reply"),
    Metric("pipelines_proxy_refusals_total", "counter", "refused requests to the proxy, by code"),
    Metric("pipelines_live_runs", "gauge", "runs in the memory of this process"),
    Metric("pipelines_live_run_bytes", "gauge", "estimated memory of these runs and their worlds"),
    Metric("pipelines_connections", "gauge", "open HTTP connections"),
    Metric("pipelines_connections_unfinished", "gauge", "open connections with an incomplete request"),
    Metric("pipelines_connections_given_up_total", "counter", "connections closed to make room for others"),
    Metric("pipelines_calls_waiting", "gauge", "tool calls that wait for an external reply"),
    Metric("pipelines_rows_unstored", "gauge", "trace rows that are not durable yet"),
    Metric("pipelines_rows_stored_total", "counter", "trace rows stored by this process"),
    Metric("pipelines_storage_groups_total", "counter", "commits of these rows and all other changes"),
    Metric("pipelines_slots_held", "gauge", "slots in use, by purpose"),
    Metric("pipelines_slots_waiting", "gauge", "runs that wait for a slot, by purpose"),
    Metric("pipelines_storage_up", "gauge", "1 if the database can be read, else 0"),
    Metric("pipelines_batches_under_way", "gauge", "unfinished batches"),
    Metric("pipelines_runs", "gauge", "runs of unfinished batches by state"),
    Metric("pipelines_database_bytes", "gauge", "size of the SQLite files: database and log"),
    Metric("pipelines_event_loop_lag_seconds", "gauge", "longest delay of the event loop in the last minute"),
    Metric("pipelines_build_info", "gauge", "always 1, with the versions as labels"),
    Metric("process_resident_memory_bytes", "gauge", "memory of this process"),
    Metric("process_cpu_seconds_total", "counter", "CPU time of this process"),
    Metric("process_open_fds", "gauge", "open files and sockets"),
    Metric("process_max_fds", "gauge", "limit of open files and sockets"),
    Metric("process_start_time_seconds", "gauge", "start time of this process, in Unix time"),
)


class Sample(NamedTuple):
    name: str
    value: float
    labels: Mapping[str, str] = {}


class Metrics:
    """Collects the metrics of a scrape; only `tally` and `lag` work between scrapes."""

    def __init__(
        self,
        settings: Settings,
        platform: Platform,
        tally: Tally,
        lag: LoopLag,
        connections: OpenConnections,
    ) -> None:
        self._settings = settings
        self._platform = platform
        self._tally = tally
        self._lag = lag
        self._connections = connections
        self._started = time.time()

    async def text(self) -> str:
        return written([*self._own(), *await self._stored(), *_of_process(), *_of_files(self._settings)])

    def _own(self) -> Iterator[Sample]:
        for source, latencies in self._tally.by_source.items():
            yield from _histogram("pipelines_tool_call_seconds", source, latencies)
        for code, count in sorted(self._tally.refusals.items()):
            yield Sample("pipelines_proxy_refusals_total", count, {"code": code})
        live = self._platform.live_runs.counts()
        yield Sample("pipelines_live_runs", live.runs)
        yield Sample("pipelines_live_run_bytes", live.bytes)
        yield Sample("pipelines_connections", len(self._connections))
        yield Sample("pipelines_connections_unfinished", self._connections.unfinished)
        yield Sample("pipelines_connections_given_up_total", self._connections.given_up)
        yield Sample("pipelines_calls_waiting", live.calls_waiting)
        yield Sample("pipelines_rows_unstored", live.rows_unstored)
        database, judging = self._platform.database, self._platform.judging
        yield Sample("pipelines_rows_stored_total", database.rows_stored)
        yield Sample("pipelines_storage_groups_total", database.groups_stored)
        for use, slots in (("judging", judging), ("dispatching", self._platform.dispatching)):
            yield Sample("pipelines_slots_held", slots.held, {"for": use})
            yield Sample("pipelines_slots_waiting", slots.waiting, {"for": use})
        yield Sample("pipelines_event_loop_lag_seconds", self._lag.worst_s)
        yield Sample("process_start_time_seconds", self._started)

    async def _stored(self) -> list[Sample]:
        """Metrics from the database. If it is unavailable, `pipelines_storage_up` is 0 and the other metrics
        remain."""
        try:
            return [
                Sample("pipelines_storage_up", 1),
                *await self._platform.database.read(_under_way),
            ]
        except StorageUnavailable:
            return [Sample("pipelines_storage_up", 0)]


def _under_way(connection: Connection) -> list[Sample]:
    """Counts only unfinished batches, because counting all runs would get slower over time."""
    batches = unfinished_batches(connection)
    totals = dict.fromkeys((status.value for status in RunStatus), 0)
    for batch_id in batches:
        by_status = counts_of_batch(connection, batch_id)["by_status"]
        assert isinstance(by_status, dict)
        for status, count in by_status.items():
            totals[status] += int(str(count))
    runs = [Sample("pipelines_runs", count, {"state": status}) for status, count in totals.items()]
    return [Sample("pipelines_batches_under_way", len(batches)), *runs]


def _histogram(name: str, source: str, latencies: Latencies) -> Iterator[Sample]:
    total = sum(latencies.by_place)
    for place in SHOWN_PLACES:
        at_most = sum(latencies.by_place[: place + 1])
        yield Sample(f"{name}_bucket", at_most, {"source": source, "le": repr(2**place / 1e6)})
    yield Sample(f"{name}_bucket", total, {"source": source, "le": "+Inf"})
    yield Sample(f"{name}_sum", latencies.seconds, {"source": source})
    yield Sample(f"{name}_count", total, {"source": source})


def _of_process() -> Iterator[Sample]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    yield Sample("pipelines_build_info", 1, {"version": __version__, "python": machine.python_version()})
    yield Sample("process_cpu_seconds_total", used.ru_utime + used.ru_stime)
    yield Sample("process_max_fds", resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    if sys.platform == "linux":  # elsewhere there is no cheap way to know
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        yield Sample("process_resident_memory_bytes", pages * resource.getpagesize())
        yield Sample("process_open_fds", len(os.listdir("/proc/self/fd")))


def _of_files(settings: Settings) -> Iterator[Sample]:
    if settings.is_shared:
        return
    path = settings.database_path
    for part, file in (("database", path), ("log", path.with_name(f"{path.name}-wal"))):
        if file.exists():
            yield Sample("pipelines_database_bytes", file.stat().st_size, {"file": part})


# The format


def written(samples: Iterable[Sample]) -> str:
    lines: dict[str, list[str]] = {metric.name: [] for metric in METRICS}
    for sample in samples:
        lines[_metric_of(sample.name)].append(
            f"{sample.name}{_labels(sample.labels)} {_number(sample.value)}"
        )
    return "".join(
        f"# HELP {metric.name} {metric.help}\n# TYPE {metric.name} {metric.kind}\n"
        + "".join(f"{line}\n" for line in lines[metric.name])
        for metric in METRICS
    )


def _metric_of(sample: str) -> str:
    for ending in ("_bucket", "_sum", "_count"):
        base = sample.removesuffix(ending)
        if base != sample and any(metric.name == base for metric in METRICS):
            return base
    return sample


def _labels(labels: Mapping[str, str]) -> str:
    """The labels in quotes, escaped."""
    if not labels:
        return ""
    escaped = {
        name: value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
        for name, value in labels.items()
    }
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped.items()) + "}"


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else repr(float(value))
