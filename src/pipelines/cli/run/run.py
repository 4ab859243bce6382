"""`pipelines run`: runs tasks on an agent, prints verdicts with reasons, and sets the exit code for CI."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import typer
from rich.markup import escape

from pipelines.cli.agent.find_agent import find_agent
from pipelines.cli.client import Server
from pipelines.cli.files import is_number, read_bytes, stop, write_text
from pipelines.cli.gate import gate_code, without_retried
from pipelines.cli.output.batch_report import print_batch
from pipelines.cli.output.blocks import COLOURS, new_console
from pipelines.cli.output.exchange_report import estimate_line
from pipelines.cli.output.junit import as_junit
from pipelines.cli.progress import INTERRUPTED, OpenedBatch, stderr, watch_batch
from pipelines.cli.run.chosen_tasks import chosen_tasks
from pipelines.cli.task_file import print_notes

OUT_OF_BUDGET = "budget_exceeded"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOptions:
    agent: str | None
    dataset: str | None
    repeats: int
    concurrency: int | None
    fault_seed: str | None
    resume: int | None
    fail_under: float | None  # None: no gate is asked for
    junit: Path | None
    as_json: bool
    tasks: tuple[str, ...] = ()  # rows, or keys
    tags: tuple[str, ...] = ()
    passthrough: str | None = None
    cassette: str | None = None
    overwrite_cassette: bool = False
    max_cost_usd: float | None = None
    max_model_tokens: int | None = None
    honesty: str | None = None
    label: str | None = None
    note: str | None = None

    def budget(self) -> dict[str, Any]:
        limits = {"max_cost_usd": self.max_cost_usd, "max_model_tokens": self.max_model_tokens}
        return {name: limit for name, limit in limits.items() if limit is not None}


class BatchResult(NamedTuple):
    batch: Any
    runs: list[Any]
    was_cancelled: bool


def run_tasks(server: Server, options: RunOptions) -> None:
    ran = run_once(server, options)
    if ran.was_cancelled:
        stderr.print(f"Cancelled. Continue with: pipelines run --resume {ran.batch['id']}")
        raise typer.Exit(INTERRUPTED)
    if ran.batch["status"] == OUT_OF_BUDGET:
        again = f"pipelines run --resume {ran.batch['id']} --max-model-tokens N (or --max-cost-usd)"
        stderr.print(f"Its budget for models is used up. Continue with:\n  {again}", soft_wrap=True)
    if code := gate_code(ran.runs, options.fail_under):
        raise typer.Exit(int(code))


def run_once(server: Server, options: RunOptions) -> BatchResult:
    """Open a batch, watch it, and print it."""
    if options.junit is not None:
        write_text(options.junit, "")  # better now than after an hour of runs
    if options.resume is not None:
        path, body = f"/api/batches/{options.resume}/resume", options.budget() or None
    else:
        path, body = "/api/runs", _request_body(server, options)
        _print_estimate(server, body)
    _, batch, was_cancelled = watch_batch(
        server,
        lambda: _opened_batch(server.post(path, body)),
        live=lambda seen: _live_verdicts(seen["counts"]["by_verdict"]),
    )
    batch = server.get(f"/api/batches/{batch['id']}")  # with its costs
    runs = without_retried(server.get(f"/api/batches/{batch['id']}/export")["items"])
    if options.junit is not None:
        write_text(options.junit, as_junit(batch, runs, _classname(server, batch, runs)))
    if options.as_json:
        typer.echo(json.dumps({"batch": batch, "runs": runs}))
    else:
        print_batch(new_console(), batch, runs)
    return BatchResult(batch, runs, was_cancelled)


def _opened_batch(batch: Any) -> OpenedBatch:
    batch_id = int(batch["id"])
    return OpenedBatch(batch_id, f"batch {batch_id}", f"/api/batches/{batch_id}/cancel")


def _request_body(server: Server, options: RunOptions) -> Any:
    if options.agent is None or options.dataset is None:
        stop("Give --agent and --dataset, or --resume BATCH.")
    agent = find_agent(server, options.agent)
    dataset_id = _upload_dataset(server, options.dataset, agent["id"])
    task_ids = chosen_tasks(server, dataset_id, named=options.tasks, tags=options.tags)
    body = {"agent_id": agent["id"], "repeats": options.repeats}
    body |= {"dataset_id": dataset_id} if task_ids is None else {"task_ids": task_ids}
    body |= {"concurrency": options.concurrency} if options.concurrency is not None else {}
    if options.fault_seed is not None:
        seed = options.fault_seed
        body |= {"fault_seed": int(seed) if is_number(seed) else seed}
    body |= {"passthrough": options.passthrough} if options.passthrough is not None else {}
    body |= {"cassette": options.cassette} if options.cassette is not None else {}
    body |= {"overwrite_cassette": True} if options.overwrite_cassette else {}
    body |= {"honesty": options.honesty} if options.honesty is not None else {}
    texts = {"label": options.label, "note": options.note}
    body |= {name: text for name, text in texts.items() if text is not None}
    return body | options.budget()


def _print_estimate(server: Server, body: Any) -> None:
    """For a whole dataset, print an estimate from earlier runs."""
    if "dataset_id" not in body:
        return
    query = {
        name: body[name] for name in ("agent_id", "dataset_id", "repeats", "concurrency") if name in body
    }
    line = estimate_line(server.get("/api/runs/estimate", **query))
    if line is not None:
        stderr.print(line, markup=False, highlight=False)


def _upload_dataset(server: Server, given: str, agent_id: int) -> int:
    """The id of the dataset: a number is one; a file is uploaded unless it is there and unchanged."""
    if is_number(given):
        return int(given)
    path = Path(given)
    uploaded = server.post(
        "/api/datasets",
        files={"file": (path.name, read_bytes(path))},
        data={"name": path.name, "agent_id": str(agent_id), "reuse": "true"},
    )
    print_notes(uploaded["notes"])
    if uploaded["reused"]:
        stderr.print(f"{escape(path.name)} is unchanged: dataset {uploaded['id']} is used again.")
    for warning in uploaded["warnings"]:
        stderr.print(f"[yellow]row {warning['row']}[/]: {escape(warning['message'])}")
    return int(uploaded["id"])


def _classname(server: Server, batch: Any, runs: list[Any]) -> str:
    """`refunds/tasks.csv`: names of agent and dataset, which stay the same while ids change."""
    agent = server.find(f"/api/agents/{batch['agent_id']}")
    dataset = server.find(f"/api/datasets/{runs[0]['dataset_id']}") if runs else None
    named = [each["name"] if each else "deleted" for each in (agent, dataset)]
    return "/".join(named)


def _live_verdicts(by_verdict: dict[str, int]) -> str:
    return "  ".join(
        f"[{COLOURS.get(verdict, 'dim')}]{count} {verdict}[/]" for verdict, count in by_verdict.items()
    )
