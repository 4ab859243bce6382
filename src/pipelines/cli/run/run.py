"""`pipelines run`: send tasks to an agent, watch, print verdicts with reasons, answer CI by exit code."""

import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import typer
from rich.markup import escape

from pipelines.cli.agent.register import register
from pipelines.cli.client import Server
from pipelines.cli.files import read_bytes, stop, write_text
from pipelines.cli.output.batch_report import print_batch
from pipelines.cli.output.blocks import COLOURS, new_console
from pipelines.cli.output.exchange_report import estimate_line
from pipelines.cli.output.junit import as_junit
from pipelines.cli.output.verdict_text import pending_reasons, told_undecided
from pipelines.cli.progress import INTERRUPTED, Opened, stderr, watch
from pipelines.cli.project import TOKEN_VARIABLE, find_project
from pipelines.cli.run.chosen_tasks import chosen_tasks
from pipelines.cli.task_file import print_notes
from pipelines.core.results.gate import ExitCode, is_not_run, tally

OUT_OF_BUDGET = "budget_exceeded"
MOST_NAMED = 10  # agents, where one is not found


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    agent: str | None
    dataset: str | None
    repeats: int
    concurrency: int | None
    fault_seed: str | None
    resume: int | None
    fail_under: float
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

    def budget(self) -> dict[str, Any]:
        asked = {"max_cost_usd": self.max_cost_usd, "max_model_tokens": self.max_model_tokens}
        return {name: limit for name, limit in asked.items() if limit is not None}


class Ran(NamedTuple):
    batch: Any
    runs: list[Any]
    was_cancelled: bool


def run_tasks(server: Server, wanted: Wanted) -> None:
    ran = run_once(server, wanted)
    if ran.was_cancelled:
        stderr.print(f"Cancelled. Go on with: pipelines run --resume {ran.batch['id']}")
        raise typer.Exit(INTERRUPTED)
    if ran.batch["status"] == OUT_OF_BUDGET:
        again = f"pipelines run --resume {ran.batch['id']} --max-model-tokens N (or --max-cost-usd)"
        stderr.print(f"Its budget for models is used up. Go on with:\n  {again}", soft_wrap=True)
    if code := gate_code(ran.runs, wanted.fail_under):
        raise typer.Exit(int(code))


def run_once(server: Server, wanted: Wanted) -> Ran:
    """A batch from its opening to what is printed of it."""
    if wanted.junit is not None:
        write_text(wanted.junit, "")  # better now than after an hour of runs
    if wanted.resume is not None:
        path, body = f"/api/batches/{wanted.resume}/resume", wanted.budget() or None
    else:
        path, body = "/api/runs", _asked(server, wanted)
        _print_estimate(server, body)
    _, batch, was_cancelled = watch(
        server,
        lambda: _opened(server.post(path, body)),
        live=lambda seen: _live(seen["counts"]["by_verdict"]),
    )
    batch = server.get(f"/api/batches/{batch['id']}")  # with its costs
    runs = standing(server.get(f"/api/batches/{batch['id']}/export")["items"])
    if wanted.junit is not None:
        write_text(wanted.junit, as_junit(batch, runs, _classname(server, batch, runs)))
    if wanted.as_json:
        typer.echo(json.dumps({"batch": batch, "runs": runs}))
    else:
        print_batch(new_console(), batch, runs)
    return Ran(batch, runs, was_cancelled)


def _opened(batch: Any) -> Opened:
    batch_id = int(batch["id"])
    return Opened(batch_id, f"batch {batch_id}", f"/api/batches/{batch_id}/cancel")


