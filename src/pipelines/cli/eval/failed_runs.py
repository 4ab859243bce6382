"""Why runs of a matrix failed: each kind of error once, with an example."""

from collections import Counter
from typing import Any

from pipelines.cli.client import Server
from pipelines.cli.output import phrases
from pipelines.cli.output.junit import printable

RUNS = "/api/v1/eval/runs"
MOST_LOOKED_AT = 500  # of the failed runs: one page, which is enough to see what is wrong
LONGEST = 300


def explain_failures(server: Server, report: Any) -> list[list[str]]:
    """One entry for each kind of error, the most common first."""
    failed = _failed_runs(server, report)
    examples = {run["error_class"]: run["id"] for run in failed}
    counts = Counter(run["error_class"] for run in failed)
    return [_explain(server, kind, count, examples[kind]) for kind, count in counts.most_common()]


def error_classes(server: Server, report: Any) -> set[str]:
    """The error classes of the runs that failed."""
    return {run["error_class"] for run in _failed_runs(server, report)}


def _failed_runs(server: Server, report: Any) -> list[Any]:
    if not report["progress"]["errors"]:
        return []
    query = {"matrix_id": report["matrix_id"], "status": "failed", "limit": MOST_LOOKED_AT}
    return [run for run in server.get(RUNS, **query)["items"] if run["error_class"]]


def _explain(server: Server, kind: str, count: int, run_id: int) -> list[str]:
    error = server.get(f"{RUNS}/{run_id}")["error_json"] or {}
    status = f"HTTP {error['http_status']} " if error.get("http_status") else ""
    detail = printable(f"{status}{error.get('detail') or ''}".strip() or "no details")
    cut = detail if len(detail) <= LONGEST else f"{detail[: LONGEST - 1]}…"
    return [f"{kind}: {phrases.plural(count, 'run')}", f"{cut} (run {run_id})"]