def _asked(server: Server, wanted: Wanted) -> Any:
    if wanted.agent is None or wanted.dataset is None:
        stop("Give --agent and --dataset, or --resume BATCH.")
    agent = find_agent(server, wanted.agent)
    dataset_id = _dataset(server, wanted.dataset, agent["id"])
    task_ids = chosen_tasks(server, dataset_id, named=wanted.tasks, tags=wanted.tags)
    body = {"agent_id": agent["id"], "repeats": wanted.repeats}
    body |= {"dataset_id": dataset_id} if task_ids is None else {"task_ids": task_ids}
    body |= {"concurrency": wanted.concurrency} if wanted.concurrency is not None else {}
    if wanted.fault_seed is not None:
        seed = wanted.fault_seed
        body |= {"fault_seed": int(seed) if is_number(seed) else seed}
    body |= {"passthrough": wanted.passthrough} if wanted.passthrough is not None else {}
    body |= {"cassette": wanted.cassette} if wanted.cassette is not None else {}
    body |= {"overwrite_cassette": True} if wanted.overwrite_cassette else {}
    body |= {"honesty": wanted.honesty} if wanted.honesty is not None else {}
    return body | wanted.budget()


def _print_estimate(server: Server, body: Any) -> None:
    """Of a whole dataset, as far as earlier runs tell."""
    if "dataset_id" not in body:
        return
    asked = {
        name: body[name] for name in ("agent_id", "dataset_id", "repeats", "concurrency") if name in body
    }
    line = estimate_line(server.get("/api/runs/estimate", **asked))
    if line is not None:
        stderr.print(line, markup=False, highlight=False)


def find_agent(server: Server, name: str) -> Any:
    """By id, by its folder or agent.json (registered, or given a new version), or by name."""
    if is_number(name):
        return server.get(f"/api/agents/{name}")
    path = Path(name)
    if path.is_dir() or path.suffix == ".json":
        folder, file = (path, None) if path.is_dir() else (path.parent, Path(path.name))
        token = os.environ.get(TOKEN_VARIABLE) or None
        return register(server, find_project(folder, agent=file), token=token)
    everyone = server.every("/api/agents")
    named = [agent for agent in everyone if agent["name"] == name]
    if len(named) > 1:
        stop(f"There are {len(named)} agents named {name!r}; use its id.")
    if not named:
        there = ", ".join(f"{agent['id']} ({agent['name']})" for agent in everyone[:MOST_NAMED])
        stop(f"There is no agent named {name!r}, nor such a folder. Agents: {there or 'none yet'}.")
    return named[0]


def _dataset(server: Server, given: str, agent_id: int) -> int:
    """A file is uploaded, unless it was and is unchanged; a number is the id of a dataset."""
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
    """`refunds/tasks.csv`: agent and dataset by name, which stay while their ids change."""
    agent = server.find(f"/api/agents/{batch['agent_id']}")
    dataset = server.find(f"/api/datasets/{runs[0]['dataset_id']}") if runs else None
    named = [each["name"] if each else "deleted" for each in (agent, dataset)]
    return "/".join(named)


def is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _live(by_verdict: dict[str, int]) -> str:
    return "  ".join(
        f"[{COLOURS.get(verdict, 'dim')}]{count} {verdict}[/]" for verdict, count in by_verdict.items()
    )


def standing(runs: list[Any]) -> list[Any]:
    """Without those that were sent again: an interrupted run and its new attempt count once."""
    return [run for run in runs if not run["retried"]]


def gate_code(runs: list[Any], fail_under: float) -> ExitCode:
    """The exit code of a batch, with a word on standard error where it is not the agent that failed."""
    counts = tally(runs)
    code = counts.exit_code(fail_under)
    if not counts.passed and not counts.failed and not counts.not_run:
        told = told_undecided(runs) if pending_reasons(runs) else "Give the tasks an oracle."
        stderr.print(f"No run could be decided, so nothing is proved. {told}", markup=False, soft_wrap=True)
    if counts.not_run:
        stderr.print(told_not_run(runs), markup=False, soft_wrap=True)
    return code


def told_not_run(runs: list[Any]) -> str:
    """How many runs could not be run, and why: `3 of 12 runs could not be run: agent_unreachable (3).`"""
    kinds = Counter(_kind(run) for run in runs if is_not_run(run))
    why = ", ".join(f"{kind} ({count})" for kind, count in kinds.most_common())
    return f"{kinds.total()} of {len(runs)} runs could not be run: {why}."


def _kind(run: Any) -> str:
    return "not judged" if run.get("judge_error") else str(run.get("error_class") or "cancelled")
